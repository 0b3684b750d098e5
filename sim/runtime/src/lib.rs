//! What the stand-ins for `libcudart.so.12`, `libcudart.so.13` and the static cudart have in common: the runtime API on top
//! of the driver API, which is reached as the real one reaches it: `dlopen`, one `dlsym`, and `cuGetProcAddress` for the rest.
//!
//! The functions exported here have one signature in both majors; those that differ are made by the libraries themselves from
//! what [`major`] offers. Each library carries its own copy of this crate, and so its own state.
#![allow(non_snake_case, reason = "exported names are the runtime's")]
#![allow(clippy::missing_safety_doc, reason = "the contracts are those of CUDA's documentation")]
#![allow(clippy::too_many_arguments, reason = "the signatures are CUDA's")]

/// Exported functions: `name(parameters) => body`, where the body is a `Result` whose error becomes the thread's last error.
macro_rules! exports {
    ($($name:ident($($arg:ident: $kind:ty),*) => $body:expr;)*) => {
        $(
            #[unsafe(no_mangle)]
            #[allow(unused_unsafe, reason = "some bodies need none")]
            pub unsafe extern "C" fn $name($($arg: $kind),*) -> $crate::abi::Error {
                // SAFETY: the caller keeps the contract of CUDA's function.
                $crate::state::run(|| unsafe { $body })
            }
        )*
    };
}

/// As `exports`, for functions that are exported once for each default stream: `name | own_name (parameters) lane => body`.
macro_rules! lanes {
    ($($name:ident | $own:ident($($arg:ident: $kind:ty),*) $lane:ident => $body:expr;)*) => {
        $(
            #[unsafe(no_mangle)]
            #[allow(unused_unsafe, reason = "some bodies need none")]
            pub unsafe extern "C" fn $name($($arg: $kind),*) -> $crate::abi::Error {
                let $lane = $crate::driver::Lane::Legacy;
                // SAFETY: the caller keeps the contract of CUDA's function.
                $crate::state::run(|| unsafe { $body })
            }
            #[unsafe(no_mangle)]
            #[allow(unused_unsafe, reason = "some bodies need none")]
            pub unsafe extern "C" fn $own($($arg: $kind),*) -> $crate::abi::Error {
                let $lane = $crate::driver::Lane::PerThread;
                // SAFETY: the caller keeps the contract of CUDA's function.
                $crate::state::run(|| unsafe { $body })
            }
        )*
    };
}

#[allow(missing_docs, reason = "C structures whose fields CUDA documents")]
pub mod abi;
mod copy;
mod device;
#[allow(missing_docs, reason = "entry points named after the functions that CUDA documents")]
pub mod driver;
mod errors;
mod event;
mod graph;
mod launch;
pub mod major;
mod memory;
mod register;
pub mod state;
mod stream;
