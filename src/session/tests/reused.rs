//! Calls whose records have made room for newer ones since they were read.

use super::*;
use crate::parse::native::piece::{ChunkHeader, header_at};
use crate::parse::native::writer::{CallRecord, FileInfo, NativeWriter};
use crate::session::Loaded;
use crate::session::view::*;
use std::io::Cursor;
use std::path::Path;
use umtui_wire::chunk::{HEADER_BYTES, KIND_EVENTS};
use umtui_wire::header::STATE_ENDED;
use zerocopy::IntoBytes;

const UNIT: usize = 1 << 16;

/// A file under a cap with three chunks of calls, each call with its number as argument.
pub(crate) fn write_capped(path: &Path) {
    let info = FileInfo { pid: 7, state: STATE_ENDED, max_bytes: 1 << 20, ..FileInfo::default() };
    let mut writer = NativeWriter::new(Cursor::new(Vec::new()), info, UNIT as u64);
    let free = writer.api(Layer::Runtime, "cudaFree(number:u64@32)").unwrap();
    for number in 0..3000u64 {
        let mut arguments = vec![0; 4];
        arguments.extend_from_slice(&number.to_le_bytes());
        let start = 1000 + number * 10;
        let status = if number % 2 == 0 { 0 } else { 1 };
        let call = CallRecord { api: free, status, start, duration: 5, arguments, ..CallRecord::default() };
        writer.call(7, &call).unwrap();
    }
    std::fs::write(path, writer.finish(true).unwrap().into_inner()).unwrap();
}

/// Puts a newer chunk in the place of the first one of calls.
pub(crate) fn overwrite_first(path: &Path) {
    let mut bytes = std::fs::read(path).unwrap();
    let headers = (UNIT..bytes.len()).step_by(UNIT).filter_map(|at| header_at(&bytes[at..], at as u64));
    let of_calls: Vec<ChunkHeader> = headers.filter(|header| header.kind == KIND_EVENTS).collect();
    let (first, last) = (of_calls[0].offset as usize, of_calls[2].offset as usize);
    let newer = ChunkHeader { offset: first as u64, sequence: of_calls[2].sequence + 1, ..of_calls[2] };
    bytes.copy_within(last..last + UNIT, first);
    bytes[first..first + HEADER_BYTES].copy_from_slice(newer.as_bytes());
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn arguments_of_other_calls_are_never_shown() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.umt");
    write_capped(&path);
    let mut loaded = Loaded::load_all(std::slice::from_ref(&path)).unwrap();
    let mut row = |row| {
        let request =
            EventsRequest { node: None, at: EventsAt::Row(row), rows: 1, kinds: EventKinds::ALL, details: None };
        let Body::Events(rows) = loaded.view(View::Events(request)).body else { panic!() };
        (rows.rows[0].arguments.clone(), rows.rows[0].result.clone(), rows.rows[0].start_ns)
    };
    let told = |text: &str, result: &str, start| (text.to_owned(), result.to_owned(), start);
    assert_eq!(row(3), told("number=3", "cudaErrorInvalidValue", 30));
    overwrite_first(&path);
    assert_eq!(row(3), told("no longer in the file", "", 30));
    assert_eq!(row(1500), told("number=1500", "", 15_000));
    assert_eq!(row(2999), told("number=2999", "cudaErrorInvalidValue", 29_990));
}
