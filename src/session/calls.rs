//! Rows of the calls screen.

use super::labels::{Namer, kind};
use super::view::{CallRow, CallsRequest, CallsRows, GpuPart};
use crate::graph::{Cells, Labels, QUANTILE_ERROR_PCT, Row, RowId, Sums, TOP, What, WindowRequest, Windows, Work};
use umtui_wire::activity::{UNIFIED_BETWEEN_DEVICES, UNIFIED_TO_DEVICE, UNIFIED_TO_HOST};

/// The rows asked for. `windows` has been refreshed with these cells.
pub(super) fn rows(
    windows: &mut Windows,
    cells: (&Cells, &Work),
    namer: &Namer<'_>,
    request: &CallsRequest,
) -> CallsRows {
    let wanted = WindowRequest {
        sort: request.sort,
        folds: request.folds.clone(),
        cursor: request.cursor,
        first: request.first,
        rows: request.rows,
    };
    let window = windows.window(&wanted, cells, namer);
    let rows = window.rows.iter().filter_map(|&(row, open)| one(windows, cells, namer, row, open)).collect();
    CallsRows {
        total: window.total,
        first: window.first,
        cursor: window.cursor,
        rows,
        quantile_error_pct: QUANTILE_ERROR_PCT,
        span_ns: 0,
        launches: None,
        source: None,
    }
}

fn one(
    windows: &Windows,
    (cells, work): (&Cells, &Work),
    namer: &Namer<'_>,
    id: RowId,
    open: Option<bool>,
) -> Option<CallRow> {
    let row = windows.rows.get(id)?;
    let stats = match row.what {
        What::Range(..) => windows.rows.range_stats(id),
        what if what.is_gpu() => windows.rows.work_stats(id, work),
        _ => windows.rows.stats(id, cells),
    };
    let whole = match row.what {
        What::Range(..) => windows.rows.range_ns(),
        What::Unified(..) => windows.rows.work_ns().1,
        what if what.is_gpu() => windows.rows.work_ns().0,
        _ => windows.rows.outermost_ns(),
    };
    let Sums { count, failed, running, total_ns, self_ns, .. } = stats.sums;
    let extremes = stats.sums.extremes();
    let key = |id: RowId| windows.rows.get(id).map(|row| row.key);
    Some(CallRow {
        key: row.key,
        depth: row.depth,
        parent: if row.parent == TOP { None } else { key(row.parent) },
        hottest: windows.hottest(id).and_then(key),
        label: namer.label(row.what),
        kind: kind(namer.trace, row.what),
        open,
        count,
        failed,
        running,
        total_ns,
        self_ns,
        min_ns: extremes.map(|extremes| extremes.0),
        max_ns: extremes.map(|extremes| extremes.1),
        p50_ns: stats.quantile(50),
        p99_ns: stats.quantile(99),
        share: thousandths(total_ns, whole),
        gpu: on_gpu(row),
    })
}

fn on_gpu(row: &Row) -> GpuPart {
    let gpu = row.on_gpu();
    let amount = Some(gpu.amount);
    let moves = [UNIFIED_TO_DEVICE, UNIFIED_TO_HOST, UNIFIED_BETWEEN_DEVICES];
    match row.what {
        What::Copy(..) | What::Set => GpuPart { bytes: amount, ..GpuPart::default() },
        What::Unified(counter, _) if moves.contains(&counter) => GpuPart { bytes: amount, ..GpuPart::default() },
        what if what.is_gpu() => GpuPart::default(),
        _ => {
            let any = gpu.sums.count > 0;
            GpuPart {
                pieces: any.then_some(gpu.sums.count),
                work_ns: any.then_some(gpu.sums.total_ns),
                bytes: amount.filter(|&bytes| bytes > 0),
            }
        }
    }
}

/// `part` as a share of `whole`, thousandths, rounded, at most 1000.
pub(super) fn thousandths(part: u64, whole: u64) -> u16 {
    if whole == 0 {
        return 0;
    }
    let share = (u128::from(part) * 1000 + u128::from(whole) / 2) / u128::from(whole);
    u16::try_from(share.min(1000)).unwrap_or(1000)
}

#[cfg(test)]
mod tests {
    use super::thousandths;

    #[test]
    fn shares_round_and_never_exceed_the_whole() {
        assert_eq!((thousandths(1, 3), thousandths(2, 3), thousandths(5, 5)), (333, 667, 1000));
        assert_eq!((thousandths(9, 5), thousandths(0, 0), thousandths(u64::MAX, u64::MAX)), (1000, 0, 1000));
    }
}
