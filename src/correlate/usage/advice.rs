//! Advice: what was said when, and what of it was in force from when until when.

use std::collections::BTreeMap;

use super::said::{Place, Said, What};

/// Advice as calls give it, by the number that both APIs have for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Advice {
    /// Mostly read: several processors may have it.
    SetReadMostly = 1,
    /// Not any more.
    UnsetReadMostly = 2,
    /// It is to stay at a place.
    SetPreferredLocation = 3,
    /// Not any more.
    UnsetPreferredLocation = 4,
    /// A processor uses it, and is to have it mapped.
    SetAccessedBy = 5,
    /// Not any more.
    UnsetAccessedBy = 6,
}

/// What advice is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Topic {
    /// Mostly read.
    ReadMostly,
    /// Where it is to stay.
    PreferredLocation,
    /// Who uses it: each processor for itself.
    AccessedBy,
}

impl Topic {
    /// In the field's word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::ReadMostly => "ReadMostly",
            Self::PreferredLocation => "PreferredLocation",
            Self::AccessedBy => "AccessedBy",
        }
    }
}

impl Advice {
    /// By its number.
    #[must_use]
    pub const fn of(number: u64) -> Option<Self> {
        Some(match number {
            1 => Self::SetReadMostly,
            2 => Self::UnsetReadMostly,
            3 => Self::SetPreferredLocation,
            4 => Self::UnsetPreferredLocation,
            5 => Self::SetAccessedBy,
            6 => Self::UnsetAccessedBy,
            _ => return None,
        })
    }

    /// What it is about.
    #[must_use]
    pub const fn topic(self) -> Topic {
        match self {
            Self::SetReadMostly | Self::UnsetReadMostly => Topic::ReadMostly,
            Self::SetPreferredLocation | Self::UnsetPreferredLocation => Topic::PreferredLocation,
            Self::SetAccessedBy | Self::UnsetAccessedBy => Topic::AccessedBy,
        }
    }

    /// Whether it sets, and does not take back.
    #[must_use]
    pub const fn is_set(self) -> bool {
        matches!(self, Self::SetReadMostly | Self::SetPreferredLocation | Self::SetAccessedBy)
    }
}

/// Advice that was in force for some memory for some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct InForce {
    /// First address.
    pub address: u64,
    /// Bytes.
    pub bytes: u64,
    /// From when, ns on the trace's axis: the call that gave it returned.
    pub from_ns: u64,
    /// Until when; `u64::MAX`: nothing took it back or changed it.
    pub until_ns: u64,
    /// What about.
    pub topic: Topic,
    /// The place that it names.
    pub place: Place,
}

/// Memory with the same advice, by topic, of advice that each processor has for itself by place, and by first address.
type Open = BTreeMap<(Topic, Place, u64), Piece>;

#[derive(Clone, Copy)]
struct Piece {
    end: u64,
    place: Place,
    from_ns: u64,
}

/// What was in force for memory from an address on, by what was said in order of time.
#[must_use]
pub fn in_force<'a>((address, bytes): (u64, u64), said: impl Iterator<Item = &'a Said>) -> Vec<InForce> {
    let (first, last) = (address, address.saturating_add(bytes.max(1)));
    let (mut open, mut list) = (Open::new(), Vec::new());
    for one in said {
        let What::Advice(advice, place) = one.what else { continue };
        // Without a size it is about all that begins there.
        let end = if one.bytes == 0 { last } else { one.end() };
        let (from, to) = (one.address.max(first), end.min(last));
        if from < to {
            say(&mut open, &mut list, advice, place, (from, to), one.at_ns);
        }
    }
    let rest = open.into_iter().map(|((topic, _, address), piece)| of(topic, address, piece, u64::MAX));
    list.extend(rest);
    list.sort_unstable();
    list
}

fn of(topic: Topic, address: u64, piece: Piece, until_ns: u64) -> InForce {
    let bytes = piece.end.saturating_sub(address);
    InForce { address, bytes, from_ns: piece.from_ns, until_ns, topic, place: piece.place }
}

