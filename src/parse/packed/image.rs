//! What is in a packed file, unpacked where it is read.

use super::about::{About, Member};
use super::cache::{Cache, Unpacked};
use super::index::{Blocks, head};
use super::layout::{
    BlockHead, CODING_BYTES, CODING_PREFACE, CODING_SLOTS, CODING_ZERO, Entry, FIRST_BLOCK, HEAD_BYTES, MAGIC,
    PREFACE_BYTES, ROLE_ABOUT, ROLE_NAMES, ROLE_NATIVE, SPAN_MAX, VERSION, sum,
};
use crate::parse::ParseError;
use crate::trace::Bytes;
use rustc_hash::FxHashSet;
use std::io::{self, Read};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use umtui_wire::record::SLOT_BYTES;
use zerocopy::IntoBytes;

/// Bytes of all descriptions.
const ABOUTS: u64 = 64 << 20;
/// Bytes of names.
const NAMES: u64 = 512 << 20;

/// A packed file.
pub struct Packed {
    bytes: Arc<dyn Bytes>,
    name: String,
    blocks: Blocks,
    state: Mutex<State>,
}

struct State {
    cache: Cache,
    decompressor: zstd::bulk::Decompressor<'static>,
    told: FxHashSet<usize>,
    losses: Vec<Loss>,
}

/// A part of an image that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// The image, if it is that of a native file.
    pub image: Option<u32>,
    /// Where in the image.
    pub place: u64,
    /// What is missing.
    pub why: String,
}

impl Packed {
    /// Opens the packed file called `name`.
    ///
    /// # Errors
    /// When it cannot be read, or is of a newer version.
    pub fn open(bytes: Arc<dyn Bytes>, name: &str) -> Result<Arc<Self>, ParseError> {
        let io = |cause| ParseError::Io { file: name.to_owned(), offset: 0, cause };
        let mut first = [0; FIRST_BLOCK as usize];
        let count = bytes.read_at(0, &mut first).map_err(io)?;
        if count < first.len() || !first.starts_with(&MAGIC) {
            return Err(ParseError::Incomplete { file: name.to_owned(), bytes: count as u64 });
        }
        let version = first.get(MAGIC.len()..).and_then(<[u8]>::first_chunk).copied().map_or(0, u32::from_le_bytes);
        if version > VERSION {
            return Err(ParseError::Version { file: name.to_owned(), version, known: VERSION });
        }
        let blocks = Blocks::find(&*bytes).map_err(io)?;
        let decompressor = zstd::bulk::Decompressor::new().map_err(io)?;
        let state = State { cache: Cache::default(), decompressor, told: FxHashSet::default(), losses: Vec::new() };
        let packed = Self { bytes, name: name.to_owned(), blocks, state: Mutex::new(state) };
        packed.tell_of_index();
        Ok(Arc::new(packed))
    }

