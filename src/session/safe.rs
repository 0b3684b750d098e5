//! Text from a trace made safe for the terminal.
//!
//! Names come from programs, files and other machines. None of them may move the cursor, change the colours or
//! turn the writing direction: what could is shown as an escape.

use std::borrow::Cow;
use std::fmt::Write as _;

/// The text with everything that a terminal would not print as itself escaped: `\n`, `\x1b`, `\u{202e}`.
#[must_use]
pub fn safe(text: &str) -> Cow<'_, str> {
    if text.chars().all(prints) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    text.chars().for_each(|character| push(&mut out, character));
    Cow::Owned(out)
}

/// Likewise for bytes that may not be text: those that are not UTF-8 become `\xff`.
#[must_use]
pub fn safe_bytes(bytes: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return safe(text);
    }
    let mut out = String::with_capacity(bytes.len() + 8);
    for chunk in bytes.utf8_chunks() {
        chunk.valid().chars().for_each(|character| push(&mut out, character));
        for byte in chunk.invalid() {
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
    Cow::Owned(out)
}

fn push(out: &mut String, character: char) {
    match character {
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        _ if prints(character) => out.push(character),
        _ if u32::from(character) < 0x100 => {
            let _ = write!(out, "\\x{:02x}", u32::from(character));
        }
        _ => {
            let _ = write!(out, "\\u{{{:x}}}", u32::from(character));
        }
    }
}

/// Whether a terminal shows the character as itself and nothing else happens.
#[must_use]
pub const fn prints(character: char) -> bool {
    !matches!(character,
        '\0'..='\x1f' | '\x7f'..='\u{9f}'            // controls, C1 included
        | '\u{ad}' | '\u{61c}' | '\u{180e}'          // soft hyphen, Arabic mark, Mongolian separator
        | '\u{200b}'..='\u{200f}'                    // zero width, marks of direction
        | '\u{2028}'..='\u{202e}'                    // line and paragraph ends, embeddings and overrides
        | '\u{2060}'..='\u{206f}'                    // isolates and other invisible ones
        | '\u{feff}' | '\u{fff9}'..='\u{fffb}'       // byte order mark, annotations
        | '\u{e0000}'..='\u{e01ef}'                  // tags, selectors
        | '\u{fe00}'..='\u{fe0f}'                    // selectors, letters of flags, tones of skin: how many cells these
        | '\u{1f1e6}'..='\u{1f1ff}'                  // make of what is beside them, no two terminals agree on, and what
        | '\u{1f3fb}'..='\u{1f3ff}'                  // one of them draws over would stay on its screen
        | '\u{e000}'..='\u{f8ff}' | '\u{f0000}'..='\u{10ffff}' // private use: anything may be drawn
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_prints_stays() {
        for text in ["cudaMalloc", "grün 数 e\u{301}", "a\\nb", ""] {
            assert!(matches!(safe(text), Cow::Borrowed(same) if same == text));
        }
    }

    #[test]
    fn what_would_act_is_shown() {
        for (text, shown) in [
            ("a\x1b[2Jb", "a\\x1b[2Jb"),
            ("\u{9b}31m", "\\x9b31m"),
            ("a\nb\tc\r", "a\\nb\\tc\\r"),
            ("\x07\x7f\0", "\\x07\\x7f\\x00"),
            ("\u{202e}txt.exe", "\\u{202e}txt.exe"),
            ("a\u{2066}b\u{200b}", "a\\u{2066}b\\u{200b}"),
            ("\u{2764}\u{fe0f}\u{1f1ea}", "\u{2764}\\u{fe0f}\\u{1f1ea}"),
        ] {
            assert_eq!(safe(text), shown);
        }
        assert_eq!(safe_bytes(b"a\xffb\x1b\xc3"), "a\\xffb\\x1b\\xc3");
    }

    #[test]
    fn nothing_that_acts_comes_through() {
        for number in 0..0x11_0000u32 {
            let Some(character) = char::from_u32(number) else { continue };
            let mut buffer = [0; 4];
            let shown = safe(character.encode_utf8(&mut buffer)).into_owned();
            assert!(shown.chars().all(|c| !c.is_control() && prints(c)), "{number:x}");
        }
    }
}
