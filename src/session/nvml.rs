//! The driver's own gauge: NVML, found when it is asked for.

use nvml_wrapper::Device;
use nvml_wrapper::Nvml;
use nvml_wrapper::bitmasks::device::ThrottleReasons;
use nvml_wrapper::enum_wrappers::device::{Clock, P2pCapabilitiesIndex, P2pStatus, TopologyLevel};

use super::sampler::{Address, Gauge, Reading};

/// NVML of this machine; `None` if it has none, or no device.
#[must_use]
pub fn open() -> Option<Box<dyn Gauge>> {
    Nvml::init().ok().map(|nvml| Box::new(Driver(nvml)) as Box<dyn Gauge>)
}

/// Who tells how devices are connected; `None` as above.
#[must_use]
pub fn links() -> Option<Links> {
    Nvml::init().ok().map(Links)
}

/// Tells how devices are connected.
pub struct Links(Nvml);

impl Links {
    /// Between two devices; `None`: it is not told.
    #[must_use]
    pub fn between(&self, one: &Address, other: &Address) -> Option<&'static str> {
        let (one, other) = (find(&self.0, one)?, find(&self.0, other)?);
        if matches!(one.p2p_status(&other, P2pCapabilitiesIndex::NvLink), Ok(P2pStatus::Ok)) {
            return Some("NVLink");
        }
        Some(match one.topology_common_ancestor(other).ok()? {
            TopologyLevel::Internal => "PCIe on one board",
            TopologyLevel::Single => "PCIe by a switch",
            TopologyLevel::Multiple => "PCIe by switches",
            TopologyLevel::HostBridge => "PCIe by a host bridge",
            TopologyLevel::Node => "PCIe by the CPU",
            TopologyLevel::System => "PCIe and between CPUs",
        })
    }
}

/// A device by its address.
fn find<'a>(nvml: &'a Nvml, address: &Address) -> Option<Device<'a>> {
    // A part of a device (MIG) has a UUID of its own, and the whole one's place. It must not be taken for the whole.
    if address.uuid == [0; 2] {
        return nvml.device_by_pci_bus_id(pci(address)).ok();
    }
    let by_uuid = |prefix| nvml.device_by_uuid(uuid(prefix, address.uuid)).ok();
    by_uuid("GPU").or_else(|| by_uuid("MIG"))
}

struct Driver(Nvml);

impl Gauge for Driver {
    fn read(&mut self, address: &Address) -> Option<Reading> {
        let device = find(&self.0, address)?;
        let memory = device.memory_info().ok();
        let slowed = device.current_throttle_reasons().map(words).unwrap_or_default();
        Some(Reading {
            busy: device.utilization_rates().ok().map(|rates| rates.gpu),
            sm_mhz: device.clock_info(Clock::SM).ok(),
            memory: memory.map(|memory| (memory.used, memory.total)),
            slowed,
        })
    }
}

/// As NVML writes it: `00000000:07:00.0`.
fn pci(address: &Address) -> String {
    let (domain, bus, device) = address.pci;
    format!("{domain:08x}:{bus:02x}:{device:02x}.0")
}

/// As NVML writes it: `GPU-00112233-4455-6677-8899-aabbccddeeff`.
fn uuid(prefix: &str, uuid: [u64; 2]) -> String {
    // Its bytes are in the order in which they are written.
    let [first, second] = uuid.map(u64::swap_bytes);
    format!(
        "{prefix}-{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        first >> 32,
        first >> 16 & 0xffff,
        first & 0xffff,
        second >> 48,
        second & 0xffff_ffff_ffff
    )
}

/// What keeps clocks down. That nothing runs is no reason that anybody asks for.
fn words(reasons: ThrottleReasons) -> Vec<&'static str> {
    const WORDS: [(ThrottleReasons, &str); 6] = [
        (ThrottleReasons::SW_POWER_CAP, "power cap"),
        (ThrottleReasons::SW_THERMAL_SLOWDOWN.union(ThrottleReasons::HW_THERMAL_SLOWDOWN), "heat"),
        (ThrottleReasons::HW_POWER_BRAKE_SLOWDOWN, "power brake"),
        (ThrottleReasons::APPLICATIONS_CLOCKS_SETTING, "a setting of clocks"),
        (ThrottleReasons::DISPLAY_CLOCK_SETTING, "a setting of clocks"),
        (ThrottleReasons::SYNC_BOOST, "the slowest GPU of its group"),
    ];
    let mut words: Vec<&str> =
        WORDS.into_iter().filter(|(bits, _)| reasons.intersects(*bits)).map(|(_, word)| word).collect();
    words.dedup();
    // It goes with heat or the power brake; without them its reason is not told.
    if words.is_empty() && reasons.contains(ThrottleReasons::HW_SLOWDOWN) {
        words.push("the hardware");
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_written_as_nvml_writes_them() {
        let bytes: Vec<u8> = (0..16).map(|at| at * 0x11).collect();
        let half = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
        assert_eq!(uuid("GPU", [half(0), half(8)]), "GPU-00112233-4455-6677-8899-aabbccddeeff");
        let address = Address { pci: (1, 0xc7, 2), ..Address::default() };
        assert_eq!(pci(&address), "00000001:c7:02.0");
    }

    #[test]
    fn reasons_are_words() {
        assert!(words(ThrottleReasons::GPU_IDLE).is_empty() && words(ThrottleReasons::NONE).is_empty());
        assert_eq!(words(ThrottleReasons::SW_POWER_CAP | ThrottleReasons::HW_THERMAL_SLOWDOWN), ["power cap", "heat"]);
        assert_eq!(words(ThrottleReasons::HW_SLOWDOWN | ThrottleReasons::HW_THERMAL_SLOWDOWN), ["heat"]);
        assert_eq!(words(ThrottleReasons::HW_SLOWDOWN), ["the hardware"]);
        let both = ThrottleReasons::APPLICATIONS_CLOCKS_SETTING | ThrottleReasons::DISPLAY_CLOCK_SETTING;
        assert_eq!(words(both), ["a setting of clocks"]);
    }

    #[test]
    fn a_machine_without_it_has_none() {
        // Where there is one, a device that is not there tells nothing.
        if let Some(mut gauge) = open() {
            assert_eq!(gauge.read(&Address { uuid: [0x1234, 0x5678], pci: (0xfff, 0xff, 0x1f) }), None);
        }
    }
}
