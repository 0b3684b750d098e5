//! Images, libraries, modules, and the two kinds of handle that a launch takes.
//!
//! An image is text: the line `umsim-image`, then one line an entry: `kernel MANGLED_NAME` or `global NAME BYTES`. Images in
//! the real formats (ELF, fat binary, PTX) are taken too; any kernel name is found in them.

use crate::abi::{DevicePtr, Handle, Result32, code, put};
use crate::context;
use crate::mangle::{self, Signature};
use crate::slots::Slots;
use crate::sync::Lock;
use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

/// A kernel's name and parameters. Kept for good: names are handed out.
pub struct KernelInfo {
    pub name: CString,
    pub signature: Signature,
}

fn intern(name: &str) -> Option<&'static KernelInfo> {
    static KNOWN: Lock<BTreeMap<String, &'static KernelInfo>> = Lock::new(BTreeMap::new());
    let mut known = KNOWN.lock();
    if let Some(info) = known.get(name) {
        return Some(info);
    }
    let made = KernelInfo { name: CString::new(name).ok()?, signature: mangle::parse(name) };
    let info: &'static KernelInfo = Box::leak(Box::new(made));
    known.insert(name.to_owned(), info);
    Some(info)
}

/// A `CUkernel` or a `CUfunction`.
#[derive(Default)]
struct Entry {
    info: AtomicPtr<KernelInfo>,
    /// Handle of the library or module.
    owner: std::sync::atomic::AtomicUsize,
}

impl Entry {
    fn info(&self) -> Option<&'static KernelInfo> {
        // SAFETY: null or a leaked `KernelInfo`.
        unsafe { self.info.load(Ordering::Acquire).as_ref() }
    }
}

/// A `CUlibrary` or a `CUmodule`: an image and the handles made from it.
#[derive(Default)]
struct Image {
    content: Content,
}

struct Content(Lock<Loaded>);

impl Default for Content {
    fn default() -> Self {
        Self(Lock::new(Loaded::default()))
    }
}

#[derive(Default)]
struct Loaded {
    /// Any name is found.
    open: bool,
    kernels: Vec<String>,
    globals: Vec<(String, usize)>,
    handles: BTreeMap<String, usize>,
    memory: BTreeMap<String, (usize, usize)>,
}

static LIBRARIES: Slots<Image> = Slots::new();
static MODULES: Slots<Image> = Slots::new();
static KERNELS: Slots<Entry> = Slots::new();
static FUNCTIONS: Slots<Entry> = Slots::new();

const MAGIC: &[u8] = b"umsim-image";
const LONGEST: usize = 1 << 20;

fn parse(text: &str) -> Loaded {
    let mut loaded = Loaded::default();
    for line in text.lines().skip(1) {
        let mut words = line.split_ascii_whitespace();
        match (words.next(), words.next(), words.next()) {
            (Some("kernel"), Some(name), _) => loaded.kernels.push(name.to_owned()),
            (Some("global"), Some(name), Some(bytes)) => {
                loaded.globals.push((name.to_owned(), bytes.parse().unwrap_or(4)));
            }
            _ => {}
        }
    }
    loaded
}

/// Reads an image.
///
/// # Safety
/// `image` is null, or points to an image of a known format; text ends with NUL.
unsafe fn read(image: *const c_void) -> Result<Loaded, Result32> {
    let bytes = image.cast::<u8>();
    if bytes.is_null() {
        return Err(code::INVALID_VALUE);
    }
    let starts = |magic: &[u8]| {
        // SAFETY: bytes are compared one by one and reading stops at the first that differs.
        magic.iter().enumerate().all(|(i, byte)| unsafe { *bytes.add(i) == *byte })
    };
    if starts(MAGIC) {
        // SAFETY: text images end with NUL.
        let length = unsafe { libc::strnlen(bytes.cast(), LONGEST) };
        // SAFETY: as measured.
        let text = unsafe { std::slice::from_raw_parts(bytes, length) };
        return Ok(parse(&String::from_utf8_lossy(text)));
    }
    // A fat binary's wrapper, the fat binary itself, ELF, and PTX text.
    let real = [b"\xb1\x43\x62\x46".as_slice(), b"\x50\xed\x55\xba", b"\x7fELF", b"//", b".version", b"\n.version"];
    if real.iter().any(|magic| starts(magic)) {
        return Ok(Loaded { open: true, ..Loaded::default() });
    }
    Err(code::INVALID_IMAGE)
}

fn load(table: &'static Slots<Image>, loaded: Loaded) -> Result<usize, Result32> {
    let (handle, image) = table.create().ok_or(code::OUT_OF_MEMORY)?;
    *image.content.0.lock() = loaded;
    Ok(handle as usize)
}

