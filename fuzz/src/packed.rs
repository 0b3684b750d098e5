//! Packed files taken apart, mutated inside and put together again: else checksums and Zstandard stop everything.

use crate::one_line;
use crate::random::{Random, mutate, shuffle};
use std::sync::Arc;
use umtui::parse::packed::layout::{
    BLOCK_MAGIC, BlockHead, CODING_BYTES, CODING_PREFACE, CODING_SLOTS, Entry, FIRST_BLOCK, Footer, HEAD_BYTES,
    PAYLOAD_MAX, PREFACE_BYTES, ROLE_INDEX, SPAN_MAX, sum,
};
use umtui::parse::packed::{Packed, columns};
use umtui::trace::Bytes as _;
use zerocopy::{FromBytes, IntoBytes};

/// Bytes of an image that are looked at.
const READ: u64 = 1 << 20;

/// A block with its payload not compressed.
#[derive(Clone)]
pub struct Block {
    /// As it was; sizes and sums are set anew.
    pub head: BlockHead,
    /// What stands before the compressed part.
    pub preface: Vec<u8>,
    /// What is compressed.
    pub plain: Vec<u8>,
}

impl Block {
    fn of(head: BlockHead, payload: &[u8]) -> Option<Self> {
        let preface = if head.coding & CODING_PREFACE != 0 { PREFACE_BYTES } else { 0 };
        let (preface, packed) = payload.split_at_checked(preface)?;
        let plain =
            if packed.is_empty() { Vec::new() } else { zstd::bulk::decompress(packed, head.plain as usize).ok()? };
        Some(Self { head, preface: preface.to_vec(), plain })
    }

    /// Appends it as it is in a file; its place in the index.
    fn put(&self, out: &mut Vec<u8>) -> Entry {
        let mut payload = self.preface.clone();
        if !self.plain.is_empty() {
            payload.extend(zstd::bulk::compress(&self.plain, 1).expect("memory"));
        }
        let head = BlockHead {
            magic: BLOCK_MAGIC,
            packed: payload.len() as u32,
            // Said wrongly it stays wrong.
            plain: if self.head.plain == u32::MAX { 1 } else { self.plain.len() as u32 },
            sum: sum(&payload),
            preface_sum: sum(&self.preface),
            ..self.head
        }
        .sealed();
        let entry = Entry::new(out.len() as u64, &head);
        out.extend_from_slice(head.as_bytes());
        out.extend(payload);
        entry
    }

    fn mutate(&mut self, random: &mut Random) {
        match random.below(8) {
            0 => {
                let mut head = self.head.as_bytes().to_vec();
                mutate(&mut head, HEAD_BYTES);
                head.resize(HEAD_BYTES, 0);
                self.head = BlockHead::read_from_bytes(&head).expect("as long");
            }
            1 if !self.preface.is_empty() => {
                mutate(&mut self.preface, PREFACE_BYTES);
                self.preface.resize(PREFACE_BYTES, 0);
            }
            // Slots as they are, and coded again.
            2..6 if self.head.coding & !CODING_PREFACE == CODING_SLOTS => {
                let Some(slots) = columns::decode(&self.plain) else { return mutate(&mut self.plain, PAYLOAD_MAX) };
                let mut bytes = slots.as_bytes().to_vec();
                mutate(&mut bytes, PAYLOAD_MAX);
                let slots: Vec<_> =
                    bytes.chunks_exact(48).filter_map(|slot| FromBytes::read_from_bytes(slot).ok()).collect();
                let mut plain = Vec::new();
                if columns::encode(&slots, &mut plain) {
                    self.plain = plain;
                }
            }
            _ => mutate(&mut self.plain, PAYLOAD_MAX),
        }
    }
}

/// The blocks of a file, those of the index left out; none if it is not whole.
#[must_use]
pub fn blocks(data: &[u8]) -> Vec<Block> {
    let mut at = FIRST_BLOCK as usize;
    let mut blocks = Vec::new();
    while let Some(head) = data.get(at..).and_then(BlockHead::of) {
        at += HEAD_BYTES;
        let Some(payload) = data.get(at..at + head.packed as usize) else { break };
        at += payload.len();
        if head.role != ROLE_INDEX
            && let Some(block) = Block::of(head, payload)
        {
            blocks.push(block);
        }
    }
    blocks
}

/// A file of these blocks.
fn file(first: &[u8], blocks: &[Block], random: &mut Random) -> Vec<u8> {
    let mut out = first.to_vec();
    let entries: Vec<Entry> = blocks.iter().map(|block| block.put(&mut out)).collect();
    if random.one_in(8) {
        // Its end is missing.
        return out;
    }
    let mut plain = entries.as_bytes().to_vec();
    if random.one_in(8) {
        mutate(&mut plain, 1 << 16);
    }
    let number = plain.len() / size_of::<Entry>();
    let footer = Footer::new(out.len() as u64, number as u64);
    let head = BlockHead { role: ROLE_INDEX, coding: CODING_BYTES, span: plain.len() as u32, ..BlockHead::default() };
    Block { head, preface: Vec::new(), plain }.put(&mut out);
    out.extend_from_slice(footer.as_bytes());
    out
}

/// A mutated file, if the bytes are one that can be taken apart.
#[must_use]
pub fn mutated(data: &[u8], random: &mut Random) -> Option<Vec<u8>> {
    let mut blocks = blocks(data);
    let first = data.get(..FIRST_BLOCK as usize)?;
    if random.one_in(5) {
        shuffle(&mut blocks, random);
    }
    for _ in 0..=random.below(3) {
        let number = random.below(blocks.len());
        blocks.get_mut(number)?.mutate(random);
    }
    Some(file(first, &blocks, random))
}

/// Reads a packed file block by block; whether it is one.
///
/// # Panics
/// When a promise of the form is broken.
#[must_use]
pub fn read(data: &[u8]) -> bool {
    let packed = match Packed::open(Arc::new(data.to_vec()), "fuzz") {
        Ok(packed) => packed,
        Err(error) => {
            one_line(&error.to_string());
            return false;
        }
    };
    let most = data.len() as u64 / HEAD_BYTES as u64 * SPAN_MAX;
    for member in packed.inputs().iter().flat_map(|input| &input.files) {
        let image = packed.member(member);
        let length = image.len().expect("bytes in memory");
        assert!(length <= most, "{length} bytes");
        // In pieces, and then at once.
        let mut pieces = vec![1; length.min(READ) as usize];
        for (piece, number) in pieces.chunks_mut(128).zip(0u64..) {
            assert_eq!(image.read_at(number * 128, piece).expect("bytes in memory"), piece.len());
        }
        let mut all = vec![2; pieces.len()];
        assert_eq!(image.read_at(0, &mut all).expect("bytes in memory"), all.len());
        assert!(pieces == all, "what is read depends on the order");
    }
    for loss in packed.take_losses() {
        one_line(&loss.why);
    }
    for block in blocks(data) {
        if let Some(slots) = columns::decode(&block.plain) {
            let mut again = Vec::new();
            if columns::encode(&slots, &mut again) {
                assert_eq!(columns::decode(&again).as_ref(), Some(&slots));
            }
        }
    }
    true
}
