//! Others who use CUPTI in this process: their calls come past us, so that we are out of the way before they begin.
//!
//! Its buffers and its subscription are one a process. Whoever registers callbacks while ours are in use would be handed
//! buffers that it does not know (seen with PyTorch's profiler).

use core::ffi::CStr;

use crate::symbols;

/// `CUPTI_ERROR_NOT_INITIALIZED`: there is no libcupti.
const NOT_INITIALIZED: i32 = 15;

type Real = unsafe extern "C" fn(usize, usize, usize, usize) -> i32;

fn forward(name: &CStr, words: [usize; 4]) -> i32 {
    super::step_aside();
    let Some(real) = symbols::of_prefix(b"libcupti.so", name.to_bytes()) else { return NOT_INITIALIZED };
    let [a, b, c, d] = words;
    // SAFETY: the function of that name takes at most these words.
    unsafe { core::mem::transmute::<usize, Real>(real)(a, b, c, d) }
}

macro_rules! taken {
    ($($name:ident = $text:literal;)*) => {
        $(
            /// CUPTI's function.
            ///
            /// # Safety
            /// As CUPTI says.
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name(a: usize, b: usize, c: usize, d: usize) -> i32 {
                forward($text, [a, b, c, d])
            }
        )*
    };
}

taken! {
    cuptiSubscribe = c"cuptiSubscribe";
    cuptiSubscribe_v2 = c"cuptiSubscribe_v2";
    cuptiActivityRegisterCallbacks = c"cuptiActivityRegisterCallbacks";
    cuptiActivityRegisterCallbacks_v2 = c"cuptiActivityRegisterCallbacks_v2";
    cuptiFinalize = c"cuptiFinalize";
}
