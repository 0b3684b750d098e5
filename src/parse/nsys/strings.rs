//! `StringIds`, packed: a few hundred thousand names in one piece of memory.

use super::database::{Database, Extent};
use super::rows::StringId;
use rustc_hash::FxHashMap;

/// Bytes of names that are kept.
const KEPT: usize = 256 << 20;
/// Bytes that a name takes besides.
const EACH: usize = 32;

/// Names by id.
#[derive(Debug, Default)]
pub struct Strings {
    text: String,
    places: FxHashMap<i64, (u32, u32)>,
    left_out: u64,
}

impl Strings {
    /// Those of a database, and how far they could be read.
    pub fn read(database: &Database) -> (Self, Extent) {
        let mut all = Self::default();
        let extent = database.each::<StringId>(|row| {
            if let (Some(id), Some(value)) = (row.id, row.value) {
                all.add(id, &value);
            }
            true
        });
        (all, extent)
    }

    fn add(&mut self, id: i64, value: &str) {
        let taken = self.text.len() + EACH * self.places.len() + value.len();
        match (u32::try_from(self.text.len()), u32::try_from(value.len())) {
            (Ok(start), Ok(length)) if taken <= KEPT => {
                self.text.push_str(value);
                self.places.insert(id, (start, length));
            }
            _ => self.left_out += 1,
        }
    }

    /// A name; `None` if it is not there.
    #[must_use]
    pub fn get(&self, id: Option<i64>) -> Option<&str> {
        let &(start, length) = self.places.get(&id?)?;
        self.text.get(start as usize..(start as usize).checked_add(length as usize)?)
    }

    /// Names that there was no room for.
    #[must_use]
    pub const fn left_out(&self) -> u64 {
        self.left_out
    }
}
