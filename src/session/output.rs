//! The child's output, line by line, from the files it goes to.
//!
//! Only places are kept: of every [`STEP`]th line of each file, and which file the lines came from in turn. The two
//! files are told apart by when their lines were seen, which is as near to their true order as files allow.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use super::child::Output;
use super::safe::safe_bytes;
use super::view::{OutputRequest, OutputRows};

/// Lines between two places that are kept.
const STEP: u64 = 64;
/// Bytes read at once.
const READ: usize = 64 * 1024;
/// Bytes read in one poll of a file.
const POLL: usize = 1 << 20;
/// Longest line that is shown, bytes.
const LINE_MAX: usize = 4096;
/// Most turns between the two files that are kept.
const TURNS_MAX: usize = 1 << 18;

/// The output of one program.
#[derive(Debug)]
pub(super) struct OutputFiles {
    files: [Lines; 2],
    turns: Vec<Turn>,
    /// Whether the last poll left bytes unread.
    more: bool,
}

/// Lines of one file that follow each other on the screen.
#[derive(Clone, Copy, Debug)]
struct Turn {
    file: usize,
    /// Number of its first line among all, and among the file's.
    line: u64,
    own: u64,
}

/// One file.
#[derive(Debug, Default)]
struct Lines {
    path: Option<PathBuf>,
    file: Option<File>,
    /// Bytes that have been looked at.
    end: u64,
    /// Lines that are complete, and where the one after them begins.
    complete: u64,
    begun: u64,
    /// Where each `STEP`th line begins.
    places: Vec<u64>,
}

impl OutputFiles {
    pub(super) fn new(output: Output) -> Self {
        let open = |path| Lines { path, places: vec![0], ..Lines::default() };
        Self { files: [open(Some(output.stdout)), open(output.stderr)], turns: Vec::new(), more: false }
    }

    /// Looks for new lines; true if there were any.
    pub(super) fn poll(&mut self) -> bool {
        let mut grown = false;
        self.more = false;
        for index in 0..self.files.len() {
            let line = self.complete();
            let Some(lines) = self.files.get_mut(index) else { continue };
            let same = self.turns.last().is_some_and(|last| last.file == index);
            if !same && self.turns.len() >= TURNS_MAX {
                continue; // After that many turns only the file whose turn it is goes on.
            }
            let (own, end) = (lines.complete, lines.end);
            // A file that cannot be read has no more lines; what was read stays.
            self.more |= lines.poll().unwrap_or(false);
            grown |= lines.end != end;
            if lines.complete > own && !same {
                self.turns.push(Turn { file: index, line, own });
            }
        }
        grown
    }

    /// Whether there is more to read at once.
    pub(super) fn has_more(&self) -> bool {
        self.more
    }

    fn complete(&self) -> u64 {
        self.files.iter().map(|lines| lines.complete).sum()
    }

    /// The lines asked for.
    pub(super) fn rows(&self, request: OutputRequest) -> OutputRows {
        let unfinished: Vec<usize> =
            (0..2).filter(|&index| self.files.get(index).is_some_and(|lines| lines.end > lines.begun)).collect();
        let complete = self.complete();
        let total = complete + unfinished.len() as u64;
        let first = request.first.min(total.saturating_sub(request.rows as u64));
        let mut rows = OutputRows { total, first, lines: Vec::new(), why_empty: None };
        if total == 0 {
            rows.why_empty = Some("the program has not written anything yet".to_owned());
        }
        let mut number = first;
        while rows.lines.len() < request.rows && number < complete {
            let at = self.turns.partition_point(|turn| turn.line <= number);
            let Some(turn) = at.checked_sub(1).and_then(|at| self.turns.get(at)) else { break };
            let next = self.turns.get(at).map_or(complete, |next| next.line);
            let wanted = (next - number).min((request.rows - rows.lines.len()) as u64);
            let lines = self.files.get(turn.file).map(|lines| lines.read(turn.own + (number - turn.line), wanted));
            let lines = lines.and_then(Result::ok).unwrap_or_default();
            let missing = wanted.saturating_sub(lines.len() as u64);
            rows.lines.extend(lines.into_iter().map(|text| (turn.file == 1, text)));
            // Lines that can no longer be read (the file was cut) still have their numbers.
            rows.lines.extend((0..missing).map(|_| (turn.file == 1, String::new())));
            number += wanted;
        }
        for index in unfinished {
            if rows.lines.len() < request.rows {
                let text = self.files.get(index).and_then(|lines| lines.unfinished().ok()).unwrap_or_default();
                rows.lines.push((index == 1, text));
            }
        }
        rows
    }
}

impl Lines {
    /// Reads on; true if there may be more at once.
    fn poll(&mut self) -> io::Result<bool> {
        let Some(path) = &self.path else { return Ok(false) };
        let file = match self.file.take() {
            Some(file) => file,
            None => File::open(path)?,
        };
        let file = self.file.insert(file);
        let mut buffer = vec![0; READ];
        let mut read_in_all = 0;
        while read_in_all < POLL {
            let read = file.read_at(&mut buffer, self.end)?;
            if read == 0 {
                return Ok(false);
            }
            for (at, byte) in buffer.iter().take(read).enumerate() {
                if *byte == b'\n' {
                    self.complete += 1;
                    self.begun = self.end + at as u64 + 1;
                    if self.complete.is_multiple_of(STEP) {
                        self.places.push(self.begun);
                    }
                }
            }
            self.end += read as u64;
            read_in_all += read;
        }
        Ok(true)
    }

