//! Chrome's trace events.
#![no_main]

use libfuzzer_sys::fuzz_target;
use umtui::parse::sniff::Format;

fuzz_target!(|data: &[u8]| umtui_fuzz::imported(data, Format::Json));
