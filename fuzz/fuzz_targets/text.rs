//! The text form, up to the report.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let first = umtui::parse::sniff::TEXT_MARK.as_bytes();
    umtui_fuzz::reported(&[first, b"\n", data.strip_prefix(first).unwrap_or(data)].concat());
});
