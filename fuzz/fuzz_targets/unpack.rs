//! gzip and Zstandard, and whatever is in it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use umtui::parse::sniff::{Format, sniff};

fuzz_target!(|data: &[u8]| {
    if let Ok(format @ (Format::Gzip | Format::Zstd)) = sniff(&data.to_vec(), "fuzz") {
        umtui_fuzz::imported(data, format);
    }
});
