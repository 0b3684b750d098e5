//! How often each runtime function was called.

use std::sync::atomic::{AtomicU64, Ordering};

/// A counter with the name of a function.
pub struct Count {
    /// The function.
    pub name: &'static str,
    /// Its calls.
    pub calls: AtomicU64,
}

impl Count {
    /// No call yet.
    pub const fn new(name: &'static str) -> Self {
        Self { name, calls: AtomicU64::new(0) }
    }

    /// Adds calls.
    pub fn add(&self, calls: u64) {
        self.calls.fetch_add(calls, Ordering::Relaxed);
    }
}

/// Prints a line for each function that was called.
pub fn print() {
    let mut called: Vec<(&str, u64)> = crate::cuda::COUNTS
        .iter()
        .map(|count| (count.name, count.calls.load(Ordering::Relaxed)))
        .filter(|(_, calls)| *calls > 0)
        .collect();
    called.sort_unstable();
    for (name, calls) in called {
        println!("calls {name} {calls}");
    }
}
