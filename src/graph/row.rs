//! A row of the calls tree.

use super::cells::CellId;
use super::identity::{NodeKey, What};
use super::on_gpu::OnGpu;
use super::ranges::RangeNode;
use super::rows::RowId;
use super::stats::Sums;

/// A row. Of a hundred thousand of them all are gone through when all have changed, so what few of them have stands
/// elsewhere.
#[derive(Clone, Debug)]
pub struct Row {
    /// Identity.
    pub key: NodeKey,
    /// The row above; [`super::TOP`] for the outermost and itself.
    pub parent: RowId,
    /// 0 for the outermost rows.
    pub depth: u16,
    /// Something below it is to be shown: `BELOW_ENDED` and so on.
    pub(super) below: u8,
    /// What it stands for.
    pub what: What,
    /// What has ended.
    pub(super) ended: Sums,
    /// Rows below, in no order.
    pub(super) children: Vec<RowId>,
    /// Cells whose calls are counted here and in no row below.
    pub(super) cells: Vec<CellId>,
    /// Likewise cells of calls inside others that are counted.
    pub(super) inner_cells: Vec<CellId>,
    /// What else there is, if there is any.
    pub(super) beside: Option<Box<Beside>>,
}

/// What a row has beside calls that have ended.
#[derive(Clone, Debug, Default)]
pub(super) struct Beside {
    /// What is under way, and the cells of that.
    pub unfinished: Sums,
    pub unfinished_cells: Vec<CellId>,
    pub unfinished_inner: Vec<CellId>,
    /// What the GPU did.
    pub on_gpu: OnGpu,
    /// Cells of that, of a row that stands for such.
    pub work_cells: Vec<u32>,
    /// Of a range: how often and how long it ran.
    pub ranges: Sums,
    /// Paths of ranges that are counted here.
    pub paths: Vec<RangeNode>,
}

/// What a row has that has nothing of that.
static NOTHING: Beside = Beside {
    unfinished: Sums::NONE,
    unfinished_cells: Vec::new(),
    unfinished_inner: Vec::new(),
    on_gpu: OnGpu { records: 0, sums: Sums::NONE, amount: 0 },
    work_cells: Vec::new(),
    ranges: Sums::NONE,
    paths: Vec::new(),
};

impl Row {
    pub(super) const fn new(key: NodeKey, parent: RowId, depth: u16, what: What) -> Self {
        Self {
            key,
            parent,
            depth,
            below: 0,
            what,
            ended: Sums::NONE,
            children: Vec::new(),
            cells: Vec::new(),
            inner_cells: Vec::new(),
            beside: None,
        }
    }

    pub(super) fn beside(&self) -> &Beside {
        self.beside.as_deref().unwrap_or(&NOTHING)
    }

    pub(super) fn beside_mut(&mut self) -> &mut Beside {
        self.beside.get_or_insert_default()
    }

    /// Rows below, in the order in which they were put last.
    pub(super) fn children(&self) -> &[RowId] {
        &self.children
    }

    /// What the GPU did here or below.
    #[must_use]
    pub fn on_gpu(&self) -> &OnGpu {
        &self.beside().on_gpu
    }

    /// Counts and times: of calls, unfinished ones included; of a row of what the GPU did those of that.
    #[must_use]
    pub fn sums(&self) -> Sums {
        let beside = self.beside();
        match self.what {
            What::Range(..) => return beside.ranges,
            what if what.is_gpu() => return beside.on_gpu.sums,
            _ => {}
        }
        let mut sums = self.ended;
        sums.add(&beside.unfinished);
        sums
    }

    /// Whether it has anything to show.
    #[must_use]
    pub fn any(&self) -> bool {
        let has_more = |beside: &Beside| beside.unfinished.any() || beside.on_gpu.records > 0 || beside.ranges.any();
        self.ended.any() || self.below != 0 || self.beside.as_deref().is_some_and(has_more)
    }
}
