//! Modules, libraries, kernels.

use crate::abi::{DevicePtr, Handle};
use crate::{attributes, module};
use std::ffi::{c_char, c_int, c_uint, c_void};

super::plain! { TABLE:
    "cuModuleLoad" 2000 cuModuleLoad(out: *mut Handle, path: *const c_char) => module::module_load_file;
    "cuModuleLoadData" 2000 cuModuleLoadData(out: *mut Handle, image: *const c_void) => module::module_load;
    "cuModuleLoadDataEx" 2010 cuModuleLoadDataEx(out: *mut Handle, image: *const c_void, count: c_uint,
        options: *mut c_int, values: *mut *mut c_void) => module::module_load_ex;
    "cuModuleLoadFatBinary" 2000 cuModuleLoadFatBinary(out: *mut Handle, image: *const c_void) => module::module_load;
    "cuModuleUnload" 2000 cuModuleUnload(handle: Handle) => module::module_unload;
    "cuModuleGetFunction" 2000 cuModuleGetFunction(out: *mut Handle, module: Handle, name: *const c_char)
        => module::module_function;
    "cuModuleGetGlobal" 3020 cuModuleGetGlobal_v2(out: *mut DevicePtr, bytes: *mut usize, module: Handle,
        name: *const c_char) => module::module_global;
    "cuModuleGetLoadingMode" 11070 cuModuleGetLoadingMode(out: *mut c_int) => attributes::loading_mode;
    "cuLibraryLoadData" 12000 cuLibraryLoadData(out: *mut Handle, image: *const c_void, jit: *mut c_int,
        jit_values: *mut *mut c_void, jit_count: c_uint, options: *mut c_int, option_values: *mut *mut c_void,
        option_count: c_uint) => module::library_load;
    "cuLibraryLoadFromFile" 12000 cuLibraryLoadFromFile(out: *mut Handle, path: *const c_char, jit: *mut c_int,
        jit_values: *mut *mut c_void, jit_count: c_uint, options: *mut c_int, option_values: *mut *mut c_void,
        option_count: c_uint) => module::library_load_file;
    "cuLibraryUnload" 12000 cuLibraryUnload(handle: Handle) => module::library_unload;
    "cuLibraryGetKernel" 12000 cuLibraryGetKernel(out: *mut Handle, library: Handle, name: *const c_char)
        => module::library_kernel;
    "cuLibraryGetKernelCount" 12040 cuLibraryGetKernelCount(out: *mut c_uint, library: Handle)
        => module::library_kernel_count;
    "cuLibraryGetGlobal" 12000 cuLibraryGetGlobal(out: *mut DevicePtr, bytes: *mut usize, library: Handle,
        name: *const c_char) => module::library_global;
    "cuLibraryGetManaged" 12000 cuLibraryGetManaged(out: *mut DevicePtr, bytes: *mut usize, library: Handle,
        name: *const c_char) => module::library_global;
    "cuKernelGetFunction" 12000 cuKernelGetFunction(out: *mut Handle, kernel: Handle) => module::kernel_function;
    "cuKernelGetName" 12030 cuKernelGetName(out: *mut *const c_char, kernel: Handle) => module::kernel_name;
    "cuKernelGetParamInfo" 12040 cuKernelGetParamInfo(kernel: Handle, index: usize, offset: *mut usize,
        size: *mut usize) => module::kernel_param;
    "cuKernelGetAttribute" 12000 cuKernelGetAttribute(out: *mut c_int, which: c_int, kernel: Handle, device: c_int)
        => module::kernel_attribute;
    "cuKernelSetAttribute" 12000 cuKernelSetAttribute(which: c_int, value: c_int, kernel: Handle, device: c_int)
        => module::set_kernel_attribute;
    "cuFuncGetName" 12030 cuFuncGetName(out: *mut *const c_char, function: Handle) => module::function_name;
    "cuFuncGetParamInfo" 12040 cuFuncGetParamInfo(function: Handle, index: usize, offset: *mut usize,
        size: *mut usize) => module::function_param;
    "cuFuncGetAttribute" 2020 cuFuncGetAttribute(out: *mut c_int, which: c_int, function: Handle)
        => module::function_attribute;
    "cuFuncSetAttribute" 9000 cuFuncSetAttribute(function: Handle, which: c_int, value: c_int)
        => module::set_function_attribute;
    "cuFuncSetCacheConfig" 3000 cuFuncSetCacheConfig(function: Handle, config: c_int) => module::set_function_config;
}
