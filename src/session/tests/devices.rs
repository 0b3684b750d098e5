//! Devices that are asked while a program of this machine runs on them, and only then.

use crate::parse::native::writer::{FileInfo, NativeWriter};
use crate::session::engine::Engine;
use crate::session::sampler::{Address, Gauge, Reading, Sampler};
use crate::session::view::{Body, Phase, View, ViewRequest};
use crate::symbols::Symbols;
use crate::trace::activity::Device;
use std::path::Path;
use std::time::{Duration, Instant};
use umtui_wire::header::{STATE_ENDED, STATE_RECORDING};

struct StandIn;

impl Gauge for StandIn {
    fn read(&mut self, device: &Address) -> Option<Reading> {
        (device.pci == (0, 7, 1)).then(|| Reading { busy: Some(42), ..Reading::default() })
    }
}

/// This very process, on one device.
fn this_process() -> FileInfo {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let start_time = stat.rsplit_once(')').unwrap().1.split_whitespace().nth(19).unwrap().parse().unwrap();
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap().trim().replace('-', "");
    let boot_id = std::array::from_fn(|at| u8::from_str_radix(&boot[2 * at..2 * at + 2], 16).unwrap());
    FileInfo { pid: std::process::id(), start_time, boot_id, state: STATE_RECORDING, ..FileInfo::default() }
}

fn write_file(path: &Path, info: FileInfo) {
    let mut writer = NativeWriter::new(std::fs::File::create(path).unwrap(), info, 65536);
    let name = writer.string(b"NVIDIA H200").unwrap();
    let device = Device { memory_bytes: 141 << 30, uuid: [5, 6], pci: (0, 7, 1), ..Device::default() };
    writer.device(0, name, &device).unwrap();
    writer.finish(false).unwrap();
}

/// The device's line once it holds `wanted`, or after half a second, and how the trace stands.
fn line(info: FileInfo, asks: bool, wanted: &str) -> (String, Phase) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.umt");
    write_file(&path, info);
    let mut engine = Engine::new(&[path], None, Symbols::default()).unwrap();
    engine.sampler = asks.then(|| Sampler::new(|| Some(Box::new(StandIn))));
    let limit = Instant::now() + if wanted.is_empty() { Duration::from_millis(500) } else { Duration::from_secs(20) };
    loop {
        engine.step(Instant::now() + Duration::from_millis(4));
        let request = ViewRequest {
            id: 1,
            view: View::Overview { rows: 24, columns: 80 },
            search: None,
            lens: Default::default(),
        };
        let (answer, _) = engine.answer(&request, Instant::now() + Duration::from_secs(1));
        let Body::Overview(overview) = answer.body else { panic!() };
        let line = overview.devices.first().map(|(_, text)| text.clone()).unwrap_or_default();
        if !wanted.is_empty() && line.contains(wanted) || Instant::now() > limit {
            return (line, answer.status.phase);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn devices_are_asked_while_a_program_of_this_machine_runs() {
    let (text, phase) = line(this_process(), true, "busy");
    assert_eq!((text.as_str(), phase), ("NVIDIA H200   141 GiB   42 % busy", Phase::Live));
}

#[test]
fn nobody_is_asked_of_what_has_ended_or_runs_elsewhere_or_for_a_report() {
    let known = "NVIDIA H200   141 GiB";
    assert_eq!(line(this_process(), false, ""), (known.to_owned(), Phase::Live));
    let ended = FileInfo { state: STATE_ENDED, ..this_process() };
    assert_eq!(line(ended, true, ""), (known.to_owned(), Phase::Ended));
    let elsewhere = FileInfo { boot_id: [9; 16], host: "another".to_owned(), ..this_process() };
    assert_eq!(line(elsewhere, true, "").0, known);
}
