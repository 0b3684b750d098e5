//! The three spellings say the same, and nothing makes them panic.

use proptest::prelude::*;

use super::terms::finish;
use super::*;

const TEXTS: [TextField; 15] = [
    TextField::Api,
    TextField::Layer,
    TextField::Thread,
    TextField::Process,
    TextField::Rank,
    TextField::Host,
    TextField::Stream,
    TextField::Device,
    TextField::Kernel,
    TextField::Range,
    TextField::Site,
    TextField::Allocation,
    TextField::Kind,
    TextField::Cause,
    TextField::Result,
];
const NUMBERS: [NumberField; 3] = [NumberField::Size, NumberField::Duration, NumberField::Time];
const COMPARISONS: [Comparison; 5] =
    [Comparison::Less, Comparison::AtMost, Comparison::Equal, Comparison::AtLeast, Comparison::More];

fn pattern() -> impl Strategy<Value = Pattern> {
    let text = "[a-c*?]{1,3}|[a-z0-9_:.*<> ,()|\"'\\\\&\\-\n\t]{1,12}|[^\0]{1,8}";
    let regex = "[a-c]{1,3}|\\(a\\|b\\)\\+|a b|[a-c.*,]{1,6}|'\"|\\\\d\"|\\(\\?i\\)x|[[:^cntrl:]]{1,6}";
    let is_regex = |text: &String| Matcher::new(&Pattern::Regex(text.clone())).is_ok();
    prop_oneof![
        4 => text.prop_map(Pattern::Glob),
        1 => regex.prop_filter("a regular expression", is_regex).prop_map(Pattern::Regex),
    ]
}

/// A condition of few texts and values, so that questions meet.
fn condition() -> impl Strategy<Value = Condition> {
    let few = |count: usize| proptest::sample::select(TEXTS[..count].to_vec());
    let value = prop_oneof![0..4u64, any::<u64>(), (0..60u32).prop_map(|shift| 1 << shift)];
    let question = prop_oneof![
        4 => (prop_oneof![few(2), few(15)], pattern()).prop_map(|(field, pattern)| match &pattern {
            Pattern::Glob(text) if fields::refused(field, text).is_some() => Condition::Text(field, Pattern::Glob("7*".to_owned())),
            _ => Condition::Text(field, pattern),
        }),
        2 => (proptest::sample::select(NUMBERS.to_vec()), proptest::sample::select(COMPARISONS.to_vec()), value.clone())
            .prop_map(|(field, comparison, value)| Condition::Number(field, comparison, value)),
        1 => (value.clone(), value).prop_map(|(one, other)| Condition::Address(one.min(other), one.max(other))),
        1 => Just(Condition::Failed),
    ];
    question.prop_recursive(5, 40, 4, |inner| {
        prop_oneof![
            3 => proptest::collection::vec(inner.clone(), 0..4).prop_map(Condition::All),
            3 => proptest::collection::vec(inner.clone(), 0..4).prop_map(Condition::Any),
            2 => inner.clone().prop_map(|inner| Condition::Not(Box::new(inner))),
            1 => inner.clone().prop_map(|inner| Condition::ChildrenOf(Box::new(inner))),
            1 => inner.prop_map(|inner| Condition::CallersOf(Box::new(inner))),
        ]
    })
}

/// An event of few texts and numbers, and those around it.
#[derive(Clone, Debug)]
struct Event {
    texts: Vec<Option<String>>,
    numbers: Vec<Option<u64>>,
    bytes: Option<(u64, u64)>,
    failed: bool,
    callers: Vec<usize>,
}

fn event() -> impl Strategy<Value = Event> {
    let text = proptest::option::of("[a-c]{0,3}");
    let number = proptest::option::of(prop_oneof![0..4u64, any::<u64>()]);
    (
        proptest::collection::vec(text, TEXTS.len()),
        proptest::collection::vec(number, NUMBERS.len()),
        proptest::option::of((0..4u64, 0..4u64)),
        any::<bool>(),
        proptest::collection::vec(0..4usize, 0..3),
    )
        .prop_map(|(texts, numbers, bytes, failed, callers)| Event { texts, numbers, bytes, failed, callers })
}

