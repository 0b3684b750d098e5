//! Files that are still being written.

use super::made::{Random, Wishes, make};
use super::model::{finish, lines, read};
use crate::parse::NativeReader;
use crate::parse::native::piece::{committed, header_at};
use crate::trace::{Bytes, Trace};
use proptest::prelude::*;
use std::io;
use std::sync::{Arc, Mutex};
use umtui_wire::activity::KIND_SUBMIT;
use umtui_wire::chunk::{HEADER_BYTES, KIND_EVENTS, STATE_OPEN};
use umtui_wire::header::{FileHeader, STATE_RECORDING};
use umtui_wire::record::{FLAG_LONG, Head, KIND_CALL, KIND_GPU_FIRST, KIND_LOST, KIND_RANGE_FIRST};

/// A file whose content is exchanged between polls.
#[derive(Default)]
struct Growing(Mutex<Vec<u8>>);

impl Bytes for Growing {
    fn len(&self) -> io::Result<u64> {
        Bytes::len(&*self.0.lock().unwrap())
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.lock().unwrap().read_at(offset, buffer)
    }
}

fn word(image: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(image[at..at + 8].try_into().unwrap())
}

/// Where a chunk's header counts its losses.
const LOST_AT: usize = std::mem::offset_of!(umtui_wire::chunk::ChunkHeader, lost);

/// Of slots that follow one another, those that begin a record.
fn records(image: &[u8], slots: impl Iterator<Item = usize>) -> impl Iterator<Item = usize> {
    let mut next = 0;
    slots.filter(move |&first| {
        let begins = first >= next;
        if begins {
            next = first + 48 * (1 + usize::from(Head::from_word(word(image, first)).extra));
        }
        begins
    })
}

/// The file as it was at `moment`: only records that were complete then.
fn at_moment(full: &[u8], moment: u64, hole: bool) -> Vec<u8> {
    let mut image = full.to_vec();
    let state = std::mem::offset_of!(FileHeader, state);
    image[state..state + 4].copy_from_slice(&STATE_RECORDING.to_le_bytes());
    let (mut at, mut length) = (65536, 65536);
    while at + HEADER_BYTES <= image.len() {
        let header = header_at(&full[at..], at as u64).unwrap();
        if header.kind == KIND_EVENTS {
            let (mut slot, mut before) = (0, header.opened.ticks);
            let slots = committed(&header) as usize;
            while slot < slots {
                let first = at + HEADER_BYTES + slot * 48;
                let head = Head::from_word(word(full, first));
                let next = slot + 1 + usize::from(head.extra);
                let mut end = word(full, first + 8);
                if head.kind == KIND_CALL {
                    let long = word(full, first + 16) >> 56 & u64::from(FLAG_LONG) != 0;
                    let last = at + HEADER_BYTES + next * 48 - 8;
                    end += if long { word(full, last) } else { word(full, first + 24) & 0xffff_ffff };
                }
                if (KIND_GPU_FIRST..KIND_RANGE_FIRST).contains(&head.kind) || head.kind == KIND_SUBMIT {
                    // Written with what stands before it.
                    end = before;
                }
                before = end;
                if end > moment {
                    break;
                }
                slot = next;
            }
            let later = (slot..slots).map(|slot| at + HEADER_BYTES + slot * 48);
            let is_lost = |first: &usize| Head::from_word(word(full, *first)).kind == KIND_LOST;
            let lost: u64 = records(full, later).filter(is_lost).map(|first| word(full, first + 16)).sum();
            let all = word(full, at + LOST_AT);
            image[at + LOST_AT..at + LOST_AT + 8].copy_from_slice(&(all - lost).to_le_bytes());
            let bytes = (HEADER_BYTES + slot * 48) as u32;
            image[at + 112..at + 116].copy_from_slice(&bytes.to_le_bytes());
            image[at + HEADER_BYTES + slot * 48..at + header.bytes as usize].fill(0);
            if slot < slots {
                image[at + 6..at + 8].copy_from_slice(&STATE_OPEN.to_le_bytes());
            }
            if header.opened.ticks > moment {
                image[at..at + header.bytes as usize].fill(0);
            } else {
                length = at + header.bytes as usize;
            }
        } else {
            length = at + header.bytes as usize;
        }
        at += header.bytes as usize;
    }
    if !hole {
        image.truncate(length);
    }
    image
}

#[test]
fn the_layout_that_the_test_cuts_by() {
    assert_eq!(std::mem::offset_of!(umtui_wire::chunk::ChunkHeader, committed), 112);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn live_equals_reopened(seed: u64, threads in 1u64..6, groups in 1u64..1500, holes: bool, hand_overs: bool) {
        let wishes = Wishes { threads, groups, ticks_per_second: 1_000_000_000, sealed: seed % 2 == 0, hand_overs, gpu: true };
        let made = make(seed, wishes);
        let image: Arc<dyn Bytes> = Arc::new(made.image.clone());
        let once = lines(&read(made.image.clone()).unwrap(), &[image]);

        let mut random = Random(seed ^ 1);
        let last = made.calls.iter().map(|call| call.start + call.duration).max().unwrap_or(0);
        let first = made.calls.iter().map(|call| call.start).min().unwrap_or(0);
        let mut moments: Vec<u64> = (0..6).map(|_| first + random.below(last - first + 1)).collect();
        moments.extend(made.calls.iter().step_by(made.calls.len() / 5 + 1).map(|call| call.start));
        moments.sort_unstable();
        let file = Arc::new(Growing(Mutex::new(at_moment(&made.image, moments.first().copied().unwrap_or(0), holes))));
        let mut trace = Trace::default();
        let mut reader = NativeReader::open(file.clone(), "made.umt", &mut trace).unwrap();
        for moment in moments {
            *file.0.lock().unwrap() = at_moment(&made.image, moment, holes);
            for _ in 0..random.below(4) {
                let _ = reader.poll(&mut trace, 1 + random.below(200) as usize).unwrap();
            }
        }
        *file.0.lock().unwrap() = made.image.clone();
        finish(&mut reader, &mut trace, 77).unwrap();
        prop_assert_eq!(&trace.damage, &[]);
        let again = lines(&trace, &[file]);
        for (one, other) in once.iter().zip(&again) {
            prop_assert_eq!(one, other);
        }
        prop_assert_eq!(once.len(), again.len());
    }
}
