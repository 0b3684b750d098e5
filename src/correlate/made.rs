//! Traces made by hand, with raw records, for tests.

use std::sync::Arc;

use crate::trace::activity::{Activity, LaneId};
use crate::trace::{
    ApiId, ArgKind, Argument, Bytes, Call, CallFlags, LaneOf, Layer, Only, Process, ProcessId, Signature, SiteId,
    StreamId, Trace, TrackId,
};
use umtui_wire::activity::KIND_SUBMIT;
use umtui_wire::header::CHUNK_UNIT;
use umtui_wire::record::{Head, KIND_CALL, SLOT_BYTES};
use umtui_wire::table::{FUNCTIONS, Function, find};

pub const P: ProcessId = ProcessId(0);

/// The arguments of a function of the table, which this room has no reader for.
pub fn signature_of(function: &Function) -> Signature {
    let inside = function.signature.split_once('(').unwrap().1.trim_end_matches(')');
    let mut arguments: Vec<Argument> = Vec::new();
    for text in inside.split_whitespace() {
        let (text, only) = text.split_once('?').map_or((text, None), |(text, only)| (text, only.split_once('=')));
        let (role, rest) = text.split_once(':').unwrap();
        let (kind, at) = rest.split_once('@').unwrap();
        let only = only.map(|(role, values)| {
            Box::new(Only {
                role: role.into(),
                at: arguments.iter().find(|argument| argument.role == role).unwrap().at,
                values: values.split('|').map(|value| value.parse().unwrap()).collect(),
            })
        });
        let (on_success, kind) = (kind.starts_with('*'), ArgKind::from_word(kind.trim_start_matches('*')));
        arguments.push(Argument { role: role.into(), kind, on_success, at: at.parse().unwrap(), only });
    }
    Signature { arguments, ..Signature::default() }
}

/// A trace of one process and its file.
pub struct Made {
    pub trace: Trace,
    file: Vec<u8>,
}

/// A call to be made.
#[derive(Clone, Copy)]
pub struct Step<'a> {
    pub thread: u32,
    pub name: &'a str,
    pub arguments: &'a [(&'a str, ArgKind, u64)],
    pub times: (u64, u64),
    pub depth: u8,
    pub flags: CallFlags,
    pub device: u8,
    /// Correlation id and pointers of what it submits.
    pub submits: Option<(u32, &'a [u64])>,
}

impl Default for Step<'_> {
    fn default() -> Self {
        let flags = CallFlags(0);
        Self { thread: 1, name: "", arguments: &[], times: (0, 0), depth: 0, flags, device: 0, submits: None }
    }
}

impl Made {
    pub fn new() -> Self {
        let mut trace = Trace::default();
        trace.add_process(Process::default()).unwrap();
        trace.add_file("made");
        Self { trace, file: vec![0; CHUNK_UNIT as usize] }
    }

    /// A call without anything special: name, arguments, start and end.
    pub fn call(&mut self, name: &str, arguments: &[(&str, ArgKind, u64)], times: (u64, u64)) -> (TrackId, u32) {
        self.step(&Step { name, arguments, times, ..Step::default() })
    }

    pub fn step(&mut self, step: &Step<'_>) -> (TrackId, u32) {
        let layer = if step.name.starts_with("cuda") { Layer::Runtime } else { Layer::Driver };
        let signature = Signature {
            arguments: (0u16..)
                .zip(step.arguments)
                .map(|(index, &(role, kind, _))| Argument {
                    role: role.into(),
                    kind,
                    on_success: false,
                    at: 32 + 8 * index,
                    only: None,
                })
                .collect(),
            ..Signature::default()
        };
        let api = self.trace.api_of(step.name, layer, signature);
        if let Some((correlation, pointers)) = step.submits {
            self.submit(step.times.0, correlation, pointers);
        }
        let mut words = vec![Head { kind: KIND_CALL, extra: 0, a: api.0, b: 0 }.word(), step.times.0, 0, 0];
        words.extend(step.arguments.iter().map(|argument| argument.2));
        let slots = words.len().div_ceil(6);
        let offset = self.record(&words, slots);
        self.push(step, api, slots as u8 - 1, offset)
    }

