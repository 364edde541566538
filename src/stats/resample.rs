//! Bootstrap intervals from seeded resampling, of independent values and of values in time order.

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

use super::{CONFIDENCE, Estimate, quantile, sorted};

/// How to resample: how often and from which seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resampling {
    /// Number of resamples.
    pub resamples: usize,
    /// Seed: the same data and seed give the same interval.
    pub seed: u64,
}

impl Default for Resampling {
    fn default() -> Self {
        Self { resamples: 2_000, seed: 0x5eed }
    }
}

/// A statistic of independent values with its percentile bootstrap interval (Efron 1979).
/// `None` without values; no interval from a single one.
pub fn bootstrap(values: &[f64], statistic: impl Fn(&[f64]) -> f64, how: Resampling) -> Option<Estimate> {
    block_bootstrap(values, 1, statistic, how)
}

/// The same for values in time order that may depend on their neighbours: whole blocks of `block`
/// consecutive values are drawn, wrapping around (circular blocks, Politis and Romano 1992).
pub fn block_bootstrap(
    values: &[f64],
    block: usize,
    statistic: impl Fn(&[f64]) -> f64,
    how: Resampling,
) -> Option<Estimate> {
    let n = values.len();
    if n == 0 {
        return None;
    }
    let point = statistic(values);
    let block = block.clamp(1, n);
    if n / block < 2 {
        return Some(Estimate::point(point));
    }
    let mut random = ChaCha8Rng::seed_from_u64(how.seed);
    let mut resample = Vec::with_capacity(n + block);
    let statistics = (0..how.resamples)
        .map(|_| {
            resample.clear();
            while resample.len() < n {
                let start = below(&mut random, n);
                resample.extend((0..block).map(|i| values[(start + i) % n]));
            }
            resample.truncate(n);
            statistic(&resample)
        })
        .collect();
    let statistics = sorted(statistics);
    let tail = 0.5 * (1.0 - CONFIDENCE);
    match (quantile(&statistics, tail), quantile(&statistics, 1.0 - tail)) {
        (Some(low), Some(high)) => Some(Estimate::with_interval(point, low, high)),
        _ => Some(Estimate::point(point)),
    }
}

/// The block length for a series of this lag-1 autocorrelation: Carlstein's rule for a first-order
/// process (1986), at least 1.
pub fn block_length(n: usize, autocorrelation: f64) -> usize {
    let r = autocorrelation.clamp(0.0, 0.99);
    let length = (2.0 * r / (1.0 - r * r)).powf(2.0 / 3.0) * (n as f64).powf(1.0 / 3.0);
    (length.ceil() as usize).clamp(1, n.max(1))
}

/// A uniform number below `n`, which must not be zero. The bias of the multiplication is below 2⁻³².
pub fn below(random: &mut impl Rng, n: usize) -> usize {
    ((u128::from(random.next_u64()) * n as u128) >> 64) as usize
}

/// The items in a uniformly random order (Fisher and Yates).
pub fn shuffle<T>(random: &mut impl Rng, items: &mut [T]) {
    for last in (1..items.len()).rev() {
        items.swap(last, below(random, last + 1));
    }
}

/// A standard normal number (Box and Muller 1958).
pub fn normal(random: &mut impl Rng) -> f64 {
    let unit = |bits: u64| ((bits >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
    let (u, v) = (unit(random.next_u64()), unit(random.next_u64()));
    (-2.0 * u.ln()).sqrt() * (2.0 * std::f64::consts::PI * v).cos()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean(values: &[f64]) -> f64 {
        values.iter().sum::<f64>() / values.len() as f64
    }

    #[test]
    fn nothing_and_one_value_have_no_interval() {
        assert_eq!(bootstrap(&[], mean, Resampling::default()), None);
        assert_eq!(bootstrap(&[2.0], mean, Resampling::default()), Some(Estimate::point(2.0)));
    }

    #[test]
    fn the_same_seed_gives_the_same_interval() {
        let values: Vec<f64> = (0..50).map(|i| f64::from(i % 7)).collect();
        let once = bootstrap(&values, mean, Resampling::default());
        assert_eq!(once, bootstrap(&values, mean, Resampling::default()));
        assert_ne!(once, bootstrap(&values, mean, Resampling { seed: 1, ..Resampling::default() }));
    }

    #[test]
    fn the_interval_of_a_mean_has_the_known_width() {
        let mut random = ChaCha8Rng::seed_from_u64(2);
        let values: Vec<f64> = (0..400).map(|_| normal(&mut random)).collect();
        let half = bootstrap(&values, mean, Resampling::default()).unwrap().half_width().unwrap();
        let known = 1.96 / 400f64.sqrt();
        assert!((half / known - 1.0).abs() < 0.15, "{half} against {known}");
    }

    #[test]
    fn blocks_widen_the_interval_of_a_dependent_series() {
        let mut random = ChaCha8Rng::seed_from_u64(3);
        let mut value = 0.0;
        let values: Vec<f64> = (0..2_000)
            .map(|_| {
                value = 0.8 * value + normal(&mut random);
                value
            })
            .collect();
        let independent = bootstrap(&values, mean, Resampling::default()).unwrap().half_width().unwrap();
        let block = block_length(values.len(), 0.8);
        let blocks = block_bootstrap(&values, block, mean, Resampling::default()).unwrap().half_width().unwrap();
        // Theory: √((1 + r) / (1 − r)) = 3 for r = 0.8, reached from below as blocks grow.
        assert!(blocks / independent > 2.0 && blocks / independent < 3.6, "{}", blocks / independent);
    }

    #[test]
    fn a_shuffle_reaches_every_order() {
        let mut random = ChaCha8Rng::seed_from_u64(4);
        let mut seen = std::collections::HashMap::new();
        for _ in 0..6_000 {
            let mut items = [0, 1, 2];
            shuffle(&mut random, &mut items);
            *seen.entry(items).or_insert(0) += 1;
        }
        assert_eq!(seen.len(), 6);
        assert!(seen.values().all(|count| (800..1_200).contains(count)), "{seen:?}");
    }
}
