//! An SQLite database, opened so that nothing is written to it or beside it, and read with bounds.

use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};
use rustc_hash::FxHashMap;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::parse::ParseError;

/// Longest value that is read, bytes; a longer one is an error where it stands.
const VALUE_MAX: i32 = 16 << 20;
/// Beyond this floating point does not hold every whole number.
const WHOLE_MAX: f64 = (1u64 << 53) as f64;
/// Most tables that are looked at.
const TABLES_MAX: usize = 4096;
/// No row of a table takes fewer bytes: a cell's place and its payload.
const ROW_MIN_BYTES: u64 = 4;

/// A database and which tables and columns it has.
pub struct Database {
    connection: Connection,
    tables: FxHashMap<String, Vec<String>>,
    views: Vec<String>,
    most_rows: u64,
    cut: Option<String>,
}

/// How far a table could be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    /// Rows that were read.
    pub rows: u64,
    /// Why there are no more, if that is not because it ended.
    pub why: Option<String>,
}

/// A row of a table, of the columns that are known to this reader.
pub trait Row: Sized {
    /// The table.
    const TABLE: &'static str;
    /// Its columns, in the order in which [`Row::of`] takes them.
    const COLUMNS: &'static [&'static str];

    /// From values in the order of [`Row::COLUMNS`]; those of missing columns are null.
    fn of(values: &Values<'_, '_>) -> Self;
}

/// The values of a row.
pub struct Values<'a, 'b>(&'a rusqlite::Row<'b>);

/// What a column may hold; a value of another type is taken for none.
pub trait Field: Sized {
    /// From a value.
    fn of(value: ValueRef<'_>) -> Option<Self>;
}

impl Field for i64 {
    fn of(value: ValueRef<'_>) -> Option<Self> {
        match value {
            ValueRef::Integer(number) => Some(number),
            // Of columns that were declared as another type.
            ValueRef::Real(number) if number.fract() == 0.0 && number.abs() < WHOLE_MAX => Some(number as Self),
            ValueRef::Text(text) => std::str::from_utf8(text).ok()?.parse().ok(),
            _ => None,
        }
    }
}

impl Field for f64 {
    fn of(value: ValueRef<'_>) -> Option<Self> {
        match value {
            ValueRef::Real(number) => Some(number),
            ValueRef::Integer(number) => Some(number as Self),
            ValueRef::Text(text) => std::str::from_utf8(text).ok()?.parse().ok(),
            _ => None,
        }
    }
}

impl Field for String {
    fn of(value: ValueRef<'_>) -> Option<Self> {
        match value {
            // Some writers bind text as bytes.
            ValueRef::Text(text) | ValueRef::Blob(text) => Some(Self::from_utf8_lossy(text).into_owned()),
            ValueRef::Integer(number) => Some(number.to_string()),
            ValueRef::Real(number) => Some(number.to_string()),
            _ => None,
        }
    }
}

/// Whether there is anything.
impl Field for bool {
    fn of(value: ValueRef<'_>) -> Option<Self> {
        (value != ValueRef::Null).then_some(true)
    }
}

impl Values<'_, '_> {
    /// The value of a column.
    #[must_use]
    pub fn get<F: Field>(&self, column: usize) -> Option<F> {
        F::of(self.0.get_ref(column).ok()?)
    }
}

impl Database {
    /// Opens `path`; `name` is what errors call it.
    ///
    /// # Errors
    /// When it is no database, when its list of tables cannot be read, or when what belongs to it lies in a file beside
    /// it: reading that would mean writing.
    pub fn open(path: &Path, name: &str) -> Result<Self, ParseError> {
        let failed = |what: String| ParseError::Format { file: name.to_owned(), what };
        for (suffix, what) in [("-wal", "write-ahead log"), ("-journal", "rollback journal")] {
            let mut beside = OsString::from(path);
            beside.push(suffix);
            if std::fs::metadata(&beside).is_ok_and(|file| file.len() > 0) {
                let what = format!(
                    "the {what} beside it (\"{suffix}\") holds part of the database: it is being written, or was not \
                     closed; close it with `sqlite3 FILE 'PRAGMA journal_mode=DELETE'`, or export it again"
                );
                return Err(failed(what));
            }
        }
        let bytes = std::fs::metadata(path).map_or(0, |file| file.len());
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let cut = cut_off(path, bytes);
        let open = || -> rusqlite::Result<Self> {
            let connection = Connection::open_with_flags(uri(path), flags)?;
            // Of a file that was cut off SQLite reads what is there only where its schema could be repaired. Nothing can
            // be written to it all the same.
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, cut.is_none())?;
            if cut.is_some() {
                connection.execute_batch("PRAGMA writable_schema=ON;")?;
            }
            // Nothing that the file says is to be executed.
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
            connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, VALUE_MAX)?;
            connection.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0)?;
            connection.execute_batch("PRAGMA cell_size_check=ON; PRAGMA mmap_size=0;").ok();
            let (tables, views) = tables(&connection)?;
            Ok(Self { connection, tables, views, most_rows: bytes / ROW_MIN_BYTES, cut: cut.clone() })
        };
        open().map_err(|error| failed(format!("the database cannot be read: {}", line(&error))))
    }

    /// Whether there is a table of this name.
    #[must_use]
    pub fn has(&self, table: &str) -> bool {
        self.tables.contains_key(table)
    }

    /// Names of views, which are not read: they would compute something.
    #[must_use]
    pub fn views(&self) -> &[String] {
        &self.views
    }

    /// How much of the file is missing, if it says that it is longer.
    #[must_use]
    pub fn cut(&self) -> Option<&str> {
        self.cut.as_deref()
    }

    /// Whether a table has a column.
    #[must_use]
    pub fn has_column(&self, table: &str, column: &str) -> bool {
        self.tables.get(table).is_some_and(|columns| columns.iter().any(|known| known == column))
    }

    /// Names of its tables, in order.
    #[must_use]
    pub fn tables(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.tables.keys().map(String::as_str).collect();
        names.sort_unstable();
        names
    }

    /// Number of the last row of a table, which is found without reading the table.
    #[must_use]
    pub fn last_row(&self, table: &str) -> Option<i64> {
        self.tables.get(table)?;
        let query = format!("SELECT max(rowid) FROM {}", quoted(table));
        self.connection.query_row(&query, [], |row| row.get(0)).ok()
    }

    /// Hands over the rows of a table in the order in which they lie there, until `take` says that it has enough; none
    /// if there is no such table.
    pub fn each<R: Row>(&self, take: impl FnMut(R) -> bool) -> Extent {
        self.each_where("", take)
    }

    /// Likewise, those that a condition holds for.
    pub(super) fn each_where<R: Row>(&self, condition: &'static str, mut take: impl FnMut(R) -> bool) -> Extent {
        let mut extent = Extent::default();
        let Some(known) = self.tables.get(R::TABLE) else { return extent };
        let columns: Vec<String> = R::COLUMNS
            .iter()
            .map(|column| if known.iter().any(|name| name == column) { quoted(column) } else { "NULL".to_owned() })
            .collect();
        // An index that holds the columns would be read in its own order.
        let query = format!("SELECT {} FROM {} NOT INDEXED {condition}", columns.join(","), quoted(R::TABLE));
        let result = (|| {
            let mut statement = self.connection.prepare(&query)?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                if extent.rows >= self.most_rows {
                    // Pages that are part of the tree many times.
                    extent.why = Some("more rows than the file can hold".to_owned());
                    break;
                }
                extent.rows += 1;
                if !take(R::of(&Values(row))) {
                    break;
                }
            }
            rusqlite::Result::Ok(())
        })();
        if let Err(error) = result {
            extent.why = Some(line(&error));
        }
        extent
    }
}

