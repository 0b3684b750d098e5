//! The checksum of a sealed chunk's slots.
//!
//! Fast enough (four independent multiply lanes) that sealing a chunk does not stall the program. It finds
//! damage, not malice.

const P1: u64 = 0x9e37_79b1_85eb_ca87;
const P2: u64 = 0xc2b2_ae3d_27d4_eb4f;

/// Checksum of the slots of a chunk. Their length is a multiple of 48; a tail shorter than a word is ignored.
#[must_use]
pub fn of_slots(bytes: &[u8]) -> u64 {
    let mut lanes = [P1, P2, P1 ^ P2, P1.wrapping_add(P2)];
    let mut blocks = bytes.chunks_exact(32);
    for block in &mut blocks {
        for (lane, word) in lanes.iter_mut().zip(block.chunks_exact(8)) {
            *lane = mix(*lane, word);
        }
    }
    for (lane, word) in lanes.iter_mut().zip(blocks.remainder().chunks_exact(8)) {
        *lane = mix(*lane, word);
    }
    let mut sum = (bytes.len() as u64).wrapping_mul(P2);
    for lane in lanes {
        sum = (sum ^ lane).wrapping_mul(P2);
        sum ^= sum >> 29;
    }
    sum
}

fn mix(lane: u64, word: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(word);
    (lane ^ u64::from_le_bytes(bytes)).wrapping_mul(P1).rotate_left(31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bit_the_order_and_the_length_count() {
        let base = [7u8; 96];
        let sum = of_slots(&base);
        for index in 0..base.len() {
            for bit in 0..8 {
                let mut flipped = base;
                flipped[index] ^= 1 << bit;
                assert_ne!(of_slots(&flipped), sum, "byte {index} bit {bit}");
            }
        }
        assert_ne!(of_slots(&[0; 48]), of_slots(&[0; 96]));
        let mut ordered = [0u8; 96];
        ordered[0] = 1;
        let mut swapped = [0u8; 96];
        swapped[32] = 1;
        assert_ne!(of_slots(&ordered), of_slots(&swapped));
    }
}
