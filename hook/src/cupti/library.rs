//! libcupti: finding it, and its functions.
//!
//! Never linked: a program without it, or with another version, must run as ever. The one that the process has loaded
//! comes first, since a second copy would know nothing of the first.

use core::ffi::{CStr, c_char, c_void};

use crate::loader::{self, Library};
use crate::{config, symbols, text};

/// `cuptiSubscribe`'s callback.
pub type Callback = unsafe extern "C" fn(*mut c_void, u32, u32, *const c_void);
/// `cuptiActivityRegisterCallbacks`'s first.
pub type Requested = unsafe extern "C" fn(*mut *mut u8, *mut usize, *mut usize);
/// `cuptiActivityRegisterCallbacks`'s second.
pub type Completed = unsafe extern "C" fn(*mut c_void, u32, *mut u8, usize, usize);

/// `CUpti_ActivityUnifiedMemoryCounterConfig`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CounterConfig {
    /// 1: a process and a device.
    pub scope: u32,
    /// Which counter.
    pub kind: u32,
    /// Device; not looked at any more.
    pub device: u32,
    /// 1: on.
    pub enable: u32,
}

macro_rules! functions {
    ($($field:ident = $name:literal: fn($($argument:ty),*);)*) => {
        /// The functions that are used, all there.
        #[derive(Clone, Copy)]
        #[allow(missing_docs, reason = "named as in the library")]
        pub struct Functions {
            $(pub $field: unsafe extern "C" fn($($argument),*) -> i32,)*
        }

        impl Functions {
            /// Those of a library, or the name of the first that it lacks.
            pub fn of(library: &Library) -> Result<Self, &'static CStr> {
                Ok(Self {
                    $($field: {
                        let address = library.symbol($name);
                        if address.is_null() {
                            return Err($name);
                        }
                        // SAFETY: the function of that name has this signature in every version from 11.0 on.
                        unsafe {
                            core::mem::transmute::<*mut c_void, unsafe extern "C" fn($($argument),*) -> i32>(address)
                        }
                    },)*
                })
            }
        }
    };
}

functions! {
    get_version = c"cuptiGetVersion": fn(*mut u32);
    get_timestamp = c"cuptiGetTimestamp": fn(*mut u64);
    subscribe = c"cuptiSubscribe": fn(*mut *mut c_void, Callback, *mut c_void);
    unsubscribe = c"cuptiUnsubscribe": fn(*mut c_void);
    enable_callback = c"cuptiEnableCallback": fn(u32, *mut c_void, u32, u32);
    get_callback_name = c"cuptiGetCallbackName": fn(u32, u32, *mut *const c_char);
    register_callbacks = c"cuptiActivityRegisterCallbacks": fn(Requested, Completed);
    enable = c"cuptiActivityEnable": fn(u32);
    disable = c"cuptiActivityDisable": fn(u32);
    flush_all = c"cuptiActivityFlushAll": fn(u32);
    get_next_record = c"cuptiActivityGetNextRecord": fn(*mut u8, usize, *mut *mut u8);
    get_dropped = c"cuptiActivityGetNumDroppedRecords": fn(*mut c_void, u32, *mut usize);
    configure_counters = c"cuptiActivityConfigureUnifiedMemoryCounter": fn(*const CounterConfig, u32);
}

/// Names under which it is installed, newest first, with the major version of CUDA that each is of.
const NAMES: [(&CStr, u32); 3] = [(c"libcupti.so.13", 13), (c"libcupti.so.12", 12), (c"libcupti.so.11.8", 11)];

/// A library that was found, and where.
pub struct Found {
    /// The library; it stays loaded.
    pub library: Library,
    /// Its path.
    pub path: text::Path<512>,
    /// The process had loaded it before.
    pub was_loaded: bool,
}

/// Finds the library: the one that is loaded, the one that `UMTUI_CUPTI` names, or the newest in the usual places that
/// is of no later major version than the driver.
pub fn find(driver_version: u32) -> Option<Found> {
    let mut path = text::Path::new();
    if symbols::path_of_loaded(b"libcupti.so", &mut path) {
        return load(&path, libc::RTLD_NOLOAD);
    }
    config::push_variable(b"UMTUI_CUPTI", &mut path);
    if !path.as_bytes().is_empty() {
        return load(&path, 0);
    }
    let major = driver_version / 1000;
    let fitting = || NAMES.iter().filter(move |&&(_, of)| of <= major);
    fitting().find_map(|&(name, _)| in_toolkit(name)).or_else(|| fitting().find_map(|&(name, _)| beside(name)))
}

/// In the folders that variables name, where the loader looks, and where toolkits are installed.
fn in_toolkit(name: &CStr) -> Option<Found> {
    for variable in [b"CUDA_HOME".as_slice(), b"CUDA_PATH"] {
        let mut folder = text::Path::<512>::new();
        config::push_variable(variable, &mut folder);
        if let Some(found) = in_folder(folder.as_bytes(), name) {
            return Some(found);
        }
    }
    let mut plain = text::Path::new();
    plain.push(name.to_bytes());
    load(&plain, 0).or_else(|| in_folder(b"/usr/local/cuda", name)).or_else(|| in_folder(b"/opt/cuda", name))
}

fn in_folder(folder: &[u8], name: &CStr) -> Option<Found> {
    if folder.is_empty() {
        return None;
    }
    let places: [&[u8]; 3] = [b"/extras/CUPTI/lib64/", b"/lib64/", b"/lib/"];
    places.iter().find_map(|place| {
        let mut path = text::Path::new();
        path.push(folder).push(place).push(name.to_bytes());
        load(&path, 0)
    })
}

/// Beside the CUDA libraries that are loaded: Python's packages have a folder each, or one for all since version 13.
fn beside(name: &CStr) -> Option<Found> {
    for library in [b"libcudart.so".as_slice(), b"libcublas.so", b"libcudnn.so", b"libnvrtc.so"] {
        let mut path = text::Path::<512>::new();
        if !symbols::path_of_loaded(library, &mut path) {
            continue;
        }
        let folder = path.as_bytes().iter().rposition(|&byte| byte == b'/').unwrap_or(0);
        for place in [b"/".as_slice(), b"/../../cuda_cupti/lib/"] {
            let mut candidate = text::Path::new();
            candidate.push(path.as_bytes().get(..folder).unwrap_or_default()).push(place).push(name.to_bytes());
            if let Some(found) = load(&candidate, 0) {
                return Some(found);
            }
        }
    }
    None
}

fn load(path: &text::Path<512>, flags: i32) -> Option<Found> {
    let library = loader::Library::open(path.as_c_str()?, libc::RTLD_NOW | libc::RTLD_LOCAL | flags)?;
    let mut found = Found { library, path: text::Path::new(), was_loaded: flags & libc::RTLD_NOLOAD != 0 };
    if path.as_bytes().contains(&b'/') || !symbols::path_of_loaded(path.as_bytes(), &mut found.path) {
        found.path.push(path.as_bytes());
    }
    Some(found)
}
