//! Calls of CUDA functions as an input tells them.

use super::functions::Function;

/// A call.
#[derive(Clone, Copy, Debug, Default)]
pub struct Call {
    /// Which function.
    pub function: Function,
    /// Start, ns.
    pub start: u64,
    /// End, ns; `None`: unfinished.
    pub end: Option<u64>,
    /// What it returned, if the input says so.
    pub status: Option<u32>,
    /// Id of the work that it submitted, zero for none. Ids that no work has are left out.
    pub correlation: u32,
    /// Return address, zero if it is not known.
    pub site: u64,
    /// Arguments at bytes 32, 40 and 48 of the record, as the function's signature names them; `None` if the input has
    /// none.
    pub words: Option<[u64; 3]>,
    /// An argument at byte 28, of four bytes; of no meaning without the others.
    pub short: u32,
}

/// A function's name without what profilers add to it: `cuMemAlloc_v2_v3020` is `cuMemAlloc_v2`, `cudaFree_ptsz` is
/// `cudaFree`.
#[must_use]
pub fn api_name(name: &str) -> &str {
    let mut name = name;
    loop {
        let shorter = match name.rsplit_once("_v") {
            // Versions of the interface have four digits and more, those of functions one.
            Some((base, digits)) if digits.len() >= 4 && digits.bytes().all(|byte| byte.is_ascii_digit()) => base,
            _ => name.strip_suffix("_ptsz").or_else(|| name.strip_suffix("_ptds")).unwrap_or(name),
        };
        if shorter.len() == name.len() || shorter.is_empty() {
            return name;
        }
        name = shorter;
    }
}

#[cfg(test)]
mod tests {
    use super::api_name;

    #[test]
    fn versions_of_the_interface_are_left_out() {
        for (name, plain) in [
            ("cudaLaunchKernel_v7000", "cudaLaunchKernel"),
            ("cuMemAlloc_v2", "cuMemAlloc_v2"),
            ("cuMemAlloc_v2_v3020", "cuMemAlloc_v2"),
            ("cudaMemcpyAsync_ptsz_v7000", "cudaMemcpyAsync"),
            ("cudaFree_v3020_ptds", "cudaFree"),
            ("_v1234", "_v1234"),
            ("", ""),
            ("x_vabcd", "x_vabcd"),
        ] {
            assert_eq!(api_name(name), plain);
        }
    }
}
