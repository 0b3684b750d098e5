//! The heatmap as text and as JSON.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::session::Loaded;
use crate::session::view::{
    Body, HEAT_LEGEND, HeatMark, HeatRequest, HeatRows, HeatSubject, Measure, Sums, View, heat_glyph, heat_letter,
    heat_shades,
};
use crate::trace::value::size;

/// Cells of the labels to the left.
const LABEL: usize = 11;
/// Lines that are no cells: heading, moves, kernels, times, two of the legend.
const AROUND: u16 = 6;

/// Whose addresses are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum HeatOf {
    /// Those of the busiest allocation.
    #[default]
    Busiest,
    /// All.
    All,
    /// Those of the allocation with this address in it.
    Address(u64),
    /// Those of that which comes at this place by how busy it is, from 1.
    Number(usize),
}

impl std::str::FromStr for HeatOf {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("'{text}' is none of busiest, all, an address (0x7f..), a number (2: the second busiest)");
        match text {
            "busiest" => Ok(Self::Busiest),
            "all" => Ok(Self::All),
            _ => match text.strip_prefix("0x") {
                Some(digits) => u64::from_str_radix(digits, 16).map(Self::Address).map_err(|_| wrong()),
                None => text.parse().ok().filter(|&number| number > 0).map(Self::Number).ok_or_else(wrong),
            },
        }
    }
}

/// How it is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeatLook {
    /// Characters in a line, and lines.
    pub size: (u16, u16),
    /// With colours.
    pub colour: bool,
    /// With characters beyond ASCII.
    pub unicode: bool,
}

/// The picture of an allocation, lines and columns for this size.
fn picture(loaded: &mut Loaded, of: HeatOf, (width, height): (u16, u16)) -> Result<HeatRows, String> {
    let columns = width.saturating_sub(LABEL as u16).max(1);
    let lines = height.saturating_sub(AROUND + more_of_legend(width)).max(1);
    let mut request = HeatRequest { lines, columns, ..HeatRequest::default() };
    let mut ask = |request: HeatRequest| match loaded.view(View::Heatmap(request)).body {
        Body::Heatmap(rows) => rows,
        _ => HeatRows::default(),
    };
    request.subject = match of {
        HeatOf::Busiest | HeatOf::Number(_) => HeatSubject::Busiest,
        HeatOf::All => HeatSubject::All,
        HeatOf::Address(address) => HeatSubject::Holding(address),
    };
    let mut rows = ask(request);
    if let HeatOf::Number(number) = of {
        if number > rows.places {
            return Err(format!("there are {} places in which anything happened, no number {number}", rows.places));
        }
        for _ in 1..number {
            request.subject = rows.next;
            rows = ask(request);
        }
    }
    match (of, rows.lines.last().zip(rows.lines.first())) {
        (HeatOf::Address(address), Some((low, high))) if !(low.at.1..high.to).contains(&address) => {
            Err(format!("nothing happened in an allocation with {address:#x} in it"))
        }
        _ => Ok(rows),
    }
}

