//! A table of text: for a terminal without lines, or as Markdown.

use comfy_table::{CellAlignment, ContentArrangement, Table};

use super::style::plain;

/// How a table is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Columns apart by spaces.
    Plain,
    /// A Markdown table.
    Markdown,
}

/// Draws headers and rows; all columns but the first `left` are aligned right. What steers a
/// terminal is escaped in cells, and in Markdown so are pipes.
pub fn table(form: Form, headers: &[&str], rows: &[Vec<String>], left: usize) -> String {
    aligned(form, headers, rows, |column| column < left)
}

/// Like [`table`], with the columns for which `is_left` holds aligned left.
pub fn aligned(form: Form, headers: &[&str], rows: &[Vec<String>], is_left: impl Fn(usize) -> bool) -> String {
    let safe = |text: &str| {
        let escaped = plain(text);
        if form == Form::Markdown { escaped.replace('|', "\\|") } else { escaped }
    };
    let mut table = Table::new();
    table.load_style(match form {
        Form::Plain => comfy_table::presets::NOTHING,
        Form::Markdown => comfy_table::presets::ASCII_MARKDOWN,
    });
    table.set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(headers.to_vec());
    for row in rows {
        table.add_row(row.iter().map(|text| safe(text)).collect::<Vec<_>>());
    }
    for (index, column) in table.column_iter_mut().enumerate() {
        if form == Form::Plain {
            column.set_padding((0, 2));
        }
        if !is_left(index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_cells_stay_one_cell() {
        let rows = vec![vec!["a|b\u{1b}[0m\nc".to_owned(), "1".to_owned()]];
        let markdown = table(Form::Markdown, &["name", "n"], &rows, 1);
        assert_eq!(markdown.lines().count(), 3);
        assert!(markdown.contains("a\\|b\\u{1b}[0m\\u{a}c"), "{markdown}");
        assert!(!table(Form::Plain, &["name", "n"], &rows, 1).contains('\u{1b}'));
    }
}
