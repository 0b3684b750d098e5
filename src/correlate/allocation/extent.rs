//! How many bytes an array has: what its descriptor says of its elements, its sides and its levels.

use crate::correlate::calls::Record;
use crate::trace::{Argument, Signature};

/// `cudaArrayLayered` and `cudaArrayCubemap`, with which the third side counts layers; the driver's are alike.
const LAYERS: u64 = 0x01 | 0x04;
/// `cudaArraySparse` and `cudaArrayDeferredMapping`: memory is mapped to the array later.
const WITHOUT_MEMORY: u64 = 0x40 | 0x80;
/// No side can be halved more often.
const MOST_LEVELS: u64 = 64;

/// Where the calls of a function say how large an array is.
#[derive(Debug)]
pub struct Extent {
    /// Width, height, depth.
    sides: [Option<Argument>; 3],
    elements: Elements,
    /// Levels of a mipmap, each half as wide as the one before.
    levels: Option<Argument>,
    flags: Option<Argument>,
}

/// Where they say how large an element is.
#[derive(Debug)]
enum Elements {
    /// Bits of each channel, and what kind of numbers they are.
    Bits([Argument; 4], Argument),
    /// Format of a channel, and how many there are.
    Format(Argument, Argument),
}

impl Extent {
    /// Of a function with these arguments; `None`: they do not say it, as in older recordings.
    pub fn of(signature: &Signature) -> Option<Self> {
        let argument = |role| signature.role(role).cloned();
        let bits = || {
            Some(Elements::Bits([argument("x")?, argument("y")?, argument("z")?, argument("w")?], argument("kind")?))
        };
        let format = || Some(Elements::Format(argument("format")?, argument("channels")?));
        let width = argument("width")?;
        Some(Self {
            sides: [Some(width), argument("height"), argument("depth")],
            elements: bits().or_else(format)?,
            levels: argument("levels"),
            flags: argument("flags"),
        })
    }

    /// Bytes of the elements of an array that a call made. What the driver adds to align rows is not known.
    pub fn bytes(&self, record: &Record<'_>) -> Option<u64> {
        let number = |argument: &Option<Argument>| argument.as_ref().map_or(Some(0), |one| record.number(one));
        let flags = number(&self.flags)?;
        if flags & WITHOUT_MEMORY != 0 {
            return None;
        }
        let [width, height, depth] = &self.sides;
        let sides = [number(width)?, number(height)?, number(depth)?];
        let levels = number(&self.levels)?.max(1);
        elements(sides, levels, flags & LAYERS != 0)?.checked_mul(self.elements.bytes(record)?)
    }
}

impl Elements {
    fn bytes(&self, record: &Record<'_>) -> Option<u64> {
        match self {
            Self::Bits(bits, kind) => {
                // Signed, unsigned, float, none; normalized ones. The others are compressed, or of several planes.
                let plain = matches!(record.number(kind)?, 0..=3 | 5..=16);
                let bits = bits.iter().try_fold(0u64, |sum, bits| sum.checked_add(record.number(bits)?))?;
                (plain && bits != 0 && bits.is_multiple_of(8)).then_some(bits / 8)
            }
            Self::Format(format, channels) => {
                let bytes: u64 = match record.number(format)? {
                    0x01 | 0x08 => 1,
                    0x02 | 0x09 | 0x10 => 2,
                    0x03 | 0x0a | 0x20 => 4,
                    _ => return None,
                };
                bytes.checked_mul(record.number(channels)?)
            }
        }
    }
}

/// Elements of all levels. A side of zero is none: it counts as one.
fn elements(sides: [u64; 3], levels: u64, layers: bool) -> Option<u64> {
    let mut sum = 0u64;
    for level in 0..levels.min(MOST_LEVELS) {
        let halved = |side: u64| side.checked_shr(u32::try_from(level).ok()?).map(|side| side.max(1));
        let [width, height, depth] = sides;
        let depth = if layers { depth.max(1) } else { halved(depth)? };
        let all = halved(width)?.checked_mul(halved(height)?)?.checked_mul(depth)?;
        sum = sum.checked_add(all)?;
    }
    Some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{ArgKind, CallFlags};

    /// Arguments one behind the other, 8 bytes each, with their values.
    fn made(values: &[(&str, u64)]) -> (Signature, Vec<u8>) {
        let mut bytes = vec![0; 32];
        let arguments = values.iter().map(|&(role, value)| {
            let at = bytes.len() as u16;
            bytes.extend(value.to_le_bytes());
            Argument { role: role.into(), kind: ArgKind::U64, on_success: true, at, only: None }
        });
        (Signature { arguments: arguments.collect(), ..Signature::default() }, bytes)
    }

    fn bytes_of(values: &[(&str, u64)]) -> Option<u64> {
        let (signature, bytes) = made(values);
        Extent::of(&signature)?.bytes(&Record::of_bytes(&bytes, CallFlags(0)))
    }

    const FLOAT4: [(&str, u64); 5] = [("x", 32), ("y", 32), ("z", 32), ("w", 32), ("kind", 2)];

    #[test]
    fn sides_that_are_zero_are_none() {
        let of = |sides: [(&str, u64); 3]| bytes_of(&[&FLOAT4[..], &sides[..]].concat());
        assert_eq!(of([("width", 100), ("height", 0), ("depth", 0)]), Some(1600));
        assert_eq!(of([("width", 100), ("height", 7), ("depth", 0)]), Some(11_200));
        assert_eq!(of([("width", 100), ("height", 7), ("depth", 3)]), Some(33_600));
        assert_eq!(of([("width", u64::MAX), ("height", 7), ("depth", 3)]), None);
    }

    #[test]
    fn the_drivers_formats_are_read_as_far_as_they_are_plain() {
        let of =
            |format, channels| bytes_of(&[("width", 10), ("height", 4), ("format", format), ("channels", channels)]);
        assert_eq!((of(0x01, 1), of(0x10, 2), of(0x20, 4)), (Some(40), Some(160), Some(640)));
        // NV12 has two planes, and BC1 blocks.
        assert_eq!((of(0xb0, 3), of(0x91, 4)), (None, None));
        assert_eq!(bytes_of(&[("width", 10), ("x", 4), ("y", 0), ("z", 0), ("w", 0), ("kind", 1)]), None);
        assert_eq!(bytes_of(&[("width", 8), ("x", 8), ("y", 8), ("z", 8), ("w", 8), ("kind", 17)]), None);
        assert_eq!(bytes_of(&[("array", 10)]), None);
    }

    #[test]
    fn levels_are_halves_and_layers_are_not() {
        let of = |levels, flags| {
            let sides = [("width", 8), ("height", 4), ("depth", 2), ("levels", levels), ("flags", flags)];
            bytes_of(&[&FLOAT4[..], &sides[..]].concat())
        };
        // 64 + 8 + 2 + 1 elements; with two layers 64 + 16 + 4 + 2.
        assert_eq!((of(4, 0), of(4, 1)), (Some(75 * 16), Some(86 * 16)));
        assert_eq!(of(u64::from(u32::MAX), 0), Some((75 + 60) * 16));
        assert_eq!((of(4, 0x40), of(1, 0x80)), (None, None));
    }
}
