//! A moment at which memory is looked at.

use std::sync::Arc;

use serde::Serialize;

use super::allocations;
use super::text::duration;
use crate::correlate::Allocations;
use crate::lens::{Moment, MomentFound, NoSuchMoment};
use crate::memory::{Account, Group};
use crate::session::Loaded;
use crate::session::safe::safe;

/// A moment that a trace has not got.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", line(.path, .moment, .why))]
pub struct Unfound {
    /// The trace.
    pub path: String,
    /// The moment.
    pub moment: String,
    /// Why.
    pub why: NoSuchMoment,
}

/// In a line, safe for the terminal.
fn line(path: &str, moment: &str, why: &NoSuchMoment) -> String {
    safe(&format!("{path}: no such moment as {moment}: {why}")).into_owned()
}

/// A moment that a trace has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MomentBlock {
    /// As it was asked for.
    pub asked: String,
    /// The range or mark that told it, with `*` for numbers that change.
    pub by: Option<String>,
    /// Since the trace's first event, ns; `None`: not known.
    pub time_ns: Option<u64>,
}

/// The account of what the lens selects; `None`: the arguments of no call are recorded. And how many calls cannot be read.
pub(super) fn account(loaded: &mut Loaded, found: &[Arc<Allocations>]) -> (Option<Account>, u64) {
    let (account, unread) = allocations::account(loaded, found);
    let unknown = unread > 0 && account.blocks().is_empty() && account.refused().is_empty();
    (Some(account).filter(|_| !unknown), unread)
}

/// Where a moment is: for the reader, and on the trace's axis, ns.
pub(super) fn locate(
    loaded: &Loaded,
    account: Option<&Account>,
    path: &str,
    moment: &Moment,
) -> Result<(MomentBlock, u64), Unfound> {
    let trace = loaded.trace();
    // Where nothing was in use, any moment is the peak.
    let peak = || account.map(|account| account.totals(Group::All).peak_ns.max(trace.start_ns()));
    let found = match moment {
        Moment::Peak if account.is_none() => Ok(MomentFound { at_ns: u64::MAX, by: String::new() }),
        moment => moment.find(trace, peak),
    };
    let found = found.map_err(|why| Unfound { path: path.to_owned(), moment: moment.to_string(), why })?;
    let time_ns = match (moment, account) {
        (Moment::Peak, None) => None,
        _ => Some(found.at_ns.min(trace.end_ns()).saturating_sub(trace.start_ns())),
    };
    Ok((
        MomentBlock { asked: moment.to_string(), by: Some(found.by).filter(|by| !by.is_empty()), time_ns },
        found.at_ns,
    ))
}

impl MomentBlock {
    /// `the peak`, `step:3`; safe for the terminal.
    pub(super) fn words(&self) -> String {
        match self.asked.as_str() {
            "peak" => "the peak".to_owned(),
            "end" => "the end".to_owned(),
            asked => safe(asked).into_owned(),
        }
    }

    /// Likewise, with what told it and the time.
    pub(super) fn sentence(&self) -> String {
        let by = self.by.as_deref().map_or(String::new(), |by| format!(" of {}", safe(by)));
        let time = self.time_ns.map_or_else(|| "time not known".to_owned(), duration);
        format!("{}{by}, at {time}", self.words())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_a_trace_do_not_act_on_the_terminal() {
        let why = NoSuchMoment::Step { name: "step\x1b[2J".into(), turns: 3 };
        let told = Unfound { path: "run".into(), moment: "step:9".into(), why }.to_string();
        assert_eq!(told, "run: no such moment as step:9: there are 3 of the range step\\x1b[2J");
        let moment = MomentBlock { asked: "mark:\x1b#1".into(), by: Some("\n".into()), time_ns: None };
        assert_eq!(moment.sentence(), "mark:\\x1b#1 of \\n, at time not known");
    }
}
