//! Slots: what the trampoline knows of a function. One for each exported name, then a pool for the function
//! pointers that a program is handed by `dlsym` and `cuGetProcAddress`.

use core::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicUsize, Ordering};
use umtui_wire::definition::API_DYNAMIC;
use umtui_wire::group;
use umtui_wire::record::{Head, KIND_CALL, SLOT_BYTES};
use umtui_wire::table::{FUNCTIONS, Op, Returns};

use crate::left_out::{self, Recorded};
use crate::{arch, exports, text};

/// Slots of exported names.
pub const EXPORTED: usize = exports::COUNT;
/// Slots for function pointers. PyTorch asks for about 1,500.
pub const POOL: usize = 6144;

/// A function as the trampoline sees it. 32 bytes, since it multiplies by shifting.
#[repr(C)]
pub struct Slot {
    /// The real function; zero until it is known.
    pub real: AtomicUsize,
    /// What the trampoline jumps to when it has returned, see [`arch::leave_of`].
    pub leave: AtomicUsize,
    /// Lower half of the head of its record: kind, extra slots, api id.
    pub head: AtomicU32,
    /// Bytes of its record, or [`NEVER_QUICK`].
    pub record_bytes: AtomicU32,
    /// Bytes of arguments on the stack.
    pub stack_bytes: AtomicU16,
    /// As of which tables of definitions the function is described.
    described: AtomicU16,
    /// `ACTION_*`, `RETURNS_OTHER`, `READS_MORE` and [`CONTROLS_RECORDING`].
    pub flags: AtomicU8,
    /// Nonzero: the signature is unknown, the call can only be counted.
    pub unknown: AtomicU8,
    /// How its arguments are read, one of [`shape`].
    pub shape: AtomicU8,
    /// [`INITIALISES`], [`SUBMITS`], [`ASKS`], [`NODE`], [`CHANGES_NODE`], [`ANY_NODE`], [`WITH_EDGES`], [`WITH_KERNEL`].
    pub also: AtomicU8,
}

/// Ways to read arguments that need no look at the ops; most calls are of these.
pub mod shape {
    use umtui_wire::table::{Access, Op};

    /// Nothing is recorded.
    pub const NONE: u8 = 0;
    /// The first register.
    pub const VALUE: u8 = 1;
    /// The first and the second register.
    pub const TWO_VALUES: u8 = 2;
    /// What the first register points to.
    pub const POINTEE: u8 = 3;
    /// What the first register points to, and the second register.
    pub const POINTEE_VALUE: u8 = 4;
    /// The low half of the first register.
    pub const VALUE4: u8 = 5;
    /// The 4 bytes that the first register points to.
    pub const POINTEE4: u8 = 6;
    /// The ops say it.
    pub const OTHER: u8 = 255;

    const FIRST: Op = Op { word: 0, access: Access::Value8, field: 0, at: 32 };
    const SECOND: Op = Op { word: 1, access: Access::Value8, field: 0, at: 40 };
    const SMALL: Op = Op { word: 0, access: Access::Value4, field: 0, at: 28 };
    const SMALL_TARGET: Op = Op { word: 0, access: Access::Pointee4, field: 0, at: 28 };
    const TARGET: Op = Op { word: 0, access: Access::Pointee8, field: 0, at: 32 };

    /// The shape of these ops.
    pub fn of(ops: &[Op]) -> u8 {
        match ops {
            [] => NONE,
            [FIRST] => VALUE,
            [FIRST, SECOND] => TWO_VALUES,
            [TARGET] => POINTEE,
            [TARGET, SECOND] => POINTEE_VALUE,
            [SMALL] => VALUE4,
            [SMALL_TARGET] => POINTEE4,
            _ => OTHER,
        }
    }
}

const _: () = assert!(size_of::<Slot>() == 32);

