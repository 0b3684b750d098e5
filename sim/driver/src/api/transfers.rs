//! Copies and fills.

use crate::abi::{DevicePtr, Handle, Memcpy2D, Memcpy3D};
use crate::copy;
use std::ffi::{c_uchar, c_uint, c_ushort, c_void};

super::streamed! { TABLE:
    "cuMemcpy" 4000 cuMemcpy | 7000 cuMemcpy_ptds(dst: DevicePtr, src: DevicePtr, bytes: usize) => copy::any;
    "cuMemcpyAsync" 4000 cuMemcpyAsync | 7000 cuMemcpyAsync_ptsz
        (dst: DevicePtr, src: DevicePtr, bytes: usize, stream: Handle) => copy::any_async;
    "cuMemcpyHtoD" 3020 cuMemcpyHtoD_v2 | 7000 cuMemcpyHtoD_v2_ptds
        (dst: DevicePtr, src: *const c_void, bytes: usize) => copy::htod;
    "cuMemcpyHtoDAsync" 3020 cuMemcpyHtoDAsync_v2 | 7000 cuMemcpyHtoDAsync_v2_ptsz
        (dst: DevicePtr, src: *const c_void, bytes: usize, stream: Handle) => copy::htod_async;
    "cuMemcpyDtoH" 3020 cuMemcpyDtoH_v2 | 7000 cuMemcpyDtoH_v2_ptds
        (dst: *mut c_void, src: DevicePtr, bytes: usize) => copy::dtoh;
    "cuMemcpyDtoHAsync" 3020 cuMemcpyDtoHAsync_v2 | 7000 cuMemcpyDtoHAsync_v2_ptsz
        (dst: *mut c_void, src: DevicePtr, bytes: usize, stream: Handle) => copy::dtoh_async;
    "cuMemcpyDtoD" 3020 cuMemcpyDtoD_v2 | 7000 cuMemcpyDtoD_v2_ptds
        (dst: DevicePtr, src: DevicePtr, bytes: usize) => copy::dtod;
    "cuMemcpyDtoDAsync" 3020 cuMemcpyDtoDAsync_v2 | 7000 cuMemcpyDtoDAsync_v2_ptsz
        (dst: DevicePtr, src: DevicePtr, bytes: usize, stream: Handle) => copy::dtod_async;
    "cuMemcpyPeer" 4000 cuMemcpyPeer | 7000 cuMemcpyPeer_ptds
        (dst: DevicePtr, to: Handle, src: DevicePtr, from: Handle, bytes: usize) => copy::peer;
    "cuMemcpyPeerAsync" 4000 cuMemcpyPeerAsync | 7000 cuMemcpyPeerAsync_ptsz
        (dst: DevicePtr, to: Handle, src: DevicePtr, from: Handle, bytes: usize, stream: Handle) => copy::peer_async;
    "cuMemcpy2D" 3020 cuMemcpy2D_v2 | 7000 cuMemcpy2D_v2_ptds(params: *const Memcpy2D) => copy::planar_now;
    "cuMemcpy2DUnaligned" 3020 cuMemcpy2DUnaligned_v2 | 7000 cuMemcpy2DUnaligned_v2_ptds(params: *const Memcpy2D)
        => copy::planar_now;
    "cuMemcpy2DAsync" 3020 cuMemcpy2DAsync_v2 | 7000 cuMemcpy2DAsync_v2_ptsz(params: *const Memcpy2D, stream: Handle)
        => copy::planar_async;
    "cuMemcpy3D" 3020 cuMemcpy3D_v2 | 7000 cuMemcpy3D_v2_ptds(params: *const Memcpy3D) => copy::volume_now;
    "cuMemcpy3DAsync" 3020 cuMemcpy3DAsync_v2 | 7000 cuMemcpy3DAsync_v2_ptsz(params: *const Memcpy3D, stream: Handle)
        => copy::volume_async;
    "cuMemcpyBatchAsync" 13000 cuMemcpyBatchAsync_v2 | 13000 cuMemcpyBatchAsync_v2_ptsz
        (dsts: *const DevicePtr, srcs: *const DevicePtr, sizes: *const usize, count: usize, attributes: *mut c_void,
         indexes: *mut usize, attribute_count: usize, stream: Handle) => copy::batch;
    "cuMemsetD8" 3020 cuMemsetD8_v2 | 7000 cuMemsetD8_v2_ptds(dst: DevicePtr, value: c_uchar, count: usize)
        => copy::set8;
    "cuMemsetD8Async" 3020 cuMemsetD8Async | 7000 cuMemsetD8Async_ptsz
        (dst: DevicePtr, value: c_uchar, count: usize, stream: Handle) => copy::set8_async;
    "cuMemsetD16" 3020 cuMemsetD16_v2 | 7000 cuMemsetD16_v2_ptds(dst: DevicePtr, value: c_ushort, count: usize)
        => copy::set16;
    "cuMemsetD16Async" 3020 cuMemsetD16Async | 7000 cuMemsetD16Async_ptsz
        (dst: DevicePtr, value: c_ushort, count: usize, stream: Handle) => copy::set16_async;
    "cuMemsetD32" 3020 cuMemsetD32_v2 | 7000 cuMemsetD32_v2_ptds(dst: DevicePtr, value: c_uint, count: usize)
        => copy::set32;
    "cuMemsetD32Async" 3020 cuMemsetD32Async | 7000 cuMemsetD32Async_ptsz
        (dst: DevicePtr, value: c_uint, count: usize, stream: Handle) => copy::set32_async;
    "cuMemsetD2D8" 3020 cuMemsetD2D8_v2 | 7000 cuMemsetD2D8_v2_ptds
        (dst: DevicePtr, pitch: usize, value: c_uchar, width: usize, height: usize) => copy::set2d8;
    "cuMemsetD2D8Async" 3020 cuMemsetD2D8Async | 7000 cuMemsetD2D8Async_ptsz
        (dst: DevicePtr, pitch: usize, value: c_uchar, width: usize, height: usize, stream: Handle)
        => copy::set2d8_async;
    "cuMemsetD2D16" 3020 cuMemsetD2D16_v2 | 7000 cuMemsetD2D16_v2_ptds
        (dst: DevicePtr, pitch: usize, value: c_ushort, width: usize, height: usize) => copy::set2d16;
    "cuMemsetD2D16Async" 3020 cuMemsetD2D16Async | 7000 cuMemsetD2D16Async_ptsz
        (dst: DevicePtr, pitch: usize, value: c_ushort, width: usize, height: usize, stream: Handle)
        => copy::set2d16_async;
    "cuMemsetD2D32" 3020 cuMemsetD2D32_v2 | 7000 cuMemsetD2D32_v2_ptds
        (dst: DevicePtr, pitch: usize, value: c_uint, width: usize, height: usize) => copy::set2d32;
    "cuMemsetD2D32Async" 3020 cuMemsetD2D32Async | 7000 cuMemsetD2D32Async_ptsz
        (dst: DevicePtr, pitch: usize, value: c_uint, width: usize, height: usize, stream: Handle)
        => copy::set2d32_async;
}
