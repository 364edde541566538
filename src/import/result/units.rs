//! Units of benchmark results: what dimension they are in, the factor to its base, and which way is better.

use serde::{Deserialize, Serialize};

/// A dimension with the unit that its values are kept in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Base {
    /// Time of one operation, in nanoseconds.
    Nanoseconds,
    /// Operations per second.
    PerSecond,
    /// Bytes per second.
    BytesPerSecond,
    /// Memory of one operation, in bytes.
    Bytes,
    /// Events of one operation: allocations, cycles, instructions.
    Count(String),
    /// A unit that is not known: comparable with itself only, and no way is better.
    Other(String),
}

/// Which way is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Less is better.
    Lower,
    /// More is better.
    Higher,
    /// The unit does not say.
    Unknown,
}

impl Base {
    /// Which way is better.
    pub fn direction(&self) -> Direction {
        match self {
            Base::Nanoseconds | Base::Bytes | Base::Count(_) => Direction::Lower,
            Base::PerSecond | Base::BytesPerSecond => Direction::Higher,
            Base::Other(_) => Direction::Unknown,
        }
    }

    /// A value with its unit, for people.
    pub fn show(&self, value: f64) -> String {
        match self {
            Base::Nanoseconds => crate::unit::Nanos(value).to_string(),
            Base::Bytes => crate::unit::Bytes(value).to_string(),
            Base::BytesPerSecond => format!("{}/s", crate::unit::Bytes(value)),
            Base::PerSecond => format!("{}/s", with_prefix(value)),
            Base::Count(of) => format!("{} {of}", with_prefix(value)),
            Base::Other(unit) => format!("{} {unit}", crate::unit::three_digits(value)),
        }
    }
}

fn with_prefix(value: f64) -> String {
    let (factor, prefix) = match value.abs() {
        v if v >= 1e9 => (1e9, " G"),
        v if v >= 1e6 => (1e6, " M"),
        v if v >= 1e4 => (1e3, " k"),
        _ => (1.0, ""),
    };
    format!("{}{prefix}", crate::unit::three_digits(value / factor))
}

/// The base of a unit and the factor to it. An unknown unit is its own base.
///
/// ```
/// use countercheck::import::result::units::{Base, normalise};
/// assert_eq!(normalise("ms/op"), (Base::Nanoseconds, 1e6));
/// assert_eq!(normalise("user-ns/op"), (Base::Nanoseconds, 1.0));
/// assert_eq!(normalise("ops/ms"), (Base::PerSecond, 1e3));
/// assert_eq!(normalise("furlongs"), (Base::Other("furlongs".into()), 1.0));
/// ```
pub fn normalise(unit: &str) -> (Base, f64) {
    let trimmed = unit.trim();
    let (numerator, denominator) = match trimmed.split_once('/') {
        Some((numerator, denominator)) => (numerator.trim(), denominator.trim()),
        None => (trimmed, "op"),
    };
    // Go puts what is measured before the unit: `user-ns/op`, `p99-ns`.
    let numerator = numerator.rsplit('-').next().unwrap_or(numerator);
    let per_operation = matches!(denominator, "op" | "iter" | "iteration" | "call" | "run" | "");
    if per_operation {
        if let Some(factor) = time(numerator) {
            return (Base::Nanoseconds, factor);
        }
        if let Some(factor) = bytes(numerator) {
            return (Base::Bytes, factor);
        }
        if matches!(numerator, "allocs" | "cycles" | "instructions" | "branches" | "faults" | "counts") {
            return (Base::Count(numerator.to_owned()), 1.0);
        }
    }
    if let Some(nanoseconds) = time(denominator) {
        let per_second = 1e9 / nanoseconds;
        if matches!(numerator, "ops" | "op" | "elem" | "elements" | "items" | "iter" | "req") {
            return (Base::PerSecond, per_second);
        }
        if let Some(factor) = bytes(numerator) {
            return (Base::BytesPerSecond, factor * per_second);
        }
    }
    (Base::Other(trimmed.to_owned()), 1.0)
}

/// Nanoseconds in a unit of time.
pub(in crate::import) fn time(unit: &str) -> Option<f64> {
    Some(match unit {
        "ps" => 1e-3,
        "ns" | "nsec" | "nanoseconds" => 1.0,
        "us" | "µs" | "μs" | "usec" | "microseconds" => 1e3,
        "ms" | "msec" | "milliseconds" => 1e6,
        "s" | "sec" | "second" | "seconds" => 1e9,
        "m" | "min" | "minute" | "minutes" => 60e9,
        "h" | "hr" | "hour" => 3600e9,
        "day" => 86_400e9,
        _ => return None,
    })
}

fn bytes(unit: &str) -> Option<f64> {
    Some(match unit {
        "B" | "bytes" | "Bytes" => 1.0,
        "kB" | "KB" => 1e3,
        "MB" => 1e6,
        "GB" => 1e9,
        "KiB" => 1024.0,
        "MiB" => 1024.0 * 1024.0,
        "GiB" => 1024.0 * 1024.0 * 1024.0,
        _ => return None,
    })
}

/// A duration with its unit behind it, as rebar prints: `1.23us`, in nanoseconds.
pub(in crate::import) fn duration(text: &str) -> Option<f64> {
    let at = text.find(|c: char| c.is_alphabetic() || c == 'µ' || c == 'μ')?;
    Some(text[..at].trim().parse::<f64>().ok()? * time(&text[at..])?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn direction_comes_from_the_unit() {
        assert_eq!(normalise("s/op").0.direction(), Direction::Lower);
        assert_eq!(normalise("ops/us").0.direction(), Direction::Higher);
        assert_eq!(normalise("MB/s"), (Base::BytesPerSecond, 1e6));
        assert_eq!(normalise("score").0.direction(), Direction::Unknown);
        assert_eq!(normalise("B/op"), (Base::Bytes, 1.0));
        assert_eq!(normalise("allocs/op").0, Base::Count("allocs".into()));
    }

    #[test]
    fn every_cell_carries_its_own_unit() {
        let shown = [999e6, 1.2e9].map(|value| Base::Nanoseconds.show(value));
        assert_eq!(shown, ["999 ms", "1.20 s"]);
    }

    #[test]
    fn durations_with_a_suffix() {
        assert_eq!(duration("1.5us"), Some(1500.0));
        assert_eq!(duration("2µs"), Some(2000.0));
        assert_eq!(duration("12"), None);
        assert_eq!(duration("12parsecs"), None);
    }
}