/// Where the api id lies in a slot: the upper half of `head`.
pub const API_AT: usize = core::mem::offset_of!(Slot, head) + 2;
/// In place of the bytes of a record that always needs the slow way: more than a chunk has.
pub const NEVER_QUICK: u32 = 1 << 30;
/// In place of the bytes of arguments on the stack where they are not known: such a function can only be jumped to.
/// The trampoline asks, since a call site that it knows may call any function through a pointer.
pub const UNKNOWN_STACK: u16 = u16::MAX;
/// The result is not a status.
pub const RETURNS_OTHER: u8 = 1;
/// After success, swap the function pointer that it found.
pub const ACTION_PROC_ADDRESS: u8 = 2;
/// A launch: the kernel's name may have to be asked for; the handle is the first argument.
pub const ACTION_LAUNCH: u8 = 4;
/// Likewise, the handle is the second argument.
pub const ACTION_LAUNCH_EX: u8 = 8;
/// Kernel handles may be reused from here on.
pub const ACTION_UNLOAD: u8 = 16;
/// Some argument is a string, a structure of which a digest is wanted, of as many bytes as another one says, or there only if
/// another one says so.
pub const READS_MORE: u8 = 32;
/// The call begins or ends the recording, if it was asked to.
pub const CONTROLS_RECORDING: u8 = 64;
/// The function is not to be recorded.
pub const LEFT_OUT: u8 = 128;
/// It initialises the driver: [`Slot::also`].
pub const INITIALISES: u8 = 1;
/// It hands work to a device.
pub const SUBMITS: u8 = 2;
/// Whether a call is recorded depends on what is known once it has returned.
pub const ASKS: u8 = 4;
/// It gives a kernel to a graph: the fifth argument says which.
pub const NODE: u8 = 8;
/// It changes one in a graph that is ready: the third argument says how.
pub const CHANGES_NODE: u8 = 16;
/// What that argument says may be of a node of any type.
pub const ANY_NODE: u8 = 32;
/// Before that argument there is one more, about edges.
pub const WITH_EDGES: u8 = 64;
/// What it says of a kernel has a place for a `CUkernel`.
pub const WITH_KERNEL: u8 = 128;
/// Any of the actions after the call.
pub const ACTIONS: u8 = ACTION_PROC_ADDRESS | ACTION_LAUNCH | ACTION_LAUNCH_EX | ACTION_UNLOAD;

impl Slot {
    /// Of no function yet.
    pub const fn new() -> Self {
        Self {
            real: AtomicUsize::new(0),
            leave: AtomicUsize::new(0),
            head: AtomicU32::new(0),
            record_bytes: AtomicU32::new(NEVER_QUICK),
            stack_bytes: AtomicU16::new(0),
            described: AtomicU16::new(0),
            flags: AtomicU8::new(0),
            unknown: AtomicU8::new(0),
            shape: AtomicU8::new(shape::OTHER),
            also: AtomicU8::new(0),
        }
    }

    /// Api id, by which the trace knows the function.
    pub fn api(&self) -> u16 {
        Head::from_word(u64::from(self.head.load(Ordering::Acquire))).a
    }

    /// Extra slots of its record.
    pub fn extra(&self) -> u8 {
        Head::from_word(u64::from(self.head.load(Ordering::Relaxed))).extra
    }

    fn set_head(&self, extra: u8, api: u16) {
        let head = Head { kind: KIND_CALL, extra, a: api, b: 0 };
        self.head.store(head.word() as u32, Ordering::Release);
    }

