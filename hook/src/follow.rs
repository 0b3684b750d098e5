//! Children that are started with a cleared environment are followed all the same.
//!
//! The functions of the exec family are interposed, and put back what loads us and tells us what to do. The rule: an
//! environment without `UMTUI_OUT` was cleared; one that has it and does not preload us was meant so and is left as it
//! is. They run in children of vfork, which share the memory of a parent with other threads: nothing is written but the
//! stack, and what is read was written when we were loaded.

use core::ffi::{CStr, c_char, c_int};
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicUsize, Ordering};

use crate::kept::{Kept, List, PRELOAD, PRELOAD_MAX, current, find, join, lacking, strings, value};
use crate::{arch, cupti, file, loader, sys, text};

/// The functions that are interposed.
#[derive(Clone, Copy)]
enum Function {
    Execve,
    Execv,
    Execvp,
    Execvpe,
    Execl,
    Execlp,
    Execle,
    Fexecve,
    Execveat,
    Spawn,
    Spawnp,
}

const FUNCTIONS: [&CStr; 11] = [
    c"execve",
    c"execv",
    c"execvp",
    c"execvpe",
    c"execl",
    c"execlp",
    c"execle",
    c"fexecve",
    c"execveat",
    c"posix_spawn",
    c"posix_spawnp",
];
static REAL: [AtomicUsize; FUNCTIONS.len()] = [const { AtomicUsize::new(0) }; FUNCTIONS.len()];

/// Finds the real functions. When we are loaded: in a child of vfork the loader must not be asked.
pub fn prepare() {
    for (place, name) in REAL.iter().zip(FUNCTIONS) {
        place.store(loader::symbol(libc::RTLD_NEXT, name) as usize, Ordering::Release);
    }
}

/// A call of a function that takes its environment as an argument.
struct Call {
    explicit: Function,
    words: [usize; 6],
    /// Which word is the environment.
    environment: usize,
    /// Arguments that are not a list yet and become word 1.
    arguments: Option<Arguments>,
}

/// The arguments of a variadic function, all words.
#[derive(Clone, Copy)]
struct Arguments {
    registers: *const usize,
    stack: *const usize,
}

impl Arguments {
    /// # Safety
    /// There are so many.
    unsafe fn get(self, index: usize) -> usize {
        // SAFETY: as the caller says.
        unsafe {
            match index.checked_sub(arch::GATHERED) {
                None => *self.registers.add(index),
                Some(index) => *self.stack.add(index),
            }
        }
    }

    /// How many come before the null that ends them, the path among them.
    unsafe fn count(self) -> usize {
        let mut count = 1usize;
        // SAFETY: the null is still ahead.
        while unsafe { self.get(count) } != 0 {
            count = count.wrapping_add(1);
        }
        count
    }
}

/// Makes a call of a function that has its words in registers.
fn run(function: Function, words: [usize; 6], environment: usize) -> c_int {
    let list = words.get(environment).map_or(core::ptr::null(), |&word| word as List);
    let call = Call { words, explicit: function, environment, arguments: None };
    lacking(list).and_then(|kept| follow(&call, list, kept)).unwrap_or_else(|| real(function, words))
}

/// Makes a call of a function that takes the process's own environment.
fn run_with_own(function: Function, explicit: Function, path: usize, arguments: usize) -> c_int {
    let words = [path, arguments, 0, 0, 0, 0];
    let list = current();
    let call = Call { words, explicit, environment: 2, arguments: None };
    lacking(list).and_then(|kept| follow(&call, list, kept)).unwrap_or_else(|| real(function, words))
}

fn address(function: Function) -> usize {
    REAL.get(function as usize).map_or(0, |real| real.load(Ordering::Acquire))
}

/// Before the process becomes another one.
fn write_down() {
    cupti::flush_at_once();
    file::write_at_once();
}

fn real(function: Function, words: [usize; 6]) -> c_int {
    type Real = unsafe extern "C" fn(usize, usize, usize, usize, usize, usize) -> c_int;
    let address = address(function);
    let [a, b, c, d, e, f] = words;
    if !matches!(function, Function::Spawn | Function::Spawnp) {
        write_down();
    }
    if address != 0 {
        // SAFETY: the function takes as many of these words as it has arguments; the caller answers for them.
        return unsafe { core::mem::transmute::<usize, Real>(address)(a, b, c, d, e, f) };
    }
    let outcome = match function {
        // SAFETY: the caller's words. The C library has it since glibc 2.34, and does no more.
        Function::Execveat => unsafe { sys::call(libc::SYS_execveat, words) },
        _ => (libc::ENOSYS as isize).wrapping_neg(),
    };
    // SAFETY: the calling thread's errno.
    unsafe { *libc::__errno_location() = sys::errno(outcome).unwrap_or(0) };
    -1
}

/// Makes the call with what its environment lacks. `None` where that cannot be: the call must be made as it came.
fn follow(call: &Call, list: List, kept: &Kept) -> Option<c_int> {
    let ours = kept.variables().find_map(|variable| value(variable.to_bytes(), PRELOAD));
    match (ours, find(list, PRELOAD)) {
        (Some(ours), Some(others)) => join_and_follow(call, list, kept, ours, others),
        _ => make_room(call, list, kept, core::ptr::null()),
    }
}

#[inline(never)]
fn join_and_follow(call: &Call, list: List, kept: &Kept, ours: &[u8], others: &[u8]) -> Option<c_int> {
    let mut joined = text::Path::<PRELOAD_MAX>::new();
    if join(ours, others, &mut joined).is_none() {
        return make_room(call, list, kept, core::ptr::null());
    }
    make_room(call, list, kept, joined.as_c_str()?.as_ptr())
}

