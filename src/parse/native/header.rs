//! The first page of a file.

use crate::parse::ParseError;
use crate::trace::{Bytes, NameId, Names, Process, State};
use umtui_wire::header::{
    ENDIAN_MARK, FileHeader, HEADER_BYTES, MAGIC, STATE_ENDED, STATE_FAILED, STATE_FULL, VERSION, WRITTEN_IN_PART,
};
use zerocopy::FromBytes;

/// Reads and checks the header of `file`.
///
/// # Errors
/// When it cannot be read, is not a trace, or is of a newer version.
pub fn read(bytes: &dyn Bytes, file: &str) -> Result<Box<FileHeader>, ParseError> {
    let mut page = vec![0; HEADER_BYTES];
    let io = |source| ParseError::Io { file: file.to_owned(), offset: 0, cause: source };
    let count = bytes.read_at(0, &mut page).map_err(io)?;
    let format = |what: String| ParseError::Format { file: file.to_owned(), what };
    let magic = page.get(..MAGIC.len()).unwrap_or(&[]);
    if count < HEADER_BYTES && (magic.iter().all(|&byte| byte == 0) || magic == MAGIC || MAGIC.starts_with(magic)) {
        return Err(ParseError::Incomplete { file: file.to_owned(), bytes: count as u64 });
    }
    if magic.iter().all(|&byte| byte == 0) {
        return Err(ParseError::Incomplete { file: file.to_owned(), bytes: bytes.len().map_err(io)? });
    }
    if magic != MAGIC {
        return Err(format("byte 0: not a umtui trace; `umtui open` tells what it is".to_owned()));
    }
    let header =
        FileHeader::read_from_bytes(&page).map_err(|_| format("byte 0: the header is cut short".to_owned()))?;
    if header.endian != ENDIAN_MARK {
        return Err(format("byte 16: recorded in another byte order; open it on such a machine".to_owned()));
    }
    if header.version > VERSION {
        return Err(ParseError::Version { file: file.to_owned(), version: header.version, known: VERSION });
    }
    Ok(Box::new(header))
}

/// What the header says of the process; its place on the time axis is left open.
#[must_use]
pub fn process(header: &FileHeader, names: &mut Names, file: usize) -> Process {
    Process {
        pid: header.pid,
        parent_pid: header.parent_pid,
        rank: header.rank.checked_sub(1),
        local_rank: header.local_rank.checked_sub(1),
        host: text(&header.host, names),
        program: text(&header.program, names),
        folder: text(&header.folder, names),
        arguments: arguments(&header.arguments),
        boot_id: header.boot_id,
        start_time: header.start_time,
        run_id: header.run_id,
        start: header.start,
        clock: header.clock,
        ticks_per_second: header.ticks_per_second,
        rate_error_ppb: header.rate_error_ppb,
        state: state(header, false),
        filter: cut(&header.filter),
        left_out: header.left_out,
        groups_left_out: header.groups_left_out,
        unwritten: is_unwritten(header),
        max_bytes: header.max_bytes,
        cost_ps: header.cost_ps,
        file,
        ..Process::default()
    }
}

/// Whether the process has not said that its file, which it writes from time to time, has all.
#[must_use]
pub const fn is_unwritten(header: &FileHeader) -> bool {
    header.written == WRITTEN_IN_PART
}

/// How recording stands; `gone`: there is no such process any more.
#[must_use]
pub const fn state(header: &FileHeader, gone: bool) -> State {
    match header.state {
        STATE_ENDED => State::Ended,
        STATE_FULL => State::Full,
        STATE_FAILED => State::Failed(header.reason),
        _ if gone => State::Killed,
        _ => State::Recording,
    }
}

fn text(field: &[u8], names: &mut Names) -> NameId {
    names.intern(&cut(field))
}

/// What comes before the first NUL.
fn cut(field: &[u8]) -> String {
    String::from_utf8_lossy(field.split(|&byte| byte == 0).next().unwrap_or_default()).into_owned()
}

/// Arguments, each ended by a NUL; an empty one is an argument, the zeros after the last are not.
fn arguments(field: &[u8]) -> Vec<String> {
    let used = field.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 2).min(field.len());
    let field = field.get(..used).unwrap_or(field);
    let field = field.strip_suffix(&[0]).unwrap_or(field);
    if field.is_empty() {
        return Vec::new();
    }
    field.split(|&byte| byte == 0).map(|bytes| String::from_utf8_lossy(bytes).into_owned()).collect()
}
