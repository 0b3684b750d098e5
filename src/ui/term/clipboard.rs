//! Text for the clipboard, by OSC 52: the one way that works over ssh, since it is the user's own terminal that takes it.

/// Longest text after base64, bytes: what common terminals take.
const LONGEST: usize = 74_994;

/// The sequence that asks the terminal to put a text on the clipboard; `None` if it is too long. Under tmux it is sent a
/// second time in tmux's own envelope: which of the two gets through depends on its options.
#[must_use]
pub fn sequence(text: &str, tmux: bool) -> Option<String> {
    let encoded = base64(text.as_bytes());
    if encoded.len() > LONGEST {
        return None;
    }
    let plain = format!("\x1b]52;c;{encoded}\x07");
    Some(match tmux {
        true => format!("{plain}\x1bPtmux;{}\x1b\\", plain.replace('\x1b', "\x1b\x1b")),
        false => plain,
    })
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let word = (0..3).fold(0_u32, |word, at| word << 8 | u32::from(three.get(at).copied().unwrap_or(0)));
        for place in 0..4_usize {
            let letter = LETTERS.get((word >> (18 - 6 * place)) as usize & 63).copied().unwrap_or(b'=');
            out.push(char::from(if place > three.len() { b'=' } else { letter }));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_those_of_the_standard() {
        for (text, encoded) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("ÿ?", "w78/")]
        {
            assert_eq!(base64(text.as_bytes()), encoded);
        }
    }

    #[test]
    fn nothing_of_the_text_reaches_the_terminal_as_it_is() {
        let plain = sequence("\x1b[2J", false).unwrap();
        assert_eq!(plain, "\x1b]52;c;G1sySg==\x07");
        let wrapped = sequence("a", true).unwrap();
        assert_eq!(wrapped, "\x1b]52;c;YQ==\x07\x1bPtmux;\x1b\x1b]52;c;YQ==\x07\x1b\\");
        assert!(sequence(&"x".repeat(56_000), false).is_some());
        assert_eq!(sequence(&"x".repeat(57_000), false), None);
    }
}
