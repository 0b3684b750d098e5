//! What a file is, found by its content and never by its name.

use super::{ParseError, nvprof, packed, pickle, rmm};
use crate::trace::Bytes;
use umtui_wire::frame;
use umtui_wire::header::MAGIC;

/// A format that can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// umtui's own.
    Native,
    /// umtui's own, packed.
    Packed,
    /// Text, one event a line.
    Text,
    /// Frames, as they go through a pipe.
    Stream,
    /// JSON: trace events of Chrome's form.
    Json,
    /// An SQLite database: an export of Nsight Systems.
    Sqlite,
    /// A report of Nsight Systems, which its own tool exports.
    NsightReport,
    /// What nvprof prints, among what its program prints.
    Nvprof,
    /// A log of RMM.
    Rmm,
    /// A pickle: a snapshot of PyTorch's allocator.
    Pickle,
    /// Packed by gzip.
    Gzip,
    /// Packed by Zstandard.
    Zstd,
    /// Nothing is there yet: empty, or a header that has not been written.
    Nothing,
}

impl Format {
    /// Whether it is read into native files first, which may take long.
    #[must_use]
    pub const fn is_imported(self) -> bool {
        !matches!(self, Self::Native | Self::Packed | Self::Text | Self::Stream | Self::Nothing)
    }

    /// Whether others are packed in it.
    #[must_use]
    pub const fn is_packed(self) -> bool {
        matches!(self, Self::Gzip | Self::Zstd)
    }

    /// Whether its first bytes alone can be imported, as what is cut off.
    #[must_use]
    pub const fn has_beginning(self) -> bool {
        matches!(self, Self::Json | Self::Nvprof | Self::Rmm) || self.is_packed()
    }
}

/// First line of a text trace.
pub const TEXT_MARK: &str = "# umtui trace 1";

/// Finds out what `file` is.
///
/// # Errors
/// When it cannot be read, or is nothing that umtui reads; the error names what was seen.
pub fn sniff(bytes: &dyn Bytes, file: &str) -> Result<Format, ParseError> {
    let mut first = [0; 512];
    let io = |source| ParseError::Io { file: file.to_owned(), offset: 0, cause: source };
    let count = bytes.read_at(0, &mut first).map_err(io)?;
    let first = first.get(..count).unwrap_or(&[]);
    if first.iter().take(MAGIC.len()).all(|&byte| byte == 0) || (count < MAGIC.len() && MAGIC.starts_with(first)) {
        return Ok(Format::Nothing);
    }
    if first.starts_with(&MAGIC) {
        return Ok(Format::Native);
    }
    if first.starts_with(&packed::layout::MAGIC) {
        return Ok(Format::Packed);
    }
    if first.starts_with(&frame::MAGIC.to_le_bytes()) && first.get(6) == Some(&frame::VERSION) {
        return Ok(Format::Stream);
    }
    let text = first.strip_prefix(b"\xef\xbb\xbf").unwrap_or(first);
    if text.starts_with(TEXT_MARK.as_bytes()) {
        return Ok(Format::Text);
    }
    for (magic, format) in [(&b"\x1f\x8b"[..], Format::Gzip), (&b"\x28\xb5\x2f\xfd"[..], Format::Zstd)] {
        if first.starts_with(magic) {
            return Ok(format);
        }
    }
    if is_json(text) {
        // What a program prints of itself may begin like it.
        let log = several_lines(text) && head(bytes, file)?.split(|&byte| byte == b'\n').any(is_certain_mark);
        return Ok(if log { Format::Nvprof } else { Format::Json });
    }
    if first.starts_with(b"SQLite format 3\0") {
        return Ok(Format::Sqlite);
    }
    if pickle::looks_like(first) {
        return Ok(Format::Pickle);
    }
    if file.ends_with(".nsys-rep") || file.ends_with(".qdrep") {
        // Its form is not public, so there is only its name.
        return Ok(Format::NsightReport);
    }
    if let Some(format) = log(&head(bytes, file)?) {
        return Ok(format);
    }
    let what = seen(first);
    Err(ParseError::Format { file: file.to_owned(), what: format!("byte 0: {what}") })
}

/// An array or object: of text, a bracket alone proves little.
fn is_json(text: &[u8]) -> bool {
    let mut parts = text.trim_ascii_start().iter().copied().filter(|byte| !byte.is_ascii_whitespace());
    match parts.next() {
        Some(b'{') => matches!(parts.next(), Some(b'"' | b'}') | None),
        Some(b'[') => matches!(parts.next(), Some(b'{' | b']' | b',') | None),
        _ => false,
    }
}

/// Bytes of a log in which its tool must have said something.
const LOG: usize = 64 * 1024;

/// The first of them.
fn head(bytes: &dyn Bytes, file: &str) -> Result<Vec<u8>, ParseError> {
    let mut head = vec![0; LOG];
    let count =
        bytes.read_at(0, &mut head).map_err(|cause| ParseError::Io { file: file.to_owned(), offset: 0, cause })?;
    head.truncate(count);
    Ok(head)
}

fn several_lines(text: &[u8]) -> bool {
    text.trim_ascii().contains(&b'\n')
}

