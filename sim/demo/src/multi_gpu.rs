//! `multi-gpu`: the ways from one device to another. Copies between two devices while peer access is not enabled and while it
//! is, copies staged through the host, and managed memory that both devices write in turn.

use crate::Options;
use crate::cuda::{self, DEVICE_TO_DEVICE, DEVICE_TO_HOST, HOST_TO_DEVICE, Handle};
use crate::cuda_api;
use crate::nvtx::Range;
use std::ffi::{c_int, c_void};

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;
/// Memory of each device. Every kind of copy has a size of its own, so that a number says which one it counts.
const BUFFER: usize = 8 * MIB;
/// Ordinary memory of the host to each device.
const PAGEABLE: usize = 512 * KIB;
/// From device 0 to device 1 while neither may access the other.
const WITHOUT_ACCESS: usize = 8 * MIB;
/// From device 1 to the host and on to device 0.
const STAGED: usize = 2 * MIB;
/// From device 1 to device 0 by a peer copy while both may access each other.
const WITH_ACCESS: usize = 4 * MIB;
/// From device 0 to device 1 by an ordinary copy, likewise.
const PLAIN: usize = MIB;
/// Managed memory of both.
const SHARED: usize = 4 * MIB;
const PAGE: usize = 4096;
const ROUND_COLOR: u32 = 0xff42_8bca;
const DEVICES: [c_int; 2] = [0, 1];

struct Devices {
    streams: [Handle; 2],
    buffers: [*mut c_void; 2],
    pinned: *mut c_void,
    shared: *mut c_void,
    pageable: Vec<u8>,
}

fn select(device: c_int) -> Result<(), String> {
    // SAFETY: the device exists or the call fails.
    unsafe { cuda::set_device(device) }
}

#[inline(never)]
fn build() -> Result<Devices, String> {
    let mut devices = Devices {
        streams: [std::ptr::null_mut(); 2],
        buffers: [std::ptr::null_mut(); 2],
        pinned: cuda_api::pinned(STAGED)?,
        shared: cuda_api::managed(SHARED)?,
        pageable: vec![1; PAGEABLE],
    };
    let own = devices.streams.iter_mut().zip(&mut devices.buffers);
    for (device, (stream, buffer)) in DEVICES.into_iter().zip(own) {
        select(device)?;
        *stream = cuda_api::stream()?;
        *buffer = cuda_api::device(BUFFER)?;
    }
    Ok(devices)
}

#[inline(never)]
fn load(devices: &Devices) -> Result<(), String> {
    let _range = Range::new(c"load");
    for (device, buffer) in DEVICES.into_iter().zip(devices.buffers) {
        select(device)?;
        // SAFETY: both have PAGEABLE bytes.
        unsafe { cuda::memcpy(buffer, devices.pageable.as_ptr().cast(), PAGEABLE, HOST_TO_DEVICE) }?;
    }
    Ok(())
}

#[inline(never)]
fn copy_without_access(devices: &Devices) -> Result<(), String> {
    let _range = Range::new(c"no peer access");
    let ([stream, _], [first, second]) = (devices.streams, devices.buffers);
    select(0)?;
    // SAFETY: both buffers have WITHOUT_ACCESS bytes; a stream of ours.
    unsafe {
        cuda::memcpy_peer_async(second, 1, first, 0, WITHOUT_ACCESS, stream)?;
        cuda::stream_synchronize(stream)
    }
}

#[inline(never)]
fn copy_through_the_host(devices: &Devices) -> Result<(), String> {
    let _range = Range::new(c"staged");
    let ([to, from], [first, second]) = (devices.streams, devices.buffers);
    // SAFETY: all have STAGED bytes; streams of ours.
    unsafe {
        select(1)?;
        cuda::memcpy_async(devices.pinned, second, STAGED, DEVICE_TO_HOST, from)?;
        cuda::stream_synchronize(from)?;
        select(0)?;
        cuda::memcpy_async(first, devices.pinned, STAGED, HOST_TO_DEVICE, to)?;
        cuda::stream_synchronize(to)
    }
}

