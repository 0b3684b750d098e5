//! Signatures of functions in their text form: `cudaMallocManaged(ptr:*ptr@32 bytes:size@40 flags:hex@28)`.

use crate::trace::{ArgKind, Argument, Signature};
use nom::bytes::complete::{tag, take_while1};
use nom::character::complete::{char, u16 as number};
use nom::combinator::{all_consuming, opt};
use nom::multi::separated_list0;
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
    let list = separated_list0(take_while1(|c| c == ' '), argument);
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
    let (rest, (role, _, star, kind, _, at)) =
        (word(), char(':'), opt(tag("*")), word(), char('@'), number).parse(text)?;
    let kind = ArgKind::from_word(kind);
    Ok((rest, Argument { role: role.to_owned(), kind, on_success: star.is_some(), at }))
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