/// The sentences of the model.
fn holds(condition: &Condition, events: &[Event], at: usize) -> bool {
    let event = &events[at];
    match condition {
        Condition::All(parts) => parts.iter().all(|part| holds(part, events, at)),
        Condition::Any(parts) => parts.iter().any(|part| holds(part, events, at)),
        Condition::Not(inner) => !holds(inner, events, at),
        Condition::Text(field, pattern) => {
            let text = event.texts[TEXTS.iter().position(|known| known == field).unwrap()].as_deref();
            text.is_some_and(|text| Matcher::new(pattern).unwrap().matches(text))
        }
        Condition::Number(field, comparison, than) => {
            let number = event.numbers[NUMBERS.iter().position(|known| known == field).unwrap()];
            number.is_some_and(|number| match comparison {
                Comparison::Less => number < *than,
                Comparison::AtMost => number <= *than,
                Comparison::Equal => number == *than,
                Comparison::AtLeast => number >= *than,
                Comparison::More => number > *than,
            })
        }
        Condition::Address(first, last) => event.bytes.is_some_and(|(at, more)| at <= *last && at + more >= *first),
        Condition::Failed => event.failed,
        Condition::ChildrenOf(inner) => event.callers.iter().any(|caller| holds(inner, events, *caller)),
        Condition::CallersOf(inner) => {
            (0..events.len()).any(|other| events[other].callers.contains(&at) && holds(inner, events, other))
        }
    }
}

fn again(filter: &Filter, spelling: Spelling) -> Filter {
    let written = filter.write(spelling);
    let path = match spelling {
        Spelling::Xml => "x.xml",
        Spelling::Toml => "x.toml",
        Spelling::Expression => "x.expr",
    };
    let read = Filter::of_bytes("x", Some(std::path::Path::new(path)), written.as_bytes());
    read.unwrap_or_else(|error| panic!("{error}\n{}\n{written}", error.excerpt()))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn each_spelling_says_the_same(condition in condition(), name in "[^\0]{0,8}", description in "[^\0]{0,8}") {
        let filter = Filter { name, description, condition: condition.normal() };
        for spelling in [Spelling::Xml, Spelling::Toml] {
            prop_assert_eq!(&again(&filter, spelling), &filter, "{}", filter.write(spelling));
        }
        let line = again(&filter, Spelling::Expression);
        prop_assert_eq!(&line.condition, &filter.condition, "{}", filter.write(Spelling::Expression));
        prop_assert!(!filter.write(Spelling::Expression).trim_end().contains('\n'));
    }

    #[test]
    fn the_normal_form_means_the_same(condition in condition(), events in proptest::collection::vec(event(), 4)) {
        let normal = condition.clone().normal();
        for at in 0..events.len() {
            prop_assert_eq!(holds(&condition, &events, at), holds(&normal, &events, at), "{:?}", normal);
        }
        prop_assert_eq!(normal.clone().normal(), normal);
    }

    #[test]
    fn any_bytes_are_taken_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        for path in ["x.xml", "x.toml", "x.expr", "x"] {
            let _ = Filter::of_bytes("x", Some(std::path::Path::new(path)), &bytes);
        }
    }

    #[test]
    fn damaged_filters_are_taken_or_refused(
        condition in condition(),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), "[<>/&;=\"'\\[\\]{}#a-f0-9(),:~|. \n-]{0,3}"), 1..4),
    ) {
        let filter = Filter::from(condition);
        for (spelling, path) in
            [(Spelling::Xml, "x.xml"), (Spelling::Toml, "x.toml"), (Spelling::Expression, "x.expr")]
        {
            let mut text = filter.write(spelling);
            for (at, change) in &changes {
                let places: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
                if places.is_empty() {
                    continue;
                }
                let at = places[at.index(places.len())];
                let end = text[at..].chars().next().map_or(at, |char| at + char.len_utf8());
                text.replace_range(at..end, change);
            }
            match Filter::of_bytes("x", Some(std::path::Path::new(path)), text.as_bytes()) {
                Ok(read) => prop_assert_eq!(again(&read, spelling).condition, read.condition),
                Err(error) => prop_assert!(!error.to_string().contains('\n'), "{}", error),
            }
        }
    }
}

