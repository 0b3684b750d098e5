//! The records of a recording as they lie in its file, read without the explorer's reader.
#![allow(dead_code, reason = "each test uses its part")]

use std::collections::HashMap;
use std::path::Path;

use umtui_wire::activity::{KIND_RANGE_PUSH, Range};
use umtui_wire::chunk::{self, ChunkHeader, HEADER_BYTES};
use umtui_wire::definition::TEXT_AT;
use umtui_wire::header::CHUNK_UNIT;
use umtui_wire::record::{Head, KIND_STRING, KIND_THREAD, SLOT_BYTES};
use zerocopy::FromBytes;

/// A record: its head, its bytes, and the thread in whose chunk it lies.
#[derive(Clone, Debug)]
pub struct Record {
    pub thread: u32,
    /// Number of the chunk that it lies in.
    pub chunk: u64,
    pub head: Head,
    pub bytes: Vec<u8>,
}

impl Record {
    /// Word of the record, the head being word 0.
    pub fn word(&self, index: usize) -> u64 {
        u64::from_le_bytes(self.bytes[index * 8..index * 8 + 8].try_into().unwrap())
    }

    /// As a range or a mark, if it is one.
    pub fn range(&self) -> Option<Range> {
        (self.head.kind >= KIND_RANGE_PUSH).then(|| Range::read_from_bytes(&self.bytes[..SLOT_BYTES]).unwrap())
    }

    /// As one of the layouts of `umtui_wire::activity`; what the record lacks is zero.
    pub fn layout<R: FromBytes>(&self) -> R {
        let mut bytes = self.bytes.clone();
        bytes.resize(size_of::<R>(), 0);
        R::read_from_bytes(&bytes).unwrap()
    }
}

/// A file: its records in the order of its chunks, and its strings.
#[derive(Debug, Default)]
pub struct File {
    pub records: Vec<Record>,
    pub strings: HashMap<u32, String>,
    /// Bytes of the records of strings.
    pub string_bytes: usize,
    /// Events as the chunks count them, and those that are lost.
    pub events: u64,
    pub lost: u64,
}

impl File {
    pub fn read(path: &Path) -> Self {
        let bytes = std::fs::read(path).unwrap();
        let mut file = Self::default();
        let mut texts: HashMap<u32, Vec<u8>> = HashMap::new();
        let mut chunks = Vec::new();
        for at in (CHUNK_UNIT as usize..bytes.len()).step_by(CHUNK_UNIT as usize) {
            let Some((header, found)) = header(&bytes, at) else { continue };
            if header.offset != at as u64 {
                continue;
            }
            match header.kind {
                chunk::KIND_DEFINITIONS => {
                    for record in records(&found[..header.committed as usize]) {
                        if record.head.kind == KIND_STRING {
                            file.string_bytes += record.bytes.len();
                            let (length, offset) = (record.word(1) as u32 as usize, (record.word(1) >> 32) as usize);
                            let text = texts.entry(record.head.b).or_insert_with(|| vec![0; length]);
                            let part = &record.bytes[TEXT_AT..];
                            let end = length.min(offset + part.len());
                            text[offset..end].copy_from_slice(&part[..end - offset]);
                        }
                    }
                }
                chunk::KIND_EVENTS if header.state == chunk::STATE_OPEN && header.window != 0 => {
                    let image = self::header(&bytes, header.window as usize + HEADER_BYTES);
                    chunks.extend(image.filter(|(image, _)| image.sequence == header.sequence));
                }
                chunk::KIND_EVENTS => chunks.push((header, found)),
                _ => {}
            }
        }
        chunks.sort_by_key(|(header, _)| header.sequence);
        for (header, bytes) in chunks {
            file.events += u64::from(header.events());
            file.lost += header.lost;
            let mut thread = header.thread;
            for mut record in records(&bytes[..header.committed as usize]) {
                if record.head.kind == KIND_THREAD {
                    thread = record.head.b;
                }
                record.thread = thread;
                record.chunk = header.sequence;
                file.records.push(record);
            }
        }
        file.strings = texts.into_iter().map(|(id, text)| (id, String::from_utf8_lossy(&text).into_owned())).collect();
        file
    }

    /// A string by its id; nothing for none.
    pub fn string(&self, id: u64) -> &str {
        if id == 0 { "" } else { self.strings.get(&(id as u32)).unwrap_or_else(|| panic!("no string {id}")) }
    }

    /// Records of a kind.
    pub fn of(&self, kind: u8) -> impl Iterator<Item = &Record> {
        self.records.iter().filter(move |record| record.head.kind == kind)
    }
}

fn header(bytes: &[u8], at: usize) -> Option<(ChunkHeader, &[u8])> {
    let bytes = bytes.get(at..)?;
    let header = ChunkHeader::read_from_bytes(bytes.get(..HEADER_BYTES)?).ok()?;
    (header.magic == chunk::MAGIC).then_some((header, bytes))
}

fn records(chunk: &[u8]) -> Vec<Record> {
    let mut rest = &chunk[HEADER_BYTES..];
    let mut found = Vec::new();
    while let Some(word) = rest.first_chunk() {
        let head = Head::from_word(u64::from_le_bytes(*word));
        let (bytes, after) = rest.split_at((1 + usize::from(head.extra)) * SLOT_BYTES);
        found.push(Record { thread: 0, chunk: 0, head, bytes: bytes.to_vec() });
        rest = after;
    }
    found
}
