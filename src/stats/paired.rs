//! Comparison of two conditions measured in pairs: sign-flip test, its interval, and Holm's correction.
//!
//! The unit is the pair (one process under each condition, run next to each other), never the timing
//! sample: thousands of samples of one process are one replicate of what differs between processes.

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

use super::{CONFIDENCE, Estimate};

/// Up to this many pairs every sign pattern is tried; above, a seeded draw of patterns.
const EXACT_PAIRS: usize = 14;

/// Patterns drawn where there are too many to try them all.
const DRAWN_PATTERNS: usize = 1 << EXACT_PAIRS;

/// What a paired comparison of two conditions says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// Number of pairs.
    pub pairs: usize,
    /// New over old, geometric mean over the pairs, with the interval that the sign-flip test implies.
    pub ratio: Estimate,
    /// Two-sided p-value of the sign-flip test of "no difference".
    pub p: f64,
    /// Standard error of the log ratio; `None` for a single pair.
    pub standard_error: Option<f64>,
}

impl Comparison {
    /// The smallest relative change that a comparison this noisy finds in 80 % of cases with its interval
    /// clear of `margin` (a log ratio). `None` where it has no interval.
    pub fn smallest_visible(&self, margin: f64) -> Option<f64> {
        /// The 80 % point of the standard normal distribution.
        const POWER: f64 = 0.8416;
        let half = 0.5 * (self.ratio.high?.ln() - self.ratio.low?.ln());
        Some((margin + half + POWER * self.standard_error?).exp_m1())
    }
}

/// Compares pairs of positive figures, old and new, on the scale of log ratios.
/// `None` where there is no pair, or a figure is not positive and finite.
pub fn compare(pairs: &[(f64, f64)]) -> Option<Comparison> {
    let usable = |value: f64| value.is_finite() && value > 0.0;
    if pairs.is_empty() || !pairs.iter().all(|(old, new)| usable(*old) && usable(*new)) {
        return None;
    }
    let logs: Vec<f64> = pairs.iter().map(|(old, new)| (new / old).ln()).collect();
    let mean = mean(&logs);
    let ratio = match sign_flip_interval(&logs) {
        Some((low, high)) => Estimate::with_interval(mean.exp(), low.exp(), high.exp()),
        None => Estimate::point(mean.exp()),
    };
    Some(Comparison { pairs: pairs.len(), ratio, p: sign_flip_p(&logs), standard_error: standard_error(&logs) })
}

/// The two-sided p-value of "these differences are symmetric about zero": the share of sign patterns
/// whose mean is at least as far from zero as the mean seen (Fisher 1935). Exact up to 14 differences;
/// the smallest possible value is 2/2ⁿ, so fewer than 6 can never fall below 0.05. 1 without differences.
pub fn sign_flip_p(differences: &[f64]) -> f64 {
    let n = differences.len();
    if n == 0 {
        return 1.0;
    }
    let seen = differences.iter().sum::<f64>().abs();
    // Sums of the same numbers in another order may differ in the last bits.
    let bound = seen - 1e-12 * differences.iter().map(|d| d.abs()).sum::<f64>();
    let extreme = |pattern: u64| {
        let sum: f64 = differences.iter().enumerate().map(|(i, d)| if pattern >> i & 1 == 1 { -d } else { *d }).sum();
        sum.abs() >= bound
    };
    if n <= EXACT_PAIRS {
        let count = (0..1u64 << n).filter(|pattern| extreme(*pattern)).count();
        count as f64 / (1u64 << n) as f64
    } else {
        let mut random = ChaCha8Rng::seed_from_u64(n as u64);
        let drawn = (0..DRAWN_PATTERNS)
            .filter(|_| {
                let sum: f64 = signs(&mut random, n).zip(differences).map(|(sign, d)| sign * d).sum();
                sum.abs() >= bound
            })
            .count();
        // The pattern seen is one of the patterns (Phipson and Smyth 2010): never zero.
        (drawn + 1) as f64 / (DRAWN_PATTERNS + 1) as f64
    }
}

/// All shifts that the sign-flip test would not reject at 5 %: between two of the sorted means of subsets
/// of the differences (Hartigan 1969). `None` below 6 differences, where it would be unbounded.
pub fn sign_flip_interval(differences: &[f64]) -> Option<(f64, f64)> {
    let n = differences.len();
    let mut means: Vec<f64> = if n <= EXACT_PAIRS {
        (1..1u64 << n).map(|subset| subset_mean(differences, |i| subset >> i & 1 == 1)).collect()
    } else {
        let mut random = ChaCha8Rng::seed_from_u64(n as u64);
        (0..DRAWN_PATTERNS)
            .map(|_| {
                let chosen: Vec<bool> = signs(&mut random, n).map(|sign| sign > 0.0).collect();
                subset_mean(differences, |i| chosen[i])
            })
            .filter(|mean| mean.is_finite())
            .collect()
    };
    let patterns = (means.len() + 1) as f64;
    let rank = (0.5 * (1.0 - CONFIDENCE) * patterns).floor() as usize;
    means.sort_by(f64::total_cmp);
    let low = *means.get(rank.checked_sub(1)?)?;
    let high = *means.get(means.len().checked_sub(rank)?)?;
    Some((low, high))
}

