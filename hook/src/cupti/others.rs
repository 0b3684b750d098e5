//! Others who use CUPTI in this process: their calls come past us, so that we are out of the way before they begin.
//!
//! Its buffers and its subscription are one a process. Whoever registers callbacks while ours are in use would be handed
//! buffers that it does not know (seen with PyTorch's profiler).

use core::ffi::{CStr, c_void};
use core::sync::atomic::{AtomicUsize, Ordering};

use crate::{arch, loader, symbols};

/// `CUPTI_ERROR_NOT_INITIALIZED`: there is no libcupti.
const NOT_INITIALIZED: i32 = 15;

/// By whatever arguments such a function has: all are words.
type Function = unsafe extern "C" fn(usize, usize, usize, usize) -> i32;

/// The functions with which others begin, or end what we have begun.
const NAMES: [&CStr; 5] = [
    c"cuptiSubscribe",
    c"cuptiSubscribe_v2",
    c"cuptiActivityRegisterCallbacks",
    c"cuptiActivityRegisterCallbacks_v2",
    c"cuptiFinalize",
];
/// Libraries whose functions are handed out by `dlsym` at most.
const LIBRARIES: usize = 4;

/// The real functions behind what [`instead_of`] hands out.
static REAL: [[AtomicUsize; NAMES.len()]; LIBRARIES] =
    [const { [const { AtomicUsize::new(0) }; NAMES.len()] }; LIBRARIES];
/// The functions of the library that we have loaded ourselves; zero: the program had.
static OURS: [AtomicUsize; NAMES.len()] = [const { AtomicUsize::new(0) }; NAMES.len()];

/// We have loaded a library that the program had not.
pub fn is_ours(library: &loader::Library) {
    for (place, name) in OURS.iter().zip(NAMES) {
        place.store(library.symbol(name) as usize, Ordering::Release);
    }
}

unsafe fn forward(real: usize, words: [usize; 4]) -> i32 {
    super::step_aside();
    if real == 0 {
        return NOT_INITIALIZED;
    }
    let [a, b, c, d] = words;
    // SAFETY: the function takes at most these words; the caller answers for them.
    unsafe { core::mem::transmute::<usize, Function>(real)(a, b, c, d) }
}

/// Where an exported name leads: to what the program would find without us, else to a library that somebody has loaded.
fn exported<const N: usize>() -> usize {
    let Some(name) = NAMES.get(N) else { return 0 };
    let next = loader::symbol(libc::RTLD_NEXT, name) as usize;
    let ours = OURS.get(N).map_or(0, |ours| ours.load(Ordering::Acquire));
    if next != 0 { next } else { symbols::of_prefix(b"libcupti.so", name.to_bytes(), ours).unwrap_or(0) }
}

/// Stands for a library's function.
unsafe extern "C" fn through<const L: usize, const N: usize>(a: usize, b: usize, c: usize, d: usize) -> i32 {
    let real = REAL.get(L).and_then(|real| real.get(N)).map_or(0, |real| real.load(Ordering::Acquire));
    // SAFETY: the caller's words.
    unsafe { forward(real, [a, b, c, d]) }
}

arch::landing_pad!(
    /// [`through`].
    pad<const L: usize, const N: usize> => through::<L, N>
);

macro_rules! row {
    ($library:literal) => {
        [pad::<$library, 0>, pad::<$library, 1>, pad::<$library, 2>, pad::<$library, 3>, pad::<$library, 4>]
    };
}
static THROUGH: [[unsafe extern "C" fn(); NAMES.len()]; LIBRARIES] = [row!(0), row!(1), row!(2), row!(3)];

/// What `dlsym` is to answer for one of these names in place of the real function. `None`: what it would without us.
pub fn instead_of(name: &CStr, handle: *mut c_void) -> Option<*mut c_void> {
    // Nearly all names are told by their beginning.
    if !name.to_bytes().starts_with(b"cupti") {
        return None;
    }
    let index = NAMES.iter().position(|known| *known == name)?;
    let in_handle = if handle == libc::RTLD_DEFAULT || handle == libc::RTLD_NEXT {
        core::ptr::null_mut()
    } else {
        loader::symbol(handle, name)
    };
    let real = if in_handle.is_null() || arch::is_ours(in_handle as usize) {
        loader::symbol(libc::RTLD_NEXT, name) as usize
    } else {
        in_handle as usize
    };
    if real == 0 {
        // Without us there would be none where we are found first.
        return (in_handle as usize != 0 || handle == libc::RTLD_DEFAULT).then_some(core::ptr::null_mut());
    }
    for (functions, through) in REAL.iter().zip(&THROUGH) {
        let (place, through) = functions.get(index).zip(through.get(index))?;
        let known = place.compare_exchange(0, real, Ordering::AcqRel, Ordering::Acquire);
        if known.is_ok() || known == Err(real) {
            return Some(*through as *mut c_void);
        }
    }
    Some(real as *mut c_void)
}

/// The function of an exported name.
unsafe extern "C" fn taken<const N: usize>(a: usize, b: usize, c: usize, d: usize) -> i32 {
    // SAFETY: the caller's words.
    unsafe { forward(exported::<N>(), [a, b, c, d]) }
}

macro_rules! taken {
    ($($name:ident = $index:literal;)*) => {
        $(
            arch::landing_pad!(
                /// CUPTI's function.
                #[unsafe(no_mangle)]
                $name => taken::<$index>
            );
        )*
    };
}

taken! {
    cuptiSubscribe = 0;
    cuptiSubscribe_v2 = 1;
    cuptiActivityRegisterCallbacks = 2;
    cuptiActivityRegisterCallbacks_v2 = 3;
    cuptiFinalize = 4;
}
