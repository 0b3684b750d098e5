//! Counters. The model has no place for them: of each it is told how far it went.

use super::event::{Event, micros, raw_of};
use super::mapping::{arguments, words};
use rustc_hash::FxHashMap;

/// Counters that are told apart.
const SERIES: usize = 16;
/// Longest value that is kept as it stands, bytes.
const LONGEST: usize = 32;

/// All counters of an input.
#[derive(Debug, Default)]
pub struct Counters {
    /// By name and key, with a zero between.
    by_name: FxHashMap<Vec<u8>, usize>,
    series: Vec<Series>,
    /// Values of further ones.
    beyond: u64,
}

#[derive(Debug)]
struct Series {
    name: String,
    count: u64,
    first: Sample,
    last: Sample,
    least: Sample,
    most: Sample,
}

#[derive(Clone, Debug)]
struct Sample {
    ns: i64,
    value: f64,
    text: String,
}

impl Counters {
    /// An event of phase `C`; it has a value for each of its series.
    pub fn take(&mut self, event: &Event<'_>) {
        let ns = micros(&event.ts).unwrap_or(0);
        let name = raw_of(&event.name);
        arguments(&event.args, |key, value| {
            let text = raw_of(&value);
            let number = std::str::from_utf8(text).ok().filter(|text| text.len() <= LONGEST);
            let Some((text, value)) = number.and_then(|text| Some((text, text.parse::<f64>().ok()?))) else { return };
            if value.is_finite() {
                self.add(name, key, &Sample { ns, value, text: text.to_owned() });
            }
        });
    }

    fn add(&mut self, name: &[u8], key: &[u8], sample: &Sample) {
        let named = [name, b"\0", key].concat();
        let at = match self.by_name.get(&named) {
            Some(&at) => at,
            None if self.series.len() < SERIES => {
                let words =
                    if key == b"value" || key == name { words(name) } else { words(&[name, b" ", key].concat()) };
                let of = || sample.clone();
                self.series.push(Series { name: words, count: 0, first: of(), last: of(), least: of(), most: of() });
                self.by_name.insert(named, self.series.len() - 1);
                self.series.len() - 1
            }
            None => {
                self.beyond += 1;
                return;
            }
        };
        let Some(series) = self.series.get_mut(at) else { return };
        series.count += 1;
        let Series { first, last, least, most, .. } = series;
        let is = [sample.ns < first.ns, sample.ns >= last.ns, sample.value < least.value, sample.value > most.value];
        for (place, _) in [first, last, least, most].into_iter().zip(is).filter(|(_, is)| *is) {
            place.clone_from(sample);
        }
    }

    /// A line for each.
    pub fn lines(&self) -> impl Iterator<Item = String> {
        let each = self.series.iter().map(|series| {
            let Series { name, count, first, last, least, most } = series;
            let values = if *count == 1 { "value" } else { "values" };
            let (first, last, least, most) = (&first.text, &last.text, &least.text, &most.text);
            format!("counter {name}, not shown: {count} {values} from {least} to {most}, first {first}, last {last}")
        });
        each.chain((self.beyond > 0).then(|| format!("values of further counters, not shown: {}", self.beyond)))
    }
}
