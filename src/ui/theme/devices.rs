//! Each device has a colour and a mark of its own, the same on every screen. There are six of each; a seventh device looks like the
//! first, but its number always stands beside it.

use super::Role;

const ROLES: [Role; 6] = [Role::Gpu0, Role::Gpu1, Role::Gpu2, Role::Gpu3, Role::Gpu4, Role::Gpu5];
/// In ASCII, so that they are a cell wide everywhere.
const MARKS: [&str; 6] = ["*", "+", "#", "%", "o", "x"];

/// How a device looks.
#[must_use]
pub fn role(device: u16) -> Role {
    ROLES.get(usize::from(device) % ROLES.len()).copied().unwrap_or(Role::Gpu)
}

/// Its mark, one cell wide.
#[must_use]
pub fn mark(device: u16) -> &'static str {
    MARKS.get(usize::from(device) % MARKS.len()).copied().unwrap_or("*")
}

/// The device that a label of ours names first: `GPU 1`, `device 1 on node7`.
#[must_use]
pub fn of_label(label: &str) -> Option<u16> {
    let rest = label.strip_prefix("GPU ").or_else(|| label.strip_prefix("device "))?;
    let digits = rest.split(|char: char| !char.is_ascii_digit()).next()?;
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::theme::{Depth, Palette};

    #[test]
    fn labels_name_devices() {
        let labels =
            ["GPU 1", "device 12 on node7", "GPU ", "device -1", "worker 3", "GPU 99999999", "no device known"];
        assert_eq!(labels.map(of_label), [Some(1), Some(12), None, None, None, None, None]);
    }

    #[test]
    fn six_devices_differ_and_the_first_looks_as_one_alone_always_did() {
        // Of sixteen colours some themes have fewer than six that can be read.
        let deep = ["dark", "light", "high-contrast"].map(|name| (name, Depth::TrueColor));
        for (name, depth) in deep.into_iter().chain([("terminal", Depth::Ansi16)]) {
            let palette = Palette::named(name).expect(name);
            let styles: Vec<_> = (0..6).map(|device| palette.style(role(device), depth)).collect();
            assert_eq!(styles.first(), Some(&palette.style(Role::Gpu, depth)));
            for (at, style) in styles.iter().enumerate() {
                assert!(!styles[..at].contains(style), "{name} {at}");
            }
        }
        let mut marks: Vec<_> = (0..6).map(mark).collect();
        marks.sort_unstable();
        marks.dedup();
        assert_eq!((marks.len(), mark(6), role(7)), (6, "*", role(1)));
    }
}
