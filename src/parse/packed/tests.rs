use super::layout::{
    BLOCK_MAGIC, BlockHead, CODING_BYTES, CODING_SLOTS, Entry, FIRST_BLOCK, FOOTER_BYTES, Footer, HEAD_BYTES,
    ROLE_ABOUT, ROLE_NATIVE, sum,
};
use super::{About, Member, Packed, Standing, Writer, take, take_first_page};
use crate::parse::NativeReader;
use crate::parse::native::tests::made::{Wishes, make};
use crate::parse::native::window::Windowed;
use crate::trace::{Bytes, Trace};
use proptest::prelude::*;
use std::sync::Arc;
use umtui_wire::chunk::{ChunkHeader, KIND_EVENTS, KIND_WINDOW, STATE_OPEN};
use zerocopy::{FromBytes, IntoBytes};

fn small(seed: u64, groups: u64) -> Vec<u8> {
    let wishes =
        Wishes { threads: 3, groups, ticks_per_second: 1_000_000_000, sealed: true, hand_overs: true, gpu: true };
    make(seed, wishes).image
}

fn pack(natives: &[Vec<u8>]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new()).unwrap();
    let file = |image| Member { image, name: format!("file {image}"), standing: Standing::Gone, ..Member::default() };
    let files = (0..natives.len() as u32).map(file).collect();
    let about = serde_json::to_vec(&About { format: "native".into(), files, ..About::default() }).unwrap();
    writer.put_text(ROLE_ABOUT, 0, &*about).unwrap();
    for (native, number) in natives.iter().zip(0..) {
        take(native, number, &mut writer, &mut |_| ()).unwrap();
        take_first_page(native, number, &mut writer).unwrap();
    }
    writer.put_text(ROLE_ABOUT, 0, &*about).unwrap();
    let (bytes, length) = writer.finish().unwrap();
    assert_eq!(bytes.len() as u64, length);
    bytes
}

fn open(bytes: &[u8]) -> Option<Arc<Packed>> {
    Packed::open(Arc::new(bytes.to_vec()), "p").ok()
}

fn all(packed: &Arc<Packed>, number: u32) -> Vec<u8> {
    let image = packed.image(number);
    let mut bytes = vec![0xaa; image.len().unwrap() as usize];
    assert_eq!(image.read_at(0, &mut bytes).unwrap(), bytes.len());
    bytes
}

/// The first image, read as a reader does: headers of chunks before what is in them.
fn by_headers(bytes: &[u8]) -> Vec<u8> {
    let packed = open(bytes).unwrap();
    let image = packed.image(0);
    let mut read = vec![0xaa; image.len().unwrap() as usize];
    for (unit, number) in read.chunks_mut(65536).zip(0u64..) {
        let at = number * 65536;
        let (header, rest) = unit.split_at_mut(128.min(unit.len()));
        image.read_at(at, header).unwrap();
        image.read_at(at + 128, rest).unwrap();
    }
    read
}

/// Events that a reader finds, and how much damage it names.
fn events(bytes: Arc<dyn Bytes>) -> Option<(u64, usize)> {
    let mut trace = Trace::default();
    let mut reader = NativeReader::open(bytes, "a", &mut trace).ok()?;
    for _ in 0..10_000 {
        if !reader.poll(&mut trace, 1 << 16).ok()?.more {
            return Some((trace.events(), trace.damage.len()));
        }
    }
    panic!("it does not come to an end");
}

#[test]
fn it_is_smaller_and_comes_back() {
    let native = small(5, 20_000);
    let bytes = pack(std::slice::from_ref(&native));
    // Arguments are drawn at random here, and stay as long as they are.
    assert!(bytes.len() * 5 < native.len() * 3, "{} of {}", bytes.len(), native.len());
    let packed = open(&bytes).unwrap();
    assert!(all(&packed, 0) == native);
    assert_eq!(packed.take_losses(), []);
    let inputs = packed.inputs();
    assert_eq!(inputs.len(), 1);
    assert_eq!(inputs[0].files[0].name, "file 0");
    assert_eq!(events(Arc::new(packed.image(0))), events(Arc::new(native)));
}

#[test]
fn an_empty_one_and_one_of_a_newer_version() {
    let mut bytes = pack(&[]);
    assert_eq!(open(&bytes).unwrap().inputs(), [About { format: "native".into(), ..About::default() }]);
    bytes[8] = 2;
    let error = Packed::open(Arc::new(bytes), "p").err().unwrap();
    assert!(error.to_string().contains("newer"), "{error}");
    assert!(open(b"UMTPK\r\n\x1a").is_none() && open(b"").is_none());
}

