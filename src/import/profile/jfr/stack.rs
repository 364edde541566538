//! Stack traces of a chunk: resolved once each, through the pools of methods, classes and symbols.

use rustc_hash::FxHashMap;

use super::chunk::Chunk;
use super::metadata::Value;
use crate::import::error::ImportError;
use crate::profile::{Builder, Frame, FrameId, FrameKind, StackId};

/// What was wrong with stacks.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    truncated: u64,
    missing: u64,
    methods_missing: u64,
}

impl Tally {
    pub fn add(&mut self, other: &Tally) {
        self.truncated += other.truncated;
        self.missing += other.missing;
        self.methods_missing += other.methods_missing;
    }

    pub fn tell(&self, builder: &mut Builder) {
        for (code, message, count) in [
            ("stacks-truncated", "samples whose stack the JVM cut off: they begin with [truncated]", self.truncated),
            ("stacks-missing", "samples that refer to a stack which their chunk lacks", self.missing),
            ("methods-missing", "distinct frames whose method their chunk lacks", self.methods_missing),
        ] {
            if count > 0 {
                builder.note(code, message, count);
            }
        }
    }
}

/// The stacks of one chunk by their index.
#[derive(Default)]
pub(super) struct Stacks {
    known: FxHashMap<u64, (Option<StackId>, bool)>,
    frames: FxHashMap<(u64, u64, u64), FrameId>,
    methods: FxHashMap<u64, Option<Method>>,
    kinds: FxHashMap<u64, String>,
    classes: FxHashMap<u64, String>,
    pub tally: Tally,
}

#[derive(Clone)]
struct Method {
    class: String,
    name: String,
}

impl Stacks {
    /// The stack of an index; `None` for no stack, an empty one, or one that the pools lack.
    pub fn stack(
        &mut self,
        chunk: &Chunk<'_>,
        builder: &mut Builder,
        class: u64,
        index: u64,
    ) -> Result<Option<StackId>, ImportError> {
        let (stack, truncated) = match self.known.get(&index) {
            Some(known) => *known,
            None => {
                let Some(read) = self.read(chunk, builder, class, index)? else {
                    // Index 0 means no stack.
                    self.tally.missing += u64::from(index != 0);
                    return Ok(None);
                };
                self.known.insert(index, read);
                read
            }
        };
        self.tally.truncated += u64::from(truncated);
        Ok(stack)
    }

    fn read(
        &mut self,
        chunk: &Chunk<'_>,
        builder: &mut Builder,
        class: u64,
        index: u64,
    ) -> Result<Option<(Option<StackId>, bool)>, ImportError> {
        let Some(mut cursor) = chunk.constant(class, index) else { return Ok(None) };
        let mut truncated = false;
        let mut frames = Vec::new();
        chunk.metadata.fields(&mut cursor, class, |field, value| {
            match (field, value) {
                ("truncated", Value::Int(flag)) => truncated = flag != 0,
                ("frames", Value::Nested { at, class, count: Some(count), pooled }) => {
                    let mut cursor = chunk.at(at);
                    for _ in 0..count {
                        let frame = if pooled {
                            let index = cursor.varint()?;
                            match chunk.constant(class, index) {
                                Some(mut cursor) => self.frame(chunk, builder, &mut cursor, class)?,
                                None => continue,
                            }
                        } else {
                            self.frame(chunk, builder, &mut cursor, class)?
                        };
                        frames.push(frame);
                    }
                }
                _ => {}
            }
            Ok(())
        })?;
        if truncated {
            let kind = FrameKind::Synthetic;
            frames.push(builder.frame(Frame { function: "[truncated]".into(), kind, ..Frame::default() }));
        }
        Ok(Some((builder.stack_of(frames.into_iter().rev()), truncated)))
    }

    fn frame<'a>(
        &mut self,
        chunk: &Chunk<'a>,
        builder: &mut Builder,
        cursor: &mut super::cursor::Cursor<'a>,
        class: u64,
    ) -> Result<FrameId, ImportError> {
        let (mut method, mut line, mut kind) = ((0, 0), 0, (0, 0));
        chunk.metadata.fields(cursor, class, |field, value| {
            match (field, value) {
                ("method", Value::Pooled(class, index)) => method = (class, index),
                ("lineNumber", Value::Int(number)) => line = number,
                ("type", Value::Pooled(class, index)) => kind = (class, index),
                _ => {}
            }
            Ok(())
        })?;
        if let Some(frame) = self.frames.get(&(method.1, line, kind.1)) {
            return Ok(*frame);
        }
        if let std::collections::hash_map::Entry::Vacant(e) = self.kinds.entry(kind.1) {
            let name = chunk.string(Value::Pooled(kind.0, kind.1))?.unwrap_or_default();
            e.insert(name);
        }
        let kind_name = self.kinds[&kind.1].clone();
        let named = self.method(chunk, method.0, method.1)?;
        let mut frame = Frame { line: u32::try_from(line).ok().filter(|line| *line > 0), ..Frame::default() };
        frame.kind = match kind_name.as_str() {
            "Inlined" => FrameKind::Inlined,
            "Interpreted" => FrameKind::Interpreted,
            "Kernel" => FrameKind::Kernel,
            _ => FrameKind::Plain,
        };
        match named {
            // async-profiler stores the library of native code as its class.
            Some(Method { class, name })
                if matches!(kind_name.as_str(), "Native" | "C++" | "Kernel") && !class.contains('/') =>
            {
                frame.module = Some(class).filter(|class| !class.is_empty());
                frame.function = name;
            }
            Some(Method { class, name }) => {
                let class = class.replace('/', ".");
                frame.module = class.rsplit_once('.').map(|(package, _)| package.to_owned());
                frame.function = if class.is_empty() { name } else { format!("{class}.{name}") };
            }
            None => {
                self.tally.methods_missing += 1;
                frame.function = "[unknown]".into();
            }
        }
        let id = builder.frame(frame);
        self.frames.insert((method.1, line, kind.1), id);
        Ok(id)
    }

    fn method(&mut self, chunk: &Chunk<'_>, class: u64, index: u64) -> Result<Option<Method>, ImportError> {
        if let Some(known) = self.methods.get(&index) {
            return Ok(known.clone());
        }
        let mut found = None;
        if let Some(mut cursor) = chunk.constant(class, index) {
            let (mut of, mut name) = ((0, 0), None);
            chunk.metadata.fields(&mut cursor, class, |field, value| {
                match (field, value) {
                    ("type", Value::Pooled(class, index)) => of = (class, index),
                    ("name", value) => name = chunk.string(value)?,
                    _ => {}
                }
                Ok(())
            })?;
            let class = self.class(chunk, of.0, of.1)?;
            found = Some(Method { class, name: name.unwrap_or_default() });
        }
        self.methods.insert(index, found.clone());
        Ok(found)
    }

    fn class(&mut self, chunk: &Chunk<'_>, class: u64, index: u64) -> Result<String, ImportError> {
        if let Some(known) = self.classes.get(&index) {
            return Ok(known.clone());
        }
        let mut name = None;
        if let Some(mut cursor) = chunk.constant(class, index) {
            chunk.metadata.fields(&mut cursor, class, |field, value| {
                if field == "name" {
                    name = chunk.string(value)?;
                }
                Ok(())
            })?;
        }
        let name = name.unwrap_or_default();
        self.classes.insert(index, name.clone());
        Ok(name)
    }
}
