//! Which places, rows and columns a picture has.

use std::ops::Range;
use std::sync::Arc;

use super::canvas::Shape;
use super::generations::Generations;
use super::packed::{Packed, Packings};
use super::places::Places;
use super::view::{HeatRequest, HeatRowsAt, HeatSubject, HeatTimeAt};
use crate::memory::residency::PAGE_BYTES;
use crate::trace::ProcessId;

/// Narrowest column, ns.
pub const NARROWEST_NS: u64 = 1_000;
/// Bits of the smallest row: a page.
const SMALLEST: u8 = PAGE_BYTES.ilog2() as u8;

/// What is shown: places, packed, and of these the lines and columns.
pub struct Frame {
    /// The places.
    pub packed: Arc<Packed>,
    /// Number of the lowest row.
    pub first: u64,
    /// Where the first column begins, ns on the trace's axis.
    pub from_ns: u64,
    /// Width of a column, ns.
    pub column_ns: u64,
    /// Columns.
    pub columns: usize,
    /// Stretch's place, process, first address, first after it; the lowest row first.
    pub rows: Vec<(usize, ProcessId, u64, u64)>,
    /// Line of the address that rows were asked to be shown around.
    pub found: Option<u16>,
}

impl Frame {
    /// The last moment of each column, ns on the trace's axis.
    pub fn moments(&self) -> Vec<u64> {
        let end = |column: usize| {
            let columns = self.column_ns.saturating_mul(column as u64 + 1);
            self.from_ns.saturating_add(columns).saturating_sub(1)
        };
        (0..self.columns).map(end).collect()
    }

    /// The same without what the rows are of.
    pub fn shape(&self, lens: u64) -> Shape {
        let rows = self.rows.iter().map(|&(_, process, from, to)| (process, from, to)).collect();
        Shape { lens, from_ns: self.from_ns, column_ns: self.column_ns, columns: self.columns, rows }
    }
}

/// The place that is meant; `Some(None)`: all. `None`: there is none.
pub fn subject(places: &Places, generations: &Generations, wanted: HeatSubject) -> Option<Option<usize>> {
    let found = match wanted {
        HeatSubject::All if places.len() > 0 => return Some(None),
        HeatSubject::One(process, address) => places.holding(process, address),
        HeatSubject::Found(row) => generations.get(row).map(|(place, _)| place).filter(|&at| at < places.len()),
        HeatSubject::Holding(address) => places.holding_any(address),
        _ => None,
    };
    found.or_else(|| places.numbered(1)).map(Some)
}

/// A place by its name.
pub fn name(places: &Places, at: usize) -> HeatSubject {
    places.get(at).map_or(HeatSubject::All, |place| HeatSubject::One(place.process.0, place.from))
}

/// The next busy one after a place, and the one before.
pub fn neighbours(places: &Places, subject: Option<usize>) -> (HeatSubject, HeatSubject) {
    let number = subject.and_then(|at| places.get(at)).map_or(0, |place| place.number);
    let of = |number: usize| places.numbered(number).map_or(HeatSubject::All, |at| name(places, at));
    // Behind the last one come all together.
    (of(if number >= places.len() { 0 } else { number + 1 }), of(number.checked_sub(1).unwrap_or(places.len())))
}

/// The rows and columns that are asked for; `span`: all time there is to see, ns on the trace's axis.
pub fn frame(
    request: &HeatRequest,
    (places, packings): (&Places, &mut Packings),
    shown: &Range<usize>,
    span: (u64, u64),
) -> Frame {
    let lines = u64::from(request.lines.max(1));
    let fits = packings.fitting(places, shown, lines);
    let mut packed = |bits: u8| packings.packed(places, shown, bits.clamp(SMALLEST, fits));
    let (packed, first, around) = match request.at {
        HeatRowsAt::Fit => (packed(fits), 0, None),
        HeatRowsAt::From(bits, first) => (packed(bits), first, None),
        HeatRowsAt::Around(bits, (process, address), line) => {
            let packed = packed(bits);
            let row = packed.row_of(places, ProcessId(process), address);
            // Lines are counted from the top, rows from the bottom.
            let below = lines.saturating_sub(u64::from(line) + 1);
            (packed, row.saturating_sub(below), Some(row))
        }
    };
    let first = first.min(packed.total.saturating_sub(lines));
    let count = lines.min(packed.total - first);
    let found = around.and_then(|row| u16::try_from((first + count).checked_sub(row + 1)?).ok());
    let rows = (first..first + count).filter_map(|row| packed.row(places, row));
    let rows = rows.map(|(stretch, from, to)| (stretch.place, stretch.process, from, to)).collect();
    let columns = u64::from(request.columns.max(1));
    let widest = (span.1 - span.0).div_ceil(columns).max(NARROWEST_NS);
    let (from_ns, column_ns) = match request.time {
        HeatTimeAt::Fit => (span.0, widest),
        HeatTimeAt::From(from, width) => {
            let width = width.clamp(NARROWEST_NS, widest);
            let last = span.1.saturating_sub(width.saturating_mul(columns));
            (from.clamp(span.0, last.max(span.0)), width)
        }
    };
    Frame { packed, first, from_ns, column_ns, columns: usize::from(request.columns.max(1)), rows, found }
}
