//! Functions as the program calls them, and what each calls in turn, over all threads and call sites.

use rustc_hash::FxHashMap;

use super::cells::Cells;
use super::identity::{Directory, What};
use super::stats::Sums;
use crate::trace::ApiId;

/// A function called by the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// The function.
    pub api: ApiId,
    /// Its calls by the program.
    pub sums: Sums,
    /// The functions that these calls called, the largest total first.
    pub nested: Vec<(ApiId, Sums)>,
}

/// Functions called by the program, the largest total first.
#[must_use]
pub fn functions(parts: [&Cells; 2], directory: &dyn Directory) -> Vec<Function> {
    // Two functions of one name and layer (of two majors of libcudart) are one here.
    let mut identities: FxHashMap<ApiId, u64> = FxHashMap::default();
    let mut identity = |api| *identities.entry(api).or_insert_with(|| directory.identity(What::Call(api)));
    let mut outermost: FxHashMap<u64, (ApiId, Sums)> = FxHashMap::default();
    let mut nested: FxHashMap<(u64, u64), (ApiId, Sums)> = FxHashMap::default();
    for cells in parts {
        for (_, cell) in cells.iter().filter(|(_, cell)| !cell.hidden) {
            let own = identity(cell.api);
            // Calls that are not counted only lead to others.
            let mut above = cell.parent.and_then(|parent| cells.get(parent));
            while let Some(hidden) = above.filter(|above| above.hidden) {
                above = hidden.parent.and_then(|parent| cells.get(parent));
            }
            let entry = match above {
                None => outermost.entry(own).or_insert((cell.api, Sums::default())),
                Some(parent) if !parent.inner => {
                    nested.entry((identity(parent.api), own)).or_insert((cell.api, Sums::default()))
                }
                Some(_) => continue,
            };
            entry.1.add(&cell.stats.sums);
        }
    }
    let order = |(api, sums): &(ApiId, Sums)| (std::cmp::Reverse(sums.total_ns), std::cmp::Reverse(sums.count), *api);
    let mut below: FxHashMap<u64, Vec<(ApiId, Sums)>> = FxHashMap::default();
    for ((parent, _), entry) in nested {
        below.entry(parent).or_default().push(entry);
    }
    let mut list: Vec<Function> = outermost
        .into_iter()
        .map(|(own, (api, sums))| {
            let mut nested = below.remove(&own).unwrap_or_default();
            nested.sort_by_key(order);
            Function { api, sums, nested }
        })
        .collect();
    list.sort_by_key(|function| order(&(function.api, function.sums)));
    list
}