/// The file with its first chunk of events in a window, and the chunk's place behind the file's end.
fn windowed(mut native: Vec<u8>) -> Vec<u8> {
    let header = |at: usize| ChunkHeader::read_from_bytes(&native[at..at + 128]).unwrap();
    let mut at = 65536;
    while header(at).kind != KIND_EVENTS {
        at += header(at).bytes as usize;
    }
    let chunk = header(at);
    let mut end = at;
    while end < native.len() {
        end += header(end).bytes as usize;
    }
    native.resize(end, 0);
    let length = chunk.bytes as usize;
    let slots = native[at + 128..at + length].to_vec();
    native[at..at + length].fill(0);
    let window = native.len();
    let place = (window + length + 65536) as u64;
    let open = ChunkHeader { offset: place, state: STATE_OPEN, window: window as u64, ..chunk };
    let around = ChunkHeader {
        kind: KIND_WINDOW,
        state: STATE_OPEN,
        bytes: chunk.bytes + 65536,
        offset: window as u64,
        committed: 128,
        ..chunk
    };
    native.extend([around.as_bytes(), open.as_bytes(), slots.as_slice()].concat());
    native.resize(place as usize, 0);
    native.extend(ChunkHeader { committed: 128, ..open }.as_bytes());
    native
}

#[test]
fn a_chunk_in_a_window_is_packed_at_its_place() {
    let native = windowed(small(8, 3000));
    let known = events(Arc::new(native.clone())).unwrap();
    assert_eq!(Some(known), events(Arc::new(small(8, 3000))));
    let length = native.len() as u64;
    let mut writer = Writer::new(Vec::new()).unwrap();
    take(&Windowed::new(Arc::new(native)), 0, &mut writer, &mut |_| ()).unwrap();
    let packed = open(&writer.finish().unwrap().0).unwrap();
    let image = packed.member(&Member { length, ..Member::default() });
    assert_eq!(image.len().unwrap(), length);
    assert_eq!(events(Arc::new(image)), Some(known));
    assert_eq!(packed.take_losses(), []);
}

#[test]
fn a_damaged_block_costs_what_is_in_it_and_is_named() {
    let native = small(6, 9000);
    let good = pack(std::slice::from_ref(&native));
    let (known, _) = events(Arc::new(native.clone())).unwrap();
    let heads: Vec<usize> = heads(&good).into_iter().map(|(at, _)| at).collect();
    for (number, at) in heads.iter().enumerate() {
        let head = BlockHead::of(&good[*at..]).unwrap();
        if head.packed == 0 || head.role != ROLE_NATIVE {
            continue;
        }
        let mut bad = good.clone();
        bad[at + HEAD_BYTES + head.packed as usize - 1] ^= 4;
        let packed = open(&bad).unwrap();
        let read = all(&packed, 0);
        let losses = packed.take_losses();
        assert!(read == by_headers(&bad), "block {number}: what is read depends on the order");
        if head.place == 0 {
            // The first page is there twice.
            assert!(read == native && losses.is_empty(), "block {number}");
            continue;
        }
        assert_eq!(losses.len(), 1, "block {number}");
        assert_eq!((losses[0].image, losses[0].place), (Some(0), head.place));
        let (from, upto) = (head.place as usize, (head.place + u64::from(head.span)) as usize);
        assert!(read[..from] == native[..from] && read[upto..] == native[upto..], "block {number}");
        if head.coding & 0x7f == CODING_SLOTS && head.events > 0 {
            assert!(losses[0].why.contains(&format!("{} events", head.events)), "{:?}", losses[0]);
            let (rest, _) = events(Arc::new(packed.image(0))).unwrap();
            assert!(rest < known && rest + u64::from(head.events) <= known + 2, "{rest} of {known}");
        }
    }
}

#[test]
fn a_look_at_all_of_it_finds_what_is_missing_and_nothing_else() {
    let mut writer = Writer::new(Vec::new()).unwrap();
    let native = small(6, 900);
    take(&native, 0, &mut writer, &mut |_| ()).unwrap();
    take_first_page(&native, 0, &mut writer).unwrap();
    writer.put_text(super::layout::ROLE_NAMES, 0, &b"names"[..]).unwrap();
    let (good, _) = writer.finish().unwrap();
    assert_eq!(open(&good).unwrap().check().unwrap(), []);
    for (at, head) in heads(&good) {
        if head.packed == 0 || head.role == super::layout::ROLE_INDEX {
            continue;
        }
        let mut bad = good.clone();
        bad[at + HEAD_BYTES + head.packed as usize - 1] ^= 4;
        let lost = open(&bad).unwrap().check().unwrap();
        let twice = head.role == ROLE_NATIVE && head.place == 0;
        assert_eq!(lost.len(), usize::from(!twice), "{head:?} {lost:?}");
    }
}

