//! The distinct names of a trace, and which of them a pattern finds.
//!
//! A name is matched once, however many rows it has. All names lie packed one after the other, so that a pass over a
//! hundred thousand of them reads some megabytes in order. Passes are taken in slices; a pattern that narrows one
//! which is known looks only at what that one found.

use std::sync::Arc;
use std::time::Instant;

use rustc_hash::FxHashMap;

use super::pattern::{Pattern, pack};

/// Names matched before the clock is looked at.
const SLICE: usize = 128;
/// Letters of a name that are matched.
const LETTERS_MAX: usize = 1024;
/// Patterns whose finds are kept.
const KEPT: usize = 24;

/// A name; the same for the same text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name(u32);

/// Names, each once.
#[derive(Debug, Default)]
pub struct Names {
    ids: FxHashMap<Arc<str>, Name>,
    texts: Vec<Arc<str>>,
    packed: Vec<u8>,
    /// Where each ends, and which letters it has.
    ends: Vec<(usize, u64)>,
    finds: Vec<(String, Pattern, Finds)>,
}

/// Which names a pattern finds, as far as they have been looked at.
#[derive(Clone, Debug, Default)]
pub struct Finds {
    /// Names that have been looked at.
    seen: usize,
    /// One bit for each of them.
    bits: Vec<u64>,
    count: usize,
}

impl Finds {
    /// Whether this name is found.
    #[must_use]
    pub fn has(&self, Name(name): Name) -> bool {
        self.bits.get(name as usize / 64).is_some_and(|bits| bits >> (name % 64) & 1 != 0)
    }

    /// How many are.
    #[must_use]
    pub const fn count(&self) -> usize {
        self.count
    }

    fn set(&mut self, name: usize) {
        if let Some(bits) = self.bits.get_mut(name / 64) {
            *bits |= 1 << (name % 64);
            self.count += 1;
        }
    }
}

impl Names {
    /// A name, new or known.
    pub fn add(&mut self, text: &str) -> Name {
        if let Some(&name) = self.ids.get(text) {
            return name;
        }
        let name = Name(u32::try_from(self.texts.len()).unwrap_or(u32::MAX));
        let shared: Arc<str> = Arc::from(text);
        let matched = text.char_indices().nth(LETTERS_MAX).and_then(|(at, _)| text.get(..at)).unwrap_or(text);
        let mask = pack(matched, &mut self.packed);
        self.ends.push((self.packed.len(), mask));
        self.texts.push(shared.clone());
        self.ids.insert(shared, name);
        name
    }

