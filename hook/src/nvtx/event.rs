//! What a program says of a range or a mark: its attributes and its name.
//!
//! The structure tells how long it is; what it does not reach to is as if it had been left out. The layout is that of
//! NVTX 1 to 3, whose version is the same structure's first word.

use core::ffi::{CStr, c_char, c_void};

use super::handles;

const MESSAGE_ASCII: i32 = 1;
const MESSAGE_WIDE: i32 = 2;
const MESSAGE_REGISTERED: i32 = 3;
const COLOR_ARGB: i32 = 1;
/// Payloads of 32 bits, whose upper half means nothing: unsigned, signed, float.
const NARROW_PAYLOADS: core::ops::RangeInclusive<i32> = 4..=6;
/// Longest name that is recorded, bytes.
pub const NAME_MAX: usize = 1024;

/// `nvtxEventAttributes_t`.
#[repr(C)]
pub struct Attributes {
    version: u16,
    bytes: u16,
    category: u32,
    color_type: i32,
    color: u32,
    payload_type: i32,
    reserved: i32,
    payload: u64,
    message_type: i32,
    message: *const c_void,
}

const _: () = assert!(core::mem::offset_of!(Attributes, message) == 40);

/// A name as it was given.
#[derive(Clone, Copy)]
pub enum Name<'a> {
    /// None.
    None,
    /// Text; UTF-8 as a rule.
    Text(&'a [u8]),
    /// A registered string.
    Handle(u32),
}

/// A range or a mark.
pub struct Event<'a> {
    /// Its name.
    pub name: Name<'a>,
    /// Its category, zero for none.
    pub category: u32,
    /// 0xAARRGGBB, zero for none.
    pub color: u32,
    /// `nvtxPayloadType_t`, zero for none.
    pub payload_type: u32,
    /// The payload's bits.
    pub payload: u64,
}

impl<'a> Event<'a> {
    /// With a name alone.
    pub const fn named(name: Name<'a>) -> Self {
        Self { name, category: 0, color: 0, payload_type: 0, payload: 0 }
    }
}

/// A C string as a name, cut if it is very long.
///
/// # Safety
/// `text` is null or a C string that lives as long.
pub unsafe fn ascii<'a>(text: *const c_char) -> Name<'a> {
    if text.is_null() {
        return Name::None;
    }
    // SAFETY: as the caller says.
    let bytes = unsafe { CStr::from_ptr(text) }.to_bytes();
    Name::Text(bytes.get(..NAME_MAX).unwrap_or(bytes))
}

