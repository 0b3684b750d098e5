//! Importing Kineto JSON, beside Python's own reader of JSON in the same run.
//!
//! `cargo bench --bench import [-- MEGABYTES]` (default 200). Prints megabytes a second from memory: reading the text
//! with everything but the last sorting and writing, the whole import up to native files, reading those into a trace,
//! and `json.loads` of `python3` on the same text, if there is one.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use umtui::parse::imported::{Imported, Spool, Target};
use umtui::parse::{NativeReader, chrome};
use umtui::source::{FileBytes, temporary};
use umtui::trace::{Bytes, Trace};

const RUNS: usize = 3;

/// Steps of operators that launch kernels, as PyTorch writes them.
fn kineto(bytes: usize) -> String {
    use std::fmt::Write as _;
    let mut text = String::with_capacity(bytes + 4096);
    text.push_str("{\n  \"schemaVersion\": 1,\n  \"traceEvents\": [\n");
    let mut number = 0u64;
    while text.len() < bytes {
        number += 1;
        let ts = number * 20;
        let sub = number % 1000;
        let _ = write!(
            text,
            r#"  {{
    "ph": "X", "cat": "cpu_op", "name": "aten::add_", "pid": 1670242, "tid": 1670242,
    "ts": {ts}.{sub:03}, "dur": 15.250,
    "args": {{
      "External id": {number},"Record function id": 0, "Concrete Inputs": ["", "", "1"], "Input type": ["float", "float", "Scalar"], "Input Strides": [[1], [1], []], "Input Dims": [[1024], [1024], []], "Ev Idx": {number}
    }}
  }},
  {{
    "ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1670242, "tid": 1670242,
    "ts": {}.{sub:03}, "dur": 4.125,
    "args": {{
      "External id": {number}, "cbid": 211, "correlation": {number}
    }}
  }},
  {{
    "ph": "s", "id": {number}, "pid": 1670242, "tid": 1670242, "ts": {ts}.{sub:03},
    "cat": "ac2g", "name": "ac2g"
  }},
  {{
    "ph": "X", "cat": "kernel", "name": "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)", "pid": 0, "tid": 7,
    "ts": {}.{sub:03}, "dur": 2.112,
    "args": {{
      "External id": {number}, "queued": 0, "device": 0, "context": 1, "stream": 7, "correlation": {number}, "registers per thread": 32, "shared memory": 0, "blocks per SM": 0.007576, "warps per SM": 0.030303, "grid": [1, 1, 1], "block": [128, 1, 1], "est. achieved occupancy %": 0
    }}
  }},
"#,
            ts + 5,
            ts + 9,
        );
    }
    text.push_str("  {\"ph\": \"M\", \"name\": \"process_name\", \"pid\": 1670242, \"tid\": 0, \"args\": {\"name\": \"python\"}}\n  ],\n  \"traceName\": \"a.json\", \"baseTimeNanoseconds\": 1727743122000000000\n}\n");
    text
}

fn spool() -> Arc<Spool> {
    Arc::new(|| -> io::Result<(File, Arc<dyn Bytes>)> {
        let file = temporary::file()?;
        let bytes: Arc<dyn Bytes> = Arc::new(FileBytes::of(file.try_clone()?, Path::new("temporary")));
        Ok((file, bytes))
    })
}

fn import(text: &str) -> Imported {
    let target = Target::new("a.json", "chrome", spool(), Arc::default());
    match chrome::import(text.as_bytes(), "a.json", target) {
        Ok(imported) => imported,
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(1);
        }
    }
}

fn best(mut run: impl FnMut()) -> Duration {
    let once = |_| {
        let begun = Instant::now();
        run();
        begun.elapsed()
    };
    (0..RUNS).map(once).min().unwrap_or_default()
}

fn main() {
    let megabytes: usize = std::env::args().skip(1).find_map(|word| word.parse().ok()).unwrap_or(200);
    let text = kineto(megabytes << 20);
    let rate = |time: Duration| text.len() as f64 / 1e6 / time.as_secs_f64().max(1e-9);

    let whole = best(|| drop(import(&text)));
    println!("import         {:8.0} MB/s  {:6.2} s", rate(whole), whole.as_secs_f64());
    let imported = import(&text);
    let mut events = 0;
    let read = best(|| {
        let mut trace = Trace::default();
        for file in &imported.files {
            if let Ok(mut reader) = NativeReader::open(file.bytes.clone(), "a.json", &mut trace) {
                while reader.poll(&mut trace, 1 << 20).is_ok_and(|progress| progress.more) {}
            }
        }
        events = trace.events();
    });
    println!("native reader  {:8.0} MB/s  {:6.2} s, {events} events", rate(read), read.as_secs_f64());

    let Ok(folder) = temporary::file().map(|_| std::env::temp_dir()) else { return };
    let path = folder.join(format!("umtui-bench-{}.json", std::process::id()));
    if File::create(&path).and_then(|mut file| file.write_all(text.as_bytes())).is_ok() {
        let program = "import json,sys,time\nt=open(sys.argv[1]).read()\nb=time.perf_counter()\njson.loads(t)\nprint(time.perf_counter()-b)";
        let out = Command::new("python3").arg("-c").arg(program).arg(&path).output();
        let seconds = out.ok().and_then(|out| String::from_utf8(out.stdout).ok()?.trim().parse::<f64>().ok());
        if let Some(seconds) = seconds {
            let python = Duration::from_secs_f64(seconds);
            println!("python json    {:8.0} MB/s  {:6.2} s", rate(python), seconds);
            println!("import / python {:.1}", rate(whole) / rate(python));
        }
    }
    let _ = std::fs::remove_file(&path);
}
