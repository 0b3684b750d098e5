//! The overview's lines: what is known of the recording, and what happens.

use std::borrow::Cow;

use super::draw::LABEL;
use crate::session::view::{Overview, Phase, Standing, Status};
use crate::ui::text::{format, truncate};
use crate::ui::theme::Role;

/// Devices that have a line each.
const DEVICES: usize = 4;
/// Processes named in the list of facts; half as many if there are more.
const NAMED: usize = 6;

/// A line of facts or news.
pub struct Fact {
    pub label: Cow<'static, str>,
    pub text: String,
    pub role: Role,
}

fn list(items: &[String], limit: usize) -> impl Iterator<Item = String> + '_ {
    let shown = if items.len() > limit { limit.saturating_sub(1).max(1) } else { items.len() };
    let hidden = items.len() - shown.min(items.len());
    let more = if hidden > 0 { format!("   [{hidden} more]") } else { String::new() };
    let last = shown.saturating_sub(1);
    items.iter().take(shown).enumerate().map(
        move |(i, item)| {
            if i == last { format!("{item}{more}") } else { item.clone() }
        },
    )
}

fn hook(rows: &Overview) -> Fact {
    let fact = |text, role| Fact { label: "hook".into(), text, role };
    match rows.process_count {
        0 => fact("in no process yet".to_owned(), Role::Warning),
        count => {
            let most = if count > NAMED { NAMED / 2 } else { NAMED };
            let named = rows.processes.iter().take(most);
            let names: Vec<String> = named.map(|p| format!("{} {}", p.pid, p.program)).collect();
            let rest = if names.len() < count { ", ..." } else { "" };
            let standing = standing(rows).map(|words| format!(", {words}")).unwrap_or_default();
            fact(format!("{}{standing}: {}{rest}", self::count(count), names.join(", ")), Role::Plain)
        }
    }
}

/// `3 running, 2 ended`, what there is none of left out; nothing if all of several run, or there is only one.
pub fn standing(rows: &Overview) -> Option<String> {
    let Standing { running, ended, gone, stopped } = rows.standing;
    if rows.process_count < 2 || running == rows.process_count {
        return None;
    }
    let parts = [(running, "running"), (ended, "ended"), (gone, "gone"), (stopped, "recorded no further")];
    let parts: Vec<_> = parts.into_iter().filter(|(count, _)| *count > 0).collect();
    if let [(_, word)] = parts[..] {
        return Some(format!("all {word}"));
    }
    let words = parts.into_iter().map(|(count, word)| format!("{} {word}", format::grouped(count as u64)));
    Some(words.collect::<Vec<_>>().join(", "))
}

/// What is known of the recording, most important first.
pub fn facts(rows: &Overview, status: &Status, width: u16, airy: bool) -> Vec<Fact> {
    let limit = if airy { 3 } else { 1 };
    let mut facts = vec![hook(rows)];
    facts.push(Fact { label: "sees".into(), text: rows.sees.join(", "), role: Role::Plain });
    for (i, text) in list(&rows.not, limit).enumerate() {
        facts.push(Fact { label: if i == 0 { "not" } else { "" }.into(), text, role: Role::Plain });
    }
    let shown = rows.devices.len().min(if airy { DEVICES } else { 1 });
    for (index, (label, text)) in rows.devices.iter().take(shown).enumerate() {
        let hidden = rows.devices.len() - shown;
        let mut text = Cow::Borrowed(text.as_str());
        if hidden > 0 && index + 1 == shown {
            let more = format!("   [{hidden} more]");
            // What one device has to say must not hide that there are others.
            let room = usize::from(width.saturating_sub(LABEL)) * if airy { 3 } else { 2 } / 2;
            text = format!("{}{more}", truncate::end(&text, room.saturating_sub(more.len()), "..")).into();
        }
        facts.push(Fact { label: label.clone().into(), text: text.into_owned(), role: Role::Plain });
    }
    if let Some(text) = &rows.clocks {
        facts.push(Fact { label: "clocks".into(), text: text.clone(), role: Role::Plain });
    }
    if let Some(text) = &rows.costs {
        facts.push(Fact { label: "costs".into(), text: text.clone(), role: Role::Plain });
    }
    if let (Some(place), true) = (&rows.recording, airy) {
        facts.push(Fact { label: "writes".into(), text: place.clone(), role: Role::Plain });
    }
    let troubled = rows.processes.iter().find_map(|p| p.trouble.as_ref().map(|why| (p, why)));
    if let Some((process, why)) = troubled {
        facts.push(Fact {
            // What older calls made room for, or what came before we joined, ended nothing.
            label: if process.alive || process.in_order { "note" } else { "stop" }.into(),
            text: format!("{} {}: {why}", process.pid, process.program),
            role: Role::Warning,
        });
    }
    if let Some(damage) = &status.damage {
        facts.push(Fact { label: "damage".into(), text: damage.clone(), role: Role::Warning });
    }
    if let Some(bytes) = status.begun {
        let rest = if matches!(status.phase, Phase::Opening(_)) { "is being read" } else { "could not be read" };
        let text = format!("only the first {} of the input; the rest {rest}", format::bytes(bytes));
        facts.push(Fact { label: "seen".into(), text, role: Role::Warning });
    }
    if let Some(note) = &status.note {
        facts.push(Fact { label: "note".into(), text: note.clone(), role: Role::Plain });
    }
    facts.retain(|fact| !fact.text.is_empty());
    facts
}

/// `1 process`, `3 processes`.
pub fn count(processes: usize) -> String {
    let plural = if processes == 1 { "process" } else { "processes" };
    format!("{} {plural}", format::grouped(processes as u64))
}

/// What happens, or has gone wrong.
pub fn news(rows: &Overview, airy: bool) -> Vec<Fact> {
    let mut news = Vec::new();
    if let Some(why) = &rows.silence {
        news.push(Fact { label: "quiet".into(), text: why.clone(), role: Role::Warning });
    }
    if let Some(sticky) = &rows.sticky_failure {
        news.push(Fact { label: "worst".into(), text: sticky.clone(), role: Role::Bad });
    } else if let Some(worst) = &rows.worst_failure {
        let text = format!("{} calls failed, most of them {worst}", format::count(rows.failed));
        let text = if rows.failed == 1 { format!("1 call failed: {worst}") } else { text };
        news.push(Fact { label: "worst".into(), text, role: Role::Bad });
    } else if airy && rows.silence.is_none() {
        news.push(Fact { label: "worst".into(), text: "no call has failed".to_owned(), role: Role::Dim });
    }
    if let Some((function, thread, ns)) = &rows.running {
        let text = format!("{function} in {thread} for {}", format::duration(*ns));
        news.push(Fact { label: "now".into(), text, role: Role::Plain });
    }
    news
}
