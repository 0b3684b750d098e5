//! Tables of text and of CSV.

/// Most columns of a table.
const COLUMNS: usize = 64;

/// A heading of a table, and how its rows are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// Names of the columns.
    pub names: Vec<String>,
    /// Their units; empty where a value has its own.
    pub units: Vec<String>,
    form: Form,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Form {
    Csv,
    /// Where each heading begins and ends, in letters. Values end where their heading does; of the last column they
    /// begin there.
    Text(Vec<(usize, usize)>),
}

/// Name of pages that moved from one device to another.
const BETWEEN_DEVICES: &str = "[Unified Memory Memcpy DtoD]";

/// Names that the first column of a table of text has.
const FIRST: &[&str] = &["Start", "Type", "Time(%)", "Count", "Device", "Time"];

impl Table {
    /// From a heading; `None` if a line is none.
    #[must_use]
    pub fn of(line: &str) -> Option<Self> {
        let csv = line.trim_start().starts_with('"');
        let (names, form) = if csv {
            (fields(line), Form::Csv)
        } else {
            let cells = cells(line);
            let places = cells.iter().map(|cell| (cell.start, cell.end)).collect();
            (cells.into_iter().map(|cell| cell.text.to_owned()).collect(), Form::Text(places))
        };
        // A star says that there is a legend.
        let names: Vec<String> = names.into_iter().map(|name: String| name.trim_end_matches('*').to_owned()).collect();
        let has = |name: &str| names.iter().any(|known| known == name);
        let is_known = match form {
            // In any order.
            Form::Csv => (has("Start") && has("Duration")) || has("Calls") || has("Count") || has("Total Size"),
            Form::Text(_) => FIRST.contains(&names.first()?.as_str()),
        };
        let is_one = is_known && has("Name") && names.len() >= 3 && names.len() <= COLUMNS;
        is_one.then(|| Self { units: vec![String::new(); names.len()], names, form })
    }

    /// Whether it is CSV, whose next line has the units.
    #[must_use]
    pub fn has_unit_row(&self) -> bool {
        self.form == Form::Csv
    }

    /// Takes the row of units; whether it is one.
    pub fn take_units(&mut self, line: &str) -> bool {
        const UNITS: &[&str] =
            &["", "s", "ms", "us", "ns", "B", "KB", "MB", "GB", "TB", "%", "B/s", "KB/s", "MB/s", "GB/s", "TB/s"];
        let units = fields(line);
        let fits = units.len() == self.names.len() && units.iter().all(|unit| UNITS.contains(&unit.as_str()));
        if fits {
            self.units = units;
        }
        fits
    }

    /// The values of a row, one for each column; empty where there is none. `None` if a line is no row. One more is the
    /// device that pages moved to, of rows that name both.
    #[must_use]
    pub fn row(&self, line: &str) -> Option<Vec<String>> {
        match &self.form {
            Form::Csv => {
                let mut values = fields(line);
                // Of pages that moved between devices both stand there, without a column for the second.
                if values.len() == self.names.len() + 1
                    && let Some(device) = self.column("Device")
                    && line.contains(BETWEEN_DEVICES)
                {
                    let second = values.remove(device + 1);
                    values.push(second);
                    values.resize(self.names.len() + 1, String::new());
                    return Some(values);
                }
                if values.len() > self.names.len() {
                    return None;
                }
                if values.len() < 2 {
                    return None;
                }
                values.resize(self.names.len(), String::new());
                Some(values)
            }
            Form::Text(places) => self.text_row(line, places),
        }
    }

    fn text_row(&self, line: &str, places: &[(usize, usize)]) -> Option<Vec<String>> {
        let (&(name_starts, _), others) = places.split_last()?;
        let mut values = vec![String::new(); self.names.len()];
        let (front, name) = at_letter(line, name_starts);
        let mut filled = 0;
        for cell in cells(front) {
            // Right-aligned: the column whose heading ends nearest to where the value does, if it is somewhat too wide.
            let distance = |&(_, (_, end)): &(usize, &(usize, usize))| cell.end.abs_diff(*end);
            let (column, _) = others.iter().enumerate().min_by_key(distance)?;
            let place = values.get_mut(column)?;
            if !place.is_empty() {
                return None;
            }
            cell.text.clone_into(place);
            filled += 1;
        }
        if filled < 2 || name.trim().is_empty() {
            return None;
        }
        for value in &mut values {
            if value == "-" {
                value.clear();
            }
        }
        name.trim().clone_into(values.last_mut()?);
        Some(values)
    }

