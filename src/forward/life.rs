//! Whether a process whose file we follow may still write to it.

use std::sync::OnceLock;
use umtui_wire::header::FileHeader;

/// Whether a process of this machine still runs; `None` for one of another machine or another boot, of which nothing
/// can be known here.
pub fn runs(header: &FileHeader) -> Option<bool> {
    if boot_id() != Some(header.boot_id) {
        return None;
    }
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", header.pid)).unwrap_or_default();
    // The name between the parentheses may hold anything. A zombie has ended; only its parent has not looked.
    let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let mut fields = fields.split_whitespace();
    let dead = matches!(fields.next(), None | Some("Z" | "X"));
    let start_time = fields.nth(18).and_then(|field| field.parse::<u64>().ok());
    Some(!dead && start_time == Some(header.start_time))
}

fn boot_id() -> Option<[u8; 16]> {
    static ID: OnceLock<Option<[u8; 16]>> = OnceLock::new();
    *ID.get_or_init(|| {
        let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        let digits: String = text.chars().filter(char::is_ascii_hexdigit).collect();
        u128::from_str_radix(&digits, 16).ok().map(u128::to_be_bytes)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use zerocopy::FromZeros;

    #[test]
    fn this_process_runs_and_its_namesakes_do_not_count() {
        let mut header = FileHeader::new_zeroed();
        assert_eq!(runs(&header), None);
        header.boot_id = boot_id().unwrap();
        header.pid = std::process::id();
        assert_eq!(runs(&header), Some(false));
        let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
        let fields = stat.rsplit_once(')').unwrap().1;
        header.start_time = fields.split_whitespace().nth(19).unwrap().parse().unwrap();
        assert_eq!(runs(&header), Some(true));
    }
}
