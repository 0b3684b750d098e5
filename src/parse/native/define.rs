//! Takes definitions into the trace.

use super::definitions::{self, Definition};
use super::file::Hot;
use super::piece::{Holds, Piece, bytes_of};
use super::reader::{NativeReader, check, cut};
use crate::parse::ParseError;
use crate::trace::activity::Device;
use crate::trace::{Module, NameId, Semantics, Signature, Trace};
use umtui_wire::record::{Head, SLOT_BYTES};
use umtui_wire::table::Layer;

impl NativeReader {
    pub(super) fn read_definitions(&mut self, trace: &mut Trace) -> Result<(), ParseError> {
        for index in 0..self.pieces.len() {
            let due = |piece: &&Piece| piece.holds == Holds::Definitions && piece.decoded < piece.committed;
            let Some(piece) = self.pieces.get(index).filter(due) else { continue };
            let (from, upto) = (piece.decoded, piece.committed);
            let slots = self.read_slots(index, from, upto, Vec::new())?;
            let Some(piece) = self.pieces.get_mut(index) else { continue };
            let short = (slots.len() as u32) < upto - from;
            if piece.sealed && from == 0 && !short {
                check(piece, &slots, self.file.file, trace);
            }
            let first = piece.slot_offset(from);
            let mut at = 0;
            while let Some(slot) = slots.get(at) {
                let next = at + 1 + usize::from(Head::from_word(slot[0]).extra);
                let Some(record) = slots.get(at..next) else { break };
                let offset = first + (at * SLOT_BYTES) as u64;
                self.define(bytes_of(record), offset, trace);
                at = next;
            }
            let Some(piece) = self.pieces.get_mut(index) else { continue };
            piece.decoded = from + at as u32;
            if short || (piece.sealed && piece.decoded < piece.committed) {
                cut(piece, from + at as u32, &self.file, trace);
            }
        }
        Ok(())
    }

    fn define(&mut self, record: &[u8], offset: u64, trace: &mut Trace) {
        let process = self.file.process;
        match definitions::parse(record) {
            None => trace.add_damage(self.file.file, offset, "a definition that contradicts itself, left out"),
            Some(Definition::Unknown) => {}
            Some(Definition::String { id, length, offset: at, bytes }) => {
                let text = self.strings.entry(id).or_default();
                if at == 0 {
                    text.clear();
                }
                if text.len() != at as usize {
                    self.strings.remove(&id);
                    trace.add_damage(self.file.file, offset, format!("a piece of string {id} is missing"));
                    return;
                }
                text.extend_from_slice(bytes);
                if text.len() >= length as usize {
                    let name = trace.names.intern(&String::from_utf8_lossy(text));
                    self.strings.remove(&id);
                    if let Some(process) = trace.processes.get_mut(process.index()) {
                        process.strings.insert(id, name);
                    }
                    trace.activities.define_text(process, id, name);
                }
            }
            Some(Definition::Api { id, name, layer, signature }) => {
                if signature.is_none() {
                    let why = format!("the arguments of {name} cannot be understood, its calls are shown without");
                    trace.add_damage(self.file.file, offset, why);
                }
                self.define_api(id, &name, layer, signature.unwrap_or_default(), trace);
            }
            Some(Definition::Module { path, start, end, file_offset, ticks, build_id }) => {
                let path = self.string(path, trace);
                let build_id = build_id.to_vec();
                let module = Module { process, path, build_id, start, end, file_offset, ticks, identity: 0 };
                trace.sites.add_module(module);
                self.file.forget_sites();
            }
            Some(Definition::Device { ordinal, name, device }) => {
                let name = self.string(name, trace);
                trace.activities.of_mut(process).devices.insert(ordinal, Device { name, ..device });
            }
            Some(Definition::Kernel { name, handle, ticks }) => {
                let name = self.string(name, trace);
                let known = self.kernel_ticks.entry(handle).or_insert(ticks);
                if *known <= ticks {
                    *known = ticks;
                    trace.kernels.insert((process, handle), name);
                }
            }
        }
        trace.touch();
    }

    fn define_api(&mut self, number: u16, name: &str, layer: Layer, signature: Signature, trace: &mut Trace) {
        let semantics = Semantics::of(name, &signature);
        let id = match self.file.hot(number).id {
            Some(id) if trace.api(id).is_some_and(|api| !api.defined) => {
                trace.define_api(id, name, layer, signature);
                id
            }
            _ => trace.api_of(name, layer, signature),
        };
        self.file.set_api(number, Hot::new(id, layer, &semantics), semantics);
    }

    /// A string of the file; one that has not come is shown by its number.
    fn string(&self, id: u32, trace: &mut Trace) -> NameId {
        let known = trace.process(self.file.process).and_then(|process| process.strings.get(&id)).copied();
        known.unwrap_or_else(|| if id == 0 { NameId::NONE } else { trace.names.intern(&format!("string#{id}")) })
    }
}