/// A name from the caller.
///
/// # Safety
/// `name` is null or a NUL-ended string.
unsafe fn name<'a>(name: *const c_char) -> Result<&'a str, Result32> {
    if name.is_null() {
        return Err(code::INVALID_VALUE);
    }
    // SAFETY: by the caller's contract.
    unsafe { CStr::from_ptr(name) }.to_str().map_err(|_| code::NOT_FOUND)
}

fn entry(
    images: &'static Slots<Image>,
    entries: &'static Slots<Entry>,
    owner: Handle,
    name: &str,
) -> Result<usize, Result32> {
    let image = images.get(owner).ok_or(code::INVALID_HANDLE)?;
    let mut loaded = image.content.0.lock();
    if let Some(handle) = loaded.handles.get(name) {
        return Ok(*handle);
    }
    if !loaded.open && !loaded.kernels.iter().any(|kernel| kernel == name) {
        return Err(code::NOT_FOUND);
    }
    let info = intern(name).ok_or(code::NOT_FOUND)?;
    let (handle, entry) = entries.create().ok_or(code::OUT_OF_MEMORY)?;
    entry.owner.store(owner as usize, Ordering::Relaxed);
    entry.info.store(std::ptr::from_ref(info).cast_mut(), Ordering::Release);
    loaded.handles.insert(name.to_owned(), handle as usize);
    Ok(handle as usize)
}

fn unload(images: &'static Slots<Image>, entries: &'static Slots<Entry>, handle: Handle) -> Result<(), Result32> {
    let image = images.get(handle).ok_or(code::INVALID_HANDLE)?;
    let loaded = std::mem::take(&mut *image.content.0.lock());
    if !images.retire(handle) {
        return Err(code::INVALID_HANDLE);
    }
    for (base, bytes) in loaded.memory.values() {
        crate::memory::drop_device(*base, *bytes);
    }
    for entry in loaded.handles.values() {
        entries.retire(*entry as Handle);
        entries.recycle(*entry as Handle);
    }
    images.recycle(handle);
    Ok(())
}

fn global(images: &'static Slots<Image>, owner: Handle, name: &str) -> Result<(usize, usize), Result32> {
    let now = context::current()?;
    let image = images.get(owner).ok_or(code::INVALID_HANDLE)?;
    let mut loaded = image.content.0.lock();
    if let Some(found) = loaded.memory.get(name) {
        return Ok(*found);
    }
    let declared = loaded.globals.iter().find(|(known, _)| known == name).map(|(_, bytes)| *bytes);
    let bytes = declared.or(loaded.open.then_some(4096)).ok_or(code::NOT_FOUND)?;
    let base = crate::memory::take_device(&now, bytes)?;
    loaded.memory.insert(name.to_owned(), (base, bytes));
    Ok((base, bytes))
}

/// The kernel of a handle of either kind.
pub fn launchable(handle: Handle) -> Result<&'static KernelInfo, Result32> {
    KERNELS.get(handle).or_else(|| FUNCTIONS.get(handle)).and_then(Entry::info).ok_or(code::INVALID_HANDLE)
}

/// `cuModuleLoadData`, `cuModuleLoadFatBinary`.
pub unsafe fn module_load(out: *mut Handle, image: *const c_void) -> Result<(), Result32> {
    context::current()?;
    if out.is_null() {
        return Err(code::INVALID_VALUE);
    }
    // SAFETY: by the API's contract.
    let handle = load(&MODULES, unsafe { read(image) }?)?;
    // SAFETY: not null.
    unsafe { put(out, handle as Handle) };
    Ok(())
}

/// `cuModuleLoadDataEx`: the options are ignored.
pub unsafe fn module_load_ex(
    out: *mut Handle,
    image: *const c_void,
    _count: c_uint,
    _options: *mut c_int,
    _values: *mut *mut c_void,
) -> Result<(), Result32> {
    // SAFETY: passed through.
    unsafe { module_load(out, image) }
}

/// Reads a file into a NUL-ended buffer.
///
/// # Safety
/// `path` is null or a NUL-ended string.
unsafe fn slurp(path: *const c_char) -> Result<Vec<u8>, Result32> {
    // SAFETY: passed through.
    let path = unsafe { name(path) }?;
    let mut bytes = std::fs::read(path).map_err(|_| code::FILE_NOT_FOUND)?;
    bytes.push(0);
    Ok(bytes)
}

/// `cuModuleLoad`.
pub unsafe fn module_load_file(out: *mut Handle, path: *const c_char) -> Result<(), Result32> {
    // SAFETY: by the API's contract; the buffer lives for the call, in which it is read.
    unsafe { module_load(out, slurp(path)?.as_ptr().cast()) }
}

