//! The k256 rows explained at two levels: by point operations, and by field operations. Counts come from `counts.tsv`,
//! costs from loops over k256's own types in three surroundings, all interleaved with the operation itself.
//!
//! The prediction follows one rule: the square root of lifting is a chain, so its multiplications and squarings take
//! chained costs; everything else is priced by throughput. What each surrounding alone would predict is shown beside it.
//! Table look-ups in constant time, recoding of scalars and comparisons are in no count: they are the residual.

use std::cell::RefCell;
use std::hint::black_box;

use k256::elliptic_curve::hazmat::FieldArithmetic;
use k256::elliptic_curve::point::AffineCoordinates;
use k256::{ProjectivePoint, Secp256k1};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

use super::rust::{challenge, lift};
use super::workloads::{all, signatures};
use crate::crosscheck::explanation::{Explained, Explanation};
use crate::harness::clock::thread_cpu_ns;
use crate::harness::interleave::{Arm, Plan, Samples, Session, Treatment, interleave};
use crate::primitive::pool::array;
use crate::stats::Estimate;
use crate::unit::{Nanos, Share};
use crate::warning::Warning;
use crate::workload::WorkloadError;

type Fe = <Secp256k1 as FieldArithmetic>::FieldElement;

/// Operations by name, each with its mean count; written by `scripts/schnorr-counts/run`.
const COUNTS: &str = include_str!("counts.tsv");

/// The rows explained, what of the table each consists of, and its tagged hashes (BIP-340).
const ROWS: [(&str, &[&str], f64); 6] = [
    ("create", &["create"], 0.0),
    ("sign", &["sign"], 3.0),
    ("verify", &["lift_x", "verify_lifted"], 1.0),
    ("verify_lifted", &["verify_lifted"], 1.0),
    ("lift_x", &["lift_x"], 0.0),
    ("ecdh", &["ecdh"], 0.0),
];

/// Operations of the first level.
const POINTS: [&str; 4] = ["point add", "point double", "square root", "tagged hash"];
/// Operations of the second.
const FIELD: [&str; 8] = [
    "field mul",
    "field square",
    "field add",
    "field negate",
    "field small mul",
    "field normalize weak",
    "field normalize",
    "field invert",
];

/// Surroundings of a cost: independent, in a chain, and in a chain after a multiplication each (which is taken off).
const SURROUNDINGS: [&str; 3] = ["throughput", "chained", "after multiply"];

/// The mean count of `what` in an operation of the table.
fn counted(operation: &str, what: &str) -> f64 {
    let of_line = |line: &str| {
        let mut fields = line.split('\t');
        let found = fields.next() == Some(operation) && fields.next() == Some(what);
        found.then(|| fields.next()?.parse().ok()).flatten()
    };
    COUNTS.lines().find_map(of_line).unwrap_or(0.0)
}

/// Explains `schnorr/…/k256`; `None` for any other row.
pub fn explain(
    row: &str,
    plan: &Plan,
    progress: &mut dyn FnMut(f64),
) -> Option<Result<Vec<Explanation>, WorkloadError>> {
    let (operation, library) = row.strip_prefix("schnorr/")?.split_once('/')?;
    let of = ROWS.iter().find(|(name, ..)| *name == operation && library == "k256")?;
    Some(measure(row, of, plan, progress))
}

fn measure(
    row: &str,
    (_, of, hashes): &(&str, &[&str], f64),
    plan: &Plan,
    progress: &mut dyn FnMut(f64),
) -> Result<Vec<Explanation>, WorkloadError> {
    let workload = all().into_iter().find(|workload| workload.name == row);
    let missing = || WorkloadError { workload: row.to_owned(), message: "this build has no such row".to_owned() };
    let session = RefCell::new(Session::new(&workload.ok_or_else(missing)?, plan.seed)?);
    let mut arms: Vec<Arm<'_>> = vec![Box::new(|round| session.borrow_mut().time(round, &Treatment::Off))];
    let points = arms.len();
    arms.extend(point_arms(plan.seed));
    let field = arms.len();
    arms.extend(field_arms(plan.seed));
    let samples = interleave(&mut arms, plan, progress)?;

    let of_points = |name: &str| match name {
        "square root" => f64::from(u8::from(of.contains(&"lift_x"))),
        "tagged hash" => *hashes,
        what => of.iter().map(|part| counted(part, what)).sum(),
    };
    let by_points = Level {
        name: row.to_owned(),
        parts: POINTS.iter().map(|name| Part { name, count: of_points(name), in_chain: 0.0 }).collect(),
        first: points,
    };
    let by_field = Level {
        name: format!("{row}, by field operations"),
        parts: FIELD
            .iter()
            .map(|name| Part {
                name,
                count: of.iter().map(|part| counted(part, name)).sum(),
                in_chain: match *name {
                    "field mul" | "field square" if of.contains(&"lift_x") => counted("lift_x", name),
                    _ => 0.0,
                },
            })
            .collect(),
        first: field,
    };
    let hash = (*hashes > 0.0).then_some((points + 3 * SURROUNDINGS.len(), *hashes));
    Ok(vec![by_points.explanation(&samples, None), by_field.explanation(&samples, hash)])
}

