//! Strings that records refer to before their definitions have been read.

use crate::trace::ids::{NameId, ProcessId};
use rustc_hash::FxHashMap;

/// A string of a file: its name, or a place where it will stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TextId(pub u32);

impl TextId {
    /// Whether it has no name yet; `name` is what it stands for now.
    #[must_use]
    pub const fn is_late(self, name: NameId) -> bool {
        self.0 & LATE != 0 && name.0 == NameId::NONE.0
    }
}

/// Tells places from names.
const LATE: u32 = 1 << 31;

/// The strings that were not known when they were needed.
#[derive(Debug, Default)]
pub struct Texts {
    late: Vec<NameId>,
    ids: FxHashMap<(ProcessId, u32), u32>,
}

impl Texts {
    /// String `string` of a file.
    pub fn of(&mut self, process: ProcessId, string: u32, known: Option<NameId>) -> TextId {
        match known {
            Some(name) if name.0 < LATE => return TextId(name.0),
            None if string == 0 => return TextId(0),
            _ => {}
        }
        let late = &mut self.late;
        let index = *self.ids.entry((process, string)).or_insert_with(|| {
            late.push(known.unwrap_or_default());
            (late.len() - 1) as u32
        });
        TextId(LATE | (index & !LATE))
    }

    /// It has been defined.
    pub fn define(&mut self, process: ProcessId, string: u32, name: NameId) {
        if !self.ids.is_empty()
            && let Some(&index) = self.ids.get(&(process, string))
            && let Some(place) = self.late.get_mut(index as usize)
        {
            *place = name;
        }
    }

    /// Its name.
    #[must_use]
    pub fn get(&self, text: TextId) -> NameId {
        if text.0 & LATE == 0 {
            return NameId(text.0);
        }
        self.late.get((text.0 & !LATE) as usize).copied().unwrap_or_default()
    }
}
