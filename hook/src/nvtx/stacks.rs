//! The open ranges of each thread, kept so that those that were opened before recording began can be written when it
//! does, with the moment at which they were, and again into the file of a child.
//!
//! A thread takes one of a fixed number of stacks at its first range and leaves it to others when it ends. Thread-local
//! storage would be part of every thread's stack, also of those that have no ranges.
//!
//! A handler that interrupts its thread pushes and pops above what it finds; an entry counts from the moment at which its
//! place is taken, and is written last.

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicBool, AtomicU8, Ordering, compiler_fence};

use umtui_wire::activity::Range;

use super::event::{Event, Name};
use crate::sys;
use crate::thread::Thread;

/// Open ranges of a thread that are kept. Deeper ones are counted as lost.
pub const DEPTH: usize = 64;
/// Bytes of a name that are kept for a later file.
const TEXT: usize = 120;
/// Threads that have ranges at the same time.
const STACKS: usize = 1024;
/// The thread has no stack, and gets none.
const NONE_LEFT: u32 = u32::MAX;
/// In place of the domain: it was popped, while ranges of other domains are open above it.
const CLOSED: u32 = u32::MAX;
/// Ends a name that was cut.
const CUT: &[u8] = "…".as_bytes();

/// A range that is open.
#[repr(C)]
pub struct Open {
    /// As a record; the head holds the category alone, and the ids of name and domain are those of the recording that has
    /// it.
    pub range: Range,
    /// Which recording it has been written in; zero: none.
    pub written: u64,
    /// Its domain.
    pub domain: u32,
    /// Its name, if that is a registered string.
    handle: u32,
    /// Ranges of the thread around it.
    pub level: u16,
    /// Those of its domain.
    level_in_domain: u16,
    /// Bytes of its name.
    length: u32,
    text: [u8; TEXT],
}

impl Open {
    /// None yet.
    pub const fn new() -> Self {
        let range = Range { head: 0, ticks: 0, name: 0, domain: 0, color: 0, payload_type: 0, payload: 0, id: 0 };
        Self { range, written: 0, domain: 0, handle: 0, level: 0, level_in_domain: 0, length: 0, text: [0; TEXT] }
    }

    /// Takes over what was said of a range.
    #[inline]
    pub fn set(&mut self, event: &Event<'_>, ticks: u64, level: u32) {
        self.range.head = u64::from(event.category);
        self.range.ticks = ticks;
        self.range.color = event.color;
        self.range.payload_type = event.payload_type;
        self.range.payload = event.payload;
        self.level = level.min(u32::from(u16::MAX)) as u16;
        (self.handle, self.length) = (0, 0);
        match event.name {
            Name::None => {}
            Name::Handle(handle) => self.handle = handle,
            Name::Text(text) => self.set_text(text),
        }
    }

    #[inline]
    fn set_text(&mut self, text: &[u8]) {
        let fits = text.len() <= TEXT;
        let kept = if fits { text } else { text.get(..TEXT.wrapping_sub(CUT.len())).unwrap_or_default() };
        let (start, rest) = self.text.split_at_mut(kept.len().min(TEXT));
        start.copy_from_slice(kept);
        self.length = kept.len() as u32;
        if !fits {
            rest.copy_from_slice(CUT);
            self.length = TEXT as u32;
        }
    }

    /// Its name, as far as it was kept.
    pub fn name(&self) -> Name<'_> {
        match (self.handle, self.text.get(..self.length as usize)) {
            (0, None | Some([])) => Name::None,
            (0, Some(text)) => Name::Text(text),
            (handle, _) => Name::Handle(handle),
        }
    }
}

/// A place for a range.
pub struct Pushed<'a> {
    /// Which.
    pub place: usize,
    /// How many of its domain are around it.
    pub level_in_domain: u16,
    /// Which recording has the range below it, and so all below that; `u64::MAX` if it is the outermost, `None` if they
    /// must be looked at.
    pub below: Option<u64>,
    /// The range.
    pub open: &'a mut Open,
}

/// What a pop has closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Popped {
    /// The range at this place; how many of its domain are around it.
    At(usize, u16),
    /// One that was too deep.
    Deeper,
    /// There was none in this domain.
    None,
}

/// The open ranges of a thread.
pub struct Stack {
    depth: usize,
    /// Open ranges above those that are kept.
    deeper: u32,
    /// The thread's name, if the program has registered one.
    pub name: u32,
    open: [Open; DEPTH],
}

impl Stack {
    const fn new() -> Self {
        Self { depth: 0, deeper: 0, name: 0, open: [const { Open::new() }; DEPTH] }
    }

