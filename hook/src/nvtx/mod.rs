//! NVTX: the door by which a program's ranges come to us, `NVTX_INJECTION64_PATH`.
//!
//! Each library with NVTX in it loads us and hands us its tables of function pointers to fill; layouts and numbers are
//! those of NVTX 3's `nvtxTypes.h` (`NvtxCallbackModule`, `NvtxCallbackIdCore`, `NvtxCallbackIdCore2`). All of them lead
//! to the same ranges: those of a thread are one stack for each domain.
//!
//! A range is recorded beside the calls of its thread. Before the process's first CUDA call there is no file: ranges
//! that are still open then are written when there is one, others are not.

use core::ffi::{CStr, c_char, c_int, c_void};
use umtui_wire::activity::{EVIDENCE_RANGES, WHY_NOT_ASKED, WHY_RECORDED, WHY_VARIABLE_TAKEN};
use umtui_wire::group::Group;

use crate::config::{self, Config};
use crate::thread::Thread;
use crate::{arch, clock, evidence, kept, process, sys};

mod event;
mod filter;
mod handles;
mod names;
pub mod stacks;
mod started;
mod write;

use event::{Attributes, Event, Name, ascii, with_event, with_wide};
use stacks::{Popped, Pushed};

pub use filter::wait_for;

const CALLBACKS: u32 = 1;
const MODULE_CORE: c_int = 1;
const MODULE_CORE2: c_int = 5;
/// What NVTX returns for a range that was never pushed.
const NO_RANGE: c_int = -1;
const VARIABLE: &CStr = c"NVTX_INJECTION64_PATH=";

/// `NvtxExportTableCallbacks`.
#[repr(C)]
struct Callbacks {
    bytes: usize,
    table: Option<unsafe extern "C" fn(c_int, *mut *const *mut usize, *mut u32) -> c_int>,
}

/// At load: says it if ranges will not come to us.
pub fn prepare() {
    match kept::find(kept::current(), VARIABLE) {
        None | Some([]) => evidence::tell_text(EVIDENCE_RANGES, WHY_NOT_ASKED, b""),
        Some(path) if !kept::is_ours(path) => evidence::tell_text(EVIDENCE_RANGES, WHY_VARIABLE_TAKEN, path),
        Some(_) => {}
    }
}

/// A file begins.
pub fn begin(config: &Config) {
    let wanted = config.ranges && config.groups.wrapping_shr(Group::Range as u32) & 1 != 0;
    write::want(wanted);
    names::begin(config.max_bytes);
    if !wanted {
        evidence::tell_text(EVIDENCE_RANGES, WHY_NOT_ASKED, b"");
    }
}

/// The calling thread has become ready to record: its open ranges are written.
pub fn thread_begins(thread: &mut Thread) {
    if write::is_on(thread) {
        catch_up(thread);
        started::catch_up(thread);
    }
}

/// Recording may go on after a pause.
pub fn catch_up(thread: &mut Thread) {
    if let Some(stack) = stacks::existing(thread)
        && write::is_on(thread)
    {
        write::catch_up(thread, stack);
    }
}

/// The calling thread ends.
pub fn thread_ends(thread: &mut Thread) {
    filter::thread_ends(thread);
    stacks::leave(thread);
}

/// In a child after fork.
pub fn after_fork() {
    // SAFETY: the calling thread's own state.
    stacks::after_fork(unsafe { &*arch::thread() });
    started::after_fork();
    filter::after_fork();
}

/// String id of the name that the program has registered for the thread.
pub fn thread_name(thread: &Thread) -> Option<u32> {
    let name = stacks::existing(thread)?.name;
    Some(handles::id(name)).filter(|&id| name != 0 && id != 0)
}

/// The thread has got another name since.
pub fn forget_thread_name(thread: &Thread) {
    if let Some(stack) = stacks::existing(thread) {
        stack.name = 0;
    }
}

/// The calling thread's state.
#[inline]
fn current<'a>() -> &'a mut Thread {
    // SAFETY: the calling thread's own state.
    unsafe { &mut *arch::thread() }
}

/// A range was pushed; how many of its domain are around it in the thread, which NVTX returns.
#[inline]
fn push(domain: u32, event: &Event<'_>) -> c_int {
    let thread = current();
    let level = thread.ranges;
    thread.ranges = level.wrapping_add(1);
    if filter::is_on() {
        filter::pushed(thread, domain, event);
    }
    let stack = stacks::of(thread);
    let Some(Pushed { place, level_in_domain, below, open }) = stack.and_then(|stack| stack.push(domain)) else {
        write::too_deep(thread);
        return level as c_int;
    };
    open.set(event, clock::now(), level);
    open.written = 0;
    if write::is_on(thread)
        && !write::push(thread, open, below, event.name)
        && let Some(stack) = stacks::existing(thread)
    {
        write::push_slowly(thread, stack, place);
    }
    c_int::from(level_in_domain)
}

