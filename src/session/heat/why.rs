//! Why there is no picture.

use crate::correlate::AllocationKind;
use crate::session::model::Model;
use crate::trace::LaneOf;
use crate::trace::activity::What;

impl Model {
    /// Why there is nothing to show, and what would fill it.
    pub(super) fn why_no_heat(&self) -> String {
        let activities = &self.trace.activities;
        let any = activities.lanes().iter().any(|lane| lane.of == LaneOf::Unified && !lane.is_empty());
        if self.lensed.is_on() && any {
            return "nothing of unified memory is let through".to_owned();
        }
        if !activities.recorded(What::Migrations) {
            let missing = crate::session::evidence::missing(&self.trace);
            let why = missing.into_iter().find(|one| one.what == What::Migrations);
            return why.map_or_else(
                || "no migrations of pages are recorded yet: they appear here as the program runs".to_owned(),
                |one| match one.remedy {
                    Some(remedy) => format!("migrations of pages are not recorded: {}; {remedy}", one.why),
                    None => format!("migrations of pages are not recorded: {}", one.why),
                },
            );
        }
        let managed = self.lives.all().iter().flat_map(|of| of.all());
        let managed = managed.filter(|one| one.kind == AllocationKind::Managed).count();
        let faults = if activities.recorded(What::Faults) {
            "none of its pages has moved or was missed"
        } else {
            "none of its pages has moved; page faults are not recorded: start with --um-faults"
        };
        match managed {
            0 => "no unified memory: nothing was allocated with cudaMallocManaged, and no page has moved".to_owned(),
            1 => format!("one allocation of unified memory, and {faults}"),
            more => format!("{more} allocations of unified memory, and {faults}"),
        }
    }
}