/// The lists go on the stack, as the C library does it: the allocator must not be used here.
fn make_room(call: &Call, list: List, kept: &Kept, preload: *const c_char) -> Option<c_int> {
    // SAFETY: an environment, and arguments that end with a null.
    let (variables, arguments) =
        unsafe { (strings(list).count(), call.arguments.map_or(0, |arguments| arguments.count())) };
    let needed = variables.wrapping_add(kept.count).wrapping_add(arguments).wrapping_add(2);
    match needed {
        0..=128 => with_lists::<128>(call, list, kept, preload),
        129..=1024 => with_lists::<1024>(call, list, kept, preload),
        1025..=8192 => with_lists::<8192>(call, list, kept, preload),
        _ => None,
    }
}

#[inline(never)]
fn with_lists<const N: usize>(call: &Call, list: List, kept: &Kept, preload: *const c_char) -> Option<c_int> {
    let mut room = [MaybeUninit::<usize>::uninit(); N];
    let mut used = 0usize;
    let mut put = |word: usize| {
        if let Some(place) = room.get_mut(used) {
            place.write(word);
            used = used.wrapping_add(1);
        }
    };
    // SAFETY: an environment.
    for variable in unsafe { strings(list) } {
        let replaced = !preload.is_null() && value(variable, PRELOAD).is_some();
        put(if replaced { preload as usize } else { variable.as_ptr() as usize });
    }
    for variable in kept.variables() {
        let name = variable.to_bytes().split_inclusive(|&byte| byte == b'=').next().unwrap_or_default();
        // SAFETY: an environment.
        if !unsafe { strings(list) }.any(|other| other.starts_with(name)) {
            put(variable.as_ptr() as usize);
        }
    }
    put(0);
    let after = used;
    let mut words = call.words;
    if let Some(arguments) = call.arguments {
        let mut put = |word: usize| {
            if let Some(place) = room.get_mut(used) {
                place.write(word);
                used = used.wrapping_add(1);
            }
        };
        // SAFETY: so many there are, and then a null.
        unsafe { (1..=arguments.count()).for_each(|index| put(arguments.get(index))) };
        if let (Some(word), Some(list)) = (words.get_mut(1), room.get(after..)) {
            *word = list.as_ptr() as usize;
        }
    }
    if let Some(word) = words.get_mut(call.environment) {
        *word = room.as_ptr() as usize;
    }
    let result = real(call.explicit, words);
    (!is_too_big(call.explicit, result)).then_some(result)
}

/// Whether there was no room for what we have added.
fn is_too_big(function: Function, result: c_int) -> bool {
    match function {
        Function::Spawn | Function::Spawnp => result == libc::E2BIG,
        // SAFETY: the calling thread's errno.
        _ => result == -1 && unsafe { *libc::__errno_location() } == libc::E2BIG,
    }
}

/// Our answer to a variadic function.
#[repr(C)]
struct Answer {
    /// Nonzero: `value` is the result. Else it is the real function, to be jumped to.
    decided: usize,
    value: usize,
}

unsafe extern "C" fn variadic(kind: usize, registers: *const usize, stack: *const usize) -> Answer {
    let arguments = Arguments { registers, stack };
    let (function, explicit) = match kind {
        EXECL => (Function::Execl, Function::Execve),
        EXECLP => (Function::Execlp, Function::Execvpe),
        _ => (Function::Execle, Function::Execve),
    };
    // SAFETY: the arguments end with a null, after which execle has the environment.
    let list =
        unsafe { if kind == EXECLE { arguments.get(arguments.count().wrapping_add(1)) as List } else { current() } };
    // SAFETY: the first argument is the path.
    let words = [unsafe { arguments.get(0) }, 0, list as usize, 0, 0, 0];
    let call = Call { explicit, words, environment: 2, arguments: Some(arguments) };
    match (lacking(list).and_then(|kept| follow(&call, list, kept)), address(function)) {
        (Some(result), _) => Answer { decided: 1, value: result as usize },
        (None, 0) => Answer { decided: 1, value: real(function, words) as usize },
        (None, address) => {
            write_down();
            Answer { decided: 0, value: address }
        }
    }
}

const EXECL: usize = 0;
const EXECLP: usize = 1;
const EXECLE: usize = 2;

// Their arguments are where the caller has put them, in registers and on the stack, and stay there if the real function is
// jumped to.
arch::gather!(execl, EXECL, variadic);
arch::gather!(execlp, EXECLP, variadic);
arch::gather!(execle, EXECLE, variadic);

macro_rules! exported {
    ($($name:ident($($argument:ident),*) = $call:expr;)*) => {
        $(
            #[allow(missing_docs)]
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name($($argument: usize),*) -> c_int {
                $call
            }
        )*
    };
}
exported! {
    execve(path, arguments, list) = run(Function::Execve, [path, arguments, list, 0, 0, 0], 2);
    execv(path, arguments) = run_with_own(Function::Execv, Function::Execve, path, arguments);
    execvp(path, arguments) = run_with_own(Function::Execvp, Function::Execvpe, path, arguments);
    execvpe(path, arguments, list) = run(Function::Execvpe, [path, arguments, list, 0, 0, 0], 2);
    fexecve(fd, arguments, list) = run(Function::Fexecve, [fd, arguments, list, 0, 0, 0], 2);
    execveat(folder, path, arguments, list, flags) =
        run(Function::Execveat, [folder, path, arguments, list, flags, 0], 3);
    posix_spawn(pid, path, actions, attributes, arguments, list) =
        run(Function::Spawn, [pid, path, actions, attributes, arguments, list], 5);
    posix_spawnp(pid, path, actions, attributes, arguments, list) =
        run(Function::Spawnp, [pid, path, actions, attributes, arguments, list], 5);
}
