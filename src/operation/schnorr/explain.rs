//! The k256 rows explained by point operations, inversions, roots and hashes. Counts come from `counts.tsv`, costs from
//! loops over k256's own types, independent and chained, all interleaved with the operation itself.
//!
//! Field operations are counted and not priced: k256 inlines them into its point formulas, but not into another crate, so
//! that a loop around one of them measures a call (an addition then reads as much as half a multiplication).
//! Table look-ups in constant time, recoding of scalars and comparisons are in no count: they are the residual.

use std::cell::RefCell;
use std::hint::black_box;

use k256::elliptic_curve::hazmat::FieldArithmetic;
use k256::elliptic_curve::point::AffineCoordinates;
use k256::{ProjectivePoint, Secp256k1};

use super::rust::{challenge, lift};
use super::workloads::{all, signatures};
use crate::crosscheck::explanation::{Explained, Explanation};
use crate::harness::clock::thread_cpu_ns;
use crate::harness::interleave::{Arm, Plan, Samples, Session, Treatment, interleave};
use crate::unit::{Nanos, Share};
use crate::warning::Warning;
use crate::workload::WorkloadError;

type Fe = <Secp256k1 as FieldArithmetic>::FieldElement;

/// Operations by name, each with its mean count; written by `scripts/schnorr-counts/run`.
const COUNTS: &str = include_str!("counts.tsv");

/// A row: what of the table it consists of, and its tagged hashes (BIP-340).
struct Row {
    name: &'static str,
    of: &'static [&'static str],
    hashes: f64,
}

const ROWS: [Row; 6] = [
    Row { name: "create", of: &["create"], hashes: 0.0 },
    Row { name: "sign", of: &["sign"], hashes: 3.0 },
    Row { name: "verify", of: &["lift_x", "verify_lifted"], hashes: 1.0 },
    Row { name: "verify_lifted", of: &["verify_lifted"], hashes: 1.0 },
    Row { name: "lift_x", of: &["lift_x"], hashes: 0.0 },
    Row { name: "ecdh", of: &["ecdh"], hashes: 0.0 },
];

/// What is priced; each has two arms, see [`arms`].
const PARTS: [&str; 5] = ["point add", "point double", "field invert", "square root", "tagged hash"];

impl Row {
    /// How often the row does this.
    fn count(&self, what: &str) -> f64 {
        match what {
            "square root" => self.of.iter().filter(|part| **part == "lift_x").count() as f64,
            "tagged hash" => self.hashes,
            counted => table().filter(|(of, what, _)| self.of.contains(of) && *what == counted).map(|(.., n)| n).sum(),
        }
    }
}

/// Operation, what, and its mean count.
fn table() -> impl Iterator<Item = (&'static str, &'static str, f64)> {
    COUNTS.lines().filter_map(|line| {
        let mut fields = line.split('\t');
        Some((fields.next()?, fields.next()?, fields.next()?.parse().ok()?))
    })
}

/// Explains `schnorr/…/k256`; `None` for any other row.
pub fn explain(
    row: &str,
    plan: &Plan,
    progress: &mut dyn FnMut(f64),
) -> Option<Result<Vec<Explanation>, WorkloadError>> {
    let (operation, library) = row.strip_prefix("schnorr/")?.split_once('/')?;
    let of = ROWS.iter().find(|one| one.name == operation && library == "k256")?;
    Some(measure(row, of, plan, progress).map(|explanation| vec![explanation]))
}

fn measure(row: &str, of: &Row, plan: &Plan, progress: &mut dyn FnMut(f64)) -> Result<Explanation, WorkloadError> {
    let workload = all().into_iter().find(|workload| workload.name == row);
    let missing = || WorkloadError { workload: row.to_owned(), message: "this build has no such row".to_owned() };
    let session = RefCell::new(Session::new(&workload.ok_or_else(missing)?, plan.seed)?);
    let mut arms: Vec<Arm<'_>> = vec![Box::new(|_| session.borrow_mut().time(&Treatment::Off))];
    arms.extend(cost_arms(plan.seed));
    let samples = interleave(&mut arms, plan, progress)?;
    let parts = PARTS.iter().enumerate().map(|(at, name)| (1 + 2 * at, *name, of.count(name)));
    let called: Vec<_> = parts.filter(|(.., count)| *count > 0.0).collect();
    let primitives = called.iter().map(|(arm, name, count)| explained(&samples, *arm, name, *count)).collect();
    Ok(Explanation {
        operation: row.to_owned(),
        time_ns: Some(samples.of(0)),
        primitives,
        dose_all_ns: None,
        replay_all_ns: None,
        causal_valid: true,
        warnings: vec![band(&samples, &called), field_operations(of)],
    })
}

fn explained(samples: &Samples, arm: usize, name: &str, count: f64) -> Explained {
    let (independent, chained) = (samples.of(arm), samples.of(arm + 1));
    Explained {
        primitive: name.replace(' ', "_"),
        count,
        unit_cost_ns: Some(independent),
        cost_band_ns: Some((independent.point.min(chained.point), independent.point.max(chained.point))),
        predicted_ns: Some(independent.scaled(count)),
        ..Explained::default()
    }
}

