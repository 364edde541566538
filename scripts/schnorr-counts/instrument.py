"""Puts a counter into each field and group operation of a copy of k256."""

import pathlib
import re
import sys

source = pathlib.Path(sys.argv[1])


def instrument(path, signatures):
    """Adds a count at the start of every function whose signature matches."""
    text = path.read_text()
    for name, signature in signatures:
        pattern = re.compile(r"((?:pub )?fn " + signature + r"[^{;]*\{)")
        text, found = pattern.subn(rf'\1 crate::counted("{name}");', text, count=1)
        if found != 1:
            sys.exit(f"{path}: found no function `{signature}`: the crate has changed, look at it again")
    path.write_text(text)


# Operators and methods both end at the implementation behind the wrapper, so that is where to count.
field = source / "arithmetic/field.rs"
text = field.read_text()
for operation in ["mul", "square", "add", "negate", "mul_single", "normalize", "normalize_weak"]:
    name = "field " + operation.replace("mul_single", "small mul").replace("_", " ")
    text, found = re.subn(rf"self\.0\.{operation}\(", f'crate::tally("{name}", self.0).{operation}(', text)
    if found == 0:
        sys.exit(f"{field}: found no call of `self.0.{operation}`: the crate has changed, look at it again")
field.write_text(text)
instrument(field, [("field invert", r"invert\(&self\)"), ("field invert vartime", r"invert_vartime\(&self\)")])
instrument(
    source / "arithmetic/projective.rs",
    [
        ("point add", r"add_assign\(&mut self, \w+: &ProjectivePoint\)"),
        ("point add mixed", r"add_assign_mixed\(&mut self, \w+: &AffinePoint\)"),
        ("point double", r"double_in_place\(&mut self\)"),
    ],
)

lib = source / "lib.rs"
lib.write_text(
    lib.read_text()
    + """
extern crate std as counting_std;
counting_std::thread_local! {
    /// Calls by name.
    pub static COUNTS: core::cell::RefCell<counting_std::collections::BTreeMap<&'static str, u64>> =
        const { core::cell::RefCell::new(counting_std::collections::BTreeMap::new()) };
}
/// Counts a call and hands the value on.
pub fn tally<T>(name: &'static str, value: T) -> T {
    counted(name);
    value
}
/// Counts a call.
pub fn counted(name: &'static str) {
    COUNTS.with(|counts| *counts.borrow_mut().entry(name).or_default() += 1);
}
"""
)
