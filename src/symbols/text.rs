//! Sites as text.

use super::Symbol;
use crate::trace::site::NAMED;
use crate::trace::{SiteId, Trace};

/// Most characters of a function's name in a label.
pub const LABEL_MAX: usize = 60;

/// Most characters of a function in full, where that tells it apart.
const FULL_MAX: usize = 240;

/// One line for a row. `others` are lines that would be called alike.
pub(super) fn label(trace: &Trace, site: SiteId, symbol: Option<&Symbol>, others: &[&Symbol]) -> String {
    let Some(symbol) = symbol else { return fallback(trace, site) };
    if symbol.has_line() {
        return of_line(symbol, others);
    }
    let function = shorten(&symbol.function);
    // Two call sites in one function must not look alike.
    match trace.sites.get(site) {
        Some(site) if site.module.and_then(|id| trace.sites.module(id)).is_some_and(|one| one.build_id == NAMED) => {
            function
        }
        Some(site) => format!("{} +{:#x}", inner(&function), site.offset),
        None => function,
    }
}

/// A line of a function, with as much of its path and parameters as tells it from others.
pub(super) fn of_line(symbol: &Symbol, others: &[&Symbol]) -> String {
    let files = others.iter().map(|other| other.file.as_str()).filter(|file| *file != symbol.file);
    let function = match others.iter().any(|other| other.file == symbol.file) {
        true => cut(&symbol.function, FULL_MAX),
        false => shorten(&symbol.function),
    };
    format!("{}:{} {function}", ending(&symbol.file, files), symbol.line)
}

/// The last names of a path, as many as tell it from others, at least one.
fn ending<'a>(path: &'a str, others: impl Iterator<Item = &'a str> + Clone) -> &'a str {
    let mut slashes = path.rmatch_indices('/').map(|(at, _)| at);
    loop {
        let Some(at) = slashes.next() else { return path };
        let Some(end) = path.get(at + 1..).filter(|end| !end.is_empty()) else { continue };
        let is_end =
            |other: &str| other.strip_suffix(end).is_some_and(|before| before.is_empty() || before.ends_with('/'));
        if !others.clone().any(is_end) {
            return end;
        }
    }
}

/// Most characters of a path of namespaces that shares its row with an offset.
const PATH_MAX: usize = 24;

/// The innermost parts of a path of namespaces, as many as fit, at least one: `training::forward` for
/// `umtui_demo::training::forward`. Parts within brackets are left alone.
fn inner(function: &str) -> &str {
    let mut start = 0;
    while function.len() - start > PATH_MAX {
        match function.get(start..).and_then(|rest| rest.find("::")) {
            Some(at) if !function.get(start..start + at).is_some_and(|part| part.contains(['<', '(', '{'])) => {
                start += at + 2;
            }
            _ => break,
        }
    }
    function.get(start..).unwrap_or(function)
}

/// `libfoo.so+0x1234`; without a module the address.
fn fallback(trace: &Trace, id: SiteId) -> String {
    let Some(site) = trace.sites.get(id) else { return "?".to_owned() };
    match site.module.and_then(|module| trace.sites.module(module)) {
        Some(module) => format!("{}+{:#x}", file_name(trace.names.get(module.path)), site.offset),
        None if site.address == 0 => "no call site".to_owned(),
        None => format!("{:#x}", site.address),
    }
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or(path)
}

/// A function's name without its parameters and template arguments, at most [`LABEL_MAX`] characters:
/// `step()` for `void solver::step<float>(int, float*) const`.
#[must_use]
pub fn shorten(function: &str) -> String {
    let mut short = String::new();
    let mut depth = 0usize;
    let mut characters = function.chars().peekable();
    let mut called = false;
    while let Some(character) = characters.next() {
        match character {
            // `operator<`, `operator->`, `operator()` and `<T as Trait>::f` must stay readable.
            _ if depth == 0 && short.ends_with("operator") && !character.is_alphanumeric() => {
                short.push(character);
                while let Some(more) = characters.next_if(|more| "<>=-)(".contains(*more) && *more != '(') {
                    short.push(more);
                }
            }
            '<' | '(' | '{' | '[' if depth > 0 => depth += 1,
            '>' | ')' | '}' | ']' if depth > 0 => depth -= 1,
            '(' if function_begins_here(&short) => {
                called = true;
                depth = 1;
            }
            '<' if !short.is_empty() && !short.ends_with([' ', ':']) => depth = 1,
            _ if depth == 0 && !called => short.push(character),
            _ => {}
        }
    }
    let mut name = last_word(&short).to_owned();
    if called {
        name.push_str("()");
    }
    cut(&name, LABEL_MAX)
}

/// `(anonymous namespace)` is no parameter list.
fn function_begins_here(short: &str) -> bool {
    !short.is_empty() && !short.ends_with(':') && !short.ends_with(' ')
}

/// Without a return type. Spaces inside angle and round brackets belong to the name.
fn last_word(name: &str) -> &str {
    let name = name.trim();
    let mut depth = 0usize;
    let mut start = 0;
    for (at, character) in name.char_indices() {
        match character {
            '<' | '(' | '{' | '[' => depth += 1,
            '>' | ')' | '}' | ']' => depth = depth.saturating_sub(1),
            ' ' if depth == 0 && !name.get(..at).is_some_and(|before| before.ends_with("operator")) => start = at + 1,
            _ => {}
        }
    }
    name.get(start..).unwrap_or(name)
}

fn cut(name: &str, most: usize) -> String {
    let count = name.chars().count();
    if count <= most {
        return name.to_owned();
    }
    // The end of a path of namespaces says more than its beginning.
    let skip = count - (most - 2);
    format!("..{}", name.chars().skip(skip).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_paths_keep_their_inner_parts() {
        assert_eq!(inner("step()"), "step()");
        assert_eq!(inner("umtui_demo::training::forward"), "training::forward");
        assert_eq!(inner("at::native::vectorized_elementwise_kernel()"), "vectorized_elementwise_kernel()");
        assert_eq!(
            inner("<alloc::vec::Vec<T> as core::ops::Drop>::drop"),
            "<alloc::vec::Vec<T> as core::ops::Drop>::drop"
        );
    }

    #[test]
    fn names_lose_parameters_and_template_arguments() {
        for (full, short) in [
            ("main", "main"),
            ("step(int, float*)", "step()"),
            ("void solver::step<float>(std::vector<int> const&, float*) const", "solver::step()"),
            ("(anonymous namespace)::run(int)", "(anonymous namespace)::run()"),
            ("std::vector<int>::operator[](unsigned long)", "std::vector::operator[]()"),
            ("bool operator<(A const&, B const&)", "operator<()"),
            ("demo::main::{{closure}}", "demo::main::{{closure}}"),
            ("<demo::A as core::fmt::Debug>::fmt", "<demo::A as core::fmt::Debug>::fmt"),
            ("", ""),
        ] {
            assert_eq!(shorten(full), short, "{full}");
        }
    }

    #[test]
    fn long_names_keep_their_end() {
        let name = format!("{}::last", "namespace::".repeat(30));
        let short = shorten(&name);
        assert_eq!(short.chars().count(), LABEL_MAX);
        assert!(short.starts_with("..") && short.ends_with("::last"));
    }
}
