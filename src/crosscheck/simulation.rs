//! The judge judged: simulated profiles that are sound must not be accused, planted errors must be.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::explanation::Explanation;
use super::judge::{Options, judge};
use super::testing::{folded, primitive, timed};
use super::verdict::Verdict;
use crate::profile::Profile;
use crate::stats::Estimate;

/// How the samples of a simulated sampler depend on each other.
#[derive(Clone, Copy, Debug)]
enum Dependence {
    /// Independent, without times.
    Multinomial,
    /// Independent, with times.
    Timed,
    /// Runs of equal samples, five long on average.
    Runs,
    /// A tick every 4 ms through an operation of a few milliseconds whose length varies.
    Tick,
}

fn uniform(rng: &mut ChaCha8Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

fn normal(rng: &mut ChaCha8Rng) -> f64 {
    let (u, v) = (uniform(rng).max(1e-300), uniform(rng));
    (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}

const NAMES: [&str; 8] = ["a", "b", "c", "d", "e", "f", "g", "h"];

/// True shares of some primitives; what they leave is the rest.
fn shares(rng: &mut ChaCha8Rng) -> Vec<f64> {
    let parts = 2 + (rng.next_u64() % 7) as usize;
    let sizes: Vec<f64> = (0..=parts).map(|_| -uniform(rng).max(1e-300).ln()).collect();
    let sum: f64 = sizes.iter().sum();
    sizes[..parts].iter().map(|size| size / sum).collect()
}

/// What dose and replay would say of these shares: each with a normal error of 0.4 points, known as such.
fn measured(rng: &mut ChaCha8Rng, shares: &[f64]) -> Explanation {
    const ERROR_NS: f64 = 4e3;
    let mut about = |share: f64| {
        let point = share * 1e6 + ERROR_NS * normal(rng);
        Some(Estimate::with_interval(point, point - 1.96 * ERROR_NS, point + 1.96 * ERROR_NS))
    };
    let primitives = shares.iter().zip(NAMES).map(|(share, name)| super::explanation::Explained {
        dose_ns: about(*share),
        replay_ns: about(*share),
        ..primitive(name)
    });
    Explanation { primitives: primitives.collect(), ..super::testing::explanation(&[]) }
}

fn part(shares: &[f64], at: f64) -> usize {
    let mut sum = 0.0;
    shares
        .iter()
        .position(|share| {
            sum += share;
            at < sum
        })
        .unwrap_or(shares.len())
}

fn name(part: usize, shares: &[f64]) -> &'static str {
    if part < shares.len() { NAMES[part] } else { "" }
}

fn sampled(rng: &mut ChaCha8Rng, shares: &[f64], samples: usize, dependence: Dependence) -> Profile {
    let mut drawn = Vec::with_capacity(samples);
    match dependence {
        Dependence::Multinomial | Dependence::Timed => {
            drawn.extend((0..samples).map(|_| part(shares, uniform(rng))));
        }
        Dependence::Runs => {
            let mut last = part(shares, uniform(rng));
            for _ in 0..samples {
                if uniform(rng) < 0.2 {
                    last = part(shares, uniform(rng));
                }
                drawn.push(last);
            }
        }
        Dependence::Tick => {
            const TICK_MS: f64 = 4.0;
            let length = 0.2 + 3.0 * uniform(rng);
            let (mut begun, mut lasts) = (0.0, length);
            for tick in 0..samples {
                let now = (tick as f64 + 1.0) * TICK_MS;
                while begun + lasts < now {
                    begun += lasts;
                    lasts = length * (1.0 + 0.1 * normal(rng)).max(0.3);
                }
                drawn.push(part(shares, (now - begun) / lasts));
            }
        }
    }
    if matches!(dependence, Dependence::Multinomial) {
        let lines = (0..=shares.len()).map(|which| {
            let count = drawn.iter().filter(|part| **part == which).count();
            let name = name(which, shares);
            if name.is_empty() { format!("main {count}\n") } else { format!("main;{name} {count}\n") }
        });
        folded(&lines.collect::<String>())
    } else {
        timed(drawn.into_iter().map(|part| name(part, shares)))
    }
}

fn verdicts(known: &Explanation, profile: &Profile) -> Vec<(String, Verdict)> {
    let report = judge(known, &[("s".into(), profile)], &Options::default()).unwrap().report;
    let rows = report.rows.iter().chain([&report.rest]);
    rows.map(|row| (row.primitive.clone(), row.readings[0].judgement.verdict)).collect()
}

/// Runs of which a row was accused.
fn false_accusations(dependence: Dependence, runs: u64) -> usize {
    let mut accused = 0;
    for seed in 0..runs {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let shares = shares(&mut rng);
        let samples = 100 + (rng.next_u64() % 1900) as usize;
        let known = measured(&mut rng, &shares);
        let profile = sampled(&mut rng, &shares, samples, dependence);
        accused += usize::from(verdicts(&known, &profile).iter().any(|(_, verdict)| verdict.accuses()));
    }
    println!("{dependence:?}: {accused} of {runs} sound profiles accused");
    accused
}

#[test]
fn sound_profiles_are_not_accused() {
    // The design allows one in a thousand.
    assert!(false_accusations(Dependence::Multinomial, 4000) <= 4);
    assert!(false_accusations(Dependence::Timed, 1500) <= 2);
    assert!(false_accusations(Dependence::Runs, 1500) <= 2);
    assert!(false_accusations(Dependence::Tick, 1500) <= 2);
}

#[test]
fn planted_errors_of_ten_points_are_named() {
    for dependence in [Dependence::Multinomial, Dependence::Timed, Dependence::Tick] {
        let (mut named, mut wrong, mut runs) = (0, 0, 0);
        for seed in 0..600 {
            let mut rng = ChaCha8Rng::seed_from_u64(1_000_000 + seed);
            let truth = shares(&mut rng);
            let known = measured(&mut rng, &truth);
            // The first primitive shows ten points more, taken from the second.
            if truth[1] < 0.12 {
                continue;
            }
            let mut lie = truth.clone();
            (lie[0], lie[1]) = (lie[0] + 0.1, lie[1] - 0.1);
            let found = verdicts(&known, &sampled(&mut rng, &lie, 2500, dependence));
            let verdict = |name: &str| found.iter().find(|(row, _)| row == name).unwrap().1;
            runs += 1;
            named +=
                usize::from(verdict("a") == Verdict::Over && matches!(verdict("b"), Verdict::Under | Verdict::Blind));
            let innocent = found.iter().filter(|(row, _)| row != "a" && row != "b");
            wrong += innocent.filter(|(_, verdict)| verdict.accuses()).count();
        }
        println!("{dependence:?}: {named} of {runs} planted errors of ten points named, {wrong} others accused");
        assert!(runs > 100 && named * 100 >= runs * 95, "{dependence:?}: {named} of {runs}");
        assert!(wrong <= 2, "{dependence:?}: {wrong}");
    }
}