#[inline]
fn pop(domain: u32) -> c_int {
    let now = clock::now();
    let thread = current();
    let closed = stacks::existing(thread).map(|stack| (stack.pop(domain), stack));
    let level = match closed {
        Some((Popped::At(place, level), stack)) => {
            write::pop(thread, stack, place, now);
            stack.close(place);
            c_int::from(level)
        }
        Some((Popped::None, _)) => return NO_RANGE,
        _ if thread.ranges == 0 => return NO_RANGE,
        _ => thread.ranges.wrapping_sub(1) as c_int,
    };
    thread.ranges = thread.ranges.saturating_sub(1);
    if filter::is_on() {
        filter::popped(thread, domain);
    }
    level
}

fn start(domain: u32, event: &Event<'_>) -> u64 {
    let id = started::next_id();
    if filter::is_on() {
        filter::started(domain, event, id);
    }
    started::start(current(), domain, event, id);
    id
}

fn end(domain: u32, id: u64) {
    started::end(current(), domain, id);
    if filter::is_on() {
        filter::ended(id);
    }
}

fn mark(domain: u32, event: &Event<'_>) {
    write::mark(current(), domain, event);
}

/// A thread has a name; only the calling thread's can be written beside its calls.
fn name_thread(id: u32, name: Name<'_>) {
    let Name::Text(text) = name else { return };
    if id != sys::thread_id() {
        return;
    }
    let thread = current();
    let Some((name, stack)) = handles::keep(text).zip(stacks::of(thread)) else { return };
    stack.name = name;
    if let Some(id) = thread_name(thread) {
        write::thread_name(thread, id);
    }
}

fn register(name: Name<'_>) -> *const c_void {
    match name {
        Name::Text(text) => handles::register(text),
        _ => core::ptr::null(),
    }
}

/// Defines functions that NVTX calls, in each of the forms in which a name may come.
macro_rules! called {
    ($($name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)? = $body:expr;)*) => {
        $(
            unsafe extern "C" fn $name($($argument: $type),*) $(-> $result)? {
                // SAFETY: NVTX's arguments, for which its caller answers.
                #[allow(unused_unsafe, reason = "some have none that matter")]
                unsafe { $body }
            }
        )*
    };
}

type Text = *const c_char;
type Wide = *const u32;
type Handle = *const c_void;

called! {
    mark_ex(attributes: *const Attributes) = with_event(attributes, |event| mark(handles::DEFAULT_DOMAIN, event));
    mark_ascii(name: Text) = mark(handles::DEFAULT_DOMAIN, &Event::named(ascii(name)));
    mark_wide(name: Wide) = with_wide(name, |name| mark(handles::DEFAULT_DOMAIN, &Event::named(name)));
    start_ex(attributes: *const Attributes) -> u64 =
        with_event(attributes, |event| start(handles::DEFAULT_DOMAIN, event));
    start_ascii(name: Text) -> u64 = start(handles::DEFAULT_DOMAIN, &Event::named(ascii(name)));
    start_wide(name: Wide) -> u64 = with_wide(name, |name| start(handles::DEFAULT_DOMAIN, &Event::named(name)));
    range_end(id: u64) = end(handles::DEFAULT_DOMAIN, id);
    push_ex(attributes: *const Attributes) -> c_int =
        with_event(attributes, |event| push(handles::DEFAULT_DOMAIN, event));
    push_ascii(name: Text) -> c_int = push(handles::DEFAULT_DOMAIN, &Event::named(ascii(name)));
    push_wide(name: Wide) -> c_int = with_wide(name, |name| push(handles::DEFAULT_DOMAIN, &Event::named(name)));
    pop_last() -> c_int = pop(handles::DEFAULT_DOMAIN);
    // Categories keep their numbers: there is no record for their names.
    name_category(_category: u32, _name: Handle) = ();
    name_thread_ascii(id: u32, name: Text) = name_thread(id, ascii(name));
    name_thread_wide(id: u32, name: Wide) = with_wide(name, |name| name_thread(id, name));

    domain_mark(domain: Handle, attributes: *const Attributes) =
        with_event(attributes, |event| mark(handles::domain(domain), event));
    domain_start(domain: Handle, attributes: *const Attributes) -> u64 =
        with_event(attributes, |event| start(handles::domain(domain), event));
    domain_end(domain: Handle, id: u64) = end(handles::domain(domain), id);
    domain_push(domain: Handle, attributes: *const Attributes) -> c_int =
        with_event(attributes, |event| push(handles::domain(domain), event));
    domain_pop(domain: Handle) -> c_int = pop(handles::domain(domain));
    resource_create(_domain: Handle, _attributes: Handle) -> Handle = (&raw const RESOURCE).cast();
    resource_destroy(_resource: Handle) = ();
    domain_name_category(_domain: Handle, _category: u32, _name: Handle) = ();
    register_ascii(_domain: Handle, name: Text) -> Handle = register(ascii(name));
    register_wide(_domain: Handle, name: Wide) -> Handle = with_wide(name, register);
    domain_create_ascii(name: Text) -> Handle = register(ascii(name));
    domain_create_wide(name: Wide) -> Handle = with_wide(name, register);
    // What stands for a name goes on standing for it.
    domain_destroy(_domain: Handle) = ();
    initialize(_reserved: Handle) = ();
}

