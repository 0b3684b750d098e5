//! What a recording was told to leave out: by `--filter` and `--only`.

use umtui_wire::group::{GROUPS, Group};

use super::safe::safe;
use crate::trace::Trace;

/// What was left out of some processes, all in the same way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// The filter that calls had to fit; empty for none. Safe for the terminal.
    pub filter: String,
    /// Groups of functions that are not there.
    pub groups: Vec<&'static str>,
    /// Calls that the filter left out once they had returned. Those of functions that it leaves out altogether are not
    /// counted.
    pub calls: u64,
}

/// All that was left out.
#[must_use]
pub fn left_out(trace: &Trace) -> Vec<LeftOut> {
    let mut all: Vec<LeftOut> = Vec::new();
    for process in &trace.processes {
        // Of ranges the evidence says it.
        let is_out = |group: Group| group != Group::Range && process.groups_left_out >> (group as u32) & 1 != 0;
        let groups: Vec<_> = GROUPS.iter().filter(|(group, _)| is_out(*group)).map(|(_, name)| *name).collect();
        if process.filter.is_empty() && groups.is_empty() {
            continue;
        }
        let filter = safe(&process.filter).into_owned();
        match all.iter_mut().find(|known| (&known.filter, &known.groups) == (&filter, &groups)) {
            Some(known) => known.calls = known.calls.saturating_add(process.left_out),
            None => all.push(LeftOut { filter, groups, calls: process.left_out }),
        }
    }
    all
}

/// Likewise in sentences.
#[must_use]
pub fn lines(trace: &Trace) -> Vec<String> {
    let mut lines = Vec::new();
    for out in left_out(trace) {
        if !out.filter.is_empty() {
            let calls = match out.calls {
                0 => String::new(),
                calls => format!("; {calls} were made and left out"),
            };
            lines.push(format!(
                "calls that do not fit {} (--filter){calls}; those about memory, streams, events and waits are all here",
                out.filter
            ));
        }
        if !out.groups.is_empty() {
            lines.push(format!("calls of the groups {} (--only)", out.groups.join(", ")));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::Process;

    #[test]
    fn what_was_left_out_is_said_once_for_all_processes() {
        let process = |filter: &str, left_out, groups_left_out| Process {
            filter: filter.to_owned(),
            left_out,
            groups_left_out,
            ..Process::default()
        };
        let mut trace = Trace::default();
        trace.processes.push(process("", 0, 0));
        assert!(lines(&trace).is_empty());
        trace.processes.push(process("duration>=1ms", 3, 0));
        trace.processes.push(process("duration>=1ms", 4, 0));
        trace.processes.push(process("", 0, 1 << Group::Range as u32 | 1 << Group::Copy as u32));
        let expected = [
            "calls that do not fit duration>=1ms (--filter); 7 were made and left out; those about memory, streams, events \
             and waits are all here",
            "calls of the groups copy (--only)",
        ];
        assert_eq!(lines(&trace), expected);
        trace.processes[1].filter = "api:\u{1b}[2J".to_owned();
        assert!(!lines(&trace).concat().contains('\u{1b}'));
    }
}