/// `cuModuleUnload`.
pub unsafe fn module_unload(handle: Handle) -> Result<(), Result32> {
    context::initialized()?;
    unload(&MODULES, &FUNCTIONS, handle)
}

/// `cuModuleGetFunction`.
pub unsafe fn module_function(out: *mut Handle, module: Handle, wanted: *const c_char) -> Result<(), Result32> {
    context::current()?;
    // SAFETY: by the API's contract.
    let handle = entry(&MODULES, &FUNCTIONS, module, unsafe { name(wanted) }?)?;
    // SAFETY: out-pointer by the API's contract.
    unsafe { put(out, handle as Handle) };
    Ok(())
}

/// `cuModuleGetGlobal`.
pub unsafe fn module_global(
    out: *mut DevicePtr,
    bytes: *mut usize,
    module: Handle,
    wanted: *const c_char,
) -> Result<(), Result32> {
    // SAFETY: by the API's contract.
    let (base, size) = global(&MODULES, module, unsafe { name(wanted) }?)?;
    // SAFETY: out-pointers by the API's contract.
    unsafe {
        put(out, base as DevicePtr);
        put(bytes, size);
    }
    Ok(())
}

/// `cuLibraryLoadData`: the options are ignored.
#[expect(clippy::too_many_arguments, reason = "the driver's signature")]
pub unsafe fn library_load(
    out: *mut Handle,
    image: *const c_void,
    _jit: *mut c_int,
    _jit_values: *mut *mut c_void,
    _jit_count: c_uint,
    _options: *mut c_int,
    _option_values: *mut *mut c_void,
    _option_count: c_uint,
) -> Result<(), Result32> {
    context::initialized()?;
    if out.is_null() {
        return Err(code::INVALID_VALUE);
    }
    // SAFETY: by the API's contract.
    let handle = load(&LIBRARIES, unsafe { read(image) }?)?;
    // SAFETY: not null.
    unsafe { put(out, handle as Handle) };
    Ok(())
}

/// `cuLibraryLoadFromFile`.
#[expect(clippy::too_many_arguments, reason = "the driver's signature")]
pub unsafe fn library_load_file(
    out: *mut Handle,
    path: *const c_char,
    jit: *mut c_int,
    jit_values: *mut *mut c_void,
    jit_count: c_uint,
    options: *mut c_int,
    option_values: *mut *mut c_void,
    option_count: c_uint,
) -> Result<(), Result32> {
    // SAFETY: by the API's contract; the buffer lives for the call, in which it is read.
    unsafe {
        let image = slurp(path)?;
        let image = image.as_ptr().cast();
        library_load(out, image, jit, jit_values, jit_count, options, option_values, option_count)
    }
}

/// `cuLibraryUnload`.
pub unsafe fn library_unload(handle: Handle) -> Result<(), Result32> {
    context::initialized()?;
    unload(&LIBRARIES, &KERNELS, handle)
}

/// `cuLibraryGetKernel`.
pub unsafe fn library_kernel(out: *mut Handle, library: Handle, wanted: *const c_char) -> Result<(), Result32> {
    context::initialized()?;
    // SAFETY: by the API's contract.
    let handle = entry(&LIBRARIES, &KERNELS, library, unsafe { name(wanted) }?)?;
    // SAFETY: out-pointer by the API's contract.
    unsafe { put(out, handle as Handle) };
    Ok(())
}

/// `cuLibraryGetKernelCount`.
pub unsafe fn library_kernel_count(out: *mut c_uint, library: Handle) -> Result<(), Result32> {
    let image = LIBRARIES.get(library).ok_or(code::INVALID_HANDLE)?;
    let count = image.content.0.lock().kernels.len();
    // SAFETY: out-pointer by the API's contract.
    unsafe { put(out, count as c_uint) };
    Ok(())
}

/// `cuLibraryGetGlobal`, and `cuLibraryGetManaged`, which is not told apart.
pub unsafe fn library_global(
    out: *mut DevicePtr,
    bytes: *mut usize,
    library: Handle,
    wanted: *const c_char,
) -> Result<(), Result32> {
    // SAFETY: by the API's contract.
    let (base, size) = global(&LIBRARIES, library, unsafe { name(wanted) }?)?;
    // SAFETY: out-pointers by the API's contract.
    unsafe {
        put(out, base as DevicePtr);
        put(bytes, size);
    }
    Ok(())
}

