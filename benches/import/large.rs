//! A file of several gigabytes.

use super::kineto::Kineto;
use super::spool;
use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use umtui::parse::import::import;
use umtui::parse::imported::Progress;
use umtui::parse::sniff::Format;
use umtui::session::Loaded;
use umtui::source::FileBytes;
use umtui::trace::Bytes;

/// Moments of an import at which it is asked to stop, per thousand of the file.
const STOPS: [u64; 4] = [10, 300, 700, 1000];

/// A file that is deleted.
struct Made(PathBuf);

impl Drop for Made {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Makes a file, opens it, and stops reading it again and again.
pub fn run(gigabytes: u64) -> io::Result<()> {
    let made = Made(std::env::temp_dir().join(format!("umtui-bench-{}.json", std::process::id())));
    let bytes = make(&made.0, gigabytes * 1_000_000_000)?;
    println!("{:.2} GB", bytes as f64 / 1e9);

    let most = Most::begin();
    let begun = Instant::now();
    let loaded = Loaded::load_all(std::slice::from_ref(&made.0)).map_err(io::Error::other)?;
    let took = begun.elapsed();
    println!(
        "opened in {:.1} s, {:.0} MB/s; {} events; at most {} MB of RssAnon",
        took.as_secs_f64(),
        bytes as f64 / 1e6 / took.as_secs_f64(),
        loaded.trace().events(),
        most.end() / 1000,
    );
    drop(loaded);

    for stop in STOPS {
        let (asked, ended) = stopped(&made.0, stop)?;
        println!("asked to stop after {:.1} s, {stop} of 1000 read: ended {ended:.1?} later", asked.as_secs_f64());
    }
    Ok(())
}

fn make(path: &Path, bytes: u64) -> io::Result<u64> {
    let mut out = BufWriter::new(File::create_new(path)?);
    let (mut events, mut piece, mut done) = (Kineto::default(), Vec::new(), 0);
    out.write_all(Kineto::BEGIN)?;
    while done < bytes {
        piece.clear();
        events.more(&mut piece);
        out.write_all(&piece)?;
        done += piece.len() as u64;
    }
    out.write_all(Kineto::END)?;
    out.flush()?;
    Ok(done)
}

/// When an import was asked to stop, and how long it took to end.
fn stopped(path: &Path, stop: u64) -> io::Result<(Duration, Duration)> {
    let bytes: Arc<dyn Bytes> = Arc::new(FileBytes::of(File::open(path)?, path));
    let progress = Arc::<Progress>::default();
    let told = progress.clone();
    let thread = std::thread::spawn(move || import(bytes, Format::Json, "a.json", &spool(), &told).is_ok());
    let begun = Instant::now();
    loop {
        let (done, all) = progress.share();
        if all > 0 && done >= all / 1000 * stop || thread.is_finished() {
            break;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    // At the end of the file it is sorting.
    std::thread::sleep(Duration::from_millis(20));
    let asked = Instant::now();
    progress.stop();
    let whole = thread.join().unwrap_or(true);
    let ended = asked.elapsed();
    if whole {
        println!("(it had ended before)");
    }
    Ok((asked.duration_since(begun), ended))
}

/// Looks now and then how much memory is in use.
struct Most {
    most: Arc<AtomicU64>,
    ended: Arc<AtomicBool>,
}

impl Most {
    fn begin() -> Self {
        let (most, ended) = (Arc::<AtomicU64>::default(), Arc::<AtomicBool>::default());
        let (place, stop) = (most.clone(), ended.clone());
        std::thread::spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                place.fetch_max(anonymous(), Ordering::Relaxed);
                std::thread::sleep(Duration::from_millis(10));
            }
        });
        Self { most, ended }
    }

    /// The most, kB.
    fn end(self) -> u64 {
        self.ended.store(true, Ordering::Relaxed);
        self.most.fetch_max(anonymous(), Ordering::Relaxed).max(anonymous())
    }
}

/// `RssAnon`, kB.
fn anonymous() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    line.and_then(|line| line.trim().split(' ').next()?.parse().ok()).unwrap_or(0)
}
