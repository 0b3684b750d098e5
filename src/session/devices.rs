//! Devices, for the overview: what each is, how it fares just now, and what the program was told of its memory.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::events::read;
use super::model::Model;
use super::safe::safe;
use super::sampler::{Address, Kept, Reading, UsedAt};
use crate::trace::activity::Device;
use crate::trace::semantics::base_name;
use crate::trace::value::{Value, size};
use crate::trace::{ApiId, Bytes, NameId, ProcessId, Trace};

/// Rows of a thread that are looked at for what a program was told last.
const LOOK: usize = 1 << 16;

/// One device, however many processes of a host use it. Processes may number the same devices differently.
type Key = (NameId, u16, [u64; 2], (u32, u32, u32));

impl Model {
    /// Devices: what each is called, and what is known of it. One that several processes of a host use is there once.
    pub(super) fn devices(&self, readings: &[(Address, Reading)]) -> Vec<(String, String)> {
        let devices = devices(&self.trace, |_| true);
        let told = if readings.is_empty() { BTreeMap::new() } else { told(&self.trace, &self.files) };
        let text = |(key, device): (&Key, &&Device)| {
            let reading = readings.iter().find(|(of, _)| *of == address(device)).map(|(_, reading)| reading);
            let name = safe(self.trace.names.get(device.name));
            let rest = match reading {
                None => size(device.memory_bytes),
                Some(reading) => words(reading, device.memory_bytes, told.get(key).copied()),
            };
            (format!("GPU {}", key.1), format!("{name}   {rest}"))
        };
        devices.iter().map(text).collect()
    }

    /// What was read over time of devices of the trace, by their numbers.
    pub(super) fn readings_of<'a>(&self, kept: &'a Kept) -> Vec<(u8, &'a [UsedAt])> {
        let devices = devices(&self.trace, |_| true);
        let number = |of: &Address| devices.iter().find(|(_, device)| address(device) == *of).map(|(key, _)| key.1);
        kept.all().filter_map(|(of, points)| Some((u8::try_from(number(of)?).ok()?, points))).collect()
    }

    /// Where the devices of these processes are found in their machine.
    pub(super) fn addresses(&self, of: impl Fn(ProcessId) -> bool) -> Vec<Address> {
        let mut addresses: Vec<Address> = devices(&self.trace, of).values().map(|device| address(device)).collect();
        addresses.dedup();
        addresses
    }
}

fn devices(trace: &Trace, of: impl Fn(ProcessId) -> bool) -> BTreeMap<Key, &Device> {
    let mut devices = BTreeMap::new();
    for id in (0..u16::MAX).map(ProcessId).take(trace.processes.len()).filter(|id| of(*id)) {
        let (Some(process), Some(activities)) = (trace.process(id), trace.activities.of(id)) else { continue };
        for (&number, device) in &activities.devices {
            devices.entry(key(process.host, number, device)).or_insert(device);
        }
    }
    devices
}

const fn key(host: NameId, number: u16, device: &Device) -> Key {
    (host, number, device.uuid, device.pci)
}

const fn address(device: &Device) -> Address {
    Address { uuid: device.uuid, pci: device.pci }
}

/// A reading as text; `told` is what the program was told: free, and all there is, bytes.
fn words(reading: &Reading, memory_bytes: u64, told: Option<(u64, u64)>) -> String {
    let mut parts = Vec::new();
    parts.push(match reading.memory {
        Some((used, total)) => format!("used {}", part(used, total)),
        None => size(memory_bytes),
    });
    let clock = reading.sm_mhz.map(|mhz| format!("{mhz} MHz"));
    let busy = reading.busy.map(|percent| format!("{percent} % busy"));
    let now: Vec<String> = busy.into_iter().chain(clock).collect();
    if !now.is_empty() {
        parts.push(now.join(", "));
    }
    if !reading.slowed.is_empty() {
        parts.push(format!("slowed by {}", reading.slowed.join(", ")));
    }
    if let Some((free, total)) = told {
        parts.push(format!("program was told: free {}", part(free, total)));
    }
    parts.join("   ")
}

/// A part of a whole in the unit of the whole, `12.4 of 139.8 GiB`.
fn part(part: u64, whole: u64) -> String {
    let whole = size(whole);
    let (number, unit) = whole.split_once(' ').unwrap_or((&whole, ""));
    let shift = match unit {
        "KiB" => 10,
        "MiB" => 20,
        "GiB" => 30,
        "TiB" => 40,
        _ => return format!("{} of {whole}", size(part)),
    };
    let tenths = (u128::from(part) * 10) >> shift;
    format!("{}.{} of {number} {unit}", tenths / 10, tenths % 10)
}

