//! Allocations that a pattern fits, and which of them an address lay in at a moment.

use std::ops::Range;
use std::sync::Arc;

use crate::correlate::{Allocation, Allocations, End};
use crate::trace::{ProcessId, TrackId};

/// The allocations of each process of a trace, as far as they have been found.
#[derive(Clone, Copy, Debug, Default)]
pub struct Allocated<'a> {
    /// By process.
    pub all: &'a [Arc<Allocations>],
    /// Grows whenever they are found anew.
    pub version: u64,
    /// Of each process until when that holds, ns: what happened later may concern allocations that have not been found.
    pub known_until: &'a [u64],
}

/// Allocations gone through between two looks at the clock.
const STEP: usize = 1024;

/// Those of one process, and which of them the pattern fits.
#[derive(Debug, Default)]
struct Fitting {
    all: Arc<Allocations>,
    fits: Vec<bool>,
}

/// What answers up to a moment follow from: the allocations of a process that fit and those that they share addresses
/// with, as they were known then. Gone through in slices, by address.
#[derive(Debug, Default)]
struct Grounds {
    /// Addresses of those that fit, as far as these have been gone through.
    wanted: Vec<(u64, u64)>,
    upto: usize,
    /// The next one.
    at: usize,
}

impl Grounds {
    /// Finds the addresses of those that fit; true when all are known.
    fn prepare(&mut self, of: &Fitting, go_on: &mut dyn FnMut() -> bool) -> bool {
        let all = of.all.all();
        while self.upto < all.len() {
            let end = all.len().min(self.upto + STEP);
            for (one, _) in of.some(self.upto..end).filter(|(one, fits)| *fits && one.has_address()) {
                match self.wanted.last_mut() {
                    Some(last) if one.address <= last.1 => last.1 = last.1.max(one.end()),
                    _ => self.wanted.push((one.address, one.end())),
                }
            }
            self.upto = end;
            if !go_on() {
                return false;
            }
        }
        true
    }

    /// The next one of them; [`None`]: there is none among the next rows, or at all if all have been gone through.
    fn next(&mut self, of: &Fitting, until_ns: u64) -> Option<(Allocation, bool)> {
        let end = of.all.all().len().min(self.at.saturating_add(STEP));
        // Those without an address hold none.
        let shares = |one: &Allocation| {
            let first = self.wanted.partition_point(|&(_, end)| end <= one.address);
            self.wanted.get(first).is_some_and(|&(address, _)| address < one.end())
        };
        let mut some = (self.at..end).zip(of.some(self.at..end));
        let found =
            some.find(|(_, (one, fits))| one.has_address() && one.from_ns <= until_ns && (*fits || shares(one)));
        self.at = found.map_or(end, |(at, _)| at + 1);
        // What is released later was there all the time that was asked for.
        let clip = |ns: u64| if ns >= until_ns { u64::MAX } else { ns };
        found.map(|(_, (one, fits))| {
            let clipped = Allocation {
                made_ns: clip(one.made_ns),
                freed_ns: clip(one.freed_ns),
                until_ns: clip(one.until_ns),
                end: if one.freed_ns >= until_ns { End::Lives } else { one.end },
                ..*one
            };
            (clipped, fits)
        })
    }
}

impl Fitting {
    /// Some rows, and whether they fit.
    fn some(&self, rows: Range<usize>) -> impl Iterator<Item = (&Allocation, bool)> {
        let all = self.all.all().get(rows.clone()).unwrap_or_default();
        all.iter().zip(self.fits.get(rows).unwrap_or_default().iter().copied())
    }
}

/// Other answers on their way.
#[derive(Debug)]
struct Making {
    of: Vec<Fitting>,
    /// What they are made from.
    versions: (u64, u64),
    /// The process whose grounds are compared, those of before and of now, and the next one of each.
    process: usize,
    grounds: [Grounds; 2],
    next: [Option<(Allocation, bool)>; 2],
}

impl Making {
    fn new(lives: &Allocated<'_>, versions: (u64, u64)) -> Self {
        let fitting = |all: &Arc<Allocations>| Fitting { all: all.clone(), fits: Vec::new() };
        let of = lives.all.iter().map(fitting).collect();
        Self { of, versions, process: 0, grounds: Default::default(), next: [None, None] }
    }

