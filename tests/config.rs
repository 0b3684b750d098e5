//! `umtui config`, and files with mistakes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use umtui::config::example;

/// A home with this config file in it.
struct Home(tempfile::TempDir);

impl Home {
    fn new(text: Option<&str>) -> Self {
        let home = Self(tempfile::tempdir().unwrap());
        if let Some(text) = text {
            fs::create_dir_all(home.file().parent().unwrap()).unwrap();
            fs::write(home.file(), text).unwrap();
        }
        home
    }

    fn file(&self) -> PathBuf {
        self.0.path().join(".config/umtui/config.toml")
    }

    fn umtui(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_umtui"));
        for name in ["NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLORTERM", "LC_ALL", "LC_CTYPE"] {
            command.env_remove(name);
        }
        for name in ["UMTUI_CONFIG", "XDG_CONFIG_HOME", "LD_PRELOAD"] {
            command.env_remove(name);
        }
        command.env("HOME", self.0.path()).env("TERM", "xterm").env("LANG", "C.UTF-8").args(arguments);
        command.output().unwrap()
    }

    /// What is printed, with the file's path as FILE.
    fn prints(&self, arguments: &[&str]) -> String {
        let output = self.umtui(arguments);
        assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().replace(self.file().to_str().unwrap(), "FILE")
    }
}

#[test]
fn the_example_is_written_from_the_schema() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/config.example.toml");
    let written = example::document();
    if std::env::var_os("UMTUI_WRITE_DOCS").is_some() {
        fs::write(&page, &written).unwrap();
    }
    let read = fs::read_to_string(&page).unwrap_or_default();
    assert_eq!(read, written, "run: UMTUI_WRITE_DOCS=1 cargo test --test config");
    let home = Home::new(None);
    assert_eq!(home.prints(&["config", "example"]), written);
    let file = page.to_str().unwrap();
    let check = home.umtui(&["config", "check", "--config", file]);
    assert!(check.status.success(), "{}", String::from_utf8_lossy(&check.stdout));
}

#[test]
fn without_a_file_all_is_default() {
    let home = Home::new(None);
    assert_eq!(home.prints(&["config", "path"]), "FILE\n");
    assert_eq!(home.prints(&["config", "check"]), "FILE is not there; all is as by default\n");
    insta::assert_snapshot!("default_settings", home.prints(&["config", "show"]));
}

#[test]
fn a_file_is_shown_with_where_each_setting_stands() {
    let home = Home::new(Some(
        "[look]\ntheme = \"mine\"\ncolor = 256\n\n[calls]\ncolumns = [\"total\", \"p99\"]\n\n[keys.calls]\n\
         \"ctrl-x\" = \"fold-all\"\n\"ctrl-i\" = \"flat\"\n\n[theme.mine]\nbase = \"light\"\nbad = \"bold red\"\n",
    ));
    insta::assert_snapshot!("settings_of_a_file", home.prints(&["config", "show"]));
    // What it prints is a config file again.
    let shown = home.umtui(&["config", "show"]).stdout;
    fs::write(home.file(), &shown).unwrap();
    let again = home.prints(&["config", "show"]);
    let values = |text: &str| text.lines().map(|l| l.split(" #").next().unwrap().trim().to_owned()).collect::<Vec<_>>();
    assert_eq!(values(&again), values(std::str::from_utf8(&shown).unwrap()));
}

#[test]
fn mistakes_are_told_all_at_once_and_end_with_one() {
    let home = Home::new(Some(
        "[look]\ntheme = \"drak\"\ncolour = \"16\"\n[keys]\n\"ctrl-m\" = \"quit\"\n[keys.calls]\n\"x\" = \"fold-al\"\n\
         \"g\" = \"toggle\"\n[keys.quit]\n\"d\" = \"terminate\"\n[theme.mine]\nbad = \"blod red\"\n[start]\nscreen = \n",
    ));
    let output = home.umtui(&["config", "check"]);
    assert_eq!(output.status.code(), Some(1));
    insta::assert_snapshot!("mistakes", home.prints(&["config", "check"]));
}

#[test]
fn a_file_that_is_named_must_be_there() {
    let home = Home::new(None);
    let output = home.umtui(&["config", "check", "--config", "/nowhere/umtui.toml"]);
    assert_eq!(output.status.code(), Some(1));
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(told.starts_with("/nowhere/umtui.toml: cannot be read (named by --config): "), "{told}");
}
