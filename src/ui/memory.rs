//! What is remembered of a trace from one time to the next: marks, and where one was.
//!
//! One small JSON file for each trace in the state folder, named by what identifies the trace. It is written beside its
//! place and then moved there. What cannot be read is as if nothing had been remembered.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};

use super::effect::Scope;
use super::marks::{Mark, Moment};
use super::screens::memory::Tab;
use super::screens::{Place, ScreenId};
use super::widgets::list::Window;
use crate::session::view::{
    Column, EventGroup, EventKinds, Folds, Grouping, HeatColour, HeatRowsAt, HeatSubject, HeatTimeAt, MemoryGrouping,
    NodeKey,
};

/// Marks that are kept; further ones push out the oldest.
pub const MARKS: usize = 100;
/// Nodes whose fold is kept.
const FOLDS: usize = 5_000;
/// Longest file that is read, bytes.
const LONGEST: usize = 1 << 20;

/// What is remembered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// Marks, the oldest first.
    pub marks: Vec<Mark>,
    /// The screen that was shown.
    pub screen: Option<ScreenId>,
    /// Where one was on each screen.
    pub places: Vec<Place>,
}

/// Folder of umtui's own state: `$XDG_STATE_HOME/umtui`, or `~/.local/state/umtui`.
pub fn folder(variable: impl Fn(&str) -> Option<String>) -> Option<PathBuf> {
    let absolute = |path: String| Some(PathBuf::from(path)).filter(|path| path.is_absolute());
    let base = variable("XDG_STATE_HOME").and_then(absolute);
    let base = base.or_else(|| variable("HOME").and_then(absolute).map(|home| home.join(".local/state")))?;
    Some(base.join("umtui"))
}

fn file(folder: &Path, trace: u64) -> PathBuf {
    folder.join("traces").join(format!("{trace:016x}.json"))
}

impl Memory {
    /// What is remembered of a trace.
    pub fn read(folder: &Path, trace: u64) -> Self {
        let read = || -> io::Result<Value> {
            Ok(serde_json::from_slice(&crate::files::read_small(&file(folder, trace), LONGEST)?)?)
        };
        read().map(|value| Self::of(&value)).unwrap_or_default()
    }

    /// Keeps it.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&self, folder: &Path, trace: u64) -> io::Result<()> {
        let place = file(folder, trace);
        fs::create_dir_all(place.parent().unwrap_or(folder))?;
        let fresh = place.with_extension(format!("json.{}", std::process::id()));
        fs::write(&fresh, self.value().to_string())?;
        fs::rename(&fresh, &place)?;
        forget(place.parent().unwrap_or(folder))
    }

    fn of(value: &Value) -> Self {
        let list = |name: &str| value.get(name).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let mark = |value: &Value| {
            let label = value.get("label")?.as_str()?;
            let label = crate::session::safe::safe(label).chars().take(200).collect();
            Some(Mark { label, place: place(value.get("place")?)? })
        };
        Self {
            marks: list("marks").iter().take(MARKS).filter_map(mark).collect(),
            screen: value.get("screen").and_then(Value::as_str).and_then(|name| name.parse().ok()),
            places: list("places").iter().take(ScreenId::ALL.len()).filter_map(place).collect(),
        }
    }

    fn value(&self) -> Value {
        let mark = |mark: &Mark| json!({"label": mark.label, "place": kept(&mark.place)});
        json!({
            "version": 1,
            "marks": self.marks.iter().map(mark).collect::<Vec<_>>(),
            "screen": self.screen.map(ScreenId::name),
            "places": self.places.iter().map(kept).collect::<Vec<_>>(),
        })
    }
}

/// Traces that are remembered.
const TRACES: usize = 500;

/// Removes the files that have not been written for the longest time, if there are too many.
fn forget(folder: &Path) -> io::Result<()> {
    let files = fs::read_dir(folder)?.flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> =
        files.filter(|path| path.extension().is_some_and(|extension| extension == "json")).collect();
    if files.len() > TRACES {
        files.sort_by_cached_key(|path| fs::metadata(path).and_then(|data| data.modified()).ok());
        for old in files.iter().take(files.len() - TRACES) {
            fs::remove_file(old)?;
        }
    }
    Ok(())
}

/// What groupings are called, where they are typed and kept.
pub(super) const GROUPINGS: [(&str, Grouping); 7] = [
    ("thread", Grouping::Thread),
    ("stream", Grouping::Stream),
    ("device", Grouping::Device),
    ("range", Grouping::Range),
    ("site", Grouping::CallSite),
    ("function", Grouping::Flat),
    ("callers", Grouping::Inverted),
];

const MEMORY_GROUPINGS: [(&str, MemoryGrouping); 3] =
    [("site", MemoryGrouping::Site), ("kind", MemoryGrouping::Kind), ("device", MemoryGrouping::Device)];

const COLUMNS: [(&str, Column); 11] = [
    ("name", Column::Name),
    ("total", Column::Total),
    ("self", Column::SelfTime),
    ("count", Column::Count),
    ("failed", Column::Failed),
    ("min", Column::Min),
    ("average", Column::Average),
    ("p50", Column::P50),
    ("p99", Column::P99),
    ("max", Column::Max),
    ("share", Column::Share),
];

