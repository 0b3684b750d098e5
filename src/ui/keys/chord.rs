//! One key as pressed, and its spelling.

use std::fmt;

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use crate::config::nearest;

/// A key with its modifiers, in one normal form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    code: KeyCode,
    modifiers: KeyModifiers,
}

/// Names of keys that are no characters; the first of a key is the one that is shown.
const NAMED: [(&str, KeyCode); 22] = [
    ("Space", KeyCode::Char(' ')),
    ("Enter", KeyCode::Enter),
    ("Return", KeyCode::Enter),
    ("Esc", KeyCode::Esc),
    ("Escape", KeyCode::Esc),
    ("Tab", KeyCode::Tab),
    ("Backspace", KeyCode::Backspace),
    ("Up", KeyCode::Up),
    ("Down", KeyCode::Down),
    ("Left", KeyCode::Left),
    ("Right", KeyCode::Right),
    ("PgUp", KeyCode::PageUp),
    ("PageUp", KeyCode::PageUp),
    ("Page-Up", KeyCode::PageUp),
    ("PgDn", KeyCode::PageDown),
    ("PageDown", KeyCode::PageDown),
    ("Page-Down", KeyCode::PageDown),
    ("Home", KeyCode::Home),
    ("End", KeyCode::End),
    ("Ins", KeyCode::Insert),
    ("Del", KeyCode::Delete),
    ("Delete", KeyCode::Delete),
];

const MODIFIERS: [(&str, KeyModifiers); 3] =
    [("ctrl-", KeyModifiers::CONTROL), ("alt-", KeyModifiers::ALT), ("shift-", KeyModifiers::SHIFT)];

/// Function keys that terminals have.
const FUNCTION_KEYS: std::ops::RangeInclusive<u8> = 1..=12;

impl Key {
    /// The key of an event; nothing for a release.
    pub fn from_event(event: &KeyEvent) -> Option<Self> {
        if event.kind == KeyEventKind::Release {
            return None;
        }
        let kept = KeyModifiers::CONTROL | KeyModifiers::ALT | KeyModifiers::SHIFT;
        let mut modifiers = event.modifiers & kept;
        let mut code = event.code;
        if let KeyCode::Char(character) = code {
            // The character already says whether Shift was held. AltGr comes as Ctrl+Alt from some terminals.
            modifiers -= KeyModifiers::SHIFT;
            if !character.is_ascii_alphanumeric() && modifiers.contains(KeyModifiers::CONTROL | KeyModifiers::ALT) {
                modifiers = KeyModifiers::NONE;
            }
            if modifiers.contains(KeyModifiers::CONTROL) {
                code = KeyCode::Char(character.to_ascii_lowercase());
            }
        }
        if code == KeyCode::BackTab {
            (code, modifiers) = (KeyCode::Tab, modifiers | KeyModifiers::SHIFT);
        }
        Some(Self { code, modifiers })
    }

    /// The character that it types, if it types one.
    pub fn character(&self) -> Option<char> {
        match self.code {
            KeyCode::Char(character) if self.modifiers.is_empty() => Some(character),
            _ => None,
        }
    }

    /// Reads a spelling such as `g`, `G`, `Ctrl-d`, `shift-tab`, `PgDn`, `F1`. Names and modifiers may be in capitals
    /// or not; a character stands for itself.
    ///
    /// # Errors
    /// If there is no such key, or no terminal can send it: what is wrong and what to write instead.
    pub fn read(text: &str) -> Result<Self, String> {
        let (modifiers, name) = split(text);
        let mut characters = name.chars();
        let code = match (characters.next(), characters.next()) {
            (None, _) if text.is_empty() => return Err("a key is expected".to_owned()),
            (None, _) => return Err(format!("'{text}' names no key after its last '-'")),
            (Some(character), None) => KeyCode::Char(character),
            _ => named(name).ok_or_else(|| unknown(text, name))?,
        };
        match code {
            KeyCode::Char(character) => Self::of_character(text, character, modifiers),
            KeyCode::Enter | KeyCode::Tab | KeyCode::Esc | KeyCode::Backspace => {
                Self::of_control(text, code, modifiers)
            }
            _ => Ok(Self { code, modifiers }),
        }
    }

