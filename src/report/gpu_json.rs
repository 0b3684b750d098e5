//! The GPU's part of the report as JSON.

use serde::Serialize;
use std::collections::BTreeMap;

use super::collect::Report;
use super::gpu::{Faults, GpuBlock, Kernel};
use crate::correlate::Order;
use crate::graph::Amounts;
use umtui_wire::record::{
    DEVICE_CONCURRENT_MANAGED, DEVICE_HOST_PAGE_TABLES, DEVICE_INTEGRATED, DEVICE_PAGEABLE_ACCESS, DEVICE_PART,
};

#[derive(Serialize)]
pub(super) struct GpuKeys<'a> {
    kernels: Option<Vec<KernelKeys<'a>>>,
    copies: Option<Vec<CopyKeys>>,
    sets: Option<SetKeys>,
    migrations: Option<MigrationKeys<'a>>,
    faults: Option<FaultKeys>,
    overheads: Option<Vec<OverheadKeys<'a>>>,
    devices: Vec<DeviceKeys<'a>>,
    evidence_missing: Vec<MissingKeys<'a>>,
    gpu_clock_error_ns: Option<u64>,
    gpu_order: Option<OrderKeys>,
    dropped: Option<u64>,
}

#[derive(Serialize)]
struct OrderKeys {
    work: u64,
    joined: u64,
    early: u64,
    earliest_ns: u64,
    waits: u64,
    late: u64,
    latest_ns: u64,
}

#[derive(Serialize)]
struct KernelKeys<'a> {
    name: &'a str,
    launches: u64,
    total_ns: u64,
    min_ns: Option<u64>,
    max_ns: Option<u64>,
    p50_ns: Option<u64>,
    p99_ns: Option<u64>,
    quantile_error_pct: u8,
}

#[derive(Serialize)]
struct CopyKeys {
    kind: &'static str,
    pageable: bool,
    count: u64,
    bytes: u64,
    total_ns: u64,
}

#[derive(Serialize)]
struct SetKeys {
    count: u64,
    bytes: u64,
    total_ns: u64,
}

#[derive(Serialize)]
struct MigrationKeys<'a> {
    h2d: MovedKeys,
    d2h: MovedKeys,
    d2d: MovedKeys,
    by_cause: BTreeMap<&'a str, MovedKeys>,
}

#[derive(Serialize)]
struct MovedKeys {
    count: u64,
    bytes: u64,
    total_ns: u64,
}

#[derive(Serialize)]
struct FaultKeys {
    cpu: u64,
    gpu_groups: u64,
    gpu: u64,
    thrashing: Option<u64>,
    throttling: Option<u64>,
    remote_maps: Option<u64>,
}

#[derive(Serialize)]
struct OverheadKeys<'a> {
    kind: &'a str,
    count: u64,
    total_ns: u64,
}

#[derive(Serialize)]
#[allow(clippy::struct_excessive_bools, reason = "independent properties of a device")]
struct DeviceKeys<'a> {
    process: u32,
    device: u16,
    name: &'a str,
    memory_bytes: u64,
    compute_capability: [u32; 2],
    multiprocessors: u32,
    pci: &'a str,
    concurrent_managed: bool,
    pageable_access: bool,
    host_page_tables: bool,
    integrated: bool,
    part: bool,
}

#[derive(Serialize)]
struct MissingKeys<'a> {
    process: u32,
    what: &'a str,
    since_ns: Option<u64>,
    until_ns: Option<u64>,
    why: &'a str,
    #[serde(rename = "do")]
    remedy: Option<&'a str>,
}

/// The keys of the GPU's part.
pub(super) fn keys(block: &GpuBlock) -> GpuKeys<'_> {
    let copy = |copied: &super::gpu::Copied| {
        let Amounts { count, amount: bytes, total_ns, .. } = copied.amounts;
        CopyKeys { kind: copied.kind, pageable: copied.pageable, count, bytes, total_ns }
    };
    GpuKeys {
        kernels: block.kernels.as_ref().map(|list| list.iter().map(kernel).collect()),
        copies: block.copies.as_ref().map(|list| list.iter().map(copy).collect()),
        sets: block.sets.map(|Amounts { count, amount: bytes, total_ns, .. }| SetKeys { count, bytes, total_ns }),
        migrations: block.migrations.as_ref().map(|migrations| MigrationKeys {
            h2d: moved(&migrations.h2d),
            d2h: moved(&migrations.d2h),
            d2d: moved(&migrations.d2d),
            by_cause: migrations.by_cause.iter().map(|(&cause, amounts)| (cause, moved(amounts))).collect(),
        }),
        faults: block.faults.map(|Faults { cpu, gpu_groups, gpu, thrashing, throttling, remote_maps }| FaultKeys {
            cpu,
            gpu_groups,
            gpu,
            thrashing,
            throttling,
            remote_maps,
        }),
        overheads: block.overheads.as_ref().map(|list| {
            list.iter().map(|one| OverheadKeys { kind: &one.kind, count: one.count, total_ns: one.total_ns }).collect()
        }),
        devices: block.devices.iter().map(device).collect(),
        evidence_missing: block.missing.iter().map(missing).collect(),
        gpu_clock_error_ns: block.clock_error_ns,
        gpu_order: block.order.map(|Order { work, joined, early, earliest_ns, waits, late, latest_ns }| OrderKeys {
            work,
            joined,
            early,
            earliest_ns,
            waits,
            late,
            latest_ns,
        }),
        dropped: block.dropped,
    }
}

fn kernel(kernel: &Kernel) -> KernelKeys<'_> {
    let sums = &kernel.stats.sums;
    let extremes = sums.extremes();
    KernelKeys {
        name: &kernel.name,
        launches: sums.count,
        total_ns: sums.total_ns,
        min_ns: extremes.map(|extremes| extremes.0),
        max_ns: extremes.map(|extremes| extremes.1),
        p50_ns: kernel.stats.quantile(50),
        p99_ns: kernel.stats.quantile(99),
        quantile_error_pct: Report::QUANTILE_ERROR_PCT,
    }
}

const fn moved(amounts: &Amounts) -> MovedKeys {
    MovedKeys { count: amounts.count, bytes: amounts.amount, total_ns: amounts.total_ns }
}

fn device(device: &super::gpu::Device) -> DeviceKeys<'_> {
    let has = |bit| device.bits & bit != 0;
    DeviceKeys {
        process: device.process,
        device: device.device,
        name: &device.name,
        memory_bytes: device.memory_bytes,
        compute_capability: [device.capability.0, device.capability.1],
        multiprocessors: device.multiprocessors,
        pci: &device.pci,
        concurrent_managed: has(DEVICE_CONCURRENT_MANAGED),
        pageable_access: has(DEVICE_PAGEABLE_ACCESS),
        host_page_tables: has(DEVICE_HOST_PAGE_TABLES),
        integrated: has(DEVICE_INTEGRATED),
        part: has(DEVICE_PART),
    }
}

fn missing(missing: &super::gpu::Missing) -> MissingKeys<'_> {
    MissingKeys {
        process: missing.process,
        what: missing.what,
        since_ns: missing.since_ns,
        until_ns: missing.until_ns,
        why: &missing.why,
        remedy: missing.remedy.as_deref(),
    }
}