fn name_of<T: PartialEq + Copy>(names: &[(&'static str, T)], wanted: T) -> &'static str {
    names.iter().find(|(_, known)| *known == wanted).map_or("", |(name, _)| name)
}

fn named<T: Copy>(names: &[(&'static str, T)], name: Option<&Value>) -> Option<T> {
    let name = name?.as_str()?;
    names.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
}

/// Keys are numbers of 64 bits, which not every reader of JSON keeps as they are.
fn key_text(key: NodeKey) -> Value {
    Value::String(format!("{:x}", key.0))
}

fn key_of(value: Option<&Value>) -> Option<NodeKey> {
    u64::from_str_radix(value?.as_str()?, 16).ok().map(NodeKey)
}

fn window_value(window: Window) -> Value {
    json!([window.first, window.cursor])
}

fn window_of(value: Option<&Value>) -> Option<Window> {
    let part = |at: usize| value?.get(at)?.as_u64();
    Some(Window { first: part(0)?, cursor: part(1)? })
}

fn kept(place: &Place) -> Value {
    match place {
        Place::Overview => json!({"screen": "overview"}),
        Place::Calls { grouping, sort, folds, window, cursor } => json!({
            "screen": "calls",
            "grouping": name_of(&GROUPINGS, *grouping),
            "sort": [name_of(&COLUMNS, sort.0), sort.1],
            "depth": folds.open_depth,
            "flipped": folds.flipped.iter().take(FOLDS).map(|&key| key_text(key)).collect::<Vec<_>>(),
            "window": window_value(*window),
            "cursor": cursor.map(key_text),
        }),
        Place::Events { scope, kinds, window, follow, event } => json!({
            "screen": "events",
            "scope": scope.as_ref().map(|scope| {
                json!([name_of(&GROUPINGS, scope.grouping), key_text(scope.key), scope.label])
            }),
            "hidden": (0..EventGroup::ALL.len()).filter(|&at| !kinds.has(EventGroup::ALL[at])).collect::<Vec<_>>(),
            "window": window_value(*window),
            "follow": follow,
            "event": event.as_ref().map(|event| json!([event.start_ns, event.name])),
        }),
        Place::Heatmap { subject, colour, at, time, cursor } => json!({
            "screen": "heatmap",
            "subject": match subject {
                HeatSubject::Busiest | HeatSubject::Holding(_) | HeatSubject::Found(_) => Value::Null,
                HeatSubject::All => json!("all"),
                HeatSubject::One(process, address) => json!([process, format!("{address:x}")]),
            },
            "colour": colour.word(),
            "rows": if let HeatRowsAt::From(bits, first) = at { json!([bits, first]) } else { Value::Null },
            "time": if let HeatTimeAt::From(from, width) = time { json!([from, width]) } else { Value::Null },
            "cursor": [cursor.0, cursor.1],
        }),
        Place::Memory { tab, by, in_use, moment, window } => json!({
            "screen": "memory",
            "tab": tab.name(),
            "by": name_of(&MEMORY_GROUPINGS, *by),
            "in_use": in_use,
            "moment": moment,
            "window": window_value(*window),
        }),
        Place::Output(line) => json!({"screen": "output", "line": line}),
    }
}

fn place(value: &Value) -> Option<Place> {
    Some(match value.get("screen")?.as_str()? {
        "overview" => Place::Overview,
        "calls" => {
            let sort = value.get("sort")?;
            let flipped = value.get("flipped")?.as_array()?.iter().take(FOLDS);
            let open_depth = u16::try_from(value.get("depth")?.as_u64()?).ok()?;
            let folds = Folds { open_depth, flipped: flipped.filter_map(|key| key_of(Some(key))).collect() };
            Place::Calls {
                grouping: named(&GROUPINGS, value.get("grouping"))?,
                sort: (named(&COLUMNS, sort.get(0))?, sort.get(1)?.as_bool()?),
                folds: Arc::new(folds),
                window: window_of(value.get("window"))?,
                cursor: key_of(value.get("cursor")),
            }
        }
        "events" => {
            let scope = value.get("scope").filter(|scope| !scope.is_null()).and_then(|scope| {
                let label = crate::session::safe::safe(scope.get(2)?.as_str()?).into_owned();
                Some(Scope { grouping: named(&GROUPINGS, scope.get(0))?, key: key_of(scope.get(1))?, label })
            });
            let hidden = value.get("hidden")?.as_array()?.iter().filter_map(Value::as_u64);
            let hidden = hidden.filter_map(|at| EventGroup::ALL.get(usize::try_from(at).ok()?));
            let kinds = hidden
                .fold(EventKinds::ALL, |kinds, &group| if kinds.has(group) { kinds.flipped(group) } else { kinds });
            let follow = value.get("follow")?.as_bool()?;
            let event = value.get("event").and_then(|event| {
                let name = crate::session::safe::safe(event.get(1)?.as_str()?).into_owned();
                Some(Moment::new(event.get(0)?.as_u64()?, &name))
            });
            Place::Events { scope, kinds, window: window_of(value.get("window"))?, follow, event }
        }
        "heatmap" => {
            let subject = value.get("subject")?;
            let number = |of: Option<&Value>, at: usize| of?.get(at)?.as_u64();
            let one = || {
                let address = u64::from_str_radix(subject.get(1)?.as_str()?, 16).ok()?;
                Some(HeatSubject::One(u16::try_from(subject.get(0)?.as_u64()?).ok()?, address))
            };
            let all = (subject.as_str() == Some("all")).then_some(HeatSubject::All);
            let (rows, time, cursor) = (value.get("rows"), value.get("time"), value.get("cursor"));
            let at = number(rows, 0).and_then(|bits| u8::try_from(bits).ok()).zip(number(rows, 1));
            let line = |at| number(cursor, at).and_then(|number| u16::try_from(number).ok());
            Place::Heatmap {
                subject: all.or_else(one).unwrap_or_default(),
                colour: HeatColour::ALL.into_iter().find(|one| value.get("colour").is_some_and(|v| v == one.word()))?,
                at: at.map_or(HeatRowsAt::Fit, |(bits, first)| HeatRowsAt::From(bits, first)),
                time: number(time, 0)
                    .zip(number(time, 1))
                    .map_or(HeatTimeAt::Fit, |(from, width)| HeatTimeAt::From(from, width)),
                cursor: (line(0)?, line(1)?),
            }
        }
        "memory" => Place::Memory {
            tab: Tab::named(value.get("tab")?.as_str()?)?,
            by: named(&MEMORY_GROUPINGS, value.get("by"))?,
            in_use: value.get("in_use")?.as_bool()?,
            moment: value.get("moment").and_then(Value::as_u64),
            window: window_of(value.get("window"))?,
        },
        "output" => Place::Output(value.get("line").and_then(Value::as_u64)),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn memory() -> Memory {
        let folds = Folds { open_depth: 3, flipped: [NodeKey(u64::MAX), NodeKey(7)].into_iter().collect() };
        let window = Window { first: 1 << 40, cursor: (1 << 40) + 3 };
        let calls = Place::Calls {
            grouping: Grouping::Range,
            sort: (Column::P99, false),
            folds: Arc::new(folds),
            window,
            cursor: Some(NodeKey(u64::MAX - 1)),
        };
        let scope = Scope { grouping: Grouping::Thread, key: NodeKey(9), label: "main".to_owned() };
        let kinds = EventKinds::ALL.flipped(EventGroup::Kernels);
        let events = Place::Events {
            scope: Some(scope),
            kinds,
            window,
            follow: true,
            event: Some(Moment::new(u64::MAX, "cudaMalloc")),
        };
        let heatmap = Place::Heatmap {
            subject: HeatSubject::One(2, u64::MAX - 7),
            colour: HeatColour::Alternations,
            at: HeatRowsAt::From(20, 3),
            time: HeatTimeAt::From(7, 1_000),
            cursor: (4, 5),
        };
        let memory =
            Place::Memory { tab: Tab::Groups, by: MemoryGrouping::Kind, in_use: true, moment: Some(u64::MAX), window };
        Memory {
            marks: vec![Mark { label: "event 9".to_owned(), place: events.clone() }],
            screen: Some(ScreenId::Events),
            places: vec![Place::Overview, calls, heatmap, memory, events, Place::Output(Some(12)), Place::Output(None)],
        }
    }

    #[test]
    fn what_is_kept_comes_back() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(Memory::read(folder.path(), 5), Memory::default());
        let mut memory = memory();
        memory.places.truncate(6);
        memory.write(folder.path(), 5).unwrap();
        assert_eq!(Memory::read(folder.path(), 5), memory);
        assert_eq!(Memory::read(folder.path(), 6), Memory::default());
        assert_eq!(fs::read_dir(folder.path().join("traces")).unwrap().count(), 1);
    }

    #[test]
    fn the_folder_is_that_of_the_standard() {
        let folder_of = |xdg: &str, home: &str| {
            let variable = |name: &str| match name {
                "XDG_STATE_HOME" => Some(xdg.to_owned()),
                "HOME" => Some(home.to_owned()),
                _ => None,
            };
            folder(variable).map(|path| path.display().to_string())
        };
        assert_eq!(folder_of("/s", "/h").as_deref(), Some("/s/umtui"));
        assert_eq!(folder_of("relative", "/h").as_deref(), Some("/h/.local/state/umtui"));
        assert_eq!(folder_of("", ""), None);
    }

    proptest! {
        #[test]
        fn any_file_is_read(at in 0_usize..900, with in "[\\x00-\\x7f]{0,4}") {
            let mut text = memory().value().to_string();
            let at = at.min(text.len());
            text.replace_range(at..(at + with.len()).min(text.len()), &with);
            if let Ok(value) = serde_json::from_str::<Value>(&text) {
                let memory = Memory::of(&value);
                prop_assert!(memory.marks.len() <= MARKS);
            }
        }
    }
}