/// Whether nobody but nvprof writes such a line.
fn is_certain_mark(line: &[u8]) -> bool {
    line.starts_with(b"==") && std::str::from_utf8(line).is_ok_and(nvprof::is_certain)
}

/// A log of a tool, known by a line of it; before that may be what its program has printed.
fn log(text: &[u8]) -> Option<Format> {
    text.split(|&byte| byte == b'\n').enumerate().find_map(|(number, line)| {
        let line = std::str::from_utf8(line).ok().filter(|line| line.len() < 4096)?;
        if number < 20 && rmm::Columns::of(line).is_some() {
            return Some(Format::Rmm);
        }
        nvprof::is_mark(line).then_some(Format::Nvprof)
    })
}

fn seen(first: &[u8]) -> String {
    const KNOWN: &[(&[u8], &str)] = &[
        (b"\x7fELF", "a program, not a trace; record it with `umtui record -o DIR -- PROGRAM`"),
        (b"NVTX", "an NVIDIA report is not supported; export it with `nsys export --type sqlite`"),
        (b"UMF\x1b", "a stream of a newer umtui; use that version"),
        (b"UMTUI\n", "a trace damaged by a text-mode transfer; copy it again in binary mode"),
        (b"UMTUI\r", "a trace damaged by a text-mode transfer; copy it again in binary mode"),
        (b"UMTPK", "a packed trace damaged by a text-mode transfer; copy it again in binary mode"),
        (b"\xff\xfe", "text in UTF-16; make UTF-8 of it with `iconv -f UTF-16 -t UTF-8`"),
        (b"\xfe\xff", "text in UTF-16; make UTF-8 of it with `iconv -f UTF-16 -t UTF-8`"),
        (b"PK\x03\x04", "a zip archive; unpack it first"),
        (b"BZh", "bzip2 data is not supported; unpack it with bunzip2"),
        (b"\xfd7zXZ", "xz data is not supported; unpack it with unxz"),
    ];
    if let Some((_, what)) = KNOWN.iter().find(|(magic, _)| first.starts_with(magic)) {
        return (*what).to_owned();
    }
    let line: Vec<u8> = first.iter().copied().take(24).take_while(|&byte| byte != b'\n').collect();
    format!(
        "begins with \"{}\", which is no trace that umtui reads; record one with `umtui record`",
        line.escape_ascii()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(bytes: &[u8]) -> Result<Format, String> {
        sniff(&bytes.to_vec(), "f").map_err(|error| error.to_string())
    }

    #[test]
    fn content_decides() {
        assert_eq!(of(b"UMTUI\r\n\x1aand more"), Ok(Format::Native));
        assert_eq!(of(b"UMTPK\r\n\x1a\x01\0\0\0"), Ok(Format::Packed));
        assert!(of(b"UMTPK\n\x1a\x01").unwrap_err().contains("text-mode"));
        assert_eq!(of(b"# umtui trace 1\n"), Ok(Format::Text));
        assert_eq!(of(b"UMF\x1b\x30\x00\x01\x05"), Ok(Format::Stream));
        assert!(of(b"UMF\x1b\x30\x00\x02\x05").unwrap_err().contains("newer umtui"));
        assert_eq!(of(b""), Ok(Format::Nothing));
        assert_eq!(of(&[0; 600]), Ok(Format::Nothing));
        assert_eq!(of(b"UMT"), Ok(Format::Nothing));
        assert_eq!(of(b"\x1f\x8b\x08"), Ok(Format::Gzip));
        assert_eq!(of(b"\x28\xb5\x2f\xfd"), Ok(Format::Zstd));
        assert_eq!(of(b"  {\"traceEvents\""), Ok(Format::Json));
        assert_eq!(of(b"\xef\xbb\xbf[\n{"), Ok(Format::Json));
        assert!(of(b"[info] started").is_err() && of(b"{x}").is_err());
        assert_eq!(of(b"SQLite format 3\0"), Ok(Format::Sqlite));
        assert_eq!(of(b"\x80\x04\x95\x10\0\0\0\0\0\0\0}"), Ok(Format::Pickle));
        assert_eq!(of(b"Thread,Time,Action,Pointer,Size,Stream\n"), Ok(Format::Rmm));
        assert_eq!(of(b"{\"loss\": 1}\n==5== NVPROF is profiling process 5, command: ./a\n"), Ok(Format::Nvprof));
        assert_eq!(of(b"======== Warning: No CUDA application was profiled, exiting\n"), Ok(Format::Nvprof));
        assert_eq!(of(b"hello\n==5== NVPROF is profiling process 5, command: ./a\n"), Ok(Format::Nvprof));
        assert_eq!(sniff(&b"\x01\x02".to_vec(), "a.nsys-rep").ok(), Some(Format::NsightReport));
        let odd = of(b"hello\x1b[31m\nworld").unwrap_err();
        assert!(odd.contains("hello\\x1b[31m") && !odd.contains('\n'), "{odd}");
    }

    proptest! {
        #[test]
        fn any_bytes_give_an_answer_of_one_line(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            if let Err(text) = of(&bytes) {
                prop_assert_eq!(text.lines().count(), 1);
            }
        }
    }
}
