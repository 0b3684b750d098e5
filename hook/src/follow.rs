//! Children that are started with a cleared environment are followed all the same.
//!
//! The functions of the exec family are interposed, and put back what loads us and tells us what to do. The rule: an
//! environment without `UMTUI_OUT` was cleared; one that has it and does not preload us was meant so and is left as it
//! is. They run in children of vfork, which share the memory of a parent with other threads: nothing is written but the
//! stack, and what is read was written when we were loaded.

use core::cell::UnsafeCell;
use core::ffi::{CStr, c_char, c_int};
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::loader::{self, Object};
use crate::{rank, sys, text};

/// A list of C strings that ends with null; itself null where there is none.
type List = *const *const c_char;

/// Tells that an environment was not cleared.
const MARK: &CStr = c"UMTUI_OUT=";
const PREFIX: &CStr = c"UMTUI_";
const PRELOAD: &CStr = c"LD_PRELOAD=";
/// Variables by which CUDA's libraries load tools; put back if they led to us.
const INJECTIONS: [&CStr; 2] = [c"CUDA_INJECTION64_PATH=", c"NVTX_INJECTION64_PATH="];
/// Libraries that insist on being before all others.
const SANITIZERS: [&[u8]; 5] = [b"libasan", b"libtsan", b"liblsan", b"libubsan", b"libclang_rt"];
/// Longest `LD_PRELOAD` that is joined with ours.
const PRELOAD_MAX: usize = 2048;
const VARIABLES: usize = 32;

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

/// What is put back, as it was when the program was started.
struct Kept {
    /// `NAME=value`, each ended by a NUL.
    bytes: [u8; 8192],
    used: usize,
    /// Where each begins.
    starts: [u16; VARIABLES],
    count: usize,
}

struct Place(UnsafeCell<Kept>);
// SAFETY: written once, when we are loaded; read only after FOLLOWING is set.
unsafe impl Sync for Place {}
static KEPT: Place = Place(UnsafeCell::new(Kept { bytes: [0; 8192], used: 0, starts: [0; VARIABLES], count: 0 }));
static FOLLOWING: AtomicBool = AtomicBool::new(false);

unsafe extern "C" {
    static environ: List;
}

fn current() -> List {
    // SAFETY: the C library's variable; programs may change it at any time.
    unsafe { (&raw const environ).read_volatile() }
}

/// Finds the real functions and remembers the environment. When we are loaded: in a child of vfork the loader must not be
/// asked, and programs overwrite their environment to show a title.
pub fn prepare() {
    for (place, name) in REAL.iter().zip(FUNCTIONS) {
        place.store(loader::symbol(libc::RTLD_NEXT, name) as usize, Ordering::Release);
    }
    let list = current();
    if find(list, MARK).is_none() {
        return;
    }
    // SAFETY: FOLLOWING is not set, and we are loaded by one thread.
    let kept = unsafe { &mut *KEPT.0.get() };
    if kept.keep(list).is_some() {
        FOLLOWING.store(true, Ordering::Release);
    }
}

impl Kept {
    /// `None` if it is too much.
    fn keep(&mut self, list: List) -> Option<()> {
        let object = Object::at(prepare as *const () as usize);
        let path = object.as_ref().map_or(&b""[..], Object::path);
        let own = text::file_name(path);
        let is_ours = |entry: &&[u8]| !own.is_empty() && text::file_name(entry) == own;
        // SAFETY: the process's environment.
        for variable in unsafe { strings(list) } {
            rank::note(variable);
            if let Some(value) = value(variable, PRELOAD) {
                if let Some(entry) = entries(value).find(is_ours) {
                    self.push(&[PRELOAD.to_bytes(), entry])?;
                }
            } else if INJECTIONS.iter().any(|name| value(variable, name).as_ref().is_some_and(is_ours))
                || value(variable, PREFIX).is_some()
            {
                self.push(&[variable])?;
            }
        }
        Some(())
    }

