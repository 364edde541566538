//! Which frames of a profile are a primitive's.

use rustc_hash::FxHashMap;

use super::Names;
use crate::boundary;
use crate::crosscheck::explanation::FramePattern;
use crate::harness::count::PrimitiveCount;

/// The symbols of closures, by the address of the code compiled for each.
pub(super) type Symbols = FxHashMap<usize, Vec<String>>;

/// The symbols of the closures seen at the boundaries of these primitives. Equal code of two primitives' closures may
/// have been merged into one function, which has the name of either: it gets none.
pub(super) fn names_of_closures(primitives: &[PrimitiveCount], names: Option<Names>) -> Symbols {
    let Some(names) = names else { return Symbols::default() };
    let mut owners: FxHashMap<usize, Vec<&str>> = FxHashMap::default();
    for known in primitives.iter().filter_map(|one| boundary::known(&one.primitive)) {
        for closure in &known.closures {
            owners.entry(closure.code).or_default().push(known.name);
        }
    }
    let codes: Vec<usize> = owners
        .into_iter()
        .filter(|(_, owners)| owners.iter().all(|one| *one == owners[0]))
        .map(|(code, _)| code)
        .collect();
    let symbols = names(&codes);
    codes.into_iter().zip(symbols).collect()
}

/// The functions that were declared to be the primitive's, or where none are, those of its name; and the closures seen
/// at its boundaries.
pub(super) fn patterns(name: &str, symbols: &Symbols) -> Vec<FramePattern> {
    let Some(known) = boundary::known(name) else { return Vec::new() };
    let mut patterns: Vec<FramePattern> =
        known.frames.iter().map(|frame| FramePattern::Exact((*frame).to_owned())).collect();
    if patterns.is_empty() {
        patterns.extend([FramePattern::Exact(name.to_owned()), FramePattern::Glob(format!("*::{name}"))]);
    }
    for closure in &known.closures {
        let symbols = symbols.get(&closure.code).map_or(&[][..], Vec::as_slice);
        let spelled: Vec<&str> = symbols.iter().filter_map(|symbol| closure_of(symbol)).collect();
        patterns.extend(closure_patterns(closure.name, spelled.iter().find_map(|closure| number_of(closure))));
        patterns.extend(spelled.into_iter().flat_map(spelled_patterns));
    }
    patterns
}

/// How a closure's type name ends.
const CLOSURE: &str = "{{closure}}";

/// The boundary's calls, as they appear in names: instantiated with the output's type and the closure's.
const CALL: &str = r"(?:^|::)call(?:_on|_on_made|_borrowed)?(?:::)?<(?:.*[, ])?";

/// The closure itself, and the boundary's call that is instantiated with it: where only lines are recorded, an inlined
/// closure is named without its path. A closure's type name ends in `{{closure}}`; symbols write `{{closure}}`,
/// `{closure#0}` or, as a type, `{closure_env#0}`. Without a number it is any closure of its function.
fn closure_patterns(type_name: &str, number: Option<u32>) -> [FramePattern; 2] {
    let any = r"\{(?:\{closure\}|closure(?:_env)?#\d+)\}";
    let last = match number {
        Some(number) => format!(r"\{{(?:\{{closure\}}|closure(?:_env)?#{number})\}}"),
        None => any.to_owned(),
    };
    let outer = type_name.strip_suffix(CLOSURE);
    let path = outer.unwrap_or(type_name).split(CLOSURE).map(escaped).collect::<Vec<_>>().join(any);
    let closure = path + if outer.is_some() { &last } else { "" };
    [FramePattern::Regex(format!("^{closure}$")), FramePattern::Regex(format!("{CALL}{closure}(?:<.*>)?>$"))]
}

/// The same for a closure as a symbol spells it, which is not how its type is named where it stands in an `impl` or in a
/// generic function.
fn spelled_patterns(closure: &str) -> [FramePattern; 2] {
    let closure = escaped(closure).replace(r"closure_env\#", r"closure\#").replace(r"closure\#", r"closure(?:_env)?\#");
    [FramePattern::Regex(format!("^{closure}$")), FramePattern::Regex(format!("{CALL}{closure}>$"))]
}

/// A regular expression for the text itself.
fn escaped(text: &str) -> String {
    text.chars().fold(String::new(), |mut text, c| {
        // Not everything: `\<` and `\>` are the ends of words.
        if r"\.+*?()|[]{}^$#&-~".contains(c) {
            text.push('\\');
        }
        text.push(c);
        text
    })
}

