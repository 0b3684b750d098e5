//! What opening an export of Nsight Systems costs, beside `sqlite3` reading the same columns out of the same file.
//!
//! `cargo bench --bench nsys [-- MILLIONS]` makes a database of so many million rows (10 by default: calls, kernels and
//! copies as 6 to 3 to 1), opens it as `umtui open` does, up to the last row, and lets `sqlite3` (else Python's module)
//! write the columns that are read into /dev/null. Three rounds in turn, medians, time on the wall.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rusqlite::{Connection, params};
use umtui::parse::nsys::database::Row;
use umtui::parse::nsys::rows::{Call, Copy, Kernel};
use umtui::session::Loaded;

const ROUNDS: usize = 3;
const PID: i64 = 1 << 56 | 4121 << 24;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let millions = std::env::args().filter_map(|word| word.parse::<i64>().ok()).next().unwrap_or(10);
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("bench.sqlite");
    make(&path, millions * 1_000_000)?;
    println!("{millions} M rows, {} MiB", std::fs::metadata(&path)?.len() >> 20);
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let begun = Instant::now();
        let loaded = Loaded::load_all(std::slice::from_ref(&path))?;
        ours.push(begun.elapsed());
        assert!(loaded.trace().events() >= millions.unsigned_abs() * 1_000_000);
        drop(loaded);
        theirs.push(dump(&path)?);
    }
    ours.sort_unstable();
    theirs.sort_unstable();
    let (ours, theirs) = (ours[ROUNDS / 2], theirs[ROUNDS / 2]);
    println!("opened in {ours:.2?}, sqlite3 {theirs:.2?}: {:.2} times", ours.as_secs_f64() / theirs.as_secs_f64());
    Ok(())
}

fn make(path: &Path, rows: i64) -> rusqlite::Result<()> {
    let mut connection = Connection::open(path)?;
    connection.execute_batch(
        "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;
         CREATE TABLE StringIds(id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
         INSERT INTO StringIds VALUES (0, 'cudaLaunchKernel_v7000'), (1, 'cudaMemcpyAsync_v3020'), (2, 'cudaFree_v3020'),
            (3, 'void scale<float>(float *, int)'), (4, 'scale'), (5, 'cudaStreamSynchronize_v3020');
         CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start INTEGER NOT NULL, end INTEGER NOT NULL,
            eventClass INTEGER NOT NULL, globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL,
            returnValue INTEGER NOT NULL, callchainId INTEGER);
         CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
            contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,
            demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL, mangledName INTEGER, launchType INTEGER,
            registersPerThread INTEGER, gridX INTEGER, gridY INTEGER, gridZ INTEGER, blockX INTEGER, blockY INTEGER,
            blockZ INTEGER, staticSharedMemory INTEGER, dynamicSharedMemory INTEGER, localMemoryPerThread INTEGER,
            graphNodeId INTEGER);
         CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY(start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
            contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,
            bytes INTEGER NOT NULL, copyKind INTEGER NOT NULL, srcKind INTEGER, dstKind INTEGER, srcDeviceId INTEGER,
            dstDeviceId INTEGER, migrationCause INTEGER, graphNodeId INTEGER, virtualAddress INTEGER);",
    )?;
    let all = connection.transaction()?;
    {
        let mut call = all.prepare("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?,?,0,?,?,?,0,NULL)")?;
        let mut kernel = all.prepare(
            "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?,?,0,1,?,?,?,3,4,NULL,1,32,128,1,1,256,1,1,0,0,0,NULL)",
        )?;
        let mut copy = all.prepare(
            "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (?,?,0,1,7,?,?,4096,1,0,2,NULL,NULL,NULL,NULL,NULL)",
        )?;
        for number in 0..rows / 10 {
            let at = number * 40_000;
            for step in 0..6 {
                let (id, start) = (number * 6 + step, at + step * 6_000);
                let name = [0, 0, 0, 1, 2, 5][usize::try_from(step).unwrap_or(0)];
                call.execute(params![start, start + 2_000 + id % 700, PID + 1 + number % 8, id, name])?;
                match step {
                    0..3 => kernel.execute(params![start + 3_000, start + 8_000, 7 + step, id, PID])?,
                    3 => copy.execute(params![start + 3_000, start + 8_000, id, PID])?,
                    _ => 0,
                };
            }
        }
    }
    all.commit()
}

/// How long it takes to read what we read.
fn dump(path: &Path) -> Result<Duration, Box<dyn std::error::Error>> {
    let query = format!("{};{};{};", columns::<Call>(path)?, columns::<Kernel>(path)?, columns::<Copy>(path)?);
    let begun = Instant::now();
    let tool = Command::new("sqlite3").arg("-readonly").arg(path).arg(&query).stdout(Stdio::null()).status();
    if let Ok(status) = tool {
        assert!(status.success());
        return Ok(begun.elapsed());
    }
    let program = "import sqlite3,sys\nd=sqlite3.connect(sys.argv[1])\nfor q in sys.argv[2].split(';'):\n for r in d.execute(q): pass";
    let begun = Instant::now();
    assert!(Command::new("python3").args(["-c", program]).arg(path).arg(&query).status()?.success());
    Ok(begun.elapsed())
}

/// A query for the columns of a table that are read and there.
fn columns<R: Row>(path: &Path) -> rusqlite::Result<String> {
    let connection = Connection::open(path)?;
    let mut statement = connection.prepare(&format!("PRAGMA table_info({})", R::TABLE))?;
    let there: Vec<String> = statement.query_map([], |row| row.get(1))?.collect::<Result<_, _>>()?;
    let wanted: Vec<String> = R::COLUMNS
        .iter()
        .filter(|&&name| there.iter().any(|known| known == name))
        .map(|name| format!("\"{name}\""))
        .collect();
    Ok(format!("SELECT {} FROM {}", wanted.join(","), R::TABLE))
}
