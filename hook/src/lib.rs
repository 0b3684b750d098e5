//! The preload library: records every CUDA call of the program it is loaded into.
//!
//! It is a guest in other people's programs. It never panics, blocks, allocates on the recording path, writes
//! to the terminal, or changes a result, errno or an out-parameter; when anything of its own fails it stops
//! recording, counts what is lost, and the program runs on. Nothing is created before the first CUDA call.
//!
//! The way of a call: an exported name or a swapped function pointer leads to a stub, the stub to the
//! trampoline (`arch`), which takes the time, calls the real function and takes the time again;
//! `record` then writes one record into the thread's chunk. Everything that happens once (finding the real
//! function, creating the file, mapping a chunk, describing a function or module) is off that path, behind
//! `enter`.

//!
//! Small variables that a child of fork writes as it begins lie together (section `.data.small`): among the tables each
//! would cost it a page.

#![cfg_attr(panic = "abort", no_std)]
#![cfg(target_os = "linux")]

#[cfg(not(panic = "abort"))]
extern crate core;

mod append;
mod arch;
mod arguments;
mod capture;
mod chunks;
mod clock;
mod config;
mod copier;
mod cupti;
mod definitions;
mod desks;
mod devices;
mod elf;
mod ending;
mod enter;
mod evidence;
mod exports;
mod file;
mod follow;
mod interpose;
mod itself;
mod kept;
mod kernels;
mod left_out;
mod link_map;
mod loader;
mod lock;
mod measure;
mod memory;
mod modules;
mod nvtx;
mod objects;
mod procaddress;
mod process;
mod rank;
mod record;
mod sites;
mod slots;
mod space;
mod spawn;
mod symbols;
mod sys;
mod text;
mod thread;
mod written;

#[cfg(panic = "abort")]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    // Not reachable: nothing here panics. Ending the program would harm it more than a thread that waits.
    loop {
        sys::pause();
    }
}
