//! Processes.

use super::ids::NameId;
use rustc_hash::FxHashMap;
use umtui_wire::clock::ClockTriple;

/// How the recording of a process stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum State {
    /// Events are being recorded.
    #[default]
    Recording,
    /// The process ended in order.
    Ended,
    /// Recording stopped because the file reached its cap.
    Full,
    /// Recording stopped by an error, an errno.
    Failed(u32),
    /// The process is gone without having ended in order.
    Killed,
}

/// A recorded process.
#[derive(Clone, Debug, Default)]
pub struct Process {
    /// Process id in its own pid namespace.
    pub pid: u32,
    /// Parent process.
    pub parent_pid: u32,
    /// Rank in a parallel job, if its launcher said so.
    pub rank: Option<u32>,
    /// Likewise on its host.
    pub local_rank: Option<u32>,
    /// Host name.
    pub host: NameId,
    /// Path of the program.
    pub program: NameId,
    /// Working folder at the first CUDA call.
    pub folder: NameId,
    /// Arguments, the program's name first.
    pub arguments: Vec<String>,
    /// Which boot of which host.
    pub boot_id: [u8; 16],
    /// Start time of the process, clock ticks since boot.
    pub start_time: u64,
    /// The run it belongs to: REALTIME ns at which the recorder started; zero without one.
    pub run_id: u64,
    /// When recording began, ns on the trace's axis.
    pub start_ns: u64,
    /// When recording began, by the process's three clocks.
    pub start: ClockTriple,
    /// Added to the process's MONOTONIC time to get the trace's axis, ns; zero on the first file's host where all files are
    /// of one clock.
    pub axis_offset_ns: i64,
    /// By how much the time of day was ahead of MONOTONIC, at least and at most, ns: it is moved while a process runs.
    /// `None` without a time of day.
    pub wall_apart_ns: Option<(i64, i64)>,
    /// `umtui_wire::clock::CLOCK_*`.
    pub clock: u32,
    /// Ticks of that clock a second.
    pub ticks_per_second: u64,
    /// Half-width of the rate's error, parts per billion.
    pub rate_error_ppb: u32,
    /// Newest sign of life, ns on the trace's axis.
    pub last_ns: u64,
    /// How its recording stands.
    pub state: State,
    /// Nothing is recorded at the moment: only a part of the run was asked for.
    pub paused: bool,
    /// Events that could not be recorded, all threads together.
    pub lost: u64,
    /// Events that were sent before anybody here listened: of a stream that was joined late. Nobody has lost them.
    pub missed: u64,
    /// Older events that made room for newer ones before they were read.
    pub discarded: u64,
    /// The filter that calls had to fit to be recorded, as its user wrote it; empty for none. Not safe for the terminal.
    pub filter: String,
    /// Calls that it left out once they had returned; those of functions that it leaves out altogether are not counted.
    pub left_out: u64,
    /// Groups of functions that are not recorded, a bit for each of `umtui_wire::group::Group`.
    pub groups_left_out: u32,
    /// Its file is written from time to time, not mapped: if it was killed its last calls are missing and not counted.
    pub unwritten: bool,
    /// Cap on the file's bytes, zero for none.
    pub max_bytes: u64,
    /// Measured cost of recording one call, ps; zero if not measured.
    pub cost_ps: u64,
    /// Its file: index into [`super::Trace::files`].
    pub file: usize,
    /// Strings by their ids in the file.
    pub strings: FxHashMap<u32, NameId>,
}

impl Process {
    /// Whether it ended before all had been written that it had recorded; `alive`: it runs.
    #[must_use]
    pub const fn lacks_its_end(&self, alive: bool) -> bool {
        self.unwritten && !alive && matches!(self.state, State::Killed | State::Recording)
    }
}