    /// What it is called.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    fn tell_of_index(&self) {
        let Some(unusable) = self.blocks.unusable else { return };
        let mut state = self.lock();
        let mut tell = |place, why| state.losses.push(Loss { image: None, place, why });
        tell(0, format!("{}: {unusable}; what can be found without is here", self.name));
        for &(from, to) in &self.blocks.gaps {
            tell(from, format!("{}: bytes {from} to {to} are damaged, what was there is missing", self.name));
        }
    }

    /// What is missing, as far as it has been met since the last time.
    #[must_use]
    pub fn take_losses(&self) -> Vec<Loss> {
        std::mem::take(&mut self.lock().losses)
    }

    /// What cannot be read of all that is in it, found by unpacking every block. What is there twice is missing only where
    /// both are damaged.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn check(&self) -> io::Result<Vec<Loss>> {
        for (number, entry) in self.blocks.list.iter().enumerate() {
            let again = number.checked_sub(1).is_some_and(|before| self.is_there_twice(before));
            if entry.coding != CODING_ZERO && !again {
                self.unpacked(number)?;
            }
        }
        Ok(self.take_losses())
    }

    /// Numbers of the images of a role.
    fn numbers(&self, role: u8) -> Vec<u32> {
        let mut numbers: Vec<u32> =
            self.blocks.list.iter().filter(|entry| entry.role == role).map(|entry| entry.number).collect();
        numbers.dedup();
        numbers
    }

    fn image_of(self: &Arc<Self>, role: u8, number: u32) -> Image {
        let list = &self.blocks.list;
        let begin = list.partition_point(|entry| (entry.role, entry.number) < (role, number));
        let end = list.partition_point(|entry| (entry.role, entry.number) <= (role, number));
        let last = list.get(begin..end).unwrap_or(&[]).iter().map(Entry::end).max().unwrap_or(0).min(self.longest());
        Image { packed: self.clone(), entries: begin..end, length: last, end: last }
    }

    /// Bytes of an image at most. Each block stands for a bounded part: what is said to lie far behind them all would be
    /// looked for for long.
    fn longest(&self) -> u64 {
        let blocks = self.bytes.len().unwrap_or(0) / HEAD_BYTES as u64;
        blocks.saturating_mul(SPAN_MAX)
    }

    /// A native file.
    #[must_use]
    pub fn image(self: &Arc<Self>, number: u32) -> Image {
        self.image_of(ROLE_NATIVE, number)
    }

    /// A native file as it is described.
    #[must_use]
    pub fn member(self: &Arc<Self>, member: &Member) -> Image {
        let mut image = self.image(member.image);
        if member.length > 0 {
            image.length = member.length.min(self.longest());
            image.end = image.end.max(image.length);
        }
        image
    }

    /// Names of call sites, in lines as in a side file.
    pub fn names(self: &Arc<Self>) -> impl Iterator<Item = impl Read + use<>> + use<> {
        let images: Vec<_> =
            self.numbers(ROLE_NAMES).into_iter().map(|number| self.image_of(ROLE_NAMES, number)).collect();
        images.into_iter().map(|image| image.read().take(NAMES))
    }

    /// The inputs that were packed, in their order. Files that none speaks of come last, under the name of this one.
    #[must_use]
    pub fn inputs(self: &Arc<Self>) -> Vec<About> {
        let mut natives = self.numbers(ROLE_NATIVE);
        let mut inputs = Vec::new();
        let mut left = ABOUTS;
        for number in self.numbers(ROLE_ABOUT) {
            let mut text = Vec::new();
            let _ = self.image_of(ROLE_ABOUT, number).read().take(left).read_to_end(&mut text);
            left -= text.len() as u64;
            match serde_json::from_slice::<About>(&text) {
                Ok(mut about) => {
                    about.files.retain(|file| {
                        let place = natives.iter().position(|&native| native == file.image);
                        place.map(|place| natives.remove(place)).is_some()
                    });
                    inputs.push(about);
                }
                Err(_) => self.tell(format!("{}: what is said of input {number} is damaged", self.name)),
            }
        }
        if !natives.is_empty() {
            let member = |image: u32| Member { image, name: format!("{}#{image}", self.name), ..Member::default() };
            let files = natives.into_iter().map(member).collect();
            inputs.push(About { format: "native".to_owned(), files, ..About::default() });
        }
        inputs
    }

    fn tell(&self, why: String) {
        self.lock().losses.push(Loss { image: None, place: 0, why });
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A block's bytes, without the zeros at its end.
    fn unpacked(&self, number: usize) -> io::Result<Unpacked> {
        let mut state = self.lock();
        if let Some(unpacked) = state.cache.get(number) {
            return Ok(unpacked);
        }
        let Some(entry) = self.blocks.list.get(number) else { return Ok(None) };
        let same = |other: &&Entry| (other.role, other.number, other.place) == (entry.role, entry.number, entry.place);
        // Some blocks are there twice.
        let copies = self.blocks.list.get(number..).unwrap_or(&[]).iter().take_while(same);
        let mut unpacked = None;
        for copy in copies {
            unpacked = self.unpack(copy, &mut state.decompressor)?.map(Arc::from);
            if unpacked.is_some() {
                break;
            }
        }
        if unpacked.is_none() && state.told.insert(number) {
            let loss = self.loss(entry);
            state.losses.push(loss);
        }
        state.cache.put(number, unpacked.clone());
        Ok(unpacked)
    }

    /// Whether the block behind it in the list stands for the same bytes.
    fn is_there_twice(&self, number: usize) -> bool {
        let place = |number: usize| self.blocks.list.get(number).map(|entry| (entry.role, entry.number, entry.place));
        place(number) == place(number + 1)
    }

    fn is_unpacked(&self, number: usize) -> bool {
        self.lock().cache.has(number)
    }

    fn loss(&self, entry: &Entry) -> Loss {
        let head = head(&*self.bytes, entry.at).ok().flatten().filter(|head| entry.is_of(head));
        let events = head.map_or(0, |head| head.events);
        let what = if events > 0 { format!("{events} events") } else { format!("{} bytes", entry.span) };
        let why = format!("{}: the block at byte {} is damaged, {what} are missing", self.name, entry.at);
        Loss { image: (entry.role == ROLE_NATIVE).then_some(entry.number), place: entry.place, why }
    }

    fn unpack(
        &self,
        entry: &Entry,
        decompressor: &mut zstd::bulk::Decompressor<'static>,
    ) -> io::Result<Option<Vec<u8>>> {
        let Some(head) = head(&*self.bytes, entry.at)?.filter(|head| entry.is_of(head)) else { return Ok(None) };
        let mut payload = vec![0; head.packed as usize];
        let count = self.bytes.read_at(entry.at.saturating_add(HEAD_BYTES as u64), &mut payload)?;
        if count < payload.len() || sum(&payload) != head.sum {
            return Ok(None);
        }
        Ok(decode(&head, &payload, decompressor))
    }

    /// The first bytes of a block that begins with a chunk's header, read without the rest.
    fn preface(&self, entry: &Entry) -> io::Result<Option<[u8; PREFACE_BYTES]>> {
        let mut bytes = [0; HEAD_BYTES + PREFACE_BYTES];
        let count = self.bytes.read_at(entry.at, &mut bytes)?;
        let bytes = bytes.get(..count).unwrap_or(&[]);
        let head = BlockHead::of(bytes).filter(|head| entry.is_of(head));
        let preface = bytes.get(HEAD_BYTES..).and_then(<[u8]>::first_chunk::<PREFACE_BYTES>).copied();
        Ok(preface.filter(|preface| head.is_some_and(|head| head.preface_sum == sum(preface))))
    }
}

