//! What a JSON document is about: its outermost keys, found without parsing the rest and without recursion.

/// The outermost keys of a document.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Outline<'a> {
    /// Whether the document is an array; the keys are then those of its first object.
    pub is_array: bool,
    /// The keys as written, escapes and all, in order.
    pub keys: Vec<&'a [u8]>,
}

impl Outline<'_> {
    pub fn has(&self, key: &str) -> bool {
        self.keys.contains(&key.as_bytes())
    }
}

/// Whether the input begins as a JSON object or array does.
pub(crate) fn looks_like(head: &[u8]) -> bool {
    let head = head.trim_ascii_start();
    let then = head.get(1..).map(|rest| rest.trim_ascii_start()).and_then(|rest| rest.first());
    match head.first() {
        Some(b'{') => matches!(then, Some(b'"' | b'}') | None),
        // A thread name in brackets begins a perf script too.
        Some(b'[') => matches!(then, Some(b'{' | b']' | b'[') | None),
        _ => false,
    }
}

/// The outline of a document, or of as much of it as there is.
pub(crate) fn outline(bytes: &[u8]) -> Outline<'_> {
    let mut outline = Outline { is_array: bytes.trim_ascii_start().first() == Some(&b'['), keys: Vec::new() };
    let key_depth = if outline.is_array { 2 } else { 1 };
    let mut depth = 0usize;
    let mut at = 0;
    let mut last_string: Option<&[u8]> = None;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => {
                let start = at + 1;
                at = start;
                while let Some(skip) = memchr::memchr2(b'"', b'\\', bytes.get(at..).unwrap_or_default()) {
                    at += skip;
                    if bytes[at] == b'"' {
                        break;
                    }
                    at += 2;
                }
                if depth == key_depth {
                    last_string = bytes.get(start..at);
                }
            }
            b':' if depth == key_depth => outline.keys.extend(last_string.take()),
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                if depth == 0 || (outline.is_array && depth == 1 && !outline.keys.is_empty()) {
                    break;
                }
            }
            _ => {}
        }
        at += 1;
    }
    outline
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_outermost_keys_are_found() {
        let text = br#" {"a": {"inner": [1, {"b": 2}]}, "c\"d": "x:y", "e": [] } "#;
        assert_eq!(outline(text).keys, [b"a".as_slice(), b"c\\\"d", b"e"]);
        let array = outline(br#"[{"ph": "P", "args": {"z": 1}}, {"later": 1}]"#);
        assert!(array.is_array);
        assert_eq!(array.keys, [b"ph".as_slice(), b"args"]);
    }

    #[test]
    fn depth_costs_no_stack() {
        assert!(outline(&b"[".repeat(1_000_000)).keys.is_empty());
    }

    #[test]
    fn bracketed_thread_names_are_not_json() {
        assert!(!looks_like(b"[ET_NET 0] 1234 1.0: 1 cycles:"));
        assert!(looks_like(b"\n { \"a\": 1 }"));
        assert!(looks_like(b"[{\"a\": 1 }]"));
    }
}
