//! How the devices of a trace are connected, where this machine is theirs and its NVML tells.

use super::alive::Boot;
use super::nvml;
use super::sampler::Address;
use crate::trace::{NameId, Trace};

/// Devices beyond these are not asked about.
const MOST: usize = 16;

/// The kind of connection between devices, by pairs of numbers in the list: `NVLink`, or which way PCIe goes. Each is given with
/// the name of its machine. Nothing if the trace was made elsewhere, or before this machine was started. May take as long as
/// the driver needs to wake up.
#[must_use]
pub fn connections(trace: &Trace, devices: &[(NameId, Address)]) -> Vec<(usize, usize, &'static str)> {
    ask(&here(trace, devices))
}

/// Those of the devices that are this machine's, by their numbers in the list.
pub(super) fn here(trace: &Trace, devices: &[(NameId, Address)]) -> Vec<(usize, Address)> {
    let boot = Boot::current();
    let here: Vec<NameId> = trace.processes.iter().filter(|one| boot.is_of(one)).map(|process| process.host).collect();
    let known = |address: &Address| *address != Address::default();
    let of_here = devices.iter().enumerate().filter(|(_, (host, address))| here.contains(host) && known(address));
    of_here.map(|(index, (_, address))| (index, *address)).take(MOST).collect()
}

/// Asks about the connections between devices of this machine. May take as long as the driver needs to wake up.
pub(super) fn ask(ours: &[(usize, Address)]) -> Vec<(usize, usize, &'static str)> {
    if ours.len() < 2 {
        return Vec::new();
    }
    let Some(links) = nvml::links() else { return Vec::new() };
    let pairs = ours.iter().flat_map(|one| ours.iter().map(move |other| (one, other)));
    let different = pairs.filter(|(one, other)| one.0 != other.0);
    different.filter_map(|(one, other)| Some((one.0, other.0, links.between(&one.1, &other.1)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::Process;

    #[test]
    fn devices_of_another_machine_are_not_asked_about() {
        let mut trace = Trace::default();
        trace.processes.push(Process { boot_id: [7; 16], ..Process::default() });
        let device = |bus| (NameId::NONE, Address { uuid: [0; 2], pci: (0, bus, 0) });
        assert_eq!(connections(&trace, &[device(1), device(2)]), []);
    }
}
