//! One line of a text trace.

use crate::parse::native::signature;
use crate::trace::activity::raw::Submitted;
use crate::trace::{Layer, Signature};
use nom::branch::alt;
use nom::bytes::complete::{escaped_transform, tag, take_till1, take_while, take_while_m_n, take_while1};
use nom::character::complete::{char, none_of, u8 as small, u32 as number, u64 as long};
use nom::combinator::{all_consuming, map_opt, map_res, opt, rest, value};
use nom::multi::{many0, separated_list0};
use nom::sequence::{delimited, preceded, terminated};
use nom::{IResult, Parser};

/// What a line says.
#[derive(Clone, Debug, PartialEq)]
pub enum Line<'a> {
    /// Nothing.
    Comment,
    /// Time that all others are counted from, ns on the trace's axis.
    Start(u64),
    /// A process: its label and what is known of it.
    Process(&'a str, Vec<(&'a str, Value<'a>)>),
    /// An argument of a process's command line.
    Argument(&'a str, String),
    /// A module of a process.
    Module(&'a str, Vec<(&'a str, Value<'a>)>),
    /// A kernel handle of a process.
    Kernel(&'a str, u64, String),
    /// A function: label, and its definition if it is known.
    Api(&'a str, Option<(Layer, String, Signature)>),
    /// A thread: process, id, losses, name.
    Thread(&'a str, u32, u64, String),
    /// The open lines of a thread down to this depth are complete.
    Up(&'a str, u32, u8),
    /// A call.
    Call(CallLine<'a>),
    /// A device of a process.
    Device(&'a str, Vec<(&'a str, Value<'a>)>),
    /// What was recorded of a process, or why not.
    Evidence(&'a str, Vec<(&'a str, Value<'a>)>),
    /// What is known of a process's records of the GPU.
    Gpu(&'a str, Vec<(&'a str, Value<'a>)>),
    /// What the GPU or the driver did.
    Activity(ActivityLine<'a>),
    /// A range or a mark.
    Range(RangeLine<'a>),
}

/// What the GPU or the driver did.
#[derive(Clone, Debug, PartialEq)]
pub struct ActivityLine<'a> {
    /// Time since the start, ns.
    pub time: u64,
    /// Process label.
    pub process: &'a str,
    /// Kind, in a word.
    pub kind: &'a str,
    /// Duration, ns; `None`: nobody knows when.
    pub duration: Option<u64>,
    /// Fields that are not zero.
    pub pairs: Vec<(&'a str, Value<'a>)>,
}

/// A range or a mark.
#[derive(Clone, Debug, PartialEq)]
pub struct RangeLine<'a> {
    /// Time since the start, ns.
    pub time: u64,
    /// Process label.
    pub process: &'a str,
    /// Thread id.
    pub thread: u32,
    /// Kind, in a word.
    pub kind: &'a str,
    /// Duration, ns; `None`: not ended.
    pub duration: Option<u64>,
    /// Fields that are not zero.
    pub pairs: Vec<(&'a str, Value<'a>)>,
}

/// A value in a definition line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// A word.
    Word(&'a str),
    /// Text in quotes.
    Text(String),
}

/// A call, ended or not.
#[derive(Clone, Debug, PartialEq)]
pub struct CallLine<'a> {
    /// Time since the start, ns.
    pub time: u64,
    /// Process label.
    pub process: &'a str,
    /// Thread id.
    pub thread: u32,
    /// Function label.
    pub api: &'a str,
    /// Arguments by role.
    pub arguments: Arguments<'a>,
    /// Status or value; `None`: not seen.
    pub status: Option<u32>,
    /// Duration, ns; `None`: not ended.
    pub duration: Option<u64>,
    /// Nesting.
    pub depth: u8,
    /// Words after the depth.
    pub flags: Vec<&'a str>,
    /// What it submitted.
    pub submitted: Option<Submitted>,
    /// Return address.
    pub site: u64,
}

/// What stands in a call's parentheses.
#[derive(Clone, Debug, PartialEq)]
pub enum Arguments<'a> {
    /// Roles and values.
    Named(Vec<(&'a str, Value<'a>)>),
    /// Registers of a call that has not ended.
    Registers(Vec<u64>),
}

/// Reads a line; `None` if it is not understood.
pub fn parse(text: &str) -> Option<Line<'_>> {
    let text = text.strip_suffix('\r').unwrap_or(text);
    if text.trim().is_empty() {
        return Some(Line::Comment);
    }
    match text.strip_prefix('#') {
        Some(definition) => parse_definition(definition.trim_start()),
        None => alt((activity, range, call.map(Line::Call))).parse(text).ok().map(|(_, line)| line),
    }
}

/// A line as it reads when backslashes that begin no escape are taken as they stand; `None` if it has none of these.
pub fn mended(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len() + 8);
    let mut left = text;
    while let Some((before, after)) = left.split_once('\\') {
        out.push_str(before);
        out.push('\\');
        left = match escape(after) {
            Ok((rest, _)) => {
                out.push_str(after.strip_suffix(rest).unwrap_or_default());
                rest
            }
            Err(_) => {
                out.push('\\');
                after
            }
        };
    }
    out.push_str(left);
    (out.len() > text.len()).then_some(out)
}

/// What can be read of a line that defines a process, up to where it goes wrong: all lines of the process need it.
pub fn begun_process(text: &str) -> Option<Line<'_>> {
    let body = text.strip_prefix('#')?.trim_start().strip_prefix("process ")?;
    let (_, (who, pairs)) = (label, many0(preceded(char(' '), pair))).parse(body).ok()?;
    Some(Line::Process(who, pairs))
}

fn parse_definition(text: &str) -> Option<Line<'_>> {
    let (keyword, body) = text.split_once(' ').unwrap_or((text, ""));
    let line = match keyword {
        "start" => long.map(Line::Start).parse(body),
        "process" => {
            (label, many0(preceded(char(' '), pair))).map(|(who, pairs)| Line::Process(who, pairs)).parse(body)
        }
        "module" => (label, many0(preceded(char(' '), pair))).map(|(who, pairs)| Line::Module(who, pairs)).parse(body),
        "device" => (label, many0(preceded(char(' '), pair))).map(|(who, pairs)| Line::Device(who, pairs)).parse(body),
        "evidence" => {
            (label, many0(preceded(char(' '), pair))).map(|(who, pairs)| Line::Evidence(who, pairs)).parse(body)
        }
        "gpu" => (label, many0(preceded(char(' '), pair))).map(|(who, pairs)| Line::Gpu(who, pairs)).parse(body),
        "argument" => (label, char(' '), quoted).map(|(who, _, text)| Line::Argument(who, text)).parse(body),
        "kernel" => (label, char(' '), hex, char(' '), quoted)
            .map(|(who, _, handle, _, name)| Line::Kernel(who, handle, name))
            .parse(body),
        "api" => api(body),
        "thread" => (who, tag(" lost="), long, char(' '), quoted)
            .map(|((process, thread), _, lost, _, name)| Line::Thread(process, thread, lost, name))
            .parse(body),
        "up" => {
            (who, char(' '), small).map(|((process, thread), _, depth)| Line::Up(process, thread, depth)).parse(body)
        }
        _ => return Some(Line::Comment),
    };
    line.ok().filter(|(left, _)| left.trim().is_empty()).map(|(_, line)| line)
}

fn api(text: &str) -> IResult<&str, Line<'_>> {
    let layer = alt((value(Layer::Runtime, tag("runtime")), value(Layer::Driver, tag("driver"))));
    let known = (layer, char(' '), quoted, char(' '), signature::arguments)
        .map(|(layer, _, name, _, signature)| Some((layer, name, signature)));
    let unknown = value(None, tag("undefined"));
    (label, char(' '), alt((known, unknown))).map(|(label, _, known)| Line::Api(label, known)).parse(text)
}

fn call(text: &str) -> IResult<&str, CallLine<'_>> {
    let (left, (time, _, (process, thread), _)) = (time, char(' '), who, char(' ')).parse(text)?;
    let (left, (_name, _, api)) = (label, char(' '), take_till1(|c| c == '(' || c == ' ')).parse(left)?;
    let named = separated_list0(char(' '), pair).map(Arguments::Named);
    let registers = nom::multi::separated_list1(char(' '), hex).map(Arguments::Registers);
    let (left, arguments) = delimited(char('('), alt((registers, named)), char(')')).parse(left)?;
    let (left, (status, _comment)) =
        preceded(tag(" = "), (alt((number.map(Some), value(None, char('?')))), opt(preceded(char(' '), word))))
            .parse(left)?;
    let ended = alt((long.map(Some), value(None, tag("unfinished"))));
    let (left, duration) = delimited(tag(" <"), ended, char('>')).parse(left)?;
    let (left, depth) = preceded(tag(" d"), small).parse(left)?;
    let (left, flags) = many0(preceded(char(' '), word)).parse(left)?;
    let (left, submitted) = opt(preceded(tag(" => "), submitted)).parse(left)?;
    let (left, site) = preceded(tag(" @ "), hex).parse(left)?;
    let (left, _) = rest.parse(left)?;
    Ok((left, CallLine { time, process, thread, api, arguments, status, duration, depth, flags, submitted, site }))
}

/// `17/0x0 (0x7f00 0x8000)`; a `+` after the pointers: there were more.
fn submitted(text: &str) -> IResult<&str, Submitted> {
    let pointers = separated_list0(char(' '), hex);
    (number, char('/'), hex, tag(" ("), pointers, opt(char('+')), char(')'))
        .map(|(correlation, _, node, _, pointers, cut, _)| Submitted {
            correlation,
            node,
            pointers,
            cut: cut.is_some(),
        })
        .parse(text)
}

fn activity(text: &str) -> IResult<&str, Line<'_>> {
    let known = alt((long.map(Some), value(None, char('?'))));
    let pairs = many0(preceded(char(' '), pair));
    let parts = (time, tag(" gpu "), label, char(' '), word, tag(" <"), known, char('>'), pairs);
    all_consuming(parts)
        .map(|(time, _, process, _, kind, _, duration, _, pairs)| {
            Line::Activity(ActivityLine { time, process, kind, duration, pairs })
        })
        .parse(text)
}

fn range(text: &str) -> IResult<&str, Line<'_>> {
    let ended = alt((long.map(Some), value(None, tag("unfinished"))));
    let pairs = many0(preceded(char(' '), pair));
    let parts = (time, tag(" range "), who, char(' '), word, tag(" <"), ended, char('>'), pairs);
    all_consuming(parts)
        .map(|(time, _, (process, thread), _, kind, _, duration, _, pairs)| {
            Line::Range(RangeLine { time, process, thread, kind, duration, pairs })
        })
        .parse(text)
}