    /// A call as the table of functions has it: arguments by role, those there that the given ones are for. `submits`:
    /// pointers that a kernel was given.
    pub fn of_table(
        &mut self,
        name: &str,
        values: &[(&str, u64)],
        (depth, times): (u8, (u64, u64)),
        submits: &[u64],
    ) -> (TrackId, u32) {
        let function = &FUNCTIONS[find(name.as_bytes(), 12).unwrap()];
        let signature = signature_of(function);
        let slots = 1 + usize::from(function.extra);
        let mut record = vec![0; slots * SLOT_BYTES];
        for (role, value) in values {
            let own = |argument: &&Argument| {
                argument.role == *role && argument.only.as_ref().is_none_or(|only| only.holds(&record))
            };
            let argument = signature.arguments.iter().find(own).unwrap_or_else(|| panic!("{name}: {role}"));
            let (at, bytes) = (usize::from(argument.at), argument.kind.bytes().min(8));
            record[at..at + bytes].copy_from_slice(&value.to_le_bytes()[..bytes]);
        }
        let api = self.trace.api_of(name, function.layer, signature);
        if !submits.is_empty() {
            self.submit(times.0, 0, submits);
        }
        let head = Head { kind: KIND_CALL, extra: function.extra, a: api.0, b: 0 };
        record[..8].copy_from_slice(&head.word().to_le_bytes());
        record[8..16].copy_from_slice(&times.0.to_le_bytes());
        let words: Vec<u64> = record.chunks(8).map(|word| u64::from_le_bytes(word.try_into().unwrap())).collect();
        let offset = self.record(&words, slots);
        self.push(&Step { name, times, depth, ..Step::default() }, api, function.extra, offset)
    }

    fn submit(&mut self, start: u64, correlation: u32, pointers: &[u64]) {
        let slots = (3 + pointers.len()).div_ceil(6);
        let head = Head { kind: KIND_SUBMIT, extra: slots as u8 - 1, a: pointers.len() as u16, b: correlation };
        let mut words = vec![head.word(), start, 0];
        words.extend(pointers);
        self.record(&words, slots);
    }

    fn push(&mut self, step: &Step<'_>, api: ApiId, extra: u8, offset: u64) -> (TrackId, u32) {
        let (start_ns, end_ns) = step.times;
        let call = Call {
            start_ns,
            duration_ns: end_ns - start_ns,
            api,
            site: SiteId(0),
            stream: StreamId::NONE,
            device: step.device,
            depth: step.depth,
            flags: step.flags,
            extra,
        };
        let track = self.trace.track_of(P, step.thread);
        let row = self.trace.tracks[track.index()].len() as u32;
        self.trace.tracks[track.index()].push(call, offset);
        (track, row)
    }

    fn record(&mut self, words: &[u64], slots: usize) -> u64 {
        let length = slots * SLOT_BYTES;
        // Records do not reach from one chunk into the next.
        let left = CHUNK_UNIT as usize - self.file.len() % CHUNK_UNIT as usize;
        if left < length {
            self.file.resize(self.file.len() + left, 0);
        }
        let at = self.file.len();
        words.iter().for_each(|word| self.file.extend(word.to_le_bytes()));
        self.file.resize(at + length, 0);
        at as u64
    }

    /// A record of the GPU.
    pub fn activity(&mut self, of: LaneOf, activity: &Activity) -> LaneId {
        self.trace.activities.push(P, of, activity, 0)
    }

    pub fn files(&self) -> Vec<Arc<dyn Bytes>> {
        vec![Arc::new(self.file.clone())]
    }
}
