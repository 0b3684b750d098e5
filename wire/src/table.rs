//! The functions of the CUDA runtime and driver API, generated from `functions.txt`.
//!
//! Per function: how many bytes of stack its arguments take (the trampoline copies them), which of them are
//! recorded, from which register or stack word, and where in the record they go. The first and the third are the
//! target's; where arguments go in the record is the same on all machines.

/// The API a function belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Layer {
    /// `cuda*`, from libcudart.
    Runtime = 0,
    /// `cu*`, from libcuda.
    Driver = 1,
}

/// What a function returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Returns {
    /// A `cudaError_t` or `CUresult`: zero is success.
    Status,
    /// Something else, or nothing.
    Other,
}

/// How an argument is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Access {
    /// The low 4 bytes of the word.
    Value4 = 0,
    /// The word.
    Value8 = 1,
    /// 4 bytes at `field` bytes past the address in the word, after success.
    Pointee4 = 2,
    /// 8 bytes at `field` bytes past the address in the word, after success.
    Pointee8 = 3,
    /// The word is the address of a C string: its id, 4 bytes.
    Text = 4,
    /// The address in the word holds the address of a C string: its id, 4 bytes, after success.
    PointeeText = 5,
    /// A structure of `field` bytes that begins in the word: the checksum of its bytes, 8 bytes.
    Digest = 6,
    /// `field` bytes at the address in the word, after success: their checksum, 8 bytes.
    DigestAt = 7,
    /// The word is the address of the value of a memory pool's attribute, which the second argument names: 8 bytes of
    /// some ([`pool_attribute_is_wide`]), of others 4, after success. It takes 8 bytes.
    PoolAttribute = 8,
    /// Reads nothing. The next [`Op::steps`] steps are taken only if the 4 bytes at `at` of the record, which are there by
    /// then, are [`Op::value`]; what they would have written is zero otherwise, or another condition's.
    Only = 9,
}

impl Access {
    /// Whether a value of 4 or 8 bytes is just copied, whatever else was read.
    #[must_use]
    pub const fn copies(self) -> bool {
        matches!(self, Self::Value4 | Self::Value8 | Self::Pointee4 | Self::Pointee8)
    }

    /// Bit of the values: 8 bytes, not 4. Says nothing of text, digests, attributes and conditions.
    pub const WIDE: u8 = 1;
    /// Bit of the values: an address is followed. Likewise.
    pub const POINTEE: u8 = 2;
}

/// One step of reading a call's arguments into its record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Op {
    /// Which word of the trampoline's frame: below [`REGISTER_WORDS`] integer registers in order, from
    /// [`FIRST_STACK_WORD`] on stack words.
    pub word: u8,
    /// How it is read.
    pub access: Access,
    /// Bytes past the address, for the accesses that follow one; of a digest how many bytes it is of; of a condition how many
    /// steps depend on it (upper byte), and the value (lower byte).
    pub field: u16,
    /// Byte of the record that it goes to; of a condition where the value lies.
    pub at: u16,
}

impl Op {
    /// Of a condition: how many of the next steps depend on it.
    #[must_use]
    pub const fn steps(&self) -> usize {
        (self.field >> 8) as usize
    }

    /// Of a condition: the value with which they are taken.
    #[must_use]
    pub const fn value(&self) -> u32 {
        (self.field & 0xff) as u32
    }
}

/// A function.
#[derive(Clone, Copy, Debug)]
pub struct Function {
    /// Exported name, suffixes included.
    pub name: &'static str,
    /// Runtime or driver.
    pub layer: Layer,
    /// First and last libcudart major with this signature; `(0, u8::MAX)` for all.
    pub majors: (u8, u8),
    /// False: the signature is not known, the call can only be counted.
    pub known: bool,
    /// What it returns.
    pub returns: Returns,
    /// Bytes of arguments on the stack.
    pub stack_bytes: u16,
    /// Extra slots that its arguments take.
    pub extra: u8,
    /// How its arguments are read.
    pub ops: &'static [Op],
    /// Its definition text, see [`crate::definition`].
    pub signature: &'static str,
}

