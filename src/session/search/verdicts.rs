//! Whether an event matches, by what it is called: each name is looked at once, however many events have it.

use rustc_hash::FxHashMap;

use super::pattern::Pattern;
use crate::graph::{Labels, What};
use crate::session::gpu_events::Context;
use crate::session::labels::{range, thread};
use crate::session::order::Event;
use crate::trace::{Activity, ActivityKind, ApiId, SiteId, TrackId};

/// What matched of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Name,
    Thread,
    Site,
}

/// What is known of the names that events have.
#[derive(Debug, Default)]
pub(super) struct Verdicts {
    apis: Vec<Option<bool>>,
    tracks: Vec<Option<bool>>,
    sites: Vec<Option<bool>>,
    others: FxHashMap<Other, bool>,
}

/// What an event is called that is no call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Other {
    Of(What),
    Record(ActivityKind, u8, u64),
}

impl Verdicts {
    /// What matches of an event, if anything does.
    pub(super) fn part(&mut self, pattern: &Pattern, context: &Context<'_, '_>, event: &Event) -> Option<Part> {
        let trace = context.trace;
        match *event {
            Event::Ended(track, row) => {
                let call = trace.track(track)?.call(row)?;
                self.call(pattern, context, track, call.api, call.site)
            }
            Event::Open(track, call) => self.call(pattern, context, track, call.api, call.site),
            Event::Range(track, row) => {
                let found = trace.ranges.of(track).get(row)?;
                let activities = &trace.activities;
                let (domain, name) = (activities.name(trace.ranges.domain(found)), activities.name(found.name));
                let key = Other::Of(What::Range(domain, name));
                if self.other(key, || pattern.finds(&range(trace, domain, name))) {
                    return Some(Part::Name);
                }
                self.track(pattern, context, track).then_some(Part::Thread)
            }
            Event::Record(lane, row) => {
                let activity = trace.activities.lane(lane)?.get(row)?;
                let found = self.other(key(context, &activity), || pattern.finds(&context.name(&activity)));
                found.then_some(Part::Name)
            }
        }
    }

    fn call(
        &mut self,
        pattern: &Pattern,
        context: &Context<'_, '_>,
        track: TrackId,
        api: ApiId,
        site: SiteId,
    ) -> Option<Part> {
        if known(&mut self.apis, api.index(), || pattern.finds(&context.namer.label(What::Call(api)))) {
            return Some(Part::Name);
        }
        if self.track(pattern, context, track) {
            return Some(Part::Thread);
        }
        let is_known = site.index() < context.trace.sites.len();
        let found = is_known && known(&mut self.sites, site.index(), || pattern.finds(&context.namer.site(site)));
        found.then_some(Part::Site)
    }

    fn track(&mut self, pattern: &Pattern, context: &Context<'_, '_>, track: TrackId) -> bool {
        known(&mut self.tracks, track.index(), || pattern.finds(&thread(context.trace, track)))
    }

    fn other(&mut self, key: Other, finds: impl FnOnce() -> bool) -> bool {
        *self.others.entry(key).or_insert_with(finds)
    }
}

fn key(context: &Context<'_, '_>, activity: &Activity) -> Other {
    match activity.kind {
        ActivityKind::Kernel => Other::Of(What::Kernel(context.trace.activities.kernel_name(activity))),
        ActivityKind::Copy => {
            let (kind, pageable) = activity.copy();
            Other::Of(What::Copy(kind, pageable))
        }
        ActivityKind::Unified => {
            let (counter, flags) = activity.unified();
            Other::Of(What::Unified(counter, flags))
        }
        ActivityKind::Overhead => Other::Record(activity.kind, 0, activity.value),
        kind => Other::Record(kind, activity.detail, 0),
    }
}

/// What stands at this place, found out when it is first asked for.
fn known(list: &mut Vec<Option<bool>>, at: usize, finds: impl FnOnce() -> bool) -> bool {
    if at >= list.len() {
        list.resize(at + 1, None);
    }
    match list.get_mut(at) {
        Some(place) => *place.get_or_insert_with(finds),
        None => false,
    }
}
