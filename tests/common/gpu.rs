//! What recordings say of the GPU, read without the report: raw, and as the explorer's reader has it.
#![allow(dead_code, reason = "each test uses its part")]

use super::common::{files, number_after};
use super::raw::File;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::sync::Arc;
use umtui::parse::NativeReader;
use umtui::source::FileBytes;
use umtui::trace::{Activity, ActivityKind, Call, LaneOf, Trace};
use umtui_wire::activity::*;
use umtui_wire::record::KIND_GPU_FIRST;

/// Everything that a process's file says.
pub struct Recorded {
    pub file: File,
    pub trace: Trace,
}

/// Why something is or is not recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    pub why: u32,
    pub detail: String,
    pub result: u32,
    pub driver: u32,
    pub library: u32,
}

/// Sums of what the GPU did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    pub kernels: u64,
    pub copies: u64,
    pub copy_bytes: u64,
    pub sets: u64,
    pub h2d: u64,
    pub d2h: u64,
}

impl Totals {
    /// What gpu.c prints last of what the driver counted.
    pub fn counted(stdout: &str) -> Self {
        let line = stdout.lines().rfind(|line| line.starts_with("h2d")).unwrap_or_else(|| panic!("{stdout}"));
        Self {
            kernels: number_after(line, "kernels "),
            copies: number_after(line, "copies "),
            copy_bytes: number_after(line, "bytes "),
            sets: number_after(line, "sets "),
            h2d: number_after(line, "h2d "),
            d2h: number_after(line, "d2h "),
        }
    }
}

/// The recordings in a folder.
pub fn all(folder: &Path) -> Vec<Recorded> {
    files(folder, "umt").iter().map(|path| Recorded::read(path)).collect()
}

/// The only recording in a folder.
pub fn only(folder: &Path) -> Recorded {
    let mut all = all(folder);
    assert_eq!(all.len(), 1, "{folder:?}");
    all.remove(0)
}

impl Recorded {
    pub fn read(path: &Path) -> Self {
        let mut trace = Trace::default();
        let bytes = Arc::new(FileBytes::open(path).unwrap());
        let mut reader = NativeReader::open(bytes, "test", &mut trace).unwrap();
        reader.set_process_gone(true);
        while reader.poll(&mut trace, 100_000).unwrap().more {}
        Self { file: File::read(path), trace }
    }

    /// What could not be read, as the reader says it.
    pub fn damage(&self) -> Vec<&str> {
        let mut why: Vec<&str> = self.trace.damage.iter().map(|damage| damage.why.as_str()).collect();
        why.dedup();
        why
    }

    pub fn totals(&self) -> Totals {
        let mut totals = Totals::default();
        for record in &self.file.records {
            match record.head.kind {
                KIND_KERNEL => totals.kernels += 1,
                KIND_COPY => {
                    totals.copies += 1;
                    totals.copy_bytes = totals.copy_bytes.wrapping_add(record.layout::<Copied>().bytes);
                }
                KIND_SET => totals.sets += 1,
                KIND_UNIFIED => {
                    let unified = record.layout::<Unified>();
                    match record.head.a {
                        UNIFIED_TO_DEVICE => totals.h2d = totals.h2d.wrapping_add(unified.value),
                        UNIFIED_TO_HOST => totals.d2h = totals.d2h.wrapping_add(unified.value),
                        _ => {}
                    }
                }
                _ => {}
            }
        }
        totals
    }

    /// Records of a kind.
    pub fn count(&self, kind: u8) -> usize {
        self.file.of(kind).count()
    }

    /// Records of unified memory of a kind.
    pub fn unified(&self, which: u16) -> usize {
        self.file.of(KIND_UNIFIED).filter(|record| record.head.a == which).count()
    }

    /// What was said last of a kind of evidence.
    pub fn said(&self, what: u16) -> Option<Said> {
        let record = self.file.of(KIND_EVIDENCE).filter(|record| record.head.a == what).last()?;
        Some(Said {
            why: record.head.b,
            detail: self.file.string(record.word(2)).to_owned(),
            result: record.word(3) as u32,
            driver: (record.word(3) >> 32) as u32,
            library: record.word(4) as u32,
        })
    }

    /// Why each kind of the driver's evidence is there or not: activity, migrations, faults, correlation, memory.
    pub fn whys(&self) -> [Option<u32>; 5] {
        [EVIDENCE_ACTIVITY, EVIDENCE_MIGRATIONS, EVIDENCE_FAULTS, EVIDENCE_CORRELATION, EVIDENCE_MEMORY]
            .map(|what| self.said(what).map(|said| said.why))
    }

    /// Records that the driver had no room for.
    pub fn dropped(&self) -> u64 {
        self.file.of(KIND_DROPPED).map(|record| record.word(2)).sum()
    }

    /// Before the first record of the GPU in each chunk a comparison of the clocks stands, by the same thread.
    pub fn check_clocks(&self) {
        assert_eq!(self.damage(), [""; 0]);
        let mut compared = BTreeSet::new();
        for record in &self.file.records {
            let place = (record.chunk, record.thread);
            match record.head.kind {
                KIND_GPU_CLOCK => drop(compared.insert(place)),
                KIND_GPU_FIRST..=KIND_MEMORY => assert!(compared.contains(&place), "{record:?}"),
                _ => {}
            }
        }
    }

    /// Rows of a kind of work, in all lanes.
    pub fn rows(&self, kind: ActivityKind) -> Vec<(LaneOf, Activity)> {
        let mut rows = Vec::new();
        for lane in self.trace.activities.lanes() {
            lane.for_each(0, |_, activity| {
                if activity.kind == kind {
                    rows.push((lane.of, activity));
                }
            });
        }
        rows
    }

    /// The call that submitted work, if that is known, and the name of its function.
    pub fn call_of(&self, correlation: u32) -> Option<(Call, &str)> {
        let process = self.trace.tracks.first()?.process;
        let submit = self.trace.activities.of(process)?.submits.find(correlation)?;
        let call = self.trace.track(submit.track)?.call(submit.row as usize)?;
        Some((call, self.trace.api_name(call.api)))
    }

    /// All work of this kind, and nothing else, was submitted by successful calls of functions whose names begin so, one for
    /// each of them; it begins after its call does, within the error of the clocks.
    pub fn check_submits(&self, kind: ActivityKind, beginnings: &[&str]) {
        let process = self.trace.tracks.first().unwrap().process;
        let of = self.trace.activities.of(process).unwrap();
        let error = of.clock_error_ns.unwrap();
        let mut seen: HashMap<u32, usize> = HashMap::new();
        for (_, row) in self.rows(kind) {
            let (call, name) = self.call_of(row.correlation).unwrap_or_else(|| panic!("no call submitted {row:?}"));
            assert!(beginnings.iter().any(|beginning| name.starts_with(beginning)), "{name} submitted {row:?}");
            assert!(row.start_ns + error >= call.start_ns, "{row:?} begins before {call:?}, error {error}");
            *seen.entry(row.correlation).or_default() += 1;
        }
        assert!(seen.values().all(|&times| times == 1), "{seen:?}");
        let mut calls: BTreeMap<&str, usize> = BTreeMap::new();
        for track in &self.trace.tracks {
            for call in (0..track.len()).filter_map(|row| track.call(row)).filter(|call| !call.flags.failed()) {
                let name = self.trace.api_name(call.api);
                if beginnings.iter().any(|beginning| name.starts_with(beginning)) {
                    *calls.entry(name).or_default() += 1;
                }
            }
        }
        assert_eq!(calls.values().sum::<usize>(), seen.len(), "{calls:?}");
    }
}
