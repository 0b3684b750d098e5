//! `trace.log`, the text form: one event a line, as `umtui export --format text` writes it.
//!
//! ```text
//! # umtui trace 1
//! # start 77000000287
//! # process 4121 pid=4121 parent=4100 ... program="/opt/train" ...
//! # api cudaFree runtime "cudaFree" (ptr:ptr@32)
//! # thread 4121/4125 lost=0 "main"
//! 12.345678901 4121/4125 main cudaFree(ptr=0x7f0000000000) = 0 <1234> d0 @ 0x7f12 libfoo.so+0x12
//! 12.345680000 4121/4125 main cudaDeviceSynchronize(0x1 0x2 0x3) = ? <unfinished> d0 @ 0x7f14 libfoo.so+0x14
//! 12.345690000 gpu 4121 kernel <2048> name="_Z5scalePfm" id=17 context=1 stream=7 grid_x=128 grid_y=1 grid_z=1
//! 12.345700000 range 4121/4125 push <9000> name="step 4" level=1
//! ```
//!
//! A call that submitted work says so before its site: `=> 17/0x0 (0x7f00)`, correlation id, graph node, pointers.
//! Times are seconds since `start`, durations nanoseconds. Other lines that begin with `#` are comments. A line that
//! cannot be understood is counted and named by its number; so is one with a wrong escape, which is read as it stands. The text is read into native files in memory, so that
//! there is one reader for both.

mod activity;
mod import;
mod line;

pub use import::{BadLine, Import, import};