/// As text.
///
/// # Errors
/// If there is no such allocation.
pub fn heatmap(loaded: &mut Loaded, of: HeatOf, look: HeatLook) -> Result<String, String> {
    let rows = picture(loaded, of, look.size)?;
    if let Some(why) = &rows.why_empty {
        return Ok(format!("{why}\n"));
    }
    let colour = HeatRequest::default().colour;
    let paint = |mark: HeatMark, text: &str| match code(mark).filter(|_| look.colour && !text.trim().is_empty()) {
        Some(code) => format!("\x1b[{code}m{text}\x1b[0m"),
        None => text.to_owned(),
    };
    let mut out = String::new();
    let number = if rows.number > 0 { format!("   {} of {}", rows.number, rows.places) } else { String::new() };
    let (row, column) = (size(1 << rows.bits.min(63)), duration(rows.column_ns));
    // Writing to a String cannot fail.
    let _ = writeln!(out, "{}{number}   row {row}   column {column}   by {}", rows.label, colour.word());
    let bar = if look.unicode { "│" } else { "|" };
    for line in &rows.lines {
        let label = match (rows.subject, line.place) {
            (HeatSubject::All, Some(place)) => format!("#{place}"),
            _ => format!("+{}", size(line.offset)),
        };
        let _ = write!(out, "{label:<width$}{bar}", width = LABEL - 1);
        let mut cells = String::new();
        for &cell in &line.cells {
            cells.push_str(&paint(cell.mark, heat_glyph(cell, colour, look.unicode)));
        }
        let _ = writeln!(out, "{}", cells.trim_end());
    }
    let moves: String = rows.moves.iter().map(|&mark| paint(mark, heat_letter(mark))).collect();
    let _ = writeln!(out, "{:<width$}{bar}{}", "moves", moves.trim_end(), width = LABEL - 1);
    let kernels: String = rows
        .kernels
        .iter()
        .map(|&share| match share {
            0 => " ",
            1..500 => "-",
            _ => "=",
        })
        .collect();
    let kernels = if rows.kernels.is_empty() { "none recorded" } else { kernels.trim_end() };
    let _ = writeln!(out, "{:<width$}{bar}{kernels}", "kernels", width = LABEL - 1);
    let columns = rows.moves.len();
    let end = rows.from_ns.saturating_add(rows.column_ns.saturating_mul(columns as u64));
    let (from, to) = (seconds(rows.from_ns), seconds(end));
    let gap = columns.saturating_sub(from.len());
    let _ = writeln!(out, "{:LABEL$}{from}{to:>gap$}", "");
    legend(&mut out, &rows, look, paint);
    Ok(out)
}

fn legend(out: &mut String, rows: &HeatRows, look: HeatLook, paint: impl Fn(HeatMark, &str) -> String) {
    let [moved, ahead] = heat_shades(look.unicode);
    let [second, third, fourth] = rows.scale;
    let texts = [format!("below {}", size(second)), size(second), size(third), format!("{} and more", size(fourth))];
    // What is printed of each, and how many characters of it are seen.
    let shade = |((moved, ahead), text): ((&&str, &&str), String)| {
        let (shown, there) = (paint(HeatMark::ToDevice, moved), paint(HeatMark::AheadToDevice, ahead));
        let seen = moved.chars().count() + ahead.chars().count() + 1 + text.chars().count();
        (format!("{shown}{there} {text}"), seen)
    };
    let shades: Vec<_> = moved.iter().zip(ahead.iter()).zip(texts).map(shade).collect();
    let marks = HEAT_LEGEND.into_iter().filter(|(mark, _)| rows.has_faults || *mark != HeatMark::Missed);
    let mark = |(mark, text): (HeatMark, &str)| {
        let letter = heat_letter(mark);
        (format!("{} {text}", paint(mark, letter)), letter.chars().count() + 1 + text.chars().count())
    };
    let width = usize::from(look.size.0);
    folded(out, "legend   ", &shades, width);
    folded(out, "         ", &marks.map(mark).collect::<Vec<_>>(), width);
}

/// Lines of the legend beyond two, as many as it may take in lines of so many characters.
fn more_of_legend(width: u16) -> u16 {
    let longest = ["below 1023 KiB", "1023 KiB", "1023 KiB", "1023 KiB and more"].map(|text| text.len() + 3);
    let marks: Vec<usize> = HEAT_LEGEND.iter().map(|(_, text)| text.len() + 2).collect();
    let lines = |texts: &[usize]| {
        let texts: Vec<(String, usize)> = texts.iter().map(|&seen| (String::new(), seen)).collect();
        let mut out = String::new();
        folded(&mut out, "legend   ", &texts, usize::from(width));
        out.lines().count()
    };
    u16::try_from((lines(&longest) + lines(&marks)).saturating_sub(2)).unwrap_or(u16::MAX)
}

/// Writes texts side by side in lines of so many characters behind a word; of each text is told how many are seen of it.
fn folded(out: &mut String, word: &str, texts: &[(String, usize)], width: usize) {
    let indent = word.chars().count();
    out.push_str(word);
    let mut used = indent;
    for (text, seen) in texts {
        if used > indent && used + 2 + seen > width {
            let _ = write!(out, "\n{:indent$}", "");
            used = indent;
        }
        let _ = write!(out, "  {text}");
        used += 2 + seen;
    }
    out.push('\n');
}

