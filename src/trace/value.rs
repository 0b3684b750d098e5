//! Argument values: how they are read from a record and how they print.

use super::enumeration::{Enumeration, LOCATION_TYPES, flags};
use std::fmt::Write as _;

/// Type of an argument, from the word in its signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ArgKind {
    /// Address: hex.
    Pointer,
    /// Byte count.
    Size,
    /// 8 bytes, unsigned.
    U64,
    /// 8 bytes, signed.
    I64,
    /// Opaque handle: hex.
    Handle,
    /// 4 bytes, unsigned; also what an unknown type word is read as.
    U32,
    /// 4 bytes, signed.
    I32,
    /// 4 bytes of flags: hex.
    Hex,
    /// Device ordinal; -1 is the CPU, -2 invalid.
    Device,
    /// Memory location: type in the low half, id in the high half.
    Location,
    /// Three counts.
    Dim3,
    /// Id of a string.
    Text,
    /// A named value.
    Enumeration(Enumeration),
}

const WORDS: &[(ArgKind, &str)] = &[
    (ArgKind::Pointer, "ptr"),
    (ArgKind::Size, "size"),
    (ArgKind::U64, "u64"),
    (ArgKind::I64, "i64"),
    (ArgKind::Handle, "handle"),
    (ArgKind::U32, "u32"),
    (ArgKind::I32, "i32"),
    (ArgKind::Hex, "hex"),
    (ArgKind::Device, "dev"),
    (ArgKind::Location, "loc"),
    (ArgKind::Dim3, "dim3"),
    (ArgKind::Text, "str"),
];

impl ArgKind {
    /// The kind that `word` stands for in a signature; an unknown one is a number of 4 bytes.
    #[must_use]
    pub fn from_word(word: &str) -> Self {
        let known = WORDS.iter().find(|(_, name)| *name == word).map(|(kind, _)| *kind);
        known.or_else(|| Enumeration::from_word(word).map(Self::Enumeration)).unwrap_or(Self::U32)
    }

    /// The word that stands for it in a signature.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Enumeration(item) => item.word(),
            other => WORDS.iter().find(|(kind, _)| *kind == other).map_or("u32", |(_, word)| word),
        }
    }

    /// Bytes it takes in a record.
    #[must_use]
    pub const fn bytes(self) -> usize {
        match self {
            Self::Pointer | Self::Size | Self::U64 | Self::I64 | Self::Handle | Self::Location => 8,
            Self::Dim3 => 12,
            _ => 4,
        }
    }

    /// Reads a value at `at` of a record; `None` if the record ends before it.
    #[must_use]
    pub fn read(self, record: &[u8], at: usize) -> Option<Value> {
        let bytes = record.get(at..at.checked_add(self.bytes())?)?;
        let word = |index: usize| {
            let mut four = [0; 4];
            four.copy_from_slice(bytes.get(index..index + 4)?);
            Some(u32::from_le_bytes(four))
        };
        match self.bytes() {
            12 => Some(Value::Dim3([word(0)?, word(4)?, word(8)?])),
            8 => Some(Value::Number(u64::from(word(0)?) | u64::from(word(4)?) << 32)),
            _ => Some(Value::Number(u64::from(word(0)?))),
        }
    }
}

/// A value of an argument, as its bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Value {
    /// Any kind of 4 or 8 bytes.
    Number(u64),
    /// [`ArgKind::Dim3`].
    Dim3([u32; 3]),
}

/// How values are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Style {
    /// For reading: `64 MiB`, `Global`.
    Short,
    /// For reading back: every bit is in the text.
    Exact,
}

/// A byte count as `64 MiB`, `1.5 GiB`, `512 B`; exact where a whole number of units, else rounded down to a tenth.
#[must_use]
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let power = (bytes.ilog2() / 10).clamp(1, 6);
    let shift = power * 10;
    let unit = UNITS.get(power as usize - 1).copied().unwrap_or("");
    let whole = bytes >> shift;
    let rest = bytes & ((1 << shift) - 1);
    let tenths = (u128::from(rest) * 10) >> shift;
    if tenths == 0 { format!("{whole} {unit}") } else { format!("{whole}.{tenths} {unit}") }
}

/// Bytes a second as `12.3 GB/s`: powers of ten, as links are told.
#[must_use]
pub fn rate(bytes_per_second: u64) -> String {
    let (unit, word) = match bytes_per_second {
        0..1_000 => return format!("{bytes_per_second} B/s"),
        1_000..1_000_000 => (1_000, "kB/s"),
        1_000_000..1_000_000_000 => (1_000_000, "MB/s"),
        _ => (1_000_000_000, "GB/s"),
    };
    format!("{}.{} {word}", bytes_per_second / unit, bytes_per_second % unit * 10 / unit)
}

/// Prints a value. Strings are printed by [`super::raw`], which knows them; here they are ids.
#[must_use]
pub fn print(kind: ArgKind, value: Value, style: Style, api: &str, role: &str) -> String {
    let bits = match value {
        Value::Dim3([x, y, z]) => return format!("{x}x{y}x{z}"),
        Value::Number(bits) => bits,
    };
    let low = bits as u32;
    match kind {
        ArgKind::Pointer | ArgKind::Handle => format!("{bits:#x}"),
        ArgKind::Size if style == Style::Short => size(bits),
        ArgKind::Size | ArgKind::U64 | ArgKind::Dim3 => bits.to_string(),
        ArgKind::I64 => bits.cast_signed().to_string(),
        ArgKind::I32 => low.cast_signed().to_string(),
        ArgKind::U32 => low.to_string(),
        ArgKind::Text => format!("string#{low}"),
        ArgKind::Hex => {
            let named = if style == Style::Short { flags(api, role, low) } else { None };
            named.unwrap_or_else(|| format!("{low:#x}"))
        }
        ArgKind::Device => match low.cast_signed() {
            -1 => "cpu".to_owned(),
            -2 => "invalid".to_owned(),
            device => device.to_string(),
        },
        ArgKind::Location => location(low, (bits >> 32) as u32, style),
        ArgKind::Enumeration(item) => item.name(low).map_or_else(|| low.to_string(), str::to_owned),
    }
}