fn say(open: &mut Open, list: &mut Vec<InForce>, advice: Advice, place: Place, (from, to): (u64, u64), at_ns: u64) {
    let topic = advice.topic();
    let who = if topic == Topic::AccessedBy { place } else { Place::None };
    let place = if topic == Topic::ReadMostly { Place::None } else { place };
    let mut touched: Vec<(u64, Piece)> = Vec::new();
    while let Some((&key, &piece)) = open.range((topic, who, 0)..(topic, who, to)).next_back()
        && piece.end > from
        && touched.last().is_none_or(|(address, _)| *address != key.2)
    {
        open.remove(&key);
        touched.push((key.2, piece));
    }
    let mut at = from;
    for (address, piece) in touched.into_iter().rev() {
        if address < from {
            open.insert((topic, who, address), Piece { end: from, ..piece });
        }
        if piece.end > to {
            open.insert((topic, who, to), piece);
        }
        let (begin, end) = (address.max(from), piece.end.min(to));
        if advice.is_set() && piece.place == place {
            // It says the same again.
            if at < begin {
                open.insert((topic, who, at), Piece { end: begin, place, from_ns: at_ns });
            }
            open.insert((topic, who, begin), Piece { end, ..piece });
            at = end;
        } else {
            list.push(of(topic, begin, Piece { end, ..piece }, at_ns));
        }
    }
    if advice.is_set() && at < to {
        open.insert((topic, who, at), Piece { end: to, place, from_ns: at_ns });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{StreamId, TrackId};
    use proptest::prelude::*;

    fn said(at_ns: u64, advice: u64, place: Place, (address, bytes): (u64, u64)) -> Said {
        let what = What::Advice(Advice::of(advice).unwrap(), place);
        Said { at_ns, address, bytes, what, stream: StreamId::NONE, track: TrackId(0), row: 0, cut: false }
    }

    #[test]
    fn what_is_set_again_goes_on_and_what_is_set_elsewhere_takes_its_place() {
        let list = [
            said(10, 3, Place::Device(0), (0, 100)),
            said(20, 3, Place::Device(0), (50, 100)),
            said(30, 3, Place::Host, (40, 20)),
            said(40, 4, Place::None, (0, 200)),
        ];
        let rows: Vec<_> = in_force((0, 200), list.iter())
            .into_iter()
            .map(|one| (one.address, one.bytes, one.from_ns, one.until_ns, one.place))
            .collect();
        let (device, host) = (Place::Device(0), Place::Host);
        assert_eq!(
            rows,
            [
                (0, 40, 10, 40, device),
                (40, 10, 10, 30, device),
                (40, 20, 30, 40, host),
                (50, 10, 10, 30, device),
                (60, 40, 10, 40, device),
                (100, 50, 20, 40, device),
            ]
        );
    }

    #[test]
    fn each_processor_has_access_for_itself_and_without_a_size_it_is_all() {
        let list = [
            said(1, 5, Place::Device(0), (100, 0)),
            said(2, 5, Place::Device(1), (100, 8)),
            said(3, 6, Place::Device(0), (100, 4)),
        ];
        let rows: Vec<_> = in_force((100, 16), list.iter())
            .into_iter()
            .map(|one| (one.address, one.bytes, one.until_ns, one.place))
            .collect();
        let never = u64::MAX;
        let (zero, one) = (Place::Device(0), Place::Device(1));
        assert_eq!(rows, [(100, 4, 3, zero), (100, 8, never, one), (104, 12, never, zero)]);
    }

    proptest! {
        /// Against what each address was told by itself.
        #[test]
        fn each_address_has_what_it_was_told_last(
            steps in prop::collection::vec((1u64..7, 0u8..3, 0u64..40, 1u64..30), 0..60),
        ) {
            let place = |number: u8| if number == 2 { Place::Host } else { Place::Device(number) };
            let list: Vec<Said> = (1..)
                .zip(&steps)
                .map(|(at, &(advice, to, address, bytes))| said(at, advice, place(to), (address, bytes)))
                .collect();
            let found = in_force((5, 40), list.iter());
            for address in 0..80 {
                for at in 1..=steps.len() as u64 {
                    let mut expected = Vec::new();
                    if (5..45).contains(&address) {
                        let about = |topic, to: Option<Place>| {
                            list.iter().take(at as usize).rfind(|one| {
                                let What::Advice(advice, place) = one.what else { return false };
                                let is_here = one.address <= address && address < one.end();
                                is_here && advice.topic() == topic && to.is_none_or(|to| to == place)
                            })
                        };
                        let mut add = |topic, to| {
                            if let Some(one) = about(topic, to)
                                && let What::Advice(advice, place) = one.what
                                && advice.is_set()
                            {
                                expected.push((topic, if topic == Topic::ReadMostly { Place::None } else { place }));
                            }
                        };
                        add(Topic::ReadMostly, None);
                        add(Topic::PreferredLocation, None);
                        (0..3).for_each(|number| add(Topic::AccessedBy, Some(place(number))));
                    }
                    let holds = |one: &&InForce| {
                        one.address <= address && address < one.address + one.bytes && one.from_ns <= at && at < one.until_ns
                    };
                    let mut now: Vec<_> = found.iter().filter(holds).map(|one| (one.topic, one.place)).collect();
                    now.sort_unstable();
                    expected.sort_unstable();
                    prop_assert_eq!(now, expected, "{} at {}", address, at);
                }
            }
        }
    }
}
