//! The exported names. Each has two entries with one body: the exported symbol, and an internal function that
//! `cuGetProcAddress` hands out, as the real driver's answers are not its exported symbols either.

mod device;
mod graphs;
mod memory;
mod modules;
mod proc_address;
mod streams;
mod transfers;

use crate::abi::Result32;
use crate::activity;
use crate::sync::{errno, set_errno};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// One exported function.
pub struct Entry {
    /// The name to ask `cuGetProcAddress` for.
    pub base: &'static str,
    /// The CUDA version that brought this form.
    pub since: c_int,
    /// Whether 0 means the thread's own stream.
    pub per_thread: bool,
    /// The exported symbol.
    pub symbol: &'static str,
    pub internal: *const c_void,
    pub exported: *const c_void,
    pub calls: &'static Calls,
}

// SAFETY: the pointers are functions' addresses.
unsafe impl Sync for Entry {}

/// How a call came in.
#[derive(Clone, Copy)]
pub enum Route {
    /// Through the exported symbol.
    Exported,
    /// Through an address of `cuGetProcAddress`.
    Internal,
}

const SHARDS: usize = 8;

#[repr(align(64))]
struct Shard([AtomicU64; 2]);

/// Calls of one function, by route: the truth that recordings are held against. And the id with which they are told.
pub struct Calls {
    symbol: &'static str,
    watched: AtomicU32,
    shards: [Shard; SHARDS],
}

impl Calls {
    /// None yet.
    pub const fn new(symbol: &'static str) -> Self {
        let shards = [const { Shard([AtomicU64::new(0), AtomicU64::new(0)]) }; SHARDS];
        Self { symbol, watched: AtomicU32::new(0), shards }
    }

    /// From now on calls are told with this id; 0: no longer.
    pub fn watch(&self, id: u32) {
        self.watched.store(id, Ordering::Relaxed);
    }

