//! The SIGSEGV handler that makes CPU touches of managed memory visible, and hands every other fault on.

use crate::managed;
use crate::sync::{errno, set_errno};
use std::cell::UnsafeCell;
use std::ffi::{c_int, c_void};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

struct Previous(UnsafeCell<std::mem::MaybeUninit<libc::sigaction>>);

// SAFETY: written once before `INSTALLED` says so, read only afterwards.
unsafe impl Sync for Previous {}

static PREVIOUS: Previous = Previous(UnsafeCell::new(std::mem::MaybeUninit::uninit()));
static INSTALLED: AtomicBool = AtomicBool::new(false);

/// Installs the handler, once a process. It runs on the alternate stack where the program has one.
pub fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: all-zero is a valid sigaction; the handler has the SA_SIGINFO signature.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) = handle;
            action.sa_sigaction = handler as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
            // No other signal's handler may run (and touch managed memory) while a fault is served.
            libc::sigfillset(&raw mut action.sa_mask);
            let previous = (*PREVIOUS.0.get()).as_mut_ptr();
            if libc::sigaction(libc::SIGSEGV, &raw const action, previous) == 0 {
                INSTALLED.store(true, Ordering::Release);
            }
        }
    });
}

extern "C" fn handle(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    let saved = errno();
    // SAFETY: the kernel passes valid structures to an SA_SIGINFO handler.
    let (address, code) = unsafe { ((*info).si_addr() as usize, (*info).si_code) };
    // Only a protection fault (SEGV_ACCERR, 2) at an address of an arena can be ours; a raised signal has another code.
    let ours = code == 2 && managed::is_managed(address) && {
        let (write, counter) = access(context);
        managed::cpu_fault(address, write, counter)
    };
    set_errno(saved);
    if !ours {
        hand_on(signal, info, context);
    }
}

/// Whether the access was a write, and the program counter.
fn access(context: *mut c_void) -> (bool, u64) {
    let context = context.cast::<libc::ucontext_t>();
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the kernel passes a valid ucontext.
    unsafe {
        let registers = &(*context).uc_mcontext.gregs;
        let error = registers.get(libc::REG_ERR as usize).copied().unwrap_or(2);
        let counter = registers.get(libc::REG_RIP as usize).copied().unwrap_or(0);
        (error & 2 != 0, counter as u64)
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: as above. The syndrome lies in an extension record; without parsing it every access counts as a write.
    unsafe {
        (true, (*context).uc_mcontext.pc)
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        let _ = context;
        (true, 0)
    }
}

/// What would have happened without us.
fn hand_on(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    if !INSTALLED.load(Ordering::Acquire) {
        return;
    }
    // SAFETY: installed, so the previous action is written and no longer changes.
    let previous = unsafe { (*PREVIOUS.0.get()).assume_init_ref() };
    match previous.sa_sigaction {
        libc::SIG_DFL | libc::SIG_IGN => {
            // Restore the default and return: the instruction faults again and the process dies as it would have. A raised
            // signal does not come back by itself, so it is raised again.
            // SAFETY: plain signal calls; async-signal-safe.
            unsafe {
                let mut default: libc::sigaction = std::mem::zeroed();
                default.sa_sigaction = libc::SIG_DFL;
                libc::sigaction(signal, &raw const default, std::ptr::null_mut());
                if (*info).si_code <= 0 {
                    libc::raise(signal);
                }
            }
        }
        handler if previous.sa_flags & libc::SA_SIGINFO != 0 => {
            // SAFETY: the program installed it as a handler of this type.
            let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) =
                unsafe { std::mem::transmute(handler) };
            handler(signal, info, context);
        }
        handler => {
            // SAFETY: as above.
            let handler: extern "C" fn(c_int) = unsafe { std::mem::transmute(handler) };
            handler(signal);
        }
    }
}
