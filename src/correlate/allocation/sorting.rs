//! Sorting in slices: pieces one by one, then all of them into one.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Elements of a piece, which is sorted at once.
pub const PIECE: usize = 8192;
/// Elements between two looks at the clock.
const STEP: usize = 1024;

/// Elements on their way into an order. Those that are alike stay as they came.
#[derive(Debug)]
pub struct Sorting<T, K: Ord> {
    key: fn(&T) -> K,
    pieces: Vec<std::vec::IntoIter<T>>,
    /// The first element of each piece that is not empty: the next one is one of these.
    next: BinaryHeap<Reverse<(K, usize)>>,
    sorted: Vec<T>,
    left: usize,
}

impl<T, K: Ord + Copy> Sorting<T, K> {
    /// Of nothing yet, by a key.
    pub fn by(key: fn(&T) -> K) -> Self {
        Self { key, pieces: Vec::new(), next: BinaryHeap::new(), sorted: Vec::new(), left: 0 }
    }

    /// Adds some elements, mostly not more than [`PIECE`].
    pub fn add(&mut self, mut piece: Vec<T>) {
        piece.sort_by_key(self.key);
        self.add_sorted(piece);
    }

    /// Adds elements that are in order.
    pub fn add_sorted(&mut self, piece: Vec<T>) {
        self.left += piece.len();
        if let Some(first) = piece.first() {
            self.next.push(Reverse(((self.key)(first), self.pieces.len())));
            self.pieces.push(piece.into_iter());
        }
    }

    /// The key of the first of all that have been added, before any are in order.
    pub fn first(&self) -> Option<K> {
        self.next.peek().map(|Reverse((key, _))| *key)
    }

    /// Goes on as long as `go_on` says so; true when all are in order.
    pub fn advance(&mut self, go_on: &mut dyn FnMut() -> bool) -> bool {
        if self.sorted.is_empty() {
            self.sorted.reserve_exact(self.left);
        }
        let mut count = 0usize;
        while let Some(Reverse((_, at))) = self.next.pop() {
            let before = self.next.peek();
            let Some(piece) = self.pieces.get_mut(at) else { continue };
            // As long as the next one is of the same piece, the others need not be looked at.
            let ahead = loop {
                self.sorted.extend(piece.next());
                self.left = self.left.saturating_sub(1);
                count += 1;
                let Some(key) = piece.as_slice().first().map(self.key) else {
                    *piece = Vec::new().into_iter();
                    break None;
                };
                let is_next = before.is_none_or(|Reverse(other)| (key, at) < *other);
                if !is_next || count.is_multiple_of(STEP) {
                    break Some(key);
                }
            };
            self.next.extend(ahead.map(|key| Reverse((key, at))));
            if count.is_multiple_of(STEP) && !go_on() {
                break;
            }
        }
        self.next.is_empty()
    }

    /// All of them, when they are in order.
    pub fn into_sorted(self) -> Vec<T> {
        self.sorted
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_pieces_become_what_sorting_at_once_makes_of_them(
            pieces in prop::collection::vec(prop::collection::vec(0u8..20, 0..3000), 0..6),
            patience in 0usize..4,
        ) {
            let mut number = 0u32;
            let mut numbered = |value: &u8| { number += 1; (*value, number) };
            let pieces: Vec<Vec<(u8, u32)>> =
                pieces.iter().map(|piece| piece.iter().map(&mut numbered).collect()).collect();
            let mut wanted: Vec<(u8, u32)> = pieces.iter().flatten().copied().collect();
            wanted.sort_by_key(|one| one.0);
            let mut sorting = Sorting::by(|one: &(u8, u32)| one.0);
            pieces.into_iter().for_each(|piece| sorting.add(piece));
            let mut looks = 0;
            let mut go_on = || { looks += 1; looks % (patience + 1) != 0 };
            for _ in 0..1000 {
                if sorting.advance(&mut go_on) {
                    break;
                }
            }
            prop_assert_eq!(sorting.into_sorted(), wanted);
        }
    }
}
