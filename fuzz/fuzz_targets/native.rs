//! umtui's own files, up to the report.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| umtui_fuzz::reported(data));
