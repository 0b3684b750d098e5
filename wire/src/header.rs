//! The first page of a trace file: who recorded, by which clock, and how recording stands.

use crate::clock::ClockTriple;

/// First bytes of every trace file. The line ends show damage by a text-mode transfer.
pub const MAGIC: [u8; 8] = *b"UMTUI\r\n\x1a";
/// Version of everything in this crate that lies on disk. A reader refuses a higher one.
pub const VERSION: u32 = 1;
/// Bytes of the header, one page; the first chunk begins at [`CHUNK_UNIT`].
pub const HEADER_BYTES: usize = 4096;
/// Chunks begin at, and are as long as, multiples of this.
pub const CHUNK_UNIT: u64 = 64 * 1024;
/// Longest chunk.
pub const CHUNK_MAX: u64 = 1024 * 1024;
/// Stored as it is in memory, to show the byte order.
pub const ENDIAN_MARK: u32 = 0x0102_0304;

/// `arch`: x86-64.
pub const ARCH_X86_64: u16 = 1;
/// `arch`: 64-bit Arm.
pub const ARCH_AARCH64: u16 = 2;

/// `state`: events are being recorded. A file left in this state by a process that is gone was killed.
pub const STATE_RECORDING: u32 = 1;
/// `state`: the process ended in order (exit handlers ran).
pub const STATE_ENDED: u32 = 2;
/// `state`: recording stopped because `max_bytes` leaves no room even for the newest.
pub const STATE_FULL: u32 = 3;
/// `state`: recording stopped by an error; `reason` is its errno.
pub const STATE_FAILED: u32 = 4;

/// The file is written by its process from time to time: what one that was killed had not written is missing and not counted.
pub const WRITTEN_IN_PART: u32 = 1;
/// Likewise, and all was written as the process was about to end or to become another one.
pub const WRITTEN_WHOLE: u32 = 2;

/// Header of a trace file, at offset 0. Live fields are written with release stores in the order noted.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(
    feature = "zerocopy",
    derive(zerocopy::FromBytes, zerocopy::IntoBytes, zerocopy::Immutable, zerocopy::KnownLayout)
)]
#[repr(C)]
pub struct FileHeader {
    /// [`MAGIC`]; written last, so a file that has it has a whole header.
    pub magic: [u8; 8],
    /// [`VERSION`].
    pub version: u32,
    /// [`HEADER_BYTES`].
    pub header_bytes: u32,
    /// [`ENDIAN_MARK`].
    pub endian: u32,
    /// [`ARCH_X86_64`] or [`ARCH_AARCH64`].
    pub arch: u16,
    /// Zero.
    pub reserved0: u16,
    /// Process and its parent, in the process's own pid namespace.
    pub pid: u32,
    /// Parent process.
    pub parent_pid: u32,
    /// Which process of this pid: start time of the process, clock ticks since boot (`/proc/self/stat` field 22).
    pub start_time: u64,
    /// `/proc/sys/kernel/random/boot_id` as bytes: times of two files are comparable by ticks if equal.
    pub boot_id: [u8; 16],
    /// First bytes of the content hash of the hook that wrote the file, zero if it does not know.
    pub hook_id: [u8; 16],
    /// The run this file belongs to: REALTIME ns at which the recorder started, zero without a recorder.
    pub run_id: u64,
    /// `clock::CLOCK_*`.
    pub clock: u32,
    /// Half-width of the rate's error, parts per billion.
    pub rate_error_ppb: u32,
    /// Ticks a second.
    pub ticks_per_second: u64,
    /// Taken when the file was created.
    pub start: ClockTriple,
    /// Cap on the file's bytes, zero for none.
    pub max_bytes: u64,
    /// Live: end of the claimed part of the file; chunks lie in `[CHUNK_UNIT, end)`.
    pub end: u64,
    /// Live: events that were lost where no chunk could count them.
    pub lost: u64,
    /// Live: `STATE_*`.
    pub state: u32,
    /// Live: errno behind `STATE_FAILED`.
    pub reason: u32,
    /// Measured cost of recording one call, picoseconds; zero if not measured.
    pub cost_ps: u64,
    /// Live: odd while `last` is being written.
    pub last_sequence: u32,
    /// Live: nonzero while recording is paused, or has not begun: only a part of the run was asked for.
    pub paused: u32,
    /// Live: newest clock reading.
    pub last: ClockTriple,
    /// Live: events in chunks that have made room for newer ones.
    pub discarded: u64,
    /// Rank in a parallel job plus one, by the launcher's variables (`RANK`, `OMPI_COMM_WORLD_RANK`, ...); zero: none said.
    pub rank: u32,
    /// Likewise the rank on its host.
    pub local_rank: u32,
    /// Live: calls that the filter left out once they had returned.
    pub left_out: u64,
    /// Groups of functions that are not recorded, a bit for each of [`crate::group::Group`].
    pub groups_left_out: u32,
    /// Zero: the file is mapped by the process, or an older recorder made it. Else live: `WRITTEN_*`.
    pub written: u32,
    /// The filter that calls had to fit to be recorded, as its user wrote it, NUL-padded; cut if longer.
    pub filter: [u8; crate::filter::TEXT_MAX],
    /// Host name, NUL-padded.
    pub host: [u8; 64],
    /// Path of the program, NUL-padded; cut if longer.
    pub program: [u8; 512],
    /// Working folder at the first CUDA call, NUL-padded; cut if longer.
    pub folder: [u8; 512],
    /// Arguments, each ended by a NUL; cut if longer.
    pub arguments: [u8; HEADER_BYTES - 1536],
}

const _: () = assert!(size_of::<FileHeader>() == HEADER_BYTES);
