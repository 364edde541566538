//! Quantities with their units: how they print, and how they are read back.

use std::fmt;

use serde::{Deserialize, Serialize};

/// An estimated time in nanoseconds. Raw clock readings are integers (`*_ns: u64`); this is what
/// statistics make of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Nanos(pub f64);

/// An amount of memory in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Bytes(pub f64);

/// A part of a whole: 0.25 prints as `25.0 %`.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Share(pub f64);

impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (value, unit) = scale(self.0, &[(1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns")]);
        f.pad(&format!("{} {unit}", three_digits(value)))
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.abs() < 1024.0 {
            return f.pad(&format!("{} B", trim_integer(self.0)));
        }
        let (value, unit) = scale(self.0, &[(1024.0f64.powi(3), "GiB"), (1024.0f64.powi(2), "MiB"), (1024.0, "KiB")]);
        f.pad(&format!("{} {unit}", three_digits(value)))
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_finite() { f.pad(&format!("{:.1} %", self.0 * 100.0)) } else { f.pad("—") }
    }
}

fn scale(value: f64, units: &[(f64, &'static str)]) -> (f64, &'static str) {
    let found = units.iter().find(|(factor, _)| value.abs() >= *factor);
    let (factor, unit) = found.or(units.last()).copied().unwrap_or((1.0, ""));
    (value / factor, unit)
}

/// A number with its noun: `1 row`, `4 rows`.
pub fn counted(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// Three significant digits, without an exponent; what is not finite prints as a dash.
pub fn three_digits(value: f64) -> String {
    if !value.is_finite() {
        return "—".to_owned();
    }
    match value.abs() {
        v if v >= 99.95 => format!("{value:.0}"),
        v if v >= 9.995 => format!("{value:.1}"),
        v if v >= 0.9995 || v == 0.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

fn trim_integer(value: f64) -> String {
    if value.fract() == 0.0 { format!("{value:.0}") } else { format!("{value:.1}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_choose_their_unit() {
        assert_eq!(Nanos(52_345.0).to_string(), "52.3 µs");
        assert_eq!(Nanos(0.31).to_string(), "0.310 ns");
        assert_eq!(Nanos(1.2e6).to_string(), "1.20 ms");
        assert_eq!(Nanos(f64::NAN).to_string(), "— ns");
    }

    #[test]
    fn small_amounts_of_memory_are_whole_bytes() {
        assert_eq!(Bytes(0.0).to_string(), "0 B");
        assert_eq!(Bytes(1536.0).to_string(), "1.50 KiB");
    }
}
