//! The variables that load us and tell us what to do, as they were when the program was started: for children whose
//! environment lacks them, and for ourselves.

use core::cell::UnsafeCell;
use core::ffi::{CStr, c_char};
use core::sync::atomic::{AtomicBool, Ordering};

use crate::objects::Object;
use crate::{arch, rank, text};

/// A list of C strings that ends with null; itself null where there is none.
pub type List = *const *const c_char;

/// Tells that an environment was not cleared.
const MARK: &CStr = c"UMTUI_OUT=";
const PREFIX: &CStr = c"UMTUI_";
/// The loader's variable.
pub const PRELOAD: &CStr = c"LD_PRELOAD=";
/// Variables by which CUDA's libraries load tools; put back if they led to us.
const INJECTIONS: [&CStr; 2] = [c"CUDA_INJECTION64_PATH=", c"NVTX_INJECTION64_PATH="];
/// Libraries that insist on being before all others.
const SANITIZERS: [&[u8]; 5] = [b"libasan", b"libtsan", b"liblsan", b"libubsan", b"libclang_rt"];
/// Longest `LD_PRELOAD` that is joined with ours.
pub const PRELOAD_MAX: usize = 2048;
const VARIABLES: usize = 32;

/// What is put back, as it was when the program was started.
pub struct Kept {
    /// `NAME=value`, each ended by a NUL.
    bytes: [u8; 8192],
    used: usize,
    /// Where each begins.
    starts: [u16; VARIABLES],
    /// How many there are.
    pub count: usize,
}

struct Place(UnsafeCell<Kept>);
// SAFETY: written once, when we are loaded; read only after WHOLE is set.
unsafe impl Sync for Place {}
static KEPT: Place = Place(UnsafeCell::new(Kept { bytes: [0; 8192], used: 0, starts: [0; VARIABLES], count: 0 }));
static WHOLE: AtomicBool = AtomicBool::new(false);

unsafe extern "C" {
    static environ: List;
}

/// The process's environment as it is now.
pub fn current() -> List {
    // SAFETY: the C library's variable; programs may change it at any time.
    unsafe { (&raw const environ).read_volatile() }
}

/// Remembers the environment. When we are loaded: later programs clear it, and overwrite its memory to show a title.
pub fn prepare() {
    let list = current();
    if find(list, MARK).is_none() {
        return;
    }
    // SAFETY: WHOLE is not set, and we are loaded by one thread.
    let kept = unsafe { &mut *KEPT.0.get() };
    if kept.keep(list).is_some() {
        WHOLE.store(true, Ordering::Release);
    }
}

/// The path of our library.
fn own_path() -> text::Path<1024> {
    let mut path = text::Path::new();
    if let Some(own) = Object::at(arch::nothing()) {
        own.push_path(&mut path);
    }
    path
}

/// Whether a path leads to our library.
pub fn is_ours(path: &[u8]) -> bool {
    let own = own_path();
    let own = text::file_name(own.as_bytes());
    !own.is_empty() && text::file_name(path) == own
}

impl Kept {
    /// `None` if it is too much.
    fn keep(&mut self, list: List) -> Option<()> {
        let own = own_path();
        let own = text::file_name(own.as_bytes());
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

    /// Them all.
    pub fn variables(&self) -> impl Iterator<Item = &CStr> {
        let starts = self.starts.iter().take(self.count);
        starts.filter_map(|&start| CStr::from_bytes_until_nul(self.bytes.get(usize::from(start)..)?).ok())
    }
}

/// The strings of a list.
///
/// # Safety
/// It is one, or null.
pub unsafe fn strings<'a>(list: List) -> impl Iterator<Item = &'a [u8]> {
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
pub fn value<'a>(variable: &'a [u8], name: &CStr) -> Option<&'a [u8]> {
    variable.strip_prefix(name.to_bytes())
}

/// A variable's value in an environment.
pub fn find<'a>(list: List, name: &CStr) -> Option<&'a [u8]> {
    // SAFETY: an environment.
    unsafe { strings(list) }.find_map(|variable| value(variable, name))
}

fn entries(preload: &[u8]) -> impl Iterator<Item = &[u8]> {
    preload.split(|byte| b" :".contains(byte)).filter(|entry| !entry.is_empty())
}

/// Our library put before what is preloaded already, but after sanitizers, as the recorder does; `None` if it is there.
pub fn join(ours: &[u8], others: &[u8], to: &mut text::Path<PRELOAD_MAX>) -> Option<()> {
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
pub fn lacking(list: List) -> Option<&'static Kept> {
    if !WHOLE.load(Ordering::Acquire) || find(list, MARK).is_some() {
        return None;
    }
    // SAFETY: no longer written.
    Some(unsafe { &*KEPT.0.get() })
}

/// A variable of ours as it was when the program was started; `None` if that must be read elsewhere.
pub fn at_start(name: &[u8]) -> Option<&'static [u8]> {
    if !WHOLE.load(Ordering::Acquire) || !name.starts_with(PREFIX.to_bytes()) {
        return None;
    }
    // SAFETY: no longer written.
    let kept = unsafe { &*KEPT.0.get() };
    let values = kept.variables().filter_map(|variable| variable.to_bytes().strip_prefix(name)?.strip_prefix(b"="));
    Some(values.take(1).next().unwrap_or_default())
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
