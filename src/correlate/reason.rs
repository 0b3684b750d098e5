//! Why a launch was refused, as far as its arguments tell: what it asked for, and what the device has.

use crate::trace::semantics::base_name;
use crate::trace::{ApiId, Bytes, Trace, Value};

use super::calls::{Found, Records, bare};
use super::failure::Failed;
use super::suspect::is_launch;

/// Statuses by which a launch is refused for what it asks: invalid value and configuration, resources, cooperative launches.
const REFUSED: [u32; 4] = [1, 9, 701, 720];
/// Threads of a block, on every device of the last fifteen years.
const MOST_THREADS: u64 = 1024;
/// Shared memory of a block that a kernel gets without asking for more by its attribute, bytes.
const PLAIN_SHARED: u64 = 48 << 10;

/// Most shared memory of a block, bytes, by compute capability, as the programming guide has it.
const SHARED: [((u32, u32), u64); 16] = [
    ((5, 0), 48 << 10),
    ((5, 2), 48 << 10),
    ((6, 0), 48 << 10),
    ((6, 1), 48 << 10),
    ((7, 0), 96 << 10),
    ((7, 2), 96 << 10),
    ((7, 5), 64 << 10),
    ((8, 0), 163 << 10),
    ((8, 6), 99 << 10),
    ((8, 7), 163 << 10),
    ((8, 9), 99 << 10),
    ((9, 0), 227 << 10),
    ((10, 0), 227 << 10),
    ((10, 3), 227 << 10),
    ((12, 0), 99 << 10),
    ((12, 1), 99 << 10),
];

/// Whether a function launches kernels.
pub fn is_launch_of(trace: &Trace, api: ApiId) -> bool {
    is_launch(bare(base_name(trace.api_name(api))))
}

/// Whether a launch with this status was refused for what it asked.
pub fn is_refusal(status: u32) -> bool {
    REFUSED.contains(&status)
}

/// In words; `None` if it is no launch, or was not refused for what it asked. `bytes` are those of the process's file.
#[must_use]
pub fn of(trace: &Trace, bytes: Option<&dyn Bytes>, failed: &Failed) -> Option<String> {
    if !failed.status.is_some_and(is_refusal) || !is_launch_of(trace, failed.call.api) {
        return None;
    }
    let asked = asked(trace, bytes, failed)?;
    let capability = trace.activities.of(failed.process).and_then(|of| of.devices.get(&u16::from(failed.call.device)));
    Some(words(&asked, capability.map(|device| device.capability)))
}

/// What a launch asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Asked {
    grid: [u64; 3],
    block: [u64; 3],
    shared: u64,
}

fn asked(trace: &Trace, bytes: Option<&dyn Bytes>, failed: &Failed) -> Option<Asked> {
    let api = trace.api(failed.call.api)?;
    let (chunk, inner) = trace.track(failed.track)?.chunk_of(failed.row)?;
    let found =
        Found { track: failed.track, row: failed.row, call: failed.call, what: &(), offset: chunk.offset(inner)? };
    let mut records = Records::new(bytes);
    let record = records.read(&found)?;
    let number = |role: &str| api.signature.role(role).and_then(|argument| record.number(argument));
    let triple = |whole: &str, parts: [&str; 3]| match api.signature.role(whole).and_then(|at| record.value(at)) {
        Some(Value::Dim3(three)) => Some(three.map(u64::from)),
        _ => {
            let [x, y, z] = parts.map(number);
            Some([x?, y?, z?])
        }
    };
    Some(Asked {
        grid: triple("grid", ["gridx", "gridy", "gridz"])?,
        block: triple("block", ["blockx", "blocky", "blockz"])?,
        shared: number("shared")?,
    })
}

fn words(asked: &Asked, capability: Option<(u32, u32)>) -> String {
    let size = crate::trace::value::size;
    let threads = asked.block.iter().fold(1u64, |product, side| product.saturating_mul(*side));
    let blocks = asked.grid.iter().fold(1u64, |product, side| product.saturating_mul(*side));
    let most = capability.and_then(|of| SHARED.iter().find(|(known, _)| *known == of)).map(|(_, most)| *most);
    let mut why = Vec::new();
    if threads == 0 || blocks == 0 {
        why.push("a side of grid or block is zero".to_owned());
    }
    if threads > MOST_THREADS {
        why.push(format!("a block has at most {MOST_THREADS} threads"));
    }
    match most {
        Some(most) if asked.shared > most => why.push(format!("the device has at most {} a block", size(most))),
        _ if asked.shared > PLAIN_SHARED => why.push(format!(
            "more than {} needs the function's attribute MaxDynamicSharedMemorySize{}",
            size(PLAIN_SHARED),
            most.map_or_else(String::new, |most| format!(", the device has {}", size(most)))
        )),
        _ => {}
    }
    if why.is_empty() && (threads > 0 && blocks > 0) {
        why.push("its registers and its own shared memory, which are not recorded here, count too".to_owned());
    }
    let [x, y, z] = asked.block;
    format!(
        "asked for {blocks} blocks of {threads} threads ({x}x{y}x{z}) with {} of dynamic shared memory: {}",
        size(asked.shared),
        why.join("; ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_much_is_named() {
        let of = |block, shared, capability| words(&Asked { grid: [2, 1, 1], block, shared }, capability);
        assert!(
            of([64, 32, 1], 0, None).contains("2 blocks of 2048 threads (64x32x1)"),
            "{}",
            of([64, 32, 1], 0, None)
        );
        assert!(of([64, 32, 1], 0, None).ends_with("a block has at most 1024 threads"));
        assert!(of([32, 1, 1], 64 << 10, None).contains("more than 48 KiB needs the function's attribute"));
        assert!(of([32, 1, 1], 64 << 10, Some((9, 0))).ends_with("the device has 227 KiB"));
        assert!(of([32, 1, 1], 100 << 10, Some((8, 6))).ends_with("the device has at most 99 KiB a block"));
        assert!(of([0, 1, 1], 0, None).ends_with("is zero"));
        assert!(of([1024, 1, 1], 0, None).contains("registers"));
        assert!(of([u64::MAX, u64::MAX, 2], u64::MAX, Some((9, 0))).contains("at most"));
    }
}
