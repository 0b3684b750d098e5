//! What can be asked of an event, by name.

use super::{NumberField, TextField};

/// A field of either kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// Compared with patterns.
    Text(TextField),
    /// Compared by size.
    Number(NumberField),
    /// A range of addresses.
    Address,
}

/// A field's row in the table.
#[derive(Clone, Copy, Debug)]
pub struct FieldRow {
    /// The field.
    pub field: Field,
    /// As it is written.
    pub name: &'static str,
    /// What else it may be called.
    pub also: &'static [&'static str],
    /// What it means, for help and completion.
    pub meaning: &'static str,
}

const fn text(field: TextField, name: &'static str, also: &'static [&'static str], meaning: &'static str) -> FieldRow {
    FieldRow { field: Field::Text(field), name, also, meaning }
}

const fn number(
    field: NumberField,
    name: &'static str,
    also: &'static [&'static str],
    meaning: &'static str,
) -> FieldRow {
    FieldRow { field: Field::Number(field), name, also, meaning }
}

/// All fields, in the order in which they are written.
pub const FIELDS: [FieldRow; 19] = [
    text(TextField::Api, "api", &["function", "call"], "function name"),
    text(TextField::Layer, "layer", &[], "runtime, driver or gpu"),
    text(TextField::Thread, "thread", &["tid"], "thread name or number"),
    text(TextField::Process, "process", &["pid"], "program name or process id"),
    text(TextField::Rank, "rank", &[], "rank as the launcher numbered it"),
    text(TextField::Host, "host", &[], "host name"),
    text(TextField::Stream, "stream", &[], "stream name or number; default for the default streams"),
    text(TextField::Device, "device", &["gpu"], "device number or name"),
    text(
        TextField::Kernel,
        "kernel",
        &[],
        "name of the kernel, or of one that the call launched, as shown or as mangled",
    ),
    text(TextField::Range, "range", &["nvtx"], "an NVTX range around the event, or the mark's or range's own text"),
    text(TextField::Site, "site", &["call-site"], "function, file:line or library of the code that called"),
    text(
        TextField::Allocation,
        "allocation",
        &["alloc"],
        "an allocation that it is about: an address in it, its kind, function or call site",
    ),
    text(
        TextField::Kind,
        "kind",
        &[],
        "call, kernel, copy, set, migration, fault, ...; a copy's direction; kind of memory",
    ),
    text(TextField::Cause, "cause", &[], "why memory migrated: coherence, prefetch, user, eviction, access-counters"),
    text(TextField::Result, "result", &["status"], "name or number of what the call returned"),
    number(NumberField::Size, "size", &["bytes"], "bytes allocated, copied, set or migrated"),
    number(NumberField::Duration, "duration", &["dur"], "time from begin to end"),
    number(NumberField::Time, "time", &["at"], "begin, since the trace began"),
    FieldRow {
        field: Field::Address,
        name: "address",
        also: &["addr"],
        meaning: "bytes that the event touches overlap these",
    },
];

/// The field with this name.
#[must_use]
pub fn named(name: &str) -> Option<Field> {
    FIELDS.iter().find(|row| row.name == name || row.also.contains(&name)).map(|row| row.field)
}

/// A field's name.
#[must_use]
pub fn name_of(field: Field) -> &'static str {
    FIELDS.iter().find(|row| row.field == field).map_or("", |row| row.name)
}

/// All names of fields, the other ones included.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    FIELDS.iter().flat_map(|row| std::iter::once(row.name).chain(row.also.iter().copied()))
}