    /// A place for a range that is opened; what is to be kept of it is still to be set. `None`: it lies too deep.
    #[inline(always)]
    pub fn push(&mut self, domain: u32) -> Option<Pushed<'_>> {
        let Self { open: all, depth, deeper, .. } = self;
        let place = *depth;
        let Some((below, [open, ..])) = all.split_at_mut_checked(place).filter(|_| *deeper == 0) else {
            *deeper = deeper.saturating_add(1);
            return None;
        };
        // Nobody writes it before it is whole.
        open.written = u64::MAX;
        compiler_fence(Ordering::SeqCst);
        *depth = place.wrapping_add(1);
        compiler_fence(Ordering::SeqCst);
        open.domain = domain;
        compiler_fence(Ordering::SeqCst);
        // A handler in between may have taken it for one that was closed.
        if *depth <= place {
            *depth = place.wrapping_add(1);
        }
        compiler_fence(Ordering::SeqCst);
        let around = below.iter().rev().find(|open| open.domain == domain);
        open.level_in_domain = around.map_or(0, |open| open.level_in_domain.saturating_add(1));
        // Of one that was closed nothing is known.
        let below = below.last().map_or(Some(u64::MAX), |below| Some(below.written).filter(|_| below.domain != CLOSED));
        Some(Pushed { place, level_in_domain: open.level_in_domain, below, open })
    }

    /// Finds the innermost range of a domain, which ends; [`Self::close`] takes it off.
    #[inline]
    pub fn pop(&mut self, domain: u32) -> Popped {
        if self.deeper > 0 {
            self.deeper = self.deeper.wrapping_sub(1);
            return Popped::Deeper;
        }
        self.inside(self.depth, domain).map_or(Popped::None, |(place, around)| Popped::At(place, around))
    }

    /// The innermost range of a domain below a place, and how many of the domain are around it.
    #[inline]
    fn inside(&self, mut place: usize, domain: u32) -> Option<(usize, u16)> {
        loop {
            place = place.checked_sub(1)?;
            let open = self.open.get(place)?;
            if open.domain == domain {
                return Some((place, open.level_in_domain));
            }
        }
    }

    /// The range at a place is open no longer.
    #[inline]
    pub fn close(&mut self, place: usize) {
        if let Some(open) = self.open.get_mut(place) {
            open.domain = CLOSED;
        }
        if place.wrapping_add(1) == self.depth {
            self.depth = place;
        }
        while let Some(below) = self.depth.checked_sub(1)
            && self.open.get(below).is_some_and(|open| open.domain == CLOSED)
        {
            self.depth = below;
        }
    }

    /// The range at a place.
    #[inline]
    pub fn at(&mut self, place: usize) -> Option<&mut Open> {
        self.open.get_mut(place)
    }

    /// Those up to a place that this recording does not have yet, the outermost first. All that are below one that has
    /// been written have been written too.
    #[inline]
    pub fn unwritten(&mut self, last: usize, generation: u64) -> impl Iterator<Item = &mut Open> {
        let end = last.saturating_add(1).min(self.depth);
        let is_written = |open: &Open| open.written == generation && open.domain != CLOSED;
        let written = self.open.iter().take(end).rposition(is_written);
        let begin = written.map_or(0, |place| place.wrapping_add(1));
        let due = self.open.get_mut(begin..end).unwrap_or_default().iter_mut();
        due.filter(|open| open.domain != CLOSED && open.written != u64::MAX)
    }

    /// Place of the innermost range that is open; `None` without any.
    pub fn innermost(&self) -> Option<usize> {
        self.depth.checked_sub(1)
    }
}

struct Place(UnsafeCell<Stack>);
// SAFETY: used by the thread that has taken it alone.
unsafe impl Sync for Place {}
static PLACES: [Place; STACKS] = [const { Place(UnsafeCell::new(Stack::new())) }; STACKS];
static TAKEN: [AtomicU8; STACKS] = [const { AtomicU8::new(0) }; STACKS];
/// Whether one was ever taken: a child of fork then need not look.
#[unsafe(link_section = ".data.small")]
static USED: AtomicBool = AtomicBool::new(false);

#[inline]
fn place(number: u32) -> Option<usize> {
    let index = number.wrapping_sub(1) as usize;
    (index < STACKS).then_some(index)
}

/// The thread's stack if it has one.
#[inline]
pub fn existing(thread: &Thread) -> Option<&'static mut Stack> {
    let place = PLACES.get(place(thread.stack)?)?;
    // SAFETY: the thread's own.
    Some(unsafe { &mut *place.0.get() })
}

/// The thread's stack; it gets one if there is one left.
#[inline]
pub fn of(thread: &mut Thread) -> Option<&'static mut Stack> {
    if thread.stack == 0 {
        take(thread);
    }
    existing(thread)
}

