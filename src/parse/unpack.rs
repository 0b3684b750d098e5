//! Compressed inputs, unpacked as they are read.

use flate2::bufread::GzDecoder;
use std::io::{self, BufRead, BufReader, Read};
use std::sync::{Arc, Mutex, PoisonError};

/// Largest window of zstd that is accepted, as a power of two: 128 MiB, what `zstd --long` makes.
const WINDOW_LOG: u32 = 27;

/// Bytes of a gzip file that are read at once.
const BUFFER: usize = 1 << 16;

/// How an input is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// gzip, of one or several members.
    Gzip,
    /// Zstandard, of one or several frames.
    Zstd,
}

/// Why unpacking ended before the end; empty while it did not.
pub type Broken = Arc<Mutex<Option<String>>>;

/// Unpacks `input`. What is damaged or cut off ends it: the reason is left in the second part.
///
/// # Errors
/// When no memory can be had for it.
pub fn unpack(input: impl Read + 'static, packing: Packing) -> io::Result<(Box<dyn Read>, Broken)> {
    let broken = Broken::default();
    let inner: Box<dyn Read> = match packing {
        Packing::Gzip => Box::new(Members(Some(GzDecoder::new(BufReader::with_capacity(BUFFER, input))))),
        Packing::Zstd => {
            let mut decoder = zstd::stream::read::Decoder::new(input)?;
            decoder.window_log_max(WINDOW_LOG)?;
            Box::new(decoder)
        }
    };
    Ok((Box::new(Lenient { inner, broken: broken.clone(), any: false, ended: false }), broken))
}

/// Members of a gzip file, one after the other. Zeros behind the last one, up to the end of a block of a tape or disk, are
/// passed over.
struct Members<R>(Option<GzDecoder<BufReader<R>>>);

impl<R: Read> Read for Members<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let Some(member) = &mut self.0 else { return Ok(0) };
            let count = member.read(buffer)?;
            if count > 0 || buffer.is_empty() {
                return Ok(count);
            }
            let Some(mut rest) = self.0.take().map(GzDecoder::into_inner) else { return Ok(0) };
            if rest.fill_buf()?.iter().any(|&byte| byte != 0) {
                self.0 = Some(GzDecoder::new(rest));
            }
        }
    }
}

/// Takes damage for the end, if anything came before it.
struct Lenient {
    inner: Box<dyn Read>,
    broken: Broken,
    any: bool,
    ended: bool,
}

impl Read for Lenient {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.ended {
            return Ok(0);
        }
        match self.inner.read(buffer) {
            Ok(count) => {
                self.any |= count > 0;
                self.ended = count == 0 && !buffer.is_empty();
                Ok(count)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted || !self.any => Err(error),
            Err(error) => {
                self.ended = true;
                *self.broken.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.to_string());
                Ok(0)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn all(bytes: Vec<u8>, packing: Packing) -> (Vec<u8>, Option<String>) {
        let (mut reader, broken) = unpack(io::Cursor::new(bytes), packing).unwrap();
        let mut out = Vec::new();
        reader.read_to_end(&mut out).unwrap();
        let why = broken.lock().unwrap().clone();
        (out, why)
    }

    #[test]
    fn members_follow_one_another_and_what_is_cut_ends_it() {
        let text: Vec<u8> = (0..100_000u32).flat_map(|number| number.to_string().into_bytes()).collect();
        let (first, second) = text.split_at(1000);
        let packed = [gzip(first), gzip(second)].concat();
        assert_eq!(all(packed.clone(), Packing::Gzip), (text.clone(), None));
        assert_eq!(all([packed.clone(), vec![0; 1000]].concat(), Packing::Gzip), (text.clone(), None));
        let (whole, why) = all([packed.clone(), b"no gzip".to_vec()].concat(), Packing::Gzip);
        assert!(whole == text && why.is_some());
        let (part, why) = all(packed[..packed.len() / 2].to_vec(), Packing::Gzip);
        assert!(text.starts_with(&part) && !part.is_empty() && why.is_some());
        let packed = zstd::bulk::compress(&text, 1).unwrap();
        assert_eq!(all([packed.clone(), packed.clone()].concat(), Packing::Zstd).0, text.repeat(2));
        let (part, why) = all(packed[..packed.len() - 9].to_vec(), Packing::Zstd);
        assert!(text.starts_with(&part) && why.is_some());
    }
}