/// `Device:0`, `Host`; the id only where it means something, or if it must be read back.
fn location(kind: u32, id: u32, style: Style) -> String {
    let mut text = match LOCATION_TYPES.iter().find(|(number, _)| *number == kind) {
        Some((_, name)) => (*name).to_owned(),
        None => kind.to_string(),
    };
    let id = id.cast_signed();
    let means_something = matches!(kind, 1 | 3 | 6);
    if means_something || (style == Style::Exact && id != 0) {
        let _ = write!(text, ":{id}");
    }
    text
}

/// Reads back what [`print()`] with [`Style::Exact`] made; `None` if `text` is not of that kind.
#[must_use]
pub fn parse(kind: ArgKind, text: &str) -> Option<Value> {
    let hex = |text: &str| text.strip_prefix("0x").and_then(|digits| u64::from_str_radix(digits, 16).ok());
    let number = |text: &str| hex(text).or_else(|| text.parse::<u64>().ok());
    let signed = |text: &str| text.parse::<i32>().ok().map(|value| u64::from(value.cast_unsigned()));
    let bits = match kind {
        ArgKind::Dim3 => {
            let mut parts = text.splitn(3, 'x').map(str::parse::<u32>);
            let mut next = || parts.next()?.ok();
            return Some(Value::Dim3([next()?, next()?, next()?]));
        }
        ArgKind::Pointer | ArgKind::Handle | ArgKind::Size | ArgKind::U64 => number(text)?,
        ArgKind::I64 => text.parse::<i64>().ok()?.cast_unsigned(),
        ArgKind::I32 => signed(text)?,
        ArgKind::U32 | ArgKind::Hex => u64::from(u32::try_from(number(text)?).ok()?),
        ArgKind::Text => u64::from(text.strip_prefix("string#")?.parse::<u32>().ok()?),
        ArgKind::Device => match text {
            "cpu" => signed("-1")?,
            "invalid" => signed("-2")?,
            other => signed(other)?,
        },
        ArgKind::Location => {
            let (name, id) = text.split_once(':').unwrap_or((text, "0"));
            let known = LOCATION_TYPES.iter().find(|(_, known)| *known == name).map(|(value, _)| *value);
            let kind = known.or_else(|| name.parse().ok())?;
            u64::from(kind) | signed(id)? << 32
        }
        ArgKind::Enumeration(item) => u64::from(item.value(text).or_else(|| text.parse().ok())?),
    };
    Some(Value::Number(bits))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn rates_are_in_powers_of_ten() {
        for (number, text) in [(999, "999 B/s"), (1_500, "1.5 kB/s"), (25_000_000_000, "25.0 GB/s")] {
            assert_eq!(rate(number), text);
        }
    }

    #[test]
    fn sizes() {
        for (bytes, text) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1 KiB"),
            (1536, "1.5 KiB"),
            (64 << 20, "64 MiB"),
            ((1 << 20) - 1, "1023.9 KiB"),
            (u64::MAX, "15.9 EiB"),
        ] {
            assert_eq!(size(bytes), text);
        }
    }

    #[test]
    fn values_print_in_the_fields_words() {
        let short = |kind, bits, api, role| print(kind, Value::Number(bits), Style::Short, api, role);
        assert_eq!(short(ArgKind::Pointer, 0x7f00, "", ""), "0x7f00");
        assert_eq!(short(ArgKind::Hex, 1, "cudaMallocManaged", "flags"), "Global");
        assert_eq!(short(ArgKind::Device, u64::from(u32::MAX), "", ""), "cpu");
        assert_eq!(short(ArgKind::Location, 1 | 3 << 32, "", ""), "Device:3");
        assert_eq!(short(ArgKind::Location, 2 | 3 << 32, "", ""), "Host");
        assert_eq!(short(ArgKind::Enumeration(Enumeration::CopyKind), 2, "", ""), "DeviceToHost");
        assert_eq!(short(ArgKind::Enumeration(Enumeration::CopyKind), 77, "", ""), "77");
    }

    fn any_kind() -> impl Strategy<Value = ArgKind> {
        let words = ["ptr", "size", "u64", "i64", "handle", "u32", "i32", "hex", "dev", "loc", "dim3", "str"];
        let enumerations = ["copykind", "advice", "rangeattr", "memtype", "poolattr", "devattr", "whatever"];
        (0..words.len() + enumerations.len())
            .prop_map(move |index| ArgKind::from_word(words.iter().chain(&enumerations).nth(index).unwrap()))
    }

    proptest! {
        #[test]
        fn exact_text_reads_back(kind in any_kind(), bytes in prop::array::uniform12(any::<u8>()), small in any::<bool>()) {
            let mut bytes = bytes;
            if small {
                bytes[1..].fill(0);
            }
            let value = kind.read(&bytes, 0).unwrap();
            let text = print(kind, value, Style::Exact, "", "");
            prop_assert_eq!(parse(kind, &text), Some(value), "{}", text);
        }

        #[test]
        fn any_text_is_survived(kind in any_kind(), text in ".{0,24}") {
            let _ = parse(kind, &text);
        }
    }
}
