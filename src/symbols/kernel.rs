//! Names of kernels, as their authors wrote them.

use cpp_demangle::{DemangleNodeType, DemangleOptions, DemangleWrite, Symbol};
use std::borrow::Cow;
use std::fmt;

/// Longest name that is taken apart, bytes; those of templates over templates have some thousands.
const NAME_MAX: usize = 16 * 1024;
/// Longest result, bytes. A mangled name can say a lot in few bytes.
const TEXT_MAX: usize = 32 * 1024;

/// The name in C++'s form: `scale(float*, unsigned long)` for `_Z5scalePfm`. A name that is not mangled, or cannot be
/// taken apart, stays as it is.
#[must_use]
pub fn demangled(name: &str) -> Cow<'_, str> {
    if !name.starts_with("_Z") || name.len() > NAME_MAX {
        return Cow::Borrowed(name);
    }
    let Ok(symbol) = Symbol::new(name) else { return Cow::Borrowed(name) };
    let mut text = Limited(String::new());
    match symbol.structured_demangle(&mut text, &DemangleOptions::default()) {
        Ok(()) => Cow::Owned(text.0),
        Err(fmt::Error) => Cow::Borrowed(name),
    }
}

/// Takes so much and no more.
struct Limited(String);

impl DemangleWrite for Limited {
    fn push_demangle_node(&mut self, _: DemangleNodeType) {}

    fn write_string(&mut self, text: &str) -> fmt::Result {
        if self.0.len() + text.len() > TEXT_MAX {
            return Err(fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }

    fn pop_demangle_node(&mut self) {}
}

#[cfg(test)]
mod tests {
    use super::demangled;

    #[test]
    fn names_read_as_they_were_written() {
        assert_eq!(demangled("_Z5scalePfm"), "scale(float*, unsigned long)");
        assert_eq!(demangled("_ZN2at6native4fillIfEEvT_"), "void at::native::fill<float>(float)");
        for plain in ["ampere_sgemm_128x64_nn", "_Z", "_Zx\u{1b}[2J", ""] {
            assert_eq!(demangled(plain), plain);
        }
    }

    #[test]
    fn a_name_that_says_too_much_stays_as_it_is() {
        // Each parameter doubles what the substitution before it stands for.
        let mut name = "_Z1fSt4pairIiiE".to_owned();
        for index in 0..40u32 {
            let digit = std::char::from_digit(index % 36, 36).map_or('0', |digit| digit.to_ascii_uppercase());
            name.push_str(&format!("St4pairIS{digit}_S{digit}_E"));
        }
        assert!(demangled(&name).len() <= super::TEXT_MAX.max(name.len()));
    }
}
