//! What the overview gets.

use super::Standing;

/// What is known of one process, for the overview.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct ProcessRow {
    /// Process id.
    pub pid: u32,
    /// Program's file name, and its rank if a launcher gave it one.
    pub program: String,
    /// How deep under the processes above it that started it, of those that are here.
    pub depth: u16,
    /// It is the same process as the one above it, which has become this program by exec.
    pub became: bool,
    /// It has itself become another program.
    pub went_on: bool,
    /// It ended with its exit handlers.
    pub in_order: bool,
    /// Its file has been removed while it was shown.
    pub removed: bool,
    /// Host.
    pub host: String,
    /// Calls recorded.
    pub calls: u64,
    /// Calls lost.
    pub lost: u64,
    /// Whether it still runs.
    pub alive: bool,
    /// Why recording stopped early, if it did.
    pub trouble: Option<String>,
}

/// A function in the overview's "time goes to".
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct TopRow {
    /// Nesting under the row before it.
    pub depth: u16,
    /// Function.
    pub name: String,
    /// The function or kernel.
    pub what: Option<crate::graph::What>,
    /// What its events are like; `None` if no filter can say it.
    pub like: Option<crate::filter::Condition>,
    /// Sum of durations, ns.
    pub total_ns: u64,
    /// Total as a share of the summed duration of all outermost calls, thousandths.
    pub total_share: u16,
    /// Likewise, without nested calls.
    pub self_share: u16,
    /// Calls.
    pub count: u64,
}

/// The overview.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Overview {
    /// Processes with the hook, parents before their children: the busiest ones, as many as asked for.
    pub processes: Vec<ProcessRow>,
    /// How many of all stand how.
    pub standing: Standing,
    /// Processes in all.
    pub process_count: usize,
    /// What is seen, in words.
    pub sees: Vec<String>,
    /// What is not, each with the reason and what to do.
    pub not: Vec<String>,
    /// How the times of several files compare, if they are not of one clock.
    pub clocks: Option<String>,
    /// What recording itself costs, if it was measured.
    pub costs: Option<String>,
    /// Calls a second over the last minute (live) or over the whole trace, oldest first.
    pub calls_history: Vec<u32>,
    /// ns that one entry of the history covers.
    pub history_step_ns: u64,
    /// Devices: what each is called, and what is known of it.
    pub devices: Vec<(String, String)>,
    /// Pages that moved to devices and to the host; empty if none did.
    pub moved: Vec<Moved>,
    /// Kernels by total; shares are of all kernels' time.
    pub kernels: Vec<TopRow>,
    /// Kernels beyond those.
    pub more_kernels: usize,
    /// Functions by total.
    pub top: Vec<TopRow>,
    /// Functions beyond `top`, and their share, thousandths.
    pub rest: (usize, u16),
    /// Calls that failed.
    pub failed: u64,
    /// The function that failed most, with its most frequent error.
    pub worst_failure: Option<String>,
    /// The first error after which nothing works any more, in a line.
    pub sticky_failure: Option<String>,
    /// The longest call now running: function, thread, ns so far.
    pub running: Option<(String, String, u64)>,
    /// Why nothing is to be seen, once nothing has come for three seconds.
    pub silence: Option<String>,
    /// Where the recording is written.
    pub recording: Option<String>,
}

/// Pages that moved in one direction.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Moved {
    /// To devices, or to the host.
    pub to_device: bool,
    /// KiB a second, at the same steps as the history of calls.
    pub history: Vec<u32>,
    /// Bytes in the last second of which all is known; `None` when not live.
    pub per_second: Option<u64>,
    /// Bytes in all.
    pub bytes: u64,
    /// How often.
    pub count: u64,
    /// Why, in a word each, the commonest first.
    pub causes: Vec<String>,
}
