//! Sixteen bytes looked at together: where a string may end, and where a bracket or quote stands.
#![allow(unsafe_code, reason = "comparing sixteen bytes in one register")]

/// With one register.
#[cfg(target_arch = "x86_64")]
mod lanes {
    use std::arch::x86_64::{
        __m128i, _mm_andnot_si128, _mm_cmpeq_epi8, _mm_min_epu8, _mm_movemask_epi8, _mm_or_si128, _mm_set_epi64x,
        _mm_set1_epi8, _mm_sub_epi8,
    };

    #[inline]
    #[target_feature(enable = "sse2")]
    fn load(bytes: [u8; 16]) -> __m128i {
        let number = u128::from_le_bytes(bytes);
        _mm_set_epi64x((number >> 64) as i64, number as i64)
    }

    #[inline]
    #[target_feature(enable = "sse2")]
    fn are(bytes: __m128i, byte: u8) -> __m128i {
        _mm_cmpeq_epi8(bytes, _mm_set1_epi8(byte as i8))
    }

    #[inline]
    #[target_feature(enable = "sse2")]
    pub fn ends(bytes: [u8; 16]) -> u32 {
        let bytes = load(bytes);
        _mm_movemask_epi8(_mm_or_si128(are(bytes, b'"'), are(bytes, b'\\'))) as u32
    }

    #[inline]
    #[target_feature(enable = "sse2")]
    pub fn structure(bytes: [u8; 16]) -> u32 {
        let bytes = load(bytes);
        // Brackets differ from braces by one bit.
        let alike = _mm_or_si128(bytes, _mm_set1_epi8((b'{' ^ b'[') as i8));
        let brackets = _mm_or_si128(are(alike, b'{'), are(alike, b'}'));
        _mm_movemask_epi8(_mm_or_si128(are(bytes, b'"'), brackets)) as u32
    }

    #[inline]
    #[target_feature(enable = "sse2")]
    pub fn space(bytes: [u8; 16]) -> u32 {
        let bytes = load(bytes);
        let lines = _mm_or_si128(are(bytes, b'\n'), are(bytes, b'\r'));
        _mm_movemask_epi8(_mm_or_si128(_mm_or_si128(are(bytes, b' '), are(bytes, b'\t')), lines)) as u32
    }

    #[inline]
    #[target_feature(enable = "sse2")]
    pub fn digits(bytes: [u8; 16]) -> u32 {
        let bytes = load(bytes);
        // Point, slash and digits follow one another.
        let from_point = _mm_sub_epi8(bytes, _mm_set1_epi8(b'.' as i8));
        let within = _mm_cmpeq_epi8(_mm_min_epu8(from_point, _mm_set1_epi8((b'9' - b'.') as i8)), from_point);
        _mm_movemask_epi8(_mm_andnot_si128(are(bytes, b'/'), within)) as u32
    }
}

/// One after another.
#[cfg(any(test, not(target_arch = "x86_64")))]
mod single {
    fn mask(bytes: [u8; 16], is: impl Fn(u8) -> bool) -> u32 {
        bytes.iter().rev().fold(0, |mask, &byte| mask << 1 | u32::from(is(byte)))
    }

    pub fn ends(bytes: [u8; 16]) -> u32 {
        mask(bytes, |byte| matches!(byte, b'"' | b'\\'))
    }

    pub fn space(bytes: [u8; 16]) -> u32 {
        mask(bytes, |byte| matches!(byte, b' ' | b'\n' | b'\r' | b'\t'))
    }

    pub fn digits(bytes: [u8; 16]) -> u32 {
        mask(bytes, |byte| matches!(byte, b'0'..=b'9' | b'.'))
    }

    pub fn structure(bytes: [u8; 16]) -> u32 {
        mask(bytes, |byte| matches!(byte, b'"' | b'{' | b'}' | b'[' | b']'))
    }
}

/// Sixteen bytes of a piece.
#[derive(Clone, Copy)]
pub struct Block([u8; 16]);

impl Block {
    /// Bytes of a block.
    pub const BYTES: usize = 16;

