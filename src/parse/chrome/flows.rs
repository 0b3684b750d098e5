//! Flows: arrows from one slice to another. Their ends are shown as marks; here they are counted by category, and what
//! has one end only is told.

use super::event::{Event, raw_of};
use super::mapping::words;
use rustc_hash::{FxHashMap, FxHasher};
use std::fmt::Write as _;
use std::hash::{Hash, Hasher};

/// Categories that are told apart.
const KINDS: usize = 16;
/// Flows whose ends are looked for.
const IDS: usize = 1 << 19;

/// An end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum End {
    /// Where it is handed on.
    Passes = 0,
    /// Its first.
    Begins = 1,
    /// Its last.
    Ends = 2,
}

impl End {
    /// The domain of the mark that shows it.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Passes => "flow passes",
            Self::Begins => "flow begins",
            Self::Ends => "flow ends",
        }
    }
}

/// All flows of an input.
#[derive(Debug, Default)]
pub struct Flows {
    kinds: Vec<Kind>,
    /// Category, and which ends were seen, by id.
    seen: FxHashMap<u64, (u8, u8)>,
}

#[derive(Debug, Default)]
struct Kind {
    category: Vec<u8>,
    begins: u64,
    steps: u64,
    ends: u64,
    /// More than are looked for.
    beyond: bool,
}

impl Flows {
    /// An event of phase `s`, `t` or `f`.
    pub fn take(&mut self, event: &Event<'_>) -> End {
        let end = match event.phase.unwrap_or_default().raw {
            b"s" => End::Begins,
            b"f" => End::Ends,
            _ => End::Passes,
        };
        self.add(event, event.key(), end)
    }

    /// A slice with `bind_id`.
    pub fn bound(&mut self, event: &Event<'_>) -> End {
        let mut hasher = FxHasher::default();
        (event.category.raw, raw_of(&event.bound)).hash(&mut hasher);
        // What has both hands it on.
        let end = match (event.flow_in, event.flow_out) {
            (false, true) => End::Begins,
            (true, false) => End::Ends,
            _ => End::Passes,
        };
        self.add(event, hasher.finish(), end)
    }

    fn add(&mut self, event: &Event<'_>, id: u64, end: End) -> End {
        let category = event.category.raw;
        let known = self.kinds.iter().position(|kind| kind.category == category);
        let at = known.unwrap_or_else(|| {
            if self.kinds.len() < KINDS {
                self.kinds.push(Kind { category: category.to_vec(), ..Kind::default() });
            }
            self.kinds.len() - 1
        });
        let Some(kind) = self.kinds.get_mut(at) else { return end };
        match end {
            End::Begins => kind.begins += 1,
            End::Ends => kind.ends += 1,
            End::Passes => kind.steps += 1,
        }
        if end == End::Passes {
            return end;
        }
        if self.seen.len() < IDS || self.seen.contains_key(&id) {
            self.seen.entry(id).or_insert((at as u8, 0)).1 |= end as u8;
        } else {
            kind.beyond = true;
        }
        end
    }

    /// A line for each category.
    pub fn lines(&self) -> impl Iterator<Item = String> {
        self.kinds.iter().enumerate().map(|(at, kind)| {
            let alone = |end| self.seen.values().filter(|seen| **seen == (at as u8, end as u8)).count();
            let name = if kind.category.is_empty() { "without a category".to_owned() } else { words(&kind.category) };
            let mut line = format!("flows {name}, shown as marks: {} begin, {} end", kind.begins, kind.ends);
            if kind.steps > 0 {
                let _ = write!(line, ", {} hand on", kind.steps);
            }
            if kind.beyond {
                line.push_str("; too many to be matched");
                return line;
            }
            for (end, what) in [(End::Begins, "begin and never end"), (End::Ends, "end and never begin")] {
                let count = alone(end);
                if count > 0 {
                    let _ = write!(line, "; {count} {what}");
                }
            }
            line
        })
    }
}
