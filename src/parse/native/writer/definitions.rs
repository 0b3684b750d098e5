//! What the records of a file refer to.

use std::io::{self, Seek, Write};
use umtui_wire::chunk::KIND_DEFINITIONS;
use umtui_wire::definition::{BUILD_ID_MAX, TEXT_MAX, extra_slots};
use umtui_wire::record::{Head, KIND_API, KIND_DEVICE, KIND_KERNEL, KIND_MODULE, KIND_STRING, SLOT_BYTES};
use umtui_wire::table::Layer;

use super::{ModuleRecord, NativeWriter, slots_of, too_long};
use crate::trace::activity::Device;

impl<W: Write + Seek> NativeWriter<W> {
    /// Id of a string, written at its first use; empty strings are 0 ("not recorded") only if `nothing` is meant by the
    /// caller: here they get an id like any other.
    ///
    /// # Errors
    /// When writing fails.
    pub fn string(&mut self, text: &[u8]) -> io::Result<u32> {
        if let Some(&known) = self.strings.get(text) {
            return Ok(known);
        }
        let id = self.next_string;
        self.next_string = self.next_string.saturating_add(1);
        let total = u32::try_from(text.len()).map_err(|_| too_long())?;
        let mut offset = 0;
        loop {
            let rest = text.get(offset..).unwrap_or(&[]);
            let piece = rest.get(..rest.len().min(TEXT_MAX)).unwrap_or(rest);
            let word = u64::from(total) | (offset as u64) << 32;
            self.define(Head { kind: KIND_STRING, extra: extra_slots(piece.len()), a: 0, b: id }, word, piece)?;
            offset += piece.len();
            if offset >= text.len() {
                break;
            }
        }
        self.strings.insert(text.to_vec(), id);
        Ok(id)
    }

    /// Gives strings ids from `first` on; to be called before the first one is written.
    pub const fn strings_from(&mut self, first: u32) {
        self.next_string = first;
    }

    /// Keeps an api id free: calls with it are of a function that is not defined.
    pub fn keep_free(&mut self, id: u16) {
        self.free_apis.insert(id);
    }

    /// Defines a function; its id. `signature` is as in a definition, with the name.
    ///
    /// # Errors
    /// When writing fails, or the signature is longer than a record can be.
    pub fn api(&mut self, layer: Layer, signature: &str) -> io::Result<u16> {
        while self.free_apis.contains(&self.next_api) {
            self.next_api = self.next_api.checked_add(1).ok_or_else(too_long)?;
        }
        let id = self.next_api;
        self.next_api = self.next_api.checked_add(1).ok_or_else(too_long)?;
        if signature.len() > TEXT_MAX {
            return Err(too_long());
        }
        let head = Head { kind: KIND_API, extra: extra_slots(signature.len()), a: id, b: layer as u32 };
        self.define(head, signature.len() as u64, signature.as_bytes())?;
        Ok(id)
    }

    /// Defines a module.
    ///
    /// # Errors
    /// When writing fails.
    pub fn module(&mut self, module: &ModuleRecord) -> io::Result<()> {
        let build_id = module.build_id.get(..module.build_id.len().min(BUILD_ID_MAX)).unwrap_or(&[]);
        let mut text = Vec::new();
        for word in [module.end, module.file_offset, module.ticks, 0, build_id.len() as u64] {
            text.extend_from_slice(&word.to_le_bytes());
        }
        text.extend_from_slice(build_id);
        let head = Head { kind: KIND_MODULE, extra: 1, a: 0, b: module.path };
        self.define(head, module.start, &text)
    }

    /// Defines a kernel.
    ///
    /// # Errors
    /// When writing fails.
    pub fn kernel(&mut self, handle: u64, name: u32, ticks: u64) -> io::Result<()> {
        self.define(Head { kind: KIND_KERNEL, extra: 0, a: 0, b: name }, handle, &ticks.to_le_bytes())
    }

    /// Defines a device.
    ///
    /// # Errors
    /// When writing fails.
    pub fn device(&mut self, ordinal: u16, name: u32, device: &Device) -> io::Result<()> {
        let two = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
        let (domain, bus, number) = device.pci;
        let words = [
            two(device.capability.0, device.capability.1),
            two(device.multiprocessors, domain),
            two(number, bus),
            device.bits,
            device.uuid[0],
            device.uuid[1],
        ];
        let text: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.define(Head { kind: KIND_DEVICE, extra: 1, a: ordinal, b: name }, device.memory_bytes, &text)
    }

    fn define(&mut self, head: Head, word: u64, text: &[u8]) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(SLOT_BYTES * (1 + usize::from(head.extra)));
        bytes.extend_from_slice(&head.word().to_le_bytes());
        bytes.extend_from_slice(&word.to_le_bytes());
        bytes.extend_from_slice(text);
        let slots = slots_of(&bytes, head.extra);
        let full = self.definitions.as_ref().is_some_and(|chunk| !chunk.fits(slots.len()));
        if full && let Some(chunk) = self.definitions.take() {
            self.put_chunk(chunk, true)?;
        }
        if self.definitions.is_none() {
            self.definitions = Some(self.open(KIND_DEFINITIONS, 0, self.newest));
        }
        if let Some(chunk) = &mut self.definitions {
            chunk.slots.extend(slots);
        }
        Ok(())
    }
}