/// What each kind of cost would predict alone, and which comes nearest.
fn band(samples: &Samples, called: &[(usize, &str, f64)]) -> Warning {
    let time = samples.of(0).point;
    let [independent, chained] =
        [0, 1].map(|kind| called.iter().map(|(arm, _, n)| n * samples.of(arm + kind).point).sum::<f64>() / time);
    let off_by = |share: f64| share.ln().abs();
    let nearest = if off_by(independent) <= off_by(chained) { "throughput" } else { "chained" };
    Warning {
        code: "cost-band".to_owned(),
        message: format!(
            "one kind of cost for all would predict, of {} measured: throughput {}, chained {}; nearest: {nearest}",
            Nanos(time),
            Share(independent),
            Share(chained)
        ),
        remedy: "table look-ups in constant time, recoding and comparisons are in no count: they are the residual"
            .to_owned(),
    }
}

fn field_operations(of: &Row) -> Warning {
    let mut names: Vec<&str> = table().map(|(_, what, _)| what).filter(|what| what.starts_with("field ")).collect();
    names.sort_unstable();
    names.dedup();
    let counts = names.iter().map(|what| (what, of.count(what))).filter(|(_, count)| *count > 0.0);
    let each: Vec<String> = counts.map(|(what, count)| format!("{} {count:.0}", &what["field ".len()..])).collect();
    Warning {
        code: "field-operations".to_owned(),
        message: format!("counted within the point operations: {}", each.join(", ")),
        remedy: "k256 inlines them into its formulas and into no other crate: a loop around one would price the call"
            .to_owned(),
    }
}

/// Operations in one timing of independent ones.
const OPERATIONS: usize = 128;
/// Steps of a chain, and chains in one timing.
const STEPS: usize = 8;
const CHAINS: usize = 16;

/// An arm that times `body`, which does `operations`.
fn timed(operations: usize, mut body: impl FnMut() + 'static) -> Arm<'static> {
    Box::new(move |_| {
        let start = thread_cpu_ns();
        body();
        Ok((thread_cpu_ns() - start) as f64 / operations as f64)
    })
}

/// Two arms for an operation: independent and chained.
fn both<T: Copy + 'static>(values: &[(T, T)], step: impl Fn(&T, &T) -> T + Copy + 'static) -> [Arm<'static>; 2] {
    let (independent, chains) = (values.to_vec(), values[..CHAINS].to_vec());
    [
        timed(values.len(), move || {
            for (x, y) in &independent {
                black_box(step(x, y));
            }
        }),
        timed(CHAINS * STEPS, move || {
            for (x, y) in &chains {
                black_box((0..STEPS).fold(*black_box(x), |x, _| step(&x, y)));
            }
        }),
    ]
}

/// The same arm twice, for what is a chain in itself.
fn alike<T: Clone + 'static>(values: &[T], work: impl Fn(&T) + Copy + 'static) -> [Arm<'static>; 2] {
    [0, 1].map(|_| {
        let values = values.to_vec();
        timed(values.len(), move || values.iter().for_each(|value| work(black_box(value))))
    })
}

/// The arms of [`PARTS`].
fn cost_arms(seed: u64) -> Vec<Arm<'static>> {
    let signed = signatures(seed, OPERATIONS);
    let points: Vec<ProjectivePoint> = signed.iter().filter_map(|one| lift(&one.public)).collect();
    let pairs: Vec<_> = points.iter().zip(points.iter().cycle().skip(1)).map(|(x, y)| (*x, *y)).collect();
    let x = |point: &ProjectivePoint| Option::<Fe>::from(Fe::from_bytes(&point.to_affine().x()));
    let elements: Vec<Fe> = points[..STEPS].iter().filter_map(x).collect();
    let mut arms: Vec<Arm<'static>> = Vec::new();
    arms.extend(both(&pairs, |x, y| *x + y));
    arms.extend(both(&pairs, |x, _| x.double()));
    arms.extend(alike(&elements, |x| _ = black_box(x.invert())));
    arms.extend(alike(&elements, |x| _ = black_box(x.sqrt())));
    arms.extend(alike(&signed[..STEPS], |one| _ = black_box(challenge(&one.public, &one.public, &one.message))));
    arms
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn what_the_table_counts_is_priced_or_said() {
        assert!(table().count() > 40);
        for (_, what, _) in table() {
            assert!(what.starts_with("field ") || PARTS.contains(&what), "{what}");
        }
        assert_eq!(ROWS[0].count("point add"), 65.0);
        assert_eq!(ROWS[0].count("no such thing"), 0.0);
        assert_eq!(ROWS[2].count("field square"), 253.0 + 260.28125);
    }

    #[test]
    fn a_verification_is_explained() {
        let plan = Plan { budget: Duration::from_millis(1), at_least: 2, ..Plan::default() };
        assert!(explain("schnorr/verify/c", &plan, &mut |_| ()).is_none());
        let levels = explain("schnorr/verify/k256", &plan, &mut |_| ()).unwrap().unwrap();
        let count = |name: &str| levels[0].primitives.iter().find(|one| one.primitive == name).map(|one| one.count);
        assert_eq!(
            (count("square_root"), count("tagged_hash"), count("field_invert")),
            (Some(1.0), Some(1.0), Some(1.0))
        );
        assert!(levels[0].predicted_ns().unwrap().point > 0.0);
        assert!(levels[0].warnings[1].message.contains("square 513"), "{:?}", levels[0].warnings);
    }
}
