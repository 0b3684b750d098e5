//! Pieces of a lane's columns: the one that grows, and those that are full and packed.

use super::column::Column;
use super::record::{Activity, ActivityKind, NO_ENDS};

/// Rows of a full piece.
pub const ROWS: usize = 4096;
/// Starts are kept in 48 bits, relative to the first row's, with this added.
const BIAS: u64 = 1 << 47;
/// Column entry that stands for "look into the overflow list".
pub const LONG: u32 = u32::MAX;
/// Bit of the kind column: the times are not known.
const UNTIMED: u8 = 1 << 7;

/// A piece of the columns, of either kind.
#[derive(Clone, Copy)]
pub enum Piece<'a> {
    /// It grows.
    Growing(&'a Growing),
    /// It is full.
    Packed(&'a Packed),
}

impl Piece<'_> {
    /// Rows.
    pub fn len(self) -> usize {
        match self {
            Self::Growing(piece) => piece.len(),
            Self::Packed(piece) => piece.len,
        }
    }

    /// First start and last end of its rows, ns.
    pub const fn span(self) -> (u64, u64) {
        match self {
            Self::Growing(piece) => piece.span,
            Self::Packed(piece) => piece.span,
        }
    }

    /// A row.
    #[inline]
    pub fn get(self, row: usize) -> Option<Activity> {
        match self {
            Self::Growing(piece) => piece.get(row),
            Self::Packed(piece) => piece.get(row),
        }
    }

    /// Where a row's record lies.
    pub fn place(self, row: usize) -> Option<u32> {
        match self {
            Self::Growing(piece) => piece.place.get(row).copied(),
            Self::Packed(piece) => {
                let place = if row < piece.len { piece.place.get(row)? } else { return None };
                u32::try_from(place).ok()
            }
        }
    }

    /// Bytes on the heap.
    pub fn heap_bytes(self) -> usize {
        match self {
            Self::Growing(piece) => piece.heap_bytes(),
            Self::Packed(piece) => piece.heap_bytes(),
        }
    }
}

/// A full piece: each column takes as little as its numbers need. Records of one kind, one device, without an id or an
/// address take nothing for these.
#[derive(Debug)]
pub struct Packed {
    len: usize,
    span: (u64, u64),
    start: Column,
    duration: Column,
    kind: Column,
    detail: Column,
    device: Column,
    value: Column,
    correlation: Column,
    place: Column,
    address: Column,
    ends: Column,
}

impl Packed {
    /// Of one that has grown.
    pub fn of(full: &Growing) -> Self {
        let rows = 0..full.len();
        let narrow = |column: &[u8]| Column::of(column.iter().map(|&number| u64::from(number)));
        let wide = |column: &[u32]| Column::of(column.iter().map(|&number| u64::from(number)));
        let long = |column: &[u32], overflow: &[(u32, u64)]| {
            Column::of(column.iter().enumerate().map(|(row, &number)| unpack(number, row, overflow)))
        };
        Self {
            len: full.len(),
            span: full.span,
            start: Column::of(rows.clone().map(|row| full.start_ns(row).unwrap_or(0))),
            duration: long(&full.duration, &full.long),
            kind: narrow(&full.kind),
            detail: narrow(&full.detail),
            device: narrow(&full.device),
            value: long(&full.value, &full.large),
            correlation: wide(&full.correlation),
            place: wide(&full.place),
            address: Column::of(full.address.iter().copied()),
            ends: Column::of(rows.map(|row| u64::from(u16::from_le_bytes(full.ends_of(row))))),
        }
    }

    #[inline]
    fn get(&self, row: usize) -> Option<Activity> {
        if row >= self.len {
            return None;
        }
        let kind = self.kind.get(row)? as u8;
        Some(Activity {
            kind: ActivityKind::of(kind & !UNTIMED)?,
            start_ns: self.start.get(row)?,
            duration_ns: self.duration.get(row)?,
            timed: kind & UNTIMED == 0,
            detail: self.detail.get(row)? as u8,
            device: self.device.get(row)? as u8,
            value: self.value.get(row)?,
            correlation: self.correlation.get(row)? as u32,
            address: self.address.get(row)?,
            ends: (self.ends.get(row)? as u16).to_le_bytes(),
        })
    }

    fn heap_bytes(&self) -> usize {
        let columns = [
            &self.start,
            &self.duration,
            &self.kind,
            &self.detail,
            &self.device,
            &self.value,
            &self.correlation,
            &self.place,
            &self.address,
            &self.ends,
        ];
        size_of::<Self>() + columns.into_iter().map(Column::heap_bytes).sum::<usize>()
    }
}

