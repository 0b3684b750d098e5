//! What the writer is given to write.

use umtui_wire::clock::{CLOCK_MONOTONIC, ClockTriple};
use umtui_wire::header::{ARCH_X86_64, ENDIAN_MARK, FileHeader, HEADER_BYTES, MAGIC, STATE_RECORDING, VERSION};
use zerocopy::FromZeros;

/// What a file says of its process.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "as in `FileHeader`")]
pub struct FileInfo {
    pub pid: u32,
    pub parent_pid: u32,
    pub start_time: u64,
    pub rank: Option<u32>,
    pub local_rank: Option<u32>,
    pub boot_id: [u8; 16],
    pub run_id: u64,
    pub clock: u32,
    pub rate_error_ppb: u32,
    pub ticks_per_second: u64,
    pub start: ClockTriple,
    pub last: ClockTriple,
    pub max_bytes: u64,
    pub lost: u64,
    pub state: u32,
    pub reason: u32,
    pub cost_ps: u64,
    pub host: String,
    pub program: String,
    pub folder: String,
    pub arguments: Vec<String>,
}

impl Default for FileInfo {
    /// A recording in nanoseconds of MONOTONIC that has just begun.
    fn default() -> Self {
        Self {
            pid: 0,
            parent_pid: 0,
            start_time: 0,
            rank: None,
            local_rank: None,
            boot_id: [0; 16],
            run_id: 0,
            clock: CLOCK_MONOTONIC,
            rate_error_ppb: 0,
            ticks_per_second: 1_000_000_000,
            start: ClockTriple::default(),
            last: ClockTriple::default(),
            max_bytes: 0,
            lost: 0,
            state: STATE_RECORDING,
            reason: 0,
            cost_ps: 0,
            host: String::new(),
            program: String::new(),
            folder: String::new(),
            arguments: Vec::new(),
        }
    }
}

/// A call to be written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallRecord {
    /// Api id in the file.
    pub api: u16,
    /// What it returned.
    pub status: u32,
    /// Start, ticks.
    pub start: u64,
    /// Duration, ticks.
    pub duration: u64,
    /// Return address.
    pub site: u64,
    /// Nesting.
    pub depth: u8,
    /// `FLAG_*` but for [`umtui_wire::record::FLAG_LONG`], which is found here.
    pub flags: u8,
    /// Arguments: the record's bytes from [`umtui_wire::record::ARGUMENTS_AT`] on, at most 12,000.
    pub arguments: Vec<u8>,
}

/// A module to be written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "as in a module definition")]
pub struct ModuleRecord {
    pub path: u32,
    pub start: u64,
    pub end: u64,
    pub file_offset: u64,
    pub ticks: u64,
    pub build_id: Vec<u8>,
}

impl FileInfo {
    /// The first page of a file whose claimed part ends at `end`.
    #[must_use]
    pub fn header(&self, end: u64) -> FileHeader {
        let mut header = FileHeader::new_zeroed();
        header.magic = MAGIC;
        header.version = VERSION;
        header.header_bytes = HEADER_BYTES as u32;
        header.endian = ENDIAN_MARK;
        header.arch = ARCH_X86_64;
        header.pid = self.pid;
        header.parent_pid = self.parent_pid;
        header.start_time = self.start_time;
        header.rank = self.rank.map_or(0, |rank| rank.saturating_add(1));
        header.local_rank = self.local_rank.map_or(0, |rank| rank.saturating_add(1));
        header.boot_id = self.boot_id;
        header.run_id = self.run_id;
        header.clock = self.clock;
        header.rate_error_ppb = self.rate_error_ppb;
        header.ticks_per_second = self.ticks_per_second;
        header.start = self.start;
        header.max_bytes = self.max_bytes;
        header.end = end;
        header.lost = self.lost;
        header.state = self.state;
        header.reason = self.reason;
        header.cost_ps = self.cost_ps;
        header.last = self.last;
        fill(&mut header.host, &self.host);
        fill(&mut header.program, &self.program);
        fill(&mut header.folder, &self.folder);
        let mut at = 0;
        for argument in &self.arguments {
            let bytes = argument.bytes().filter(|&byte| byte != 0).chain(std::iter::once(0));
            for byte in bytes {
                if let Some(place) = header.arguments.get_mut(at) {
                    *place = byte;
                }
                at += 1;
            }
        }
        header
    }
}

fn fill(field: &mut [u8], text: &str) {
    let keep = field.len().saturating_sub(1);
    for (place, byte) in field.iter_mut().take(keep).zip(text.bytes()) {
        *place = byte;
    }
}
