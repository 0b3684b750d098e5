//! Calls that the recorder was told to leave out: by function before they are made, by what else is known of them once
//! they have returned.

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use umtui_wire::filter::{self, Call, PROGRAM_MAX, Program, Returned, TEXT_MAX};
use umtui_wire::table::FUNCTIONS;

use crate::arch::Frame;
use crate::slots::{self, Slot};
use crate::thread::Thread;
use crate::{clock, config};

/// The longest value of the variable: version, program, and the filter as its user wrote it.
const VALUE_MAX: usize = 1 + PROGRAM_MAX + TEXT_MAX;

struct Value(UnsafeCell<[u8; VALUE_MAX]>);
// SAFETY: written by the one thread that begins the first recording, before LENGTH is set; read only afterwards.
unsafe impl Sync for Value {}
static VALUE: Value = Value(UnsafeCell::new([0; VALUE_MAX]));
/// Bytes of [`VALUE`], zero for no filter.
static LENGTH: AtomicUsize = AtomicUsize::new(0);
/// Bytes of it up to the end of the program.
static PROGRAM: AtomicUsize = AtomicUsize::new(0);
/// By api id: which of the words of its arguments is the stream, plus one; zero for none.
static STREAM_WORDS: [AtomicU8; 4096] = [const { AtomicU8::new(0) }; 4096];

/// Whether a function's calls are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recorded {
    /// All of them.
    Always,
    /// None.
    Never,
    /// That depends on the call.
    ByCall,
}

/// Reads what is to be left out. Before the first recording; children inherit it.
pub fn begin() {
    if LENGTH.load(Ordering::Relaxed) != 0 {
        return;
    }
    let mut length = 0usize;
    config::each_byte(b"UMTUI_FILTER", |byte| {
        // SAFETY: LENGTH is not set, and one thread begins the recording.
        if let Some(place) = unsafe { &mut *VALUE.0.get() }.get_mut(length) {
            *place = byte;
        }
        length = length.wrapping_add(1);
    });
    // SAFETY: as above.
    let read = unsafe { &*VALUE.0.get() }.get(..length).and_then(Program::read);
    if let Some(program) = read {
        PROGRAM.store(program.bytes(), Ordering::Relaxed);
        LENGTH.store(length, Ordering::Release);
    }
}

fn program() -> Option<Program<'static>> {
    let length = LENGTH.load(Ordering::Acquire);
    if length == 0 {
        return None;
    }
    // SAFETY: no longer written.
    let value = unsafe { &*VALUE.0.get() }.get(..length)?;
    Program::again(value, PROGRAM.load(Ordering::Relaxed))
}

/// Whether anything is to be left out.
pub fn is_on() -> bool {
    LENGTH.load(Ordering::Relaxed) != 0
}

/// The filter as its user wrote it, for the header.
pub fn write_text(to: &mut [u8; TEXT_MAX]) {
    let text = program().map(|program| program.text()).unwrap_or_default();
    for (to, from) in to.iter_mut().zip(text) {
        *to = *from;
    }
}

/// Whether a function's calls are recorded. Functions that memory, order and devices rest on always are.
pub fn of(name: &[u8]) -> Recorded {
    match program() {
        Some(program) if !filter::is_kept(name) => match program.fits(&Call { api: name, returned: None }) {
            Some(true) => Recorded::Always,
            Some(false) => Recorded::Never,
            None => Recorded::ByCall,
        },
        _ => Recorded::Always,
    }
}

/// Calls of this function of the table will be asked about.
pub fn will_ask(api: u16) {
    let word = FUNCTIONS.get(usize::from(api)).and_then(filter::stream_word);
    if let (Some(place), Some(word)) = (STREAM_WORDS.get(usize::from(api)), word) {
        place.store(word.wrapping_add(1), Ordering::Relaxed);
    }
}

/// Whether a call that has returned is left out.
///
/// # Safety
/// `frame` is the call's, of a function of the table.
pub unsafe fn leaves_out(frame: &Frame, slot: &Slot, ticks: u64, thread: &Thread) -> bool {
    let (Some(program), Some(function)) = (program(), FUNCTIONS.get(usize::from(slot.api()))) else { return false };
    let is_status = slot.flags.load(Ordering::Relaxed) & slots::RETURNS_OTHER == 0;
    let word = STREAM_WORDS.get(usize::from(slot.api())).and_then(|word| word.load(Ordering::Relaxed).checked_sub(1));
    // SAFETY: the word is a register or a stack argument that the function has.
    let stream = word.map(|word| unsafe { *frame.words().add(usize::from(word)) });
    let returned = Returned {
        thread: thread.name.split(|&byte| byte == 0).next().unwrap_or_default(),
        thread_id: thread.id,
        duration_ns: clock::rate().ns(ticks),
        status: is_status.then_some(frame.result as u32),
        stream,
    };
    program.fits(&Call { api: function.name.as_bytes(), returned: Some(returned) }) == Some(false)
}