    /// How the arguments are read.
    pub fn ops(&self) -> &'static [Op] {
        if !arguments_wanted() {
            return &[];
        }
        FUNCTIONS.get(usize::from(self.api())).map_or(&[], |function| function.ops)
    }

    /// Makes it stand for a function of ours that takes nothing.
    pub fn stand_for(&self, real: usize) {
        self.set_head(0, 0);
        self.record_bytes.store(SLOT_BYTES as u32, Ordering::Relaxed);
        self.leave.store(arch::leave_of(shape::NONE), Ordering::Relaxed);
        self.real.store(real, Ordering::Release);
    }

    /// Whether it is not to be recorded.
    pub fn is_left_out(&self) -> bool {
        self.flags.load(Ordering::Relaxed) & LEFT_OUT != 0
    }

    /// Makes the slot stand for a function of the table.
    fn describe(&self, api: u16) {
        let Some(function) = FUNCTIONS.get(usize::from(api)) else { return };
        self.leave.store(arch::leave_of(shape::OTHER), Ordering::Relaxed);
        let left_out = !is_wanted(function.name.as_bytes());
        let known = function.known && !left_out;
        self.stack_bytes.store(if known { function.stack_bytes } else { UNKNOWN_STACK }, Ordering::Relaxed);
        self.unknown.store(u8::from(!function.known), Ordering::Relaxed);
        let returns = if function.returns == Returns::Other { RETURNS_OTHER } else { 0 };
        let more = function.ops.iter().any(|op| !op.access.copies());
        let more = if more && arguments_wanted() { READS_MORE } else { 0 };
        let ops = if arguments_wanted() { function.ops } else { &[] };
        self.shape.store(shape::of(ops), Ordering::Relaxed);
        let flags = returns | more | actions(function.name.as_bytes());
        self.flags.store(if left_out { LEFT_OUT } else { flags }, Ordering::Relaxed);
        let also = also(function.name.as_bytes()) | asks(function.name.as_bytes());
        if also & ASKS != 0 {
            left_out::will_ask(api);
        }
        self.also.store(if left_out { 0 } else { also }, Ordering::Relaxed);
        self.record_bytes.store(NEVER_QUICK, Ordering::Relaxed);
        self.set_head(if arguments_wanted() { function.extra } else { 0 }, api);
    }
}

#[unsafe(link_section = ".data.small")]
static WITHOUT_ARGUMENTS: AtomicU8 = AtomicU8::new(0);
/// Groups that are not recorded: a bit for each.
#[unsafe(link_section = ".data.small")]
static UNWANTED: AtomicU16 = AtomicU16::new(0);

/// Says what is to be recorded; functions that were met before are described anew.
pub fn record_only(arguments: bool, groups: u16) {
    WITHOUT_ARGUMENTS.store(u8::from(!arguments), Ordering::Relaxed);
    UNWANTED.store(!groups, Ordering::Relaxed);
    if !arguments || groups != u16::MAX || left_out::is_on() {
        for_each_used(|slot| {
            if slot.api() < API_DYNAMIC {
                slot.describe(slot.api());
            }
        });
    }
}

/// Whether arguments are recorded.
pub fn arguments_wanted() -> bool {
    WITHOUT_ARGUMENTS.load(Ordering::Relaxed) == 0
}

/// Whether launches are recorded.
pub fn launches_wanted() -> bool {
    is_wanted(b"cuLaunchKernel")
}

/// Whether a function is to be recorded. What hands out function pointers always is looked at; and what unloads kernels
/// where launches are: another kernel may have the handle afterwards.
fn is_wanted(name: &[u8]) -> bool {
    let unwanted = UNWANTED.load(Ordering::Relaxed);
    let is_in =
        |name: &[u8]| unwanted.wrapping_shr(group::of(name) as u32) & 1 == 0 && left_out::of(name) != Recorded::Never;
    let actions = actions(name);
    // The first of all calls is always: it opens the door to what the GPU does.
    is_in(name)
        || also(name) & INITIALISES != 0
        || actions & (ACTION_PROC_ADDRESS | CONTROLS_RECORDING) != 0
        || actions & ACTION_UNLOAD != 0 && is_in(b"cuLaunchKernel")
}

/// [`ASKS`] or nothing. Calls after which something is to be done in any case are recorded in any case.
fn asks(name: &[u8]) -> u8 {
    let must = also(name) & INITIALISES != 0
        || actions(name) & (ACTION_PROC_ADDRESS | CONTROLS_RECORDING | ACTION_UNLOAD) != 0;
    if !must && left_out::of(name) == Recorded::ByCall { ASKS } else { 0 }
}