/// Where blocks begin.
fn heads(bytes: &[u8]) -> Vec<(usize, BlockHead)> {
    let mut at = FIRST_BLOCK as usize;
    let mut heads = Vec::new();
    while let Some(head) = BlockHead::of(&bytes[at..]) {
        heads.push((at, head));
        at += HEAD_BYTES + head.packed as usize;
    }
    assert_eq!(at + FOOTER_BYTES, bytes.len());
    heads
}

#[test]
fn without_an_end_or_an_index_all_whole_blocks_are_found() {
    let native = small(7, 9000);
    let good = pack(std::slice::from_ref(&native));
    let footer = good.len() - FOOTER_BYTES;
    let (index, _) = heads(&good).pop().unwrap();
    for (from, upto) in [(footer, good.len()), (index + 60, index + 70), (index, good.len())] {
        let mut bad = good.clone();
        bad[from..upto].fill(0x55);
        let packed = open(&bad).unwrap();
        assert!(all(&packed, 0) == native, "{from}..{upto}");
        assert!(!packed.take_losses().is_empty());
    }
    // Cut in the middle: what came before is here, also what is said of the file.
    let packed = open(&good[..good.len() / 2]).unwrap();
    let half = all(&packed, 0);
    let (some, _) = events(Arc::new(packed.image(0))).unwrap();
    let (every, _) = events(Arc::new(native.clone())).unwrap();
    assert!(half.len() < native.len() && native.starts_with(&half[..65536]));
    assert!(some > 0 && some < every);
    assert_eq!(packed.inputs()[0].files[0].name, "file 0");
    assert!(packed.take_losses().iter().any(|loss| loss.why.contains("end is missing")));
    // A piece torn out: what comes before it and behind it.
    let mut torn = good.clone();
    torn[index + 8..].fill(0);
    let middle = good.len() / 2;
    torn[middle..middle + 300].fill(0xee);
    let packed = open(&torn).unwrap();
    let read = all(&packed, 0);
    assert_eq!(read.len(), native.len());
    let same = read.chunks(4096).zip(native.chunks(4096)).filter(|(one, other)| one == other).count();
    assert!(same * 3 > native.len() / 4096 && read != native);
    assert!(packed.take_losses().iter().any(|loss| loss.why.contains("are damaged")));
}

/// A file of these blocks, of which payload and sums are right, with an index if asked for.
fn forged(heads: &[(BlockHead, Vec<u8>)], index: bool) -> Vec<u8> {
    let mut bytes = pack(&[])[..FIRST_BLOCK as usize].to_vec();
    let mut entries = Vec::new();
    for (head, payload) in heads {
        let head = BlockHead { magic: BLOCK_MAGIC, sum: sum(payload), ..*head }.sealed();
        entries.push(Entry::new(bytes.len() as u64, &head));
        bytes.extend_from_slice(head.as_bytes());
        bytes.extend_from_slice(payload);
    }
    if index {
        let at = bytes.len() as u64;
        let payload = zstd::bulk::compress(entries.as_bytes(), 1).unwrap();
        let head = BlockHead {
            magic: BLOCK_MAGIC,
            role: super::layout::ROLE_INDEX,
            coding: CODING_BYTES,
            packed: payload.len() as u32,
            plain: entries.as_bytes().len() as u32,
            sum: sum(&payload),
            ..BlockHead::default()
        };
        bytes.extend_from_slice(head.sealed().as_bytes());
        bytes.extend_from_slice(&payload);
        bytes.extend_from_slice(Footer::new(at, entries.len() as u64).as_bytes());
    }
    bytes
}

