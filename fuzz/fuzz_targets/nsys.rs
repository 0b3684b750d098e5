//! Exports of Nsight Systems: a database as it is, or one made of rows that the input spells.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rusqlite::{Connection, params_from_iter, types::Value};
use std::path::Path;
use std::sync::Arc;
use umtui::parse::nsys::database::Row;
use umtui::parse::nsys::rows;
use umtui::parse::sniff::Format;
use umtui::source::file::FileBytes;
use umtui_fuzz::{Named, bytes_imported};

/// Rows of one database.
const ROWS: usize = 64;

fuzz_target!(|data: &[u8]| {
    if data.starts_with(b"SQLite format 3\0") {
        return open(&Named::new(data, "nsys"));
    }
    let file = Named::new(b"", "nsys");
    if make(&file.0, data).is_ok() {
        open(&file);
    }
});

fn open(file: &Named) {
    if let Ok(bytes) = FileBytes::open(&file.0) {
        bytes_imported(Arc::new(bytes), Format::Sqlite);
    }
}

type Table = (&'static str, &'static [&'static str]);

const fn table<R: Row>() -> Table {
    (R::TABLE, R::COLUMNS)
}

const TABLES: &[Table] = &[
    table::<rows::Call>(),
    table::<rows::Kernel>(),
    table::<rows::Copy>(),
    table::<rows::Set>(),
    table::<rows::Sync>(),
    table::<rows::Event>(),
    table::<rows::GraphRun>(),
    table::<rows::CpuFault>(),
    table::<rows::GpuFault>(),
    table::<rows::Usage>(),
    table::<rows::Pool>(),
    table::<rows::Nvtx>(),
    table::<rows::Frame>(),
    table::<rows::StringId>(),
    table::<rows::Process>(),
    table::<rows::ThreadName>(),
    table::<rows::Gpu>(),
    table::<rows::CudaDevice>(),
    table::<rows::Export>(),
    table::<rows::Diagnostic>(),
    table::<rows::SessionStart>(),
    table::<rows::CopyKinds>(),
    table::<rows::MemoryKinds>(),
    table::<rows::MemoryOperations>(),
];

const TYPES: [&str; 4] = ["INTEGER", "TEXT", "REAL", ""];

/// The first byte says which type columns have and how many there are; then rows: a table, and a value for each column.
fn make(path: &Path, data: &[u8]) -> rusqlite::Result<()> {
    let mut input = data.iter().copied();
    let kind = input.next().unwrap_or(0);
    let of = TYPES[usize::from(kind & 3)];
    let without = usize::from(kind >> 2 & 3);
    let mut connection = Connection::open(path)?;
    connection.execute_batch("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;")?;
    let all = connection.transaction()?;
    for _ in 0..ROWS {
        let Some(number) = input.next() else { break };
        let (name, columns) = TABLES[usize::from(number) % TABLES.len()];
        let columns = columns.get(..columns.len().saturating_sub(without)).unwrap_or_default();
        if columns.is_empty() {
            continue;
        }
        let list: Vec<String> = columns.iter().map(|column| format!("\"{column}\" {of}")).collect();
        all.execute_batch(&format!("CREATE TABLE IF NOT EXISTS {name} ({})", list.join(",")))?;
        let places = vec!["?"; columns.len()].join(",");
        let values: Vec<Value> = columns.iter().map(|_| value(&mut input)).collect();
        all.prepare_cached(&format!("INSERT INTO {name} VALUES ({places})"))?.execute(params_from_iter(values))?;
    }
    all.commit()
}

fn value(input: &mut impl Iterator<Item = u8>) -> Value {
    let tag = input.next().unwrap_or(128);
    let mut eight = || std::array::from_fn(|_| input.next().unwrap_or(0));
    match tag {
        0..128 => Value::Integer(i64::from(tag)),
        128 => Value::Null,
        129 => Value::Integer(i64::from_le_bytes(eight())),
        130 => Value::Real(f64::from_le_bytes(eight())),
        131 => Value::Blob(<[u8; 8]>::from(eight()).to_vec()),
        132..160 => Value::Text(String::from_utf8_lossy(&eight()).into_owned()),
        // A process's and thread's number.
        _ => Value::Integer(1 << 56 | i64::from(tag) << 24 | 7),
    }
}
