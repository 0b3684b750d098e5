//! What the targets share. A target fails by a panic (also of an overflow or a broken promise below), by taking longer
//! than `-timeout`, or by more memory than `-rss_limit_mb`.

pub mod frames;
pub mod packed;
pub mod random;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use umtui::parse::NativeReader;
use umtui::parse::import::{Import, import};
use umtui::parse::imported::{Imported, Spool};
use umtui::parse::sniff::Format;
use umtui::report::{Report, json};
use umtui::session::{Loaded, pack};
use umtui::source::{file::FileBytes, temporary};
use umtui::trace::{Bytes, Trace};

/// Rows that one look into a file may take.
const BUDGET: usize = 1 << 20;

/// Temporary files; `TMPDIR` had better be in memory.
fn spool() -> Arc<Spool> {
    Arc::new(|| {
        let file = temporary::file()?;
        let bytes: Arc<dyn Bytes> = Arc::new(FileBytes::of(file.try_clone()?, Path::new("-")));
        Ok((file, bytes))
    })
}

/// Imports `data` as `format`, and reads what came of it.
pub fn imported(data: &[u8], format: Format) {
    bytes_imported(Arc::new(data.to_vec()), format);
}

/// Likewise, from wherever the bytes are.
pub fn bytes_imported(bytes: Arc<dyn Bytes>, format: Format) {
    match import(bytes, format, "fuzz", &spool(), &Arc::default()) {
        Ok(Import::Files(imported)) => read(&imported),
        Ok(Import::Unpacked(..)) => {}
        Err(error) => one_line(&error.to_string()),
    }
}

/// Whatever a reader of a foreign format makes is a whole native file without damage.
fn read(imported: &Imported) {
    let mut trace = Trace::default();
    for file in &imported.files {
        let mut reader = NativeReader::open_imported(file.bytes.clone(), "fuzz", &mut trace).expect("a native file");
        while reader.poll(&mut trace, BUDGET).expect("readable").more {}
    }
    let damage: Vec<&str> = trace.damage.iter().map(|damage| damage.why.as_str()).collect();
    assert!(damage.is_empty(), "{damage:?}");
    for line in imported.lost.iter().map(|(_, why)| why).chain(&imported.notes) {
        one_line(line);
    }
}

/// What is said of a file is one line and not endless.
fn one_line(text: &str) {
    assert!(!text.contains('\n') && text.len() < 10_000, "{text:?}");
}

/// Opens `data` as a file of its own, as `umtui report` does, up to its last number.
pub fn reported(data: &[u8]) {
    let file = Named::new(data, "fuzz");
    match Loaded::load_all(std::slice::from_ref(&file.0)) {
        Ok(mut loaded) => {
            let report = json(&Report::of(&mut loaded));
            assert!(report.ends_with("}\n"));
        }
        Err(error) => one_line(&error.to_string()),
    }
}

/// Packs `data` again, twice: what is packed of it is the same, and says the same.
pub fn repacked(data: &[u8]) {
    let file = Named::new(data, "first");
    let Some(once) = packed_of(&file) else { return };
    let again = Named::new(&once, "again");
    let twice = packed_of(&again).expect("what was packed can be packed");
    let twice = Named::new(&twice, "twice");
    let paths = [&file, &again, &twice].map(|file| file.0.display().to_string());
    let [first, again, twice] = [&file, &again, &twice].map(|file| Said::of(file, &paths));
    assert_eq!(again, twice);
    assert_eq!(first.numbers, again.numbers);
    // Packing looks at all that there is, also at what no reader comes to.
    assert!(first.damages <= again.damages, "{first:#?} {again:#?}");
    let missing: Vec<_> = first.damage.iter().filter(|line| !again.damage.contains(line)).collect();
    assert!(missing.is_empty() || again.damages > again.damage.len() as u64, "{missing:#?}");
}

/// What a report says.
#[derive(Debug, PartialEq)]
struct Said {
    numbers: String,
    damages: u64,
    damage: Vec<String>,
}

impl Said {
    /// Without what the files are called.
    fn of(file: &Named, paths: &[String]) -> Self {
        let mut loaded = Loaded::load_all(std::slice::from_ref(&file.0)).expect("what can be packed can be read");
        let report = Report::of(&mut loaded);
        let mut said: serde_json::Value = serde_json::from_str(&json(&report)).expect("JSON");
        for key in ["damage", "damages", "unread", "truncated"] {
            said["trace"][key].take();
        }
        let unnamed = |text: &str| paths.iter().fold(text.to_owned(), |text, path| text.replace(path, ""));
        let mut damage: Vec<String> = report.damage.iter().map(|line| unnamed(line)).collect();
        damage.sort();
        Self { numbers: unnamed(&said.to_string()), damages: report.damages, damage }
    }
}

fn packed_of(file: &Named) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    match pack(std::slice::from_ref(&file.0), &mut out, &mut |_| ()) {
        Ok(_) => Some(out),
        Err(error) => {
            one_line(&error.to_string());
            None
        }
    }
}

/// A file with a name, for as long as it is needed.
pub struct Named(pub PathBuf);

impl Named {
    /// Writes it.
    pub fn new(data: &[u8], name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("umtui-{name}-{}", std::process::id()));
        std::fs::write(&path, data).expect("a temporary file");
        Self(path)
    }
}

impl Drop for Named {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}
