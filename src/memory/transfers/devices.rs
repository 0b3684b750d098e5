//! The devices of a trace, each once: several processes may use the same one and number it differently.

use rustc_hash::FxHashMap;

use crate::trace::{NameId, ProcessId, Trace};

/// A device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Device {
    /// Name of the machine.
    pub host: NameId,
    /// Its number in the first process that used it.
    pub number: u16,
    /// Its name; [`NameId::NONE`] if nothing described it.
    pub name: NameId,
    /// Its UUID, or zeros.
    pub uuid: [u64; 2],
    /// Domain, bus and device of PCI, or zeros.
    pub pci: (u32, u32, u32),
}

/// All of them.
#[derive(Debug, Default)]
pub struct Devices {
    list: Vec<Device>,
    by_process: FxHashMap<(ProcessId, u8), u16>,
}

impl Devices {
    /// Those that processes have described, in order of machines and numbers.
    #[must_use]
    pub fn of(trace: &Trace) -> Self {
        let mut devices = Self::default();
        let processes = (0..u16::MAX).map(ProcessId).take(trace.processes.len());
        let described = processes.filter_map(|process| Some((process, trace.activities.of(process)?)));
        for (process, number) in
            described.flat_map(|(process, of)| of.devices.keys().map(move |&number| (process, number)))
        {
            if let Ok(ordinal) = u8::try_from(number) {
                devices.index(trace, process, ordinal);
            }
        }
        devices
    }

    /// All of them.
    #[must_use]
    pub fn all(&self) -> &[Device] {
        &self.list
    }

    /// A process's device by its number there, which is added if it is new. `None`: there are too many.
    pub fn index(&mut self, trace: &Trace, process: ProcessId, ordinal: u8) -> Option<u16> {
        if let Some(&known) = self.by_process.get(&(process, ordinal)) {
            return Some(known);
        }
        let number = u16::from(ordinal);
        let described = trace.activities.of(process).and_then(|of| of.devices.get(&number));
        let device = Device {
            host: trace.process(process).map_or(NameId::NONE, |process| process.host),
            number,
            name: described.map_or(NameId::NONE, |device| device.name),
            uuid: described.map_or([0; 2], |device| device.uuid),
            pci: described.map_or((0, 0, 0), |device| device.pci),
        };
        // One that nothing tells apart is the same if its number is.
        let same = |known: &Device| match device.uuid == [0; 2] && device.pci == (0, 0, 0) {
            true => known.number == number,
            false => (known.uuid, known.pci) == (device.uuid, device.pci),
        };
        let found = self.list.iter().position(|known| known.host == device.host && same(known));
        let index = u16::try_from(found.unwrap_or(self.list.len())).ok()?;
        if found.is_none() {
            self.list.push(device);
        }
        self.by_process.insert((process, ordinal), index);
        Some(index)
    }

    /// A process's device by its number there, if it is known.
    #[must_use]
    pub fn find(&self, process: ProcessId, ordinal: u8) -> Option<u16> {
        self.by_process.get(&(process, ordinal)).copied()
    }
}
