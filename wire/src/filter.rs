//! The filter of a recording, compiled: what the hook asks of a call, and how that stands in an environment variable.
//!
//! A program is a condition in prefix notation, in bytes:
//!
//! | bytes | holds if |
//! |---|---|
//! | `&` conditions `.` | all hold |
//! | `\|` conditions `.` | one of them holds |
//! | `!` condition | it does not |
//! | `y`, `n` | always, never |
//! | `a` length `:` glob | the function's name fits |
//! | `r` | the function is the runtime's; otherwise it is the driver's |
//! | `t` length `:` glob, `i` number `;` | the thread's name fits; its number is this |
//! | `d` sign ns `;` | the duration compares so: `<`, `[` at most, `=`, `]` at least, `>` |
//! | `f` | the call returned an error other than "not ready" |
//! | `s` | the call was given one of the default streams |
//!
//! The variable holds [`VERSION`], the program, and after it the filter as its user wrote it.

use crate::group::{self, Group};

/// First byte of the variable.
pub const VERSION: u8 = b'1';
/// Most bytes of a program.
pub const PROGRAM_MAX: usize = 2048;
/// Most bytes of what is kept of the filter as its user wrote it.
pub const TEXT_MAX: usize = 224;
/// How deeply conditions may lie within each other.
const DEPTH_MAX: u32 = 40;
/// `cudaErrorNotReady` and `CUDA_ERROR_NOT_READY`.
const NOT_READY: u32 = 600;

/// What is known of a call once it has returned.
#[derive(Clone, Copy, Debug)]
pub struct Returned<'a> {
    /// Name of its thread.
    pub thread: &'a [u8],
    /// Number of its thread.
    pub thread_id: u32,
    /// How long it took.
    pub duration_ns: u64,
    /// What it returned, if that is a status.
    pub status: Option<u32>,
    /// The stream that it was given, if it has such an argument.
    pub stream: Option<u64>,
}

/// A call.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// Function name.
    pub api: &'a [u8],
    /// What is known besides once it has returned.
    pub returned: Option<Returned<'a>>,
}

/// Whether a call fits; `None`: that cannot be said before it has returned.
type Answer = Option<bool>;

/// A program that has been looked through.
#[derive(Clone, Copy, Debug)]
pub struct Program<'a> {
    bytes: &'a [u8],
    text: &'a [u8],
}

impl<'a> Program<'a> {
    /// The program in a variable's value; `None` if there is none that we understand.
    #[must_use]
    pub fn read(value: &'a [u8]) -> Option<Self> {
        let (&version, bytes) = value.split_first()?;
        if version != VERSION {
            return None;
        }
        let (_, text) = condition(bytes, &Call { api: b"", returned: None }, 0)?;
        let program = bytes.get(..bytes.len().wrapping_sub(text.len()))?;
        (program.len() <= PROGRAM_MAX).then_some(Self { bytes: program, text })
    }

    /// Bytes of the variable's value up to the end of the program.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.bytes.len().wrapping_add(1)
    }

    /// A program that was looked through before: the value up to [`Program::bytes`], and what follows.
    #[must_use]
    pub fn again(value: &'a [u8], bytes: usize) -> Option<Self> {
        let (program, text) = value.split_at_checked(bytes)?;
        Some(Self { bytes: program.get(1..)?, text })
    }

    /// The filter as its user wrote it.
    #[must_use]
    pub const fn text(&self) -> &'a [u8] {
        self.text
    }

    /// Whether a call fits; `None`: that cannot be said before it has returned.
    #[must_use]
    pub fn fits(&self, call: &Call) -> Answer {
        // It has been looked through; what cannot be read would fit.
        condition(self.bytes, call, 0).map_or(Some(true), |(answer, _)| answer)
    }
}