    /// Its text.
    #[must_use]
    pub fn text(&self, Name(name): Name) -> &str {
        self.texts.get(name as usize).map_or("", |text| text)
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.texts.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// What is found of a text that was looked for, as far as it is known.
    #[must_use]
    pub fn finds(&self, text: &str) -> Option<&Finds> {
        self.finds.iter().find(|(known, ..)| known == text).map(|(.., finds)| finds)
    }

    /// Looks at names until `until`; true when all have been looked at.
    pub fn look_for(&mut self, text: &str, pattern: &Pattern, until: Instant) -> bool {
        let known = self.finds.iter().position(|(known, ..)| known == text);
        let (key, pattern, mut finds) = match known {
            // What was asked for last goes last.
            Some(at) => self.finds.remove(at),
            None => (text.to_owned(), pattern.clone(), Finds::default()),
        };
        let complete = self.advance(&pattern, &mut finds, self.wider(&pattern), until);
        if self.finds.len() >= KEPT {
            self.finds.remove(0);
        }
        self.finds.push((key, pattern, finds));
        complete
    }

    /// The fewest finds among which those of the pattern must be, of which all names have been looked at.
    fn wider(&self, pattern: &Pattern) -> Option<&Finds> {
        let all = self.finds.iter().filter(|(_, wider, finds)| finds.seen == self.len() && pattern.narrows(wider));
        all.min_by_key(|(.., finds)| finds.count).map(|(.., finds)| finds)
    }

    fn advance(&self, pattern: &Pattern, finds: &mut Finds, wider: Option<&Finds>, until: Instant) -> bool {
        finds.bits.resize(self.len().div_ceil(64), 0);
        while finds.seen < self.len() {
            let end = (finds.seen + SLICE).min(self.len());
            for name in finds.seen..end {
                let worth = wider.is_none_or(|wider| wider.has(Name(name as u32)));
                if worth && self.is_found(pattern, name) {
                    finds.set(name);
                }
            }
            finds.seen = end;
            if finds.seen < self.len() && Instant::now() >= until {
                return false;
            }
        }
        true
    }

    fn is_found(&self, pattern: &Pattern, name: usize) -> bool {
        let begin = name.checked_sub(1).and_then(|before| self.ends.get(before)).map_or(0, |end| end.0);
        let Some(&(end, mask)) = self.ends.get(name) else { return false };
        let packed = self.packed.get(begin..end).unwrap_or(&[]);
        pattern.finds_packed(packed, mask, self.texts.get(name).map_or("", |text| text))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(60)
    }

    fn found(names: &mut Names, text: &str) -> Vec<String> {
        let pattern = Pattern::new(text).unwrap();
        assert!(names.look_for(text, &pattern, soon()));
        let finds = names.finds(text).unwrap();
        let all = (0..names.len() as u32).map(Name).filter(|&name| finds.has(name));
        let found: Vec<String> = all.map(|name| names.text(name).to_owned()).collect();
        assert_eq!(found.len(), finds.count());
        found
    }

    #[test]
    fn names_are_kept_once_and_late_ones_are_looked_at_too() {
        let mut names = Names::default();
        let malloc = names.add("cudaMalloc");
        names.add("cudaFree");
        assert_eq!((names.add("cudaMalloc"), names.len()), (malloc, 2));
        assert_eq!(found(&mut names, "malloc"), ["cudaMalloc"]);
        names.add("cudaMallocManaged");
        assert_eq!(found(&mut names, "malloc"), ["cudaMalloc", "cudaMallocManaged"]);
        assert_eq!(found(&mut names, "mallocm"), ["cudaMallocManaged"]);
    }

    #[test]
    fn a_pass_is_taken_in_slices() {
        let mut names = Names::default();
        for number in 0..1_000 {
            names.add(&format!("kernel {number}"));
        }
        let pattern = Pattern::new("99").unwrap();
        let (mut passes, past) = (1, Instant::now());
        while !names.look_for("99", &pattern, past) {
            passes += 1;
        }
        assert_eq!((passes, names.finds("99").unwrap().count()), (8, 19));
    }

    /// A key over a hundred thousand long names costs a few scans for a plain text, both measured here and now.
    #[test]
    fn a_pass_costs_a_few_plain_scans() {
        let mut names = Names::default();
        let word = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >";
        let list: Vec<String> = (0..20_000).map(|number| format!("{number} {word} {word} {number}")).collect();
        list.iter().for_each(|name| {
            names.add(name);
        });
        let (mut ratio, mut found) = (f64::MAX, 0);
        for round in 0..5 {
            // Another text each time: what was found is remembered.
            let text = format!("zq{round}functorx");
            let pattern = Pattern::new(&text).unwrap();
            let begun = Instant::now();
            assert!(names.look_for(&text, &pattern, soon()));
            let own = begun.elapsed();
            let begun = Instant::now();
            found += list.iter().filter(|name| name.contains(&text)).count();
            ratio = ratio.min(own.as_secs_f64() / begun.elapsed().as_secs_f64());
        }
        assert_eq!(found, 0);
        // Without optimisation the automaton is slow and the standard library is not.
        let most = if cfg!(debug_assertions) { 400.0 } else { 8.0 };
        assert!(ratio < most, "{ratio:.1} times a plain scan");
    }

    proptest! {
        #[test]
        fn narrowing_changes_nothing(
            all in prop::collection::vec("[abAB_]{1,10}", 1..40),
            typed in "[abB ]{1,6}",
        ) {
            let mut names = Names::default();
            all.iter().for_each(|name| { names.add(name); });
            for end in 1..=typed.len() {
                let text = &typed[..end];
                let Some(pattern) = Pattern::new(text) else { continue };
                let found = found(&mut names, text);
                let mut twin: Vec<&String> = all.iter().filter(|name| pattern.finds(name)).collect();
                twin.sort();
                twin.dedup();
                let mut found: Vec<&String> = found.iter().collect();
                found.sort();
                prop_assert_eq!(found, twin);
            }
        }
    }
}
