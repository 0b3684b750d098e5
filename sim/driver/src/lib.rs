//! A stand-in for `libcuda.so.1`: the driver API's shapes and behaviour, with threads for streams and host memory for
//! devices. What it imitates and what it does not is written in `sim/README.md`.
#![allow(non_snake_case, reason = "exported names are the driver's")]

mod abi;
mod activity;
mod api;
mod attributes;
mod capture;
mod config;
mod context;
mod copy;
mod counters;
mod errors;
mod event;
mod fault;
mod fork;
mod graph;
mod heap;
mod inject;
mod ipc;
mod kernel;
mod launch;
mod managed;
mod mangle;
mod memory;
mod module;
mod node;
mod ops;
mod pool;
mod ranges;
mod residency;
mod slots;
mod stream;
mod sync;
mod told;
mod unified;
mod vmm;
