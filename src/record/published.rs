//! Figures that other projects published, to stand beside measured rows and never among them.

use serde::{Deserialize, Serialize};

use super::store::{self, StoreError};
use crate::unit::Nanos;

/// The figures of one source.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Published {
    /// Version of the record schema.
    pub schema_version: u32,
    /// The project that published them.
    pub source: String,
    /// The figures.
    pub figures: Vec<Figure>,
}

/// One published figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Figure {
    /// Where it ran: `jvm`, `go`, `julia`.
    pub runtime: String,
    /// Which implementation ran.
    pub implementation: String,
    /// What was measured; the same name as a row here where it is the same work.
    pub name: String,
    /// Which quantity: `p50`, `time`, `allocated`.
    pub quantity: String,
    /// Its unit, as published.
    pub unit: String,
    /// The figure, or the lower end of a range.
    pub value: f64,
    /// Upper end of a range.
    pub high: Option<f64>,
    /// What to know about it.
    pub note: Option<String>,
}

/// The files under `profiles/published/`, so that an installed program has them too.
const FILES: [(&str, &str); 4] = [
    ("ed25519consensus.json", include_str!("../../profiles/published/ed25519consensus.json")),
    ("groth.json", include_str!("../../profiles/published/groth.json")),
    ("marmot.json", include_str!("../../profiles/published/marmot.json")),
    ("secp256k1.json", include_str!("../../profiles/published/secp256k1.json")),
];

/// Everything published that this project knows of.
pub fn all() -> Result<Vec<Published>, StoreError> {
    FILES.iter().map(|(name, text)| store::parse_versioned(name.as_ref(), text.as_bytes())).collect()
}

/// A published time of a row.
#[derive(Clone, Copy, Debug)]
pub struct PublishedTime<'a> {
    source: &'a str,
    figure: &'a Figure,
    ns: f64,
}

impl PublishedTime<'_> {
    /// Whose figure it is: source, runtime, implementation and, unless it is the median, quantity.
    pub fn label(&self) -> String {
        let figure = self.figure;
        let quantity = if figure.quantity == "p50" { String::new() } else { format!(", {}", figure.quantity) };
        format!("{}, {}, {}{quantity}", self.source, figure.runtime, figure.implementation)
    }

    /// The time.
    pub fn time(&self) -> Nanos {
        Nanos(self.ns)
    }
}

/// The published times of the row of this name.
pub fn times_of<'a>(published: &'a [Published], row: &str) -> Vec<PublishedTime<'a>> {
    let figures = published.iter().flat_map(|p| p.figures.iter().map(|figure| (p.source.as_str(), figure)));
    figures
        .filter(|(_, figure)| figure.name == row)
        .filter_map(|(source, figure)| Some(PublishedTime { source, figure, ns: figure.value * to_ns(&figure.unit)? }))
        .collect()
}

/// The published factors of the row of this name (`slower_than_c`, `faster_than_individual`), each with a label: whose
/// it is and of what.
pub fn factors_of(published: &[Published], row: &str) -> Vec<(String, f64)> {
    let figures = published.iter().flat_map(|p| p.figures.iter().map(|figure| (p.source.as_str(), figure)));
    figures
        .filter(|(_, figure)| figure.name == row && figure.unit == "ratio")
        .map(|(source, figure)| {
            let of = figure.quantity.replace('_', " ");
            (format!("{source}, {}, {}, {of}", figure.runtime, figure.implementation), figure.value)
        })
        .collect()
}

/// Nanoseconds in a unit of time; `None` for other units.
fn to_ns(unit: &str) -> Option<f64> {
    match unit {
        "ns" | "ns/op" => Some(1.0),
        "us" | "us/op" => Some(1e3),
        "ms" => Some(1e6),
        "s" => Some(1e9),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_published_figure_is_read_and_its_source_named() {
        let published = all().unwrap();
        assert_eq!(published.len(), FILES.len());
        for source in &published {
            assert!(!source.source.is_empty() && !source.figures.is_empty());
            assert!(source.figures.iter().all(|figure| figure.value.is_finite() && figure.value >= 0.0));
        }
    }

    #[test]
    fn times_are_found_by_row_and_converted() {
        let published = all().unwrap();
        let times = times_of(&published, "x25519_dh");
        let quartz = times.iter().find(|time| time.label().contains("16 limbs radix 2^16")).unwrap();
        assert_eq!(quartz.time(), Nanos(579_000.0));
        assert!(times_of(&published, "no such row").is_empty());
        let proofs = times_of(&published, "groth16/prove/generated_24_constraints");
        assert!(proofs.iter().any(|time| time.time() == Nanos(30_045_000.0)), "{proofs:?}");
        let factors = factors_of(&published, "schnorr/verify/k256");
        assert!(factors.iter().any(|(label, factor)| label.contains("slower than c") && *factor == 4.4), "{factors:?}");
    }

    /// A figure that is named like a row stands beside that row: the row must be there.
    #[cfg(all(feature = "schnorr", feature = "groth16"))]
    #[test]
    fn figures_named_after_rows_find_them() {
        let suite = crate::operation::builtin();
        for figure in all().unwrap().iter().flat_map(|source| &source.figures) {
            if figure.name.starts_with("groth16/") || figure.name.starts_with("schnorr/") {
                assert!(suite.resolve(&figure.name).is_some(), "{}", figure.name);
            }
        }
    }
}