#[inline(never)]
fn copy_with_access(devices: &Devices) -> Result<(), String> {
    let _range = Range::new(c"peer access");
    for (device, peer) in [(0, 1), (1, 0)] {
        select(device)?;
        let mut can = 0;
        // SAFETY: a valid out-pointer; the devices exist.
        unsafe {
            cuda::can_access_peer(&raw mut can, device, peer)?;
            if can == 0 {
                return Err(format!("device {device} cannot access device {peer}"));
            }
            cuda::enable_peer(peer, 0)?;
        }
    }
    let ([on_first, on_second], [first, second]) = (devices.streams, devices.buffers);
    // SAFETY: the buffers are large enough; streams of ours.
    unsafe {
        cuda::memcpy_peer_async(first, 0, second, 1, WITH_ACCESS, on_second)?;
        cuda::stream_synchronize(on_second)?;
        select(0)?;
        cuda::memcpy_async(second, first, PLAIN, DEVICE_TO_DEVICE, on_first)?;
        cuda::stream_synchronize(on_first)?;
        for (device, peer) in [(0, 1), (1, 0)] {
            select(device)?;
            cuda::disable_peer(peer)?;
        }
    }
    Ok(())
}

/// The pages go from the host to device 0, on to device 1, and back.
#[inline(never)]
fn share(devices: &Devices) -> Result<u64, String> {
    let _range = Range::new(c"shared");
    let touch = |page: usize| {
        // SAFETY: inside the allocation; the devices are idle.
        unsafe {
            let at = devices.shared.cast::<u8>().add(page * PAGE);
            at.write_volatile(at.read_volatile().wrapping_add(1));
        }
    };
    (0..SHARED / PAGE).for_each(touch);
    for (device, stream) in DEVICES.into_iter().zip(devices.streams) {
        select(device)?;
        let (mut memory, mut count) = (devices.shared, (SHARED / 4) as u64);
        let mut params: [*mut c_void; 2] = [(&raw mut memory).cast(), (&raw mut count).cast()];
        // SAFETY: the kernel takes a float pointer and a count; a stream of ours.
        unsafe {
            cuda::launch(&cuda::SCALE, SHARED / 4, &mut params, stream)?;
            cuda::stream_synchronize(stream)?;
        }
    }
    (0..SHARED / PAGE).for_each(touch);
    Ok((SHARED / PAGE) as u64)
}

#[inline(never)]
fn tear_down(devices: &Devices) -> Result<(), String> {
    // SAFETY: everything is ours, and used by nobody any more.
    unsafe {
        for ((device, stream), buffer) in DEVICES.into_iter().zip(devices.streams).zip(devices.buffers) {
            select(device)?;
            cuda::free(buffer)?;
            cuda::stream_destroy(stream)?;
        }
        cuda::free_host(devices.pinned)?;
        cuda::free(devices.shared)
    }
}

/// Runs the scenario.
pub fn run(options: &Options) -> Result<String, String> {
    cuda::register();
    let mut count = 0;
    // SAFETY: a valid out-pointer.
    unsafe { cuda::device_count(&raw mut count) }?;
    if count < 2 {
        return Err(format!("multi-gpu needs two devices, there are {count}"));
    }
    select(0)?;
    let devices = build()?;
    let mut pages = 0;
    for round in 0..options.rounds {
        let _round = Range::numbered(c"round", ROUND_COLOR, round);
        load(&devices)?;
        copy_without_access(&devices)?;
        copy_through_the_host(&devices)?;
        copy_with_access(&devices)?;
        pages += share(&devices)?;
    }
    tear_down(&devices)?;
    cuda::unregister();
    Ok(format!("multi-gpu rounds {} shared pages {pages}", options.rounds))
}
