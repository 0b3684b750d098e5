//! Which device may access which other one's memory (peer access), and since when: from the calls that allow it.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::correlate::calls::{Found, Records, bare, choose, each};
use crate::trace::{Argument, Bytes, CallFlags, NO_DEVICE, ProcessId, Trace};

/// Whether one of two devices may access the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum May {
    /// It may.
    Yes,
    /// Neither may.
    No,
    /// Arguments of calls that would tell are not recorded.
    NotKnown,
}

/// What a call does.
enum Does {
    /// The current device may access this one.
    Enable(Argument),
    /// It may no longer.
    Disable(Argument),
    /// Likewise by the other's context.
    EnableContext(Argument),
    DisableContext(Argument),
    /// A context of a device.
    Context(Argument, Argument),
    /// Nothing is allowed to the current device any more.
    Reset,
}

/// What was allowed to a device, and taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Change {
    at_ns: u64,
    allowed: bool,
}

/// Peer access of all processes.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// By process, who, and whose memory: in order of time.
    changes: FxHashMap<(ProcessId, u8, u8), Vec<Change>>,
    /// Processes of which it is not known throughout.
    unclear: Vec<ProcessId>,
}

impl Access {
    /// Of a trace. `files` are its files.
    #[must_use]
    pub fn of(trace: &Trace, files: &[Arc<dyn Bytes>]) -> Self {
        let mut access = Self::default();
        let chosen = choose(trace, |api, base| {
            let argument = |role| api.signature.role(role).cloned();
            Some(match bare(base) {
                "DeviceEnablePeerAccess" => Does::Enable(argument("peer")?),
                "DeviceDisablePeerAccess" => Does::Disable(argument("peer")?),
                "CtxEnablePeerAccess" => Does::EnableContext(argument("peer")?),
                "CtxDisablePeerAccess" => Does::DisableContext(argument("peer")?),
                "DevicePrimaryCtxRetain" | "CtxCreate" => Does::Context(argument("context")?, argument("device")?),
                "DeviceReset" => Does::Reset,
                _ => return None,
            })
        });
        for process in (0..u16::MAX).map(ProcessId).take(trace.processes.len()) {
            access.add(trace, process, files, &chosen);
        }
        access.changes.values_mut().for_each(|changes| changes.sort_unstable());
        access
    }

    fn add(&mut self, trace: &Trace, process: ProcessId, files: &[Arc<dyn Bytes>], chosen: &[Option<Does>]) {
        let mut records = Records::of(trace, process, files);
        let mut contexts: FxHashMap<u64, u8> = FxHashMap::default();
        let (mut by_context, mut resets, mut unclear) = (Vec::new(), Vec::new(), false);
        each(trace, process, chosen, |found: Found<'_, Does>| {
            let call = &found.call;
            if call.flags.failed() {
                return;
            }
            let mut number = |argument| records.read(&found)?.number(argument);
            let at_ns = call.end_ns();
            match found.what {
                Does::Context(context, device) => {
                    if let (Some(context), Some(device)) = (number(context), number(device)) {
                        contexts.insert(context, device as u8);
                    }
                }
                // Calls inside others say the same again.
                _ if call.depth != 0 => {}
                _ if call.device == NO_DEVICE || call.flags.has(CallFlags::NO_ARGUMENTS) => unclear = true,
                Does::Reset => resets.push((call.device, at_ns)),
                Does::Enable(peer) | Does::Disable(peer) => match number(peer) {
                    Some(peer) => {
                        let allowed = matches!(found.what, Does::Enable(_));
                        let changes = self.changes.entry((process, call.device, peer as u8)).or_default();
                        changes.push(Change { at_ns, allowed });
                    }
                    None => unclear = true,
                },
                Does::EnableContext(peer) | Does::DisableContext(peer) => match number(peer) {
                    Some(peer) => {
                        by_context.push((call.device, peer, at_ns, matches!(found.what, Does::EnableContext(_))));
                    }
                    None => unclear = true,
                },
            }
        });
        for (device, context, at_ns, allowed) in by_context {
            match contexts.get(&context) {
                Some(&peer) => {
                    let changes = self.changes.entry((process, device, peer)).or_default();
                    changes.push(Change { at_ns, allowed });
                }
                None => unclear = true,
            }
        }
        for ((of, who, _), changes) in &mut self.changes {
            let ends = resets.iter().filter(|(device, _)| (*of, *who) == (process, *device));
            changes.extend(ends.map(|&(_, at_ns)| Change { at_ns, allowed: false }));
        }
        if unclear {
            self.unclear.push(process);
        }
    }

    /// Whether one of two of a process's devices, by their numbers there, was allowed to access the other at a moment, ns.
    #[must_use]
    pub fn between(&self, process: ProcessId, [one, other]: [u8; 2], at_ns: u64) -> May {
        let allowed = |who, whose| {
            let changes = self.changes.get(&(process, who, whose))?;
            let last = changes.partition_point(|change| change.at_ns <= at_ns).checked_sub(1)?;
            changes.get(last).map(|change| change.allowed)
        };
        if [allowed(one, other), allowed(other, one)].contains(&Some(true)) {
            return May::Yes;
        }
        let unclear = one == NO_DEVICE || other == NO_DEVICE || self.unclear.contains(&process);
        if unclear { May::NotKnown } else { May::No }
    }

    /// Who was ever allowed to access whose memory: a process, and two of its devices by their numbers there.
    pub fn allowed(&self) -> impl Iterator<Item = (ProcessId, u8, u8)> {
        let ever = self.changes.iter().filter(|(_, changes)| changes.iter().any(|change| change.allowed));
        ever.map(|(&pair, _)| pair)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn access_holds_from_call_to_call_and_either_way_is_enough() {
        let change = |at_ns, allowed| Change { at_ns, allowed };
        let p = ProcessId(0);
        let mut access = Access::default();
        access.changes.insert((p, 0, 1), vec![change(10, true), change(20, false), change(30, true)]);
        let at = |access: &Access, ns| [[0, 1], [1, 0]].map(|pair| access.between(p, pair, ns));
        assert_eq!(
            [9, 10, 20, 31].map(|ns| at(&access, ns)),
            [[May::No; 2], [May::Yes; 2], [May::No; 2], [May::Yes; 2]]
        );
        assert_eq!(access.between(p, [0, NO_DEVICE], 40), May::NotKnown);
        assert_eq!(access.between(ProcessId(1), [0, 1], 40), May::No);
        access.unclear.push(p);
        assert_eq!(at(&access, 25), [May::NotKnown; 2]);
        assert_eq!(access.allowed().collect::<Vec<_>>(), [(p, 0, 1)]);
    }
}