/// Colour of what happened, as the terminal has it.
const fn code(mark: HeatMark) -> Option<u8> {
    match mark {
        HeatMark::Nothing => None,
        HeatMark::ToDevice | HeatMark::ToHost | HeatMark::BothWays => Some(31),
        HeatMark::AheadToDevice | HeatMark::AheadToHost => Some(34),
        HeatMark::Evicted | HeatMark::Thrashed => Some(33),
        HeatMark::Mapped => Some(36),
        HeatMark::Missed => Some(35),
        HeatMark::OnHost | HeatMark::OnDevice(_) | HeatMark::OnSeveral => None,
    }
}

/// To a tenth of its unit.
fn duration(ns: u64) -> String {
    let (unit, name) = match ns {
        ..1_000_000 => (1_000, "us"),
        1_000_000..1_000_000_000 => (1_000_000, "ms"),
        _ => (1_000_000_000, "s"),
    };
    format!("{}.{} {name}", ns / unit, ns % unit * 10 / unit)
}

fn seconds(ns: u64) -> String {
    format!("{}.{:06} s", ns / 1_000_000_000, ns % 1_000_000_000 / 1_000)
}

/// As JSON, with the sums of each cell; what was not recorded is null.
///
/// # Errors
/// If there is no such allocation.
pub fn heatmap_json(loaded: &mut Loaded, of: HeatOf, size: (u16, u16)) -> Result<String, String> {
    let rows = picture(loaded, of, size)?;
    let columns = rows.moves.len();
    let pid = |process: u16| loaded.trace().processes.get(usize::from(process)).map(|process| process.pid);
    // The sums stand the lowest row first.
    let cells: Vec<&[Sums]> = loaded.heat_sums().chunks(columns.max(1)).collect();
    let lines = rows.lines.iter().rev().zip(cells).map(|(line, cells)| {
        let of = |measure: Measure| cells.iter().map(|cell| cell.get(measure)).collect::<Vec<u64>>();
        let faults = |measure| if rows.has_faults { json!(of(measure)) } else { Value::Null };
        json!({
            "process": pid(line.at.0),
            "address": line.at.1,
            "bytes": line.to - line.at.1,
            "h2d_bytes": of(Measure::ToDevice),
            "d2h_bytes": of(Measure::ToHost),
            "d2d_bytes": of(Measure::Between),
            "prefetched_to_device_bytes": of(Measure::PrefetchedToDevice),
            "prefetched_to_host_bytes": of(Measure::PrefetchedToHost),
            "evicted_bytes": of(Measure::Evicted),
            "faults": faults(Measure::Faults),
            "remote_maps": faults(Measure::RemoteMaps),
            "thrashing": faults(Measure::Thrashing),
        })
    });
    let kernels = if rows.kernels.is_empty() { Value::Null } else { json!(rows.kernels) };
    let value = json!({
        "schema": 1,
        "heatmap": {
            "why_empty": rows.why_empty,
            "label": rows.label,
            "number": rows.number,
            "places": rows.places,
            "start_ns": rows.from_ns,
            "column_ns": rows.column_ns,
            "columns": columns,
            "row_bytes": 1u64 << rows.bits.min(63),
            "rows": lines.collect::<Vec<Value>>(),
            "kernels_permille": kernels,
        },
    });
    serde_json::to_string_pretty(&value).map(|text| super::printable(&text) + "\n").map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn recorded(name: &str) -> Loaded {
        Loaded::load_all(&[Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)]).unwrap()
    }

    fn bounce() -> Loaded {
        recorded("h200-bounce.log")
    }

    #[test]
    fn pages_that_bounce_at_three_sizes() {
        at_three_sizes("bounce", bounce());
    }

    #[test]
    fn the_demos_ping_pong_at_three_sizes() {
        at_three_sizes("pingpong", recorded("demo-pingpong.log.gz"));
    }

    fn at_three_sizes(recorded: &str, mut loaded: Loaded) {
        for size in [(40, 12), (80, 24), (200, 50)] {
            for (colour, unicode) in [(false, false), (true, true)] {
                let text = heatmap(&mut loaded, HeatOf::Busiest, HeatLook { size, colour, unicode }).unwrap();
                assert!(unicode || text.is_ascii());
                assert!(text.lines().count() <= usize::from(size.1));
                let name = format!("{recorded}_{}x{}_{}", size.0, size.1, if colour { "colour" } else { "ascii" });
                insta::with_settings!({ omit_expression => true }, {
                    insta::assert_snapshot!(name, text.replace('\x1b', "^"));
                });
            }
        }
    }

    #[test]
    fn the_matrix_is_right_to_the_byte() {
        const MIB: u64 = 1 << 20;
        let mut loaded = bounce();
        for (of, size) in [(HeatOf::Busiest, (80, 24)), (HeatOf::All, (33, 9)), (HeatOf::Number(1), (300, 100))] {
            let json: Value = serde_json::from_str(&heatmap_json(&mut loaded, of, size).unwrap()).unwrap();
            let heat = &json["heatmap"];
            let sum = |key: &str| -> u64 {
                let rows = heat["rows"].as_array().unwrap().iter();
                rows.flat_map(|row| row[key].as_array().unwrap()).map(|cell| cell.as_u64().unwrap()).sum()
            };
            // One round by faults and one with a prefetch, of 1 MiB.
            assert_eq!((sum("h2d_bytes"), sum("prefetched_to_device_bytes")), (MIB, MIB), "{of:?}");
            assert_eq!((sum("d2h_bytes"), sum("prefetched_to_host_bytes"), sum("evicted_bytes")), (2 * MIB, 0, 0));
            assert_eq!(sum("faults"), 15 + 3);
            assert_eq!(
                heat["rows"][0]["h2d_bytes"].as_array().unwrap().len() as u64,
                heat["columns"].as_u64().unwrap()
            );
        }
    }

    #[test]
    fn the_demos_pages_bounce_in_each_of_its_rounds() {
        const MIB: u64 = 1 << 20;
        let mut loaded = recorded("demo-pingpong.log.gz");
        let json: Value =
            serde_json::from_str(&heatmap_json(&mut loaded, HeatOf::Busiest, (200, 50)).unwrap()).unwrap();
        for row in json["heatmap"]["rows"].as_array().unwrap() {
            let sum =
                |key: &str| -> u64 { row[key].as_array().unwrap().iter().map(|cell| cell.as_u64().unwrap()).sum() };
            let bytes = row["bytes"].as_u64().unwrap_or(2 * MIB);
            // Two rounds, and nothing was asked for ahead.
            assert_eq!((sum("h2d_bytes"), sum("d2h_bytes")), (2 * bytes, 2 * bytes), "{row}");
            assert_eq!(sum("prefetched_to_device_bytes") + sum("evicted_bytes"), 0);
        }
    }

    #[test]
    fn what_is_not_there_is_said() {
        let mut loaded = bounce();
        let look = HeatLook { size: (80, 24), colour: false, unicode: false };
        let error = heatmap(&mut loaded, HeatOf::Number(9), look).unwrap_err();
        assert!(error.contains("no number 9"), "{error}");
        let error = heatmap(&mut loaded, HeatOf::Address(7), look).unwrap_err();
        assert!(error.contains("0x7"), "{error}");
        for (text, wanted) in [
            ("all", Ok(HeatOf::All)),
            ("0x7f00", Ok(HeatOf::Address(0x7f00))),
            ("2", Ok(HeatOf::Number(2))),
            ("0", Err(())),
            ("0xq", Err(())),
            ("grid", Err(())),
        ] {
            assert_eq!(text.parse::<HeatOf>().map_err(drop), wanted, "{text}");
        }
        let step = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/h200-step.log");
        let text = heatmap(&mut Loaded::load_all(&[step]).unwrap(), HeatOf::Busiest, look).unwrap();
        assert!(text.contains("no unified memory"), "{text}");
    }
}
