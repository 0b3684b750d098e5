//! What a row is like, as a condition: a function, thread, stream, kernel, ... by the name that it is shown under.

use crate::filter::{Condition, Pattern, TextField};
use crate::session::view::{CallRow, EventGroup, EventRow, NodeKind};

fn text(field: TextField, pattern: &str) -> Condition {
    Condition::Text(field, Pattern::Glob(pattern.to_owned()))
}

/// Calls and work like those at a row of the calls; `None` if no filter can say it.
#[must_use]
pub fn call_row(row: &CallRow) -> Option<Condition> {
    let label = row.label.as_str();
    match row.kind {
        NodeKind::Runtime | NodeKind::Driver => Some(text(TextField::Api, label)),
        NodeKind::Kernel => Some(text(TextField::Kernel, label)),
        NodeKind::Site => Some(text(TextField::Site, label)),
        NodeKind::Thread => Some(thread(label)),
        NodeKind::Process => label.split(' ').next().map(|pid| text(TextField::Process, pid)),
        NodeKind::Stream => stream(label),
        NodeKind::Device => {
            let ordinal = label.strip_prefix("device ")?.split(' ').next()?;
            Some(text(TextField::Device, ordinal))
        }
        NodeKind::Range if label == "outside of ranges" => None,
        NodeKind::Range => Some(range(label)),
        NodeKind::Copy | NodeKind::Set | NodeKind::Graph | NodeKind::Migration | NodeKind::Fault => work(label),
    }
}

/// Events like this one.
#[must_use]
pub fn event(event: &EventRow) -> Option<Condition> {
    let name = event.name.as_str();
    let kind = |kind: &str| Some(text(TextField::Kind, kind));
    match event.group {
        EventGroup::Calls => Some(text(TextField::Api, name)),
        EventGroup::Kernels if name.starts_with("whole graph") => kind("graph"),
        EventGroup::Kernels => Some(text(TextField::Kernel, name)),
        EventGroup::Ranges => {
            Some(range(name.strip_prefix("range ").or_else(|| name.strip_prefix("mark ")).unwrap_or(name)))
        }
        EventGroup::Copies => work(name).or_else(|| kind("copy")),
        EventGroup::Migrations => work(name).or_else(|| kind("migration")),
        EventGroup::Faults => work(name).or_else(|| kind("fault")),
        EventGroup::Waits => kind("wait"),
        EventGroup::Allocations => kind("allocation"),
        EventGroup::Overheads => kind("overhead"),
    }
}

/// `main`, `thread 4125`, `worker 4125`.
fn thread(label: &str) -> Condition {
    let last = label.rsplit(' ').next().unwrap_or(label);
    let is_number = !last.is_empty() && last.bytes().all(|byte| byte.is_ascii_digit());
    text(TextField::Thread, if is_number { last } else { label })
}

/// `default stream`, `stream 0x55.. again 1, device 2`, `stream #7 of context #1`.
fn stream(label: &str) -> Option<Condition> {
    let (name, device) = label.split_once(", device ").map_or((label, None), |(name, device)| (name, Some(device)));
    let name = name.split(" again ").next().unwrap_or(name);
    let stream = match name {
        "no stream" | "other streams" | "further streams" => return None,
        name if name.starts_with("default stream") => text(TextField::Stream, "default"),
        name => text(TextField::Stream, name),
    };
    let device = device.map(|device| text(TextField::Device, device));
    Some(Condition::All(std::iter::once(stream).chain(device).collect()))
}

/// Its domain is shown in parentheses, but so may a part of the name be.
fn range(label: &str) -> Condition {
    let bare = label.rsplit_once(" (").filter(|_| label.ends_with(')')).map(|(name, _)| name);
    let names = std::iter::once(label).chain(bare);
    Condition::Any(names.map(|name| text(TextField::Range, name)).collect())
}

/// What the GPU or the driver did, by the words for it: `copy host > device, pageable`.
fn work(label: &str) -> Option<Condition> {
    let kind = |kind: &str| text(TextField::Kind, kind);
    let (what, why) = label.split_once(", ").unwrap_or((label, ""));
    let direction = |text: &str| match text {
        "host > device" => Some("h2d"),
        "device > host" => Some("d2h"),
        "host > array" => Some("h2a"),
        "array > host" => Some("a2h"),
        "array > array" => Some("a2a"),
        "array > device" => Some("a2d"),
        "device > array" => Some("d2a"),
        "within device" | "device > device" => Some("d2d"),
        "within host" => Some("h2h"),
        _ => None,
    };
    let mut all = Vec::new();
    if let Some(between) = what.strip_prefix("copy ") {
        all.push(kind("copy"));
        // What umtui calls a copy between devices is one between peers to the filter.
        all.extend((between == "device > device").then(|| kind("p2p")));
        all.extend(direction(between).filter(|_| between != "device > device").map(kind));
        all.extend((why == "pageable").then(|| kind("pageable")));
    } else if let Some(between) = what.strip_prefix("pages ").filter(|between| between.contains('>')) {
        all.push(kind("migration"));
        all.extend(direction(between).map(kind));
        let cause = match why {
            "asked" => Some("user"),
            "fault" => Some("coherence"),
            "ahead" => Some("prefetch"),
            "evicted" => Some("eviction"),
            "counters" => Some("access-counters"),
            _ => None,
        };
        all.extend(cause.map(|cause| text(TextField::Cause, cause)));
    } else {
        all.push(kind(match what {
            "CPU page faults" => "cpu-fault",
            "GPU page faults" => "gpu-fault",
            "pages wanted at several places" => "thrashing",
            "processor held back for pages" => "throttling",
            "pages mapped from afar" => "remote-map",
            _ if what.starts_with("set") || what.starts_with("memory set") => "set",
            _ if what.starts_with("graph") || what.starts_with("whole graph") => "graph",
            _ => return None,
        }));
    }
    Some(Condition::All(all))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::expression;

    fn said(condition: Option<Condition>) -> String {
        condition.map_or_else(String::new, |condition| expression::write(&condition.normal()))
    }

    #[test]
    fn names_become_questions() {
        let thread_of = |label| said(Some(thread(label)));
        assert_eq!(thread_of("main"), "thread:main");
        assert_eq!(thread_of("worker 4125"), "thread:4125");
        assert_eq!(said(stream("default stream of main")), "stream:default");
        let normal = |condition: Option<Condition>| condition.map(Condition::normal);
        let read = |text: &str| expression::read("", text).ok();
        let both = stream("stream 0x55aa again 2, device 1");
        assert_eq!(normal(both), read("stream:\"stream 0x55aa\" device:1"));
        assert_eq!(said(stream("no stream")), "");
        let pages = work("pages host > device, fault");
        assert_eq!(normal(pages), read("(kind:h2d and kind:migration) and cause:coherence"));
        assert_eq!(said(work("something else")), "");
    }
}
