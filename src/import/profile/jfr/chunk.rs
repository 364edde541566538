//! One chunk: its header, its pools of constants, and its events, each read by the chunk's own metadata.

use rustc_hash::FxHashMap;

use super::NAME;
use super::cursor::{Cursor, Text};
use super::metadata::{Metadata, Value};
use crate::import::error::{ImportError, Position};

const HEADER: usize = 68;

pub(super) struct Chunk<'a> {
    bytes: &'a [u8],
    base: u64,
    pub metadata: Metadata,
    /// Where each constant of a class lies, by class and index.
    pools: FxHashMap<u64, FxHashMap<u64, usize>>,
    texts: u64,
    pub start_ns: u64,
    pub duration_ns: u64,
    start_ticks: u64,
    ticks_per_second: u64,
}

/// Cuts the chunk that begins the bytes; its length.
pub(super) fn length(bytes: &[u8], base: u64) -> Result<usize, ImportError> {
    let fail = |found: String, expected: &str| Err(ImportError::malformed(NAME, Position::Byte(base), found, expected));
    if !bytes.starts_with(b"FLR\0") {
        let found = crate::import::error::excerpt(&bytes[..bytes.len().min(4)]);
        return fail(format!("\"{found}\""), "a chunk, which begins FLR\\0");
    }
    if bytes.len() < HEADER {
        return fail(format!("{} bytes (truncated)", bytes.len()), "a chunk header of 68 bytes");
    }
    let (major, minor) = (u16::from_be_bytes([bytes[4], bytes[5]]), u16::from_be_bytes([bytes[6], bytes[7]]));
    if !(1..=2).contains(&major) {
        return Err(ImportError::Unsupported {
            what: format!("JFR version {major}.{minor}"),
            why: "versions 1 and 2 are read (JDK 8u262, JDK 9 and later); 0.9 is the format of Oracle JDK 7 and 8"
                .into(),
        });
    }
    let size = long(bytes, 8);
    if size == 0 || size >= 1 << 62 {
        return fail("a chunk size of 0: the recording was never closed".into(), "a finished chunk");
    }
    match usize::try_from(size).ok().filter(|size| *size <= bytes.len()) {
        Some(size) if size >= HEADER => Ok(size),
        Some(size) => fail(format!("a chunk of {size} bytes"), "at least its header, 68 bytes"),
        None => {
            let found = format!("{} bytes to the end of the file (truncated)", bytes.len());
            fail(found, &format!("the {size} bytes of the chunk"))
        }
    }
}