    /// Place of a column.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|known| known == name)
    }

    /// The second device of a row, if it names two.
    #[must_use]
    pub fn second_device<'a>(&self, row: &'a [String]) -> Option<&'a str> {
        row.get(self.names.len()).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// A row's value in a column, if there is one, and its unit.
    #[must_use]
    pub fn get<'a>(&'a self, row: &'a [String], name: &str) -> Option<(&'a str, &'a str)> {
        let column = self.column(name)?;
        let value = row.get(column).map(String::as_str).filter(|value| !value.is_empty() && *value != "-")?;
        Some((value, self.units.get(column).map_or("", String::as_str)))
    }
}

/// A value of a line of text, with where it begins and ends, in letters.
struct Cell<'a> {
    text: &'a str,
    start: usize,
    end: usize,
}

/// What two spaces or more keep apart.
fn cells(line: &str) -> Vec<Cell<'_>> {
    let mut list = Vec::new();
    let mut open: Option<(usize, usize)> = None;
    let mut last = (0, 0);
    let mut spaces = 2;
    let mut push = |open: (usize, usize), last: (usize, usize)| {
        if list.len() <= COLUMNS {
            list.push(Cell { text: line.get(open.0..last.0).unwrap_or(""), start: open.1, end: last.1 });
        }
    };
    for (letter, (at, character)) in line.char_indices().enumerate() {
        if character == ' ' || character == '\t' {
            spaces += if character == '\t' { 2 } else { 1 };
            continue;
        }
        if spaces >= 2
            && let Some(open) = open.take()
        {
            push(open, last);
        }
        open.get_or_insert((at, letter));
        last = (at + character.len_utf8(), letter + 1);
        spaces = 0;
    }
    if let Some(open) = open {
        push(open, last);
    }
    list
}

/// A line before and from a letter on.
fn at_letter(line: &str, letter: usize) -> (&str, &str) {
    let at = line.char_indices().nth(letter).map_or(line.len(), |(at, _)| at);
    line.split_at(at)
}

/// Fields of a line of CSV.
fn fields(line: &str) -> Vec<String> {
    let mut list = Vec::new();
    let mut field = String::new();
    let mut quoted = false;
    let mut letters = line.trim_end().chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' if quoted && letters.peek() == Some(&'"') => {
                field.push('"');
                letters.next();
            }
            '"' => quoted = !quoted,
            ',' if !quoted => list.push(std::mem::take(&mut field)),
            other => field.push(other),
        }
        if list.len() > COLUMNS {
            break;
        }
    }
    list.push(field);
    list
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn text_by_where_headings_end() {
        let head = "   Start  Duration            Grid Size      Block Size     Regs*           Device   Context    Stream  Name";
        let line = "134.62ms  780.99us             (12 1 1)        (32 1 1)         9   Tesla K40m (0)         1         7  add(int *, int) [109]";
        let copy = "133.81ms  781.52us                    -               -         -   Tesla K40m (0)         1         7  [CUDA memcpy HtoD]";
        let table = Table::of(head).unwrap();
        assert_eq!(table.names[4], "Regs");
        let row = table.row(line).unwrap();
        assert_eq!(table.get(&row, "Grid Size"), Some(("(12 1 1)", "")));
        assert_eq!(table.get(&row, "Device"), Some(("Tesla K40m (0)", "")));
        assert_eq!(table.get(&row, "Name"), Some(("add(int *, int) [109]", "")));
        let row = table.row(copy).unwrap();
        assert_eq!(table.get(&row, "Grid Size"), None);
        assert_eq!(table.get(&row, "Name"), Some(("[CUDA memcpy HtoD]", "")));
        assert_eq!(table.row("Regs: Number of registers used per CUDA thread."), None);
        assert_eq!(Table::of("some output  of a  program"), None);
    }

    #[test]
    fn csv_with_units() {
        let mut table = Table::of("\"Start\",\"Duration\",\"Size\",\"Name\"").unwrap();
        assert!(table.has_unit_row() && table.take_units("s,ms,MB,"));
        let row = table.row("0.5,1.25,,\"add(int*, int)\"").unwrap();
        assert_eq!(table.get(&row, "Duration"), Some(("1.25", "ms")));
        assert_eq!(table.get(&row, "Size"), None);
        assert_eq!(table.get(&row, "Name"), Some(("add(int*, int)", "")));
        assert!(!table.take_units("0.5,1.25,,x"));
    }

    proptest! {
        #[test]
        fn any_lines(head in "(Start|Count|\"Start\")[ ,\"a-zN]{0,20}  Name|\\PC{0,40}", line in "\\PC{0,80}") {
            if let Some(mut table) = Table::of(&head) {
                let _ = table.take_units(&line);
                if let Some(row) = table.row(&line) {
                    prop_assert!(row.len() == table.names.len() || line.contains(BETWEEN_DEVICES));
                }
            }
        }
    }
}
