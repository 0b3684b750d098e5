//! What is known of a page at one moment, and what becomes of it when something happens.

use rustc_hash::FxHashMap;

use super::homes::{Homes, Place};
use crate::trace::Activity;

/// Why pages moved, by `CUpti_ActivityUnifiedMemoryMigrationCause`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Cause {
    /// Not told.
    #[default]
    Unknown,
    /// The program asked for it: a prefetch.
    User,
    /// A processor met the page elsewhere.
    Coherence,
    /// The driver thought that they would be wanted next: neighbours of one that was met.
    Speculative,
    /// Others needed the room.
    Eviction,
    /// A processor had reached for them from afar often enough.
    AccessCounters,
}

impl Cause {
    /// Of a migration's record.
    #[must_use]
    pub const fn of(activity: &Activity) -> Self {
        match activity.unified().1 {
            1 => Self::User,
            2 => Self::Coherence,
            3 => Self::Speculative,
            4 => Self::Eviction,
            5 => Self::AccessCounters,
            _ => Self::Unknown,
        }
    }

    /// Whether a processor that used the page made it move.
    #[must_use]
    pub const fn is_access(self) -> bool {
        matches!(self, Self::Coherence | Self::AccessCounters)
    }
}

/// What the program has advised, and takes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Advise {
    /// Copies for reading may be kept in several places, or may not.
    ReadMostly(bool),
    /// Where pages should be; `None`: anywhere.
    Preferred(Option<Place>),
    /// A processor shall reach pages wherever they are, or need not.
    AccessedBy(Place, bool),
}

/// Advice in force.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Advice {
    /// Copies for reading may be kept in several places.
    pub read_mostly: bool,
    /// Where pages should be.
    pub preferred: Option<Place>,
    /// Processors that shall reach them wherever they are.
    pub accessed_by: Homes,
}

impl Advice {
    /// What it is after this.
    #[must_use]
    pub const fn after(self, what: Advise) -> Self {
        match what {
            Advise::ReadMostly(read_mostly) => Self { read_mostly, ..self },
            Advise::Preferred(preferred) => Self { preferred, ..self },
            Advise::AccessedBy(by, true) => Self { accessed_by: self.accessed_by.with(by), ..self },
            Advise::AccessedBy(by, false) => Self { accessed_by: self.accessed_by.without(by), ..self },
        }
    }
}

/// What is known of a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct State {
    /// Where it is; several places hold copies for reading. Unknown until something is recorded of it: the first touch of
    /// fresh memory moves nothing, and shows only where page faults are recorded.
    pub homes: Homes,
    /// Who reaches it from afar, by records of remote mappings. How long a mapping lasts is not recorded: until the page
    /// moves it is taken to be there.
    pub mapped: Homes,
    /// Where nothing is known of it: where the last prefetch was to bring it. If no move follows, it was there, or was
    /// made there without anything to move.
    pub asked: Option<Place>,
    /// It came to where it is because others needed the room.
    pub evicted: bool,
    /// Advice in force.
    pub advice: Advice,
    /// A processor that has no copy has written: the next move leaves no other copy.
    collapses: bool,
}

/// What happens to pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Happening {
    /// They moved to a place.
    Moved {
        /// Where from, as far as the record says.
        from: Option<Place>,
        /// Where to.
        to: Place,
        /// Why.
        cause: Cause,
    },
    /// A processor met them elsewhere or not at all.
    Touched {
        /// Where the processor is.
        by: Place,
        /// It wrote, so that all other copies are worth nothing.
        writes: bool,
    },
    /// They were mapped where they are, for another processor. Records name a device; if the pages are there, it is the
    /// host that reaches them.
    Mapped(Place),
    /// A prefetch to a place was called for.
    Asked(Place),
    /// Advice was given or taken back.
    Advised(Advise),
    /// They belong to a new allocation, or to none any more: nothing is known of them.
    Fresh,
}

