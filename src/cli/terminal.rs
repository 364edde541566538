//! What reaches the terminal: names made safe, colour only where wanted.

use std::io::{IsTerminal, Write};

use crate::report::columns::{self, Form};
pub(super) use crate::report::style::plain;

/// How a text stands out.
#[derive(Clone, Copy)]
pub(super) enum Tone {
    Bold,
    Dim,
    Good,
    Bad,
}

/// Text in a tone, where standard output is a terminal and NO_COLOR is not set.
pub(super) fn toned(tone: Tone, text: &str) -> String {
    if !colours() {
        return text.to_owned();
    }
    let code = match tone {
        Tone::Bold => 1,
        Tone::Dim => 2,
        Tone::Good => 32,
        Tone::Bad => 31,
    };
    format!("\u{1b}[{code}m{text}\u{1b}[0m")
}

fn colours() -> bool {
    let wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    wanted && std::env::var_os("TERM").is_none_or(|term| term != "dumb") && std::io::stdout().is_terminal()
}

/// A table without lines: headers, then rows; all columns but the first and the last aligned right.
pub(super) fn table(headers: &[&str], rows: &[Vec<String>]) -> String {
    columns::aligned(Form::Plain, headers, rows, |column| column == 0 || column + 1 == headers.len())
}

/// Prints to standard output; a closed pipe is reported as an error for `main` to ignore.
pub(super) fn print(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_names_are_escaped_and_others_left_alone() {
        assert_eq!(plain("create_group/8 ±µ<T>"), "create_group/8 ±µ<T>");
        assert_eq!(plain("a\u{1b}[31mb\r\n"), "a\\u{1b}[31mb\\u{d}\\u{a}");
        assert_eq!(plain("x\u{202e}y\u{9b}2J"), "x\\u{202e}y\\u{9b}2J");
    }

    #[test]
    fn a_table_aligns_and_escapes() {
        let text = table(&["name", "n", "codes"], &[vec!["a\u{7}".into(), "1".into(), String::new()]]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines, ["name    n  codes", "a\\u{7}  1"]);
    }
}
