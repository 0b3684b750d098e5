//! One key as pressed, and its spelling.

use std::fmt;

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// A key with its modifiers, in one normal form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    code: KeyCode,
    modifiers: KeyModifiers,
}

const NAMED: [(&str, KeyCode); 14] = [
    ("Space", KeyCode::Char(' ')),
    ("Enter", KeyCode::Enter),
    ("Esc", KeyCode::Esc),
    ("Tab", KeyCode::Tab),
    ("Backspace", KeyCode::Backspace),
    ("Up", KeyCode::Up),
    ("Down", KeyCode::Down),
    ("Left", KeyCode::Left),
    ("Right", KeyCode::Right),
    ("PgUp", KeyCode::PageUp),
    ("PgDn", KeyCode::PageDown),
    ("Home", KeyCode::Home),
    ("End", KeyCode::End),
    ("Del", KeyCode::Delete),
];

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
        Some(Self { code, modifiers })
    }

    /// Reads a spelling such as `g`, `G`, `Ctrl-d`, `PgDn`, `F1`.
    pub fn parse(text: &str) -> Option<Self> {
        let (modifiers, name) = match text.strip_prefix("Ctrl-") {
            Some(name) if !name.is_empty() => (KeyModifiers::CONTROL, name),
            _ => (KeyModifiers::NONE, text),
        };
        let mut characters = name.chars();
        let code = match (characters.next(), characters.next()) {
            (Some(character), None) => KeyCode::Char(character),
            _ => match NAMED.iter().find(|(spelling, _)| *spelling == name) {
                Some(&(_, code)) => code,
                None => KeyCode::F(name.strip_prefix('F')?.parse().ok()?),
            },
        };
        Some(Self { code, modifiers })
    }

    /// Reads a sequence of spellings with spaces between them.
    pub fn parse_sequence(text: &str) -> Option<Vec<Self>> {
        text.split(' ').map(Self::parse).collect()
    }
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
