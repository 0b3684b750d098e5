//! Which blocks there are: from the index, or from looking at all of the file where that is damaged.

use super::layout::{
    BLOCK_MAGIC, BlockHead, CODING_BYTES, ENTRY_BYTES, Entry, FIRST_BLOCK, FOOTER_BYTES, Footer, HEAD_BYTES,
    ROLE_INDEX, sum,
};
use crate::trace::Bytes;
use std::io;
use zerocopy::FromBytes;

/// Bytes looked at in one go for the next block behind damage, at first and at most.
const WINDOW: (usize, usize) = (4 * 1024, 256 * 1024);

/// The blocks of a packed file.
#[derive(Debug, Default)]
pub struct Blocks {
    /// In the order of [`Entry::key`].
    pub list: Vec<Entry>,
    /// Parts of the file in which no block was found: from, to.
    pub gaps: Vec<(u64, u64)>,
    /// Why the index could not be used, if it could not.
    pub unusable: Option<&'static str>,
}

/// Gaps that are listed.
const GAPS: usize = 64;

impl Blocks {
    /// Finds the blocks.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn find(bytes: &dyn Bytes) -> io::Result<Self> {
        let length = bytes.len()?;
        let mut blocks = match indexed(bytes, length)? {
            Ok(list) => Self { list, ..Self::default() },
            Err(why) => {
                let mut blocks = Self { unusable: Some(why), ..Self::default() };
                blocks.walk(bytes, length)?;
                blocks
            }
        };
        blocks.list.sort_unstable_by_key(Entry::key);
        Ok(blocks)
    }

    /// Goes from block to block, and behind damage to the next that can be found.
    fn walk(&mut self, bytes: &dyn Bytes, length: u64) -> io::Result<()> {
        let mut at = FIRST_BLOCK;
        // The footer ends it, where it is whole.
        let end = if footer(bytes, length)?.is_some() { length - FOOTER_BYTES as u64 } else { length };
        while at < end {
            let found = head(bytes, at)?;
            let next = found.map(|head| at.saturating_add((HEAD_BYTES as u64).saturating_add(u64::from(head.packed))));
            match (found, next.filter(|&next| next <= end)) {
                (Some(head), Some(next)) => {
                    if head.role != ROLE_INDEX {
                        self.list.push(Entry::new(at, &head));
                    }
                    at = next;
                }
                _ => {
                    let next = self::next(bytes, at + 1, end)?;
                    if self.gaps.len() < GAPS {
                        self.gaps.push((at, next));
                    } else if let Some(last) = self.gaps.last_mut() {
                        last.1 = next;
                    }
                    at = next;
                }
            }
        }
        Ok(())
    }
}

/// The head of a block.
pub fn head(bytes: &dyn Bytes, at: u64) -> io::Result<Option<BlockHead>> {
    let mut head = [0; HEAD_BYTES];
    let count = bytes.read_at(at, &mut head)?;
    Ok(head.get(..count).and_then(BlockHead::of))
}

fn footer(bytes: &dyn Bytes, length: u64) -> io::Result<Option<Footer>> {
    let Some(at) = length.checked_sub(FOOTER_BYTES as u64) else { return Ok(None) };
    let mut footer = [0; FOOTER_BYTES];
    let count = bytes.read_at(at, &mut footer)?;
    Ok(footer.get(..count).and_then(Footer::of))
}

/// Where the next block begins, or `end`.
fn next(bytes: &dyn Bytes, mut at: u64, end: u64) -> io::Result<u64> {
    // Damage may be small, and there may be much of it.
    let mut window = vec![0; WINDOW.0];
    let magic = BLOCK_MAGIC.to_le_bytes();
    while at < end {
        let count = bytes.read_at(at, &mut window)?;
        let seen = window.get(..count).unwrap_or(&[]);
        // A head that does not lie in the window as a whole is looked for in the next one.
        let whole = count.saturating_sub(HEAD_BYTES - 1);
        for found in memchr::memmem::find_iter(seen, &magic).take_while(|&found| found < whole) {
            let place = at + found as u64;
            if place < end && seen.get(found..).and_then(BlockHead::of).is_some() {
                return Ok(place);
            }
        }
        if count < window.len() {
            break;
        }
        at += whole as u64;
        window.resize((window.len() * 2).min(WINDOW.1), 0);
    }
    Ok(end)
}

/// The blocks by the index, or why it cannot be used.
fn indexed(bytes: &dyn Bytes, length: u64) -> io::Result<Result<Vec<Entry>, &'static str>> {
    let Some(footer) = footer(bytes, length)? else { return Ok(Err("its end is missing or damaged")) };
    let damaged = Ok(Err("its index is damaged"));
    // Each block has a head at least.
    if footer.blocks > length / HEAD_BYTES as u64 {
        return damaged;
    }
    let end = length - FOOTER_BYTES as u64;
    let mut list: Vec<Entry> = Vec::new();
    let mut at = footer.index_at;
    while at < end {
        let Some(part) = entries(bytes, at)? else { return damaged };
        let (part, next) = part;
        if list.len() as u64 + part.len() as u64 > footer.blocks || next > end {
            return damaged;
        }
        list.extend(part);
        at = next;
    }
    let lawful = |entry: &Entry| {
        let last = entry.at.checked_add(HEAD_BYTES as u64 + u64::from(entry.packed));
        entry.at >= FIRST_BLOCK && last.is_some_and(|last| last <= footer.index_at) && entry.fits()
    };
    if list.len() as u64 != footer.blocks || !list.iter().all(lawful) {
        return damaged;
    }
    Ok(Ok(list))
}

/// A part of the index, and what comes behind it.
fn entries(bytes: &dyn Bytes, at: u64) -> io::Result<Option<(Vec<Entry>, u64)>> {
    let Some(head) = head(bytes, at)?.filter(|head| head.role == ROLE_INDEX && head.coding == CODING_BYTES) else {
        return Ok(None);
    };
    let mut payload = vec![0; head.packed as usize];
    let count = bytes.read_at(at.saturating_add(HEAD_BYTES as u64), &mut payload)?;
    if count < payload.len() || sum(&payload) != head.sum {
        return Ok(None);
    }
    let Ok(plain) = zstd::bulk::decompress(&payload, head.plain as usize) else { return Ok(None) };
    let list = plain.chunks_exact(ENTRY_BYTES).filter_map(|entry| Entry::read_from_bytes(entry).ok()).collect();
    Ok(Some((list, at.saturating_add((HEAD_BYTES + payload.len()) as u64))))
}
