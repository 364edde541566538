//! Unit costs from a record.

use super::Unit;
use crate::harness::environment;
use crate::record::{Record, Row, Variant};
use crate::stats::order::median_estimate;
use crate::stats::{Estimate, median};
use crate::warning::Warning;
use crate::workload::Kind;

/// The costs of the primitives that the record has, at the sizes given: a row of the primitive's own name,
/// or the line through its rows of several sizes (`sha256/64`, `sha256/1024`).
pub(super) fn units(record: &Record, sizes: &[(String, f64)]) -> Vec<Unit> {
    let rows: Vec<&Row> = record.rows.iter().filter(|row| row.kind == Kind::Primitive).collect();
    sizes.iter().filter_map(|(primitive, size)| unit(&rows, primitive, *size)).collect()
}

fn unit(rows: &[&Row], primitive: &str, size: f64) -> Option<Unit> {
    let of = |variant: Variant| {
        let named = |row: &&&Row| row.variant == variant && row.name == primitive;
        rows.iter().find(named).and_then(|row| cost(row)).or_else(|| between(rows, primitive, variant, size))
    };
    let cost = of(Variant::Throughput)?;
    let forms = [Some(cost), of(Variant::Chained), of(Variant::Cold)].into_iter().flatten().map(|form| form.point);
    let band = forms.fold((f64::INFINITY, 0.0), |(low, high), form| (form.min(low), form.max(high)));
    Some(Unit { primitive: primitive.to_owned(), cost, band })
}

/// The median over processes of each one's median.
fn cost(row: &Row) -> Option<Estimate> {
    let medians: Vec<f64> = row.processes.iter().filter_map(|process| process.median_ns()).collect();
    median_estimate(&medians).or_else(|| median(&medians).map(Estimate::point))
}

/// The cost at a size, on the line through the two nearest sizes that were measured.
fn between(rows: &[&Row], primitive: &str, variant: Variant, size: f64) -> Option<Estimate> {
    let mut points: Vec<(f64, Estimate)> = rows
        .iter()
        .filter(|row| row.variant == variant)
        .filter(|row| row.name.split_once('/').is_some_and(|(base, _)| base == primitive))
        .filter_map(|row| Some((row.parameter? as f64, cost(row)?)))
        .collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let above = points.iter().position(|(at, _)| *at >= size).unwrap_or(points.len()).clamp(1, points.len().max(2) - 1);
    let (low, high) = (points.get(above - 1)?, points.get(above)?);
    let along = (size - low.0) / (high.0 - low.0);
    let mix = |a: f64, b: f64| a + along * (b - a);
    let ends = |end: fn(&Estimate) -> Option<f64>| Some(mix(end(&low.1)?, end(&high.1)?));
    let (one, other) = (ends(|estimate| estimate.low), ends(|estimate| estimate.high));
    Some(Estimate {
        point: mix(low.1.point, high.1.point),
        low: one.zip(other).map(|(a, b)| a.min(b)),
        high: one.zip(other).map(|(a, b)| a.max(b)),
    })
}

/// The warning that a record is of another machine or build.
pub(super) fn of_another_machine(record: &Record) -> Option<Warning> {
    let here = environment::capture();
    let there = &record.environment;
    let differs = [
        ("processor", here.cpu_model.as_deref(), there.cpu_model.as_deref()),
        ("compiler", here.compiler.as_deref(), there.compiler.as_deref()),
        ("flags", here.flags.as_deref(), there.flags.as_deref()),
        ("optimisation", Some(here.optimisation.as_str()), Some(there.optimisation.as_str())),
    ]
    .into_iter()
    .find(|(_, here, there)| here != there);
    let name = |value: Option<&str>| value.unwrap_or("not known").to_owned();
    differs.map(|(what, here, there)| Warning {
        code: "costs-elsewhere".to_owned(),
        message: format!("the record's {what} is {}, this one's {}", name(there), name(here)),
        remedy: "measure the costs on this machine and with this build: leave --costs out".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Measurement, TimingSample};

    fn row(name: &str, variant: Variant, ns: u64) -> Row {
        let sample = TimingSample { iterations: 10, cpu_ns: 10 * ns, wall_ns: 10 * ns };
        Row {
            name: name.to_owned(),
            family: String::new(),
            kind: Kind::Primitive,
            parameter: name.split_once('/').and_then(|(_, parameter)| parameter.parse().ok()),
            variant,
            runtime: "native".to_owned(),
            implementation: String::new(),
            processes: vec![Measurement { samples: vec![sample; 3], ..Measurement::default() }; 6],
            error: None,
        }
    }

    #[test]
    fn costs_are_by_name_or_on_the_line_between_sizes() {
        let rows = [
            row("dh", Variant::Throughput, 500),
            row("dh", Variant::Cold, 700),
            row("hash/100", Variant::Throughput, 200),
            row("hash/200", Variant::Throughput, 300),
            row("hash/1000", Variant::Throughput, 1100),
        ];
        let rows: Vec<&Row> = rows.iter().collect();
        let dh = unit(&rows, "dh", 32.0).unwrap();
        assert_eq!((dh.cost.point, dh.band), (500.0, (500.0, 700.0)));
        for (size, cost) in [(150.0, 250.0), (600.0, 700.0), (50.0, 150.0), (2000.0, 2100.0), (100.0, 200.0)] {
            assert_eq!(unit(&rows, "hash", size).unwrap().cost.point, cost);
        }
        assert!(unit(&rows, "sign", 32.0).is_none());
    }
}