/// Holm's adjusted p-values (1979), in the order given: claims made where they are below 0.05 are all
/// right with probability 0.95, however many rows were looked at.
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|a, b| p_values[*a].total_cmp(&p_values[*b]));
    let mut adjusted = vec![1.0; p_values.len()];
    let mut largest = 0.0f64;
    for (rank, index) in order.into_iter().enumerate() {
        largest = largest.max((p_values.len() - rank) as f64 * p_values[index]).min(1.0);
        adjusted[index] = largest;
    }
    adjusted
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn standard_error(values: &[f64]) -> Option<f64> {
    let n = values.len();
    if n < 2 {
        return None;
    }
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Some((squares / (n - 1) as f64 / n as f64).sqrt())
}

fn subset_mean(differences: &[f64], contains: impl Fn(usize) -> bool) -> f64 {
    let (mut sum, mut count) = (0.0, 0.0);
    for (i, difference) in differences.iter().enumerate() {
        if contains(i) {
            sum += difference;
            count += 1.0;
        }
    }
    sum / count
}

/// `n` random signs.
fn signs(random: &mut ChaCha8Rng, n: usize) -> impl Iterator<Item = f64> {
    let mut word = 0u64;
    (0..n).map(move |i| {
        if i % 64 == 0 {
            word = random.next_u64();
        }
        if word >> (i % 64) & 1 == 1 { 1.0 } else { -1.0 }
    })
}

#[cfg(test)]
mod tests {
    use super::super::resample::normal;
    use super::*;

    #[test]
    fn p_values_of_small_cases_are_counted_by_hand() {
        assert_eq!(sign_flip_p(&[]), 1.0);
        assert_eq!(sign_flip_p(&[1.0]), 1.0);
        assert_eq!(sign_flip_p(&[1.0, 2.0, 3.0]), 2.0 / 8.0);
        assert_eq!(sign_flip_p(&[1.0, -1.0]), 1.0);
        assert_eq!(sign_flip_p(&[0.0; 8]), 1.0);
        assert_eq!(sign_flip_p(&[0.1; 10]), 2.0 / 1024.0);
        // Sums 6, 4, 2, 0 and their opposites: 6 and 4 are at least as far out as 4.
        assert_eq!(sign_flip_p(&[-1.0, 2.0, 3.0]), 4.0 / 8.0);
    }

    #[test]
    fn fewer_than_six_pairs_claim_nothing() {
        assert!(sign_flip_p(&[1.0; 5]) > 0.05);
        assert_eq!(sign_flip_interval(&[1.0; 5]), None);
        assert!(sign_flip_p(&[1.0; 6]) < 0.05);
        assert_eq!(sign_flip_interval(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), Some((1.0, 6.0)));
        assert_eq!(sign_flip_interval(&[]), None);
    }

    #[test]
    fn the_interval_is_where_the_test_does_not_reject() {
        let mut random = ChaCha8Rng::seed_from_u64(5);
        for n in [6, 10, 13] {
            let differences: Vec<f64> = (0..n).map(|_| normal(&mut random)).collect();
            let (low, high) = sign_flip_interval(&differences).unwrap();
            let p_at = |shift: f64| sign_flip_p(&differences.iter().map(|d| d - shift).collect::<Vec<_>>());
            let width = high - low;
            assert!(p_at(low + 1e-6 * width) > 0.05 && p_at(high - 1e-6 * width) > 0.05);
            assert!(p_at(low - 1e-6 * width) <= 0.05 && p_at(high + 1e-6 * width) <= 0.05);
        }
    }

    #[test]
    fn false_alarms_come_at_the_nominal_rate_and_power_is_as_simulated() {
        let mut random = ChaCha8Rng::seed_from_u64(6);
        let rounds = 1_000;
        let mut rejected_at = |effect: f64| {
            (0..rounds)
                .filter(|_| {
                    let d: Vec<f64> = (0..10).map(|_| effect + 0.01 * 2f64.sqrt() * normal(&mut random)).collect();
                    sign_flip_p(&d) < 0.05
                })
                .count()
        };
        let (none, two) = (rejected_at(0.0), rejected_at(0.02));
        // Binomial(1000, 0.05) lies within 25 to 78 in 9,999 of 10,000 cases; the seed makes it certain.
        assert!((25..78).contains(&none), "{none} false alarms");
        assert!(two > 950, "{two} of {rounds} detected");
    }

    #[test]
    fn drawn_patterns_agree_with_exact_ones() {
        let mut random = ChaCha8Rng::seed_from_u64(7);
        let few: Vec<f64> = (0..EXACT_PAIRS).map(|_| 0.5 + normal(&mut random)).collect();
        // A sixteenth and fifteenth difference of zero change no sum, so the p-value stays.
        let many = [few.as_slice(), &[0.0, 0.0]].concat();
        assert!((sign_flip_p(&few) - sign_flip_p(&many)).abs() < 0.01);
    }

    #[test]
    fn ratios_are_geometric_and_refuse_what_is_no_figure() {
        let comparison = compare(&[(1.0, 2.0), (2.0, 1.0)]).unwrap();
        assert!((comparison.ratio.point - 1.0).abs() < 1e-12);
        assert_eq!((comparison.ratio.low, comparison.pairs), (None, 2));
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(compare(&[(1.0, bad)]), None);
            assert_eq!(compare(&[(bad, 1.0)]), None);
        }
        assert_eq!(compare(&[]), None);
    }

    #[test]
    fn holm_steps_down() {
        assert_eq!(holm(&[0.01, 0.04, 0.03]), [0.03, 0.06, 0.06]);
        assert_eq!(holm(&[0.5, 0.9]), [1.0, 1.0]);
        assert!(holm(&[]).is_empty());
    }
}
