//! A stand-in for nvcc's static cudart: the exports of CUDA 13 in an archive, which reaches the driver by the loader alone.
#![allow(non_snake_case, reason = "exported names are the runtime's")]
#![allow(clippy::missing_safety_doc, reason = "the contracts are those of CUDA's documentation")]
#![allow(clippy::too_many_arguments, reason = "the signatures are CUDA's")]

include!("../../runtime/src/exports13.rs");