/// What is missing of a file of `bytes` bytes whose header says that it has more pages.
fn cut_off(path: &Path, bytes: u64) -> Option<String> {
    use std::io::Read as _;
    let mut header = [0; 100];
    std::fs::File::open(path).ok()?.read_exact(&mut header).ok()?;
    let word = |at: usize| header.get(at..at + 4)?.try_into().ok().map(u32::from_be_bytes);
    let page = match u16::from_be_bytes(header.get(16..18)?.try_into().ok()?) {
        1 => 65_536,
        size => u64::from(size),
    };
    // The number of pages counts if the two counters of changes are the same.
    let pages = word(28).filter(|&pages| pages > 0 && word(24) == word(92))?;
    let whole = u64::from(pages) * page;
    (bytes < whole).then(|| format!("the database was cut off: {bytes} of its {whole} bytes are there"))
}

/// Tables and their columns.
type Tables = FxHashMap<String, Vec<String>>;

/// Tables proper and their columns: no views, virtual tables or generated columns, which would compute something. And
/// the names of the views.
fn tables(connection: &Connection) -> rusqlite::Result<(Tables, Vec<String>)> {
    let mut views = Vec::new();
    let mut statement = connection.prepare("SELECT name FROM sqlite_master WHERE type = 'view'")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        views.extend(Values(row).get::<String>(0).filter(|_| views.len() < TABLES_MAX));
    }
    let mut names = Vec::new();
    let mut statement = connection.prepare("SELECT name, sql FROM sqlite_master WHERE type = 'table'")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let values = Values(row);
        let (name, sql): (Option<String>, Option<String>) = (values.get(0), values.get(1));
        let made = sql.unwrap_or_default().trim_start().to_ascii_uppercase();
        if let Some(name) = name.filter(|_| made.starts_with("CREATE TABLE") && names.len() < TABLES_MAX) {
            names.push(name);
        }
    }
    let mut tables = FxHashMap::default();
    for name in names {
        let mut columns = Vec::new();
        let mut statement = connection.prepare(&format!("PRAGMA table_xinfo({})", quoted(&name)))?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let values = Values(row);
            let (column, hidden): (Option<String>, Option<i64>) = (values.get(1), values.get(6));
            columns.extend(column.filter(|_| hidden == Some(0)));
        }
        tables.insert(name, columns);
    }
    Ok((tables, views))
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// The file as it is: no locks, no journal, nothing made beside it.
fn uri(path: &Path) -> String {
    let mut text = String::from("file:");
    for &byte in path.as_os_str().as_bytes() {
        if byte.is_ascii_alphanumeric() || b"/._-~".contains(&byte) {
            text.push(char::from(byte));
        } else {
            let _ = write!(text, "%{byte:02x}");
        }
    }
    text.push_str("?mode=ro&immutable=1");
    text
}

/// SQLite's word for what is wrong, in one line.
fn line(error: &rusqlite::Error) -> String {
    let text = match error {
        rusqlite::Error::SqliteFailure(_, Some(text)) => text.clone(),
        other => other.to_string(),
    };
    text.split(char::is_control).collect::<Vec<_>>().join(" ")
}
