//! Byte strings without allocation: hashing, suffixes, numbers, a buffer for paths.

use core::ffi::CStr;

/// Spreads the bits of a number.
pub const fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value ^ (value >> 32)
}

/// Hash of a byte string, never zero. By words, the last of which may overlap the one before it.
pub fn hash(bytes: &[u8]) -> u64 {
    let step = |hash: u64, word: u64| {
        let product = (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        product ^ product >> 32
    };
    let mut hash = step(0xcbf2_9ce4_8422_2325, bytes.len() as u64);
    if let Some(last) = bytes.last_chunk() {
        let mut rest = bytes;
        while let Some((word, after)) = rest.split_first_chunk() {
            hash = step(hash, u64::from_le_bytes(*word));
            rest = after;
        }
        if !rest.is_empty() {
            hash = step(hash, u64::from_le_bytes(*last));
        }
    } else {
        let word = bytes.iter().fold(0u64, |word, &byte| word.wrapping_shl(8) | u64::from(byte));
        hash = step(hash, word);
    }
    mix(hash) | 1
}

/// A name without `_ptsz` or `_ptds`.
pub fn without_stream_suffix(name: &[u8]) -> &[u8] {
    name.strip_suffix(b"_ptsz").or_else(|| name.strip_suffix(b"_ptds")).unwrap_or(name)
}

/// Whether a name could be one of CUDA's: `cuda` or `cu` followed by a capital letter, or `__cuda`.
pub fn looks_like_cuda(name: &[u8]) -> bool {
    let name = match name.strip_prefix(b"__") {
        Some(rest) if rest.starts_with(b"cuda") => rest,
        Some(_) => return false,
        None => name,
    };
    match name.strip_prefix(b"cu") {
        Some(rest) => rest.strip_prefix(b"da").unwrap_or(rest).first().is_some_and(u8::is_ascii_uppercase),
        None => false,
    }
}

/// Whether a name of CUDA's belongs to the runtime.
pub fn is_runtime(name: &[u8]) -> bool {
    name.starts_with(b"cuda") || name.starts_with(b"__cuda")
}

/// The part of a path after its last slash.
pub fn file_name(path: &[u8]) -> &[u8] {
    path.rsplit(|&byte| byte == b'/').next().unwrap_or(path)
}

/// The number that a text begins with.
pub fn number(text: &[u8]) -> Option<u64> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit());
    let mut value = None;
    for &digit in digits {
        let so_far: u64 = value.unwrap_or(0);
        value = Some(so_far.checked_mul(10)?.checked_add(u64::from(digit.wrapping_sub(b'0')))?);
    }
    value
}

/// The hexadecimal number that a text begins with, and what follows it.
pub fn hex(text: &[u8]) -> (u64, &[u8]) {
    let mut value = 0u64;
    let mut rest = text;
    while let Some((&byte, tail)) = rest.split_first() {
        let Some(digit) = char::from(byte).to_digit(16) else { break };
        value = value.wrapping_shl(4) | u64::from(digit);
        rest = tail;
    }
    (value, rest)
}

/// A C string being put together in place; what does not fit is cut and remembered.
pub struct Path<const N: usize> {
    bytes: [u8; N],
    length: usize,
    cut: bool,
}

impl<const N: usize> Path<N> {
    /// An empty one.
    pub const fn new() -> Self {
        Self { bytes: [0; N], length: 0, cut: false }
    }

    /// Appends bytes.
    pub fn push(&mut self, bytes: &[u8]) -> &mut Self {
        for &byte in bytes {
            // One byte stays for the NUL.
            match self.bytes.get_mut(self.length) {
                Some(place) if self.length < N.wrapping_sub(1) => *place = byte,
                _ => {
                    self.cut = true;
                    return self;
                }
            }
            self.length = self.length.wrapping_add(1);
        }
        self
    }

    /// Cuts it to a length that it has had.
    pub fn cut_to(&mut self, length: usize) {
        if let Some(rest) = self.bytes.get_mut(length..) {
            rest.fill(0);
        }
        self.length = self.length.min(length);
        if length == 0 {
            self.cut = false;
        }
    }

    /// Appends a number in decimal.
    pub fn push_number(&mut self, mut number: u64) -> &mut Self {
        let mut digits = [0u8; 20];
        let mut at = digits.len();
        loop {
            at = at.wrapping_sub(1);
            if let Some(place) = digits.get_mut(at) {
                *place = b'0'.wrapping_add((number % 10) as u8);
            }
            number /= 10;
            if number == 0 {
                break;
            }
        }
        let digits = digits.get(at..).unwrap_or_default();
        self.push(digits)
    }

    /// What was put together, if it fitted.
    pub fn as_c_str(&self) -> Option<&CStr> {
        if self.cut {
            return None;
        }
        CStr::from_bytes_until_nul(&self.bytes).ok()
    }

    /// The bytes so far.
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_cudas_names_look_like_cuda() {
        for name in ["cuMemAlloc_v2", "cudaMalloc", "cuGetProcAddress", "__cudaLaunchKernel"] {
            assert!(looks_like_cuda(name.as_bytes()), "{name}");
        }
        for name in
            ["cublasCreate_v2", "cudnnCreate", "curl_easy_init", "cufftPlan1d", "cu", "cuda", "cudaq", "__cu", ""]
        {
            assert!(!looks_like_cuda(name.as_bytes()), "{name}");
        }
    }

    #[test]
    fn strings_that_differ_a_little_have_different_hashes() {
        let mut seen = std::collections::HashSet::new();
        for length in 0..40usize {
            let text = std::vec![b'a'; length];
            assert!(seen.insert(hash(&text)), "{length}");
            for at in 0..length {
                for byte in [0, b'b', 0xff] {
                    let mut other = text.clone();
                    if let Some(place) = other.get_mut(at) {
                        *place = byte;
                    }
                    assert!(seen.insert(hash(&other)), "{length} {at} {byte}");
                }
            }
        }
        for number in 0..200_000 {
            assert!(seen.insert(hash(std::format!("aten::ones, op_id = {number}").as_bytes())), "{number}");
        }
    }

    #[test]
    fn paths_are_cut_not_overrun() {
        let mut path = Path::<8>::new();
        path.push(b"abc").push_number(120);
        assert_eq!(path.as_bytes(), b"abc120");
        assert!(path.as_c_str().is_some());
        path.push(b"xy");
        assert!(path.as_c_str().is_none());
        let mut number = Path::<32>::new();
        number.push_number(u64::MAX);
        assert_eq!(number.as_bytes(), b"18446744073709551615");
    }
}