    /// A character, if a terminal can send it with these modifiers.
    fn of_character(text: &str, character: char, modifiers: KeyModifiers) -> Result<Self, String> {
        let (ctrl, alt) = (modifiers.contains(KeyModifiers::CONTROL), modifiers.contains(KeyModifiers::ALT));
        if modifiers.contains(KeyModifiers::SHIFT) {
            return Err(match character {
                ' ' => arrives(text, "space"),
                _ if ctrl => arrives(text, &format!("ctrl-{}", character.to_lowercase())),
                _ if character.is_alphabetic() => {
                    format!("with shift a key is the character that it gives: write '{}'", character.to_uppercase())
                }
                _ => format!("with shift a key is the character that it gives: write that, not '{text}'"),
            });
        }
        if character.is_control() {
            return Err("a control character is no key; write its name, such as 'tab', 'enter' or 'ctrl-d'".to_owned());
        }
        if alt && !ctrl && matches!(character, '[' | 'O') {
            return Err(format!("no terminal can send '{text}': other keys begin with the same bytes"));
        }
        if !ctrl {
            return Ok(Self { code: KeyCode::Char(character), modifiers });
        }
        let lower = character.to_ascii_lowercase();
        match lower {
            'i' => Err(arrives(text, "tab")),
            'm' => Err(arrives(text, "enter")),
            '[' | '3' => Err(arrives(text, "esc")),
            '?' | '8' => Err(arrives(text, "backspace")),
            '@' | '2' => Err(arrives(text, "ctrl-space")),
            '\\' => Err(arrives(text, "ctrl-4")),
            ']' => Err(arrives(text, "ctrl-5")),
            '^' | '~' => Err(arrives(text, "ctrl-6")),
            '_' | '/' => Err(arrives(text, "ctrl-7")),
            'a'..='z' | ' ' | '4'..='7' => Ok(Self { code: KeyCode::Char(lower), modifiers }),
            _ => Err(format!("no terminal can send '{text}': Ctrl goes with letters, space and 4 to 7")),
        }
    }

    /// Enter, Tab, Esc or Backspace, which are one byte each.
    fn of_control(text: &str, code: KeyCode, modifiers: KeyModifiers) -> Result<Self, String> {
        let shift_tab = code == KeyCode::Tab && modifiers == KeyModifiers::SHIFT;
        let alone = modifiers.is_empty() || (modifiers == KeyModifiers::ALT && code != KeyCode::Esc);
        if alone || shift_tab {
            return Ok(Self { code, modifiers });
        }
        Err(arrives(text, &Self { code, modifiers: KeyModifiers::NONE }.to_string().to_lowercase()))
    }

    /// The same, for spellings of our own.
    pub fn parse(text: &str) -> Option<Self> {
        Self::read(text).ok()
    }

    /// Reads a sequence of spellings with spaces between them.
    pub fn parse_sequence(text: &str) -> Option<Vec<Self>> {
        Self::read_sequence(text).ok()
    }

    /// Reads a sequence of spellings with spaces between them.
    ///
    /// # Errors
    /// As [`Key::read`], for the first that cannot be read.
    pub fn read_sequence(text: &str) -> Result<Vec<Self>, String> {
        if text == " " {
            return Err("a space separates keys; write 'space'".to_owned());
        }
        text.split(' ').map(Self::read).collect()
    }

    /// A sequence as it is shown.
    pub fn spell(keys: &[Self]) -> String {
        keys.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
    }
}

/// The modifiers that a spelling begins with, and the rest.
fn split(text: &str) -> (KeyModifiers, &str) {
    let (mut modifiers, mut rest) = (KeyModifiers::NONE, text);
    while let Some((prefix, modifier)) = MODIFIERS
        .iter()
        .find(|(prefix, _)| rest.get(..prefix.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(prefix)))
    {
        modifiers |= *modifier;
        rest = rest.get(prefix.len()..).unwrap_or_default();
    }
    (modifiers, rest)
}

fn named(name: &str) -> Option<KeyCode> {
    if let Some((_, code)) = NAMED.iter().find(|(spelling, _)| spelling.eq_ignore_ascii_case(name)) {
        return Some(*code);
    }
    let number = name.strip_prefix(['F', 'f'])?;
    let number: u8 = number.parse().ok().filter(|n: &u8| number == n.to_string())?;
    FUNCTION_KEYS.contains(&number).then_some(KeyCode::F(number))
}

fn unknown(text: &str, name: &str) -> String {
    let known = NAMED.iter().map(|(spelling, _)| *spelling);
    let hint = nearest::hint(name, known.chain(["F1", "F10", "F12", "ctrl-x", "alt-x"]));
    format!("there is no key '{text}'{hint}")
}

