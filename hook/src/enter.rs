//! The beginning of a call that the trampoline's quick path does not know yet: the first call of a process, a
//! thread, a function or a call site.

use core::ffi::CStr;
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use umtui_wire::chunk::OpenCall;
use umtui_wire::table::{self, FUNCTIONS, Layer};

use crate::arch::{Frame, Verdict};
use crate::loader;
use crate::objects::Object;
use crate::process::Ready;
use crate::slots::{EXPORTED, SLOTS, Slot};
use crate::thread::{Thread, WITH_CUPTI};
use crate::{
    capture, chunks, clock, config, cupti, definitions, desks, exports, file, measure, modules, nvtx, process, record,
    sites, slots, symbols, sys, text,
};

/// Where a call goes.
enum Way {
    /// To the function that the exported name leads to.
    AtHome,
    /// To one that was chosen for this caller, whose call site must not be taken for one of the primary library's.
    Elsewhere,
    /// Past us: there is a function, but no slot for it.
    Past(usize),
}

/// Where the libcudart begins that the exported names lead to; callers of another one go through the pool.
static PRIMARY: AtomicUsize = AtomicUsize::new(0);

/// Called by the trampoline with all registers kept; says what to do, and leaves the slot in the frame.
///
/// # Safety
/// `frame` is the trampoline's frame, `thread` the calling thread's state.
pub unsafe extern "C" fn enter(frame: &mut Frame, thread: &mut Thread) -> u64 {
    let errno = sys::Errno::save();
    let held = sys::SignalsHeld::hold();
    thread.entering = thread.entering.wrapping_add(1);
    // SAFETY: as the caller says.
    let verdict = unsafe { decide(frame, thread) };
    thread.entering = thread.entering.wrapping_sub(1);
    drop(held);
    drop(errno);
    if matches!(verdict, Verdict::Record) {
        open(frame, thread);
    }
    verdict as u64
}

/// Whether calls are being recorded.
pub fn is_recording() -> bool {
    process::generation() != 0
}

/// # Safety
/// As [`enter`].
unsafe fn decide(frame: &mut Frame, thread: &mut Thread) -> Verdict {
    loader::prepare();
    let (epoch, changes) = (sites::epoch(), sites::changes());
    let at_home = match route(frame, epoch) {
        None => return Verdict::Missing,
        Some(Way::Past(real)) => {
            if capture::is_on() {
                file::lost(1);
            }
            frame.pass_to(real);
            return Verdict::Pass;
        }
        Some(way) => matches!(way, Way::AtHome),
    };
    // SAFETY: slots are static.
    let slot = unsafe { &*frame.slot };
    let unknown = slot.unknown.load(Ordering::Relaxed) != 0;
    if thread.entering >= WITH_CUPTI {
        if is_recording() && !is_of_cupti(frame.site as usize) {
            // A signal handler that has interrupted us there.
            record::lost(thread);
        }
        return Verdict::Pass;
    }
    if thread.entering > 1 || thread.is_writing() {
        if !innermost_was_left(frame_address(frame), thread) {
            // A signal handler that has interrupted us, perhaps before there is a file.
            if is_recording() || capture::is_on() {
                record::lost(thread);
            }
            return Verdict::Pass;
        }
        // One that has jumped out of us: what was being written is not there, and no hindrance.
        definitions::left();
        slots::left();
        thread.entering = 1;
        thread.go_on();
    }
    if slot.flags.load(Ordering::Relaxed) & slots::CONTROLS_RECORDING != 0 {
        capture::controlled(slot.api(), false);
    }
    let ready = process::ready();
    if ready != Ready::Yes || slot.is_left_out() {
        if at_home {
            sites::remember(frame.site, epoch);
        }
        if ready == Ready::Unknown && !slot.is_left_out() && capture::is_on() {
            record::lost(thread);
        }
        return Verdict::Pass;
    }
    if thread.generation != process::generation() {
        begin(thread);
        cupti::begin_if_late();
    } else if slot.flags.load(Ordering::Relaxed) & slots::CONTROLS_RECORDING != 0 {
        nvtx::catch_up(thread);
    }
    modules::describe(frame.site);
    let api = slot.api();
    slots::define_once(slot);
    close_left(frame_address(frame), thread);
    if unknown {
        record::entry(thread, api, clock::now(), frame.site, thread.depth());
        thread.hand_on_if_ending();
        return Verdict::Pass;
    }
    if at_home {
        // When recording begins, what is known of sites is forgotten; of this one it is known anew.
        let epoch = if sites::changes() == changes { sites::epoch() } else { epoch };
        sites::remember(frame.site, epoch);
    }
    Verdict::Record
}

