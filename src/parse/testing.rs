//! What tests of readers of foreign formats share.

use super::imported::{Imported, Spool, Target};
use super::{NativeReader, ParseError};
use crate::trace::{Bytes, Trace};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

struct Stored(File);

impl Bytes for Stored {
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let mut done = 0;
        while done < buffer.len() {
            match self.0.read_at(&mut buffer[done..], offset + done as u64)? {
                0 => break,
                count => done += count,
            }
        }
        Ok(done)
    }
}

/// Temporary files.
pub fn spool() -> Arc<Spool> {
    Arc::new(|| {
        let file = tempfile::tempfile()?;
        let bytes: Arc<dyn Bytes> = Arc::new(Stored(file.try_clone()?));
        Ok((file, bytes))
    })
}

/// An empty target.
pub fn target(format: &'static str) -> Target {
    Target::new("a", format, spool(), Arc::default())
}

/// An import as a trace.
pub fn load(imported: &Imported) -> (Trace, Vec<Arc<dyn Bytes>>) {
    let mut trace = Trace::default();
    for file in &imported.files {
        let mut reader = NativeReader::open(file.bytes.clone(), "a", &mut trace).unwrap();
        while reader.poll(&mut trace, 1 << 20).unwrap().more {}
    }
    (trace, imported.files.iter().map(|file| file.bytes.clone()).collect())
}

/// An error is one line.
pub fn one_line(result: Result<Imported, ParseError>) {
    if let Err(error) = result {
        assert_eq!(error.to_string().lines().count(), 1, "{error}");
    }
}
