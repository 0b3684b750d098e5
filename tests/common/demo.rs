//! A recording of the demo, made once for each test program.

use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

use crate::common::UMTUI;

/// A finished recording.
pub fn recording() -> &'static Path {
    static FOLDER: OnceLock<tempfile::TempDir> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let run = folder.path().join("run");
        let mut demo = Command::new(UMTUI);
        demo.args(["demo", "training", "--report", "-o"]).arg(run).args(["--", "--rounds", "3"]);
        let demo = demo.output().unwrap();
        assert!(demo.status.success(), "{}", String::from_utf8_lossy(&demo.stderr));
        folder
    });
    Box::leak(folder.path().join("run").into_boxed_path())
}