/// An operation of a level: how often it runs, and how many of these in a chain.
struct Part {
    name: &'static str,
    count: f64,
    in_chain: f64,
}

/// A level of explanation; the arms of its first operation are at `first`.
struct Level {
    name: String,
    parts: Vec<Part>,
    first: usize,
}

impl Level {
    /// The arm of a cost, and the arm that is to be taken off it.
    fn arm(&self, part: usize, surroundings: usize) -> (usize, Option<usize>) {
        let arm = self.first + part * SURROUNDINGS.len() + surroundings;
        // The chained cost of the level's first operation, which is its multiplication.
        (arm, (surroundings == 2 && part > 0 && self.parts[0].name == FIELD[0]).then_some(self.first + 1))
    }

    fn sum(&self, samples: &Samples, terms: &[(usize, usize, f64)]) -> Estimate {
        let mut arms = Vec::new();
        for (part, surroundings, count) in terms {
            let (arm, less) = self.arm(*part, *surroundings);
            arms.push((arm, *count));
            arms.extend(less.map(|less| (less, -count)));
        }
        let places: Vec<usize> = arms.iter().map(|(arm, _)| *arm).collect();
        samples.combine(&places, |times| times.iter().zip(&arms).map(|(time, (_, count))| time * count).sum())
    }

    fn explanation(&self, samples: &Samples, besides: Option<(usize, f64)>) -> Explanation {
        let time = samples.of(0);
        let mut primitives: Vec<Explained> = Vec::new();
        for (at, part) in self.parts.iter().enumerate().filter(|(_, part)| part.count > 0.0) {
            let costs = [0, 1, 2].map(|surroundings| self.sum(samples, &[(at, surroundings, 1.0)]));
            let points = costs.map(|cost| cost.point);
            primitives.push(Explained {
                primitive: part.name.replace(' ', "_"),
                count: part.count,
                unit_cost_ns: Some(costs[0]),
                cost_band_ns: Some((
                    points.into_iter().fold(f64::INFINITY, f64::min),
                    points.into_iter().fold(0.0, f64::max),
                )),
                predicted_ns: Some(self.sum(samples, &[(at, 0, part.count - part.in_chain), (at, 1, part.in_chain)])),
                ..Explained::default()
            });
        }
        if let Some((arm, count)) = besides {
            primitives.push(Explained {
                primitive: "tagged_hash".to_owned(),
                count,
                unit_cost_ns: Some(samples.of(arm)),
                predicted_ns: Some(samples.of(arm).scaled(count)),
                ..Explained::default()
            });
        }
        let besides = besides.map_or(0.0, |(arm, count)| samples.of(arm).point * count);
        let alone = [0, 1, 2].map(|surroundings| {
            let terms: Vec<_> =
                self.parts.iter().enumerate().map(|(at, part)| (at, surroundings, part.count)).collect();
            (self.sum(samples, &terms).point + besides) / time.point
        });
        let nearest = (0..3).min_by(|a, b| alone[*a].ln().abs().total_cmp(&alone[*b].ln().abs())).unwrap_or(0);
        let each: Vec<String> =
            SURROUNDINGS.iter().zip(alone).map(|(name, share)| format!("{name} {}", Share(share))).collect();
        Explanation {
            operation: self.name.clone(),
            time_ns: Some(time),
            primitives,
            dose_all_ns: None,
            replay_all_ns: None,
            causal_valid: true,
            warnings: vec![Warning {
                code: "cost-band".to_owned(),
                message: format!(
                    "one kind of cost for all would predict, of {} measured: {}; nearest: {}",
                    Nanos(time.point),
                    each.join(", "),
                    SURROUNDINGS[nearest]
                ),
                remedy:
                    "table look-ups in constant time, recoding and comparisons are in no count: they are the residual"
                        .to_owned(),
            }],
        }
    }
}

/// Operations in one timing of independent ones.
const OPERATIONS: usize = 128;
/// Steps of a chain, and chains in one timing. Chains start anew, since sums that nobody normalises outgrow their limbs.
const STEPS: u32 = 8;
const CHAINS: usize = 16;