/// Calls `then` with a wide string as a name.
///
/// # Safety
/// `text` is null or a string of 4-byte characters ended by a zero.
#[cold]
pub unsafe fn with_wide<R>(text: *const u32, then: impl FnOnce(Name<'_>) -> R) -> R {
    if text.is_null() {
        return then(Name::None);
    }
    let mut buffer = [0u8; NAME_MAX];
    let (mut used, mut at) = (0usize, text);
    loop {
        // SAFETY: as the caller says; not past the zero.
        let character = unsafe { at.read_unaligned() };
        if character == 0 {
            break;
        }
        let character = char::from_u32(character).unwrap_or(char::REPLACEMENT_CHARACTER);
        let end = used.saturating_add(character.len_utf8());
        let Some(place) = buffer.get_mut(used..end) else { break };
        character.encode_utf8(place);
        used = end;
        // SAFETY: the zero is still ahead.
        at = unsafe { at.add(1) };
    }
    then(Name::Text(buffer.get(..used).unwrap_or_default()))
}

/// Reads a field that may lie anywhere.
macro_rules! field {
    ($attributes:expr, $field:ident) => {
        (&raw const (*$attributes).$field).read_unaligned()
    };
}

/// Calls `then` with what event attributes say.
///
/// # Safety
/// `attributes` is null or points to as many bytes as its size says, four at least; the message is what its type says.
#[inline]
pub unsafe fn with_event<R>(attributes: *const Attributes, then: impl FnOnce(&Event<'_>) -> R) -> R {
    if attributes.is_null() {
        return then(&Event::named(Name::None));
    }
    // SAFETY: as the caller says.
    unsafe {
        let bytes = usize::from(field!(attributes, bytes));
        if bytes < size_of::<Attributes>() { with_part(attributes, bytes, then) } else { with_all(attributes, then) }
    }
}

/// The structure is as long as we know it, or longer.
///
/// # Safety
/// As [`with_event`]; not null.
#[inline]
unsafe fn with_all<R>(attributes: *const Attributes, then: impl FnOnce(&Event<'_>) -> R) -> R {
    // SAFETY: as the caller says.
    unsafe {
        let mut event = Event::named(Name::None);
        event.category = field!(attributes, category);
        if field!(attributes, color_type) == COLOR_ARGB {
            event.color = field!(attributes, color);
        }
        let payload_type = field!(attributes, payload_type);
        if payload_type != 0 {
            event.payload_type = payload_type as u32;
            event.payload = field!(attributes, payload);
            if NARROW_PAYLOADS.contains(&payload_type) {
                event.payload &= u64::from(u32::MAX);
            }
        }
        let message = field!(attributes, message);
        match field!(attributes, message_type) {
            MESSAGE_ASCII => event.name = ascii(message.cast()),
            MESSAGE_WIDE => {
                let Event { category, color, payload_type, payload, .. } = event;
                return with_wide(message.cast(), |name| then(&Event { name, category, color, payload_type, payload }));
            }
            MESSAGE_REGISTERED => event.name = handles::registered(message).map_or(Name::None, Name::Handle),
            _ => {}
        }
        then(&event)
    }
}

/// The structure is shorter than it should be: fields that it does not reach to the end of are as if they were zero, and
/// a payload's type says nothing without the payload.
///
/// # Safety
/// As [`with_event`]; not null.
#[cold]
unsafe fn with_part<R>(attributes: *const Attributes, bytes: usize, then: impl FnOnce(&Event<'_>) -> R) -> R {
    const ENDS: [usize; 5] = [4, 8, 16, 32, 48];
    let end = ENDS.iter().copied().filter(|&end| end <= bytes).max().unwrap_or(0);
    let mut whole = core::mem::MaybeUninit::<Attributes>::zeroed();
    // SAFETY: as the caller says; what is left out is zero, and a field that is read is there whole.
    unsafe {
        core::ptr::copy_nonoverlapping(attributes.cast::<u8>(), whole.as_mut_ptr().cast::<u8>(), end);
        with_all(whole.as_ptr(), then)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::String;
    use std::vec::Vec;

    /// A copy of the event, with its text.
    fn read(attributes: *const Attributes) -> (String, u32, u32, u32, u64) {
        // SAFETY: the tests' own attributes.
        unsafe {
            with_event(attributes, |event| {
                let name = match event.name {
                    Name::None => String::from("none"),
                    Name::Text(text) => String::from_utf8_lossy(text).into_owned(),
                    Name::Handle(handle) => std::format!("handle {handle}"),
                };
                (name, event.category, event.color, event.payload_type, event.payload)
            })
        }
    }

    fn whole(message_type: i32, message: *const c_void) -> Attributes {
        Attributes {
            version: 3,
            bytes: size_of::<Attributes>() as u16,
            category: 7,
            color_type: COLOR_ARGB,
            color: 0xff00_8000,
            payload_type: 4,
            reserved: -1,
            payload: 0xdead_beef_0000_0005,
            message_type,
            message,
        }
    }

    #[test]
    fn attributes_are_read_no_further_than_their_size() {
        let text = c"step".as_ptr().cast();
        for bytes in 0..=64u16 {
            let mut attributes = whole(MESSAGE_ASCII, text);
            attributes.bytes = bytes;
            let bytes = usize::from(bytes);
            // The rest is not there: it must not be looked at.
            let mut memory: Vec<u8> = std::vec![0; bytes.max(4)];
            let length = memory.len().min(size_of::<Attributes>());
            // SAFETY: both are at least that long.
            unsafe { core::ptr::copy_nonoverlapping((&raw const attributes).cast(), memory.as_mut_ptr(), length) };
            let (name, category, color, payload_type, payload) = read(memory.as_ptr().cast());
            assert_eq!(name == "step", bytes >= 48, "{bytes}");
            assert_eq!(category == 7, bytes >= 8, "{bytes}");
            assert_eq!(color == 0xff00_8000, bytes >= 16, "{bytes}");
            assert_eq!((payload_type, payload) == (4, 5), bytes >= 32, "{bytes}: a type without its payload is none");
        }
        assert_eq!(read(core::ptr::null()).0, "none");
    }

    #[test]
    fn names_come_in_three_ways_and_others_are_none() {
        let wide: Vec<u32> = "Schritt 日本 \u{1f600}".chars().map(u32::from).chain([0]).collect();
        assert_eq!(read(&whole(MESSAGE_WIDE, wide.as_ptr().cast())).0, "Schritt 日本 \u{1f600}");
        let odd = [0x41u32, 0xd800, 0x0011_0000, u32::MAX, 0x42, 0];
        assert_eq!(read(&whole(MESSAGE_WIDE, odd.as_ptr().cast())).0, "A\u{fffd}\u{fffd}\u{fffd}B");
        let long: Vec<u32> = core::iter::repeat_n(0x65e5u32, 5000).chain([0]).collect();
        assert_eq!(read(&whole(MESSAGE_WIDE, long.as_ptr().cast())).0.len(), NAME_MAX / 3 * 3);
        for kind in [MESSAGE_ASCII, MESSAGE_WIDE, MESSAGE_REGISTERED] {
            assert_eq!(read(&whole(kind, core::ptr::null())).0, "none");
        }
        for kind in [0, 4, -1, i32::MAX] {
            assert_eq!(read(&whole(kind, core::ptr::dangling())).0, "none", "{kind}");
        }
        // A handle that is none of ours.
        assert_eq!(read(&whole(MESSAGE_REGISTERED, 0x1234_5678 as *const c_void)).0, "none");
    }
}