/// The answer of the condition that the bytes begin with, and what follows it.
fn condition<'a>(bytes: &'a [u8], call: &Call, depth: u32) -> Option<(Answer, &'a [u8])> {
    if depth > DEPTH_MAX {
        return None;
    }
    let (&kind, rest) = bytes.split_first()?;
    let after = |answer: Answer, rest: &'a [u8]| Some((answer, rest));
    match kind {
        b'&' | b'|' => several(kind == b'&', rest, call, depth),
        b'!' => {
            let (answer, rest) = condition(rest, call, depth.wrapping_add(1))?;
            after(answer.map(|answer| !answer), rest)
        }
        b'y' => after(Some(true), rest),
        b'n' => after(Some(false), rest),
        b'a' => {
            let (pattern, rest) = text(rest)?;
            after(Some(glob(pattern, call.api) || glob(pattern, without_suffix(call.api))), rest)
        }
        b'r' => after(Some(is_runtime(call.api)), rest),
        b't' => {
            let (pattern, rest) = text(rest)?;
            after(call.returned.map(|returned| glob(pattern, returned.thread)), rest)
        }
        b'i' => {
            let (number, rest) = number(rest, b';')?;
            after(call.returned.map(|returned| u64::from(returned.thread_id) == number), rest)
        }
        b'd' => {
            let (&sign, rest) = rest.split_first()?;
            let (number, rest) = number(rest, b';')?;
            let compare = |ns: u64| match sign {
                b'<' => Some(ns < number),
                b'[' => Some(ns <= number),
                b'=' => Some(ns == number),
                b']' => Some(ns >= number),
                b'>' => Some(ns > number),
                _ => None,
            };
            compare(0)?;
            after(call.returned.and_then(|returned| compare(returned.duration_ns)), rest)
        }
        b'f' => {
            let failed = |status: u32| status != 0 && status != NOT_READY;
            after(call.returned.map(|returned| returned.status.is_some_and(failed)), rest)
        }
        // The legacy one is 0 or 1, the thread's own 2, and 0 for functions that mean it.
        b's' => after(call.returned.map(|returned| returned.stream.is_some_and(|stream| stream <= 2)), rest),
        _ => None,
    }
}

/// All or any of the conditions up to the point.
fn several<'a>(all: bool, bytes: &'a [u8], call: &Call, depth: u32) -> Option<(Answer, &'a [u8])> {
    let mut rest = bytes;
    let mut answer = Some(all);
    loop {
        if let Some((b'.', rest)) = rest.split_first() {
            return Some((answer, rest));
        }
        let one;
        (one, rest) = condition(rest, call, depth.wrapping_add(1))?;
        // What decides stays; what is not known is worth less than that, and more than the rest.
        if answer != Some(!all) && one != Some(all) {
            answer = one;
        }
    }
}

/// A text of a length that stands before it.
fn text(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = number(bytes, b':')?;
    rest.split_at_checked(usize::try_from(length).ok()?)
}

/// A number that ends with this byte.
fn number(bytes: &[u8], end: u8) -> Option<(u64, &[u8])> {
    let mut value = 0u64;
    let mut rest = bytes;
    loop {
        let (&byte, after) = rest.split_first()?;
        if byte == end {
            return (rest.len() < bytes.len()).then_some((value, after));
        }
        let digit = byte.checked_sub(b'0').filter(|digit| *digit < 10)?;
        value = value.checked_mul(10)?.checked_add(u64::from(digit))?;
        rest = after;
    }
}

