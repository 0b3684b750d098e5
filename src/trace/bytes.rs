//! Where raw bytes are read from, whatever holds them.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

/// Bytes that can be read at any offset; they may grow, or shrink, between two reads.
pub trait Bytes: Send + Sync {
    /// Bytes there are now.
    ///
    /// # Errors
    /// When the length cannot be told.
    fn len(&self) -> io::Result<u64>;

    /// Reads at `offset` into `buffer` as much as there is; fewer bytes than asked for means the end.
    ///
    /// # Errors
    /// When reading fails; reading past the end is no error.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize>;

    /// The file that holds exactly these bytes, if there is one that others can open.
    fn named_file(&self) -> Option<PathBuf> {
        None
    }

    /// Whether there are none.
    ///
    /// # Errors
    /// As [`Bytes::len`].
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }
}

impl Bytes for [u8] {
    fn len(&self) -> io::Result<u64> {
        Ok(<[u8]>::len(self) as u64)
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let rest = usize::try_from(offset).ok().and_then(|at| self.get(at..)).unwrap_or(&[]);
        let count = rest.len().min(buffer.len());
        if let (Some(to), Some(from)) = (buffer.get_mut(..count), rest.get(..count)) {
            to.copy_from_slice(from);
        }
        Ok(count)
    }
}

impl Bytes for Vec<u8> {
    fn len(&self) -> io::Result<u64> {
        Bytes::len(self.as_slice())
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.as_slice().read_at(offset, buffer)
    }
}

impl<B: Bytes + ?Sized> Bytes for &B {
    fn named_file(&self) -> Option<PathBuf> {
        (**self).named_file()
    }

    fn len(&self) -> io::Result<u64> {
        (**self).len()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        (**self).read_at(offset, buffer)
    }
}

impl<B: Bytes + ?Sized> Bytes for Arc<B> {
    fn named_file(&self) -> Option<PathBuf> {
        (**self).named_file()
    }

    fn len(&self) -> io::Result<u64> {
        (**self).len()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        (**self).read_at(offset, buffer)
    }
}

impl<B: Bytes + ?Sized> Bytes for Box<B> {
    fn named_file(&self) -> Option<PathBuf> {
        (**self).named_file()
    }

    fn len(&self) -> io::Result<u64> {
        (**self).len()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        (**self).read_at(offset, buffer)
    }
}
