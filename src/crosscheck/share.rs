//! Sampled shares with intervals that allow for samples that depend on each other.
//!
//! A sampler bound to a clock tick does not draw independent samples: an operation that lasts a few
//! ticks is met in the same places again and again. Where the time of each sample is known, a circular
//! block bootstrap over time (Politis and Romano 1992) measures the variance of each share, at block
//! lengths from a few samples to a twentieth of the recording; the largest is kept. Where it is not
//! known, the binomial variance is multiplied by [`DESIGN_EFFECT`]. Either way the variance is turned
//! into a number of *effective* samples, and the interval is Wilson's (1927) for that many, which stays
//! within 0 and 1 and is not empty at either end.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::attribute::{Attribution, Draw, ratio};
use crate::profile::Profile;
use crate::stats::Estimate;

/// Assumed ratio of a share's variance to the binomial one where samples carry no time. An assumption,
/// on the wide side: it makes intervals 1.4 times as wide.
pub const DESIGN_EFFECT: f64 = 2.0;

/// Standard normal quantile of a two-sided 95 % interval.
pub const Z95: f64 = 1.959_963_984_540_054;

/// Below this many timed samples the blocks are too few to measure dependence.
const FEWEST_TIMED: usize = 40;
/// Consecutive samples are summed into at most this many bins before blocks are drawn.
const BINS: usize = 4096;
const REPLICATIONS: usize = 200;
/// The longest block is this part of the recording.
const FEWEST_BLOCKS: usize = 20;
/// Below this many, blocks may be an eighth of the recording.
const SHORT: usize = 400;

/// One share of a profile and how many independent samples it is worth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampled {
    /// The share, 0 to 1.
    pub share: f64,
    /// Independent samples that would give the same variance; `None` where the number of samples is not
    /// known.
    pub effective: Option<f64>,
}

impl Sampled {
    /// Wilson's interval at `z` standard deviations.
    pub fn interval(&self, z: f64) -> Option<(f64, f64)> {
        let n = self.effective.filter(|n| *n > 0.0)?;
        let (p, zz) = (self.share, z * z);
        let centre = (p + zz / (2.0 * n)) / (1.0 + zz / n);
        let half = z / (1.0 + zz / n) * (p * (1.0 - p) / n + zz / (4.0 * n * n)).max(0.0).sqrt();
        Some(((centre - half).max(0.0).min(p), (centre + half).min(1.0).max(p)))
    }

    /// The share with its 95 % interval.
    pub fn estimate(&self) -> Estimate {
        match self.interval(Z95) {
            Some((low, high)) => Estimate::with_interval(self.share, low, high),
            None => Estimate::point(self.share),
        }
    }
}

/// The number of samples behind an attribution; `None` where the profile gives only weights.
pub fn sample_count(profile: &Profile, attribution: &Attribution) -> Option<f64> {
    let counts: Option<u64> = attribution.draws.iter().map(|draw| draw.count).sum();
    if let Some(count) = counts {
        return Some(count as f64);
    }
    let unit = &profile.weight_types.get(attribution.weight)?.unit;
    if unit == "count" {
        return Some(attribution.total);
    }
    let provenance = &profile.provenance;
    let period = provenance.period.filter(|period| *period > 0.0)?;
    (provenance.period_unit.as_deref() == Some(unit)).then(|| attribution.total / period)
}

/// The share of every part of an attribution (the last is the rest), with its effective samples.
pub fn shares(profile: &Profile, attribution: &Attribution, seed: u64) -> Vec<Sampled> {
    let parts = attribution.parts.len();
    let points: Vec<f64> = (0..parts).map(|part| attribution.share(part)).collect();
    let Some(kish) = sample_count(profile, attribution).map(|count| kish(&attribution.draws, count)) else {
        return points.into_iter().map(|share| Sampled { share, effective: None }).collect();
    };
    let effects = match timed(&attribution.draws) {
        Some(draws) => design_effects(&draws, parts, kish, &points, seed),
        None => vec![DESIGN_EFFECT; parts],
    };
    points.into_iter().zip(effects).map(|(share, effect)| Sampled { share, effective: Some(kish / effect) }).collect()
}

/// Kish's effective number of samples under unequal weights, (Σw)² ÷ Σw². A draw that stands for `c`
/// samples counts as `c` equal parts.
fn kish(draws: &[Draw], count: f64) -> f64 {
    let sum: f64 = draws.iter().map(|draw| draw.weight).sum();
    let squares: Option<f64> =
        draws.iter().map(|draw| Some(draw.weight * draw.weight / draw.count.filter(|c| *c > 0)? as f64)).sum();
    squares.filter(|squares| *squares > 0.0).map_or(count, |squares| (sum * sum / squares).min(count))
}

/// The draws in order of time; `None` where times are missing or the samples too few.
fn timed(draws: &[Draw]) -> Option<Vec<Draw>> {
    let usable = draws.len() >= FEWEST_TIMED
        && draws.iter().all(|draw| draw.time_ns.is_some() && draw.count.is_none_or(|count| count == 1));
    usable.then(|| {
        let mut draws = draws.to_vec();
        draws.sort_by_key(|draw| draw.time_ns);
        draws
    })
}

