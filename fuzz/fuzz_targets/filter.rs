//! Filters in their three spellings: what is read can be written in each of them and read again, and means the same.
#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};
use std::path::Path;
use umtui::filter::{Filter, Spelling};

fuzz_target!(|data: &[u8]| -> Corpus {
    let filter = match Filter::of_bytes("fuzz", None, data) {
        Ok(filter) => filter,
        Err(error) => {
            assert!(error.to_string().len() < 10_000);
            return Corpus::Keep;
        }
    };
    for (spelling, name) in [(Spelling::Xml, "a.xml"), (Spelling::Toml, "a.toml"), (Spelling::Expression, "a.expr")] {
        let text = filter.write(spelling);
        match Filter::of_bytes("again", Some(Path::new(name)), text.as_bytes()) {
            Ok(again) => assert_eq!(again.condition, filter.condition, "{text}"),
            // A spelling may take more room than another.
            Err(error) => assert!(text.len() > 60_000, "{error}: {text}"),
        }
    }
    Corpus::Keep
});
