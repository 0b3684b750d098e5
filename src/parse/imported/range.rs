//! Ranges and marks as an input tells them.

use super::said::Said;
use super::texts::Text;

/// A range with both its ends, or a mark.
#[derive(Clone, Copy, Debug, Default)]
pub struct Range {
    /// Name.
    pub name: Text,
    /// Domain: ranges nest within their domain, those of different domains may cross.
    pub domain: Text,
    /// Start, ns.
    pub start: u64,
    /// End, ns; `None`: unfinished. Of no meaning for marks.
    pub end: Option<u64>,
    /// Category within the domain.
    pub category: u32,
    /// 0xAARRGGBB, zero if there is none.
    pub color: u32,
    /// `nvtxPayloadType_t` and the payload's bits.
    pub payload: Option<(u16, u64)>,
    /// What else the input says of it.
    pub said: Said,
}

/// One end of a range, where an input has them apart.
#[derive(Clone, Copy, Debug)]
pub enum Edge {
    /// It begins.
    Begin,
    /// The innermost open one ends, or the innermost with this name and all in it.
    End,
}
