//! What the assembly of every machine defines under the same names: the trampolines, the pool of stubs, and the calls
//! that the hook measures itself by.

use core::sync::atomic::{AtomicPtr, Ordering};

use super::Frame;

unsafe extern "C" {
    fn umtui_by_ticks();
    fn umtui_by_clock();
    fn umtui_off();
    fn umtui_call_recorded(times: usize);
    fn umtui_call_directly(times: usize);
    static umtui_nothing: u8;
    static umtui_measured_site: u8;
    static umtui_pool: u8;
    // Defined by the linker: where this library begins and ends in memory.
    static __ehdr_start: u8;
    static _end: u8;
}

/// The trampoline in force; stubs jump through it. The one that asks for the time is right at any moment.
/// Set from the start, since other libraries' constructors may call before ours has run.
pub static TRAMPOLINE: AtomicPtr<()> = AtomicPtr::new(umtui_by_clock as *const () as *mut ());

/// Which trampoline to use.
pub enum Trampoline {
    /// Any clock.
    ByClock,
    /// The tick counter is the clock.
    ByTicks,
    /// Nothing is recorded.
    Off,
}

/// Chooses the trampoline.
pub fn use_trampoline(which: Trampoline) {
    let address = match which {
        Trampoline::ByClock => umtui_by_clock as *const (),
        Trampoline::ByTicks => umtui_by_ticks as *const (),
        Trampoline::Off => umtui_off as *const (),
    };
    TRAMPOLINE.store(address.cast_mut(), Ordering::Release);
}

/// What [`crate::enter::enter`] tells the trampoline to do.
#[repr(u64)]
pub enum Verdict {
    /// Call the slot's function without recording it.
    Pass = 0,
    /// Call it and record it.
    Record = 1,
    /// There is no such function: return an error.
    Missing = 2,
}

impl Frame {
    /// The words that `Op::word` counts: registers, saved frame, return address, stack arguments.
    pub fn words(&self) -> *const u64 {
        self.registers.as_ptr()
    }

    /// Makes the call one of a function that has no slot; only for a call that is not recorded.
    pub fn pass_to(&mut self, real: usize) {
        // The trampoline reads no more of a slot than its first word then.
        self.late_start = real as u64;
        self.slot = (&raw const self.late_start).cast();
    }
}

/// Bytes from one stub of the pool to the next.
pub const POOL_STEP: usize = 32;

/// The address of the pool's stub with this index.
pub fn pool_stub(index: usize) -> usize {
    (&raw const umtui_pool as usize).wrapping_add(index.wrapping_mul(POOL_STEP))
}

/// Whether an address lies in this library: one of our stubs.
pub fn is_ours(address: usize) -> bool {
    (&raw const __ehdr_start as usize..&raw const _end as usize).contains(&address)
}

/// The address of a function that does nothing.
pub fn nothing() -> usize {
    &raw const umtui_nothing as usize
}

/// Where [`call_recorded`] calls from.
pub fn measured_site() -> u64 {
    &raw const umtui_measured_site as u64
}

/// Calls it through the trampoline in force.
pub fn call_recorded(times: usize) {
    // SAFETY: the slot stands for the function, the site is known, and the thread is ready to record.
    unsafe { umtui_call_recorded(times) };
}

/// Calls it as it is.
pub fn call_directly(times: usize) {
    // SAFETY: it does nothing.
    unsafe { umtui_call_directly(times) };
}
