//! A line of a log.

/// Which column is where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Columns {
    thread: Option<usize>,
    time: usize,
    action: usize,
    pointer: usize,
    size: Option<usize>,
    stream: Option<usize>,
    /// How many there are.
    count: usize,
}

/// When something happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// Since midnight, ns, by the clock on the wall where the program ran.
    OfDay(u64),
    /// Since 1970, ns.
    Wall(u64),
}

/// What was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Memory was allocated.
    Allocate,
    /// It could not be.
    Failure,
    /// It was released.
    Free,
}

/// A line's content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// The thread, as it is written.
    pub thread: &'a str,
    /// When.
    pub time: Moment,
    /// What.
    pub action: Action,
    /// Address; zero for failures.
    pub pointer: u64,
    /// Bytes; `None` where that is not said.
    pub bytes: Option<u64>,
    /// The stream's handle.
    pub stream: Option<u64>,
}

impl Columns {
    /// From the header; `None` if it is none.
    #[must_use]
    pub fn of(header: &str) -> Option<Self> {
        let header = header.trim_start_matches('\u{feff}').trim_end();
        let names: Vec<String> = header.split(',').map(|name| name.trim().trim_matches('"').to_lowercase()).collect();
        let find = |wanted: &str| names.iter().position(|name| name == wanted);
        Some(Self {
            thread: find("thread"),
            time: find("time")?,
            action: find("action")?,
            pointer: find("pointer")?,
            size: find("size"),
            stream: find("stream"),
            count: names.len(),
        })
    }
}

/// Reads a line.
///
/// # Errors
/// What is wrong with it.
pub fn entry<'a>(line: &'a str, columns: &Columns) -> Result<Entry<'a>, &'static str> {
    let mut fields = [""; 32];
    let mut count = 0;
    for (field, text) in fields.iter_mut().zip(line.split(',')) {
        *field = text.trim().trim_matches('"');
        count += 1;
    }
    if count < columns.count {
        return Err("lines with too few columns");
    }
    if line.split(',').count() > columns.count {
        return Err("lines with too many columns");
    }
    let get = |column: usize| fields.get(column).copied().unwrap_or("");
    let maybe = |column: Option<usize>| column.map(get).filter(|text| !text.is_empty());
    let action = match get(columns.action).to_ascii_lowercase().as_str() {
        "allocate" => Action::Allocate,
        "allocate failure" => Action::Failure,
        "free" | "deallocate" => Action::Free,
        _ => return Err("lines with an unknown action"),
    };
    let pointer = match get(columns.pointer) {
        "" | "(nil)" | "nil" => 0,
        text => address(text).ok_or("lines with a wrong pointer")?,
    };
    Ok(Entry {
        thread: maybe(columns.thread).unwrap_or(""),
        time: moment(get(columns.time)).ok_or("lines with a wrong time")?,
        action,
        pointer,
        bytes: match maybe(columns.size) {
            Some(text) => Some(text.parse().map_err(|_| "lines with a wrong size")?),
            None => None,
        },
        stream: maybe(columns.stream).and_then(address),
    })
}

/// Hexadecimal, with or without `0x`.
fn address(text: &str) -> Option<u64> {
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).unwrap_or(text);
    if digits.starts_with('+') { None } else { u64::from_str_radix(digits, 16).ok() }
}

/// `11:23:45.123456`, `11:23:45:123456`, or seconds since 1970 with a fraction.
fn moment(text: &str) -> Option<Moment> {
    if !text.contains(':') {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        return Some(Moment::Wall(digits(whole)?.checked_mul(SECOND)?.checked_add(of_second(fraction)?)?));
    }
    let mut parts = text.splitn(3, ':');
    let hours = digits(parts.next()?)?;
    let minutes = digits(parts.next()?)?;
    let rest = parts.next()?;
    let (seconds, fraction) = rest.split_once(['.', ':']).unwrap_or((rest, ""));
    let seconds = digits(seconds)?;
    if hours > 24 || minutes > 59 || seconds > 60 {
        return None;
    }
    Some(Moment::OfDay((hours * 3600 + minutes * 60 + seconds) * SECOND + of_second(fraction)?))
}

const SECOND: u64 = 1_000_000_000;

fn digits(text: &str) -> Option<u64> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) { text.parse().ok() } else { None }
}

/// Digits after the point, as ns; what is finer is cut.
fn of_second(fraction: &str) -> Option<u64> {
    if !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let nine = fraction.bytes().chain(std::iter::repeat(b'0')).take(9);
    Some(nine.fold(0, |sum, digit| sum * 10 + u64::from(digit - b'0')))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HEADER: &str = "Thread,Time,Action,Pointer,Size,Stream";

    #[test]
    fn lines_of_several_versions() {
        let columns = Columns::of(HEADER).unwrap();
        let one = entry("140202,11:23:45.123456,allocate,0x7f64a4000000,1024,0x0", &columns).unwrap();
        let time = Moment::OfDay((11 * 3600 + 23 * 60 + 45) * SECOND + 123_456_000);
        assert_eq!(
            one,
            Entry {
                thread: "140202",
                time,
                action: Action::Allocate,
                pointer: 0x7f64_a400_0000,
                bytes: Some(1024),
                stream: Some(0)
            }
        );
        let same = entry("140202,11:23:45:123456,allocate,7f64a4000000,1024,0", &columns).unwrap();
        assert_eq!(same, one);
        let wall = entry("1,1700000000.25,free,0x10,8,0x2\r", &columns).unwrap();
        assert_eq!((wall.time, wall.action), (Moment::Wall(1_700_000_000_250_000_000), Action::Free));
        let failed = entry("1,00:00:01,allocate failure,(nil),99999999999,0x1", &columns).unwrap();
        assert_eq!((failed.action, failed.pointer, failed.bytes), (Action::Failure, 0, Some(99_999_999_999)));
        let reordered = Columns::of("Time,Action,Pointer,Thread,Stream,Size").unwrap();
        assert_eq!(entry("00:00:01,free,0x1,7,0x0,5", &reordered).unwrap().thread, "7");
        assert_eq!(Columns::of("a,b,c"), None);
        assert!(entry("1,2,free", &columns).is_err() && entry("1,x,free,0x1,2,0", &columns).is_err());
        assert!(entry("1,00:00:01,frob,0x1,2,0", &columns).is_err());
    }

    proptest! {
        #[test]
        fn any_line_is_read_or_not(line in "\\PC{0,60}|([0-9a-fx:.,]|free|allocate){0,40}") {
            if let Some(columns) = Columns::of(HEADER) {
                let _ = entry(&line, &columns);
            }
            let _ = Columns::of(&line);
        }
    }
}