/// A piece that rows are appended to: 25 bytes each, 8 more for the address where any has one, and 2 for the
/// devices between which something went.
#[derive(Clone, Debug, Default)]
pub struct Growing {
    base_ns: u64,
    start_low: Vec<u32>,
    start_high: Vec<u16>,
    duration: Vec<u32>,
    kind: Vec<u8>,
    detail: Vec<u8>,
    device: Vec<u8>,
    value: Vec<u32>,
    correlation: Vec<u32>,
    place: Vec<u32>,
    /// Empty as long as no row has one.
    address: Vec<u64>,
    /// Likewise.
    ends: Vec<[u8; 2]>,
    long: Vec<(u32, u64)>,
    large: Vec<(u32, u64)>,
    span: (u64, u64),
}

impl Growing {
    /// Rows.
    pub const fn len(&self) -> usize {
        self.kind.len()
    }

    /// Forgets its rows, and keeps the room for others.
    pub fn clear(&mut self) {
        self.start_low.clear();
        self.start_high.clear();
        self.duration.clear();
        self.kind.clear();
        self.detail.clear();
        self.device.clear();
        self.value.clear();
        self.correlation.clear();
        self.place.clear();
        self.address.clear();
        self.ends.clear();
        self.long.clear();
        self.large.clear();
    }

    /// Whether a record that starts then, ns, fits.
    pub fn fits(&self, start_ns: u64) -> bool {
        let rows = self.kind.len();
        rows == 0 || (rows < ROWS && start_ns.wrapping_sub(self.base_ns).wrapping_add(BIAS) < BIAS * 2)
    }

    /// Appends a record whose slot has this number.
    pub fn push(&mut self, activity: &Activity, place: u32) {
        let row = self.kind.len() as u32;
        if row == 0 {
            self.base_ns = activity.start_ns;
            self.span = (u64::MAX, 0);
        }
        let packed = activity.start_ns.wrapping_sub(self.base_ns).wrapping_add(BIAS);
        self.start_low.push(packed as u32);
        self.start_high.push((packed >> 32) as u16);
        self.duration.push(pack(activity.duration_ns, row, &mut self.long));
        self.kind.push(activity.kind as u8 | if activity.timed { 0 } else { UNTIMED });
        self.detail.push(activity.detail);
        self.device.push(activity.device);
        self.value.push(pack(activity.value, row, &mut self.large));
        self.correlation.push(activity.correlation);
        self.place.push(place);
        if activity.address != 0 && self.address.is_empty() {
            self.address.resize(row as usize, 0);
        }
        if activity.address != 0 || !self.address.is_empty() {
            self.address.push(activity.address);
        }
        if activity.ends != NO_ENDS && self.ends.is_empty() {
            self.ends.resize(row as usize, NO_ENDS);
        }
        if activity.ends != NO_ENDS || !self.ends.is_empty() {
            self.ends.push(activity.ends);
        }
        self.span = (self.span.0.min(activity.start_ns), self.span.1.max(activity.end_ns()));
    }

    fn start_ns(&self, row: usize) -> Option<u64> {
        let packed = u64::from(*self.start_low.get(row)?) | u64::from(*self.start_high.get(row)?) << 32;
        Some(packed.wrapping_sub(BIAS).wrapping_add(self.base_ns))
    }

    fn ends_of(&self, row: usize) -> [u8; 2] {
        self.ends.get(row).copied().unwrap_or(NO_ENDS)
    }

    fn get(&self, row: usize) -> Option<Activity> {
        let kind = *self.kind.get(row)?;
        Some(Activity {
            kind: ActivityKind::of(kind & !UNTIMED)?,
            start_ns: self.start_ns(row)?,
            duration_ns: unpack(*self.duration.get(row)?, row, &self.long),
            timed: kind & UNTIMED == 0,
            detail: *self.detail.get(row)?,
            device: *self.device.get(row)?,
            value: unpack(*self.value.get(row)?, row, &self.large),
            correlation: *self.correlation.get(row)?,
            address: self.address.get(row).copied().unwrap_or(0),
            ends: self.ends_of(row),
        })
    }

    fn heap_bytes(&self) -> usize {
        let words = self.start_low.capacity()
            + self.duration.capacity()
            + self.value.capacity()
            + self.correlation.capacity()
            + self.place.capacity();
        words * 4
            + self.start_high.capacity() * 2
            + self.kind.capacity()
            + self.detail.capacity()
            + self.device.capacity()
            + self.address.capacity() * 8
            + self.ends.capacity() * 2
            + (self.long.capacity() + self.large.capacity()) * size_of::<(u32, u64)>()
    }
}

fn pack(value: u64, row: u32, overflow: &mut Vec<(u32, u64)>) -> u32 {
    match u32::try_from(value) {
        Ok(value) if value != LONG => value,
        _ => {
            overflow.push((row, value));
            LONG
        }
    }
}

fn unpack(value: u32, row: usize, overflow: &[(u32, u64)]) -> u64 {
    if value != LONG {
        return u64::from(value);
    }
    let at = overflow.partition_point(|&(long, _)| (long as usize) < row);
    overflow.get(at).map_or(u64::from(LONG), |&(_, value)| value)
}
