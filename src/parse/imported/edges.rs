//! Beginnings and ends of ranges that an input has apart, put together.
//!
//! They are paired in order of time (of equal times in the input's order), each track for itself. An end with a name
//! closes the innermost range of that name and all in it; one whose name nothing open has closes the innermost. At one
//! moment an end may stand before its beginning: then it is that one's, of no duration.

use super::range::Range;
use super::repairs::{Place, Repair, Repairs};
use super::said::Said;
use super::slices::{Kind, Slice};
use super::sorter::{Item, Merged, Sorter};
use super::target::Spool;
use super::texts::Text;
use std::io;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Open ranges of a track at most; deeper ones are unfinished at once.
const DEPTH: usize = 1 << 16;
/// Ranges and edges that are looked through for a name.
const LOOK: usize = 256;
/// Edges of one moment that are looked at together.
const MOMENT: usize = 1 << 16;

/// An end with a name that nothing open has.
pub const MISMATCHED: Repair = Repair::Mended("ends of ranges that name another range than the one they close");
/// An end where nothing is open.
pub const UNMATCHED: Repair = Repair::Lost("ends of ranges without a beginning, left out");
/// A beginning without an end.
pub const UNFINISHED: Repair = Repair::Mended("ranges that begin and never end, shown as unfinished");
/// An inner range was closed by the end of an outer one.
pub const CLOSED: Repair = Repair::Mended("ranges closed by the end of one around them");

/// One end of a range.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct EdgeRecord {
    /// What pairs with what: a thread's own stack, or a range that any thread may end.
    pub track: u64,
    /// When, ns.
    pub ns: u64,
    /// Its place in the input.
    pub sequence: u64,
    /// Payload of a beginning.
    pub payload: u64,
    /// Thread.
    pub thread: u32,
    /// Name.
    pub name: u32,
    /// Domain.
    pub domain: u32,
    /// Category.
    pub category: u32,
    /// Color.
    pub color: u32,
    /// What else was said.
    pub said: u32,
    /// Zero.
    pub reserved: u32,
    /// Type of the payload.
    pub payload_type: u16,
    /// Whether it begins.
    pub begins: u8,
    /// Whether any thread may end it.
    pub loose: u8,
}

impl Item for EdgeRecord {
    type Key = (u64, u64, u64);

    fn key(&self) -> Self::Key {
        (self.track, self.ns, self.sequence)
    }
}

/// Pairs all edges, and adds what they make to `slices`.
pub fn pair(
    mut edges: Merged<EdgeRecord>,
    slices: &mut Sorter<Slice>,
    spool: &Spool,
    repairs: &mut Repairs,
) -> io::Result<()> {
    let mut open: Vec<EdgeRecord> = Vec::new();
    let mut moment: Vec<Option<EdgeRecord>> = Vec::new();
    let mut track = None;
    let mut next = edges.take_next()?;
    while let Some(first) = next {
        if track != Some(first.track) {
            leave(&mut open, slices, spool, repairs)?;
            track = Some(first.track);
        }
        moment.clear();
        while let Some(edge) = next.filter(|edge| (edge.track, edge.ns) == (first.track, first.ns)) {
            if moment.len() >= MOMENT {
                break;
            }
            moment.push(Some(edge));
            next = edges.take_next()?;
        }
        for at in 0..moment.len() {
            let Some(edge) = moment.get_mut(at).and_then(Option::take) else { continue };
            if edge.begins != 0 {
                begin(edge, &mut open, slices, spool, repairs)?;
                continue;
            }
            let named = |other: &EdgeRecord| other.name == edge.name;
            let inner = open.iter().rev().take(LOOK).position(named);
            let depth = match inner {
                _ if edge.name == 0 => 0,
                Some(depth) => depth,
                None => {
                    let later = moment.iter_mut().skip(at + 1).take(LOOK);
                    let own = later.into_iter().find(|other| other.as_ref().is_some_and(|o| o.begins != 0 && named(o)));
                    match own.and_then(Option::take) {
                        Some(own) => begin(own, &mut open, slices, spool, repairs)?,
                        None if !open.is_empty() => repairs.add(MISMATCHED, 1, Place::Nowhere),
                        None => {}
                    }
                    0
                }
            };
            if open.is_empty() {
                repairs.add(UNMATCHED, 1, Place::Nowhere);
            }
            repairs_closed(repairs, depth);
            for _ in 0..=depth {
                if let Some(begun) = open.pop() {
                    slices.push(slice(&begun, Some(edge.ns)), spool)?;
                }
            }
        }
    }
    leave(&mut open, slices, spool, repairs)
}

fn repairs_closed(repairs: &mut Repairs, depth: usize) {
    if depth > 0 {
        repairs.add(CLOSED, depth as u64, Place::Nowhere);
    }
}

fn begin(
    edge: EdgeRecord,
    open: &mut Vec<EdgeRecord>,
    slices: &mut Sorter<Slice>,
    spool: &Spool,
    repairs: &mut Repairs,
) -> io::Result<()> {
    if open.len() >= DEPTH {
        repairs.add(UNFINISHED, 1, Place::Nowhere);
        return slices.push(slice(&edge, None), spool);
    }
    open.push(edge);
    Ok(())
}

/// What is open at the end of a track is unfinished.
fn leave(
    open: &mut Vec<EdgeRecord>,
    slices: &mut Sorter<Slice>,
    spool: &Spool,
    repairs: &mut Repairs,
) -> io::Result<()> {
    if !open.is_empty() {
        repairs.add(UNFINISHED, open.len() as u64, Place::Nowhere);
    }
    open.drain(..).try_for_each(|begun| slices.push(slice(&begun, None), spool))
}

fn slice(begun: &EdgeRecord, end: Option<u64>) -> Slice {
    let range = Range {
        name: Text(begun.name),
        domain: Text(begun.domain),
        start: begun.ns,
        end,
        category: begun.category,
        color: begun.color,
        payload: (begun.payload_type != 0).then_some((begun.payload_type, begun.payload)),
        said: Said(begun.said),
    };
    let kind = if begun.loose != 0 { Kind::Loose } else { Kind::Range };
    Slice::range(begun.thread, begun.sequence, kind, &range)
}
