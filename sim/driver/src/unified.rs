//! Prefetch, advice and range attributes of managed memory.

use crate::abi::{DevicePtr, Handle, MemLocation, Result32, code, put};
use crate::config;
use crate::context;
use crate::managed;
use crate::ops::Op;
use crate::residency::{Advice, HOST, Place, device};
use crate::stream::{self, Lane};
use std::ffi::{c_int, c_uint, c_void};

/// A location's place. Device -1 of the old interface is the host.
fn place(location: MemLocation) -> Result<Place, Result32> {
    match location.kind {
        1 => Ok(device(context::device(location.id)?)),
        2 | 4 => Ok(HOST),
        3 if location.id == 0 => Ok(HOST),
        _ => Err(code::INVALID_VALUE),
    }
}

fn old(device: c_int) -> MemLocation {
    MemLocation { kind: if device == -1 { 2 } else { 1 }, id: device }
}

fn check(address: DevicePtr, bytes: usize) -> Result<usize, Result32> {
    let address = address as usize;
    (bytes > 0 && managed::covers(address, bytes)).then_some(address).ok_or(code::INVALID_VALUE)
}

fn queue(lane: Lane, address: DevicePtr, bytes: usize, to: Place, stream: Handle) -> Result<(), Result32> {
    let target = stream::resolve(lane, stream)?;
    let address = check(address, bytes)?;
    stream::submit(target, Op::Prefetch { address, bytes, to }).map(drop)
}

/// `cuMemPrefetchAsync`, the form with a device number.
pub unsafe fn prefetch(
    lane: Lane,
    address: DevicePtr,
    bytes: usize,
    device: c_int,
    stream: Handle,
) -> Result<(), Result32> {
    context::current()?;
    let to = place(old(device)).map_err(|_| code::INVALID_DEVICE)?;
    queue(lane, address, bytes, to, stream)
}

/// `cuMemPrefetchAsync_v2`.
pub unsafe fn prefetch_v2(
    lane: Lane,
    address: DevicePtr,
    bytes: usize,
    location: MemLocation,
    flags: c_uint,
    stream: Handle,
) -> Result<(), Result32> {
    context::current()?;
    if flags != 0 {
        return Err(code::INVALID_VALUE);
    }
    queue(lane, address, bytes, place(location)?, stream)
}

/// `cuMemPrefetchBatchAsync`, with `prefetch` false the part of a discard that is imitated: nothing.
#[expect(clippy::too_many_arguments, reason = "the driver's signature")]
pub unsafe fn prefetch_batch(
    lane: Lane,
    addresses: *const DevicePtr,
    sizes: *const usize,
    count: usize,
    locations: *const MemLocation,
    indexes: *const usize,
    location_count: usize,
    flags: u64,
    stream: Handle,
) -> Result<(), Result32> {
    context::current()?;
    let missing = addresses.is_null() || sizes.is_null() || locations.is_null() || indexes.is_null();
    if missing || flags != 0 || stream.is_null() || location_count == 0 {
        return Err(code::INVALID_VALUE);
    }
    for index in 0..count {
        // Location k serves the operations from its index up to the next location's.
        let which = (0..location_count)
            // SAFETY: the arrays have as many elements as the call says.
            .take_while(|k| unsafe { *indexes.add(*k) } <= index)
            .last()
            .ok_or(code::INVALID_VALUE)?;
        // SAFETY: as above.
        let (address, bytes, location) = unsafe { (*addresses.add(index), *sizes.add(index), *locations.add(which)) };
        queue(lane, address, bytes, place(location)?, stream)?;
    }
    Ok(())
}

/// `cuMemDiscardBatchAsync`: checked and ordered; the contents stay, which an indeterminate value may.
pub unsafe fn discard_batch(
    lane: Lane,
    addresses: *const DevicePtr,
    sizes: *const usize,
    count: usize,
    flags: u64,
    stream: Handle,
) -> Result<(), Result32> {
    let target = stream::resolve(lane, stream)?;
    if addresses.is_null() || sizes.is_null() || flags != 0 || stream.is_null() {
        return Err(code::INVALID_VALUE);
    }
    for index in 0..count {
        // SAFETY: the arrays have `count` elements by the API's contract.
        check(unsafe { *addresses.add(index) }, unsafe { *sizes.add(index) })?;
    }
    stream::submit(target, Op::Nothing).map(drop)
}

