//! Which process started which: by parent process id and start time, on one host since its last start.

use rustc_hash::FxHashMap;

use crate::trace::{NameId, Process, ProcessId, State, Trace};

/// A process in its family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// The process.
    pub id: ProcessId,
    /// Ancestors that are recorded as well.
    pub depth: u16,
    /// It is the same process as the one above, which has become another program by exec.
    pub became: bool,
    /// It has itself become another program, which stands below it.
    pub went_on: bool,
}

/// How many processes stand how.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Standing {
    /// Known to run.
    pub running: usize,
    /// Ended in order.
    pub ended: usize,
    /// Gone without a word: killed, crashed or by `_exit`.
    pub gone: usize,
    /// Recorded no further, by the size cap or an error.
    pub stopped: usize,
}

impl Standing {
    /// Counts a process.
    pub fn count(&mut self, state: State, alive: bool, went_on: bool) {
        match state {
            _ if went_on => self.ended += 1,
            State::Full | State::Failed(_) => self.stopped += 1,
            _ if alive => self.running += 1,
            State::Ended => self.ended += 1,
            State::Killed | State::Recording => self.gone += 1,
        }
    }
}

/// What a process id belongs to: the same number may be had on another host, in another container, after a restart.
type Key = ([u8; 16], NameId, u32);

fn key(process: &Process, pid: u32) -> Key {
    (process.boot_id, process.host, pid)
}

/// All processes, each after its parent and before its younger siblings, ranks in their order.
#[must_use]
pub fn family(trace: &Trace) -> Vec<Member> {
    let of = |id: usize| trace.processes.get(id);
    let age = |id: usize| of(id).map(|process| (process.start_time, process.start_ns, id));
    let mut by_key: FxHashMap<Key, Vec<usize>> = FxHashMap::default();
    for (id, process) in trace.processes.iter().enumerate() {
        by_key.entry(key(process, process.pid)).or_default().push(id);
    }
    let same = |id: usize, pid: u32| of(id).and_then(|process| by_key.get(&key(process, pid)));
    // The program that the process was before it became this one.
    let earlier = |id: usize| {
        let process = of(id)?;
        let is_earlier = |other: &usize| {
            of(*other).is_some_and(|other| other.start_time == process.start_time) && age(*other) < age(id)
        };
        same(id, process.pid)?.iter().copied().filter(is_earlier).max_by_key(|&other| age(other))
    };
    // The youngest that had the number when the process was started; of its programs the last one that had begun to
    // record by then, as far as that can be known.
    let parent = |id: usize| {
        let process = of(id)?;
        let begun = |other: usize| of(other).map(|other| other.start_ns).filter(|&ns| ns <= process.start_ns);
        let older =
            |other: &usize| *other != id && of(*other).is_some_and(|other| other.start_time <= process.start_time);
        let older = same(id, process.parent_pid)?.iter().copied().filter(older);
        older.max_by_key(|&other| (of(other).map(|other| other.start_time), begun(other), std::cmp::Reverse(other)))
    };
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); trace.processes.len()];
    let mut roots = Vec::new();
    let mut became = vec![false; trace.processes.len()];
    let mut went_on = vec![false; trace.processes.len()];
    for id in 0..trace.processes.len() {
        let earlier = earlier(id);
        if let Some(place) = became.get_mut(id) {
            *place = earlier.is_some();
        }
        if let Some(place) = earlier.and_then(|earlier| went_on.get_mut(earlier)) {
            *place = true;
        }
        match earlier.or_else(|| parent(id)).and_then(|parent| children.get_mut(parent)) {
            Some(siblings) => siblings.push(id),
            None => roots.push(id),
        }
    }
    let order = |list: &mut Vec<usize>| {
        // Without a rank, before those that have one: what starts them comes first.
        list.sort_by_key(|&id| (of(id).and_then(|process| process.rank), age(id)));
        list.reverse();
    };
    order(&mut roots);
    let mut members = Vec::with_capacity(trace.processes.len());
    let mut waiting: Vec<(usize, u16)> = roots.into_iter().map(|id| (id, 0)).collect();
    let mut met = vec![false; trace.processes.len()];
    // A damaged file may call its child its parent: what no root leads to stands alone.
    let mut rest = 0..trace.processes.len();
    while let Some((id, depth)) =
        waiting.pop().or_else(|| rest.find(|&id| met.get(id) == Some(&false)).map(|id| (id, 0)))
    {
        if met.get_mut(id).is_none_or(|met| std::mem::replace(met, true)) {
            continue;
        }
        let Ok(number) = u16::try_from(id) else { continue };
        let is = |list: &[bool]| list.get(id).copied().unwrap_or(false);
        members.push(Member { id: ProcessId(number), depth, became: is(&became), went_on: is(&went_on) });
        let mut list = children.get_mut(id).map(std::mem::take).unwrap_or_default();
        order(&mut list);
        waiting.extend(list.into_iter().map(|child| (child, depth.saturating_add(1))));
    }
    members
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pid, parent, start time, start of recording, rank.
    fn tree(processes: &[(u32, u32, u64, u64, Option<u32>)]) -> Vec<(usize, u16, bool)> {
        let mut trace = Trace::default();
        for &(pid, parent_pid, start_time, start_ns, rank) in processes {
            trace.add_process(Process { pid, parent_pid, start_time, start_ns, rank, ..Process::default() }).unwrap();
        }
        family(&trace).into_iter().map(|member| (member.id.index(), member.depth, member.became)).collect()
    }

    #[test]
    fn children_follow_their_parents() {
        let found = tree(&[(30, 20, 7, 9, None), (10, 1, 1, 5, None), (20, 10, 5, 8, None), (25, 10, 6, 7, None)]);
        assert_eq!(found, [(1, 0, false), (2, 1, false), (0, 2, false), (3, 1, false)]);
    }

    #[test]
    fn ranks_stand_in_their_order_after_what_has_none() {
        let found =
            tree(&[(11, 1, 1, 1, Some(2)), (12, 1, 2, 2, Some(0)), (13, 1, 3, 3, None), (14, 1, 4, 4, Some(1))]);
        assert_eq!(found.iter().map(|row| row.0).collect::<Vec<_>>(), [2, 1, 3, 0]);
    }

    #[test]
    fn exec_goes_on_below_and_children_hang_on_the_program_that_had_begun() {
        let found = tree(&[(10, 1, 1, 1, None), (10, 1, 1, 5, None), (11, 10, 2, 3, None), (12, 10, 6, 7, None)]);
        assert_eq!(found, [(0, 0, false), (1, 1, true), (3, 2, false), (2, 1, false)]);
    }

    #[test]
    fn a_number_that_came_round_again_is_nobodys_parent() {
        // The parent of 11 had the number before, and is not recorded.
        let found = tree(&[(10, 1, 50, 50, None), (11, 10, 20, 20, None), (10, 10, 5, 5, None)]);
        assert!(found.contains(&(1, 1, false)) && found.contains(&(0, 0, false)), "{found:?}");
        assert_eq!(tree(&[(10, 10, 1, 1, None)]), [(0, 0, false)]);
        // Nor do two that call each other so harm anybody.
        assert_eq!(tree(&[(10, 11, 1, 1, None), (11, 10, 1, 2, None)]).len(), 2);
    }
}