/// What is to be done after a call, by name.
fn actions(name: &[u8]) -> u8 {
    match text::without_stream_suffix(name) {
        b"cuGetProcAddress"
        | b"cuGetProcAddress_v2"
        | b"cudaGetDriverEntryPoint"
        | b"cudaGetDriverEntryPointByVersion" => ACTION_PROC_ADDRESS,
        b"cuLaunchKernel" | b"cuLaunchCooperativeKernel" => ACTION_LAUNCH,
        b"cuLaunchKernelEx" => ACTION_LAUNCH_EX,
        b"cuModuleUnload" | b"cuLibraryUnload" => ACTION_UNLOAD,
        b"cudaProfilerStart" | b"cudaProfilerStop" | b"cuProfilerStart" | b"cuProfilerStop" => CONTROLS_RECORDING,
        _ => 0,
    }
}

/// What else is to be done, by name.
fn also(name: &[u8]) -> u8 {
    match name {
        b"cuInit" => INITIALISES,
        b"cuGraphAddKernelNode" => NODE,
        b"cuGraphAddKernelNode_v2" => NODE | WITH_KERNEL,
        b"cuGraphExecKernelNodeSetParams" => CHANGES_NODE,
        b"cuGraphExecKernelNodeSetParams_v2" => CHANGES_NODE | WITH_KERNEL,
        b"cuGraphAddNode" => NODE | ANY_NODE | WITH_KERNEL,
        b"cuGraphAddNode_v2" | b"cuGraphAddNode_v3" => NODE | ANY_NODE | WITH_KERNEL | WITH_EDGES,
        b"cuGraphExecNodeSetParams" => CHANGES_NODE | ANY_NODE | WITH_KERNEL,
        _ if crate::cupti::submits(name) => SUBMITS,
        _ => 0,
    }
}

/// All slots: exported names first, then the pool.
pub static SLOTS: [Slot; EXPORTED + POOL] = [const { Slot::new() }; EXPORTED + POOL];

#[unsafe(link_section = ".data.small")]
static POOL_USED: AtomicU32 = AtomicU32::new(0);
/// Function pointers that were handed out unswapped because the pool was used up or busy.
pub static UNSWAPPED: AtomicU32 = AtomicU32::new(0);
#[unsafe(link_section = ".data.small")]
static POOL_LOCK: crate::lock::TryLock = crate::lock::TryLock::new();

/// Open-addressing index of the pool: slot number + 1 by real function and api.
static INDEX: [AtomicU32; 16384] = [const { AtomicU32::new(0) }; 16384];

/// Sets an exported name's slot, or changes it when the library that provides it has changed. There is a real function all
/// the time from then on: the trampoline asks whether there is one, and calls it later.
pub fn set_exported(slot: &Slot, real: usize, api: u16) {
    // Threads make their first call together; one that cannot wait for the other does the same once more.
    let _held = POOL_LOCK.try_for_a_while();
    let before = slot.real.load(Ordering::Acquire);
    if before == real {
        return;
    }
    if before == 0 || slot.api() != api {
        slot.describe(api);
        slot.described.store(0, Ordering::Release);
    }
    slot.real.store(real, Ordering::Release);
}

/// The pool's slot for this function, made if there is none.
fn pooled(real: usize, api: u16) -> Option<usize> {
    let mask = INDEX.len().wrapping_sub(1);
    let mut at = text::mix(real as u64 ^ u64::from(api) << 48) as usize & mask;
    loop {
        let entry = INDEX.get(at)?;
        let index = entry.load(Ordering::Acquire);
        if index == 0 {
            let used = POOL_USED.load(Ordering::Relaxed);
            let slot = SLOTS.get(EXPORTED.wrapping_add(used as usize))?;
            if api < API_DYNAMIC {
                slot.describe(api);
            } else {
                slot.leave.store(arch::leave_of(shape::OTHER), Ordering::Relaxed);
                slot.unknown.store(1, Ordering::Relaxed);
                slot.stack_bytes.store(UNKNOWN_STACK, Ordering::Relaxed);
                slot.set_head(0, api);
            }
            slot.real.store(real, Ordering::Release);
            POOL_USED.store(used.wrapping_add(1), Ordering::Release);
            entry.store(used.wrapping_add(1), Ordering::Release);
            return Some(used as usize);
        }
        let slot = SLOTS.get(EXPORTED.wrapping_add(index as usize).wrapping_sub(1))?;
        if slot.real.load(Ordering::Acquire) == real && slot.api() == api {
            return Some((index as usize).wrapping_sub(1));
        }
        at = at.wrapping_add(1) & mask;
    }
}

