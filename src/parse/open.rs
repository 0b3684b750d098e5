//! Opens whatever a file turns out to be.

use super::sniff::{Format, sniff};
use super::{NativeReader, ParseError, text};
use crate::trace::{Bytes, Trace};
use std::sync::Arc;

/// Opens a file of any known format: a reader for each process in it, none if nothing is there yet (ask again while it
/// may come). Text is read to its end here, into native files in memory; lines of it that were not understood become
/// damage with their line number as offset.
///
/// # Errors
/// When it cannot be read or is of no known format; the error says what was seen.
pub fn open(bytes: Arc<dyn Bytes>, name: &str, trace: &mut Trace) -> Result<Vec<NativeReader>, ParseError> {
    match sniff(&*bytes, name)? {
        Format::Nothing => Ok(Vec::new()),
        Format::Native => match NativeReader::open(bytes, name, trace) {
            Ok(reader) => Ok(vec![reader]),
            Err(error) if error.may_come() => Ok(Vec::new()),
            Err(error) => Err(error),
        },
        Format::Stream => {
            let what = "a stream of frames, which has to be taken apart first; use `umtui open`".to_owned();
            Err(ParseError::Format { file: name.to_owned(), what })
        }
        Format::Text => {
            let import = text::import(&*bytes, name)?;
            let file = trace.files.len();
            let mut readers = Vec::new();
            for (image, killed) in import.files {
                let mut reader = NativeReader::open(Arc::new(image), name, trace)?;
                reader.set_process_gone(killed);
                readers.push(reader);
            }
            if readers.is_empty() {
                trace.add_file(name);
            }
            for bad in &import.bad {
                trace.add_damage(file, bad.line, format!("line {}: {}", bad.line, bad.why));
            }
            if import.more_bad > 0 {
                trace.add_damage(file, 0, format!("{} more lines are not understood", import.more_bad));
            }
            Ok(readers)
        }
        _ => {
            let what = "has to be imported first; use `umtui open`".to_owned();
            Err(ParseError::Format { file: name.to_owned(), what })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_with_a_bad_line_names_it() {
        let text = b"# umtui trace 1\n# start 5\n# process 1 pid=1 state=ended\n# api f runtime \"f\" ()\nnonsense\n\
                     0.000000001 1/1 - f() = 0 <7> d0 @ 0x1\n"
            .to_vec();
        let mut trace = Trace::default();
        let mut readers = open(Arc::new(text), "a.log", &mut trace).unwrap();
        assert_eq!(readers.len(), 1);
        readers[0].poll(&mut trace, 100).unwrap();
        assert_eq!(trace.events(), 1);
        assert_eq!(trace.damage[0].why, "line 5: not understood");
        assert_eq!(open(Arc::new(Vec::new()), "b", &mut trace).unwrap().len(), 0);
    }
}
