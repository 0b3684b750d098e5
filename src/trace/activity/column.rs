//! Numbers that will not change, in as few bytes each as the largest of them takes.

/// Numbers of one column. Each is what is kept, times a power of two, and more than a least one.
#[derive(Clone, Debug, Default)]
pub struct Column {
    least: u64,
    shift: u8,
    kept: Kept,
}

/// What is kept of each.
#[derive(Clone, Debug, Default)]
enum Kept {
    /// Nothing: all are alike.
    #[default]
    Same,
    One(Box<[u8]>),
    Two(Box<[u16]>),
    Four(Box<[u32]>),
    Eight(Box<[u64]>),
}

impl Column {
    /// Of these numbers.
    pub fn of(numbers: impl Iterator<Item = u64> + Clone) -> Self {
        let (mut least, mut most) = (u64::MAX, 0);
        for number in numbers.clone() {
            (least, most) = (least.min(number), most.max(number));
        }
        if least >= most {
            return Self { least: most, shift: 0, kept: Kept::Same };
        }
        let bits = numbers.clone().fold(0, |bits, number| bits | (number - least));
        let shift = bits.trailing_zeros();
        let small = numbers.map(|number| (number - least) >> shift);
        let kept = match (most - least) >> shift {
            0..=0xff => Kept::One(small.map(|number| number as u8).collect()),
            0x100..=0xffff => Kept::Two(small.map(|number| number as u16).collect()),
            0x1_0000..=0xffff_ffff => Kept::Four(small.map(|number| number as u32).collect()),
            _ => Kept::Eight(small.collect()),
        };
        Self { least, shift: shift as u8, kept }
    }

    /// One of them; of a row beyond the last one, where all are alike, what they are.
    #[inline]
    pub fn get(&self, row: usize) -> Option<u64> {
        let kept = match &self.kept {
            Kept::Same => return Some(self.least),
            Kept::One(list) => u64::from(*list.get(row)?),
            Kept::Two(list) => u64::from(*list.get(row)?),
            Kept::Four(list) => u64::from(*list.get(row)?),
            Kept::Eight(list) => *list.get(row)?,
        };
        Some(self.least.wrapping_add(kept << self.shift))
    }

    /// Bytes on the heap.
    pub const fn heap_bytes(&self) -> usize {
        match &self.kept {
            Kept::Same => 0,
            Kept::One(list) => list.len(),
            Kept::Two(list) => list.len() * 2,
            Kept::Four(list) => list.len() * 4,
            Kept::Eight(list) => list.len() * 8,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_come_back(
            numbers in prop::collection::vec(any::<u64>(), 0..50),
            narrow in 0u32..64,
            shift in 0u32..64,
            least: u64,
        ) {
            let number = |number: &u64| least.wrapping_add(number >> narrow << shift);
            let numbers: Vec<u64> = numbers.iter().map(number).collect();
            let column = Column::of(numbers.iter().copied());
            for (row, number) in numbers.iter().enumerate() {
                prop_assert_eq!(column.get(row), Some(*number));
            }
        }
    }

    #[test]
    fn what_is_alike_takes_nothing_and_pages_as_little_as_their_numbers() {
        let bytes = |numbers: &[u64]| Column::of(numbers.iter().copied()).heap_bytes();
        assert_eq!((bytes(&[]), bytes(&[7, 7, 7]), bytes(&[u64::MAX; 3])), (0, 0, 0));
        let page = 0x7f00_0000_0000u64;
        assert_eq!((bytes(&[page, page + 255 * 4096]), bytes(&[page, page + 4096, page + 256 * 4096])), (2, 6));
        assert_eq!((bytes(&[page, page + 1 + (1 << 31)]), bytes(&[0, u64::MAX])), (8, 16));
    }
}