/// Ratio of each share's bootstrap variance to the binomial one, at least 1.
fn design_effects(draws: &[Draw], parts: usize, kish: f64, points: &[f64], seed: u64) -> Vec<f64> {
    let bins = binned(draws, parts);
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut largest = vec![0.0f64; parts];
    let mut length = 4;
    let longest = (bins.len() / FEWEST_BLOCKS).max(bins.len().min(SHORT) / 8);
    loop {
        let at = length.min(longest);
        // A variance of few blocks is itself uncertain: its upper rather than its middle estimate.
        let few = 1.0 + 2.0 / (bins.len() as f64 / at as f64).sqrt();
        for (kept, variance) in largest.iter_mut().zip(block_variance(&bins, parts, at, &mut rng)) {
            *kept = kept.max(variance * few);
        }
        if at == longest {
            break;
        }
        length *= 2;
    }
    // The dependence of all shares together steadies the ones that few samples show.
    let binomial: Vec<f64> = points.iter().map(|share| share * (1.0 - share) / kish).collect();
    let together = ratio(largest.iter().sum(), binomial.iter().sum()).max(1.0);
    largest.iter().zip(binomial).map(|(variance, binomial)| ratio(*variance, binomial).max(together)).collect()
}

/// Weights by part, summed over runs of consecutive samples.
fn binned(draws: &[Draw], parts: usize) -> Vec<Vec<f64>> {
    let size = draws.len().div_ceil(BINS);
    draws
        .chunks(size)
        .map(|chunk| {
            let mut bin = vec![0.0; parts];
            for draw in chunk {
                bin[draw.part] += draw.weight;
            }
            bin
        })
        .collect()
}

/// Variance of each share over resamples of circular blocks of `length` bins.
fn block_variance(bins: &[Vec<f64>], parts: usize, length: usize, rng: &mut ChaCha8Rng) -> Vec<f64> {
    let n = bins.len();
    let sums = block_sums(bins, parts, length);
    let blocks = (n / length).max(1);
    let (mut sum, mut squares) = (vec![0.0; parts], vec![0.0; parts]);
    let mut drawn = vec![0.0; parts];
    for _ in 0..REPLICATIONS {
        drawn.fill(0.0);
        for _ in 0..blocks {
            let start = (rng.next_u64() % n as u64) as usize;
            for (value, add) in drawn.iter_mut().zip(&sums[start * parts..]) {
                *value += add;
            }
        }
        let total: f64 = drawn.iter().sum();
        for (part, value) in drawn.iter().enumerate() {
            let share = ratio(*value, total);
            sum[part] += share;
            squares[part] += share * share;
        }
    }
    let reps = REPLICATIONS as f64;
    sum.iter().zip(&squares).map(|(sum, squares)| ((squares - sum * sum / reps) / (reps - 1.0)).max(0.0)).collect()
}

/// The weight of each part in the block that starts at each bin, wrapping around the end.
fn block_sums(bins: &[Vec<f64>], parts: usize, length: usize) -> Vec<f64> {
    let n = bins.len();
    let mut sums = Vec::with_capacity(n * parts);
    let mut block = vec![0.0; parts];
    for bin in bins.iter().cycle().take(length) {
        block.iter_mut().zip(bin).for_each(|(sum, value)| *sum += value);
    }
    for start in 0..n {
        sums.extend_from_slice(&block);
        let entering = &bins[(start + length) % n];
        for ((sum, leaving), entering) in block.iter_mut().zip(&bins[start]).zip(entering) {
            *sum += entering - leaving;
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crosscheck::testing::{folded, primitive, timed as timed_profile};

    fn sampled(profile: &Profile) -> Vec<Sampled> {
        let attribution = Attribution::new(profile, 0, &[primitive("a")], &[]).unwrap();
        shares(profile, &attribution, 1)
    }

    #[test]
    fn wilson_stays_inside_and_never_empty() {
        let none = Sampled { share: 0.0, effective: Some(100.0) };
        let (low, high) = none.interval(Z95).unwrap();
        assert_eq!(low, 0.0);
        assert!((high - 0.037).abs() < 0.001, "{high}");
        assert_eq!(Sampled { share: 0.3, effective: None }.interval(Z95), None);
    }

    #[test]
    fn aggregated_samples_are_worth_half_their_number() {
        let found = sampled(&folded("main;a 300\nmain 700\n"));
        assert_eq!(found[0], Sampled { share: 0.3, effective: Some(500.0) });
    }

    #[test]
    fn independent_timed_samples_are_worth_almost_all_of_their_number() {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let profile = timed_profile((0..5000).map(|_| if rng.next_u64() % 10 < 3 { "a" } else { "" }));
        let worth = sampled(&profile)[0].effective.unwrap();
        assert!((2500.0..=5000.0).contains(&worth), "{worth}");
    }

    #[test]
    fn runs_of_equal_samples_are_worth_few() {
        let mut rng = ChaCha8Rng::seed_from_u64(4);
        let runs = (0..100).flat_map(|_| std::iter::repeat_n(if rng.next_u64() % 10 < 3 { "a" } else { "" }, 50));
        let worth = sampled(&timed_profile(runs))[0].effective.unwrap();
        assert!(worth < 250.0, "{worth}");
    }

    #[test]
    fn unequal_weights_are_worth_fewer() {
        let draw = |weight| Draw { time_ns: None, part: 0, weight, count: Some(1) };
        assert_eq!(kish(&[draw(1.0), draw(1.0)], 2.0), 2.0);
        assert!(kish(&[draw(1.0), draw(9.0)], 2.0) < 1.3);
    }
}
