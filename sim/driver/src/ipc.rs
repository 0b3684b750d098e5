//! Memory of other processes. What is opened holds the other's bytes as they were then; later changes are not seen.

use crate::abi::{DevicePtr, Handle, Result32, code, put};
use crate::context;
use crate::heap;
use crate::ranges::{self, Kind, Range};
use std::ffi::{c_uint, c_void};

/// The `CUipcMemHandle` and `CUipcEventHandle` structures, passed by value on the stack: process, address, bytes, number
/// of the allocation.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct IpcHandle([u64; 8]);

/// `cuIpcGetMemHandle`.
pub unsafe fn get(out: *mut c_void, pointer: DevicePtr) -> Result<(), Result32> {
    context::current()?;
    let range = ranges::find(pointer as usize).filter(|range| range.kind == Kind::Device);
    let range = range.filter(|_| !out.is_null()).ok_or(code::INVALID_VALUE)?;
    let mut words = [0; 8];
    words[..4].copy_from_slice(&[u64::from(std::process::id()), range.base as u64, range.bytes as u64, range.id]);
    // SAFETY: not null; a handle has 64 bytes.
    unsafe { put(out.cast(), IpcHandle(words)) };
    Ok(())
}

/// `cuIpcOpenMemHandle`.
pub unsafe fn open(out: *mut DevicePtr, handle: IpcHandle, _flags: c_uint) -> Result<(), Result32> {
    let now = context::current()?;
    let [process, from, bytes, ..] = handle.0;
    let bytes = usize::try_from(bytes).unwrap_or(0);
    // A process cannot open its own.
    if out.is_null() || bytes == 0 || process == u64::from(std::process::id()) {
        return Err(code::INVALID_VALUE);
    }
    let base = heap::take(bytes).ok_or(code::OUT_OF_MEMORY)?;
    let here = libc::iovec { iov_base: base as *mut c_void, iov_len: bytes };
    let there = libc::iovec { iov_base: from as usize as *mut c_void, iov_len: bytes };
    // SAFETY: `here` is the memory just taken; the kernel looks whether the other process has `there`. Where it may not be
    // read, what is opened is empty.
    unsafe { libc::process_vm_readv(process as libc::pid_t, &raw const here, 1, &raw const there, 1, 0) };
    let (device, context) = (now.device(), now.handle);
    ranges::insert(Range { base, bytes, kind: Kind::Opened, device, context, flags: 0, owner: 0, id: 0 });
    // SAFETY: not null.
    unsafe { put(out, base as DevicePtr) };
    Ok(())
}

/// `cuIpcCloseMemHandle`.
pub unsafe fn close(pointer: DevicePtr) -> Result<(), Result32> {
    context::current()?;
    let range = ranges::remove(pointer as usize, |range| range.kind == Kind::Opened).ok_or(code::INVALID_VALUE)?;
    heap::give(range.base, range.bytes);
    Ok(())
}

/// `cuIpcGetEventHandle`: not imitated.
pub unsafe fn get_event(_out: *mut c_void, _event: u64) -> Result<(), Result32> {
    context::current()?;
    Err(code::NOT_SUPPORTED)
}

/// `cuIpcOpenEventHandle`: not imitated.
pub unsafe fn open_event(_out: *mut Handle, _handle: IpcHandle) -> Result<(), Result32> {
    context::current()?;
    Err(code::NOT_SUPPORTED)
}