/// A stub that leads to this function, or the function itself if no stub can be had.
pub fn stub(real: usize, api: u16) -> usize {
    match pool_slot(real, api) {
        Some(index) => arch::pool_stub(index),
        None => {
            UNSWAPPED.fetch_add(1, Ordering::Relaxed);
            real
        }
    }
}

/// The number in the pool of the slot for this function.
pub fn pool_slot(real: usize, api: u16) -> Option<usize> {
    let _held = POOL_LOCK.try_for_a_while()?;
    pooled(real, api)
}

/// Describes the slot's function in this recording's file, if that has not been done. Only then are its calls recorded
/// the quick way.
pub fn define_once(slot: &Slot) {
    let generation = crate::definitions::generation();
    if slot.described.load(Ordering::Acquire) == generation
        || slot.described.swap(generation, Ordering::AcqRel) == generation
    {
        return;
    }
    if !crate::definitions::api(slot.api()) {
        slot.described.store(0, Ordering::Release);
    } else if slot.flags.load(Ordering::Relaxed) == 0
        && slot.also.load(Ordering::Relaxed) == 0
        && slot.unknown.load(Ordering::Relaxed) == 0
    {
        let bytes = u32::from(slot.extra()).wrapping_add(1).wrapping_mul(SLOT_BYTES as u32);
        slot.record_bytes.store(bytes, Ordering::Release);
        slot.leave.store(arch::leave_of(slot.shape.load(Ordering::Relaxed)), Ordering::Release);
    }
}

/// Calls `each` with every slot that is in use.
pub fn for_each_used(mut each: impl FnMut(&Slot)) {
    let used = EXPORTED.wrapping_add(POOL_USED.load(Ordering::Acquire) as usize);
    for slot in SLOTS.iter().take(used) {
        if slot.real.load(Ordering::Acquire) != 0 {
            each(slot);
        }
    }
}

/// The calling thread has jumped out of a look-up.
pub fn left() {
    POOL_LOCK.let_go();
}

/// After fork: whoever held the lock is not here.
pub fn after_fork() {
    POOL_LOCK.reset();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_that_changes_has_a_function_all_the_time() {
        static SLOT: Slot = Slot::new();
        set_exported(&SLOT, 1, 0);
        std::thread::scope(|scope| {
            let changes = scope.spawn(|| (0..100_000).for_each(|round| set_exported(&SLOT, 1 + (round & 1), 0)));
            while !changes.is_finished() {
                assert_ne!(SLOT.real.load(Ordering::Acquire), 0);
            }
        });
    }

    #[test]
    fn with_launches_go_the_calls_after_which_handles_mean_other_kernels() {
        let only =
            |name: &[u8]| record_only(true, 1u16.wrapping_shl(group::named(name).map_or(15, |found| found as u32)));
        only(b"launch");
        assert!(is_wanted(b"cuLaunchKernel") && is_wanted(b"cuModuleUnload") && is_wanted(b"cuLibraryUnload"));
        assert!(!is_wanted(b"cuModuleLoad") && !is_wanted(b"cuMemAlloc_v2"));
        only(b"memory");
        assert!(is_wanted(b"cuMemAlloc_v2") && is_wanted(b"cuGetProcAddress_v2"));
        assert!(!is_wanted(b"cuModuleUnload") && !is_wanted(b"cuLaunchKernel"));
        record_only(true, u16::MAX);
        assert!(is_wanted(b"cuModuleLoad"));
    }
}