    fn push(&mut self, parts: &[&[u8]]) -> Option<()> {
        *self.starts.get_mut(self.count)? = u16::try_from(self.used).ok()?;
        self.count = self.count.wrapping_add(1);
        for part in parts.iter().copied().chain([&b"\0"[..]]) {
            let end = self.used.checked_add(part.len())?;
            self.bytes.get_mut(self.used..end)?.copy_from_slice(part);
            self.used = end;
        }
        Some(())
    }

    fn variables(&self) -> impl Iterator<Item = &CStr> {
        let starts = self.starts.iter().take(self.count);
        starts.filter_map(|&start| CStr::from_bytes_until_nul(self.bytes.get(usize::from(start)..)?).ok())
    }
}

/// The strings of a list.
///
/// # Safety
/// It is one, or null.
unsafe fn strings<'a>(list: List) -> impl Iterator<Item = &'a [u8]> {
    let mut at = list;
    core::iter::from_fn(move || {
        if at.is_null() {
            return None;
        }
        // SAFETY: the end has not been reached.
        let string = unsafe { *at };
        if string.is_null() {
            return None;
        }
        // SAFETY: the end is still ahead, and this is a C string.
        unsafe {
            at = at.add(1);
            Some(CStr::from_ptr(string).to_bytes())
        }
    })
}

/// What comes after `NAME=`, or after the beginning of a name.
fn value<'a>(variable: &'a [u8], name: &CStr) -> Option<&'a [u8]> {
    variable.strip_prefix(name.to_bytes())
}

fn find<'a>(list: List, name: &CStr) -> Option<&'a [u8]> {
    // SAFETY: an environment.
    unsafe { strings(list) }.find_map(|variable| value(variable, name))
}

fn entries(preload: &[u8]) -> impl Iterator<Item = &[u8]> {
    preload.split(|byte| b" :".contains(byte)).filter(|entry| !entry.is_empty())
}

/// Our library put before what is preloaded already, but after sanitizers, as the recorder does; `None` if it is there.
fn join(ours: &[u8], others: &[u8], to: &mut text::Path<PRELOAD_MAX>) -> Option<()> {
    if entries(others).any(|entry| text::file_name(entry) == text::file_name(ours)) {
        return None;
    }
    let is_sanitizer = |entry: &[u8]| SANITIZERS.iter().any(|known| text::file_name(entry).starts_with(known));
    to.push(PRELOAD.to_bytes());
    for entry in entries(others).filter(|entry| is_sanitizer(entry)) {
        to.push(entry).push(b":");
    }
    to.push(ours);
    for entry in entries(others).filter(|entry| !is_sanitizer(entry)) {
        to.push(b":").push(entry);
    }
    Some(())
}

/// What to put back into an environment, if it was cleared and we follow.
fn lacking(list: List) -> Option<&'static Kept> {
    if !FOLLOWING.load(Ordering::Acquire) || find(list, MARK).is_some() {
        return None;
    }
    // SAFETY: no longer written.
    Some(unsafe { &*KEPT.0.get() })
}

/// A variable of ours as it was when the program was started; `None` if that must be read elsewhere.
pub fn at_start(name: &[u8]) -> Option<&'static [u8]> {
    if !FOLLOWING.load(Ordering::Acquire) || !name.starts_with(PREFIX.to_bytes()) {
        return None;
    }
    // SAFETY: no longer written.
    let kept = unsafe { &*KEPT.0.get() };
    let values = kept.variables().filter_map(|variable| variable.to_bytes().strip_prefix(name)?.strip_prefix(b"="));
    Some(values.take(1).next().unwrap_or_default())
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

/// Integer argument registers.
const REGISTERS: usize = if cfg!(target_arch = "x86_64") { 6 } else { 8 };