/// `12.345678901`: ns.
fn time(text: &str) -> IResult<&str, u64> {
    let fraction = map_res(take_while_m_n(9, 9, |c: char| c.is_ascii_digit()), str::parse::<u64>);
    map_opt((long, char('.'), fraction), |(seconds, _, nanos)| seconds.checked_mul(1_000_000_000)?.checked_add(nanos))
        .parse(text)
}

fn who(text: &str) -> IResult<&str, (&str, u32)> {
    let process = take_while1(|c: char| c.is_ascii_graphic() && c != '/');
    (terminated(process, char('/')), number).parse(text)
}

fn label(text: &str) -> IResult<&str, &str> {
    take_while1(|c: char| !c.is_whitespace() && !c.is_control()).parse(text)
}

/// A word of a status's name or a flag.
fn word(text: &str) -> IResult<&str, &str> {
    take_while1(|c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-').parse(text)
}

fn hex(text: &str) -> IResult<&str, u64> {
    let digits = take_while_m_n(1, 16, |c: char| c.is_ascii_hexdigit());
    preceded(tag("0x"), map_res(digits, |digits| u64::from_str_radix(digits, 16))).parse(text)
}

fn pair(text: &str) -> IResult<&str, (&str, Value<'_>)> {
    let key = take_while1(|c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    let bare = take_while(|c: char| c.is_ascii_graphic() && c != ')' && c != '"').map(Value::Word);
    let (left, (key, _, value)) = (key, char('='), alt((quoted.map(Value::Text), bare))).parse(text)?;
    Ok((left, (key, value)))
}

/// What follows a backslash, as in Rust's `{:?}`.
fn escape(text: &str) -> IResult<&str, char> {
    let code = map_opt(
        map_res(delimited(tag("u{"), take_while_m_n(1, 6, |c: char| c.is_ascii_hexdigit()), char('}')), |digits| {
            u32::from_str_radix(digits, 16)
        }),
        char::from_u32,
    );
    alt((
        code,
        value('\n', char('n')),
        value('\r', char('r')),
        value('\t', char('t')),
        value('\0', char('0')),
        value('\\', char('\\')),
        value('"', char('"')),
        value('\'', char('\'')),
    ))
    .parse(text)
}

/// Text in quotes, escaped as Rust's `{:?}` does.
fn quoted(text: &str) -> IResult<&str, String> {
    let inner = opt(escaped_transform(none_of("\"\\"), '\\', escape)).map(Option::unwrap_or_default);
    delimited(char('"'), inner, char('"')).parse(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_call_reads() {
        let text = "12.000000005 4121/4125 main cudaMalloc(ptr=0x7f bytes=12 name=\"a b\\\"\") = 2 cudaErrorMemoryAllocation \
                    <77> d1 captured @ 0xabc lib foo.so+0x1";
        let Some(Line::Call(call)) = parse(text) else { panic!("{text}") };
        assert_eq!((call.time, call.process, call.thread, call.api), (12_000_000_005, "4121", 4125, "cudaMalloc"));
        assert_eq!((call.status, call.duration, call.depth, call.site), (Some(2), Some(77), 1, 0xabc));
        assert_eq!(call.flags, ["captured"]);
        let Arguments::Named(arguments) = call.arguments else { panic!() };
        assert_eq!(arguments[2], ("name", Value::Text("a b\"".into())));
    }

    #[test]
    fn definitions_and_comments_read() {
        assert_eq!(parse("# hello world"), Some(Line::Comment));
        assert_eq!(parse("# start 5"), Some(Line::Start(5)));
        assert_eq!(parse("# start x"), None);
        assert_eq!(parse("# thread 1/2 lost=3 \"\""), Some(Line::Thread("1", 2, 3, String::new())));
        assert_eq!(parse("# up 1#2/3 0\r"), Some(Line::Up("1#2", 3, 0)));
        assert_eq!(parse("nonsense"), None);
    }

    #[test]
    fn backslashes_that_begin_no_escape_are_taken_as_they_stand() {
        for (text, expected) in [
            (r"a\qb", Some(r"a\\qb")),
            (r"a\n\\\u{1b}\'", None),
            (r"a\\q\xb", Some(r"a\\q\\xb")),
            (r"\u{110000}\u{d800}\u{}\u", Some(r"\\u{110000}\\u{d800}\\u{}\\u")),
            (r"日\日", Some(r"日\\日")),
            (r"\", Some(r"\\")),
        ] {
            assert_eq!(mended(text).as_deref(), expected, "{text}");
        }
        let process = begun_process("# process 7 pid=7 program=\"a\\\" state=ended");
        assert_eq!(process, Some(Line::Process("7", vec![("pid", Value::Word("7")), ("program", Value::Word(""))])));
        assert_eq!(begun_process("# thread 7/7 lost=0 \"\""), None);
    }

    proptest! {
        #[test]
        fn what_was_mended_needs_it_no_more(text in "[\\\\a-z{}0-9\"\u{e9}]{0,30}") {
            let mended = mended(&text).unwrap_or(text);
            prop_assert_eq!(super::mended(&mended), None);
        }

        #[test]
        fn quotes_come_back(text in any::<String>()) {
            let escaped = format!("{text:?}");
            prop_assert_eq!(quoted(&escaped), Ok(("", text)));
        }

        #[test]
        fn any_line_is_survived(text in ".{0,80}", good in "[0-9]{1,3}\\.[0-9]{9} 1/2 m f\\(a=0x1\\) = 0 <5> d0 @ 0x[0-9a-f]{1,4}", cut in 0usize..90) {
            let _ = parse(&text);
            let _ = parse(&format!("# {text}"));
            let _ = parse(good.get(..cut.min(good.len())).unwrap_or(""));
            prop_assert!(parse(&good).is_some());
        }
    }
}
