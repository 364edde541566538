//! A JSON value that knows where in the document it stands, so that errors can say it.

use serde_json::Value;

use crate::import::error::excerpt;
use crate::import::{ImportError, Position};

/// A value and its path.
#[derive(Clone)]
pub(super) struct Node<'a> {
    format: &'static str,
    path: String,
    pub value: &'a Value,
}

impl<'a> Node<'a> {
    pub fn root(format: &'static str, value: &'a Value) -> Self {
        Self { format, path: String::new(), value }
    }

    pub fn error(&self, found: impl Into<String>, expected: impl Into<String>) -> ImportError {
        let path = if self.path.is_empty() { "the document".to_owned() } else { self.path.clone() };
        ImportError::malformed(self.format, Position::Item(path), found, expected)
    }

    fn wrong(&self, expected: &str) -> ImportError {
        self.error(describe(self.value), expected)
    }

    /// The member of this name; null and absent are the same.
    pub fn get(&self, key: &str) -> Option<Node<'a>> {
        let value = self.value.get(key).filter(|value| !value.is_null())?;
        let path = if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) };
        Some(Node { format: self.format, path, value })
    }

    /// The first member of these names: harnesses changed their spelling.
    pub fn either(&self, keys: &[&str]) -> Option<Node<'a>> {
        keys.iter().find_map(|key| self.get(key))
    }

    pub fn need(&self, key: &str) -> Result<Node<'a>, ImportError> {
        self.get(key).ok_or_else(|| self.error(format!("no `{key}`"), format!("`{key}`")))
    }

    pub fn items(&self) -> Result<Vec<Node<'a>>, ImportError> {
        let items = self.value.as_array().ok_or_else(|| self.wrong("an array"))?;
        let at = |(index, value)| Node { format: self.format, path: format!("{}[{index}]", self.path), value };
        Ok(items.iter().enumerate().map(at).collect())
    }

    pub fn members(&self) -> Vec<(&'a str, Node<'a>)> {
        let members = self.value.as_object().into_iter().flatten();
        members.filter_map(|(key, _)| Some((key.as_str(), self.get(key)?))).collect()
    }

    /// A number; JMH and others write `NaN` and infinities as strings.
    pub fn number(&self) -> Result<f64, ImportError> {
        match self.value {
            Value::Number(number) => number.as_f64().ok_or_else(|| self.wrong("a number")),
            Value::String(text) => match text.trim() {
                "NaN" | "nan" => Ok(f64::NAN),
                "INF" | "+INF" | "Infinity" | "+Infinity" | "inf" => Ok(f64::INFINITY),
                "-INF" | "-Infinity" | "-inf" => Ok(f64::NEG_INFINITY),
                other => other.parse().map_err(|_| self.wrong("a number")),
            },
            _ => Err(self.wrong("a number")),
        }
    }

    /// A number that a time or an amount can be: finite, zero or more.
    pub fn amount(&self) -> Result<f64, ImportError> {
        let number = self.number()?;
        if number.is_finite() && number >= 0.0 { Ok(number) } else { Err(self.wrong("a finite number, zero or more")) }
    }

    pub fn numbers(&self) -> Result<Vec<f64>, ImportError> {
        self.items()?.iter().map(Node::number).collect()
    }

    pub fn amounts(&self) -> Result<Vec<f64>, ImportError> {
        self.items()?.iter().map(Node::amount).collect()
    }

    pub fn text(&self) -> Result<&'a str, ImportError> {
        self.value.as_str().ok_or_else(|| self.wrong("a string"))
    }

    /// Strings, numbers and booleans as text, for facts.
    pub fn fact(&self) -> String {
        match self.value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        }
    }
}

/// A document in which numbers may also be `NaN` and `Infinity`, which are not JSON and which Python and
/// google-benchmark write all the same; they become strings, as [`Node::number`] takes them.
pub(super) fn parse(text: &str) -> serde_json::Result<Value> {
    serde_json::from_str(text).or_else(|error| match quote_bare_numbers(text) {
        Some(quoted) => serde_json::from_str(&quoted).map_err(|_| error),
        None => Err(error),
    })
}

/// The text with quotes around every `NaN`, `Infinity` and `-Infinity` outside of strings; `None` where there is none.
fn quote_bare_numbers(text: &str) -> Option<String> {
    let mut quoted = String::new();
    let (mut rest, mut inside) = (text, false);
    while let Some(at) = rest.find(if inside { ['"', '\\', '\\', '\\'] } else { ['"', 'N', 'I', '-'] }) {
        let (before, from) = rest.split_at(at);
        quoted.push_str(before);
        let bare = ["NaN", "Infinity", "-Infinity", "-NaN"].into_iter().find(|word| !inside && from.starts_with(word));
        let taken = match (bare, from.as_bytes()[0]) {
            (Some(word), _) => {
                quoted.push_str(&format!("\"{}\"", word.replace("-NaN", "NaN")));
                rest = &from[word.len()..];
                continue;
            }
            (None, b'"') => {
                inside = !inside;
                1
            }
            // A backslash takes the next character with it.
            (None, b'\\') => 1 + from[1..].chars().next().map_or(0, char::len_utf8),
            _ => 1,
        };
        quoted.push_str(&from[..taken]);
        rest = &from[taken..];
    }
    quoted.push_str(rest);
    (quoted.len() != text.len()).then_some(quoted)
}

/// What a value is, in a few words, for messages.
pub(super) fn describe(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let names: Vec<_> = members.keys().take(6).map(|key| excerpt(key.as_bytes())).collect();
            format!("an object with {}", if names.is_empty() { "no members".to_owned() } else { names.join(", ") })
        }
        Value::Array(items) => match items.first() {
            Some(first @ (Value::Object(_) | Value::Array(_))) => {
                format!(
                    "an array of {} items, the first {}",
                    items.len(),
                    if first.is_array() { "an array".to_owned() } else { describe(first) }
                )
            }
            _ => format!("an array of {} items", items.len()),
        },
        Value::String(text) => format!("the string {:?}", excerpt(text.as_bytes())),
        other => excerpt(other.to_string().as_bytes()),
    }
}
