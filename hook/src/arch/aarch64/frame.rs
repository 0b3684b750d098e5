//! A call in the trampoline of aarch64, and what `layout.inc` says of it and of the structures that all machines share.

use core::mem::offset_of;
use umtui_wire::chunk::OpenCall;

use crate::arch::{POOL_STEP, Verdict};
use crate::slots::{API_AT, CONTROLS_RECORDING, LEFT_OUT, Slot, UNKNOWN_STACK};
use crate::thread::Thread;

/// A call that is passing through the trampoline. The registers end where the caller's frame and the return address
/// lie, and above those the stack arguments, so that one index (`Op::word`) finds any argument.
#[repr(C)]
pub struct Frame {
    /// q0 to q3 as the function left them: results of floating-point numbers and structures of such.
    pub vectors: [u64; 8],
    /// The result.
    pub result: u64,
    /// Second half of the result.
    pub result_high: u64,
    /// The call's place on the thread's desk.
    pub open: *mut OpenCall,
    /// Start of a call that has no place on the desk, ticks; of one without a slot, the function.
    pub late_start: u64,
    /// x8: where the caller wants a structure that does not fit registers.
    pub indirect: u64,
    /// The function's slot.
    pub slot: *const Slot,
    /// Integer argument registers.
    pub registers: [u64; 8],
    /// Caller's frame.
    pub outer_frame: u64,
    /// Return address.
    pub site: u64,
}

/// Places for call sites, see [`site_place`].
pub const SITE_PLACES: usize = 1 << 16;
/// Bits of an address that all instructions have in common.
const SITE_SHIFT: u32 = 2;

/// Where the trampoline looks for a site in [`crate::sites::SEEN`].
pub const fn site_place(site: u64) -> usize {
    (site >> SITE_SHIFT) as usize & (SITE_PLACES - 1)
}

const LAYOUT: &[u8] = include_bytes!("layout.inc");

/// The value of a name in the layout.
const fn layout(name: &str) -> usize {
    let mut text = LAYOUT;
    while let [_, rest @ ..] = text {
        if let Some(line) = after(text, b".set ")
            && let Some(line) = after(line, name.as_bytes())
            && let Some(digits) = after(line, b", ")
        {
            return number(digits);
        }
        text = rest;
    }
    usize::MAX
}

const fn after<'a>(mut text: &'a [u8], mut prefix: &[u8]) -> Option<&'a [u8]> {
    while let [wanted, rest @ ..] = prefix {
        match text {
            [found, more @ ..] if *found == *wanted => text = more,
            _ => return None,
        }
        prefix = rest;
    }
    Some(text)
}

const fn number(mut digits: &[u8]) -> usize {
    let mut value = 0usize;
    while let [digit @ b'0'..=b'9', rest @ ..] = digits {
        value = value.wrapping_mul(10).wrapping_add((*digit).wrapping_sub(b'0') as usize);
        digits = rest;
    }
    value
}

/// How many names the layout has.
const fn names() -> usize {
    let mut text = LAYOUT;
    let mut count = 0usize;
    while let [_, rest @ ..] = text {
        if after(text, b"\n.set ").is_some() {
            count = count.wrapping_add(1);
        }
        text = rest;
    }
    count
}

/// Holds every name of the layout equal to a constant.
macro_rules! held_equal {
    ($($name:literal = $value:expr;)*) => {
        $(const _: () = assert!(layout($name) == $value, concat!($name, " in layout.inc is not what it is in Rust"));)*
        const _: () = assert!([$($name),*].len() == names(), "a name in layout.inc is not held equal to anything");
    };
}

held_equal! {
    "UMTUI_FRAME_VECTORS" = offset_of!(Frame, vectors);
    "UMTUI_FRAME_RESULT" = offset_of!(Frame, result);
    "UMTUI_FRAME_OPEN" = offset_of!(Frame, open);
    "UMTUI_FRAME_INDIRECT" = offset_of!(Frame, indirect);
    "UMTUI_FRAME_SLOT" = offset_of!(Frame, slot);
    "UMTUI_FRAME_REGISTERS" = offset_of!(Frame, registers);
    "UMTUI_FRAME_ABOVE" = offset_of!(Frame, outer_frame);
    "UMTUI_THREAD_BYTES" = size_of::<Thread>();
    "UMTUI_THREAD_GENERATION" = offset_of!(Thread, generation);
    "UMTUI_THREAD_OPEN" = offset_of!(Thread, open);
    "UMTUI_THREAD_DESK_END" = offset_of!(Thread, desk_end);
    "UMTUI_OPEN_BYTES" = size_of::<OpenCall>();
    "UMTUI_OPEN_HEAD" = offset_of!(OpenCall, head);
    "UMTUI_OPEN_START" = offset_of!(OpenCall, start);
    "UMTUI_OPEN_SITE" = offset_of!(OpenCall, site);
    "UMTUI_OPEN_REGISTERS" = offset_of!(OpenCall, registers);
    "UMTUI_OPEN_FRAME" = offset_of!(OpenCall, frame);
    "UMTUI_SLOT_BYTES" = size_of::<Slot>();
    "UMTUI_SLOT_REAL" = offset_of!(Slot, real);
    "UMTUI_SLOT_API" = API_AT;
    "UMTUI_SLOT_STACK" = offset_of!(Slot, stack_bytes);
    "UMTUI_STACK_UNKNOWN" = UNKNOWN_STACK as usize;
    "UMTUI_SLOT_FLAGS" = offset_of!(Slot, flags);
    "UMTUI_CONTROLS_BIT" = CONTROLS_RECORDING.trailing_zeros() as usize;
    "UMTUI_LEFT_OUT_BIT" = LEFT_OUT.trailing_zeros() as usize;
    "UMTUI_SITES_SHIFT" = SITE_SHIFT as usize;
    "UMTUI_SITES_BITS" = SITE_PLACES.trailing_zeros() as usize;
    "UMTUI_VERDICT_RECORD" = Verdict::Record as usize;
    "UMTUI_NOT_FOUND" = 500;
    "UMTUI_POOL_STEP" = POOL_STEP;
}

// What trampoline.s takes for granted beside the numbers.
const _: () = assert!(layout("UMTUI_THREAD_GENERATION") == 0, "the block in thread-local storage begins with it");
const _: () = assert!(layout("UMTUI_OPEN_HEAD") == 0 && layout("UMTUI_SLOT_REAL") == 0, "ldar and stlr have no offset");
const _: () = assert!(SITE_PLACES.is_power_of_two(), "the places are told by bits");
const _: () = assert!(layout("UMTUI_FRAME_ABOVE") & 15 == 0, "the stack pointer stays aligned");
