//! A small client of NVTX 3: ranges for a tool that `NVTX_INJECTION64_PATH` names, and nothing without one.
//!
//! As in the real client, the tool's library is loaded at the first call; it asks for a table of tables and fills the places of
//! the functions that it has. Numbers are those of NVTX 3's `nvtxTypes.h`.

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::os::unix::ffi::OsStringExt as _;
use std::ptr::{null, null_mut};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

const CALLBACKS: u32 = 1;
const VERSION_INFO: u32 = 3;
const MODULE_CORE: c_int = 1;
const MODULE_CORE2: c_int = 5;
/// Places of a table, of which the first is none.
const PLACES: usize = 16;
const RANGE_PUSH_EX: usize = 8;
const RANGE_PUSH_A: usize = 9;
const RANGE_POP: usize = 11;

/// Version of the client and of the attributes.
const VERSION: u16 = 3;
const COLOR_ARGB: i32 = 1;
const PAYLOAD_UNSIGNED: i32 = 1;
const MESSAGE_ASCII: i32 = 1;

/// `nvtxEventAttributes_t`.
#[repr(C)]
struct Attributes {
    version: u16,
    bytes: u16,
    category: u32,
    color_type: i32,
    color: u32,
    payload_type: i32,
    reserved: i32,
    payload: u64,
    message_type: i32,
    message: *const c_char,
}

type Place = AtomicPtr<c_void>;

/// The tool's functions by module and number.
static CORE: [Place; PLACES] = [const { AtomicPtr::new(null_mut()) }; PLACES];
static CORE2: [Place; PLACES] = [const { AtomicPtr::new(null_mut()) }; PLACES];

/// Addresses of the places, as the tool wants them.
struct Tables {
    core: [*const Place; PLACES],
    core2: [*const Place; PLACES],
}

// SAFETY: addresses of statics.
unsafe impl Sync for Tables {}
// SAFETY: as above.
unsafe impl Send for Tables {}

fn tables() -> &'static Tables {
    static TABLES: OnceLock<Tables> = OnceLock::new();
    let addresses = |places: &'static [Place; PLACES]| {
        let mut addresses = [null(); PLACES];
        for (address, place) in addresses.iter_mut().zip(places).skip(1) {
            *address = std::ptr::from_ref(place);
        }
        addresses
    };
    TABLES.get_or_init(|| Tables { core: addresses(&CORE), core2: addresses(&CORE2) })
}

/// `NvtxExportTableCallbacks`.
#[repr(C)]
struct Callbacks {
    bytes: usize,
    table: unsafe extern "C" fn(c_int, *mut *const *const Place, *mut c_uint) -> c_int,
}

/// `NvtxExportTableVersionInfo`.
#[repr(C)]
struct VersionInfo {
    bytes: usize,
    version: u32,
    reserved: u32,
    set_version: unsafe extern "C" fn(u32),
}

static EXPORTED: Callbacks = Callbacks { bytes: size_of::<Callbacks>(), table: module_table };
static EXPORTED_VERSION: VersionInfo =
    VersionInfo { bytes: size_of::<VersionInfo>(), version: VERSION as u32, reserved: 0, set_version };

unsafe extern "C" fn set_version(_: u32) {}

/// The table of a module. Zero: there is none.
///
/// # Safety
/// The out-pointers are null or valid.
unsafe extern "C" fn module_table(module: c_int, out: *mut *const *const Place, count: *mut c_uint) -> c_int {
    let table = match module {
        MODULE_CORE => &tables().core,
        MODULE_CORE2 => &tables().core2,
        _ => return 0,
    };
    // SAFETY: by the caller's contract.
    unsafe {
        if !out.is_null() {
            *out = table.as_ptr();
        }
        if !count.is_null() {
            *count = PLACES as c_uint;
        }
    }
    1
}

unsafe extern "C" fn export_table(id: u32) -> *const c_void {
    match id {
        CALLBACKS => (&raw const EXPORTED).cast(),
        VERSION_INFO => (&raw const EXPORTED_VERSION).cast(),
        _ => null(),
    }
}

/// Loads the tool, once.
fn load() {
    static LOADED: OnceLock<()> = OnceLock::new();
    LOADED.get_or_init(|| {
        let path = std::env::var_os("NVTX_INJECTION64_PATH").filter(|path| !path.is_empty());
        let Some(path) = path.and_then(|path| CString::new(path.into_vec()).ok()) else { return };
        // SAFETY: plain calls of the loader; the function has this type by NVTX's documentation.
        let filled = unsafe {
            let library = libc::dlopen(path.as_ptr(), libc::RTLD_LAZY);
            let function = match library.is_null() {
                true => null_mut(),
                false => libc::dlsym(library, c"InitializeInjectionNvtx2".as_ptr()),
            };
            if function.is_null() {
                return;
            }
            type Initialize = unsafe extern "C" fn(unsafe extern "C" fn(u32) -> *const c_void) -> c_int;
            std::mem::transmute::<*mut c_void, Initialize>(function)(export_table)
        };
        if filled == 0 {
            CORE.iter().chain(&CORE2).for_each(|place| place.store(null_mut(), Ordering::Release));
        }
    });
}

fn core(number: usize) -> *mut c_void {
    load();
    CORE.get(number).map_or(null_mut(), |place| place.load(Ordering::Acquire))
}

/// A range of this thread, until it is dropped.
pub struct Range(());

impl Range {
    /// Opens a range with a name alone.
    pub fn new(name: &CStr) -> Self {
        let push = core(RANGE_PUSH_A);
        if !push.is_null() {
            // SAFETY: the tool's function of this type.
            unsafe {
                std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*const c_char) -> c_int>(push)(name.as_ptr())
            };
        }
        Self(())
    }

    /// Opens a range with a colour (0xAARRGGBB) and a number.
    pub fn numbered(name: &CStr, color: u32, number: u64) -> Self {
        let push = core(RANGE_PUSH_EX);
        let attributes = Attributes {
            version: VERSION,
            bytes: size_of::<Attributes>() as u16,
            category: 0,
            color_type: COLOR_ARGB,
            color,
            payload_type: PAYLOAD_UNSIGNED,
            reserved: 0,
            payload: number,
            message_type: MESSAGE_ASCII,
            message: name.as_ptr(),
        };
        if !push.is_null() {
            // SAFETY: the tool's function of this type; the attributes live for the call.
            unsafe {
                let push = std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*const Attributes) -> c_int>(push);
                push(&raw const attributes)
            };
        }
        Self(())
    }
}

impl Drop for Range {
    fn drop(&mut self) {
        let pop = core(RANGE_POP);
        if !pop.is_null() {
            // SAFETY: the tool's function of this type.
            unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn() -> c_int>(pop)() };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_those_of_nvtx() {
        assert_eq!((size_of::<Attributes>(), std::mem::offset_of!(Attributes, message)), (48, 40));
    }

    #[test]
    fn tables_have_a_place_for_each_function_but_none_at_zero() {
        let (mut table, mut count) = (null(), 0);
        // SAFETY: valid out-pointers.
        assert_eq!(unsafe { module_table(MODULE_CORE, &raw mut table, &raw mut count) }, 1);
        assert_eq!(count, 16);
        // SAFETY: `count` entries.
        let entries = unsafe { std::slice::from_raw_parts(table, count as usize) };
        assert!(entries[0].is_null() && entries[1..].iter().all(|entry| !entry.is_null()));
        // SAFETY: as above.
        assert_eq!(unsafe { module_table(2, &raw mut table, &raw mut count) }, 0);
    }
}