fn frame_address(frame: &Frame) -> u64 {
    (&raw const frame.outer_frame) as u64
}

/// What the trampoline's quick path does itself.
fn open(frame: &mut Frame, thread: &mut Thread) {
    let call = thread.open;
    if call >= thread.desk_end {
        thread.deeper = thread.deeper.wrapping_add(1);
        thread.quick_until = 0;
        frame.open = (&raw const record::DEEPER).cast_mut();
        frame.late_start = clock::now();
        return;
    }
    frame.open = call;
    let [first, second, third, ..] = frame.registers;
    // SAFETY: slots are static; the call's place lies on the thread's mapped desk.
    unsafe {
        let api = (*frame.slot).api();
        (*call).frame = frame_address(frame);
        thread.open = call.add(1);
        (&raw mut (*call).frame).write_volatile(frame_address(frame));
        (*call).site = frame.site;
        (*call).registers = [first, second, third];
        (*call).start = clock::now();
        AtomicU64::from_ptr(&raw mut (*call).head).store(u64::from(api).wrapping_add(1), Ordering::Release);
    }
}

/// Makes the calling thread ready to record, outside of a call.
pub fn begin_thread(thread: &mut Thread) {
    let errno = sys::Errno::save();
    let held = sys::SignalsHeld::hold();
    thread.entering = thread.entering.wrapping_add(1);
    begin(thread);
    thread.entering = thread.entering.wrapping_sub(1);
    drop(held);
    drop(errno);
}

/// Makes the thread ready to record.
pub fn begin(thread: &mut Thread) {
    thread.busy = 1;
    thread.identify();
    if desks::sit_down(thread) && chunks::begin(thread) {
        thread.backoff = 0;
    } else {
        desks::leave(thread);
        chunks::stand_in(thread);
        thread.backoff = thread.backoff.saturating_mul(2).clamp(16, 1 << 16);
        thread.patience = thread.backoff;
    }
    thread.watch_end();
    thread.generation = process::generation();
    thread.go_on();
    if thread.has_chunk() && process::is_to_be_measured() {
        file::costs(measure::added(thread));
        thread.go_on();
    }
    nvtx::thread_begins(thread);
}

/// Whether the innermost open call was left by longjmp or an exception: its frame lies at or below the caller's. On an
/// alternate signal stack addresses say nothing, and the open calls are still open.
fn innermost_was_left(address: u64, thread: &Thread) -> bool {
    if thread.generation != process::generation() || thread.open.is_null() {
        return false;
    }
    // SAFETY: the thread's desk is mapped; before its first call lies an entry whose frame is above all.
    let innermost = unsafe { (*thread.open.sub(1)).frame };
    address >= innermost && !sys::on_signal_stack()
}

/// Closes calls that were left.
fn close_left(address: u64, thread: &mut Thread) {
    if !innermost_was_left(address, thread) {
        return;
    }
    // SAFETY: as above.
    let calls = unsafe { (&raw const (*thread.desk).calls).cast::<OpenCall>() };
    let mut depth = 0usize;
    // SAFETY: below `open`, the calls are open.
    while unsafe { calls.add(depth) } < thread.open.cast_const() && unsafe { (*calls.add(depth)).frame } > address {
        depth = depth.wrapping_add(1);
    }
    record::abandon_from(thread, depth);
}

/// Sees to it that the frame's slot has a real function. `None`: there is none.
fn route(frame: &mut Frame, epoch: u64) -> Option<Way> {
    let first = SLOTS.as_ptr() as usize;
    let index = (frame.slot as usize).wrapping_sub(first) >> size_of::<Slot>().trailing_zeros();
    if index >= EXPORTED {
        return Some(Way::AtHome);
    }
    let slot = SLOTS.get(index)?;
    if slot.real.load(Ordering::Acquire) != 0 && sites::is_known(frame.site) {
        // A thread's first call, from where others have called.
        return Some(Way::AtHome);
    }
    let function = FUNCTIONS.get(usize::from(*exports::FIRST.get(index)?))?;
    if let Some(slot) = sites::served_by(frame.site).and_then(|pooled| SLOTS.get(EXPORTED.wrapping_add(pooled))) {
        // One site may call several functions through a pointer.
        let api = usize::from(slot.api());
        if FUNCTIONS.get(api).is_some_and(|served| served.name == function.name) {
            frame.slot = slot;
            return Some(Way::Elsewhere);
        }
    }
    let mut name = text::Path::<128>::new();
    name.push(function.name.as_bytes());
    let real = provider(name.as_c_str()?, frame.site as usize)?;
    let Some(api) = api_of(name.as_bytes(), real, frame.site as usize) else { return Some(Way::Past(real)) };
    if function.layer == Layer::Runtime && !is_primary(real) {
        // The pool may be used up, or busy: in a handler that has interrupted its holder, and in a child that was forked
        // meanwhile.
        let pooled = slots::pool_slot(real, api);
        let Some((pooled, slot)) = pooled.and_then(|pooled| Some((pooled, SLOTS.get(EXPORTED.wrapping_add(pooled))?)))
        else {
            return Some(Way::Past(real));
        };
        sites::serve(frame.site, pooled, epoch);
        frame.slot = slot;
        return Some(Way::Elsewhere);
    }
    if slot.real.load(Ordering::Acquire) != real {
        slots::set_exported(slot, real, api);
    }
    Some(Way::AtHome)
}