    #[inline]
    fn bump(&self, route: Route) {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        thread_local! { static OWN: std::cell::Cell<usize> = const { std::cell::Cell::new(usize::MAX) }; }
        let mut own = OWN.get();
        if own >= SHARDS {
            own = NEXT.fetch_add(1, Ordering::Relaxed) % SHARDS;
            OWN.set(own);
        }
        if let Some(count) = self.shards.get(own).and_then(|shard| shard.0.get(route as usize)) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn total(&self, route: usize) -> u64 {
        self.shards.iter().filter_map(|shard| shard.0.get(route)).map(|count| count.load(Ordering::Relaxed)).sum()
    }
}

static ERRNO_ON_CALL: AtomicI32 = AtomicI32::new(-1);

/// What every entry does round the body: count, tell, keep `errno` (or set what a test asked for), and turn the result.
#[inline(always)]
pub fn enter<P>(
    calls: &Calls,
    route: Route,
    params: impl FnOnce() -> P,
    body: impl FnOnce() -> Result<(), Result32>,
) -> Result32 {
    let kept = errno();
    calls.bump(route);
    let result = if activity::attached() {
        activity::call(calls.watched.load(Ordering::Relaxed), calls.symbol, &params(), body)
    } else {
        match body() {
            Ok(()) => 0,
            Err(error) => error,
        }
    };
    let wanted = ERRNO_ON_CALL.load(Ordering::Relaxed);
    set_errno(if wanted >= 0 { wanted } else { kept });
    result
}

/// Functions without a stream: `"base" since symbol(parameters) => body`.
macro_rules! plain {
    ($table:ident: $($base:literal $since:literal $symbol:ident($($arg:ident: $kind:ty),*) => $body:path;)*) => {
        $(
            #[unsafe(no_mangle)]
            #[allow(clippy::too_many_arguments)]
            pub unsafe extern "C" fn $symbol($($arg: $kind),*) -> $crate::abi::Result32 {
                #[allow(dead_code)]
                #[repr(C)]
                struct Params($($kind),*);
                // SAFETY: the caller keeps the contract of the driver's function.
                $crate::api::enter(&calls::$symbol, $crate::api::Route::Exported, || Params($($arg),*), || unsafe { $body($($arg),*) })
            }
        )*
        #[allow(non_upper_case_globals)]
        mod calls { $(pub static $symbol: $crate::api::Calls = $crate::api::Calls::new(stringify!($symbol));)* }
        mod internal {
            #[allow(unused_imports)]
            use super::*;
            $(
                #[allow(clippy::too_many_arguments)]
                pub unsafe extern "C" fn $symbol($($arg: $kind),*) -> $crate::abi::Result32 {
                    #[allow(dead_code)]
                    #[repr(C)]
                    struct Params($($kind),*);
                    // SAFETY: as for the exported symbol.
                    $crate::api::enter(&calls::$symbol, $crate::api::Route::Internal, || Params($($arg),*), || unsafe { $body($($arg),*) })
                }
            )*
        }
        pub static $table: &[$crate::api::Entry] = &[$($crate::api::Entry {
            base: $base,
            since: $since,
            per_thread: false,
            symbol: stringify!($symbol),
            internal: internal::$symbol as *const std::ffi::c_void,
            exported: $symbol as *const std::ffi::c_void,
            calls: &calls::$symbol,
        },)*];
    };
}

/// Functions that use a default stream: `"base" since symbol | since symbol_ptsz (parameters) => body`, where the body is
/// told which default stream is meant.
macro_rules! streamed {
    ($table:ident: $($base:literal $since:literal $symbol:ident | $since_own:literal $own:ident
        ($($arg:ident: $kind:ty),*) => $body:path;)*) => {
        $(
            #[unsafe(no_mangle)]
            #[allow(clippy::too_many_arguments)]
            pub unsafe extern "C" fn $symbol($($arg: $kind),*) -> $crate::abi::Result32 {
                #[allow(dead_code)]
                #[repr(C)]
                struct Params($($kind),*);
                let lane = $crate::stream::Lane::Legacy;
                // SAFETY: the caller keeps the contract of the driver's function.
                $crate::api::enter(&calls::$symbol, $crate::api::Route::Exported, || Params($($arg),*), || unsafe { $body(lane, $($arg),*) })
            }
            #[unsafe(no_mangle)]
            #[allow(clippy::too_many_arguments)]
            pub unsafe extern "C" fn $own($($arg: $kind),*) -> $crate::abi::Result32 {
                #[allow(dead_code)]
                #[repr(C)]
                struct Params($($kind),*);
                let lane = $crate::stream::Lane::PerThread;
                // SAFETY: the caller keeps the contract of the driver's function.
                $crate::api::enter(&calls::$own, $crate::api::Route::Exported, || Params($($arg),*), || unsafe { $body(lane, $($arg),*) })
            }
        )*
        #[allow(non_upper_case_globals)]
        mod calls { $(
            pub static $symbol: $crate::api::Calls = $crate::api::Calls::new(stringify!($symbol));
            pub static $own: $crate::api::Calls = $crate::api::Calls::new(stringify!($own));
        )* }
        mod internal {
            #[allow(unused_imports)]
            use super::*;
            $(
                #[allow(clippy::too_many_arguments)]
                pub unsafe extern "C" fn $symbol($($arg: $kind),*) -> $crate::abi::Result32 {
                    #[allow(dead_code)]
                    #[repr(C)]
                    struct Params($($kind),*);
                    let (lane, route) = ($crate::stream::Lane::Legacy, $crate::api::Route::Internal);
                    // SAFETY: as for the exported symbol.
                    $crate::api::enter(&calls::$symbol, route, || Params($($arg),*), || unsafe { $body(lane, $($arg),*) })
                }
                #[allow(clippy::too_many_arguments)]
                pub unsafe extern "C" fn $own($($arg: $kind),*) -> $crate::abi::Result32 {
                    #[allow(dead_code)]
                    #[repr(C)]
                    struct Params($($kind),*);
                    let (lane, route) = ($crate::stream::Lane::PerThread, $crate::api::Route::Internal);
                    // SAFETY: as for the exported symbol.
                    $crate::api::enter(&calls::$own, route, || Params($($arg),*), || unsafe { $body(lane, $($arg),*) })
                }
            )*
        }
        pub static $table: &[$crate::api::Entry] = &[$(
            $crate::api::Entry {
                base: $base,
                since: $since,
                per_thread: false,
                symbol: stringify!($symbol),
                internal: internal::$symbol as *const std::ffi::c_void,
                exported: $symbol as *const std::ffi::c_void,
                calls: &calls::$symbol,
            },
            $crate::api::Entry {
                base: $base,
                since: $since_own,
                per_thread: true,
                symbol: stringify!($own),
                internal: internal::$own as *const std::ffi::c_void,
                exported: $own as *const std::ffi::c_void,
                calls: &calls::$own,
            },
        )*];
    };
}

pub(crate) use {plain, streamed};

/// Every table.
pub fn tables() -> impl Iterator<Item = &'static Entry> {
    [
        device::TABLE,
        modules::TABLE,
        memory::TABLE,
        memory::streamed::TABLE,
        transfers::TABLE,
        streams::TABLE,
        streams::plain::TABLE,
        graphs::TABLE,
        graphs::streamed::TABLE,
        proc_address::TABLE,
    ]
    .into_iter()
    .flatten()
}

/// Calls of a symbol so far: through the export (0), through `cuGetProcAddress` (1), or both (2). -1 for an unknown one.
///
/// # Safety
/// `symbol` is null or a NUL-ended string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn umsim_calls(symbol: *const c_char, route: c_int) -> i64 {
    if symbol.is_null() {
        return -1;
    }
    // SAFETY: by the caller's contract.
    let Ok(symbol) = unsafe { CStr::from_ptr(symbol) }.to_str() else { return -1 };
    let Some(entry) = tables().find(|entry| entry.symbol == symbol) else { return -1 };
    let count = match route {
        0 => entry.calls.total(0),
        1 => entry.calls.total(1),
        _ => entry.calls.total(0) + entry.calls.total(1),
    };
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// From now on every driver call leaves this in `errno` (a negative number: leaves `errno` alone, as at the start).
#[unsafe(no_mangle)]
pub extern "C" fn umsim_set_errno_on_call(value: c_int) {
    ERRNO_ON_CALL.store(value, Ordering::Relaxed);
}
