//! Flows: arrows from one slice to another. The model has no place for them: they are counted by category, and what has
//! one end only is told.

use super::event::{Event, raw_of};
use super::mapping::words;
use rustc_hash::{FxHashMap, FxHasher};
use std::fmt::Write as _;
use std::hash::{Hash, Hasher};

/// Categories that are told apart.
const KINDS: usize = 16;
/// Flows whose ends are looked for.
const IDS: usize = 1 << 19;

const BEGINS: u8 = 1;
const ENDS: u8 = 2;

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
    pub fn take(&mut self, event: &Event<'_>) {
        let which = match event.phase.unwrap_or_default().raw {
            b"s" => BEGINS,
            b"f" => ENDS,
            _ => 0,
        };
        self.add(event, event.key(), which);
    }

    /// A slice with `bind_id`.
    pub fn bound(&mut self, event: &Event<'_>) {
        let mut hasher = FxHasher::default();
        (event.category.raw, raw_of(&event.bound)).hash(&mut hasher);
        // What has both hands it on.
        let which = match (event.flow_in, event.flow_out) {
            (false, true) => BEGINS,
            (true, false) => ENDS,
            _ => 0,
        };
        self.add(event, hasher.finish(), which);
    }

    fn add(&mut self, event: &Event<'_>, id: u64, which: u8) {
        let category = event.category.raw;
        let known = self.kinds.iter().position(|kind| kind.category == category);
        let at = known.unwrap_or_else(|| {
            if self.kinds.len() < KINDS {
                self.kinds.push(Kind { category: category.to_vec(), ..Kind::default() });
            }
            self.kinds.len() - 1
        });
        let Some(kind) = self.kinds.get_mut(at) else { return };
        match which {
            BEGINS => kind.begins += 1,
            ENDS => kind.ends += 1,
            _ => kind.steps += 1,
        }
        if which == 0 {
            return;
        }
        if self.seen.len() < IDS || self.seen.contains_key(&id) {
            self.seen.entry(id).or_insert((at as u8, 0)).1 |= which;
        } else {
            kind.beyond = true;
        }
    }

    /// A line for each category.
    pub fn lines(&self) -> impl Iterator<Item = String> {
        self.kinds.iter().enumerate().map(|(at, kind)| {
            let alone = |which| self.seen.values().filter(|seen| **seen == (at as u8, which)).count();
            let name = if kind.category.is_empty() { "without a category".to_owned() } else { words(&kind.category) };
            let mut line = format!("flows {name}, not shown: {} begin, {} end", kind.begins, kind.ends);
            if kind.steps > 0 {
                let _ = write!(line, ", {} hand on", kind.steps);
            }
            if kind.beyond {
                line.push_str("; too many to be matched");
                return line;
            }
            for (which, what) in [(BEGINS, "begin and never end"), (ENDS, "end and never begin")] {
                let count = alone(which);
                if count > 0 {
                    let _ = write!(line, "; {count} {what}");
                }
            }
            line
        })
    }
}