/// An arm that times `body`, which does `operations`.
fn timed(operations: usize, mut body: impl FnMut() + 'static) -> Arm<'static> {
    Box::new(move |_| {
        let start = thread_cpu_ns();
        body();
        Ok((thread_cpu_ns() - start) as f64 / operations as f64)
    })
}

/// Three arms for an operation: independent, chained, and chained after `before`.
fn cost_arms<T: Copy + 'static>(
    values: &[(T, T)],
    before: fn(&T, &T) -> T,
    step: impl Fn(&T, &T, u32) -> T + Copy + 'static,
) -> [Arm<'static>; 3] {
    let (independent, chains) = (values.to_vec(), values[..CHAINS].to_vec());
    let after = chains.clone();
    [
        timed(values.len(), move || {
            for (x, y) in &independent {
                black_box(step(x, y, 1));
            }
        }),
        timed(CHAINS * STEPS as usize, move || {
            for (x, y) in &chains {
                black_box((1..=STEPS).fold(*black_box(x), |x, i| step(&x, y, i)));
            }
        }),
        timed(CHAINS * STEPS as usize, move || {
            for (x, y) in &after {
                black_box((1..=STEPS).fold(*black_box(x), |x, _| step(&before(&x, y), y, 1)));
            }
        }),
    ]
}

/// The arms of [`POINTS`].
fn point_arms(seed: u64) -> Vec<Arm<'static>> {
    let signed = signatures(seed, OPERATIONS);
    let points: Vec<ProjectivePoint> = signed.iter().filter_map(|one| lift(&one.public)).collect();
    let pairs: Vec<_> = points.iter().zip(points.iter().cycle().skip(1)).map(|(x, y)| (*x, *y)).collect();
    // Points are chained as they are: a field multiplication before each would be none of theirs.
    let same = |x: &ProjectivePoint, _: &ProjectivePoint| *x;
    let mut arms: Vec<Arm<'static>> = Vec::new();
    arms.extend(cost_arms(&pairs, same, |x, y, _| *x + y));
    arms.extend(cost_arms(&pairs, same, |x, _, _| x.double()));
    // A square root is one chain, and a hash is one too: they cost the same wherever they stand.
    let roots: Vec<Fe> =
        points.iter().filter_map(|point| Option::from(Fe::from_bytes(&point.to_affine().x()))).collect();
    for _ in SURROUNDINGS {
        let roots = roots.clone();
        arms.push(timed(8, move || {
            for x in &roots[..8] {
                black_box(black_box(x).sqrt());
            }
        }));
    }
    for _ in SURROUNDINGS {
        let signed = signed.clone();
        arms.push(timed(8, move || {
            for one in &signed[..8] {
                black_box(challenge(&one.public, &one.public, black_box(&one.message)));
            }
        }));
    }
    arms
}

/// The arms of [`FIELD`].
fn field_arms(seed: u64) -> Vec<Arm<'static>> {
    let mut random = ChaCha20Rng::seed_from_u64(seed);
    let mut element = || loop {
        // All but one in 2^224 are below the modulus.
        if let Some(element) = Option::<Fe>::from(Fe::from_bytes(&array::<32>(&mut random).into())) {
            break element;
        }
    };
    let values: Vec<(Fe, Fe)> = (0..OPERATIONS).map(|_| (element(), element())).collect();
    let mul = |x: &Fe, y: &Fe| x.mul(y);
    let mut arms: Vec<Arm<'static>> = Vec::new();
    arms.extend(cost_arms(&values, mul, |x, y, _| x.mul(y)));
    arms.extend(cost_arms(&values, mul, |x, _, _| x.square()));
    arms.extend(cost_arms(&values, mul, |x, y, _| *x + y));
    arms.extend(cost_arms(&values, mul, |x, _, i| x.negate(i)));
    // A factor that the compiler does not know, so that it stays a multiplication.
    let two = black_box(2);
    arms.extend(cost_arms(&values, mul, move |x, _, _| x.mul_single(two)));
    arms.extend(cost_arms(&values, mul, |x, _, _| x.normalize_weak()));
    arms.extend(cost_arms(&values, mul, |x, _, _| x.normalize()));
    arms.extend(cost_arms(&values, mul, |x, _, _| x.invert().unwrap_or(Fe::ZERO)));
    arms
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn every_count_of_the_table_has_a_cost() {
        for line in COUNTS.lines().filter(|line| !line.starts_with('#')).skip(1) {
            let what = line.split('\t').nth(1).unwrap();
            assert!(FIELD.contains(&what) || POINTS.contains(&what), "{what}");
        }
        assert_eq!(counted("create", "point add"), 65.0);
        assert_eq!(counted("create", "no such thing"), 0.0);
    }

    #[test]
    fn the_levels_count_what_the_table_says() {
        let plan = Plan { budget: Duration::from_millis(1), at_least: 2, ..Plan::default() };
        assert!(explain("schnorr/verify/c", &plan, &mut |_| ()).is_none());
        let levels = explain("schnorr/verify/k256", &plan, &mut |_| ()).unwrap().unwrap();
        let count = |level: usize, name: &str| {
            levels[level].primitives.iter().find(|one| one.primitive == name).map(|one| one.count)
        };
        assert_eq!(count(0, "square_root"), Some(1.0));
        assert_eq!(count(0, "tagged_hash"), Some(1.0));
        assert_eq!(count(1, "field_square"), Some(253.0 + 260.28125));
        assert!(levels.iter().all(|level| level.predicted_ns().unwrap().point > 0.0));
    }
}
