//! `umtui config`: which settings hold, and why.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::arguments::{Color, ConfigArguments, ConfigCommand, Screen};
use crate::config::schema::{SETTINGS, Setting};
use crate::config::{self, Config, Level, Place, Value};
use crate::ui::settings::{self, Flags, Settled};
use crate::ui::setup::Setup;
use crate::ui::theme::{Charset, ColorChoice, Depth};

/// Exit status if the file has mistakes.
const MISTAKES: u8 = 1;

/// Prints what is asked for.
///
/// # Errors
/// If it cannot be written.
pub fn run(arguments: &ConfigArguments) -> anyhow::Result<u8> {
    let config = load(arguments.config.as_deref());
    let mut out = io::stdout().lock();
    match arguments.command {
        ConfigCommand::Path => path(&mut out, &config)?,
        ConfigCommand::Example => write!(out, "{}", config::example::document())?,
        ConfigCommand::Show => show(&mut out, &config, &settle(&config, Flags::default()))?,
        ConfigCommand::Check => return check(&mut out, &config, &settle(&config, Flags::default())),
    }
    Ok(0)
}

/// What the screens start with.
pub(super) fn setup(screen: &Screen) -> anyhow::Result<Setup> {
    let first =
        screen.screen.as_ref().map(|name| name.parse().map_err(|error| anyhow::anyhow!("--screen {name}: {error}")));
    let flags = Flags { color: choice(screen.color), first: first.transpose()?, mouse: screen.mouse };
    Ok(settle(&load(screen.config.as_deref()), flags).setup)
}

fn choice(color: Color) -> ColorChoice {
    match color {
        Color::Auto => ColorChoice::Auto,
        Color::Never => ColorChoice::Fixed(Depth::None),
        Color::Sixteen => ColorChoice::Fixed(Depth::Ansi16),
        Color::Indexed => ColorChoice::Fixed(Depth::Ansi256),
        Color::Truecolor => ColorChoice::Fixed(Depth::TrueColor),
    }
}

fn load(flag: Option<&Path>) -> Config {
    config::load(flag, |name| std::env::var_os(name).map(PathBuf::from))
}

fn settle(config: &Config, flags: Flags) -> Settled {
    settings::settle(config, flags, |name| std::env::var(name).ok())
}

fn file(config: &Config) -> String {
    config.file.as_ref().map_or_else(|| "config.toml".to_owned(), |file| file.display().to_string())
}

fn path(out: &mut impl Write, config: &Config) -> anyhow::Result<()> {
    if config.file.is_none() {
        anyhow::bail!("there is no place for a config file: neither HOME nor XDG_CONFIG_HOME is set; use UMTUI_CONFIG");
    }
    writeln!(out, "{}", file(config))?;
    Ok(())
}

fn check(out: &mut impl Write, config: &Config, settled: &Settled) -> anyhow::Result<u8> {
    for problem in &settled.problems {
        writeln!(out, "{}", problem.told(&file(config)))?;
    }
    let errors = settled.problems.iter().filter(|problem| problem.level == Level::Error).count();
    if errors > 0 {
        writeln!(out, "{errors} of its settings {} not used", if errors == 1 { "is" } else { "are" })?;
        return Ok(MISTAKES);
    }
    if config.found {
        let (values, keys, themes) = (config.values.len(), config.keys.len(), config.themes.len());
        writeln!(out, "{}: fine; it sets {values} settings, {keys} keys and {themes} themes", file(config))?;
    } else {
        writeln!(out, "{} is not there; all is as by default", file(config))?;
    }
    Ok(0)
}

/// Every setting as it could stand in the file, with where it comes from.
fn show(out: &mut impl Write, config: &Config, settled: &Settled) -> io::Result<()> {
    let at = |place: Place| format!("{}:{}:{}", file(config), place.line, place.column);
    for setting in SETTINGS {
        let origin = config.place(setting.name).map_or_else(|| "default".to_owned(), at);
        let line = format!("{} = {}", setting.name, written(setting, config));
        writeln!(out, "{line:<36} # {origin}{}", outcome(setting, settled))?;
    }
    for key in &config.keys {
        let context = key.context.as_ref().map(|context| format!("{context}.")).unwrap_or_default();
        let line = format!("keys.{context}{:?} = {:?}", key.keys.text, key.action.text);
        writeln!(out, "{line:<36} # {}{}", at(key.keys.place), refused(settled, key.keys.place.line))?;
    }
    for theme in &config.themes {
        for (role, look) in &theme.lines {
            let line = format!("theme.{:?}.{:?} = {:?}", theme.name.text, role.text, look.text);
            writeln!(out, "{line:<36} # {}{}", at(role.place), refused(settled, role.place.line))?;
        }
    }
    if !config.found {
        writeln!(out, "# {} is not there", file(config))?;
    }
    Ok(())
}

/// The value as it is written in a file.
fn written(setting: &Setting, config: &Config) -> String {
    match config.value(setting.name) {
        Some(Value::Word(word)) => format!("{word:?}"),
        Some(Value::Words(words)) => format!("{:?}", words.iter().map(|word| &word.text).collect::<Vec<_>>()),
        Some(Value::Flag(flag)) => flag.to_string(),
        Some(Value::Map(pairs)) if pairs.is_empty() => "{}".to_owned(),
        Some(Value::Map(pairs)) => {
            let pairs: Vec<String> = pairs.iter().map(|(from, to)| format!("{from:?} = {to:?}")).collect();
            format!("{{ {} }}", pairs.join(", "))
        }
        Some(Value::Count(count)) => count.to_string(),
        Some(Value::Time(ns)) if ns % 1_000_000 == 0 => format!("\"{}ms\"", ns / 1_000_000),
        Some(Value::Time(ns)) => format!("\"{ns}ns\""),
        None => setting.default.to_owned(),
    }
}

/// What became of a setting that others have a say in.
fn outcome(setting: &Setting, settled: &Settled) -> String {
    match setting.name {
        "look.color" => format!("; {} by {}", settled.setup.theme.depth.name(), settled.color_by),
        "look.glyphs" => {
            let charset = match settled.setup.theme.glyphs.charset {
                Charset::Unicode => "unicode",
                Charset::Ascii => "ascii",
            };
            format!("; {charset} by {}", settled.glyphs_by)
        }
        _ => String::new(),
    }
}

fn refused(settled: &Settled, line: usize) -> &'static str {
    let here = |problem: &&config::Problem| problem.place.is_some_and(|place| place.line == line);
    match settled.problems.iter().find(here) {
        Some(problem) if problem.level == Level::Error => "; not used, see `umtui config check`",
        _ => "",
    }
}