include!(concat!(env!("OUT_DIR"), "/functions.rs"));

/// Index range of the functions with this name, one for each group of majors; empty if there is none.
#[must_use]
pub fn named(name: &[u8]) -> core::ops::Range<usize> {
    let start = FUNCTIONS.partition_point(|function| function.name.as_bytes() < name);
    let count = FUNCTIONS.iter().skip(start).take_while(|function| function.name.as_bytes() == name).count();
    start..start.saturating_add(count)
}

/// Index of the function with this name for this libcudart major (any, for the driver).
#[must_use]
pub fn find(name: &[u8], major: u8) -> Option<usize> {
    named(name).find(|&index| {
        FUNCTIONS.get(index).is_some_and(|function| function.majors.0 <= major && major <= function.majors.1)
    })
}

/// Whether the value of an attribute of memory pools has 8 bytes: release threshold, reserved and used memory. Others have
/// 4, or may have.
#[must_use]
pub const fn pool_attribute_is_wide(attribute: u32) -> bool {
    matches!(attribute, 4..=8)
}

/// Why the hook leaves a function of the table alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LeftAlone {
    /// The `__cuda*` functions that compiled code calls, but for launches: most run in static constructors of every
    /// library with kernels, where recording would create files for programs that never use CUDA.
    Compiled,
    /// `cudbg*`, the debugger's own way in.
    Debugger,
}

/// Why the hook does not export a function of the table; `None`: it does. Kernel launches compiled by nvcc 12 and
/// later go through `__cudaLaunchKernel`, so that one it exports.
#[must_use]
pub fn left_alone(name: &str) -> Option<LeftAlone> {
    if name.starts_with("cudbg") {
        Some(LeftAlone::Debugger)
    } else if name.starts_with("__") && !name.starts_with("__cudaLaunchKernel") {
        Some(LeftAlone::Compiled)
    } else {
        None
    }
}

/// Whether the registers of an open call (see [`crate::chunk::OpenCall`]) hold the same arguments of this function
/// whichever machine wrote them.
#[must_use]
pub fn registers_are_alike(index: usize) -> bool {
    u16::try_from(index).is_ok_and(|index| MOVED.binary_search(&index).is_err())
}

