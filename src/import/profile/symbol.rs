//! Names of functions and modules as perf prints them.

use std::borrow::Cow;

/// A frame's text, taken apart.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Symbol {
    pub function: String,
    pub module: Option<String>,
    pub inlined: bool,
}

/// `symbol+0xoffset (module)`; the module may hold blanks and brackets, and either part may be missing.
pub(super) fn parse_perf(text: &[u8]) -> Symbol {
    let (name, module) = match text.strip_suffix(b")").and_then(opening_bracket) {
        Some(open) => (text[..open].trim_ascii_end(), Some(&text[open + 1..text.len() - 1])),
        None => (text, None),
    };
    let inlined = module == Some(b"inlined");
    let name = strip_offset(name);
    let function = if name.is_empty() { Cow::Borrowed("[unknown]") } else { String::from_utf8_lossy(name) };
    let module = module.filter(|module| !inlined && !module.is_empty());
    Symbol {
        function: demangle(&function).into_owned(),
        module: module.map(|module| String::from_utf8_lossy(strip_offset(module)).into_owned()),
        inlined,
    }
}

/// The `(` that closes at the end of `text` + `)` and follows a blank or begins the text.
fn opening_bracket(text: &[u8]) -> Option<usize> {
    let mut depth = 1;
    for at in memchr::memrchr2_iter(b'(', b')', text) {
        depth = if text[at] == b'(' { depth - 1 } else { depth + 1 };
        if depth == 0 {
            if at == 0 || text[at - 1] == b' ' {
                return Some(at);
            }
            break;
        }
    }
    // Brackets that do not match are part of a path: the last one after a blank opens it.
    memchr::memmem::rfind(text, b" (").map(|blank| blank + 1)
}

/// A name without the `+0xoffset` at its end.
pub(super) fn strip_offset(name: &[u8]) -> &[u8] {
    let digits = name.iter().rev().take_while(|byte| byte.is_ascii_hexdigit()).count();
    let rest = name[..name.len() - digits].strip_suffix(b"+0x");
    rest.filter(|_| digits > 0).unwrap_or(name)
}

/// An address in hexadecimal without sign, with or without `0x`.
pub(super) fn parse_hex(token: &[u8]) -> Option<u64> {
    let digits = token.strip_prefix(b"0x").unwrap_or(token);
    if digits.is_empty() || digits.len() > 16 || !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    let value = |digit: u8| u64::from(if digit.is_ascii_digit() { digit - b'0' } else { (digit | 0x20) - b'a' + 10 });
    Some(digits.iter().fold(0, |sum, digit| sum << 4 | value(*digit)))
}

/// The name in Rust's own notation; names of other languages as they are.
pub(crate) fn demangle(name: &str) -> Cow<'_, str> {
    if !(name.starts_with("_R") || name.starts_with("_ZN")) {
        return Cow::Borrowed(name);
    }
    match rustc_demangle::try_demangle(name) {
        Ok(demangled) => Cow::Owned(format!("{demangled:#}")),
        Err(_) => Cow::Borrowed(name),
    }
}

/// Whether perf's name of a module stands for kernel code: `[kernel.kallsyms]`, `[nf_conntrack]`, `x.ko`.
pub(super) fn is_kernel(module: &str) -> bool {
    let user = ["[unknown]", "[vdso]", "[vsyscall]", "[heap]", "[stack]", "[uprobes]"];
    let bracketed = module.starts_with('[') && module.ends_with(']');
    let anonymous = module.starts_with("[anon") || module.starts_with("[JIT") || module.starts_with("[stack:");
    (bracketed && !user.contains(&module) && !anonymous) || module.ends_with(".ko") || module.contains(".ko.")
}

/// The chain of inlined Java methods in one symbol of a JIT map, outermost first. Elsewhere `->` is C++.
pub(super) fn java_inlines<'a>(function: &'a str, module: Option<&str>) -> Vec<&'a str> {
    let jitted = module.is_none_or(|module| {
        let file = module.rsplit('/').next().unwrap_or(module);
        (file.starts_with("perf-") && file.ends_with(".map")) || module == "[unknown]" || module.starts_with("[JIT")
    });
    if jitted && !function.contains("operator->") { function.split("->").collect() } else { vec![function] }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> (String, Option<String>, bool) {
        let symbol = parse_perf(text.as_bytes());
        (symbol.function, symbol.module, symbol.inlined)
    }

    #[test]
    fn modules_may_hold_blanks_and_brackets() {
        for (text, function, module) in [
            ("leaf+0x35 (/opt/demo/my app)", "leaf", "/opt/demo/my app"),
            ("java.lang.String.hashCode ([JIT app cache])", "java.lang.String.hashCode", "[JIT app cache]"),
            ("x (/games/Proton 3.16/(beta) x64/y.so)", "x", "/games/Proton 3.16/(beta) x64/y.so"),
            ("f(int, char (*)(int))+0x1 (/bin/a (deleted))", "f(int, char (*)(int))", "/bin/a (deleted)"),
            ("[unknown] ([unknown])", "[unknown]", "[unknown]"),
            ("g (/odd)path)", "g", "/odd)path"),
            (" (/bin/a)", "[unknown]", "/bin/a"),
            ("main (/bin/a+0x1234)", "main", "/bin/a"),
        ] {
            assert_eq!(parsed(text), (function.to_owned(), Some(module.to_owned()), false), "{text}");
        }
        assert_eq!(parsed("one (inlined)"), ("one".to_owned(), None, true));
        assert_eq!(parsed("std::f()"), ("std::f()".to_owned(), None, false));
    }

    #[test]
    fn arrows_are_java_only_in_a_jit_map() {
        assert_eq!(java_inlines("A::a->B::b", Some("/tmp/perf-12.map")), ["A::a", "B::b"]);
        assert_eq!(java_inlines("ptr<T>::operator->() const", None).len(), 1);
        assert_eq!(java_inlines("f(x)->y", Some("/bin/a")).len(), 1);
    }

    #[test]
    fn kernel_code_is_told_from_mappings_in_brackets() {
        assert!(is_kernel("[kernel.kallsyms]") && is_kernel("[nf_conntrack]") && is_kernel("/lib/modules/x.ko.xz"));
        assert!(!is_kernel("[unknown]") && !is_kernel("[vdso]") && !is_kernel("[JIT] tid 5") && !is_kernel("/bin/a"));
    }
}
