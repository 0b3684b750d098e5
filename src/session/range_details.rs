//! More about one range or mark: what its record holds beside the columns.

use super::gpu_events::Context;
use super::safe::safe;
use crate::parse::json::{Flaws, Scanner, Value};
use crate::trace::range_record::RangeRecord;
use crate::trace::{Sampled, TrackId};

/// Longest text that a row shows of what was said, characters.
const SHOWN: usize = 400;
/// Things said that are told apart.
const FIELDS: usize = 64;

impl Context<'_, '_> {
    fn range_record(&self, id: TrackId, row: usize) -> Option<RangeRecord> {
        let range = self.trace.ranges.of(id).get(row)?;
        RangeRecord::read(self.trace, id, range, |file| self.files.get(file)?.as_deref())
    }

    /// What a range was called with, or a counter's value, in one line.
    pub(super) fn range_arguments(&self, id: TrackId, row: usize) -> String {
        let Some(record) = self.range_record(id, row) else { return String::new() };
        if let Some(value) = record.sampled() {
            return format!("value={value}");
        }
        let said = record.said(self.trace).chars().take(SHOWN).collect::<String>();
        safe(&said).into_owned()
    }

    /// More about a range or a mark.
    pub(super) fn range_details(&self, id: TrackId, row: usize) -> Vec<(String, String)> {
        let mut fields = Vec::new();
        let Some(record) = self.range_record(id, row) else { return fields };
        let mut field = |name: &str, value: &str| fields.push((safe(name).into_owned(), safe(value).into_owned()));
        if let Some(value) = record.sampled() {
            let range = self.trace.ranges.of(id).get(row);
            let name = range.map_or("", |range| self.trace.names.get(self.trace.activities.name(range.name)));
            let (counter, series) = record.names(name);
            field("counter", counter);
            series.into_iter().for_each(|series| field("series", series));
            field("value", &value.to_string());
            return fields;
        }
        if record.category() != 0 {
            field("category", &record.category().to_string());
        }
        if let Some((kind, bits)) = record.payload() {
            field("payload", &payload(kind, bits));
        }
        let said = record.said(self.trace);
        if !each(said, &mut field) && !said.is_empty() {
            field("said", said);
        }
        fields
    }
}

/// A payload by its type.
fn payload(kind: u32, bits: u64) -> String {
    // `nvtxPayloadType_t`.
    match kind {
        1 => bits.to_string(),
        2 => (bits as i64).to_string(),
        3 => Sampled::Double(f64::from_bits(bits)).to_string(),
        4 => (bits as u32).to_string(),
        5 => (bits as u32 as i32).to_string(),
        6 => f32::from_bits(bits as u32).to_string(),
        _ => format!("{bits:#x} of type {kind:#x}"),
    }
}

/// Tells the keys and values of an object; whether it is one, and whole.
fn each(said: &str, field: &mut impl FnMut(&str, &str)) -> bool {
    let mut flaws = Flaws::default();
    let mut scanner = Scanner::new(said.as_bytes(), &mut flaws);
    if scanner.take(b'{') != Ok(true) {
        return false;
    }
    let mut all = Vec::new();
    loop {
        match scanner.key(all.is_empty()) {
            Ok(None) => break,
            Ok(Some(key)) if all.len() < FIELDS => {
                let Ok(value) = scanner.value() else { return false };
                let text = match &value {
                    Value::Number(raw) | Value::Inner(raw) => String::from_utf8_lossy(raw),
                    Value::Text(text) => scanner.text(text),
                    Value::Bool(is) => is.to_string().into(),
                    _ => "null".into(),
                };
                all.push((scanner.text(&key), text));
            }
            _ => return false,
        }
    }
    all.iter().for_each(|(key, value)| field(key, value));
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::testing;
    use crate::session::model::Model;
    use crate::session::view::{EventKinds, EventsAt, EventsRequest};
    use std::time::{Duration, Instant};

    fn fields(said: &str) -> Option<Vec<(String, String)>> {
        let mut list = Vec::new();
        each(said, &mut |key, value| list.push((key.to_owned(), value.to_owned()))).then_some(list)
    }

    #[test]
    fn objects_come_apart_and_other_texts_do_not() {
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        let said = r#"{"Input Dims": [[2, 3], []], "n\u00e4me": "a\"b", "x": 1e400, "y": true, "z": null}"#;
        let known = [
            pair("Input Dims", "[[2, 3], []]"),
            pair("n\u{e4}me", "a\"b"),
            pair("x", "1e400"),
            pair("y", "true"),
            pair("z", "null"),
        ];
        assert_eq!(fields(said).as_deref(), Some(&known[..]));
        assert_eq!(fields("{}"), Some(Vec::new()));
        for said in ["", "text", "[1]", "{\"a\": [1, ...", "{\"a\" 1}"] {
            assert_eq!(fields(said), None, "{said}");
        }
    }

    #[test]
    fn rows_and_details_say_what_an_import_says() {
        let text = r#"[{"ph":"C","pid":1,"name":"memory","ts":2,"args":{"used":-7.5}},
            {"ph":"X","pid":1,"tid":1,"name":"add","ts":1,"dur":9,"args":{"Input Dims":[[2,3]],"External id":4}},
            {"ph":"s","pid":1,"tid":1,"name":"f","cat":"c","id":9,"ts":3}, {"ph":"i","pid":1,"tid":1,"name":"plain","ts":4}]"#;
        let imported = crate::parse::chrome::import(text.as_bytes(), "a.json", testing::target("chrome")).unwrap();
        let (trace, files) = testing::load(&imported);
        let mut model = Model::default();
        (model.files, model.trace) = (files.into_iter().map(Some).collect(), trace);
        model.trace.touch();
        model.update();
        let mut ask = |details| {
            let (at, kinds) = (EventsAt::Row(0), EventKinds::ALL);
            let request = EventsRequest { node: None, at, rows: 10, kinds, details: Some(details) };
            model.events(request, Instant::now() + Duration::from_secs(60)).0
        };
        let rows = ask(0);
        let seen: Vec<_> = rows.rows.iter().map(|row| (row.name.as_str(), row.arguments.as_str())).collect();
        let known = [
            ("range add", r#"{"Input Dims":[[2,3]]}"#),
            ("mark memory used (counter)", "value=-7.5"),
            ("mark f (flow begins)", ""),
            ("mark plain", ""),
        ];
        assert_eq!(seen, known);
        let pairs = |list: &[(&str, &str)]| -> Vec<(String, String)> {
            list.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect()
        };
        for (number, known) in [
            (0, pairs(&[("Input Dims", "[[2,3]]")])),
            (1, pairs(&[("counter", "memory"), ("series", "used"), ("value", "-7.5")])),
            (2, pairs(&[("payload", "9")])),
            (3, Vec::new()),
        ] {
            assert_eq!(ask(number).details, Some((number, known)));
        }
    }

    #[test]
    fn payloads_are_what_their_types_say() {
        assert_eq!(payload(1, u64::MAX), u64::MAX.to_string());
        assert_eq!(payload(2, u64::MAX), "-1");
        assert_eq!(payload(3, 1.5f64.to_bits()), "1.5");
        assert_eq!(payload(5, u64::from(u32::MAX)), "-1");
        assert_eq!(payload(6, u64::from(0.5f32.to_bits())), "0.5");
        assert_eq!(payload(9, 16), "0x10 of type 0x9");
    }
}