/// Whether a text fits a pattern: `*` stands for any characters, `?` for one, without regard to case in ASCII.
#[must_use]
pub fn glob(pattern: &[u8], text: &[u8]) -> bool {
    let (mut pattern, mut text) = (pattern, text);
    // Where to go on when what follows the last star does not fit: one byte later.
    let mut again: Option<(&[u8], &[u8])> = None;
    loop {
        match (pattern.split_first(), text.split_first()) {
            (Some((b'*', rest)), _) => {
                again = Some((rest, text));
                pattern = rest;
                continue;
            }
            (Some((b'?', rest)), Some((&byte, after))) if is_start(byte) => {
                pattern = rest;
                text = after;
                while let Some((_, after)) = text.split_first().filter(|(byte, _)| !is_start(**byte)) {
                    text = after;
                }
                continue;
            }
            (Some((wanted, rest)), Some((byte, after))) if wanted.eq_ignore_ascii_case(byte) => {
                pattern = rest;
                text = after;
                continue;
            }
            (None, None) => return true,
            _ => {}
        }
        let Some((star, from)) = again else { return false };
        let Some((_, from)) = from.split_first() else { return false };
        again = Some((star, from));
        pattern = star;
        text = from;
    }
}

/// Whether a byte of UTF-8 begins a character.
const fn is_start(byte: u8) -> bool {
    byte & 0xC0 != 0x80
}

/// A name without `_ptsz` or `_ptds`, under which the same function is known.
fn without_suffix(name: &[u8]) -> &[u8] {
    name.strip_suffix(b"_ptsz").or_else(|| name.strip_suffix(b"_ptds")).unwrap_or(name)
}

fn is_runtime(name: &[u8]) -> bool {
    name.starts_with(b"cuda") || name.starts_with(b"__cuda")
}

/// Whether a function is recorded whatever a filter says: what is known of memory, streams, order and devices later on
/// would be false without it.
#[must_use]
pub fn is_kept(name: &[u8]) -> bool {
    const STATE: [&[u8]; 12] = [
        b"cudaSetDevice",
        b"cudaGetDevice",
        b"cudaDeviceReset",
        b"cuCtxGetDevice",
        b"cuCtxCreate",
        b"cuCtxDestroy",
        b"cuCtxSetCurrent",
        b"cuCtxPushCurrent",
        b"cuCtxPopCurrent",
        b"cuDevicePrimaryCtxRetain",
        b"cuDevicePrimaryCtxRelease",
        b"cuDevicePrimaryCtxReset",
    ];
    let is_version = |rest: &[u8]| rest.is_empty() || rest.starts_with(b"_v");
    let asks = |piece: &[u8]| name.windows(piece.len()).any(|part| part == piece);
    match group::of(name) {
        // Questions change nothing.
        Group::Memory => ![&b"GetInfo"[..], b"GetAttribute", b"RangeGet", b"GetAddressRange"].into_iter().any(asks),
        Group::Sync | Group::Stream | Group::Event | Group::Graph => true,
        Group::Device => STATE.iter().any(|state| name.strip_prefix(*state).is_some_and(is_version)),
        // Graphs may allocate and free memory.
        Group::Launch => name.windows(11).any(|piece| piece == b"GraphLaunch"),
        Group::Copy | Group::Module | Group::Other | Group::Range => false,
    }
}