#[test]
fn huge_and_crossing_fields_are_bounded() {
    let payload = zstd::bulk::compress(&vec![0; 1 << 20], 1).unwrap();
    let block = |coding: u8, place: u64, plain: u32, span: u32| {
        let head = BlockHead {
            role: ROLE_NATIVE,
            coding,
            place,
            packed: payload.len() as u32,
            plain,
            span,
            ..BlockHead::default()
        };
        (head, payload.clone())
    };
    let lists = [
        vec![block(1, u64::MAX, 1, 1)],
        vec![block(1, 1 << 62, 1 << 20, 1 << 20)],
        vec![block(1, 0, u32::MAX, 1 << 20)],
        vec![block(1, 0, 100, u32::MAX)],
        vec![block(2, 0, 1 << 20, 1 << 20), block(2, 1, 1 << 20, 1 << 20), block(1, 2, 1 << 20, 3)],
        vec![block(1, 0, 1 << 20, 1 << 20), block(1, 0, 1 << 20, 1 << 20), block(0x81, 1 << 20, 5, 500)],
        vec![block(77, 0, 1 << 20, 4096), block(0x80, 1 << 40, 1 << 20, 1 << 20)],
    ];
    for list in lists {
        for index in [false, true] {
            let bytes = forged(&list, index);
            let Some(packed) = open(&bytes) else { continue };
            let image = packed.image(0);
            let length = image.len().unwrap();
            assert!(length <= bytes.len() as u64 / HEAD_BYTES as u64 * (1 << 20), "{length}");
            let mut some = vec![1; 1 << 16];
            for at in [0, 1, 4096, (1 << 20) - 1, length.saturating_sub(5), u64::MAX] {
                let count = image.read_at(at, &mut some).unwrap();
                assert_eq!(count as u64, length.saturating_sub(at).min(some.len() as u64));
            }
            assert!(packed.inputs().len() <= 1);
            let _ = events(Arc::new(image));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn what_was_packed_comes_back(
        seed: u64, groups in 0u64..4000, sealed: bool, cut in any::<prop::sample::Index>(), whole: bool,
        reads in prop::collection::vec((any::<prop::sample::Index>(), 0usize..100_000), 0..30),
    ) {
        let wishes =
            Wishes { threads: 4, groups, ticks_per_second: 2_100_000_000, sealed, hand_overs: true, gpu: seed % 3 > 0 };
        let mut native = make(seed, wishes).image;
        if !whole {
            native.truncate(cut.index(native.len() + 1));
        }
        let packed = open(&pack(&[native.clone(), small(seed, 100)])).unwrap();
        prop_assert_eq!(packed.image(0).len().unwrap(), native.len() as u64);
        prop_assert!(all(&packed, 1) == small(seed, 100));
        if whole {
            prop_assert!(all(&packed, 0) == native);
            for (at, length) in reads {
                let at = at.index(native.len());
                let end = (at + length).min(native.len());
                let mut buffer = vec![7; length];
                let count = packed.image(0).read_at(at as u64, &mut buffer).unwrap();
                prop_assert!(buffer[..count] == native[at..end]);
            }
        }
        prop_assert_eq!(events(Arc::new(packed.image(0))), events(Arc::new(native)));
        prop_assert_eq!(packed.take_losses(), []);
    }

    #[test]
    fn what_is_no_native_file_comes_back_as_it_is(
        parts in prop::collection::vec((any::<u8>(), 0usize..70_000, any::<bool>()), 0..8),
    ) {
        let mut native = Vec::new();
        for (byte, count, same) in parts {
            let next = |at: usize| if same { byte } else { ((at * 7919) >> 3) as u8 ^ byte };
            native.extend((0..count).map(next));
        }
        let packed = open(&pack(std::slice::from_ref(&native))).unwrap();
        prop_assert!(all(&packed, 0) == native);
    }

    #[test]
    fn damage_never_harms_and_never_goes_unnamed(
        seed in 0u64..6, flips in prop::collection::vec((any::<prop::sample::Index>(), 1u8..), 1..6),
        cut in prop::option::of(any::<prop::sample::Index>()), fill in any::<bool>(),
    ) {
        let native = small(seed, 700);
        let mut bytes = pack(std::slice::from_ref(&native));
        for (at, bit) in flips {
            let at = at.index(bytes.len());
            if fill {
                let end = (at + usize::from(bit) * 16).min(bytes.len());
                bytes[at..end].fill(bit);
            } else {
                bytes[at] ^= bit;
            }
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        let Some(packed) = open(&bytes) else { return Ok(()) };
        let inputs = packed.inputs();
        let read = all(&packed, 0);
        let found = events(Arc::new(packed.image(0)));
        let losses = packed.take_losses();
        if read != native || inputs.iter().all(|input| input.files.is_empty()) {
            prop_assert!(!losses.is_empty());
        }
        for loss in &losses {
            prop_assert_eq!(loss.why.lines().count(), 1);
        }
        if read == native {
            prop_assert_eq!(found, events(Arc::new(native)));
        }
    }

    #[test]
    fn any_bytes_are_taken(mut bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        let first = pack(&[])[..FIRST_BLOCK as usize].to_vec();
        bytes.splice(0..0, first);
        let packed = open(&bytes).unwrap();
        prop_assert!(packed.inputs().is_empty() && !packed.take_losses().is_empty());
    }
}
