//! What reports and screens are told of devices and links.

use clap::Args;

use crate::report::{DeviceMap, LinkOptions};

/// Options about devices and the links between them.
#[derive(Args, Clone, Debug, Default)]
pub struct Links {
    /// Show these devices only, in this order, by their numbers in the report: 0:1:2
    #[arg(long, value_name = "N:N:...", value_parser = device_map)]
    pub device_map: Option<DeviceMap>,
    /// What the link between the host and a device can carry in one direction, such as 25GB/s: its use is then told as a
    /// share of that
    #[arg(long, value_name = "RATE", value_parser = bandwidth)]
    pub pcie_bandwidth: Option<u64>,
    /// Mark copies and mappings from one device to another, one by one
    #[arg(long)]
    pub p2p_markers: bool,
}

impl Links {
    /// For those that show them.
    #[must_use]
    pub fn options(&self) -> LinkOptions {
        LinkOptions { map: self.device_map.unwrap_or_default(), limit: self.pcie_bandwidth, markers: self.p2p_markers }
    }
}

/// `0:1:2`.
fn device_map(text: &str) -> Result<DeviceMap, String> {
    let mut map = Vec::new();
    for word in text.split(':') {
        let number = word.parse().map_err(|_| "numbers of devices with colons between, such as 0:1:2".to_owned())?;
        if map.contains(&number) {
            return Err(format!("device {number} is there twice"));
        }
        map.push(number);
    }
    DeviceMap::of(&map).ok_or_else(|| "so many devices cannot be chosen".to_owned())
}

/// `25GB/s`, `31.5 GB/s`, `24GiB/s`: bytes a second.
fn bandwidth(text: &str) -> Result<u64, String> {
    let wrong = || "a rate such as 25GB/s; units are kB, MB, GB, TB and KiB, MiB, GiB, TiB a second".to_owned();
    let rest = text.trim().strip_suffix("/s").ok_or_else(wrong)?.trim_end();
    let digits = rest.trim_end_matches(|char: char| char.is_ascii_alphabetic());
    let unit: u64 = match rest.get(digits.len()..).unwrap_or_default() {
        "B" => 1,
        "kB" | "KB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        "TB" => 1_000_000_000_000,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        "TiB" => 1 << 40,
        _ => return Err(wrong()),
    };
    let (whole, part) = digits.trim_end().split_once('.').unwrap_or((digits.trim_end(), "0"));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number(whole) || !is_number(part) || part.len() > 6 {
        return Err(wrong());
    }
    let (whole, thousandths): (u128, u128) = (whole.parse().map_err(|_| wrong())?, part.parse().map_err(|_| wrong())?);
    let scale = 10u128.pow(part.len() as u32);
    let rate = whole.checked_mul(u128::from(unit)).map(|rate| rate + thousandths * u128::from(unit) / scale);
    rate.and_then(|rate| u64::try_from(rate).ok()).filter(|&rate| rate > 0).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates() {
        assert_eq!(bandwidth("25GB/s"), Ok(25_000_000_000));
        assert_eq!(bandwidth("31.5 GB/s"), Ok(31_500_000_000));
        assert_eq!((bandwidth("1GiB/s"), bandwidth("7 B/s")), (Ok(1 << 30), Ok(7)));
        for wrong in [
            "25",
            "25GB",
            "GB/s",
            "-1GB/s",
            "1.GB/s",
            ".5GB/s",
            "0GB/s",
            "1e9B/s",
            "99999999999999999999TB/s",
            "\u{221e}GB/s",
        ] {
            assert!(bandwidth(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn maps() {
        assert_eq!(device_map("2:0:1").map(|map| map.all().to_vec()), Ok(vec![2, 0, 1]));
        let many: Vec<String> = (0..40).map(|device| device.to_string()).collect();
        for wrong in ["", "0:", "a", "0:0", "70000", "0,1", &many.join(":")] {
            assert!(device_map(wrong).is_err(), "{wrong}");
        }
    }
}
