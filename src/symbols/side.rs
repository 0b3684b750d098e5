//! The side file: one JSON object a line, a place and what it is called.

use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::Path;

use super::{Place, Symbol};

/// Longest line that is believed.
const LINE_MAX: u64 = 1 << 20;

#[derive(Serialize, Deserialize)]
struct Line {
    path: String,
    build_id: String,
    offset: u64,
    function: String,
    file: String,
    line: u32,
}

/// The places in a side file, and how many lines could not be read. A file that is not there has none.
pub(super) fn read(path: &Path) -> io::Result<(Vec<(Place, Symbol)>, usize)> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((Vec::new(), 0)),
        Err(error) => return Err(error),
    };
    read_lines(BufReader::new(file))
}

/// Likewise of what lies elsewhere.
pub(super) fn read_lines(mut reader: impl BufRead) -> io::Result<(Vec<(Place, Symbol)>, usize)> {
    let (mut entries, mut damaged) = (Vec::new(), 0);
    let mut bytes = Vec::new();
    loop {
        bytes.clear();
        if io::Read::take(&mut reader, LINE_MAX).read_until(b'\n', &mut bytes)? == 0 {
            return Ok((entries, damaged));
        }
        if bytes.trim_ascii().is_empty() {
            continue;
        }
        match serde_json::from_slice::<Line>(&bytes).ok().and_then(entry) {
            Some(entry) => entries.push(entry),
            None => damaged += 1,
        }
    }
}

fn entry(line: Line) -> Option<(Place, Symbol)> {
    let build_id = bytes(&line.build_id)?;
    let place = Place { path: line.path.into(), build_id: build_id.into(), offset: line.offset };
    Some((place, Symbol { function: line.function, file: line.file, line: line.line }))
}

/// Writes a side file. It is complete or not there: a reader never sees half of it.
pub(super) fn write(path: &Path, entries: &[(&Place, &Symbol)]) -> io::Result<()> {
    let unfinished = path.with_extension(format!("umsym.{}", std::process::id()));
    let written = write_file(&unfinished, entries).and_then(|()| std::fs::rename(&unfinished, path));
    if written.is_err() {
        // What matters is why it could not be written.
        let _ = std::fs::remove_file(&unfinished);
    }
    written
}

fn write_file(path: &Path, entries: &[(&Place, &Symbol)]) -> io::Result<()> {
    write_lines(BufWriter::new(File::create(path)?), entries)
}

/// Writes the lines.
pub(super) fn write_lines(mut out: impl Write, entries: &[(&Place, &Symbol)]) -> io::Result<()> {
    for (place, symbol) in entries {
        let line = Line {
            path: place.path.to_string(),
            build_id: hex(&place.build_id),
            offset: place.offset,
            function: symbol.function.clone(),
            file: symbol.file.clone(),
            line: symbol.line,
        };
        serde_json::to_writer(&mut out, &line)?;
        out.write_all(b"\n")?;
    }
    out.flush()
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn bytes(hex: &str) -> Option<Vec<u8>> {
    if !hex.is_ascii() || !hex.len().is_multiple_of(2) {
        return None;
    }
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(hex.get(at..at + 2)?, 16).ok()).collect()
}
