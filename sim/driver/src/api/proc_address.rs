//! `cuGetProcAddress`: a base name, a CUDA version and flags choose one of the forms.

use crate::abi::{Result32, code, put};
use crate::attributes::VERSION;
use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_int, c_ulonglong, c_void};
use std::sync::OnceLock;

const PER_THREAD: c_ulonglong = 2;
const FLAGS: c_ulonglong = 3;

/// `CUdriverProcAddressQueryResult`.
const FOUND: c_int = 0;
const NOT_FOUND: c_int = 1;
const TOO_OLD: c_int = 2;

type Index = BTreeMap<&'static str, Vec<&'static super::Entry>>;

fn index() -> &'static Index {
    static INDEX: OnceLock<Index> = OnceLock::new();
    INDEX.get_or_init(|| {
        let mut index = Index::new();
        for entry in super::tables() {
            index.entry(entry.base).or_default().push(entry);
            // Instantiation with flags is found under its own name too.
            if entry.symbol == "cuGraphInstantiateWithFlags" {
                index.entry(entry.symbol).or_default().push(entry);
            }
        }
        index
    })
}

/// The address for a name, or why there is none. With a per-thread default stream the thread's forms come first; a function
/// that has none answers with its only form.
fn choose(name: &str, version: c_int, flags: c_ulonglong) -> Result<*const c_void, c_int> {
    let forms = index().get(name).ok_or(NOT_FOUND)?;
    let newest = |own: bool| {
        forms.iter().filter(|entry| entry.per_thread == own && entry.since <= version).max_by_key(|entry| entry.since)
    };
    let entry = if flags & PER_THREAD != 0 { newest(true).or_else(|| newest(false)) } else { newest(false) };
    let entry = entry.ok_or(TOO_OLD)?;
    // A few answers are the exported symbols, as a program cannot rely on either.
    Ok(if entry.base.starts_with("cuDeviceGet") { entry.exported } else { entry.internal })
}

/// # Safety
/// `name` is null or a NUL-ended string, the others null or valid.
unsafe fn answer(
    name: *const c_char,
    out: *mut *const c_void,
    version: c_int,
    flags: c_ulonglong,
    status: *mut c_int,
) -> Result<c_int, Result32> {
    if name.is_null() || out.is_null() || version > VERSION || flags & !FLAGS != 0 || flags == FLAGS {
        return Err(code::INVALID_VALUE);
    }
    // SAFETY: by the caller's contract.
    let name = unsafe { CStr::from_ptr(name) }.to_str().unwrap_or("");
    let (address, outcome) = match choose(name, version, flags) {
        Ok(address) => (address, FOUND),
        Err(outcome) => (std::ptr::null(), outcome),
    };
    // SAFETY: by the caller's contract.
    unsafe {
        put(out, address);
        put(status, outcome);
    }
    Ok(outcome)
}

/// `cuGetProcAddress` of CUDA 11.3: a name that is not there is an error.
unsafe fn first(
    name: *const c_char,
    out: *mut *const c_void,
    version: c_int,
    flags: c_ulonglong,
) -> Result<(), Result32> {
    // SAFETY: passed through.
    match unsafe { answer(name, out, version, flags, std::ptr::null_mut()) }? {
        FOUND => Ok(()),
        _ => Err(code::NOT_FOUND),
    }
}

/// `cuGetProcAddress_v2`: a name that is not there is an error only where nobody asks for the status.
unsafe fn second(
    name: *const c_char,
    out: *mut *const c_void,
    version: c_int,
    flags: c_ulonglong,
    status: *mut c_int,
) -> Result<(), Result32> {
    // SAFETY: passed through.
    match unsafe { answer(name, out, version, flags, status) }? {
        FOUND => Ok(()),
        _ if !status.is_null() => Ok(()),
        _ => Err(code::NOT_FOUND),
    }
}

super::plain! { TABLE:
    "cuGetProcAddress" 11030 cuGetProcAddress(name: *const c_char, out: *mut *const c_void, version: c_int,
        flags: c_ulonglong) => first;
    "cuGetProcAddress" 12000 cuGetProcAddress_v2(name: *const c_char, out: *mut *const c_void, version: c_int,
        flags: c_ulonglong, status: *mut c_int) => second;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn symbol(name: &str, version: c_int, flags: c_ulonglong) -> Result<&'static str, c_int> {
        let address = choose(name, version, flags)?;
        let found = super::super::tables().find(|e| e.internal == address || e.exported == address);
        Ok(found.map_or("?", |e| e.symbol))
    }

    #[test]
    fn version_and_flags_choose_the_form() {
        assert_eq!(symbol("cuMemAlloc", 3020, 0), Ok("cuMemAlloc_v2"));
        assert_eq!(symbol("cuMemAlloc", 2000, 0), Err(TOO_OLD));
        assert_eq!(symbol("cuNothing", 13000, 0), Err(NOT_FOUND));
        assert_eq!(symbol("cuMemAlloc_v2", 13000, 0), Err(NOT_FOUND));
        assert_eq!(symbol("cuMemPrefetchAsync", 8000, 0), Ok("cuMemPrefetchAsync"));
        assert_eq!(symbol("cuMemPrefetchAsync", 12020, 2), Ok("cuMemPrefetchAsync_v2_ptsz"));
        assert_eq!(symbol("cuMemcpyHtoD", 13000, 2), Ok("cuMemcpyHtoD_v2_ptds"));
        assert_eq!(symbol("cuMemcpyHtoD", 13000, 1), Ok("cuMemcpyHtoD_v2"));
        assert_eq!(symbol("cuMemcpyHtoD", 4000, 2), Ok("cuMemcpyHtoD_v2"));
        assert_eq!(symbol("cuMemAlloc", 13000, 2), Ok("cuMemAlloc_v2"));
        assert_eq!(symbol("cuGetProcAddress", 11030, 0), Ok("cuGetProcAddress"));
        assert_eq!(symbol("cuGetProcAddress", 12000, 0), Ok("cuGetProcAddress_v2"));
        assert_eq!(symbol("cuDeviceGet", 12000, 0), Ok("cuDeviceGet"));
    }

    #[test]
    fn what_is_handed_out_is_not_what_is_exported() {
        let differing = super::super::tables().filter(|e| e.internal != e.exported).count();
        assert_eq!(differing, super::super::tables().count());
    }
}
