//! Importing Kineto's JSON, beside Python's own reader of JSON in the same run.
//!
//! `cargo bench --bench import [-- MEGABYTES]` (default 200): megabytes a second, from memory to native files that can be
//! opened, in processor time of the one thread that does it, medians of rounds in turn; beside it the floor (all bytes
//! looked at once), the same text packed, what reading the native files takes, and `json.loads` of `python3`.
//!
//! `cargo bench --bench import -- --gigabytes 3` makes a file of that size in the folder for temporary files, opens it as
//! `umtui report` does, and says how long that took, the most memory (`RssAnon`), and how soon an import stops when it
//! is asked to. The file is gone afterwards.

#[path = "common/mod.rs"]
mod common;
#[path = "import/kineto.rs"]
mod kineto;
#[path = "import/large.rs"]
mod large;

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::time::Duration;

use kineto::Kineto;
use umtui::parse::NativeReader;
use umtui::parse::import::{Import, import};
use umtui::parse::imported::{Imported, Progress, Spool};
use umtui::parse::sniff::Format;
use umtui::source::{FileBytes, temporary};
use umtui::trace::{Bytes, Trace};

const ROUNDS: usize = 5;

fn spool() -> Arc<Spool> {
    Arc::new(|| -> io::Result<(File, Arc<dyn Bytes>)> {
        let file = temporary::file()?;
        let bytes: Arc<dyn Bytes> = Arc::new(FileBytes::of(file.try_clone()?, Path::new("temporary")));
        Ok((file, bytes))
    })
}

/// Native files of `bytes`.
fn imported(bytes: &Arc<dyn Bytes>, format: Format) -> Imported {
    match import(bytes.clone(), format, "a.json", &spool(), &Arc::new(Progress::default())) {
        Ok(Import::Files(imported)) => imported,
        _ => std::process::exit(1),
    }
}

fn read(imported: &Imported) -> u64 {
    let mut trace = Trace::default();
    for file in &imported.files {
        if let Ok(mut reader) = NativeReader::open(file.bytes.clone(), "a.json", &mut trace) {
            while reader.poll(&mut trace, 1 << 20).is_ok_and(|progress| progress.more) {}
        }
    }
    trace.events()
}

/// Processor time of `run` in this thread.
fn cost<T>(times: &mut Vec<Duration>, run: impl FnOnce() -> T) -> T {
    let begun = common::cpu();
    let result = run();
    times.push(common::cpu().saturating_sub(begun));
    result
}

/// Processor time of `json.loads`.
fn python(path: &Path) -> Option<Duration> {
    let program = "import json,sys,time\nt=open(sys.argv[1]).read()\nb=time.process_time()\njson.loads(t)\nprint(time.process_time()-b)";
    let out = Command::new("python3").arg("-c").arg(program).arg(path).output().ok()?;
    String::from_utf8(out.stdout).ok()?.trim().parse().ok().map(Duration::from_secs_f64)
}

fn rates(megabytes: usize) -> io::Result<()> {
    let mut text = Vec::new();
    let mut events = Kineto::default();
    text.extend_from_slice(Kineto::BEGIN);
    while text.len() < megabytes << 20 {
        events.more(&mut text);
    }
    text.extend_from_slice(Kineto::END);
    let path = std::env::temp_dir().join(format!("umtui-bench-{}.json", std::process::id()));
    File::create(&path)?.write_all(&text)?;
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packer.write_all(&text)?;
    let gzip: Arc<dyn Bytes> = Arc::new(packer.finish()?);
    let zstd: Arc<dyn Bytes> = Arc::new(zstd::bulk::compress(&text, 3)?);
    let length = text.len();
    let plain: Arc<dyn Bytes> = Arc::new(text.clone());

    let mut times: [Vec<Duration>; 6] = Default::default();
    let [floor, whole, of_gzip, of_zstd, native, of_python] = &mut times;
    let mut seen = 0;
    for _ in 0..ROUNDS {
        std::hint::black_box(cost(floor, || memchr::memchr_iter(b'"', &text).count()));
        let files = cost(whole, || imported(&plain, Format::Json));
        seen = cost(native, || read(&files));
        drop(files);
        drop(cost(of_gzip, || imported(&gzip, Format::Gzip)));
        drop(cost(of_zstd, || imported(&zstd, Format::Zstd)));
        of_python.extend(python(&path));
    }
    let _ = std::fs::remove_file(&path);
    println!("{:.0} MB, {seen} events, {ROUNDS} rounds", length as f64 / 1e6);
    let rate = |times: &mut [Duration]| length as f64 / 1e6 / common::median(times).as_secs_f64().max(1e-9);
    let [floor, whole, of_gzip, of_zstd, native, of_python] = times.each_mut().map(|times| rate(times));
    println!("looked at once       {floor:8.0} MB/s");
    println!("import               {whole:8.0} MB/s");
    println!("import, gzip         {of_gzip:8.0} MB/s of what is in it");
    println!("import, zstd         {of_zstd:8.0} MB/s of what is in it");
    println!("native files to rows {native:8.0} MB/s of JSON");
    if times[5].is_empty() {
        println!("no python3");
    } else {
        println!("python json          {of_python:8.0} MB/s, import {:.1} times that", whole / of_python);
    }
    Ok(())
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().collect();
    let number = |word: Option<&String>| word.and_then(|word| word.parse().ok());
    let done = match words.iter().position(|word| word == "--gigabytes") {
        Some(at) => large::run(number(words.get(at + 1)).unwrap_or(3)),
        None => rates(words.iter().skip(1).find_map(|word| word.parse().ok()).unwrap_or(200)),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