/// Handle of all resources: nothing is recorded of them.
static RESOURCE: u64 = 0;

/// NVTX asks us to fill its tables. Nonzero: we have.
///
/// # Safety
/// `export_table` is NVTX's function of that name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn InitializeInjectionNvtx2(
    export_table: Option<unsafe extern "C" fn(u32) -> *const c_void>,
) -> c_int {
    let errno = sys::Errno::save();
    // SAFETY: as the caller says.
    let filled = unsafe { initialize_from(export_table) };
    drop(errno);
    filled.into()
}

/// # Safety
/// As [`InitializeInjectionNvtx2`].
unsafe fn initialize_from(export_table: Option<unsafe extern "C" fn(u32) -> *const c_void>) -> bool {
    // SAFETY: NVTX's function, and what it returns for the callbacks.
    let callbacks = unsafe { export_table.map(|table| table(CALLBACKS).cast::<Callbacks>()) };
    let Some(callbacks) = callbacks.filter(|callbacks| !callbacks.is_null()) else { return false };
    let config = config::read();
    if !config.ranges && !filter::is_on() {
        return false;
    }
    if config.wanted && process::generation() == 0 {
        // Ranges that are opened before the first CUDA call have times of the same clock.
        clock::choose(config.ticks_per_second, config.clock);
    }
    let core: [usize; 15] = [
        mark_ex as *const () as usize,
        mark_ascii as *const () as usize,
        mark_wide as *const () as usize,
        start_ex as *const () as usize,
        start_ascii as *const () as usize,
        start_wide as *const () as usize,
        range_end as *const () as usize,
        push_ex as *const () as usize,
        push_ascii as *const () as usize,
        push_wide as *const () as usize,
        pop_last as *const () as usize,
        name_category as *const () as usize,
        name_category as *const () as usize,
        name_thread_ascii as *const () as usize,
        name_thread_wide as *const () as usize,
    ];
    let core2: [usize; 15] = [
        domain_mark as *const () as usize,
        domain_start as *const () as usize,
        domain_end as *const () as usize,
        domain_push as *const () as usize,
        domain_pop as *const () as usize,
        resource_create as *const () as usize,
        resource_destroy as *const () as usize,
        domain_name_category as *const () as usize,
        domain_name_category as *const () as usize,
        register_ascii as *const () as usize,
        register_wide as *const () as usize,
        domain_create_ascii as *const () as usize,
        domain_create_wide as *const () as usize,
        domain_destroy as *const () as usize,
        initialize as *const () as usize,
    ];
    // SAFETY: as above.
    let filled = unsafe { fill(callbacks, MODULE_CORE, &core) & fill(callbacks, MODULE_CORE2, &core2) };
    let is_wanted = config.ranges && config.groups.wrapping_shr(Group::Range as u32) & 1 != 0;
    if filled && config.wanted && is_wanted {
        evidence::tell_text(EVIDENCE_RANGES, WHY_RECORDED, b"");
    }
    filled
}

/// Fills a module's table, whose functions are counted from 1.
///
/// # Safety
/// `callbacks` is NVTX's.
unsafe fn fill(callbacks: *const Callbacks, module: c_int, functions: &[usize]) -> bool {
    let (mut table, mut count) = (core::ptr::null::<*mut usize>(), 0u32);
    // SAFETY: NVTX's function; it sets both.
    let found = unsafe {
        (*callbacks).bytes >= size_of::<Callbacks>()
            && (*callbacks).table.is_some_and(|get| get(module, &mut table, &mut count) != 0)
    };
    if !found || table.is_null() {
        return false;
    }
    for (index, &function) in (1usize..).zip(functions) {
        // SAFETY: the table has `count` places, each null or the address of a function pointer.
        unsafe {
            let place = if index < count as usize { *table.add(index) } else { core::ptr::null_mut() };
            if !place.is_null() {
                *place = function;
            }
        }
    }
    true
}