fn advise_at(address: DevicePtr, bytes: usize, advice: c_int, location: MemLocation) -> Result<(), Result32> {
    context::current()?;
    let address = check(address, bytes)?;
    let advice = match advice {
        1 => Advice::ReadMostly(true),
        2 => Advice::ReadMostly(false),
        3 => Advice::Preferred(Some(place(location)?)),
        4 => Advice::Preferred(None),
        5 => Advice::AccessedBy(place(location)?, true),
        6 => Advice::AccessedBy(place(location)?, false),
        _ => return Err(code::INVALID_VALUE),
    };
    managed::advise(address, bytes, advice);
    Ok(())
}

/// `cuMemAdvise`, the form with a device number.
pub unsafe fn advise(address: DevicePtr, bytes: usize, advice: c_int, device: c_int) -> Result<(), Result32> {
    advise_at(address, bytes, advice, old(device))
}

/// `cuMemAdvise_v2`.
pub unsafe fn advise_v2(
    address: DevicePtr,
    bytes: usize,
    advice: c_int,
    location: MemLocation,
) -> Result<(), Result32> {
    advise_at(address, bytes, advice, location)
}

/// What all pages of a range agree on: place + 1, 0 where they have none or disagree.
fn common(address: usize, bytes: usize, field: impl Fn(crate::residency::Page) -> u8) -> u8 {
    let mut value: Option<u8> = None;
    managed::inspect(address, bytes, |page| {
        let own = field(page);
        value = Some(match value {
            Some(known) if known != own => 0,
            _ => own,
        });
    });
    value.unwrap_or(0)
}

fn device_number(coded: u8) -> c_int {
    match coded {
        0 => -2,
        1 => -1,
        n => c_int::from(n) - 2,
    }
}

fn location_type(coded: u8) -> c_int {
    match coded {
        0 => 0,
        1 => 2,
        _ => 1,
    }
}

fn location_id(coded: u8) -> c_int {
    if coded >= 2 { device_number(coded) } else { 0 }
}

/// `cuMemRangeGetAttribute`.
pub unsafe fn range_attribute(
    out: *mut c_void,
    size: usize,
    attribute: c_int,
    address: DevicePtr,
    bytes: usize,
) -> Result<(), Result32> {
    context::current()?;
    let address = check(address, bytes)?;
    let numbers = size / 4;
    if out.is_null() || numbers == 0 || !size.is_multiple_of(4) {
        return Err(code::INVALID_VALUE);
    }
    let out = out.cast::<c_int>();
    if attribute == 3 {
        let mut all = u8::MAX;
        managed::inspect(address, bytes, |page| all &= page.accessed_by);
        let mut devices = (0..config::get().devices).filter(|d| all & 1 << device(*d) != 0).map(|d| d as c_int);
        let host = (all & 1 << HOST != 0).then_some(-1);
        for index in 0..numbers {
            let next = if index == 0 { host.or_else(|| devices.next()) } else { devices.next() };
            // SAFETY: `numbers` integers by the API's contract.
            unsafe { put(out.add(index), next.unwrap_or(-2)) };
        }
        return Ok(());
    }
    let value = match attribute {
        1 => c_int::from(common(address, bytes, |page| u8::from(page.read_mostly))),
        2 => device_number(common(address, bytes, |page| page.preferred)),
        4 => device_number(common(address, bytes, |page| page.prefetched)),
        5 => location_type(common(address, bytes, |page| page.preferred)),
        6 => location_id(common(address, bytes, |page| page.preferred)),
        7 => location_type(common(address, bytes, |page| page.prefetched)),
        8 => location_id(common(address, bytes, |page| page.prefetched)),
        _ => return Err(code::INVALID_VALUE),
    };
    // SAFETY: at least one integer.
    unsafe { put(out, value) };
    Ok(())
}

/// `cuMemRangeGetAttributes`.
pub unsafe fn range_attributes(
    data: *mut *mut c_void,
    sizes: *mut usize,
    attributes: *mut c_int,
    count: usize,
    address: DevicePtr,
    bytes: usize,
) -> Result<(), Result32> {
    if data.is_null() || sizes.is_null() || attributes.is_null() {
        return Err(code::INVALID_VALUE);
    }
    for index in 0..count {
        // SAFETY: the arrays have `count` elements by the API's contract.
        unsafe { range_attribute(*data.add(index), *sizes.add(index), *attributes.add(index), address, bytes) }?;
    }
    Ok(())
}
