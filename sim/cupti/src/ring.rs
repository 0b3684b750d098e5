//! What happened, on its way from the threads on which it happened to whoever writes it into buffers.
//!
//! Pushing takes no lock and allocates nothing, because CPU faults are told inside the SIGSEGV handler.

use crate::told::Event;
use crate::worker;
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Records that it holds.
pub const CELLS: usize = 1 << 15;
/// So many pushes wake the worker once.
const WAKE_EVERY: u64 = 64;
/// How often a full ring is looked at again before the record is given up.
const TRIES: u32 = 4_000;

struct Cell {
    /// 2 lap while free in that lap, 2 lap + 1 while it holds a record.
    state: AtomicU64,
    event: UnsafeCell<Event>,
}

/// A bounded queue of many writers; readers take turns by a lock of their own.
pub struct Ring<const N: usize> {
    cells: [Cell; N],
    head: AtomicU64,
    tail: AtomicU64,
}

// SAFETY: a cell belongs to the writer that has claimed its ticket until `state` hands it to the reader, and back.
unsafe impl<const N: usize> Sync for Ring<N> {}

impl<const N: usize> Ring<N> {
    pub const fn new() -> Self {
        let cells = [const { Cell { state: AtomicU64::new(0), event: UnsafeCell::new(Event::ZERO) } }; N];
        Self { cells, head: AtomicU64::new(0), tail: AtomicU64::new(0) }
    }

    fn cell(&self, ticket: u64) -> Option<&Cell> {
        self.cells.get((ticket % N as u64) as usize)
    }

    /// Adds a record; its number, or `None` when there is no room.
    pub fn push(&self, event: &Event) -> Option<u64> {
        let mut ticket = self.tail.load(Ordering::Relaxed);
        loop {
            let cell = self.cell(ticket)?;
            let free = ticket / N as u64 * 2;
            let state = cell.state.load(Ordering::Acquire);
            if state < free {
                return None;
            }
            if state == free
                && self.tail.compare_exchange_weak(ticket, ticket + 1, Ordering::Relaxed, Ordering::Relaxed).is_ok()
            {
                // SAFETY: the ticket is ours, and the reader has left the cell.
                unsafe { cell.event.get().write(*event) };
                cell.state.store(free + 1, Ordering::Release);
                return Some(ticket);
            }
            ticket = self.tail.load(Ordering::Relaxed);
        }
    }

    /// Takes the oldest record. One thread at a time.
    pub fn pop(&self) -> Option<Event> {
        let ticket = self.head.load(Ordering::Relaxed);
        let cell = self.cell(ticket)?;
        let full = ticket / N as u64 * 2 + 1;
        if cell.state.load(Ordering::Acquire) != full {
            return None;
        }
        // SAFETY: the writer has handed the cell over.
        let event = unsafe { cell.event.get().read() };
        cell.state.store(full + 1, Ordering::Release);
        self.head.store(ticket + 1, Ordering::Relaxed);
        Some(event)
    }
}

static RING: Ring<CELLS> = Ring::new();

/// Adds a record; false if it had to be given up.
pub fn push(event: &Event) -> bool {
    for _ in 0..TRIES {
        match RING.push(event) {
            Some(ticket) => {
                if ticket.is_multiple_of(WAKE_EVERY) {
                    worker::wake();
                }
                return true;
            }
            None if !worker::runs() => return false,
            None => {
                worker::wake();
                std::thread::sleep(Duration::from_micros(50));
            }
        }
    }
    false
}

/// Takes the oldest record. One thread at a time.
pub fn pop() -> Option<Event> {
    RING.pop()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_lost_or_twice_among_threads() {
        static SMALL: Ring<8> = Ring::new();
        const EACH: u64 = 20_000;
        let taken = std::thread::scope(|scope| {
            for writer in 0..3u64 {
                scope.spawn(move || {
                    for number in 0..EACH {
                        let event = Event { value: writer * EACH + number, ..Event::new(1) };
                        while SMALL.push(&event).is_none() {
                            std::thread::yield_now();
                        }
                    }
                });
            }
            let mut taken = Vec::new();
            while taken.len() < 3 * EACH as usize {
                match SMALL.pop() {
                    Some(event) => taken.push(event.value),
                    None => std::thread::yield_now(),
                }
            }
            taken
        });
        for writer in 0..3 {
            let own: Vec<u64> = taken.iter().copied().filter(|value| value / EACH == writer).collect();
            assert_eq!(own, (writer * EACH..(writer + 1) * EACH).collect::<Vec<_>>());
        }
        assert!(SMALL.pop().is_none());
    }

    #[test]
    fn a_full_ring_takes_no_more() {
        let ring: Ring<2> = Ring::new();
        assert_eq!(ring.push(&Event::new(1)), Some(0));
        assert_eq!(ring.push(&Event::new(2)), Some(1));
        assert_eq!(ring.push(&Event::new(3)), None);
        assert_eq!(ring.pop().map(|event| event.kind), Some(1));
        assert_eq!(ring.push(&Event::new(3)), Some(2));
        assert_eq!(
            [ring.pop(), ring.pop(), ring.pop()].map(|event| event.map(|event| event.kind)),
            [Some(2), Some(3), None]
        );
    }
}