impl State {
    /// What it is after this.
    #[must_use]
    pub fn after(self, what: Happening) -> Self {
        match what {
            Happening::Moved { from, to, cause } => self.moved(from, to, cause),
            Happening::Touched { by, writes } => self.touched(by, writes),
            Happening::Mapped(device) => {
                let by = if self.homes == Homes::one(device) { Place::Host } else { device };
                Self { mapped: self.mapped.with(by), ..self }
            }
            Happening::Asked(to) if self.homes.is_unknown() => Self { asked: Some(to), ..self },
            Happening::Asked(_) => self,
            Happening::Advised(what) => self.advised(what),
            Happening::Fresh => Self::default(),
        }
    }

    fn moved(self, from: Option<Place>, to: Place, cause: Cause) -> Self {
        let left = from.map_or(self.homes, Homes::one);
        let stays = self.advice.read_mostly && !self.collapses && cause != Cause::Eviction && !left.is_unknown();
        Self {
            homes: if stays { self.homes.or(left).with(to) } else { Homes::one(to) },
            mapped: Homes::NONE,
            asked: None,
            evicted: cause == Cause::Eviction,
            advice: self.advice,
            collapses: false,
        }
    }

    /// A fault of a page that is elsewhere is followed by its move, or by its being mapped from afar; so only of pages of
    /// which nothing is known, and of copies, it says where they are.
    fn touched(self, by: Place, writes: bool) -> Self {
        if self.homes.is_unknown() {
            // Fresh pages are made where they should be if the processor can reach them there. A device reaches the host;
            // whether devices reach each other, and the host a device, depends on the machine.
            let homes = match self.advice.preferred {
                Some(Place::Host) => Homes::one(Place::Host),
                Some(Place::Device(device)) if by != Place::Device(device) && by != Place::Host => return self,
                _ => Homes::one(by),
            };
            let mapped = if homes.has(by) { Homes::NONE } else { Homes::one(by) };
            return Self { homes, mapped, asked: None, ..self };
        }
        if !writes || self.homes.count() < 2 {
            return self;
        }
        if self.homes.has(by) {
            return Self { homes: Homes::one(by), mapped: Homes::NONE, evicted: false, ..self };
        }
        Self { collapses: true, ..self }
    }

    fn advised(self, what: Advise) -> Self {
        let advice = self.advice.after(what);
        if what == Advise::ReadMostly(false) && self.homes.count() > 1 {
            // One of the copies stays: that where pages should be, else any.
            let kept = advice.preferred.filter(|&place| self.homes.has(place));
            let homes = kept.map_or(Homes::NONE, Homes::one);
            return Self { homes, advice, collapses: false, ..self };
        }
        Self { advice, ..self }
    }
}

/// Number of a state among those that were met.
pub type StateId = u16;

/// States that are told apart at most. A program comes to a few dozen.
const MOST: usize = 1 << 14;

/// The states that were met, each once.
#[derive(Clone, Debug)]
pub struct States {
    list: Vec<State>,
    ids: FxHashMap<State, StateId>,
    known: FxHashMap<(StateId, Happening), StateId>,
    overflown: bool,
}

impl Default for States {
    fn default() -> Self {
        let ids = FxHashMap::from_iter([(State::default(), 0)]);
        Self { list: vec![State::default()], ids, known: FxHashMap::default(), overflown: false }
    }
}

impl States {
    /// A state by its number.
    #[must_use]
    pub fn get(&self, id: StateId) -> State {
        self.list.get(usize::from(id)).copied().unwrap_or_default()
    }

    /// Its number. The first state, of which nothing is known, stands for all beyond the most that there may be.
    pub fn id(&mut self, state: State) -> StateId {
        if let Some(&known) = self.ids.get(&state) {
            return known;
        }
        let Some(id) = StateId::try_from(self.list.len()).ok().filter(|_| self.list.len() < MOST) else {
            self.overflown = true;
            return 0;
        };
        self.list.push(state);
        self.ids.insert(state, id);
        id
    }

    /// What a state becomes.
    pub fn after(&mut self, id: StateId, what: Happening) -> StateId {
        if let Some(&known) = self.known.get(&(id, what)) {
            return known;
        }
        let after = self.id(self.get(id).after(what));
        if self.known.len() < 4 * MOST {
            self.known.insert((id, what), after);
        }
        after
    }