    /// Asks each allocation; true when all have been.
    fn ask(&mut self, fits: &mut impl FnMut(&Allocation) -> bool, go_on: &mut dyn FnMut() -> bool) -> bool {
        for of in &mut self.of {
            let all = of.all.all();
            while of.fits.len() < all.len() {
                of.fits.extend(all.iter().skip(of.fits.len()).take(STEP).map(&mut *fits));
                if !go_on() {
                    return false;
                }
            }
        }
        true
    }

    /// Whether answers that were given up to a moment may no longer hold; `None` as long as that is not known.
    fn compare(&mut self, before: &[Fitting], asked_ns: u64, go_on: &mut dyn FnMut() -> bool) -> Option<bool> {
        let nothing = Fitting::default();
        let mut looks = 0usize;
        while self.process < self.of.len() {
            let of = |list| <[Fitting]>::get(list, self.process).unwrap_or(&nothing);
            let sides = [of(before), of(&self.of)];
            for (grounds, of) in self.grounds.iter_mut().zip(sides) {
                if !grounds.prepare(of, go_on) {
                    return None;
                }
            }
            loop {
                for ((grounds, of), next) in self.grounds.iter_mut().zip(sides).zip(&mut self.next) {
                    while next.is_none() && grounds.at < of.all.all().len() {
                        *next = grounds.next(of, asked_ns);
                        looks += 1;
                        if (next.is_none() || looks.is_multiple_of(STEP)) && !go_on() {
                            return None;
                        }
                    }
                }
                let [before, now] = &mut self.next;
                let (before, now) = (before.take(), now.take());
                if before != now {
                    return Some(true);
                }
                if now.is_none() {
                    break;
                }
            }
            self.grounds = Default::default();
            self.process += 1;
        }
        Some(false)
    }
}

/// The answers of one pattern.
#[derive(Debug, Default)]
pub(super) struct Held {
    of: Vec<Fitting>,
    /// Versions of allocations and of the names of call sites for which that holds.
    versions: (u64, u64),
    /// The latest moment that was asked for of those that are known, ns.
    asked_ns: Option<u64>,
    /// Of each process until when they are, ns.
    known_until: Vec<u64>,
    making: Option<Making>,
    /// They are those of the newest table and names.
    is_current: bool,
}

impl Held {
    /// Asks each allocation anew where something has changed, as long as `go_on` says so; `named` is the version of the
    /// names of call sites. True if an answer that was given may no longer hold.
    pub(super) fn update(
        &mut self,
        lives: &Allocated<'_>,
        named: u64,
        mut fits: impl FnMut(&Allocation) -> bool,
        go_on: &mut dyn FnMut() -> bool,
    ) -> bool {
        self.known_until.clear();
        self.known_until.extend_from_slice(lives.known_until);
        let versions = (lives.version, named);
        self.is_current = false;
        let mut changed = false;
        while self.versions != versions {
            // What has been begun is ended first, or it never were where names come one by one.
            let mut making = self.making.take().unwrap_or_else(|| Making::new(lives, versions));
            let compared = match (making.ask(&mut fits, go_on), self.asked_ns) {
                (false, _) => None,
                (true, None) => Some(false),
                (true, Some(asked_ns)) => making.compare(&self.of, asked_ns, go_on),
            };
            let Some(other) = compared else {
                self.making = Some(making);
                return changed;
            };
            changed |= other;
            (self.of, self.versions) = (making.of, making.versions);
        }
        self.is_current = true;
        changed
    }

    /// Whether the newest table and names have not been asked yet.
    pub(super) const fn is_behind(&self) -> bool {
        !self.is_current
    }

    /// What is not known yet will be asked for again.
    fn note(&mut self, process: ProcessId, at_ns: u64) {
        let known = self.known_until.get(process.index()).copied().unwrap_or(0);
        self.asked_ns = self.asked_ns.max(Some(at_ns.min(known)));
    }

    /// Whether the allocation fits that held an address at a moment, ns.
    pub(super) fn at(&mut self, process: ProcessId, address: u64, at_ns: u64) -> bool {
        self.note(process, at_ns);
        let Some(fitting) = self.of.get(process.index()) else { return false };
        let found = fitting.all.find(address, at_ns);
        found.is_some_and(|index| fitting.fits.get(index).copied().unwrap_or(false))
    }

    /// Whether the allocation fits that a call made; `None` if it made none at this address.
    pub(super) fn made(&mut self, process: ProcessId, address: u64, by: (TrackId, usize), at_ns: u64) -> Option<bool> {
        self.note(process, at_ns);
        let fitting = self.of.get(process.index())?;
        let found = fitting.all.made(address, at_ns, by)?;
        fitting.fits.get(found).copied()
    }
}