fn long(bytes: &[u8], at: usize) -> u64 {
    bytes[at..at + 8].iter().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

impl<'a> Chunk<'a> {
    /// Reads header, metadata and pools of a whole chunk.
    pub fn read(bytes: &'a [u8], base: u64) -> Result<Self, ImportError> {
        let cursor = Cursor::new(bytes, base);
        if long(bytes, 64) >> 32 & 1 == 0 {
            let why = "only chunks with compressed integers are read; every known producer writes them".into();
            return Err(ImportError::Unsupported { what: "a JFR chunk with plain integers".into(), why });
        }
        let metadata_at = usize::try_from(long(bytes, 24)).ok().filter(|at| (HEADER..bytes.len()).contains(at));
        let Some(metadata_at) = metadata_at else {
            return cursor.fail(format!("metadata at offset {}", long(bytes, 24)), "an offset within the chunk");
        };
        let metadata = Metadata::read(cursor.window(metadata_at, bytes.len()))?;
        let texts = metadata.id_of("java.lang.String").unwrap_or(u64::MAX);
        let mut chunk = Chunk {
            bytes,
            base,
            metadata,
            pools: FxHashMap::default(),
            texts,
            start_ns: long(bytes, 32),
            duration_ns: long(bytes, 40),
            start_ticks: long(bytes, 48),
            ticks_per_second: long(bytes, 56).max(1),
        };
        // Constants may follow the events that refer to them, and a pool may come in several parts.
        let mut pools = std::mem::take(&mut chunk.pools);
        chunk.each_event(|chunk, event, mut cursor| match event {
            1 => chunk.checkpoint(&mut cursor, &mut pools),
            _ => Ok(()),
        })?;
        chunk.pools = pools;
        Ok(chunk)
    }

    /// Calls `see` for every event with its type and a cursor behind the type.
    pub fn each_event(
        &self,
        mut see: impl FnMut(&Self, u64, Cursor<'a>) -> Result<(), ImportError>,
    ) -> Result<(), ImportError> {
        let whole = Cursor::new(self.bytes, self.base);
        let mut at = HEADER;
        while at < self.bytes.len() {
            let mut cursor = whole.window(at, self.bytes.len());
            let size = cursor.varint()?;
            let end = usize::try_from(size).ok().and_then(|size| at.checked_add(size));
            match end.filter(|end| *end <= self.bytes.len() && *end >= cursor.at) {
                Some(end) => {
                    let mut cursor = cursor.window(cursor.at, end);
                    let event = cursor.varint()?;
                    see(self, event, cursor)?;
                    at = end;
                }
                None => {
                    cursor.at = at;
                    return cursor.fail(format!("an event of {size} bytes"), "one that ends within the chunk");
                }
            }
        }
        Ok(())
    }

    fn checkpoint(
        &self,
        cursor: &mut Cursor<'a>,
        pools: &mut FxHashMap<u64, FxHashMap<u64, usize>>,
    ) -> Result<(), ImportError> {
        for _ in ["start", "duration", "delta"] {
            cursor.varint()?;
        }
        cursor.byte()?;
        for _ in 0..cursor.count()? {
            let class = cursor.varint()?;
            let pool = pools.entry(class).or_default();
            for _ in 0..cursor.count()? {
                let index = cursor.varint()?;
                pool.insert(index, cursor.at);
                self.metadata.skip(cursor, class, 0)?;
            }
        }
        Ok(())
    }

    /// The cursor on a constant; `None` where the pool lacks it.
    pub fn constant(&self, class: u64, index: u64) -> Option<Cursor<'a>> {
        let at = *self.pools.get(&class)?.get(&index)?;
        Some(Cursor::new(self.bytes, self.base).window(at, self.bytes.len()))
    }

    /// A cursor elsewhere in the chunk.
    pub fn at(&self, at: usize) -> Cursor<'a> {
        Cursor::new(self.bytes, self.base).window(at, self.bytes.len())
    }

    /// The string that a field holds, however it is held: in place, pooled, or a pooled symbol.
    pub fn string(&self, value: Value<'a>) -> Result<Option<String>, ImportError> {
        let (class, index) = match value {
            Value::Text(Text::Here(text)) => return Ok(Some(text.into_owned())),
            Value::Text(Text::Pooled(index)) => (self.texts, index),
            Value::Pooled(class, index) => (class, index),
            _ => return Ok(None),
        };
        let Some(mut cursor) = self.constant(class, index) else { return Ok(None) };
        if class == self.texts {
            // A pooled string is stored in place; one that refers on would be a circle.
            return Ok(match cursor.text()? {
                Text::Here(text) => Some(text.into_owned()),
                _ => None,
            });
        }
        // `Symbol.string`, `ThreadState.name`, `FrameType.description`: the first string of the structure.
        let mut found = None;
        self.metadata.fields(&mut cursor, class, |_, value| {
            if let (Value::Text(text), None) = (value, &found) {
                found = match text {
                    Text::Here(text) => Some(text.into_owned()),
                    Text::Pooled(index) => match self.constant(self.texts, index).map(|mut cursor| cursor.text()) {
                        Some(Ok(Text::Here(text))) => Some(text.into_owned()),
                        _ => None,
                    },
                    Text::None => None,
                };
            }
            Ok(())
        })?;
        Ok(found)
    }

    /// A duration in ticks as nanoseconds.
    pub fn ticks_ns(&self, ticks: u64) -> u64 {
        let ns = u128::from(ticks) * 1_000_000_000 / u128::from(self.ticks_per_second);
        u64::try_from(ns).unwrap_or(u64::MAX)
    }

    /// Ticks as nanoseconds since 1970.
    pub fn time_ns(&self, ticks: u64) -> u64 {
        let since = i128::from(ticks as i64) - i128::from(self.start_ticks as i64);
        let ns = since * 1_000_000_000 / i128::from(self.ticks_per_second);
        u64::try_from(ns + i128::from(self.start_ns)).unwrap_or(0)
    }
}
