//! Strings: borrowed as they stand, and decoded when they are wanted.

use std::borrow::Cow;

/// A string between its quotes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Str<'a> {
    /// As it stands.
    pub raw: &'a [u8],
    /// It has backslashes.
    pub escaped: bool,
}

/// What was wrong with a string.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wrong {
    /// Bytes that are no UTF-8, shown as U+FFFD.
    pub utf8: bool,
    /// Halves of surrogate pairs, likewise.
    pub surrogate: bool,
    /// Control characters as they stand.
    pub control: bool,
}

impl<'a> Str<'a> {
    /// Its text; escapes that are none stand as they are.
    #[must_use]
    pub fn text(&self, wrong: &mut Wrong) -> Cow<'a, str> {
        // The smallest of all is found many at a time.
        wrong.control |= self.raw.iter().fold(u8::MAX, |least, &byte| least.min(byte)) < 0x20;
        if !self.escaped {
            if let Ok(text) = std::str::from_utf8(self.raw) {
                return Cow::Borrowed(text);
            }
            wrong.utf8 = true;
            return String::from_utf8_lossy(self.raw);
        }
        let bytes = unescaped(self.raw, wrong);
        let text = match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => {
                wrong.utf8 = true;
                String::from_utf8_lossy(error.as_bytes()).into_owned()
            }
        };
        Cow::Owned(text)
    }
}

fn unescaped(raw: &[u8], wrong: &mut Wrong) -> Vec<u8> {
    let mut out = Vec::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        let (before, after) = rest.split_at_checked(at).unwrap_or((rest, &[]));
        out.extend_from_slice(before);
        let used = match after.get(1) {
            Some(b'u') => unicode(after, &mut out, wrong),
            Some(&escape) => {
                let plain = match escape {
                    b'"' | b'\\' | b'/' => Some(escape),
                    b'b' => Some(8),
                    b'f' => Some(12),
                    b'n' => Some(b'\n'),
                    b'r' => Some(b'\r'),
                    b't' => Some(b'\t'),
                    _ => None,
                };
                match plain {
                    Some(byte) => out.push(byte),
                    None => out.extend_from_slice(&[b'\\', escape]),
                }
                2
            }
            None => {
                out.push(b'\\');
                1
            }
        };
        rest = after.get(used..).unwrap_or(&[]);
    }
    out.extend_from_slice(rest);
    out
}

/// A `\u` escape at the beginning of `bytes`; the bytes that it takes.
fn unicode(bytes: &[u8], out: &mut Vec<u8>, wrong: &mut Wrong) -> usize {
    let Some(first) = hex(bytes) else {
        out.extend_from_slice(b"\\u");
        return 2;
    };
    let mut used = 6;
    let mut code = first;
    if (0xd800..0xdc00).contains(&first)
        && let Some(second) = bytes.get(6..).and_then(hex).filter(|second| (0xdc00..0xe000).contains(second))
    {
        used = 12;
        code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
    }
    let char = char::from_u32(code).unwrap_or_else(|| {
        wrong.surrogate = true;
        char::REPLACEMENT_CHARACTER
    });
    out.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes());
    used
}

fn hex(bytes: &[u8]) -> Option<u32> {
    let digits = bytes.strip_prefix(b"\\u")?.first_chunk::<4>()?;
    if !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(raw: &[u8]) -> (String, Wrong) {
        let mut wrong = Wrong::default();
        let text = Str { raw, escaped: raw.contains(&b'\\') }.text(&mut wrong);
        (text.into_owned(), wrong)
    }

    #[test]
    fn escapes_are_decoded_and_bad_ones_stand() {
        assert_eq!(text(br#"a\n\"\\\/\u00e4\ud83d\ude00"#).0, "a\n\"\\/\u{e4}\u{1f600}");
        assert_eq!(text(br"C:\Users\x\q").0, "C:\\Users\\x\\q");
        assert_eq!(text(br"\ud83d!").0, "\u{fffd}!");
        assert!(text(br"\ude00").1.surrogate && text(b"\xff").1.utf8 && text(b"a\tb").1.control);
        assert_eq!(text(b"\\").0, "\\");
    }

    proptest! {
        #[test]
        fn what_serde_writes_comes_back(value in any::<String>()) {
            let json = serde_json::to_string(&value).unwrap();
            let raw = &json.as_bytes()[1..json.len() - 1];
            prop_assert_eq!(text(raw), (value, Wrong::default()));
        }

        #[test]
        fn any_bytes_are_some_text(raw in prop::collection::vec(any::<u8>(), 0..60)) {
            let _ = text(&raw);
        }
    }
}