/// What `cudaMemGetInfo` and its like answered last, device by device: free, and all there is, bytes.
fn told(trace: &Trace, files: &[Option<Arc<dyn Bytes>>]) -> BTreeMap<Key, (u64, u64)> {
    let ask = |api: ApiId| {
        trace.api(api).filter(|api| matches!(base_name(trace.names.get(api.name)), "cudaMemGetInfo" | "cuMemGetInfo"))
    };
    let asking: Vec<ApiId> =
        (0..=u16::MAX).take(trace.apis.len()).map(ApiId).filter(|&api| ask(api).is_some()).collect();
    let mut newest = BTreeMap::new();
    for track in &trace.tracks {
        let (Some(process), Some(of)) = (trace.process(track.process), trace.activities.of(track.process)) else {
            continue;
        };
        let mut looked_at = 0;
        for chunk in track.chunks().rev() {
            if looked_at >= LOOK {
                break;
            }
            if !asking.iter().any(|&api| chunk.summary().has_api(api)) {
                continue;
            }
            looked_at += chunk.len();
            for inner in (0..chunk.len()).rev() {
                let Some(call) = chunk.call(inner).filter(|call| !call.flags.failed() && asking.contains(&call.api))
                else {
                    continue;
                };
                let number = u16::from(call.device);
                let Some(device) = of.devices.get(&number) else { continue };
                let found = (call.start_ns, track, chunk.first_row() + inner, call.api);
                let place = newest.entry(key(process.host, number, device)).or_insert(found);
                if place.0 < found.0 {
                    *place = found;
                }
            }
        }
    }
    let answer = |(key, (_, track, row, api)): (Key, (u64, &crate::trace::Track, usize, ApiId))| {
        let raw = read(files, track, row)?;
        let api = trace.api(api)?;
        let number = |role| match raw.argument(api, role) {
            Some(Value::Number(bytes)) => Some(bytes),
            _ => None,
        };
        Some((key, (number("free")?, number("total")?)))
    };
    newest.into_iter().filter_map(answer).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::NativeReader;
    use crate::parse::native::writer::{CallRecord, FileInfo, NativeWriter};
    use umtui_wire::table::Layer;

    const GIB: u64 = 1 << 30;

    /// A process on two devices that asked for the memory of the first one twice.
    fn model() -> Model {
        let mut writer = NativeWriter::new(std::io::Cursor::new(Vec::new()), FileInfo::default(), 65536);
        let name = writer.string(b"NVIDIA\x1b[2J H200").unwrap();
        for number in 0..2 {
            let device = Device {
                memory_bytes: 141 * GIB,
                uuid: [7, u64::from(number)],
                pci: (0, 7, u32::from(number)),
                ..Device::default()
            };
            writer.device(number, name, &device).unwrap();
        }
        let api = writer.api(Layer::Runtime, "cudaMemGetInfo(free:*size@32 total:*size@40)").unwrap();
        let other = writer.api(Layer::Runtime, "cudaFree(ptr:ptr@32)").unwrap();
        for (start, free, status) in [(10, 100 * GIB, 0), (20, 90 * GIB, 0), (30, 0, 2)] {
            let arguments = [[0; 4].as_slice(), &u64::to_le_bytes(free), &u64::to_le_bytes(139 * GIB)].concat();
            let call = CallRecord { api, start, duration: 5, status, arguments, ..CallRecord::default() };
            writer.call(1, &call).unwrap();
            writer.call(1, &CallRecord { api: other, start: start + 6, ..CallRecord::default() }).unwrap();
        }
        let image = writer.finish(true).unwrap().into_inner();
        let bytes: Arc<dyn Bytes> = Arc::new(image);
        let mut model = Model::default();
        let mut reader = NativeReader::open(bytes.clone(), "a.umt", &mut model.trace).unwrap();
        while reader.poll(&mut model.trace, 1000).unwrap().more {}
        model.update();
        model.files = vec![Some(reader.bytes().clone())];
        model
    }

    #[test]
    fn without_a_reading_there_is_the_name_and_the_memory() {
        let expected = |number| (format!("GPU {number}"), "NVIDIA\\x1b[2J H200   141 GiB".to_owned());
        assert_eq!(model().devices(&[]), [expected(0), expected(1)]);
    }

    #[test]
    fn a_reading_is_of_its_device_and_beside_it_stands_what_the_program_was_told() {
        let model = model();
        let addresses = model.addresses(|_| true);
        assert_eq!(addresses.len(), 2);
        assert!(model.addresses(|_| false).is_empty());
        let reading = Reading {
            busy: Some(87),
            sm_mhz: Some(1980),
            memory: Some((12 * GIB + GIB / 2, 139 * GIB + GIB * 8 / 10 + 1)),
            slowed: vec!["power cap", "heat"],
        };
        let lines = model.devices(&[(addresses[0], reading)]);
        assert_eq!(
            lines[0].1,
            "NVIDIA\\x1b[2J H200   used 12.5 of 139.8 GiB   87 % busy, 1980 MHz   slowed by power cap, heat   program was \
             told: free 90.0 of 139 GiB"
        );
        assert_eq!(lines[1].1, "NVIDIA\\x1b[2J H200   141 GiB");
    }

    #[test]
    fn what_a_device_does_not_tell_is_left_out() {
        assert_eq!(words(&Reading::default(), 80 * GIB, None), "80 GiB");
        let idle = Reading { busy: Some(0), memory: Some((0, 512 << 20)), ..Reading::default() };
        assert_eq!(words(&idle, 0, None), "used 0.0 of 512 MiB   0 % busy");
        assert_eq!(part(u64::MAX, u64::MAX), "15.9 EiB of 15.9 EiB");
        assert_eq!(part(1 << 50, 1 << 40), "1024.0 of 1 TiB");
    }
}