impl Arguments {
    /// # Safety
    /// There are so many.
    unsafe fn get(self, index: usize) -> usize {
        // SAFETY: as the caller says.
        unsafe {
            match index.checked_sub(REGISTERS) {
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

fn real(function: Function, words: [usize; 6]) -> c_int {
    type Real = unsafe extern "C" fn(usize, usize, usize, usize, usize, usize) -> c_int;
    let address = address(function);
    let [a, b, c, d, e, f] = words;
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
        (None, address) => Answer { decided: 0, value: address },
    }
}

const EXECL: usize = 0;
const EXECLP: usize = 1;
const EXECLE: usize = 2;

/// A variadic function: its arguments are where the caller has put them, in registers and on the stack, and stay there if
/// the real function is jumped to.
macro_rules! variadic {
    ($name:ident, $kind:ident) => {
        #[allow(missing_docs)]
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        #[cfg(target_arch = "x86_64")]
        pub unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                "endbr64",
                "push rbp",
                "mov rbp, rsp",
                "push r9", "push r8", "push rcx", "push rdx", "push rsi", "push rdi",
                "mov edi, {kind}",
                "mov rsi, rsp",
                "lea rdx, [rbp + 16]",
                "call {variadic}",
                "mov r11, rdx",
                "mov r10, rax",
                "pop rdi", "pop rsi", "pop rdx", "pop rcx", "pop r8", "pop r9", "pop rbp",
                // No vector registers hold arguments; and the result where there is one.
                "xor eax, eax",
                "test r10, r10",
                "jz 2f",
                "mov eax, r11d",
                "ret",
                "2:",
                "jmp r11",
                kind = const $kind, variadic = sym variadic
            )
        }

        #[allow(missing_docs)]
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        #[cfg(target_arch = "aarch64")]
        pub unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                "hint #34",
                "stp x29, x30, [sp, #-80]!",
                "mov x29, sp",
                "stp x0, x1, [sp, #16]",
                "stp x2, x3, [sp, #32]",
                "stp x4, x5, [sp, #48]",
                "stp x6, x7, [sp, #64]",
                "mov x0, #{kind}",
                "add x1, sp, #16",
                "add x2, sp, #80",
                "bl {variadic}",
                "mov x17, x0",
                "mov x16, x1",
                "ldp x0, x1, [sp, #16]",
                "ldp x2, x3, [sp, #32]",
                "ldp x4, x5, [sp, #48]",
                "ldp x6, x7, [sp, #64]",
                "ldp x29, x30, [sp], #80",
                "cbz x17, 2f",
                "mov w0, w16",
                "ret",
                "2:",
                "br x16",
                kind = const $kind, variadic = sym variadic
            )
        }
    };
}
variadic!(execl, EXECL);
variadic!(execlp, EXECLP);
variadic!(execle, EXECLE);

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

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(others: &[u8]) -> Option<std::string::String> {
        let mut to = text::Path::new();
        join(b"/c/hook.so", others, &mut to)?;
        Some(std::string::String::from_utf8_lossy(to.as_bytes()).into_owned())
    }

    #[test]
    fn the_hook_comes_first_but_after_sanitizers() {
        assert_eq!(joined(b"").as_deref(), Some("LD_PRELOAD=/c/hook.so"));
        assert_eq!(
            joined(b"/l/libasan.so.8 libx.so").as_deref(),
            Some("LD_PRELOAD=/l/libasan.so.8:/c/hook.so:libx.so")
        );
        assert_eq!(joined(b"libx.so:/other/hook.so"), None);
    }

    #[test]
    fn what_does_not_fit_is_not_kept_by_halves() {
        let mut kept = Kept { bytes: [0; 8192], used: 0, starts: [0; VARIABLES], count: 0 };
        assert!(kept.push(&[b"A=", b"1"]).is_some() && kept.push(&[b"B=2"]).is_some());
        let variables: std::vec::Vec<_> = kept.variables().collect();
        assert_eq!(variables, [c"A=1", c"B=2"]);
        assert!(kept.push(&[&[b'x'; 9000]]).is_none());
    }
}