/// What a payload stands for.
fn decode(head: &BlockHead, payload: &[u8], decompressor: &mut zstd::bulk::Decompressor<'static>) -> Option<Vec<u8>> {
    let preface = if head.coding & CODING_PREFACE != 0 { PREFACE_BYTES } else { 0 };
    let (preface, packed) = payload.split_at_checked(preface)?;
    let mut out = preface.to_vec();
    let plain = match packed {
        [] => Vec::new(),
        packed => decompressor.decompress(packed, head.plain as usize).ok()?,
    };
    match head.coding & !CODING_PREFACE {
        CODING_ZERO => {}
        CODING_BYTES => out.extend_from_slice(&plain),
        CODING_SLOTS => {
            let slots = super::columns::decode(&plain)?;
            out.reserve_exact(slots.len() * SLOT_BYTES);
            out.extend_from_slice(slots.as_bytes());
        }
        _ => return None,
    }
    (out.len() <= head.span as usize).then_some(out)
}

/// A file in a packed file.
#[derive(Clone)]
pub struct Image {
    packed: Arc<Packed>,
    entries: Range<usize>,
    /// How long it says that it is.
    length: u64,
    /// Up to where it can be read: what is in a window may have its place behind the end of the file.
    end: u64,
}

impl Image {
    /// From its beginning to its end.
    fn read(self) -> Reading {
        Reading { image: self, at: 0 }
    }

    /// The block in which an offset lies, if it lies in one, and where the block or the gap between two ends.
    fn block(&self, offset: u64) -> (Option<usize>, u64) {
        let list = self.packed.blocks.list.get(self.entries.clone()).unwrap_or(&[]);
        let after = list.partition_point(|entry| entry.place <= offset);
        let until = list.get(after).map_or(self.end, |entry| entry.place.min(self.end));
        let Some(entry) = after.checked_sub(1).and_then(|last| list.get(last)).filter(|entry| offset < entry.end())
        else {
            return (None, until);
        };
        let first = list.get(..after).unwrap_or(&[]).partition_point(|other| other.place < entry.place);
        (Some(self.entries.start + first), until.min(entry.end()))
    }
}

impl Bytes for Image {
    fn len(&self) -> io::Result<u64> {
        Ok(self.length)
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let mut done = 0;
        while let Some(rest) = buffer.get_mut(done..).filter(|rest| !rest.is_empty()) {
            let at = offset.saturating_add(done as u64);
            if at >= self.end {
                break;
            }
            let (block, until) = self.block(at);
            let count = usize::try_from(until.saturating_sub(at)).unwrap_or(usize::MAX).min(rest.len());
            let rest = rest.get_mut(..count).unwrap_or(&mut []);
            rest.fill(0);
            done += count.max(1);
            let Some(number) = block else { continue };
            let Some(entry) = self.packed.blocks.list.get(number) else { continue };
            let inside = usize::try_from(at - entry.place).unwrap_or(usize::MAX);
            let preface = entry.coding & CODING_PREFACE != 0;
            if preface
                && inside.saturating_add(count) <= PREFACE_BYTES
                && !self.packed.is_there_twice(number)
                && !self.packed.is_unpacked(number)
                && let Some(preface) = self.packed.preface(entry)?
            {
                copy(&preface, inside, rest);
            } else if entry.coding != CODING_ZERO
                && let Some(unpacked) = self.packed.unpacked(number)?
            {
                copy(&unpacked, inside, rest);
            } else if preface && let Some(preface) = self.packed.preface(entry)? {
                // A chunk's header is there also where its records are not, in whatever order it is read.
                copy(&preface, inside, rest);
            }
        }
        Ok(done)
    }
}

/// As much of `from`, from `at` on, as there is.
fn copy(from: &[u8], at: usize, to: &mut [u8]) {
    let from = from.get(at..).unwrap_or(&[]);
    let count = from.len().min(to.len());
    if let (Some(to), Some(from)) = (to.get_mut(..count), from.get(..count)) {
        to.copy_from_slice(from);
    }
}

/// An image read in order.
struct Reading {
    image: Image,
    at: u64,
}

impl Read for Reading {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.image.read_at(self.at, buffer)?;
        self.at += count as u64;
        Ok(count)
    }
}
