//! Frames into files: each file of a stream becomes a private temporary one, which is read like any other.
//!
//! Records keep their order within a chunk, chunks their order of arrival; what did not arrive leaves a record of how
//! many events are lost there. Everything that came in one pass of the sender appears at once, and never while
//! somebody reads ([`Spooled::hold`]), so that a reader sees what it would have seen in the sender's file.

mod account;
mod chunks;
mod definitions;
mod desks;
mod file;
mod place;
mod statements;

use super::FileBytes;
use crate::trace::Bytes;
use file::SpoolFile;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use umtui_wire::frame::{FrameHeader, KIND_PAGE, PAGE_PARTS, PagePart};
use umtui_wire::header::{FileHeader, HEADER_BYTES};
use zerocopy::{FromBytes, FromZeros, IntoBytes};

/// Bytes that are kept of files whose first pages have not come yet: senders repeat them more often than that.
const KEPT: usize = 32 << 20;
/// Files whose first pages have not come yet, at most; the one that came first is forgotten.
const UNKNOWN: usize = 1024;
/// Lines about processes that cannot be shown, at most; the others are counted.
const FAILURES: u64 = 16;

/// How a file of a stream stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    /// More may come.
    Sending,
    /// It is complete, and its process gone.
    Gone,
    /// Its sender stopped following it.
    Left,
    /// The stream ended, and nobody said how the file stands.
    Cut,
}

/// What a reader must know of a file of a stream beside its bytes.
#[derive(Debug)]
pub struct Standing {
    /// How it stands.
    pub life: Life,
    /// Calls that ended up to these ticks are all there.
    pub horizon: u64,
    /// Events that were sent before this reader joined.
    pub missed: u64,
    /// What went wrong: where, byte of the stream, and why. To be taken out by whoever tells it.
    pub notes: Vec<(u64, String)>,
}

/// A file of a stream.
#[derive(Debug)]
pub struct Spooled {
    name: String,
    bytes: Arc<FileBytes>,
    standing: Mutex<Standing>,
}

impl Spooled {
    /// What it is called: the stream, and the process.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its bytes.
    #[must_use]
    pub fn bytes(&self) -> Arc<dyn Bytes> {
        self.bytes.clone()
    }