/// Whether a runtime function belongs to the libcudart that the exported names lead to. The first one seen is;
/// when it has been unloaded, the next. What another tool has put in its place is the same for all callers.
fn is_primary(real: usize) -> bool {
    let Some(base) = Object::at(real).map(|object| object.base) else { return false };
    if PRIMARY.load(Ordering::Acquire) != base && is_of_tool(real) {
        return true;
    }
    match PRIMARY.compare_exchange(0, base, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => true,
        Err(primary) if primary == base => true,
        Err(primary) if Object::at(primary).is_some() => false,
        Err(primary) => PRIMARY.compare_exchange(primary, base, Ordering::AcqRel, Ordering::Acquire).is_ok(),
    }
}

/// Whether code belongs to CUPTI, the driver, or what they bring along.
fn is_of_cupti(address: usize) -> bool {
    const BEGINNINGS: [&[u8]; 2] = [b"libcuda.so", b"libnv"];
    Object::at(address).is_none_or(|object| {
        object.is_cuda_tool() || BEGINNINGS.iter().any(|beginning| object.name().starts_with(beginning))
    })
}

/// Whether an address lies in another tool's library that is preloaded like us.
#[cold]
#[inline(never)]
fn is_of_tool(address: usize) -> bool {
    Object::at(address).is_some_and(|object| {
        let mut path = text::Path::<512>::new();
        object.push_path(&mut path);
        !object.name().starts_with(b"libcuda") && config::is_preloaded(text::file_name(path.as_bytes()))
    })
}

/// The real function that a caller would find under a name without us: in another tool that is preloaded after us,
/// in the library that the caller's object names, or in what the program came with after us.
pub fn in_scope(name: &CStr, caller: usize) -> Option<usize> {
    let name = name.to_bytes();
    let named = || {
        let prefix: &[u8] = if text::is_runtime(name) { b"libcudart" } else { b"libcuda.so" };
        symbols::of_named(&Object::at(caller)?.needs(prefix)?, name)
    };
    symbols::of_tool(name).or_else(named).or_else(|| symbols::after_us(name))
}

/// The real function behind an exported name, for a caller: the one in its scope, else from whichever library is
/// loaded. A caller without one in scope has the address from somebody who had.
fn provider(name: &CStr, caller: usize) -> Option<usize> {
    let anywhere = || {
        let sonames: &[&[u8]] = if text::is_runtime(name.to_bytes()) {
            &[b"libcudart.so.13", b"libcudart.so.12", b"libcudart.so.11.0"]
        } else {
            &[b"libcuda.so.1"]
        };
        sonames.iter().find_map(|soname| symbols::of_library(soname, name.to_bytes()))
    };
    in_scope(name, caller).or_else(anywhere).or_else(|| symbols::of_another(name.to_bytes()))
}

/// The api id of a name whose real function is at an address: its signature may depend on the libcudart that
/// the address lies in, or, where that is another tool's, on the one that the caller's object names. Names outside
/// the table get an id if they come from a CUDA library.
pub fn api_of(name: &[u8], real: usize, caller: usize) -> Option<u16> {
    let candidates = table::named(name);
    let object = Object::at(real);
    match candidates.len() {
        0 => {
            let library = object?;
            let from_cuda = library.name().starts_with(b"libcuda");
            if from_cuda { definitions::dynamic_api(name) } else { None }
        }
        1 => u16::try_from(candidates.start).ok(),
        _ => {
            // A libcudart of unknown version: the newest signature would read registers that the call may not
            // use; reading is harmless, and forwarding does not depend on it.
            let named =
                || Object::at(caller).and_then(|object| loader::runtime_major(object.needs(b"libcudart")?.head()));
            let major = object.and_then(|object| object.runtime_major()).or_else(named).unwrap_or(u8::MAX);
            table::find(name, major).and_then(|index| u16::try_from(index).ok())
        }
    }
}
