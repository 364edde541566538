//! Names of functions, as profiles spell them.

/// A function's name without its path, its generic arguments and its parameters: one profile may name a function by its
/// symbol and by its name in debug information.
pub(crate) fn bare(name: &str) -> &str {
    // Generic arguments may stand between separators of their own: `sum::<Block>`.
    let named = |part: &&str| !part.is_empty() && !part.starts_with(['<', '(']);
    let Some(last) = parts(name).into_iter().rfind(named) else { return name };
    last.split(['<', '(']).next().unwrap_or(last)
}

/// The parts between the `::` that are in no brackets.
fn parts(name: &str) -> Vec<&str> {
    let bytes = name.as_bytes();
    let (mut parts, mut start, mut depth) = (Vec::new(), 0, 0usize);
    for (at, byte) in bytes.iter().enumerate() {
        let before = at.checked_sub(1).map(|before| bytes[before]);
        match byte {
            b'<' | b'(' => depth += 1,
            // The arrow of a function's type closes nothing.
            b'>' if before == Some(b'-') => (),
            b'>' | b')' => depth = depth.saturating_sub(1),
            b':' if depth == 0 && at > start && before == Some(b':') => {
                parts.push(&name[start..at - 1]);
                start = at + 1;
            }
            _ => (),
        }
    }
    parts.push(&name[start..]);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_generic_arguments_and_parameters_are_no_part_of_a_bare_name() {
        for (name, expected) in [
            ("dh", "dh"),
            ("", ""),
            ("countercheck::primitive::x25519::dh", "dh"),
            ("store::sum<my_crate::Block>", "sum"),
            ("store::sum::<my_crate::Block>", "sum"),
            ("<my_crate::Block as core::ops::Add<my_crate::Block>>::add", "add"),
            ("<alloc::vec::Vec<T> as core::iter::Extend<T>>::extend::<std::slice::Iter<T>>", "extend"),
            ("core::ops::FnOnce::call_once<fn() -> a::B, (a::C,)>", "call_once"),
            ("a::b::{{closure}}", "{{closure}}"),
            ("ns::field::mul(ns::Element const&, ns::Element const&)", "mul"),
            ("std::vector<ns::A, std::allocator<ns::A> >::push_back(ns::A&&)", "push_back"),
            ("(anonymous namespace)::f", "f"),
            ("java.lang.String::length", "length"),
            ("::", "::"),
            ("naïve::größe<ß>", "größe"),
        ] {
            assert_eq!(bare(name), expected, "{name}");
        }
    }
}