    /// Keeps it as it is while it is read, and tells how it stands.
    pub fn hold(&self) -> MutexGuard<'_, Standing> {
        self.standing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// All files of a stream.
#[derive(Debug)]
pub struct Spool {
    name: String,
    files: FxHashMap<u64, SpoolFile>,
    /// Files whose first page is not complete.
    unknown: FxHashMap<u64, Unknown>,
    /// Which of them came first.
    order: VecDeque<u64>,
    /// How many had to be forgotten.
    forgotten: u64,
    /// Bytes kept of those.
    kept: usize,
    /// Files that are complete: what still comes of them is repetition.
    over: FxHashSet<u64>,
    fresh: Vec<Arc<Spooled>>,
    /// What went wrong and can be told of no file.
    failed: Vec<String>,
    /// How many processes cannot be shown.
    failures: u64,
}

/// What has come of a file before its first page.
#[derive(Debug)]
struct Unknown {
    page: Box<FileHeader>,
    have: [bool; PAGE_PARTS],
    frames: VecDeque<(FrameHeader, Vec<u8>)>,
}

impl Spool {
    /// Of a stream that is called `name`.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            files: FxHashMap::default(),
            unknown: FxHashMap::default(),
            order: VecDeque::new(),
            forgotten: 0,
            kept: 0,
            over: FxHashSet::default(),
            fresh: Vec::new(),
            failed: Vec::new(),
            failures: 0,
        }
    }

    /// Takes a frame that began at byte `at` of the stream.
    pub fn take(&mut self, header: &FrameHeader, body: &[u8], at: u64) {
        if self.over.contains(&header.file) {
            return;
        }
        if !self.files.contains_key(&header.file) {
            match self.introduce(header, body, at) {
                Ok(true) => {}
                Ok(false) => return,
                Err(error) => {
                    // The others may have more luck; of this one nothing can be kept.
                    self.failures += 1;
                    if self.failures <= FAILURES {
                        self.failed.push(format!("{}: a process cannot be shown: {error}", self.name));
                    }
                    self.over.insert(header.file);
                    return;
                }
            }
        }
        if let Some(file) = self.files.get_mut(&header.file)
            && file.take(header, body, at)
        {
            self.files.remove(&header.file);
            self.over.insert(header.file);
        }
    }

    /// Keeps a frame of a file that is not known yet; whether it is known now.
    fn introduce(&mut self, header: &FrameHeader, body: &[u8], at: u64) -> io::Result<bool> {
        if !self.unknown.contains_key(&header.file) {
            self.make_room();
            self.order.push_back(header.file);
        }
        let unknown = self.unknown.entry(header.file).or_insert_with(|| Unknown {
            page: Box::new(FileHeader::new_zeroed()),
            have: [false; PAGE_PARTS],
            frames: VecDeque::new(),
        });
        if header.kind == KIND_PAGE {
            unknown.page_part(body);
            if unknown.have.iter().all(|&have| have) {
                let Some(unknown) = self.unknown.remove(&header.file) else { return Ok(false) };
                self.order.retain(|&file| file != header.file);
                self.kept -= unknown.cost();
                let (spooled, mut file) = self.create(unknown.page)?;
                // Definitions and statements come behind the first page: shown before, events would lack them.
                file.wait(true);
                for (header, body) in unknown.frames {
                    // A file that ends before it has begun is not worth a special case.
                    let _ = file.take(&header, &body, at);
                }
                file.wait(false);
                self.fresh.push(spooled);
                self.files.insert(header.file, file);
                return Ok(true);
            }
        }
        // Of a page's part only the number counts from here on.
        let body = if header.kind == KIND_PAGE { &[] } else { body };
        self.kept += cost(body);
        unknown.frames.push_back((*header, body.to_vec()));
        while self.kept > KEPT
            && let Some((_, oldest)) = unknown.frames.pop_front()
        {
            self.kept -= cost(&oldest);
        }
        Ok(false)
    }

    /// Room for one more file whose first page has not come.
    fn make_room(&mut self) {
        while self.order.len() >= UNKNOWN
            && let Some(oldest) = self.order.pop_front()
        {
            self.kept -= self.unknown.remove(&oldest).map_or(0, |unknown| unknown.cost());
            self.forgotten += 1;
        }
    }

    fn create(&self, page: Box<FileHeader>) -> io::Result<(Arc<Spooled>, SpoolFile)> {
        let host = page.host.split(|&byte| byte == 0).next().unwrap_or_default();
        let name = format!("{}:{}-{}", self.name, String::from_utf8_lossy(host), page.pid);
        let out = super::temporary::file()?;
        let bytes = Arc::new(FileBytes::of(out.try_clone()?, Path::new(&name)));
        let standing = Standing { life: Life::Sending, horizon: u64::MAX, missed: 0, notes: Vec::new() };
        let spooled = Arc::new(Spooled { name, bytes, standing: Mutex::new(standing) });
        let file = SpoolFile::new(out, page, spooled.clone());
        Ok((spooled, file))
    }

    /// Bytes that are kept of files whose first pages have not come.
    #[cfg(test)]
    pub(super) const fn kept(&self) -> usize {
        self.kept
    }

    /// Files that have begun since the last time.
    pub fn fresh(&mut self) -> Vec<Arc<Spooled>> {
        std::mem::take(&mut self.fresh)
    }

    /// What went wrong since the last time and can be told of no file.
    pub fn failed(&mut self) -> Vec<String> {
        std::mem::take(&mut self.failed)
    }

    /// The stream has ended at byte `at`, and `skipped` bytes of it were no frames. What is left is published; the
    /// result is what can be told of no file.
    pub fn end(&mut self, at: u64, skipped: u64) -> Vec<String> {
        for file in self.files.values_mut() {
            file.cut(at);
        }
        let mut told = std::mem::take(&mut self.failed);
        if skipped > 0 {
            told.push(format!("{}: {skipped} bytes of the stream were no frames and were passed over", self.name));
        }
        if self.failures > FAILURES {
            told.push(format!("{}: {} more processes cannot be shown", self.name, self.failures - FAILURES));
        }
        let unknown = self.unknown.len() as u64 + self.forgotten;
        if unknown > 0 {
            let name = &self.name;
            told.push(format!("{name}: the first page of {unknown} processes never came, they cannot be shown"));
        }
        told
    }
}

/// Bytes that it takes to keep a frame with this body.
const fn cost(body: &[u8]) -> usize {
    body.len() + size_of::<(FrameHeader, Vec<u8>)>()
}

impl Unknown {
    fn cost(&self) -> usize {
        self.frames.iter().map(|(_, body)| cost(body)).sum()
    }

    fn page_part(&mut self, body: &[u8]) {
        let Ok((part, bytes)) = PagePart::read_from_prefix(body) else { return };
        let (at, length) = (part.at as usize, HEADER_BYTES / PAGE_PARTS);
        if bytes.len() != length || !at.is_multiple_of(length) {
            return;
        }
        if let (Some(place), Some(have)) =
            (self.page.as_mut_bytes().get_mut(at..at + length), self.have.get_mut(at / length))
        {
            place.copy_from_slice(bytes);
            *have = true;
        }
    }
}
