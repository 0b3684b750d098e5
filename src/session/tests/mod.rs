//! Sessions over small traces.

mod devices;
pub(crate) mod files;
pub(crate) mod gpu;
mod lens;
mod lens_held;
mod lists;
mod live;
mod overview;
pub(crate) mod reused;
mod search;

use super::model::Model;
use crate::graph::tests::twin::Program;
use crate::trace::{Layer, Process, ProcessId, Signature, Trace, TrackId};

/// The trace that a program of the graph's tests leaves behind: two threads a process.
pub(super) fn trace_of(program: &Program) -> Trace {
    let mut trace = Trace::default();
    for api in 0..4 {
        let layer = if api < 2 { Layer::Runtime } else { Layer::Driver };
        trace.api_of(&format!("api{api}"), layer, Signature::default());
    }
    for (index, (ended, open)) in program.ended.iter().zip(&program.open).enumerate() {
        let process = ProcessId(u16::try_from(index / 2).unwrap());
        if trace.process(process).is_none() {
            let pid = 100 + u32::from(process.0);
            trace.add_process(Process { pid, ..Process::default() });
        }
        let id = trace.track_of(process, 1000 + u32::try_from(index).unwrap());
        for address in 0..3 {
            trace.sites.find(ProcessId(0), address, 0);
        }
        let track = &mut trace.tracks[id.index()];
        for call in ended {
            track.push(*call, 0);
        }
        track.in_flight.clone_from(open);
    }
    trace.touch();
    trace
}

/// A model of it that took the calls in some turns.
pub(super) fn model_of(program: &Program) -> Model {
    let mut model = Model::default();
    model.trace = trace_of(program);
    model.update();
    model
}

/// All tracks of a trace.
pub(super) fn tracks(trace: &Trace) -> impl Iterator<Item = TrackId> {
    (0..u32::try_from(trace.tracks.len()).unwrap()).map(TrackId)
}
