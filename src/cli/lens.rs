//! `--filter` and `--range`: what recordings are seen through.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::arguments::Seen;
use super::progress::Progress;
use crate::filter::{self, Condition, Spelling};
use crate::lens::{Lens, Plan, parse_range};
use crate::session::Loaded;
use crate::session::safe::safe;
use crate::ui::lens::{Chosen, Look};

/// How long the names of call sites are looked up for a filter that asks for them.
const NAMING: Duration = Duration::from_secs(30);

/// The lens, and its filter in one line.
///
/// # Errors
/// If the filter or the range is none.
pub(super) fn lens(seen: &Seen) -> anyhow::Result<(Lens, String)> {
    let mut lens = Lens::default();
    let mut text = String::new();
    if let Some(given) = &seen.filter {
        let filter = filter::named_or_read(given)?;
        filter.write(Spelling::Expression).trim().clone_into(&mut text);
        if !filter.condition.is_everything() {
            lens.condition = Some(Arc::new(filter.condition));
        }
    }
    if let Some(range) = &seen.range {
        lens.range = Some(parse_range(range).map_err(|error| anyhow::anyhow!("--range: {error}"))?);
    }
    Plan::new(&lens)?;
    Ok((lens, text))
}

/// What the screens begin with, and the file that its filter comes from.
///
/// # Errors
/// If the filter or the range is none.
pub(super) fn look(seen: &Seen) -> anyhow::Result<(Look, Option<PathBuf>)> {
    let file = seen.filter.as_ref().map(PathBuf::from).filter(|path| path.is_file());
    let (lens, text) = lens(seen)?;
    let filter = match &file {
        Some(_) => {
            let condition = lens.condition.map_or_else(Condition::everything, |condition| (*condition).clone());
            Some(Chosen::read(&condition.into()))
        }
        // A name can be typed again, and says more than what it stands for.
        None => {
            let given = seen.filter.as_ref().and_then(|given| given.to_str());
            match given.filter(|given| filter::named(given).is_some()) {
                Some(name) => {
                    let condition = lens.condition.map_or_else(Condition::everything, |condition| (*condition).clone());
                    Some(Chosen::by_name(name, condition))
                }
                None => lens.condition.and_then(|condition| Chosen::named(&text, (*condition).clone())),
            }
        }
    };
    Ok((Look { filter, range: lens.range, off: false }, file))
}

/// What the filter that a screen begins with may not have been meant to say.
pub(super) fn doubt(look: &Look) -> Option<String> {
    let chosen = look.filter.as_ref()?;
    filter::doubts(&chosen.condition).into_iter().next().map(|doubt| format!("--filter: {doubt}"))
}

/// Says what of the filter may not be meant.
pub(super) fn doubts((lens, _): &(Lens, String), progress: &Progress) {
    for doubt in lens.condition.iter().flat_map(|condition| filter::doubts(condition)) {
        progress.say(&format!("umtui: --filter: {doubt}"));
    }
}

/// Looks at recordings through it.
///
/// # Errors
/// If it is none.
pub(super) fn look_through(
    loaded: &mut Loaded,
    (lens, text): &(Lens, String),
    progress: &Progress,
) -> anyhow::Result<()> {
    if !lens.is_clear() {
        loaded.look_through_telling(lens, text, NAMING, &mut |headway| progress.tell(headway))?;
        let steps = loaded.lens_status().and_then(|status| status.steps).filter(|steps| steps.ns.is_none());
        if let (Some(steps), Some(range)) = (steps, &lens.range) {
            let why = match steps.turns {
                0 if steps.name.is_empty() => "no range repeats; name one, as in step:NAME#3".to_owned(),
                0 => format!("no range is named {}", steps.name),
                turns => format!("there are {turns} of the range {}", steps.name),
            };
            anyhow::bail!("--range {}: no such step: {}", safe(&range.to_string()), safe(&why));
        }
    }
    Ok(())
}