    /// Those from `at` on; `None` where there are fewer.
    #[inline]
    pub fn at(bytes: &[u8], at: usize) -> Option<Self> {
        bytes.get(at..)?.first_chunk().map(|chunk| Self(*chunk))
    }

    /// Where quotes and backslashes are: a bit for each byte, that of the first lowest.
    #[inline]
    pub fn ends(self) -> u32 {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: every processor of this kind has SSE2, and it is given no addresses.
        return unsafe { lanes::ends(self.0) };
        #[cfg(not(target_arch = "x86_64"))]
        return single::ends(self.0);
    }

    /// Where quotes and brackets are.
    #[inline]
    pub fn structure(self) -> u32 {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: every processor of this kind has SSE2, and it is given no addresses.
        return unsafe { lanes::structure(self.0) };
        #[cfg(not(target_arch = "x86_64"))]
        return single::structure(self.0);
    }

    /// Where white space is.
    #[inline]
    pub fn space(self) -> u32 {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: every processor of this kind has SSE2, and it is given no addresses.
        return unsafe { lanes::space(self.0) };
        #[cfg(not(target_arch = "x86_64"))]
        return single::space(self.0);
    }

    /// Where digits and points are.
    #[inline]
    pub fn digits(self) -> u32 {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: every processor of this kind has SSE2, and it is given no addresses.
        return unsafe { lanes::digits(self.0) };
        #[cfg(not(target_arch = "x86_64"))]
        return single::digits(self.0);
    }
}

/// First byte that is no white space from `at` on, or the end.
#[inline]
pub fn past_space(bytes: &[u8], at: usize) -> usize {
    let mut at = at;
    while let Some(block) = Block::at(bytes, at) {
        let solid = (!block.space() & 0xffff).trailing_zeros().min(16) as usize;
        at += solid;
        if solid < Block::BYTES {
            return at;
        }
    }
    let space = |byte: &&u8| matches!(byte, b' ' | b'\n' | b'\r' | b'\t');
    at + bytes.get(at..).unwrap_or(&[]).iter().take_while(space).count()
}

/// First quote or backslash from `at` on.
#[inline]
pub fn end_of_text(bytes: &[u8], at: usize) -> Option<usize> {
    // Most strings are short.
    let mut near = at;
    for _ in 0..3 {
        let Some(block) = Block::at(bytes, near) else { break };
        let ends = block.ends();
        if ends != 0 {
            return Some(near + ends.trailing_zeros() as usize);
        }
        near += Block::BYTES;
    }
    memchr::memchr2(b'"', b'\\', bytes.get(near..)?).map(|found| near + found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn bits_are_those_of_single_bytes(bytes: [u8; 16], marks in prop::collection::vec((0usize..16, prop::sample::select(b"\"\\{}[]:;./09 \n\t-".to_vec())), 0..16)) {
            let mut bytes = bytes;
            marks.into_iter().for_each(|(at, byte)| bytes[at] = byte);
            let block = Block::at(&bytes, 0).unwrap();
            prop_assert_eq!((block.ends(), block.structure()), (single::ends(bytes), single::structure(bytes)));
            prop_assert_eq!((block.space(), block.digits()), (single::space(bytes), single::digits(bytes)));
        }

        #[test]
        fn space_ends_where_it_does(bytes in prop::collection::vec(prop::sample::select(b"  \n\r\tx".to_vec()), 0..60), at in 0usize..60) {
            let at = at.min(bytes.len());
            let twin = bytes[at..].iter().position(|byte| !b" \n\r\t".contains(byte)).map_or(bytes.len(), |found| at + found);
            prop_assert_eq!(past_space(&bytes, at), twin);
        }

        #[test]
        fn texts_end_where_they_do(bytes in prop::collection::vec(prop::sample::select(b"abc\"\\".to_vec()), 0..100), blank in 0usize..80, at in 0usize..100) {
            let bytes = [b" ".repeat(blank), bytes].concat();
            let twin = bytes.iter().enumerate().skip(at).find(|(_, byte)| b"\"\\".contains(byte)).map(|(at, _)| at);
            prop_assert_eq!(end_of_text(&bytes, at), twin);
        }
    }
}
