//! Flattens the nested call tree of old `.cpuprofile` files. A JSON parser that recurses would end at its
//! limit or at the end of the stack; real trees are as deep as the recursion that was profiled.

use crate::import::error::{ImportError, Position, excerpt};
use crate::import::profile::v8::{CallFrame, Node, NodeId};

/// The nodes of `"head"`, and the document without it.
///
/// # Errors
/// What is not JSON, or a tree that does not end.
pub(super) fn flatten(format: &'static str, bytes: &[u8]) -> Result<(Vec<Node>, Vec<u8>), ImportError> {
    let mut scanner = Scanner { format, bytes, at: 0 };
    let (head_start, tree_start) = scanner.find_head()?;
    scanner.at = tree_start;
    let nodes = scanner.tree()?;
    let tree_end = scanner.at;
    let mut rest = bytes[..head_start].to_vec();
    rest.extend_from_slice(b"\"head\":null");
    rest.extend_from_slice(&bytes[tree_end..]);
    Ok((nodes, rest))
}

struct Scanner<'a> {
    format: &'static str,
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Scanner<'a> {
    fn fail<T>(&self, expected: &str) -> Result<T, ImportError> {
        let found = match self.bytes.get(self.at..) {
            Some(rest) if !rest.is_empty() => format!("\"{}\"", excerpt(&rest[..rest.len().min(20)])),
            _ => "the end of the input".into(),
        };
        Err(ImportError::malformed(self.format, Position::Byte(self.at as u64), found, expected))
    }

    fn peek(&mut self) -> Option<u8> {
        while self.bytes.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
        self.bytes.get(self.at).copied()
    }

    fn expect(&mut self, byte: u8, expected: &str) -> Result<(), ImportError> {
        if self.peek() != Some(byte) {
            return self.fail(expected);
        }
        self.at += 1;
        Ok(())
    }

    /// The raw text of a string, quotes included.
    fn string(&mut self) -> Result<&'a [u8], ImportError> {
        self.expect(b'"', "a string")?;
        let start = self.at - 1;
        while let Some(byte) = self.bytes.get(self.at) {
            self.at += 1;
            match byte {
                b'"' => return Ok(&self.bytes[start..self.at]),
                b'\\' => self.at += 1,
                _ => {}
            }
        }
        self.fail("the end of a string")
    }

    /// The raw text of a value whose inside does not matter; nesting is counted, not recursed into.
    fn value(&mut self) -> Result<&'a [u8], ImportError> {
        let first = self.peek();
        let start = self.at;
        match first {
            Some(b'"') => return self.string(),
            Some(b'{' | b'[') => {
                let mut depth = 0usize;
                loop {
                    match self.peek() {
                        Some(b'"') => {
                            self.string()?;
                            continue;
                        }
                        Some(b'{' | b'[') => depth += 1,
                        Some(b'}' | b']') => depth -= 1,
                        Some(_) => {}
                        None => return self.fail("the end of a value"),
                    }
                    self.at += 1;
                    if depth == 0 {
                        return Ok(&self.bytes[start..self.at]);
                    }
                }
            }
            _ => {}
        }
        while self.bytes.get(self.at).is_some_and(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(byte)) {
            self.at += 1;
        }
        if self.at == start { self.fail("a value") } else { Ok(&self.bytes[start..self.at]) }
    }

    /// Where the key `"head"` and its value begin.
    fn find_head(&mut self) -> Result<(usize, usize), ImportError> {
        self.expect(b'{', "an object")?;
        loop {
            self.peek();
            let start = self.at;
            let key = self.string()?;
            self.expect(b':', "`:`")?;
            if key == b"\"head\"" {
                self.peek();
                return Ok((start, self.at));
            }
            self.value()?;
            self.expect(b',', "the key \"head\"")?;
        }
    }

    fn tree(&mut self) -> Result<Vec<Node>, ImportError> {
        let mut nodes: Vec<Node> = Vec::new();
        let mut parents: Vec<Option<usize>> = Vec::new();
        let mut open: Vec<usize> = Vec::new();
        self.expect(b'{', "a node")?;
        open_node(&mut nodes, &mut parents, &mut open);
        loop {
            let Some(current) = open.last().copied() else {
                // An id may follow the children that refer to it.
                for (index, parent) in parents.into_iter().enumerate() {
                    nodes[index].parent = parent.map(|parent| nodes[parent].id);
                }
                return Ok(nodes);
            };
            match self.peek() {
                Some(b'}') => {
                    self.at += 1;
                    open.pop();
                    // After a child come its siblings, or the end of the list of children.
                    if !open.is_empty() {
                        match self.peek() {
                            Some(b',') => {
                                self.at += 1;
                                self.expect(b'{', "a node")?;
                                open_node(&mut nodes, &mut parents, &mut open);
                            }
                            Some(b']') => self.at += 1,
                            _ => return self.fail("`,` or `]` after a node"),
                        }
                    }
                }
                Some(b',') => self.at += 1,
                Some(b'"') => {
                    let key = self.string()?;
                    self.expect(b':', "`:`")?;
                    if key == b"\"children\"" && self.peek() == Some(b'[') {
                        self.at += 1;
                        match self.peek() {
                            Some(b']') => self.at += 1,
                            _ => {
                                self.expect(b'{', "a node")?;
                                open_node(&mut nodes, &mut parents, &mut open);
                            }
                        }
                        continue;
                    }
                    let at = self.at;
                    let raw = self.value()?;
                    self.set(&mut nodes[current], key, raw, at)?;
                }
                _ => return self.fail("a key, `,` or `}`"),
            }
        }
    }

    fn set(&self, node: &mut Node, key: &[u8], raw: &[u8], at: usize) -> Result<(), ImportError> {
        let fail = |expected: &str| {
            let found = format!("\"{}\"", excerpt(raw));
            Err(ImportError::malformed(self.format, Position::Byte(at as u64), found, expected))
        };
        match key {
            b"\"functionName\"" | b"\"url\"" => {
                let Ok(text) = serde_json::from_slice::<String>(raw) else { return fail("a string") };
                match key {
                    b"\"url\"" => node.call_frame.url = text,
                    _ => node.call_frame.function_name = text,
                }
            }
            // Lines of the old shape count from 1.
            b"\"lineNumber\"" => {
                node.call_frame.line_number = serde_json::from_slice::<f64>(raw).ok().map(|line| line - 1.0)
            }
            b"\"hitCount\"" => node.hit_count = serde_json::from_slice(raw).ok(),
            b"\"id\"" => match serde_json::from_slice(raw) {
                Ok(id) => node.id = id,
                Err(_) => return fail("the id of a node"),
            },
            b"\"callFrame\"" => match serde_json::from_slice(raw) {
                Ok(call_frame) => node.call_frame = call_frame,
                Err(_) => return fail("a call frame"),
            },
            _ => {}
        }
        Ok(())
    }
}

/// A new node below the innermost open one. Running numbers stand for the ids of files without any; they
/// lie beyond what files use, so that both kinds never meet.
fn open_node(nodes: &mut Vec<Node>, parents: &mut Vec<Option<usize>>, open: &mut Vec<usize>) {
    let id = NodeId::from((1 << 62) + nodes.len() as u64);
    parents.push(open.last().copied());
    open.push(nodes.len());
    nodes.push(Node { id, call_frame: CallFrame::default(), hit_count: None, children: None, parent: None });
}
