//! Which correlation ids there is work for.

use rustc_hash::FxHashMap;

/// Ids of a page.
const PAGE: usize = 1 << 16;

/// A set of ids; runs of them cost a bit each.
#[derive(Debug, Default)]
pub struct Correlations {
    pages: FxHashMap<u16, Box<[u64; PAGE / 64]>>,
}

impl Correlations {
    /// Adds one; zero stands for none.
    pub fn add(&mut self, id: u32) {
        if id != 0
            && let Some(word) = self
                .pages
                .entry((id >> 16) as u16)
                .or_insert_with(|| Box::new([0; PAGE / 64]))
                .get_mut((id as usize & (PAGE - 1)) / 64)
        {
            *word |= 1 << (id & 63);
        }
    }

    /// Whether it is there.
    pub fn has(&self, id: u32) -> bool {
        let page = self.pages.get(&((id >> 16) as u16));
        let word = page.and_then(|page| page.get((id as usize & (PAGE - 1)) / 64));
        word.is_some_and(|word| word >> (id & 63) & 1 == 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_found_again() {
        let mut set = Correlations::default();
        let ids = [1, 63, 64, 65_535, 65_536, u32::MAX];
        ids.into_iter().for_each(|id| set.add(id));
        set.add(0);
        for id in ids {
            assert!(set.has(id) && !set.has(id ^ 2), "{id}");
        }
        assert!(!set.has(0));
    }
}
