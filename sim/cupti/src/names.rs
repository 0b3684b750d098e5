//! Callback ids and their names. Those of the driver's functions that are known are CUPTI's; the others have free numbers.

use crate::driver;
use std::ffi::{CStr, CString};
use std::sync::OnceLock;

/// The domain of driver calls.
pub const DRIVER: u32 = 1;
/// The domain of runtime calls: they have names here, but are never called back.
pub const RUNTIME: u32 = 2;
/// The domain of contexts.
pub const RESOURCE: u32 = 3;
/// One past the last domain.
pub const DOMAINS: u32 = 8;

const KNOWN: &[(&str, u32)] = &[
    ("cuMemAlloc_v2", 243),
    ("cuMemFree_v2", 245),
    ("cuLaunchKernel", 307),
    ("cuMemAllocManaged", 371),
    ("cuMemHostRegister_v2", 379),
    ("cuLaunchKernel_ptsz", 442),
    ("cuMemAdvise", 457),
    ("cuMemPrefetchAsync", 467),
    ("cuMemPrefetchAsync_ptsz", 468),
    ("cuMemAddressReserve", 547),
    ("cuMemAddressFree", 548),
    ("cuMemCreate", 549),
    ("cuMemRelease", 550),
    ("cuMemMap", 551),
    ("cuMemUnmap", 552),
    ("cuMemSetAccess", 553),
    ("cuMemAllocAsync", 598),
    ("cuMemAllocAsync_ptsz", 599),
    ("cuMemFreeAsync", 600),
    ("cuMemFreeAsync_ptsz", 601),
    ("cuLaunchKernelEx", 652),
    ("cuLaunchKernelEx_ptsz", 653),
    ("cuMemAdvise_v2", 715),
    ("cuMemPrefetchAsync_v2", 716),
    ("cuMemPrefetchAsync_v2_ptsz", 717),
    ("cuMemPrefetchBatchAsync", 784),
    ("cuMemPrefetchBatchAsync_ptsz", 785),
    ("cuMemDiscardBatchAsync", 789),
    ("cuMemDiscardBatchAsync_ptsz", 790),
    ("cuMemDiscardAndPrefetchBatchAsync", 791),
    ("cuMemDiscardAndPrefetchBatchAsync_ptsz", 792),
];

const RUNTIME_NAMES: &[(u32, &CStr)] = &[
    (20, c"cudaMalloc_v3020"),
    (22, c"cudaFree_v3020"),
    (31, c"cudaMemcpy_v3020"),
    (41, c"cudaMemcpyAsync_v3020"),
    (131, c"cudaStreamSynchronize_v3020"),
    (165, c"cudaDeviceSynchronize_v3020"),
    (206, c"cudaMallocManaged_v6000"),
    (211, c"cudaLaunchKernel_v7000"),
];

/// A driver call.
pub struct Name {
    /// Place in the driver's list.
    pub index: usize,
    pub name: CString,
}

/// Names by id.
struct Table(Vec<Option<Name>>);

/// Gives each symbol its number.
fn number(symbols: &[String]) -> Vec<u32> {
    let known = |symbol: &str| KNOWN.iter().find(|row| row.0 == symbol).map(|row| row.1);
    let mut free = (1..).filter(|id| KNOWN.iter().all(|row| row.1 != *id));
    symbols.iter().map(|symbol| known(symbol).or_else(|| free.next()).unwrap_or(0)).collect()
}

fn table() -> Option<&'static Table> {
    static TABLE: OnceLock<Table> = OnceLock::new();
    if let Some(table) = TABLE.get() {
        return Some(table);
    }
    let driver = driver::attach()?;
    Some(TABLE.get_or_init(|| {
        let symbols: Vec<String> = (0..)
            .map_while(|index| {
                let mut length = 0;
                // SAFETY: a valid out-pointer; the answer is null or a string of that length.
                unsafe {
                    let symbol = (driver.symbol)(index, &raw mut length).cast::<u8>();
                    (!symbol.is_null()).then(|| std::slice::from_raw_parts(symbol, length))
                }
            })
            .map(|symbol| String::from_utf8_lossy(symbol).into_owned())
            .collect();
        let ids = number(&symbols);
        let mut names: Vec<Option<Name>> = Vec::new();
        names.resize_with(ids.iter().max().map_or(0, |id| *id as usize + 1), || None);
        for (index, (id, symbol)) in ids.into_iter().zip(symbols).enumerate() {
            if let (Some(slot), Ok(name)) = (names.get_mut(id as usize), CString::new(symbol)) {
                *slot = Some(Name { index, name });
            }
        }
        Table(names)
    }))
}

/// The driver call of an id.
pub fn driver_call(id: u32) -> Option<&'static Name> {
    table()?.0.get(id as usize)?.as_ref()
}

/// Every driver call, with its id.
pub fn driver_calls() -> impl Iterator<Item = (u32, &'static Name)> {
    let names = table().map_or(&[][..], |table| &table.0);
    names.iter().enumerate().filter_map(|(id, name)| Some((id as u32, name.as_ref()?)))
}

/// The name of an id.
pub fn name(domain: u32, id: u32) -> Option<&'static CStr> {
    match domain {
        DRIVER => driver_call(id).map(|call| call.name.as_c_str()),
        RUNTIME => RUNTIME_NAMES.iter().find(|row| row.0 == id).map(|row| row.1),
        RESOURCE => [c"", c"CONTEXT_CREATED", c"CONTEXT_DESTROY_STARTING"].get(id as usize).copied(),
        _ => None,
    }
    .filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_numbers_stay_and_others_are_free_ones() {
        let symbols: Vec<String> = (0..500).map(|n| format!("cuThing{n}")).collect();
        let mut all = symbols.clone();
        all.extend(KNOWN.iter().map(|row| row.0.to_owned()));
        let ids = number(&all);
        let distinct: std::collections::BTreeSet<_> = ids.iter().copied().collect();
        assert_eq!(distinct.len(), ids.len());
        assert!(!distinct.contains(&0));
        assert_eq!(ids[500..], KNOWN.iter().map(|row| row.1).collect::<Vec<_>>());
    }
}
