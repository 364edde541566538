//! The layout of every event and constant, as the chunk's own metadata event describes it.

use rustc_hash::FxHashMap;

use super::cursor::{Cursor, Text};
use crate::import::error::ImportError;

/// How deep structures may nest. The JDK's own need four levels.
const DEPTH: usize = 16;

/// How a value of a class is encoded.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    /// `boolean`, `byte`.
    Byte,
    /// `short`, `char`, `int`, `long`.
    Varint,
    /// `float`: four bytes, big endian.
    Fixed4,
    /// `double`: eight bytes, big endian.
    Fixed8,
    /// `java.lang.String`.
    Text,
    /// The fields one after the other.
    Struct(Vec<Field>),
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Field {
    pub name: String,
    pub class: u64,
    /// The value is an index into the pool of its class.
    pub pooled: bool,
    pub array: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Class {
    pub name: String,
    pub kind: Kind,
}

/// The classes of a chunk by their id.
pub(super) struct Metadata {
    pub classes: FxHashMap<u64, Class>,
}

/// A field's value, as far as anybody here asks for it.
pub(super) enum Value<'a> {
    Int(u64),
    Float(f64),
    Text(Text<'a>),
    /// An index into the pool of a class.
    Pooled(u64, u64),
    /// A structure, or an array of them; to be read from the offset on.
    Nested {
        at: usize,
        class: u64,
        count: Option<usize>,
        pooled: bool,
    },
}

impl Metadata {
    /// Reads the metadata event that `cursor` stands on.
    pub fn read(mut cursor: Cursor<'_>) -> Result<Self, ImportError> {
        let size = cursor.varint()?;
        let _ = size;
        let event = cursor.varint()?;
        if event != 0 {
            return cursor.fail(format!("the event type {event}"), "the metadata event, type 0");
        }
        for _ in ["start", "duration", "metadata id"] {
            cursor.varint()?;
        }
        let count = cursor.count()?;
        let mut strings = Vec::with_capacity(count);
        for _ in 0..count {
            strings.push(match cursor.text()? {
                Text::Here(text) => text.into_owned(),
                Text::None => String::new(),
                Text::Pooled(_) => return cursor.fail("a reference to a pool", "a string"),
            });
        }
        let mut classes = FxHashMap::default();
        element(&mut cursor, &strings, &mut classes, 0)?;
        Ok(Metadata { classes })
    }

    pub fn class(&self, cursor: &Cursor<'_>, id: u64) -> Result<&Class, ImportError> {
        match self.classes.get(&id) {
            Some(class) => Ok(class),
            None => cursor.fail(format!("the class {id}"), "a class of the chunk's metadata"),
        }
    }

    /// The id of the first class of this name.
    pub fn id_of(&self, name: &str) -> Option<u64> {
        self.classes.iter().filter(|(_, class)| class.name == name).map(|(id, _)| *id).min()
    }

    /// Moves past a value of this class.
    pub fn skip(&self, cursor: &mut Cursor<'_>, class: u64, depth: usize) -> Result<(), ImportError> {
        if depth > DEPTH {
            return cursor.fail(format!("structures nested more than {DEPTH} deep"), "the layout of an event");
        }
        match &self.class(cursor, class)?.kind {
            Kind::Byte => cursor.take(1).map(|_| ()),
            Kind::Varint => cursor.varint().map(|_| ()),
            Kind::Fixed4 => cursor.take(4).map(|_| ()),
            Kind::Fixed8 => cursor.take(8).map(|_| ()),
            Kind::Text => cursor.text().map(|_| ()),
            Kind::Struct(fields) => {
                for field in fields {
                    self.skip_field(cursor, field, depth)?;
                }
                Ok(())
            }
        }
    }

    fn skip_field(&self, cursor: &mut Cursor<'_>, field: &Field, depth: usize) -> Result<(), ImportError> {
        let count = if field.array { cursor.count()? } else { 1 };
        for _ in 0..count {
            if field.pooled {
                cursor.varint()?;
            } else {
                self.skip(cursor, field.class, depth + 1)?;
            }
        }
        Ok(())
    }

    /// Shows each field of the structure that the cursor stands on to `see`, and moves past it.
    pub fn fields<'a>(
        &self,
        cursor: &mut Cursor<'a>,
        class: u64,
        mut see: impl FnMut(&str, Value<'a>) -> Result<(), ImportError>,
    ) -> Result<(), ImportError> {
        let Kind::Struct(fields) = &self.class(cursor, class)?.kind else { return self.skip(cursor, class, 0) };
        for field in fields {
            if field.array {
                let start = cursor.clone();
                let mut ahead = start.clone();
                let count = ahead.count()?;
                see(
                    &field.name,
                    Value::Nested { at: ahead.at, class: field.class, count: Some(count), pooled: field.pooled },
                )?;
                self.skip_field(cursor, field, 0)?;
                continue;
            }
            if field.pooled {
                see(&field.name, Value::Pooled(field.class, cursor.varint()?))?;
                continue;
            }
            match &self.class(cursor, field.class)?.kind {
                Kind::Byte => see(&field.name, Value::Int(u64::from(cursor.byte()?)))?,
                Kind::Varint => see(&field.name, Value::Int(cursor.varint()?))?,
                Kind::Fixed4 => {
                    let bytes = cursor.take(4)?.iter().fold(0, |value, byte| value << 8 | u32::from(*byte));
                    see(&field.name, Value::Float(f64::from(f32::from_bits(bytes))))?;
                }
                Kind::Fixed8 => {
                    let bytes = cursor.take(8)?.iter().fold(0, |value, byte| value << 8 | u64::from(*byte));
                    see(&field.name, Value::Float(f64::from_bits(bytes)))?;
                }
                Kind::Text => see(&field.name, Value::Text(cursor.text()?))?,
                Kind::Struct(_) => {
                    see(&field.name, Value::Nested { at: cursor.at, class: field.class, count: None, pooled: false })?;
                    self.skip(cursor, field.class, 1)?;
                }
            }
        }
        Ok(())
    }
}

/// One element of the metadata tree: a name, attributes, children.
fn element(
    cursor: &mut Cursor<'_>,
    strings: &[String],
    classes: &mut FxHashMap<u64, Class>,
    depth: usize,
) -> Result<Option<Field>, ImportError> {
    if depth > DEPTH {
        return cursor.fail(format!("elements nested more than {DEPTH} deep"), "the metadata of a chunk");
    }
    let string = |cursor: &mut Cursor<'_>| -> Result<usize, ImportError> {
        let index = cursor.varint()?;
        match usize::try_from(index).ok().filter(|index| *index < strings.len()) {
            Some(index) => Ok(index),
            None => cursor.fail(format!("the string {index}"), format!("an index below {}", strings.len())),
        }
    };
    let name = string(cursor)?;
    let mut attributes: Vec<(&str, &str)> = Vec::new();
    for _ in 0..cursor.count()? {
        let (key, value) = (string(cursor)?, string(cursor)?);
        attributes.push((&strings[key], &strings[value]));
    }
    let attribute = |key: &str| attributes.iter().find(|(known, _)| *known == key).map(|(_, value)| *value);
    let mut fields = Vec::new();
    for _ in 0..cursor.count()? {
        fields.extend(element(cursor, strings, classes, depth + 1)?);
    }
    let number = |key: &str| attribute(key).and_then(|text| text.parse::<i64>().ok()).map(|id| id as u64);
    match strings[name].as_str() {
        "class" => {
            let (Some(id), Some(name)) = (number("id"), attribute("name")) else {
                return cursor.fail("a class without id and name", "both");
            };
            let kind = match name {
                "boolean" | "byte" => Kind::Byte,
                "short" | "char" | "int" | "long" => Kind::Varint,
                "float" => Kind::Fixed4,
                "double" => Kind::Fixed8,
                "java.lang.String" => Kind::Text,
                _ => Kind::Struct(fields),
            };
            // Oracle's JDK 9 and 10 named their events so.
            let name = match name.strip_prefix("com.oracle.jdk.") {
                Some(event) => format!("jdk.{event}"),
                None => name.to_owned(),
            };
            classes.insert(id, Class { name, kind });
            Ok(None)
        }
        "field" => {
            let (Some(class), Some(name)) = (number("class"), attribute("name")) else {
                return cursor.fail("a field without class and name", "both");
            };
            let pooled = attribute("constantPool") == Some("true");
            let array = number("dimension").is_some_and(|dimension| dimension > 0);
            Ok(Some(Field { name: name.to_owned(), class, pooled, array }))
        }
        _ => Ok(None),
    }
}
