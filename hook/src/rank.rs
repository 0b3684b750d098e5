//! Which rank of a parallel job this process is, by the variables that launchers set. Noted when we are loaded: a child
//! after fork belongs to its parent's rank.

use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use crate::text;

/// Of the whole job, in order of preference: torchrun and its like, Open MPI, PMIx, MPICH and its like, Slurm.
const RANK: [&[u8]; 5] = [b"RANK=", b"OMPI_COMM_WORLD_RANK=", b"PMIX_RANK=", b"PMI_RANK=", b"SLURM_PROCID="];
/// On this host.
const LOCAL: [&[u8]; 4] = [b"LOCAL_RANK=", b"OMPI_COMM_WORLD_LOCAL_RANK=", b"MPI_LOCALRANKID=", b"SLURM_LOCALID="];

/// The best that was found: how good its name is, and the number plus one.
struct Found {
    place: AtomicUsize,
    number: AtomicU32,
}

static OF_JOB: Found = Found::none();
static ON_HOST: Found = Found::none();

impl Found {
    const fn none() -> Self {
        Self { place: AtomicUsize::new(usize::MAX), number: AtomicU32::new(0) }
    }

    fn note(&self, names: &[&[u8]], variable: &[u8]) {
        for (place, name) in names.iter().enumerate() {
            let number =
                variable.strip_prefix(*name).and_then(text::number).and_then(|number| u32::try_from(number).ok());
            if let Some(number) = number.filter(|_| place < self.place.load(Ordering::Relaxed)) {
                self.place.store(place, Ordering::Relaxed);
                self.number.store(number.saturating_add(1), Ordering::Relaxed);
            }
        }
    }
}

/// Looks at a variable of the environment.
pub fn note(variable: &[u8]) {
    OF_JOB.note(&RANK, variable);
    ON_HOST.note(&LOCAL, variable);
}

/// Rank in the job and on the host, each plus one; zero where no launcher has said it.
pub fn ranks() -> (u32, u32) {
    (OF_JOB.number.load(Ordering::Relaxed), ON_HOST.number.load(Ordering::Relaxed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_launcher_nearest_to_the_process_is_believed() {
        let found = Found::none();
        for variable in ["SLURM_PROCID=1", "RANKS=9", "RANK=x", "PMI_RANK=7", "RANK=12", "OMPI_COMM_WORLD_RANK=3"] {
            found.note(&RANK, variable.as_bytes());
        }
        assert_eq!(found.number.load(Ordering::Relaxed), 13);
        assert_eq!(Found::none().number.load(Ordering::Relaxed), 0);
    }
}