/// The closure for which a symbol of the boundary was compiled, its last type argument:
/// `call_in_run<u64, a::run::{closure_env#2}>`.
fn closure_of(symbol: &str) -> Option<&str> {
    let arguments = symbol.strip_suffix('>').filter(|symbol| symbol.contains("_in_run"))?;
    let mut depth = 0;
    for (at, c) in arguments.char_indices().rev() {
        match c {
            '>' if !arguments[..at].ends_with('-') => depth += 1,
            '<' | ',' if depth == 0 => {
                return Some(arguments[at + 1..].trim_start()).filter(|one| one.contains("{closure"));
            }
            '<' => depth -= 1,
            _ => (),
        }
    }
    None
}

/// The number that tells a closure from the others of its function; its own parameters are passed over.
fn number_of(closure: &str) -> Option<u32> {
    let end = match closure.strip_suffix('>') {
        Some(_) => closure.rfind("}<")? + 1,
        None => closure.len(),
    };
    let own = &closure[closure[..end].rfind("::").map_or(0, |at| at + 2)..end];
    own.strip_suffix('}')?.rsplit_once('#')?.1.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crosscheck::pattern::Matcher;
    use crate::profile::Frame;

    fn hits(patterns: &[FramePattern]) -> impl Fn(&str) -> bool + use<> {
        let matchers: Vec<Matcher> = patterns.iter().map(|pattern| Matcher::new("run", pattern).unwrap()).collect();
        move |name: &str| {
            let frame = Frame { function: name.to_owned(), ..Frame::default() };
            matchers.iter().any(|matcher| matcher.matches(&frame))
        }
    }

    #[test]
    fn a_closures_pattern_matches_both_manglings_and_nothing_else() {
        let hits = hits(&closure_patterns("<a::B as c::D>::run::{{closure}}", None));
        for name in [
            "<a::B as c::D>::run::{{closure}}",
            "<a::B as c::D>::run::{closure#0}",
            "call_on<u64, <a::B as c::D>::run::{closure_env#2}>",
            "call_borrowed<&str, <a::B as c::D>::run::{closure_env#2}>",
            "<countercheck::boundary::Boundary>::call::<u32, <a::B as c::D>::run::{closure#1}>",
            "countercheck::boundary::Boundary::call_on<u64, <a::B as c::D>::run::{closure_env#2}<u8>>",
        ] {
            assert!(hits(name), "{name}");
        }
        for name in [
            "{closure#0}",
            "<a::B as c::D>::run",
            "<a::B as c::D>::run::{closure#0}::inner",
            "call_on<u64, x::run::{closure_env#2}>",
            "recall_on<u64, <a::B as c::D>::run::{closure_env#2}>",
        ] {
            assert!(!hits(name), "{name}");
        }
    }

    #[test]
    fn a_number_tells_the_closures_of_one_function_apart() {
        let hits = hits(&closure_patterns("a::run::{{closure}}", Some(2)));
        assert!(hits("call<u64, a::run::{closure_env#2}>") && hits("a::run::{closure#2}"));
        assert!(!hits("call<u64, a::run::{closure_env#1}>") && !hits("a::run::{closure#12}"));
    }

    #[test]
    fn a_symbols_spelling_finds_closures_in_impls_and_generic_functions() {
        let symbol =
            "call_in_run<alloc::vec::Vec<u64, alloc::alloc::Global>, a::{impl#0}::go::{closure_env#1}<u32, u8>>";
        let closure = closure_of(symbol).unwrap();
        assert_eq!((closure, number_of(closure)), ("a::{impl#0}::go::{closure_env#1}<u32, u8>", Some(1)));
        let hits = hits(&spelled_patterns(closure));
        assert!(hits("call_on<alloc::vec::Vec<u64, alloc::alloc::Global>, a::{impl#0}::go::{closure_env#1}<u32, u8>>"));
        assert!(hits("a::{impl#0}::go::{closure#1}<u32, u8>"));
        assert!(!hits("call_on<u64, a::{impl#0}::go::{closure_env#0}<u32, u8>>"));
        for (symbol, number) in [
            ("<c::Boundary>::call_in_run::<fn() -> u64, <a::S<u32>>::go::<u8>::{closure#3}>", Some(3)),
            ("call_borrowed_in_run<&str, a::run::{closure#0}::{closure_env#4}>", Some(4)),
            ("call_in_run<u64, a::run::{closure_env#2}<a::other::{closure_env#7}>>", Some(2)),
            ("call_in_run<u64, fn(u64) -> u64>", None),
            ("c::Boundary::call_in_run", None),
            ("something_else<u64, a::run::{closure#1}>", None),
        ] {
            assert_eq!(closure_of(symbol).and_then(number_of), number, "{symbol}");
        }
    }
}
