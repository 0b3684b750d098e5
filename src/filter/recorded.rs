//! A filter for a recording, compiled for the hook; and why not, where the hook cannot know what is asked.

use umtui_wire::filter::{PROGRAM_MAX, TEXT_MAX, VERSION};

use super::fields::{self, Field};
use super::{Comparison, Condition, Filter, Matcher, NumberField, Pattern, TextField, expression};

/// Longest filter, as it is written in one line, that the recording can say it was made with, bytes.
pub const MAX_TEXT: usize = TEXT_MAX;

/// The value of the variable that tells the hook what to leave out.
///
/// # Errors
/// If the hook cannot know what is asked: a sentence that names the field.
pub fn compiled(filter: &Filter) -> Result<String, String> {
    let mut program = String::new();
    add(&filter.condition, &mut program)?;
    if program.len() > PROGRAM_MAX {
        return Err(format!("the filter is too long to record by: {} bytes, {PROGRAM_MAX} are allowed", program.len()));
    }
    let mut text = expression::write(&filter.condition);
    if text.len() > MAX_TEXT {
        let end = (0..=MAX_TEXT - 3).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        text.truncate(end);
        text.push_str("...");
    }
    Ok(format!("{}{program}{text}", char::from(VERSION)))
}

fn add(condition: &Condition, program: &mut String) -> Result<(), String> {
    match condition {
        Condition::All(parts) => several('&', parts, program),
        Condition::Any(parts) => several('|', parts, program),
        Condition::Not(inner) => {
            program.push('!');
            add(inner, program)
        }
        Condition::Failed => {
            program.push('f');
            Ok(())
        }
        Condition::Number(NumberField::Duration, comparison, ns) => {
            let sign = match comparison {
                Comparison::Less => '<',
                Comparison::AtMost => '[',
                Comparison::Equal => '=',
                Comparison::AtLeast => ']',
                Comparison::More => '>',
            };
            program.push_str(&format!("d{sign}{ns};"));
            Ok(())
        }
        Condition::Text(field, Pattern::Glob(text)) => question(*field, text, program),
        Condition::Text(field, Pattern::Regex(_)) => {
            let name = fields::name_of(Field::Text(*field));
            Err(format!(
                "record cannot filter by a regular expression: write {name} as a glob, or leave it to open or report"
            ))
        }
        Condition::Number(field, ..) => Err(cannot(fields::name_of(Field::Number(*field)))),
        Condition::Address(..) => Err(cannot("address")),
        Condition::ChildrenOf(_) => Err(cannot("children-of")),
        Condition::CallersOf(_) => Err(cannot("callers-of")),
    }
}

fn several(sign: char, parts: &[Condition], program: &mut String) -> Result<(), String> {
    program.push(sign);
    parts.iter().try_for_each(|part| add(part, program))?;
    program.push('.');
    Ok(())
}

fn question(field: TextField, text: &str, program: &mut String) -> Result<(), String> {
    let sized = |text: &str| format!("{}:{text}", text.len());
    // What holds for every call, or for none, is known here.
    let fits = |name: &str| Matcher::new(&Pattern::Glob(text.to_owned())).is_ok_and(|matcher| matcher.matches(name));
    match field {
        TextField::Api => program.push_str(&format!("a{}", sized(text))),
        TextField::Layer => program.push_str(match (fits("runtime"), fits("driver")) {
            (true, true) => "y",
            (true, false) => "r",
            (false, true) => "!r",
            (false, false) => "n",
        }),
        TextField::Thread => match text.parse::<u32>() {
            Ok(number) => program.push_str(&format!("|i{number};t{}.", sized(text))),
            Err(_) => program.push_str(&format!("t{}", sized(text))),
        },
        TextField::Stream if fits("default") && !text.contains(['*', '?']) => program.push('s'),
        TextField::Stream => {
            return Err("record knows streams by their handles alone, and so only stream:default: leave others to open or report".to_owned());
        }
        TextField::Kind if fits("call") => program.push('y'),
        TextField::Kind => {
            return Err(format!(
                "record cannot filter by kind:{text}, only calls are filtered: leave it to open or report"
            ));
        }
        _ => return Err(cannot(fields::name_of(Field::Text(field)))),
    }
    Ok(())
}