fn arrives(text: &str, instead: &str) -> String {
    format!("no terminal can send '{text}': it arrives as '{instead}'; write that, or choose another key")
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.modifiers.contains(KeyModifiers::CONTROL) {
            f.write_str("Ctrl-")?;
        }
        if self.modifiers.contains(KeyModifiers::ALT) {
            f.write_str("Alt-")?;
        }
        if self.modifiers.contains(KeyModifiers::SHIFT) {
            f.write_str("Shift-")?;
        }
        if let Some((name, _)) = NAMED.iter().find(|(_, code)| *code == self.code) {
            return f.write_str(name);
        }
        match self.code {
            KeyCode::Char(character) => write!(f, "{character}"),
            KeyCode::F(n) => write!(f, "F{n}"),
            other => write!(f, "{other:?}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_go_both_ways() {
        for text in ["g", "G", "?", "%", "Ctrl-d", "PgDn", "F1", "F12", "Space", "Esc", "-"] {
            let key = Key::parse(text).expect(text);
            assert_eq!(key.to_string(), text);
        }
        assert_eq!(Key::parse("nonsense"), None);
        assert_eq!(Key::parse("Ctrl-"), None);
        assert_eq!(Key::parse_sequence("g g").map(|keys| keys.len()), Some(2));
    }

    #[test]
    fn people_may_spell_keys_in_their_own_way() {
        for (text, shown) in [
            ("ctrl-x", "Ctrl-x"),
            ("CTRL-X", "Ctrl-x"),
            ("pagedown", "PgDn"),
            ("page-up", "PgUp"),
            ("escape", "Esc"),
            ("shift-tab", "Shift-Tab"),
            ("alt-enter", "Alt-Enter"),
            ("ctrl-alt-x", "Ctrl-Alt-x"),
            ("alt--", "Alt--"),
            ("shift-up", "Shift-Up"),
            ("ctrl-space", "Ctrl-Space"),
            ("ü", "ü"),
            ("g G", "g G"),
        ] {
            let keys = Key::read_sequence(text).expect(text);
            assert_eq!(Key::spell(&keys), shown);
            assert_eq!(Key::read_sequence(shown), Ok(keys));
        }
    }

    #[test]
    fn what_no_terminal_sends_is_refused_with_what_to_write() {
        for (text, told) in [
            ("ctrl-i", "'tab'"),
            ("ctrl-M", "'enter'"),
            ("ctrl-[", "'esc'"),
            ("ctrl-enter", "'enter'"),
            ("shift-space", "'space'"),
            ("alt-esc", "'esc'"),
            ("ctrl-shift-x", "'ctrl-x'"),
            ("ctrl-]", "'ctrl-5'"),
            ("ctrl-1", "letters"),
            ("shift-g", "write 'G'"),
            ("shift-5", "write that"),
            ("alt-[", "same bytes"),
            ("pgdwn", "'PgDn'"),
            ("F13", "no key 'F13'"),
            ("f01", "no key"),
            ("ctrl-", "after its last '-'"),
            ("", "a key is expected"),
            ("g  g", "a key is expected"),
            (" ", "'space'"),
            ("\t", "control character"),
            ("hyper-x", "no key 'hyper-x'"),
        ] {
            let error = Key::read_sequence(text).expect_err(text);
            assert!(error.contains(told), "{text}: {error}");
        }
    }

    #[test]
    fn whatever_is_bound_can_be_sent() {
        // All that crossterm makes of one byte, and of one after Esc, in raw mode.
        let mut sent = Vec::new();
        for byte in 0_u8..=0x7f {
            let (code, modifiers) = match byte {
                b'\r' => (KeyCode::Enter, KeyModifiers::NONE),
                b'\t' => (KeyCode::Tab, KeyModifiers::NONE),
                0x1b => (KeyCode::Esc, KeyModifiers::NONE),
                0x7f => (KeyCode::Backspace, KeyModifiers::NONE),
                0 => (KeyCode::Char(' '), KeyModifiers::CONTROL),
                1..=0x1a => (KeyCode::Char(char::from(byte - 1 + b'a')), KeyModifiers::CONTROL),
                0x1c..=0x1f => (KeyCode::Char(char::from(byte - 0x1c + b'4')), KeyModifiers::CONTROL),
                _ => (KeyCode::Char(char::from(byte)), KeyModifiers::NONE),
            };
            sent.extend(Key::from_event(&KeyEvent::new(code, modifiers)));
        }
        for character in (0x20_u8..0x7f).map(char::from) {
            for modifier in ["", "ctrl-"] {
                if let Ok(key) = Key::read(&format!("{modifier}{character}")) {
                    assert!(sent.contains(&key), "{key}");
                }
            }
        }
    }

    #[test]
    fn events_come_to_one_form() {
        let press = |code, modifiers| KeyEvent::new(code, modifiers);
        let shifted = press(KeyCode::Char('G'), KeyModifiers::SHIFT);
        assert_eq!(Key::from_event(&shifted), Key::parse("G"));
        let alt_gr = press(KeyCode::Char('{'), KeyModifiers::CONTROL | KeyModifiers::ALT);
        assert_eq!(Key::from_event(&alt_gr), Key::parse("{"));
        let mut release = press(KeyCode::Char('q'), KeyModifiers::NONE);
        release.kind = KeyEventKind::Release;
        assert_eq!(Key::from_event(&release), None);
        let mut repeat = press(KeyCode::Char('j'), KeyModifiers::NONE);
        repeat.kind = KeyEventKind::Repeat;
        assert_eq!(Key::from_event(&repeat), Key::parse("j"));
        // `g` and `G` are two keys.
        assert_ne!(Key::parse("g"), Key::parse("G"));
    }
}