/// `cuKernelGetFunction`: a function of the same name, made once a kernel.
pub unsafe fn kernel_function(out: *mut Handle, kernel: Handle) -> Result<(), Result32> {
    static MADE: Lock<BTreeMap<usize, usize>> = Lock::new(BTreeMap::new());
    context::current()?;
    let info = KERNELS.get(kernel).and_then(Entry::info).ok_or(code::INVALID_HANDLE)?;
    let mut made = MADE.lock();
    let known = made.get(&(kernel as usize)).copied();
    let known = known.filter(|function| {
        FUNCTIONS.get(*function as Handle).and_then(Entry::info).is_some_and(|other| std::ptr::eq(other, info))
    });
    let handle = match known {
        Some(handle) => handle,
        None => {
            let (handle, entry) = FUNCTIONS.create().ok_or(code::OUT_OF_MEMORY)?;
            entry.info.store(std::ptr::from_ref(info).cast_mut(), Ordering::Release);
            made.insert(kernel as usize, handle as usize);
            handle as usize
        }
    };
    // SAFETY: out-pointer by the API's contract.
    unsafe { put(out, handle as Handle) };
    Ok(())
}

fn info(entries: &'static Slots<Entry>, handle: Handle) -> Result<&'static KernelInfo, Result32> {
    entries.get(handle).and_then(Entry::info).ok_or(code::INVALID_HANDLE)
}

/// `cuKernelGetName`: wants a `CUkernel`.
pub unsafe fn kernel_name(out: *mut *const c_char, kernel: Handle) -> Result<(), Result32> {
    let info = info(&KERNELS, kernel)?;
    // SAFETY: out-pointer by the API's contract; the name is never freed.
    unsafe { put(out, info.name.as_ptr()) };
    Ok(())
}

/// `cuFuncGetName`: wants a `CUfunction`, and refuses a `CUkernel` with 400 as the real one does.
pub unsafe fn function_name(out: *mut *const c_char, function: Handle) -> Result<(), Result32> {
    let info = info(&FUNCTIONS, function)?;
    // SAFETY: as above.
    unsafe { put(out, info.name.as_ptr()) };
    Ok(())
}

/// # Safety
/// The out-pointers are null or valid.
unsafe fn param(info: &KernelInfo, index: usize, offset: *mut usize, size: *mut usize) -> Result<(), Result32> {
    let param = info.signature.params.get(index).ok_or(code::INVALID_VALUE)?;
    // SAFETY: by the caller's contract.
    unsafe {
        put(offset, param.offset);
        put(size, param.size);
    }
    Ok(())
}

/// `cuKernelGetParamInfo`: 1 past the last parameter.
pub unsafe fn kernel_param(kernel: Handle, index: usize, offset: *mut usize, size: *mut usize) -> Result<(), Result32> {
    // SAFETY: passed through.
    unsafe { param(info(&KERNELS, kernel)?, index, offset, size) }
}

/// `cuFuncGetParamInfo`: 400 for a `CUkernel`, 1 past the last parameter.
pub unsafe fn function_param(
    function: Handle,
    index: usize,
    offset: *mut usize,
    size: *mut usize,
) -> Result<(), Result32> {
    // SAFETY: passed through.
    unsafe { param(info(&FUNCTIONS, function)?, index, offset, size) }
}

fn attribute(which: c_int) -> c_int {
    match which {
        0 => 1024,
        4 => 32,
        5 | 6 => 90,
        8 => 49_152,
        _ => 0,
    }
}

/// `cuFuncGetAttribute`.
pub unsafe fn function_attribute(out: *mut c_int, which: c_int, function: Handle) -> Result<(), Result32> {
    launchable(function)?;
    // SAFETY: out-pointer by the API's contract.
    unsafe { put(out, attribute(which)) };
    Ok(())
}

/// `cuFuncSetAttribute`: accepted, without effect.
pub unsafe fn set_function_attribute(function: Handle, _which: c_int, _value: c_int) -> Result<(), Result32> {
    launchable(function).map(drop)
}

/// `cuFuncSetCacheConfig`.
pub unsafe fn set_function_config(function: Handle, _config: c_int) -> Result<(), Result32> {
    launchable(function).map(drop)
}

/// `cuKernelGetAttribute`.
pub unsafe fn kernel_attribute(out: *mut c_int, which: c_int, kernel: Handle, _device: c_int) -> Result<(), Result32> {
    info(&KERNELS, kernel)?;
    // SAFETY: out-pointer by the API's contract.
    unsafe { put(out, attribute(which)) };
    Ok(())
}

/// `cuKernelSetAttribute`: accepted, without effect.
pub unsafe fn set_kernel_attribute(
    _which: c_int,
    _value: c_int,
    kernel: Handle,
    _device: c_int,
) -> Result<(), Result32> {
    info(&KERNELS, kernel).map(drop)
}

/// The bare locks, for the fork handlers.
pub fn raw() -> [&'static crate::sync::RawLock; 4] {
    [LIBRARIES.raw(), MODULES.raw(), KERNELS.raw(), FUNCTIONS.raw()]
}
