//! Interned names.

use super::ids::NameId;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Every name of a trace, once, as it was recorded (escaping for the terminal happens where rows are made).
#[derive(Debug)]
pub struct Names {
    list: Vec<Arc<str>>,
    ids: FxHashMap<Arc<str>, NameId>,
}

impl Default for Names {
    fn default() -> Self {
        let empty: Arc<str> = Arc::from("");
        Self { list: vec![empty.clone()], ids: std::iter::once((empty, NameId::NONE)).collect() }
    }
}

impl Names {
    /// The id of `name`, new or known. After four billion names all further ones are [`NameId::NONE`].
    pub fn intern(&mut self, name: &str) -> NameId {
        if let Some(&id) = self.ids.get(name) {
            return id;
        }
        let Ok(number) = u32::try_from(self.list.len()) else { return NameId::NONE };
        let shared: Arc<str> = Arc::from(name);
        self.list.push(shared.clone());
        self.ids.insert(shared, NameId(number));
        NameId(number)
    }

    /// The name behind `id`; empty for an id that was never given.
    #[must_use]
    pub fn get(&self, id: NameId) -> &str {
        self.list.get(id.index()).map_or("", |name| name)
    }

    /// The id of `name` if it is known.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<NameId> {
        self.ids.get(name).copied()
    }

    /// Names so far, the empty one included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Never: the empty name is always there.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_one_id() {
        let mut names = Names::default();
        assert_eq!(names.intern(""), NameId::NONE);
        let a = names.intern("cudaFree");
        assert_eq!(names.intern("cudaFree"), a);
        assert_ne!(names.intern("cudaMalloc"), a);
        assert_eq!(names.get(a), "cudaFree");
        assert_eq!(names.get(NameId(77)), "");
    }
}
