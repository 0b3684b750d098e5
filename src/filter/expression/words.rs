//! Words of the expression: which characters may stand without quotes, and how quotes are read and written.

/// What ends a word that is not in quotes.
pub(super) fn ends_word(char: char) -> bool {
    char.is_whitespace() || char.is_control() || matches!(char, '"' | '\'' | '(' | ')' | ',' | '|')
}

/// Bytes of the word that the text begins with.
pub(super) fn word(text: &str) -> usize {
    text.find(ends_word).unwrap_or(text.len())
}

/// Bytes of the regular expression that the text begins with: up to a blank, or a parenthesis that it has not opened.
pub(super) fn regex(text: &str) -> usize {
    let mut open = 0usize;
    let mut escaped = false;
    for (at, char) in text.char_indices() {
        match char {
            _ if char.is_whitespace() || char.is_control() => return at,
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '(' => open += 1,
            ')' if open == 0 => return at,
            ')' => open -= 1,
            _ => {}
        }
    }
    text.len()
}

/// Why a text in quotes cannot be read, and where in it.
pub(super) struct Unreadable {
    /// Byte at which the trouble begins.
    pub at: usize,
    /// Bytes of it.
    pub bytes: usize,
    /// What it is.
    pub why: String,
}

/// The text in quotes that `text` begins with, and how many bytes it takes.
pub(super) fn unquote(text: &str) -> Result<(String, usize), Unreadable> {
    let open = |why: &str| Unreadable { at: 0, bytes: text.len(), why: why.to_owned() };
    let mut chars = text.char_indices();
    let quote = chars.next().map_or('"', |(_, quote)| quote);
    let mut inner = String::new();
    while let Some((at, char)) = chars.next() {
        match char {
            _ if char == quote => return Ok((inner, at + 1)),
            '\\' if quote == '"' => {
                let Some((_, escape)) = chars.next() else { break };
                match escape {
                    '"' | '\\' => inner.push(escape),
                    'n' => inner.push('\n'),
                    'r' => inner.push('\r'),
                    't' => inner.push('\t'),
                    'u' => {
                        let (char, bytes) = code_point(&text[at + 2..]).ok_or_else(|| Unreadable {
                            at,
                            bytes: 2,
                            why: "expected \\u{...} with the number of a character in hexadecimal".to_owned(),
                        })?;
                        inner.push(char);
                        chars = text.char_indices();
                        let next = at + 2 + bytes;
                        while chars.offset() < next && chars.next().is_some() {}
                    }
                    other => {
                        let name = super::super::error::quoted(&format!("\\{other}"));
                        return Err(Unreadable {
                            at,
                            bytes: 1 + other.len_utf8(),
                            why: format!("no escape {name}; write \\\\ for a backslash, or use single quotes"),
                        });
                    }
                }
            }
            _ => inner.push(char),
        }
    }
    Err(open("the quote is not closed"))
}

/// The character that `{...}` at the beginning stands for, and the bytes of that.
fn code_point(text: &str) -> Option<(char, usize)> {
    let (digits, _) = text.strip_prefix('{')?.split_once('}')?;
    let plain = !digits.is_empty() && digits.len() <= 6 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    let number = plain.then(|| u32::from_str_radix(digits, 16).ok()).flatten()?;
    Some((char::from_u32(number)?, digits.len() + 2))
}

/// A text as it is read back: bare if it may be, else in the quotes that need fewest escapes.
pub(super) fn quote(text: &str, bare: bool) -> String {
    if bare {
        return text.to_owned();
    }
    let hidden = |char: char| char.is_control() || matches!(char, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}');
    if !text.contains('\'') && !text.contains(hidden) {
        return format!("'{text}'");
    }
    let mut quoted = String::from('"');
    for char in text.chars() {
        match char {
            '"' | '\\' => quoted.extend(['\\', char]),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            char if hidden(char) => quoted.extend(char.escape_unicode()),
            char => quoted.push(char),
        }
    }
    quoted.push('"');
    quoted
}