    /// Whether there were more than can be told apart.
    #[must_use]
    pub const fn overflown(&self) -> bool {
        self.overflown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GPU: Place = Place::Device(0);
    const OTHER: Place = Place::Device(1);

    fn moved(from: Place, to: Place, cause: Cause) -> Happening {
        Happening::Moved { from: Some(from), to, cause }
    }

    fn after(list: &[Happening]) -> State {
        list.iter().fold(State::default(), |state, &what| state.after(what))
    }

    fn set(what: Advise) -> Happening {
        Happening::Advised(what)
    }

    #[test]
    fn memory_that_is_mostly_read_has_several_homes_until_somebody_writes() {
        let write = |by| Happening::Touched { by, writes: true };
        let to_gpu = moved(Place::Host, GPU, Cause::Coherence);
        let copies = [write(Place::Host), set(Advise::ReadMostly(true)), to_gpu];
        assert_eq!(after(&copies).homes, Homes::one(Place::Host).with(GPU));
        let with = |more: &[Happening]| after(&[&copies[..], more].concat()).homes;
        assert_eq!(with(&[write(Place::Host)]), Homes::one(Place::Host));
        assert_eq!(with(&[Happening::Touched { by: OTHER, writes: false }]).count(), 2);
        // Who writes without a copy has the only one after the move.
        let to_other = Happening::Moved { from: None, to: OTHER, cause: Cause::Coherence };
        assert_eq!(with(&[write(OTHER), to_other]), Homes::one(OTHER));
        assert_eq!(with(&[to_other]).count(), 3);
        // Which copy is kept when the advice is taken back, nobody says.
        assert!(with(&[set(Advise::ReadMostly(false))]).is_unknown());
        let preferred = [set(Advise::Preferred(Some(GPU))), set(Advise::ReadMostly(false))];
        assert_eq!(with(&preferred), Homes::one(GPU));
    }

    #[test]
    fn the_first_touch_is_known_by_its_fault_and_goes_where_pages_should_be() {
        let touch = |by| Happening::Touched { by, writes: false };
        assert_eq!(after(&[touch(GPU)]).homes, Homes::one(GPU));
        let far = after(&[set(Advise::Preferred(Some(Place::Host))), touch(GPU)]);
        assert_eq!((far.homes, far.mapped), (Homes::one(Place::Host), Homes::one(GPU)));
        let prefers_gpu = set(Advise::Preferred(Some(GPU)));
        assert_eq!(after(&[prefers_gpu, touch(Place::Host)]).homes, Homes::one(Place::Host));
        assert!(after(&[prefers_gpu, touch(OTHER)]).homes.is_unknown());
        assert!(after(&[set(Advise::AccessedBy(GPU, true))]).homes.is_unknown());
    }

    #[test]
    fn a_mapping_lasts_until_the_page_moves() {
        let home = Happening::Touched { by: Place::Host, writes: true };
        let mapped = after(&[home, Happening::Mapped(GPU)]);
        assert_eq!((mapped.homes, mapped.mapped), (Homes::one(Place::Host), Homes::one(GPU)));
        let gone = mapped.after(moved(Place::Host, GPU, Cause::Coherence));
        assert!(gone.mapped.is_unknown());
        assert_eq!(gone.after(Happening::Mapped(GPU)).mapped, Homes::one(Place::Host));
    }

    #[test]
    fn a_prefetch_is_no_move() {
        let asked = after(&[Happening::Asked(GPU)]);
        assert_eq!((asked.homes.is_unknown(), asked.asked), (true, Some(GPU)));
        let evicted = asked.after(moved(GPU, Place::Host, Cause::Eviction));
        assert_eq!((evicted.homes, evicted.asked, evicted.evicted), (Homes::one(Place::Host), None, true));
        assert_eq!(evicted.after(Happening::Asked(GPU)), evicted);
        assert!(!evicted.after(moved(Place::Host, GPU, Cause::User)).evicted);
    }

    #[test]
    fn states_beyond_the_most_are_not_known() {
        let mut states = States::default();
        for bits in 1..1u32 << 15 {
            let homes = (0..15)
                .filter(|bit| bits >> bit & 1 == 1)
                .fold(Homes::NONE, |homes, bit| homes.with(Place::Device(bit)));
            states.id(State { homes, ..State::default() });
        }
        assert!(states.overflown());
        assert_eq!(states.id(State { evicted: true, ..State::default() }), 0);
    }
}