#[test]
fn the_filter_as_people_write_it() {
    let xml = "<filter><include><api>cudaMallocManaged</api><api>cudaMemcpy*</api></include><exclude>\
               <thread>memory_monitor</thread><stream>default</stream></exclude><threshold><duration>100us</duration>\
               </threshold></filter>";
    let filter = Filter::of_bytes("f.xml", None, xml.as_bytes()).unwrap();
    let line = "api:cudaMallocManaged,cudaMemcpy* duration>=100us -thread:memory_monitor -stream:default\n";
    assert_eq!(filter.write(Spelling::Expression), line);
    let toml = "[include]\napi = [\"cudaMallocManaged\", \"cudaMemcpy*\"]\n\n[exclude]\nthread = \"memory_monitor\"\n\
                stream = \"default\"\n\n[threshold]\nduration = \"100us\"\n";
    assert_eq!(filter.write(Spelling::Toml), toml);
    assert_eq!(Filter::of_bytes("f.toml", None, toml.as_bytes()), Ok(filter));
}

fn wrong(text: &str) -> String {
    let path = if text.starts_with('<') { "f.xml" } else { "f.toml" };
    Filter::of_bytes(path, Some(std::path::Path::new(path)), text.as_bytes()).unwrap_err().to_string()
}

#[test]
fn what_one_spelling_cannot_say_none_reads() {
    for text in [
        "<filter description=\"a\0b\"><include><kind>call</kind></include></filter>",
        "<filter name=\"a\0b\"><include><kind>call</kind></include></filter>",
        "name = \"a\\u0000b\"\n[include]\nkind = \"call\"\n",
    ] {
        let error = wrong(text);
        assert!(error.contains("NUL"), "{error}");
    }
}

#[test]
fn what_is_wrong_in_a_document_is_said_with_its_place() {
    for (text, expected) in [
        ("<filtr/>", "f.xml:1:1: expected <filter>, found <filtr>; did you mean filter?"),
        ("<filter>\n <include>\n  <apis>x</apis>", "f.xml:2:2: <include> is not closed"),
        (
            "<filter><threshold><duration>100 usec</duration></threshold></filter>",
            "f.xml:1:30: expected a duration, such as 100us or 1.5ms, found the unit `usec`; known are ns, us, ms, s, m",
        ),
        (
            "<filter><threshold><api>x</api></threshold></filter>",
            "f.xml:1:20: expected <duration> or <size> in <threshold>, found <api>",
        ),
        (
            "<filter><include><api regx='true'>x</api></include></filter>",
            "f.xml:1:23: no attribute `regx` in <api>; known are regex; did you mean regex?",
        ),
        (
            "<filter><include><api regex='yes'>x</api></include></filter>",
            "f.xml:1:23: expected regex=\"true\" or \"false\", found `yes`",
        ),
        ("<filter><include><api/></include></filter>", "f.xml:1:18: expected a pattern in <api>"),
        (
            "<filter><include>cudaMalloc</include></filter>",
            "f.xml:1:18: expected elements in <include>, found text `cudaMalloc`",
        ),
        (
            "<filter>\n<include>\n<api>\n  <kernel/></api></include></filter>",
            "f.xml:4:3: expected text in <api>, found <kernel>",
        ),
        ("<!DOCTYPE filter [<!ENTITY a \"x\">]><filter/>", "f.xml:1:1: a document type is not read; leave it out"),
        (
            "<filter><include><api>&x;</api></include></filter>",
            "f.xml:1:23: no entity `x`; known are lt, gt, amp, quot and apos; write &amp; for &",
        ),
        (
            "<filter><include><api>a</include></filter>",
            "f.xml:1:24: ill-formed document: expected `</api>`, but `</include>` was found",
        ),
        ("<filter/><filter/>", "f.xml:1:10: `filter` after the end of the document; one <filter> is expected"),
        ("<?xml version='1.0' encoding='latin1'?><filter/>", "f.xml:1:1: the encoding has to be UTF-8"),
        (
            "[inclde]\n",
            "f.toml:1:2: no key `inclde`; known are name, description, include, exclude, threshold; did you mean include?",
        ),
        (
            "[include]\napi = 1.5\n",
            "f.toml:2:7: expected a text, a number, or a table such as { regex = \"...\" }, found float",
        ),
        ("[include]\napi = { regex = \"(\" }\n", "f.toml:2:17: no regular expression: unclosed group"),
        (
            "[include]\nduration = { atleast = \"1ms\" }\n",
            "f.toml:2:14: no key `atleast` of duration; known are at-least, at-most, more-than, less-than, equal; did you mean at-least?",
        ),
        (
            "[threshold]\nsize = \"1 XB\"\n",
            "f.toml:2:8: expected a size, such as 64KiB or 1.5MiB, found the unit `XB`; known are B, KiB, MiB, GiB, TiB; did you mean B?",
        ),
        ("include = 3\n", "f.toml:1:11: expected a table, found integer"),
        ("[include\n", "f.toml:1:9: unclosed table, expected `]`"),
    ] {
        assert_eq!(wrong(text), expected, "{text}");
    }
    let kernal = wrong("<filter><include><kernal>x</kernal></include></filter>");
    assert!(kernal.starts_with("f.xml:1:18: no element <kernal>; did you mean kernel? Known are api, "), "{kernal}");
}