    /// Complete lines from number `first` on.
    fn read(&self, first: u64, count: u64) -> io::Result<Vec<String>> {
        let Some(file) = &self.file else { return Ok(Vec::new()) };
        let place = usize::try_from(first / STEP).ok().and_then(|at| self.places.get(at));
        let Some(&place) = place else { return Ok(Vec::new()) };
        let mut skip = first % STEP;
        let mut lines = Vec::new();
        let (mut line, mut offset, mut buffer) = (Vec::new(), place, vec![0; READ]);
        while (lines.len() as u64) < count && offset < self.begun {
            let read = file.read_at(&mut buffer, offset)?;
            if read == 0 {
                break;
            }
            offset += read as u64;
            for piece in buffer.get(..read).unwrap_or(&[]).split_inclusive(|&byte| byte == b'\n') {
                let ended = piece.ends_with(b"\n");
                if skip == 0 && line.len() < LINE_MAX {
                    line.extend_from_slice(piece);
                }
                if ended && skip > 0 {
                    skip -= 1;
                } else if ended {
                    lines.push(shown(&line));
                    line.clear();
                    if lines.len() as u64 >= count {
                        break;
                    }
                }
            }
        }
        Ok(lines)
    }

    fn unfinished(&self) -> io::Result<String> {
        let Some(file) = &self.file else { return Ok(String::new()) };
        let bytes = usize::try_from(self.end - self.begun).unwrap_or(LINE_MAX).min(LINE_MAX);
        let mut line = vec![0; bytes];
        let read = file.read_at(&mut line, self.begun)?;
        Ok(shown(line.get(..read).unwrap_or(&[])))
    }
}

/// A line as it would stand on a terminal, without colours.
fn shown(line: &[u8]) -> String {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    // A progress bar writes over itself; what it wrote last is what one sees.
    let line = line.rsplit(|&byte| byte == b'\r').next().unwrap_or(line);
    let line = line.get(..LINE_MAX).unwrap_or(line);
    safe_bytes(&without_sequences(line)).into_owned()
}

/// Without tabs, and without escape sequences: they set colours and move the cursor, which means nothing here.
fn without_sequences(line: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(line.len());
    let mut bytes = line.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        match byte {
            0x1b => {}
            b'\t' => {
                plain.extend_from_slice(b"    ");
                continue;
            }
            _ => {
                plain.push(byte);
                continue;
            }
        }
        match bytes.next() {
            Some(b'[') => while bytes.next().is_some_and(|byte| !(0x40..=0x7e).contains(&byte)) {},
            Some(b']') => while bytes.next().is_some_and(|byte| byte != 0x07 && byte != 0x1b) {},
            _ => {}
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn output() -> (tempfile::TempDir, File, File, OutputFiles) {
        let folder = tempfile::tempdir().unwrap();
        let (out, err) = (folder.path().join("out"), folder.path().join("err"));
        let files = OutputFiles::new(Output { stdout: out.clone(), stderr: Some(err.clone()) });
        (folder, File::create(out).unwrap(), File::create(err).unwrap(), files)
    }

    fn rows(files: &OutputFiles, first: u64, rows: usize) -> OutputRows {
        files.rows(OutputRequest { first, rows })
    }

    #[test]
    fn lines_come_in_the_order_seen() {
        let (_folder, mut out, mut err, mut files) = output();
        assert!(rows(&files, 0, 5).why_empty.is_some());
        write!(out, "one\ntwo\nthr").unwrap();
        assert!(files.poll());
        writeln!(err, "\x1b[31mbad\x1b[0m \x07").unwrap();
        files.poll();
        writeln!(out, "ee").unwrap();
        files.poll();
        assert!(!files.poll());
        let all = rows(&files, 0, 10);
        let expected = [(false, "one"), (false, "two"), (true, "bad \\x07"), (false, "three")];
        assert_eq!(all.lines, expected.map(|(err, text)| (err, text.to_owned())));
        assert_eq!(rows(&files, u64::MAX, 1).lines, [(false, "three".to_owned())]);
        assert_eq!(rows(&files, u64::MAX, 1).first, 3);
    }

    #[test]
    fn an_unfinished_line_is_shown_last() {
        let (_folder, mut out, _err, mut files) = output();
        write!(out, "one\n 10 %\r 20 %").unwrap();
        files.poll();
        let all = rows(&files, 0, 10);
        assert_eq!((all.total, all.lines[1].1.as_str()), (2, " 20 %"));
    }

    #[test]
    fn any_window_of_many_lines() {
        let (_folder, mut out, _err, mut files) = output();
        let text: String = (0..100_000).map(|number| format!("line {number}\n")).collect();
        out.write_all(text.as_bytes()).unwrap();
        files.poll();
        while files.has_more() {
            files.poll();
        }
        assert_eq!(rows(&files, 0, 1).total, 100_000);
        for first in [0, 1, 63, 64, 65, 50_000, 99_990] {
            let window = rows(&files, first, 10);
            let expected: Vec<_> = (first..first + 10).map(|number| (false, format!("line {number}"))).collect();
            assert_eq!(window.lines, expected);
        }
    }
}
