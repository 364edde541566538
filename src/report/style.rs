//! How text may look: width, colour and character set, and names made safe for a terminal.

use unicode_width::UnicodeWidthStr;

/// What a terminal (or a file) can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Columns; `None` where lines may be as long as they like.
    pub width: Option<usize>,
    /// Whether tones become colours.
    pub colour: Colour,
    /// Which characters may be used.
    pub glyphs: Glyphs,
}

/// Colours or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    /// Escape sequences for colours.
    Ansi,
    /// Text alone.
    None,
}

/// Character sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Glyphs {
    /// Unicode.
    Unicode,
    /// ASCII alone: `±` becomes `+-`, `→` becomes `->`, `µ` becomes `u`.
    Ascii,
}

/// How a text stands out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    /// As any.
    #[default]
    Plain,
    /// Headings.
    Bold,
    /// Beside the point.
    Dim,
    /// As it should be.
    Good,
    /// Misleading.
    Bad,
    /// Open.
    Open,
}

impl Style {
    /// Plain text of any width, for files and pipes.
    pub const PLAIN: Self = Self { width: None, colour: Colour::None, glyphs: Glyphs::Unicode };

    /// The text in the glyphs of this style.
    pub fn glyphs(&self, text: &str) -> String {
        if self.glyphs == Glyphs::Unicode {
            return text.to_owned();
        }
        text.chars().fold(String::with_capacity(text.len()), |mut ascii, c| {
            match c {
                '±' => ascii.push_str("+-"),
                '→' => ascii.push_str("->"),
                'µ' | 'μ' => ascii.push('u'),
                '│' => ascii.push('|'),
                '—' | '–' | '−' | '─' => ascii.push('-'),
                '×' => ascii.push('x'),
                '÷' => ascii.push('/'),
                '…' => ascii.push_str("..."),
                '\u{a0}' | '\u{202f}' => ascii.push(' '),
                c if c.is_ascii() => ascii.push(c),
                c => ascii.extend(c.escape_unicode()),
            }
            ascii
        })
    }

    /// The text in a tone.
    pub fn toned(&self, tone: Tone, text: &str) -> String {
        let code = match tone {
            Tone::Plain => return text.to_owned(),
            Tone::Bold => 1,
            Tone::Dim => 2,
            Tone::Good => 32,
            Tone::Bad => 31,
            Tone::Open => 33,
        };
        if self.colour == Colour::None { text.to_owned() } else { format!("\u{1b}[{code}m{text}\u{1b}[0m") }
    }

    /// The text broken at spaces into lines that fit, each after the first with this indentation.
    pub fn wrapped(&self, text: &str, indent: &str) -> String {
        let Some(width) = self.width else { return text.to_owned() };
        let mut out = String::new();
        let mut column = 0;
        for word in text.split(' ') {
            let size = word.width();
            if column > indent.len() && column + 1 + size > width {
                out.push('\n');
                out.push_str(indent);
                column = indent.len();
            } else if column > 0 {
                out.push(' ');
                column += 1;
            }
            out.push_str(word);
            column += size;
        }
        out
    }
}

/// Whether a character could steer a terminal, or reorder or hide what follows it.
pub fn steers(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// Text that may come from a file or a foreign program, with every character that [`steers`] spelt out.
pub fn plain(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut plain, c| {
        if steers(c) {
            plain.extend(c.escape_unicode())
        } else {
            plain.push(c)
        }
        plain
    })
}

/// [`plain`] text as HTML takes it, in elements and in quoted attributes.
pub fn markup(text: &str) -> String {
    plain(text).chars().fold(String::with_capacity(text.len()), |mut markup, c| {
        match c {
            '<' => markup.push_str("&lt;"),
            '>' => markup.push_str("&gt;"),
            '&' => markup.push_str("&amp;"),
            '"' => markup.push_str("&quot;"),
            '\'' => markup.push_str("&#39;"),
            _ => markup.push(c),
        }
        markup
    })
}

/// [`plain`] text, cut at 600 characters.
pub fn safe(text: &str) -> String {
    cut(text, 600)
}

/// The same for a name that stands in a table or a frame: cut at 120 characters.
pub fn short(name: &str) -> String {
    cut(name, 120)
}

fn cut(text: &str, longest: usize) -> String {
    match text.char_indices().nth(longest) {
        Some((end, _)) => plain(&text[..end]) + "…",
        None => plain(text),
    }
}

/// A cell of a [`grid`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cell {
    /// What it says; safe and in the style's glyphs.
    pub text: String,
    /// How it stands out.
    pub tone: Tone,
}

impl Cell {
    /// A cell of plain text.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), tone: Tone::Plain }
    }

    /// The same in a tone.
    #[must_use]
    pub fn tone(mut self, tone: Tone) -> Self {
        self.tone = tone;
        self
    }
}

/// Side of a column on which its text stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Left.
    Left,
    /// Right, for figures.
    Right,
    /// A rule between groups of columns: its text is repeated in every row.
    Rule,
}

/// Lines of aligned columns, and how wide they are.
pub fn grid(style: &Style, columns: &[Align], rows: &[Vec<Cell>]) -> (String, usize) {
    let widths: Vec<usize> = (0..columns.len())
        .map(|column| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.text.width()).max().unwrap_or(0))
        .collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate() {
            let pad = " ".repeat(widths[column].saturating_sub(cell.text.width()));
            let toned = style.toned(cell.tone, &cell.text);
            let gap = if column == 0 { "" } else { "  " };
            match columns[column] {
                Align::Left | Align::Rule => line.extend([gap, &toned, &pad]),
                Align::Right => line.extend([gap, &pad, &toned]),
            }
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    (text, widths.iter().sum::<usize>() + 2 * widths.len().saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_a_terminal_is_escaped() {
        assert_eq!(safe("a\u{1b}[31mb\r\n"), "a\\u{1b}[31mb\\u{d}\\u{a}");
        assert_eq!(safe("x\u{202e}y"), "x\\u{202e}y");
        assert_eq!(safe("core::ops<T>±µ"), "core::ops<T>±µ");
        assert_eq!(short(&"n".repeat(10_000)).chars().count(), 121);
    }

    #[test]
    fn ascii_has_nothing_else() {
        let style = Style { glyphs: Glyphs::Ascii, ..Style::PLAIN };
        assert_eq!(style.glyphs("12 µs ±3 → é"), "12 us +-3 -> \\u{e9}");
    }

    #[test]
    fn columns_align_by_displayed_width() {
        let rows = [vec![Cell::new("名"), Cell::new("1")], vec![Cell::new("abc"), Cell::new("12")]];
        let (text, width) = grid(&Style::PLAIN, &[Align::Left, Align::Right], &rows);
        assert_eq!((text.as_str(), width), ("名    1\nabc  12\n", 7));
    }

    #[test]
    fn wrapping_keeps_words_whole() {
        let style = Style { width: Some(10), ..Style::PLAIN };
        assert_eq!(style.wrapped("aaa bbb ccc ddd", "  "), "aaa bbb\n  ccc ddd");
    }
}
