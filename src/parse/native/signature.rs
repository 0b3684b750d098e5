//! Signatures of functions in their text form: `cudaMallocManaged(ptr:*ptr@32 bytes:size@40 flags:hex@28)`.

use crate::trace::{ArgKind, Argument, Only, Signature};
use nom::bytes::complete::{tag, take_while1};
use nom::character::complete::{char, u16 as number, u32 as value};
use nom::combinator::{all_consuming, map_opt, opt};
use nom::multi::{separated_list0, separated_list1};
use nom::sequence::{delimited, preceded};
use nom::{IResult, Parser};

/// Name and recorded arguments; `None` if the text is not a signature.
#[must_use]
pub fn parse(text: &str) -> Option<(&str, Signature)> {
    let (_, (name, signature)) = all_consuming((name, arguments)).parse(text).ok()?;
    Some((name, signature))
}

/// The arguments alone, in their parentheses, and what a profiler called the function.
///
/// # Errors
/// nom's, when the text does not begin with a list of arguments.
pub fn arguments(text: &str) -> IResult<&str, Signature> {
    let list = map_opt(separated_list0(take_while1(|c| c == ' '), argument), with_places);
    let original = opt(preceded(tag(" as "), take_while1(|c: char| !c.is_whitespace() && !c.is_control())));
    (delimited(char('('), list, char(')')), original)
        .map(|(arguments, original)| Signature { arguments, original: original.unwrap_or_default().to_owned() })
        .parse(text)
}

fn name(text: &str) -> IResult<&str, &str> {
    take_while1(|c: char| !c.is_whitespace() && !c.is_control() && c != '(' && c != ')').parse(text)
}

fn argument(text: &str) -> IResult<&str, Argument> {
    let word = || take_while1(|c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    let values = separated_list1(char('|'), value);
    let only = opt((preceded(char('?'), word()), preceded(char('='), values)));
    let (rest, (role, _, star, kind, _, at, only)) =
        (word(), char(':'), opt(tag("*")), word(), char('@'), number, only).parse(text)?;
    let kind = ArgKind::from_word(kind);
    let only = only.map(|(role, values)| Box::new(Only { role: role.to_owned(), at: 0, values }));
    Ok((rest, Argument { role: role.to_owned(), kind, on_success: star.is_some(), at, only }))
}

/// Arguments whose conditions know where the arguments lie that they ask about; `None` if there is none of 4 bytes that is
/// always there.
fn with_places(mut arguments: Vec<Argument>) -> Option<Vec<Argument>> {
    for index in 0..arguments.len() {
        let Some(only) = arguments.get(index).and_then(|argument| argument.only.as_ref()) else { continue };
        let asked = arguments.iter().find(|argument| argument.role == only.role)?;
        if asked.only.is_some() || asked.kind.bytes() != 4 {
            return None;
        }
        let at = asked.at;
        if let Some(only) = arguments.get_mut(index).and_then(|argument| argument.only.as_mut()) {
            only.at = at;
        }
    }
    Some(arguments)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_come_back() {
        let text = "cudaMallocManaged(ptr:*ptr@32 bytes:size@40 flags:hex@28)";
        let (name, signature) = parse(text).unwrap();
        assert_eq!(format!("{name}{signature}"), text);
        assert!(signature.arguments[0].on_success);
        let text = "cudaFree(ptr:ptr@32) as cudaFree_v3020,cudaFree_v3020_ptds";
        let (name, signature) = parse(text).unwrap();
        assert_eq!((name, signature.original.as_str()), ("cudaFree", "cudaFree_v3020,cudaFree_v3020_ptds"));
        assert_eq!(format!("{name}{signature}"), text);
        assert_eq!(parse("cudaDeviceSynchronize()").unwrap().1, Signature::default());
        let text = "cudaGraphAddNode(type:*nodetype@28 bytes:*size@32?type=10 event:*handle@32?type=6|7)";
        let (name, signature) = parse(text).unwrap();
        assert_eq!(format!("{name}{signature}"), text);
        let only = Only { role: "type".into(), at: 28, values: vec![6, 7] };
        assert_eq!(signature.arguments[2].only, Some(Box::new(only)));
        assert_eq!(signature.with("type", 10).arguments.len(), 2);
        assert_eq!(signature.with("type", 5).arguments.len(), 1);
        for bad in [
            "",
            "x",
            "x(",
            "x(a)",
            "x(a:ptr)",
            "x(a:ptr@)",
            "x(a:ptr@70000)",
            "x(a:ptr@32",
            "x()y",
            "x() as",
            "x() as ",
            "x(a:u32@28 b:ptr@32?a)",
            "x(a:u32@28 b:ptr@32?a=)",
            "x(a:u32@28 b:ptr@32?a=1|)",
            "x(a:u32@28 b:ptr@32?a=5000000000)",
            "x(a:u32@28 b:ptr@32?c=1)",
            "x(a:u64@32 b:ptr@40?a=1)",
            "x(a:u32@28?b=1 b:u32@32?a=1)",
            "x(a:u32@28?a=1)",
        ] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn the_whole_table_is_understood() {
        for function in umtui_wire::table::FUNCTIONS {
            let (name, signature) = parse(function.signature).unwrap_or_else(|| panic!("{}", function.signature));
            assert_eq!(name, function.name);
            if function.known {
                assert_eq!(format!("{name}{signature}"), function.signature);
            }
        }
    }
}