/// Where in the words of its arguments a function is given its stream, by its signature.
#[must_use]
pub fn stream_word(function: &crate::table::Function) -> Option<u8> {
    const NAME: &[u8] = b"stream:handle@";
    let signature = function.signature.as_bytes();
    let at = signature.windows(NAME.len()).position(|piece| piece == NAME)?;
    let digits = signature.get(at.wrapping_add(NAME.len())..)?;
    let digits = digits.split(|byte| !byte.is_ascii_digit()).next()?;
    let place = digits
        .iter()
        .try_fold(0u16, |value, digit| value.checked_mul(10)?.checked_add(u16::from(digit.wrapping_sub(b'0'))));
    function.ops.iter().find(|op| Some(op.at) == place).map(|op| op.word)
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::table::FUNCTIONS;

    const RETURNED: Returned =
        Returned { thread: b"worker", thread_id: 7, duration_ns: 1500, status: Some(1), stream: Some(0) };

    fn answer(program: &str, returned: Option<Returned>) -> Answer {
        let value = std::format!("1{program} as written");
        let program = Program::read(value.as_bytes()).unwrap();
        assert_eq!(program.text(), b" as written");
        let again = Program::again(value.as_bytes(), program.bytes()).unwrap();
        assert_eq!((again.bytes, again.text), (program.bytes, program.text));
        program.fits(&Call { api: b"cudaMemcpyAsync_ptsz", returned })
    }

    #[test]
    fn what_is_known_beforehand_is_said_beforehand() {
        for (program, before, after) in [
            ("y", Some(true), Some(true)),
            ("a11:cudaMemcpy*", Some(true), Some(true)),
            ("a15:cudaMemcpyAsync", Some(true), Some(true)),
            ("a10:cudaMemcpy", Some(false), Some(false)),
            ("!r", Some(false), Some(false)),
            ("d]1500;", None, Some(true)),
            ("d<1500;", None, Some(false)),
            ("d[1500;", None, Some(true)),
            ("d>1500;", None, Some(false)),
            ("d=1500;", None, Some(true)),
            ("f", None, Some(true)),
            ("s", None, Some(true)),
            ("t3:wo*", None, Some(true)),
            ("i8;", None, Some(false)),
            ("&rd]1500;.", None, Some(true)),
            ("&!rd]1500;.", Some(false), Some(false)),
            ("|rd]1500;.", Some(true), Some(true)),
            ("|!rd<1500;.", None, Some(false)),
            ("&.", Some(true), Some(true)),
            ("|.", Some(false), Some(false)),
        ] {
            assert_eq!(answer(program, None), before, "{program}");
            assert_eq!(answer(program, Some(RETURNED)), after, "{program}");
        }
        let not_ready = Returned { status: Some(600), stream: None, ..RETURNED };
        assert_eq!(answer("f", Some(not_ready)), Some(false));
        assert_eq!(answer("s", Some(not_ready)), Some(false));
        assert_eq!(answer("s", Some(Returned { stream: Some(0x5555_0000), ..RETURNED })), Some(false));
    }

    #[test]
    fn what_is_no_program_is_refused() {
        for value in ["", "1", "2y", "1&y", "1a5:x", "1a:x", "1d?5;", "1d<;", "1d<99999999999999999999;", "1q", "1i5"] {
            assert!(Program::read(value.as_bytes()).is_none(), "{value}");
        }
        let deep = std::format!("1{}y", "!".repeat(100_000));
        assert!(Program::read(deep.as_bytes()).is_none());
        let long = std::format!("1&{}.", "y".repeat(PROGRAM_MAX));
        assert!(Program::read(long.as_bytes()).is_none());
    }

    #[test]
    fn what_live_bytes_and_order_rest_on_is_kept() {
        for name in [
            "cudaMalloc",
            "cuMemAllocManaged",
            "cudaFreeAsync_ptsz",
            "cudaStreamCreate",
            "cudaEventRecord",
            "cudaDeviceSynchronize",
            "cudaStreamBeginCapture",
            "cudaGraphLaunch",
            "cudaSetDevice",
            "cuCtxPushCurrent_v2",
            "cuDevicePrimaryCtxRelease_v2",
        ] {
            assert!(is_kept(name.as_bytes()), "{name}");
        }
        for name in ["cudaMemcpyAsync", "cudaLaunchKernel", "cuLaunchKernel", "cudaGetLastError", "cudaGetDeviceCount"]
        {
            assert!(!is_kept(name.as_bytes()), "{name}");
        }
    }

    #[test]
    fn the_hook_has_a_place_for_every_function() {
        assert!(FUNCTIONS.len() <= 4096);
    }

    #[test]
    fn streams_are_found_among_the_arguments() {
        let word = |name: &str| FUNCTIONS.iter().find(|function| function.name == name).and_then(stream_word);
        assert_eq!(word("cudaMemcpyAsync"), Some(4));
        assert_eq!(word("cudaMemsetAsync"), Some(3));
        assert_eq!(word("cudaMemcpy"), None);
        assert!(word("cudaLaunchKernel").is_some() && word("cuLaunchKernel").is_some());
    }
}
