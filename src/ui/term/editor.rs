//! The user's editor, and how it is told a line.

use std::path::Path;

/// Program and arguments that open a file at a line, from `$VISUAL` or `$EDITOR`; `vi` if neither is set.
pub fn command(variable: impl Fn(&str) -> Option<String>, file: &Path, line: u32) -> (String, Vec<String>) {
    let set = ["VISUAL", "EDITOR"].into_iter().find_map(|name| variable(name).filter(|value| !value.trim().is_empty()));
    let set = set.unwrap_or_else(|| "vi".to_owned());
    let mut words = set.split_whitespace().map(str::to_owned);
    let program = words.next().unwrap_or_else(|| "vi".to_owned());
    let mut arguments: Vec<String> = words.collect();
    let path = file.display().to_string();
    match program.rsplit('/').next().unwrap_or(&program) {
        "vi" | "vim" | "nvim" | "view" | "nano" | "emacs" | "emacsclient" | "micro" | "kak" | "joe" | "ne" => {
            arguments.extend([format!("+{line}"), path]);
        }
        "hx" | "helix" | "zed" | "subl" => arguments.push(format!("{path}:{line}")),
        "code" | "codium" | "code-insiders" => arguments.extend(["-g".to_owned(), format!("{path}:{line}")]),
        _ => arguments.push(path),
    }
    (program, arguments)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_editor_is_told_the_line_in_its_way() {
        let cases = [
            ("", "", "vi +7 /a b.cu"),
            ("", "nano -w", "nano -w +7 /a b.cu"),
            ("hx", "nano", "hx /a b.cu:7"),
            ("", "/usr/bin/code --wait", "/usr/bin/code --wait -g /a b.cu:7"),
            ("ed", "", "ed /a b.cu"),
        ];
        for (visual, editor, told) in cases {
            let variable = |name: &str| Some(if name == "VISUAL" { visual } else { editor }.to_owned());
            let (program, arguments) = command(variable, Path::new("/a b.cu"), 7);
            assert_eq!(format!("{program} {}", arguments.join(" ")), told);
        }
    }
}
