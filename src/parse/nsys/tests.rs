use super::database::{Database, Row};
use super::rows::{Call, Kernel, Nvtx, StringId};
use proptest::prelude::*;
use rusqlite::Connection;
use std::path::Path;

fn make(path: &Path, script: &str) {
    let connection = Connection::open(path).unwrap();
    connection.execute_batch(script).unwrap();
}

fn all<R: Row>(database: &Database) -> (Vec<R>, Option<String>) {
    let mut rows = Vec::new();
    let extent = database.each::<R>(|row| {
        rows.push(row);
        true
    });
    assert_eq!(extent.rows, rows.len() as u64);
    (rows, extent.why)
}

const SMALL: &str = "CREATE TABLE StringIds(id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
    INSERT INTO StringIds VALUES (3, 'cudaFree_v3020'), (9, 'x');
    CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(returnValue INTEGER, \"end\" INTEGER, start INTEGER, nameId INTEGER);
    INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (0, 20, 10, 3), (2, NULL, 5, 9), (0, 'twelve', 1.5, x'00');
    CREATE INDEX trap ON CUPTI_ACTIVITY_KIND_RUNTIME(start, \"end\", returnValue, nameId);
    CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
        SELECT i AS start FROM n;";

#[test]
fn rows_come_as_they_lie_whatever_columns_there_are() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a %?#é.sqlite");
    make(&path, SMALL);
    let database = Database::open(&path, "a").unwrap();
    let (strings, why) = all::<StringId>(&database);
    assert_eq!((strings.len(), why), (2, None));
    assert_eq!(strings[0], StringId { id: Some(3), value: Some("cudaFree_v3020".to_owned()) });
    let (calls, _) = all::<Call>(&database);
    assert_eq!(calls.iter().map(|call| call.start).collect::<Vec<_>>(), [Some(10), Some(5), None]);
    assert_eq!(calls.iter().map(|call| call.end).collect::<Vec<_>>(), [Some(20), None, None]);
    assert_eq!(calls[0].thread, None);
    assert!(!database.has("CUPTI_ACTIVITY_KIND_KERNEL"), "a view may compute for ever");
    assert_eq!(all::<Kernel>(&database), (Vec::new(), None));
    assert_eq!(all::<Nvtx>(&database), (Vec::new(), None));
    let beside: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(beside.len(), 1, "nothing is written beside it");
}

#[test]
fn a_journal_beside_it_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sqlite");
    make(&path, "PRAGMA journal_mode=WAL;");
    let writer = Connection::open(&path).unwrap();
    writer
        .execute_batch("CREATE TABLE StringIds(id INTEGER, value TEXT); INSERT INTO StringIds VALUES(1,'a');")
        .unwrap();
    let error = Database::open(&path, "a.sqlite").err().unwrap().to_string();
    assert!(error.contains("-wal") && error.lines().count() == 1, "{error}");
}

#[test]
fn what_is_no_database_is_said_in_a_line() {
    let folder = tempfile::tempdir().unwrap();
    for bytes in [&b"SQLite format 3\0 and no more"[..], b"", b"other"] {
        let path = folder.path().join("a");
        std::fs::write(&path, bytes).unwrap();
        if let Err(error) = Database::open(&path, "a") {
            assert_eq!(error.to_string().lines().count(), 1);
        }
    }
    assert!(Database::open(&folder.path().join("none"), "none").is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn damaged_databases_give_rows_or_a_line(
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..20),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        make(&path, SMALL);
        let mut bytes = std::fs::read(&path).unwrap();
        for (at, value) in flips {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        std::fs::write(&path, &bytes).unwrap();
        match Database::open(&path, "a") {
            Err(error) => prop_assert_eq!(error.to_string().lines().count(), 1),
            Ok(database) => {
                let most = bytes.len() as u64 / 4;
                let extents = [database.each::<StringId>(|_| true), database.each::<Call>(|_| true)];
                for extent in extents {
                    prop_assert!(extent.rows <= most);
                    prop_assert!(extent.why.is_none_or(|why| why.lines().count() == 1));
                }
            }
        }
    }
}
