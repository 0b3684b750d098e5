//! Packing, and reading what was packed, beside `zstd -3` of the same file in the same run.
//!
//! `cargo bench --bench pack [-- EVENTS | FILE]` (default 10 million events made up here; or a recording's file). Prints
//! sizes, processor time, and how much memory packing takes.

#[path = "common/mod.rs"]
mod common;

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use common::{Made, cpu};
use umtui::parse::NativeReader;
use umtui::parse::packed::Packed;
use umtui::session::pack;
use umtui::source::FileBytes;
use umtui::trace::{Bytes, Trace};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let argument = std::env::args().skip(1).find(|argument| !argument.starts_with("--"));
    let folder = std::env::temp_dir().join(format!("umtui-pack-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let result = run(argument.as_deref().unwrap_or("10000000"), &folder);
    std::fs::remove_dir_all(&folder)?;
    result
}

fn run(argument: &str, folder: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let mut native = PathBuf::from(argument);
    if let Ok(events) = argument.parse() {
        native = folder.join("made.umt");
        let made = Made { events, step_ns: 700, kernels: (0..200).map(|number| format!("kernel{number}")).collect() };
        made.write(BufWriter::new(File::create(&native)?))?.into_inner()?.sync_all()?;
    }
    let packed = folder.join("made.umtp");
    let before = anonymous();
    let mut most = before;
    let mut steps = 0u32;
    let begun = cpu();
    let packing = pack(std::slice::from_ref(&native), BufWriter::new(File::create(&packed)?), &mut |_| {
        steps += 1;
        if steps.is_multiple_of(16) {
            most = most.max(anonymous());
        }
    })?;
    let pack_time = cpu() - begun;
    let (zstd_bytes, zstd_time) = zstd(&native)?;
    let (events, native_time) = decode(Arc::new(FileBytes::open(&native)?))?;
    let image = Packed::open(Arc::new(FileBytes::open(&packed)?), "made.umtp")?.image(0);
    let (again, packed_time) = decode(Arc::new(image))?;
    assert_eq!(events, again, "what was packed has as many events");
    let row = |what: &str, bytes: u64, time: Duration| {
        println!(
            "{what:<34} {bytes:>12} bytes  {:>5.2} bytes an event  {:>6.2} s  {:>6.0} MB/s  {:>5.2} M events/s",
            bytes as f64 / events as f64,
            time.as_secs_f64(),
            packing.native_bytes as f64 / 1e6 / time.as_secs_f64(),
            events as f64 / 1e6 / time.as_secs_f64(),
        );
    };
    println!("{events} events; MB/s of the native file, processor time");
    row("native, decoded", packing.native_bytes, native_time);
    row("zstd -3 of it, written", zstd_bytes, zstd_time);
    row("packed, written", packing.packed_bytes, pack_time);
    row("packed, decoded", packing.packed_bytes, packed_time);
    println!(
        "native {:.1} and zstd -3 {:.1} times as large; packing takes {} KiB of RssAnon",
        packing.native_bytes as f64 / packing.packed_bytes as f64,
        zstd_bytes as f64 / packing.packed_bytes as f64,
        most.saturating_sub(before)
    );
    Ok(())
}

/// Counts what is written.
#[derive(Default)]
struct Counted(u64);

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn zstd(path: &Path) -> io::Result<(u64, Duration)> {
    let begun = cpu();
    let mut encoder = zstd::Encoder::new(Counted::default(), 3)?;
    let mut file = File::open(path)?;
    let mut block = vec![0; 1 << 20];
    loop {
        let count = file.read(&mut block)?;
        if count == 0 {
            return Ok((encoder.finish()?.0, cpu() - begun));
        }
        encoder.write_all(block.get(..count).unwrap_or(&[]))?;
    }
}

fn decode(bytes: Arc<dyn Bytes>) -> Result<(u64, Duration), Box<dyn std::error::Error>> {
    let begun = cpu();
    let mut trace = Trace::default();
    let mut reader = NativeReader::open(bytes, "made", &mut trace)?;
    while reader.poll(&mut trace, 1 << 16)?.more {}
    Ok((trace.events(), cpu() - begun))
}

/// Anonymous memory of this process, KiB.
fn anonymous() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}