#[test]
fn depth_and_size_are_bounded() {
    let deep = |open: &str, close: &str, count| format!("{}{}", open.repeat(count), close.repeat(count));
    for count in [90, 200, 50_000] {
        let xml = format!("<filter><include>{}</include></filter>", deep("<not>", "</not>", count));
        assert!(wrong(&xml).contains("f.xml:1:"), "{count}");
        let toml = format!("[include]\nnot = {}", deep("{ not = ", "}", count));
        assert!(wrong(&toml).contains("f.toml:"), "{count}");
    }
    let nested = "<children-of><any><api>a</api>".repeat(30) + &"</any></children-of>".repeat(30);
    let why = wrong(&format!("<filter><include>{nested}</include></filter>"));
    assert!(why.contains("more than 24 deep"), "{why}");
    let many = format!("<filter><include>{}</include></filter>", "<api>a</api>".repeat(3000));
    assert!(wrong(&many).contains("more than 2048 terms"));
    let many = format!("<filter{}/>", (0..50_000).map(|at| format!(" a{at}='1'")).collect::<String>());
    assert!(wrong(&many).contains("attributes"));
    assert!(wrong(&format!("<filter>{}</filter>", " ".repeat(2 << 20))).contains("larger than"));
    let mut deepest = Condition::Failed;
    for at in 0..MAX_DEPTH - 1 {
        let part = Condition::Text(TextField::Api, Pattern::Glob(format!("x{at}")));
        deepest = match at % 3 {
            0 => Condition::ChildrenOf(Box::new(deepest)),
            1 => Condition::All(vec![part, deepest]),
            _ => Condition::Any(vec![part, deepest]),
        };
    }
    let filter = Filter::from(finish(deepest).unwrap());
    for spelling in [Spelling::Xml, Spelling::Toml, Spelling::Expression] {
        assert_eq!(again(&filter, spelling), filter);
    }
}

/// The block of the manual in this language.
fn example<'a>(page: &'a str, language: &str) -> &'a str {
    let (_, rest) = page.split_once(&format!("```{language}\n")).unwrap();
    rest.split_once("```").unwrap().0
}

#[test]
fn the_manual_shows_the_same_filter_three_times_and_every_field() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/filters.md")).unwrap();
    let xml = Filter::of_bytes("x.xml", None, example(&page, "xml").as_bytes()).unwrap();
    assert_eq!(Filter::of_bytes("x.toml", None, example(&page, "toml").as_bytes()), Ok(xml.clone()));
    let line = Filter::of_bytes("x.expr", None, example(&page, "text").as_bytes()).unwrap();
    assert_eq!(line.condition, xml.condition);
    assert_eq!(xml.write(Spelling::Xml), example(&page, "xml"));
    for row in fields::FIELDS {
        let also = row.also.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let also = if also.is_empty() { String::new() } else { format!("{also} ") };
        let line = format!("| `{}` | {also}| {} |\n", row.name, row.meaning);
        assert!(page.contains(&line), "{line}");
    }
    for listed in listed().into_iter().filter(|listed| listed.path.is_none()) {
        let line = format!("| `{}` | {} |\n", listed.name, listed.filter.unwrap().description);
        assert!(page.contains(&line), "{line}");
    }
}
