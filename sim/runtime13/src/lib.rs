//! A stand-in for `libcudart.so.13`: what `umsim-runtime` exports, and the functions that only CUDA 13 has in this form.
#![allow(non_snake_case, reason = "exported names are the runtime's")]
#![allow(clippy::missing_safety_doc, reason = "the contracts are those of CUDA's documentation")]
#![allow(clippy::too_many_arguments, reason = "the signatures are CUDA's")]

include!("../../runtime/src/exports13.rs");
