//! Sums of unified memory that a trace was told without the events behind them, as nvprof's summary has them.

use std::collections::BTreeMap;

use super::gpu::{Faults, GpuBlock, Migrations, UnifiedDevice};
use crate::graph::Amounts;
use crate::trace::activity::Told;
use crate::trace::{NO_DEVICE, ProcessId, Trace};
use umtui_wire::activity as wire;

/// A block with such sums added. A filter asks events, so through one they are not seen.
pub fn with(mut block: GpuBlock, trace: &Trace, filtered: bool) -> GpuBlock {
    let processes = (0..u16::MAX).map(ProcessId).take(trace.processes.len());
    for of in processes.filter_map(|id| trace.activities.of(id)).filter(|_| !filtered) {
        for told in &of.told {
            let name = of.devices.get(&u16::from(told.device)).map_or("", |device| trace.names.get(device.name));
            add(&mut block, told, name);
        }
    }
    block
}

fn add(block: &mut GpuBlock, told: &Told, name: &str) {
    let amount = if told.what == wire::UNIFIED_GPU_FAULT { told.count } else { told.bytes };
    let amounts = Amounts { count: told.count, amount, total_ns: told.total_ns, ..Amounts::default() };
    if let Some(migrations) = &mut block.migrations {
        let Migrations { h2d, d2h, d2d, by_cause } = migrations;
        let to = match told.what {
            wire::UNIFIED_TO_DEVICE => Some(h2d),
            wire::UNIFIED_TO_HOST => Some(d2h),
            wire::UNIFIED_BETWEEN_DEVICES => Some(d2d),
            _ => None,
        };
        if let Some(to) = to {
            to.add(&amounts);
            by_cause.entry("unknown").or_default().add(&amounts);
        }
    }
    if let Some(faults) = &mut block.faults {
        let Faults { cpu, gpu_groups, gpu, thrashing, throttling, remote_maps } = faults;
        let to: &mut [&mut u64] = match told.what {
            wire::UNIFIED_CPU_FAULT => &mut [cpu],
            wire::UNIFIED_GPU_FAULT => &mut [gpu_groups, gpu],
            wire::UNIFIED_THRASHING => &mut [thrashing.get_or_insert(0)],
            wire::UNIFIED_THROTTLING => &mut [throttling.get_or_insert(0)],
            wire::UNIFIED_REMOTE_MAP => &mut [remote_maps.get_or_insert(0)],
            _ => &mut [],
        };
        for count in to {
            **count = count.saturating_add(told.count);
        }
    }
    let device = Some(told.device).filter(|&device| device != NO_DEVICE);
    let known = block.unified.iter_mut().find(|one| one.device == device && one.name == name);
    match known {
        Some(known) => known.sums.entry(told.what).or_default().add(&amounts),
        None => {
            let sums = BTreeMap::from([(told.what, amounts)]);
            block.unified.push(UnifiedDevice { device, name: name.to_owned(), sums });
        }
    }
}