/// The symbol that `cuGetProcAddress(base, version)` with default flags selects, if it is not `base` itself.
#[must_use]
pub fn selected_symbol(base: &[u8], version: u32) -> Option<&'static str> {
    let start = SELECTIONS.partition_point(|&(name, ..)| name.as_bytes() < base);
    SELECTIONS
        .iter()
        .skip(start)
        .take_while(|&&(name, ..)| name.as_bytes() == base)
        .filter(|&&(_, since, _)| since <= version)
        .last()
        .map(|&(_, _, symbol)| symbol)
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;

    #[test]
    fn names_are_sorted_and_majors_disjoint() {
        for pair in FUNCTIONS.windows(2) {
            assert!(
                pair[0].name < pair[1].name || (pair[0].name == pair[1].name && pair[0].majors.1 < pair[1].majors.0),
                "{} before {}",
                pair[0].name,
                pair[1].name
            );
        }
        for pair in SELECTIONS.windows(2) {
            assert!((pair[0].0, pair[0].1) < (pair[1].0, pair[1].1), "{pair:?}");
        }
        assert!(FUNCTIONS.len() < usize::from(crate::definition::API_DYNAMIC));
    }

    #[test]
    fn launches_are_traced_and_what_compiled_code_and_debuggers_call_is_not() {
        for name in ["cudaMalloc", "cuLaunchKernel", "__cudaLaunchKernel", "__cudaLaunchKernel_ptsz"] {
            assert_eq!(left_alone(name), None, "{name}");
        }
        assert_eq!(left_alone("__cudaRegisterFatBinary"), Some(LeftAlone::Compiled));
        assert_eq!(left_alone("__cudaPushCallConfiguration"), Some(LeftAlone::Compiled));
        assert_eq!(left_alone("cudbgApiInit"), Some(LeftAlone::Debugger));
    }

    #[test]
    fn prefetch_differs_between_majors() {
        let old = &FUNCTIONS[find(b"cudaMemPrefetchAsync", 12).unwrap()];
        let new = &FUNCTIONS[find(b"cudaMemPrefetchAsync", 13).unwrap()];
        assert!(old.signature.contains("device:dev@"), "{}", old.signature);
        assert!(new.signature.contains("location:loc@"), "{}", new.signature);
        // The stream comes fourth in v12, after the device; fifth in v13, after location and flags.
        assert!(old.ops.iter().any(|op| op.word == 3 && op.access == Access::Value8));
        assert!(new.ops.iter().any(|op| op.word == 4 && op.access == Access::Value8));
    }

    #[test]
    fn arguments_do_not_overlap() {
        for function in FUNCTIONS {
            let mut cells = std::collections::BTreeSet::new();
            let (mut always, mut ops) = (cells.clone(), function.ops.iter());
            while let Some(op) = ops.next() {
                if op.access == Access::Only {
                    // What is there under one condition only has nothing under another one beside it.
                    if always.is_empty() {
                        always = cells;
                    }
                    cells = always.clone();
                    assert!(op.steps() > 0 && op.steps() <= ops.len(), "{}", function.name);
                    assert!(cells.contains(&usize::from(op.at)), "{}", function.name);
                    continue;
                }
                let width = match op.access {
                    Access::Value8 | Access::Pointee8 | Access::PoolAttribute => 8,
                    Access::Digest | Access::DigestAt => 8,
                    _ => 4,
                };
                let at = usize::from(op.at);
                assert!(at >= crate::record::ARGUMENTS_AT, "{}", function.name);
                assert!(at + width <= (1 + usize::from(function.extra)) * 48, "{}", function.name);
                for cell in (at..at + width).step_by(4) {
                    assert!(cells.insert(cell), "{} at {cell}", function.name);
                }
            }
        }
    }

    #[test]
    fn a_node_of_any_type_has_the_fields_of_its_type() {
        let function = &FUNCTIONS[find(b"cudaGraphAddNode", 13).unwrap()];
        for (value, fields) in [(2, &[16, 24, 32, 36, 40, 48][..]), (7, &[16]), (10, &[24, 120, 128]), (11, &[16])] {
            let of_type = |op: &&Op| op.access == Access::Only && op.value() == value;
            let at = function.ops.iter().position(|op| of_type(&op)).unwrap();
            let steps = &function.ops[at + 1..][..function.ops[at].steps()];
            assert_eq!(steps.iter().map(|op| op.field).collect::<std::vec::Vec<_>>(), fields, "{value}");
            assert!(steps.iter().all(|op| op.word == 5), "the sixth argument");
        }
        assert!(function.signature.contains(" type:*nodetype@28 "), "{}", function.signature);
        // After node, graph and count; whatever is not there together shares places.
        for text in ["dst:*ptr@56?type=2", "event:*handle@56?type=6|7", "bytes:*size@64?type=10", "ptr:*ptr@56?type=11"]
        {
            assert!(function.signature.contains(text), "{text}: {}", function.signature);
        }
        assert_eq!(function.extra, 2);
    }

    #[test]
    fn versions_select_symbols() {
        assert_eq!(selected_symbol(b"cuMemAlloc", 12000), Some("cuMemAlloc_v2"));
        assert_eq!(selected_symbol(b"cuMemAdvise", 11000), Some("cuMemAdvise"));
        assert_eq!(selected_symbol(b"cuMemAdvise", 13000), Some("cuMemAdvise_v2"));
        assert_eq!(selected_symbol(b"cuGetProcAddress", 12000), Some("cuGetProcAddress_v2"));
        assert_eq!(selected_symbol(b"cuNoSuchThing", 12000), None);
    }
}
