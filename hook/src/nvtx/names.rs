//! String ids of names that are given as text, of which there may be as many as there are ranges.
//!
//! PyTorch numbers its operators: `aten::ones, op_id = 1`. So that such names leave room in the table of strings for
//! kernels, modules and files, they get a share of it. Names after that are written down anew each time, up to
//! [`ANEW_BYTES`] or an eighth of the file's cap; after that their digits are written as `#`, so that they are few
//! again.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use umtui_wire::definition::{NO_STRING, TEXT_AT, extra_slots};
use umtui_wire::record::SLOT_BYTES;

use super::event::NAME_MAX;
use crate::definitions;

/// Names that are looked up, of the 32,768 strings there is room for.
const SHARE: u32 = 16384;
/// Names with `#` in place of digits, which are looked up too.
const SHAPES: u32 = 4096;
/// Bytes of records that names may take which are not looked up.
const ANEW_BYTES: u64 = 64 << 20;
/// What is left of a name if there is no room for it at all.
const NOT_KEPT: &[u8] = b"(name not kept)";

#[unsafe(link_section = ".data.small")]
static USED: Used = Used::new();

/// What has been used of a set of tables and of a file.
struct Used {
    /// Set of tables whose share was used.
    tables: AtomicU32,
    listed: AtomicU32,
    shapes: AtomicU32,
    /// Bytes that may still be used in this file.
    anew: AtomicU64,
}

/// How a name that is not known is to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// To be looked up later.
    Listed,
    /// This once.
    Anew,
    /// With `#` for digits.
    Shape,
}

impl Used {
    const fn new() -> Self {
        Self {
            tables: AtomicU32::new(0),
            listed: AtomicU32::new(0),
            shapes: AtomicU32::new(0),
            anew: AtomicU64::new(ANEW_BYTES),
        }
    }

    /// How the next name of so many bytes is to be written.
    fn way(&self, tables: u16, bytes: usize) -> Way {
        if self.tables.swap(u32::from(tables), Ordering::Relaxed) != u32::from(tables) {
            self.listed.store(0, Ordering::Relaxed);
            self.shapes.store(0, Ordering::Relaxed);
        }
        if is_taken(&self.listed, SHARE) {
            return Way::Listed;
        }
        let bytes = (SLOT_BYTES as u64).wrapping_mul(u64::from(extra_slots(bytes)).wrapping_add(1));
        let rest = |left: u64| left.checked_sub(bytes);
        if self.anew.fetch_update(Ordering::Relaxed, Ordering::Relaxed, rest).is_ok() { Way::Anew } else { Way::Shape }
    }
}

const _: () = assert!(NAME_MAX + TEXT_AT < 200 * SLOT_BYTES);

/// Takes one of so many; false if there is none left.
fn is_taken(used: &AtomicU32, all: u32) -> bool {
    used.load(Ordering::Relaxed) < all && used.fetch_add(1, Ordering::Relaxed) < all
}

/// A file begins that may become so long, bytes; zero for as long as it takes.
pub fn begin(max_bytes: u64) {
    let most = if max_bytes == 0 { ANEW_BYTES } else { ANEW_BYTES.min(max_bytes / 8) };
    USED.anew.store(most, Ordering::Relaxed);
}

/// The string id of a name; `NO_STRING` if it is empty or cannot be written.
pub fn id(name: &[u8]) -> u32 {
    if name.is_empty() {
        return NO_STRING;
    }
    definitions::known(name).unwrap_or_else(|| write(name))
}

#[cold]
fn write(name: &[u8]) -> u32 {
    match USED.way(definitions::generation(), name.len()) {
        Way::Listed => definitions::string(name),
        Way::Anew => definitions::string_anew(name),
        Way::Shape => {
            let mut buffer = [0u8; NAME_MAX];
            let shape = shape(name, &mut buffer);
            definitions::known(shape)
                .unwrap_or_else(|| definitions::string(if is_taken(&USED.shapes, SHAPES) { shape } else { NOT_KEPT }))
        }
    }
}

/// A name with one `#` in place of each number.
fn shape<'a>(name: &[u8], buffer: &'a mut [u8; NAME_MAX]) -> &'a [u8] {
    let mut used = 0usize;
    let mut before = 0u8;
    for &byte in name {
        let byte = if byte.is_ascii_digit() { b'#' } else { byte };
        if byte == b'#' && before == b'#' {
            continue;
        }
        before = byte;
        let Some(place) = buffer.get_mut(used) else { break };
        *place = byte;
        used = used.wrapping_add(1);
    }
    buffer.get(..used).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_names_get_a_share_then_a_budget_then_their_shape() {
        let used = Used::new();
        let ways = |count: u32| -> std::vec::Vec<Way> { (0..count).map(|_| used.way(1, 30)).collect() };
        assert!(ways(SHARE).iter().all(|&way| way == Way::Listed));
        let anew = (ANEW_BYTES / SLOT_BYTES as u64) as u32;
        assert!(ways(anew).iter().all(|&way| way == Way::Anew));
        assert!(ways(10).iter().all(|&way| way == Way::Shape));
        // A child whose tables are new has the whole share again.
        assert_eq!(used.way(2, 30), Way::Listed);
    }

    #[test]
    fn a_shape_has_no_numbers() {
        let of = |name: &[u8]| {
            let mut buffer = [0; NAME_MAX];
            std::string::String::from_utf8_lossy(shape(name, &mut buffer)).into_owned()
        };
        assert_eq!(of(b"aten::ones, op_id = 1234"), "aten::ones, op_id = #");
        assert_eq!(of(b"1 of 20, [3, 224]"), "# of #, [#, #]");
        assert_eq!(of(&[b'x'; 5000]).len(), NAME_MAX);
    }
}