/// What was expected, where a text can be no value of a field that is known by its number. `*` and `?` stand for any.
pub(super) fn refused(field: TextField, text: &str) -> Option<String> {
    let text = text.trim();
    let is_number = |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let is_negative = || text.strip_prefix('-').is_some_and(is_number);
    let (wrong, expected) = match field {
        TextField::Rank => {
            let may = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'*' | b'?');
            (!text.bytes().all(may), "a rank, a number such as 0")
        }
        // Ordinals have a byte, and 255 stands for none.
        TextField::Device => {
            let too_large = is_number(text) && text.parse::<u8>().map_or(true, |number| number == u8::MAX);
            (too_large || is_negative(), "a device's number from 0 to 254, or its name")
        }
        TextField::Stream => (is_negative(), "a stream's number from 0, its name, or default"),
        TextField::Thread => (is_negative(), "a thread's number or name"),
        TextField::Process => (is_negative(), "a process id or the name of a program"),
        _ => (false, ""),
    };
    wrong.then(|| format!("expected {expected}, found {}", super::error::quoted(text)))
}

/// The known name that is most like a misspelt one, if any is like it.
#[must_use]
pub fn nearest<'a>(wrong: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wrong = wrong.to_lowercase();
    if wrong.is_empty() || wrong.len() > 64 {
        return None;
    }
    let distance = |name: &&str| strsim::osa_distance(&wrong, &name.to_lowercase());
    let found = known.into_iter().map(|name| (distance(&name), name)).min_by_key(|(distance, _)| *distance);
    found.filter(|(distance, name)| *distance <= name.chars().count().max(3) / 3).map(|(_, name)| name)
}

/// `; did you mean NAME?`, or nothing.
pub(super) fn hint<'a>(wrong: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(wrong, known).map_or_else(String::new, |name| format!("; did you mean {name}?"))
}

/// What may be asked for where `wrong` stands instead, as the end of a sentence.
pub(super) fn known(wrong: &str) -> String {
    let names = || FIELDS.iter().map(|row| row.name).chain(super::terms::OTHERS).filter(|name| *name != "under");
    let list = names().collect::<Vec<_>>().join(", ");
    match nearest(wrong, names()) {
        Some(near) => format!("; did you mean {near}? Known are {list}"),
        None => format!("; known are {list}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_leads_to_one_field() {
        let mut all: Vec<&str> = names().collect();
        all.sort_unstable();
        let count = all.len();
        all.dedup();
        assert_eq!(all.len(), count);
        for row in FIELDS {
            assert_eq!(named(row.name), Some(row.field));
            assert_eq!(name_of(row.field), row.name);
        }
        assert_eq!(named("dur"), Some(Field::Number(NumberField::Duration)));
        assert_eq!(named("nothing"), None);
    }

    #[test]
    fn what_no_device_rank_or_stream_is_called_is_refused() {
        let is_refused = |field, text| refused(field, text).is_some();
        for (field, wrong) in [
            (TextField::Device, "300"),
            (TextField::Device, "255"),
            (TextField::Device, "-1"),
            (TextField::Rank, "x"),
            (TextField::Rank, "-1"),
            (TextField::Rank, "1.5"),
            (TextField::Stream, "-5"),
            (TextField::Thread, "-5"),
            (TextField::Process, "-5"),
        ] {
            assert!(is_refused(field, wrong), "{wrong}");
        }
        for (field, right) in [
            (TextField::Device, "254"),
            (TextField::Device, "00"),
            (TextField::Device, "NVIDIA H200"),
            (TextField::Device, "*300*"),
            (TextField::Rank, "1?"),
            (TextField::Rank, "*"),
            (TextField::Stream, "default"),
            (TextField::Stream, "-x"),
            (TextField::Thread, "pool-5"),
            (TextField::Host, "-5"),
        ] {
            assert!(!is_refused(field, right), "{right}");
        }
        let told = refused(TextField::Device, "300").unwrap();
        assert!(told.starts_with("expected a device's number from 0 to 254, or its name, found "), "{told}");
    }

    #[test]
    fn misspelt_names_find_the_right_one() {
        assert_eq!(nearest("kernal", names()), Some("kernel"));
        assert_eq!(nearest("tread", names()), Some("thread"));
        assert_eq!(nearest("Durration", names()), Some("duration"));
        assert_eq!(nearest("zzz", names()), None);
        assert_eq!(nearest(&"x".repeat(100_000), names()), None);
    }
}
