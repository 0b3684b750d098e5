//! Allocations that a pattern fits, and which of them an address lay in at a moment.

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

/// Those of one process, and which of them the pattern fits.
#[derive(Debug)]
struct Fitting {
    all: Arc<Allocations>,
    fits: Vec<bool>,
}

impl Fitting {
    /// What answers up to a moment follow from: the allocations that fit and those that they share addresses with, as
    /// they were known then.
    fn grounds(&self, until_ns: u64) -> Vec<(Allocation, bool)> {
        // Those without an address hold none.
        let all = || self.all.all().iter().zip(self.fits.iter().copied()).filter(|(one, _)| one.has_address());
        let mut wanted: Vec<(u64, u64)> = Vec::new();
        for (one, _) in all().filter(|(_, fits)| *fits) {
            match wanted.last_mut() {
                Some(last) if one.address <= last.1 => last.1 = last.1.max(one.end()),
                _ => wanted.push((one.address, one.end())),
            }
        }
        let shares = |one: &Allocation| {
            let first = wanted.partition_point(|&(_, end)| end <= one.address);
            wanted.get(first).is_some_and(|&(address, _)| address < one.end())
        };
        let seen = all().filter(|(one, fits)| one.from_ns <= until_ns && (*fits || shares(one)));
        // What is released later was there all the time that was asked for.
        let clip = |ns: u64| if ns >= until_ns { u64::MAX } else { ns };
        let clipped = |one: &Allocation| Allocation {
            made_ns: clip(one.made_ns),
            freed_ns: clip(one.freed_ns),
            until_ns: clip(one.until_ns),
            end: if one.freed_ns >= until_ns { End::Lives } else { one.end },
            ..*one
        };
        seen.map(|(one, fits)| (clipped(one), fits)).collect()
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
}

impl Held {
    /// Asks each allocation anew where something has changed; `named` is the version of the names of call sites. True if
    /// an answer that was given may no longer hold.
    pub(super) fn update(
        &mut self,
        lives: &Allocated<'_>,
        named: u64,
        mut fits: impl FnMut(&Allocation) -> bool,
    ) -> bool {
        self.known_until.clear();
        self.known_until.extend_from_slice(lives.known_until);
        if self.versions == (lives.version, named) {
            return false;
        }
        self.versions = (lives.version, named);
        let fitting =
            |all: &Arc<Allocations>| Fitting { all: all.clone(), fits: all.all().iter().map(&mut fits).collect() };
        let now: Vec<Fitting> = lives.all.iter().map(fitting).collect();
        let before = std::mem::replace(&mut self.of, now);
        let Some(asked_ns) = self.asked_ns else { return false };
        let grounds = |of: &[Fitting], at: usize| of.get(at).map(|one| one.grounds(asked_ns)).unwrap_or_default();
        (0..self.of.len()).any(|at| grounds(&before, at) != grounds(&self.of, at))
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
