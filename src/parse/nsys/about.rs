//! What an export says of itself: version, beginning, what was lost, devices.

use super::database::Database;
use super::import::Importer;
use super::rows::{CudaDevice, Diagnostic, Export, Gpu, SessionStart};
use crate::trace::activity::Device;
use rustc_hash::FxHashMap;
use std::io;

/// What the recorder has to say that is shown; the rest is counted.
const TOLD: usize = 8;
/// Words of a line that says that something is missing.
const MISSING: &[&str] = &["lost", "drop", "missing", "overflow", "incomplete", "not collected", "were not recorded"];
/// Words of a line that says why something may be.
const WARNING: &[&str] = &["not supported", "unsupported", "failed", "unable", "cannot", "disabled"];

/// Reads it.
pub(super) fn read(importer: &mut Importer<'_>) -> io::Result<()> {
    version(importer)?;
    importer.read(|importer, row: &SessionStart, _| {
        if let Some(ns) = row.utc_ns {
            importer.target.wall_clock(i128::from(ns));
        }
        Ok(())
    })?;
    let mut told = (0, 0);
    let mut lines: Vec<(bool, String)> = Vec::new();
    importer.database.each::<Diagnostic>(|row| {
        let text: String = row.text.unwrap_or_default().chars().take(300).collect();
        let lower = text.to_lowercase();
        let missing = MISSING.iter().any(|word| lower.contains(word));
        if missing || WARNING.iter().any(|word| lower.contains(word)) {
            told.0 += 1;
            if lines.len() < TOLD {
                lines.push((missing, text.split_whitespace().collect::<Vec<_>>().join(" ")));
            }
        }
        told.1 += 1;
        told.1 < 100_000
    });
    if told.0 > lines.len() {
        importer.target.note(format!("Nsight Systems warns of {} more things", told.0 - lines.len()));
    }
    for (missing, line) in lines {
        if missing {
            importer.lost(format!("Nsight Systems says: {line}"));
        } else {
            importer.target.note(format!("Nsight Systems says: {line}"));
        }
    }
    Ok(())
}

fn version(importer: &mut Importer<'_>) -> io::Result<()> {
    let mut about: FxHashMap<String, String> = FxHashMap::default();
    importer.database.each::<Export>(|row| {
        if let (Some(name), Some(value)) = (row.name, row.value)
            && about.len() < 1000
        {
            about.insert(name, value.chars().take(40).collect());
        }
        true
    });
    let schema = about.get("EXPORT_SCHEMA_VERSION").cloned();
    let product = about.get("EXPORT_PRODUCT_VERSION").map(|text| format!(", by Nsight Systems {text}"));
    if let Some(schema) = schema {
        importer.target.note(format!("export of schema {schema}{}", product.unwrap_or_default()));
        let major: Option<u32> = schema.split('.').next().and_then(|major| major.parse().ok());
        if major.is_some_and(|major| major != 3) {
            importer
                .target
                .note("schemas 3.0 to 3.28 are known; what is called otherwise in this one is missing".to_owned());
        }
    }
    Ok(())
}

impl Importer<'_> {
    /// Tells each process which devices there are.
    pub(super) fn devices(&mut self) {
        let mut gpus: Vec<Gpu> = Vec::new();
        self.database.each::<Gpu>(|row| {
            gpus.push(row);
            gpus.len() < 1024
        });
        let mut numbers: Vec<CudaDevice> = Vec::new();
        self.database.each::<CudaDevice>(|row| {
            numbers.push(row);
            numbers.len() < 100_000
        });
        let processes: Vec<_> = self.processes().collect();
        for (pid, process) in processes {
            for gpu in &gpus {
                let called = numbers.iter().find(|one| {
                    one.gpu == gpu.id
                        && one.gpu.is_some()
                        && one.pid.is_none_or(|of| of & 0xff_ffff == pid || of >> 24 & 0xff_ffff == pid)
                });
                let number = called.and_then(|one| one.device).or(gpu.device).or(gpu.id);
                let Some(number) = number.and_then(|number| u16::try_from(number).ok()) else { continue };
                let multiprocessors = gpu.multiprocessors.or(called.and_then(|one| one.multiprocessors));
                let uuid = gpu.uuid.as_deref().or(called.and_then(|one| one.uuid.as_deref()));
                let device = Device {
                    memory_bytes: gpu.memory.and_then(|bytes| u64::try_from(bytes).ok()).unwrap_or(0),
                    capability: (small(gpu.major), small(gpu.minor)),
                    multiprocessors: small(multiprocessors),
                    pci: gpu.bus.as_deref().and_then(pci).unwrap_or_default(),
                    uuid: uuid.and_then(of_uuid).unwrap_or_default(),
                    ..Device::default()
                };
                self.target.device(process, number, gpu.name.as_deref().unwrap_or_default(), &device);
            }
        }
    }
}

fn small(number: Option<i64>) -> u32 {
    number.and_then(|number| u32::try_from(number).ok()).unwrap_or(0)
}

/// `0000:3b:00.0`: domain, bus, device.
fn pci(text: &str) -> Option<(u32, u32, u32)> {
    let mut parts = text.split([':', '.']).map(|part| u32::from_str_radix(part, 16));
    Some((parts.next()?.ok()?, parts.next()?.ok()?, parts.next()?.ok()?))
}

/// `GPU-` and 32 digits, with dashes among them.
fn of_uuid(text: &str) -> Option<[u64; 2]> {
    let digits: String = text.strip_prefix("GPU-").unwrap_or(text).chars().filter(|&digit| digit != '-').collect();
    let half = |range: std::ops::Range<usize>| {
        let bytes = u64::from_str_radix(digits.get(range)?, 16).ok()?;
        Some(bytes.swap_bytes())
    };
    if digits.len() != 32 {
        return None;
    }
    Some([half(0..16)?, half(16..32)?])
}

impl Database {
    /// About how many rows a table has: the number of its last one, which costs nothing.
    #[must_use]
    pub fn about_rows(&self, table: &str) -> u64 {
        self.last_row(table).and_then(|rows| u64::try_from(rows).ok()).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_and_identities() {
        assert_eq!(pci("0000:3b:00.0"), Some((0, 0x3b, 0)));
        assert_eq!(pci("?"), None);
        assert_eq!(
            of_uuid("GPU-00010203-0405-0607-0809-0a0b0c0d0e0f").map(|uuid| uuid[0].to_le_bytes()),
            Some([0, 1, 2, 3, 4, 5, 6, 7])
        );
        assert_eq!(of_uuid("é"), None);
    }
}
