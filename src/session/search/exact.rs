//! A pattern that one name fits, whatever characters are in it.

use std::fmt::Write as _;

use crate::filter::{MAX_PATTERN, Pattern};
use crate::session::safe::prints;

/// The pattern that this text fits, and nothing else but for case; of a very long one whatever begins so. A name in
/// which a glob would see stars, or which has characters that no line can hold, becomes a regular expression.
pub(crate) fn exact(text: &str) -> Pattern {
    let plain = |char: char| prints(char) && !matches!(char, '*' | '?');
    if !text.is_empty() && text.len() <= MAX_PATTERN && text.chars().all(plain) {
        return Pattern::Glob(text.to_owned());
    }
    let mut regex = String::from("^");
    for char in text.chars() {
        let before = regex.len();
        if prints(char) {
            regex.push_str(&regex::escape(char.encode_utf8(&mut [0; 4])));
        } else {
            // Writing to a String cannot fail.
            let _ = write!(regex, "\\x{{{:x}}}", u32::from(char));
        }
        if regex.len() >= MAX_PATTERN {
            regex.truncate(before);
            return Pattern::Regex(regex);
        }
    }
    regex.push('$');
    Pattern::Regex(regex)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::filter::{Condition, Matcher, TextField, expression};

    proptest! {
        #[test]
        fn a_text_fits_its_own_pattern_also_after_it_was_written(
            text in "\\PC{1,20}|[a-z*?<>(),:&\\\\'\" \\x00-\\x1f]{1,30}", times in 1_usize..600, other in "[a-z]{1,6}",
        ) {
            let text = text.repeat(times);
            let pattern = exact(&text);
            let matcher = Matcher::new(&pattern).unwrap();
            prop_assert!(matcher.matches(&text));
            if text.len() < 400 {
                let (longer, later) = (text.clone() + &other, other + &text);
                prop_assert!(!matcher.matches(&longer) && !matcher.matches(&later));
            }
            let condition = Condition::Text(TextField::Kernel, pattern);
            let written = expression::write(&condition);
            prop_assert!(written.chars().all(prints), "{:?}", written);
            prop_assert_eq!(expression::read("", written.trim()).unwrap().normal(), condition.normal(), "{}", written);
        }
    }
}