#[cold]
#[inline(never)]
fn take(thread: &mut Thread) {
    let errno = sys::Errno::save();
    // No handler in between: it would take one as well.
    let held = sys::SignalsHeld::hold();
    thread.stack = NONE_LEFT;
    if thread.ending == 0 {
        let is_free = |taken: &AtomicU8| taken.compare_exchange(0, 1, Ordering::AcqRel, Ordering::Relaxed).is_ok();
        if let Some(index) = TAKEN.iter().position(|taken| taken.load(Ordering::Relaxed) == 0 && is_free(taken)) {
            USED.store(true, Ordering::Relaxed);
            thread.stack = (index as u32).wrapping_add(1);
            if let Some(stack) = existing(thread) {
                (stack.depth, stack.deeper, stack.name) = (0, 0, 0);
            }
            thread.watch_end();
        }
    }
    drop(held);
    drop(errno);
}

/// The thread ends: its stack is for others, and it gets none any more.
pub fn leave(thread: &mut Thread) {
    let index = place(core::mem::replace(&mut thread.stack, NONE_LEFT));
    if let Some(taken) = index.and_then(|index| TAKEN.get(index)) {
        taken.store(0, Ordering::Release);
    }
}

/// In a child after fork: the other threads are not here.
pub fn after_fork(thread: &Thread) {
    if !USED.load(Ordering::Relaxed) {
        return;
    }
    let own = place(thread.stack);
    for (index, taken) in TAKEN.iter().enumerate() {
        if Some(index) != own && taken.load(Ordering::Relaxed) != 0 {
            taken.store(0, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::boxed::Box;
    use std::collections::HashMap;
    use std::vec::Vec;

    /// A generator of numbers that needs no crate: the hook has no dependencies.
    fn numbers(mut state: u64) -> impl FnMut(u64) -> u64 {
        move |below| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state.wrapping_shr(33).checked_rem(below).unwrap_or(0)
        }
    }

    #[test]
    fn it_pops_as_a_stack_for_each_domain_would() {
        for seed in 0..200 {
            let mut number = numbers(seed);
            let mut stack = Box::new(Stack::new());
            // The twin: a list of what is open in each domain.
            let mut twin: HashMap<u32, Vec<usize>> = HashMap::new();
            for _ in 0..400 {
                let domain = number(3) as u32;
                let open = twin.entry(domain).or_default();
                if number(100) < 52 {
                    let pushed = stack.push(domain).map(|pushed| (pushed.place, pushed.level_in_domain));
                    let Some((place, level)) = pushed else {
                        assert_eq!(stack.pop(domain), Popped::Deeper);
                        assert_eq!(stack.innermost(), Some(DEPTH - 1));
                        continue;
                    };
                    assert_eq!(usize::from(level), open.len());
                    open.push(place);
                } else {
                    match (stack.pop(domain), open.pop()) {
                        (Popped::At(place, level), Some(expected)) => {
                            assert_eq!((place, usize::from(level)), (expected, open.len()));
                            stack.close(place);
                        }
                        (found, expected) => assert_eq!((found, expected), (Popped::None, None)),
                    }
                }
                let highest = twin.values().flatten().max().copied();
                assert_eq!(stack.innermost(), highest, "what is closed at the top is gone");
            }
        }
    }

    #[test]
    fn what_a_recording_lacks_is_found_outermost_first() {
        let mut stack = Box::new(Stack::new());
        let open = |stack: &mut Stack, domain, written| {
            if let Some(Pushed { place, open, .. }) = stack.push(domain) {
                open.set(&Event::named(Name::Text(b"x")), place as u64, place as u32);
                open.written = written;
            }
        };
        for (domain, written) in [(0, 7), (1, 7), (0, 0), (1, 0), (0, 0)] {
            open(&mut stack, domain, written);
        }
        let due = |stack: &mut Stack, last, generation| -> Vec<u64> {
            stack.unwritten(last, generation).map(|open| open.range.ticks).collect()
        };
        assert_eq!(due(&mut stack, 4, 7), [2, 3, 4]);
        assert_eq!(due(&mut stack, 3, 7), [2, 3]);
        assert_eq!(due(&mut stack, 4, 8), [0, 1, 2, 3, 4], "in a child's file");
        stack.close(3);
        assert_eq!(due(&mut stack, 4, 7), [2, 4]);
        stack.close(1);
        stack.close(2);
        assert_eq!(due(&mut stack, 4, 7), [4], "one that is closed says nothing of those below");
        let before = stack.push(0).map(|pushed| (pushed.place, pushed.level_in_domain));
        assert_eq!(due(&mut stack, 5, 7), [4], "one that is being filled in is not written");
        assert_eq!(before, Some((5, 3)));
    }

    #[test]
    fn long_names_are_cut_and_marked() {
        let mut open = Open::new();
        for length in [0usize, 1, TEXT, TEXT + 1, 1024] {
            open.set(&Event::named(Name::Text(&std::vec![b'x'; length])), 1, 70_000);
            match open.name() {
                Name::Text(text) => {
                    assert_eq!(text.len(), length.min(TEXT));
                    assert_eq!(text.ends_with(CUT), length > TEXT);
                }
                _ => assert_eq!(length, 0),
            }
            assert_eq!(open.level, u16::MAX);
        }
    }
}