fn cannot(name: &str) -> String {
    format!("record cannot filter by {name}: leave it to open or report")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use umtui_wire::filter::{Call, Program, Returned, glob};

    use super::*;

    fn of(text: &str) -> Result<String, String> {
        compiled(&Filter::from(expression::read("", text).unwrap()))
    }

    fn names(count: usize) -> String {
        (0..count).map(|at| format!("cudaFunction{at}")).collect::<Vec<_>>().join(",")
    }

    #[test]
    fn what_the_hook_knows_is_compiled() {
        let expected = "1&a17:cudaMallocManagedd]100000;!t14:memory_monitor!s.\
                        api:cudaMallocManaged duration>=100us -thread:memory_monitor -stream:default";
        assert_eq!(of("api:cudaMallocManaged -thread:memory_monitor -stream:default dur>=100us").unwrap(), expected);
        assert_eq!(
            of("kind:call thread:12 -layer:driver").unwrap(),
            "1&|i12;t2:12.y!!r.thread:12 kind:call -layer:driver"
        );
        assert_eq!(of("").unwrap(), "1&.everything");
        let text = of(&format!("api:{}", names(30))).unwrap();
        assert!(text.ends_with("...") && Program::read(text.as_bytes()).unwrap().text().len() <= MAX_TEXT);
    }

    #[test]
    fn what_it_cannot_know_is_refused_by_name() {
        for (text, named) in [
            ("cause:coherence", "cause"),
            ("-site:train.cu:42", "site"),
            ("kernel:x", "kernel"),
            ("range:x or failed", "range"),
            ("size>=1MiB", "size"),
            ("time:1s..", "time"),
            ("addr:0x10", "address"),
            ("under(api:x)", "children-of"),
            ("callers-of(api:x)", "callers-of"),
            ("process:python", "process"),
            ("device:1", "device"),
        ] {
            let why = format!("record cannot filter by {named}: leave it to open or report");
            assert_eq!(of(text).unwrap_err(), why);
        }
        assert!(of("stream:7").unwrap_err().contains("stream:default"));
        assert!(of("kind:migration").unwrap_err().contains("kind:migration"));
        assert!(of("api~^cuda").unwrap_err().contains("regular expression"));
        assert!(of(&format!("api:{}", names(1000))).unwrap_err().contains("too long"));
    }

    /// As the model has it, of a call.
    fn holds(condition: &Condition, call: &Call, returned: &Returned) -> bool {
        let text = |bytes| std::str::from_utf8(bytes).unwrap();
        let fits = |pattern: &Pattern, name: &str| Matcher::new(pattern).unwrap().matches(name);
        match condition {
            Condition::All(parts) => parts.iter().all(|part| holds(part, call, returned)),
            Condition::Any(parts) => parts.iter().any(|part| holds(part, call, returned)),
            Condition::Not(inner) => !holds(inner, call, returned),
            Condition::Text(TextField::Api, pattern) => fits(pattern, text(call.api)),
            Condition::Text(TextField::Thread, pattern) => {
                fits(pattern, text(returned.thread)) || fits(pattern, &returned.thread_id.to_string())
            }
            Condition::Text(TextField::Layer, pattern) => {
                fits(pattern, if call.api.starts_with(b"cuda") { "runtime" } else { "driver" })
            }
            Condition::Text(_, _) => returned.stream.is_some_and(|stream| stream <= 2),
            Condition::Number(_, comparison, than) => match comparison {
                Comparison::Less => returned.duration_ns < *than,
                Comparison::AtMost => returned.duration_ns <= *than,
                Comparison::Equal => returned.duration_ns == *than,
                Comparison::AtLeast => returned.duration_ns >= *than,
                Comparison::More => returned.duration_ns > *than,
            },
            _ => returned.status.is_some_and(|status| status != 0 && status != 600),
        }
    }

    fn condition() -> impl Strategy<Value = Condition> {
        let comparisons =
            [Comparison::Less, Comparison::AtMost, Comparison::Equal, Comparison::AtLeast, Comparison::More];
        let glob = |field| move |text: String| Condition::Text(field, Pattern::Glob(text));
        let question =
            prop_oneof![
                "cu[dab*?]{1,3}".prop_map(glob(TextField::Api)),
                "[dr*?iuv]{1,3}|driver|runtime".prop_map(glob(TextField::Layer)),
                "[ab*?]{1,3}|[0-3]".prop_map(glob(TextField::Thread)),
                Just(Condition::Text(TextField::Stream, Pattern::Glob("Default".to_owned()))),
                (proptest::sample::select(comparisons.to_vec()), 0..4u64)
                    .prop_map(|(comparison, ns)| Condition::Number(NumberField::Duration, comparison, ns)),
                Just(Condition::Failed),
            ];
        question.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Condition::All),
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Condition::Any),
                inner.prop_map(|inner| Condition::Not(Box::new(inner))),
            ]
        })
    }

    proptest! {
        #[test]
        fn the_hook_decides_as_the_model_says(
            condition in condition(),
            api in "cu(da)?[dab]{0,3}",
            thread in "[ab]{0,3}",
            thread_id in 0..4u32,
            duration_ns in 0..4u64,
            status in proptest::option::of(prop_oneof![Just(0u32), Just(600), Just(2)]),
            stream in proptest::option::of(0..5u64),
        ) {
            let filter = Filter::from(condition);
            let value = compiled(&filter).unwrap();
            let program = Program::read(value.as_bytes()).unwrap();
            let returned = Returned { thread: thread.as_bytes(), thread_id, duration_ns, status, stream };
            let call = Call { api: api.as_bytes(), returned: Some(returned) };
            // Patterns with stars are not compared with numbers.
            let numbered = value.contains(['?', '*']);
            let expected = holds(&filter.condition, &call, &returned);
            if !numbered {
                prop_assert_eq!(program.fits(&call), Some(expected), "{}", value);
            }
            // What is said before the call has returned is not taken back.
            let before = program.fits(&Call { returned: None, ..call });
            prop_assert!(before.is_none() || before == program.fits(&call), "{}", value);
        }

        #[test]
        fn globs_are_the_same_on_both_sides(pattern in "[aAb?*\u{e9}]{1,9}", text in "[aAb\u{e9}\u{1F980}]{0,12}") {
            let matcher = Matcher::new(&Pattern::Glob(pattern.clone())).unwrap();
            prop_assert_eq!(glob(pattern.as_bytes(), text.as_bytes()), matcher.matches(&text), "{} {}", pattern, text);
        }

        #[test]
        fn any_bytes_are_a_program_or_none(bytes in proptest::collection::vec(any::<u8>(), 0..60), text in "1[&|!.ynrfsatid0-9:;<]{0,30}") {
            for value in [bytes.as_slice(), text.as_bytes()] {
                if let Some(program) = Program::read(value) {
                    let _ = program.fits(&Call { api: b"cudaMalloc", returned: None });
                }
            }
        }
    }
}
