//! Intervals of quantiles from order statistics, and how many values they need.
//!
//! Between which two of the sorted values the true quantile lies is a question about coin tosses: each
//! value falls below it with probability q. So the interval holds whatever the distribution (David and
//! Nagaraja, Order Statistics, 2003, section 7.1), and where even the extreme values do not reach the
//! confidence there is none, and none is given.

use super::special::binomial_at_most;
use super::{CONFIDENCE, Estimate, median, quantile, sorted};

/// The smallest number of values whose extremes bracket the `q` quantile with 2.5 % in each tail:
/// 6 for the median, 36 for p90, 368 for p99.
pub fn values_needed(q: f64) -> usize {
    let outer = q.max(1.0 - q);
    ((0.5 * (1.0 - CONFIDENCE)).ln() / outer.ln()).ceil() as usize
}

/// The 95 % interval of the `q` quantile of the distribution that the sorted values come from, at most
/// 2.5 % in each tail. `None` where there are fewer than [`values_needed`].
pub fn interval(sorted: &[f64], q: f64) -> Option<(f64, f64)> {
    let n = sorted.len();
    if n < values_needed(q) {
        return None;
    }
    let tail = 0.5 * (1.0 - CONFIDENCE);
    let at_most = |k: usize| binomial_at_most(k as u64, n as u64, q);
    // The quantile is below value number `low` (from 1) when fewer than `low` values are below it.
    let low = last_where(n, |k| at_most(k - 1) <= tail)?;
    let high = first_where(n, |k| 1.0 - at_most(k - 1) <= tail)?;
    Some((sorted[low - 1], sorted[high - 1]))
}

/// The `q` quantile with its interval. `None` where the values are too few for an interval, because a
/// tail quantile of few values is a figure that the data do not support.
pub fn estimate(sorted: &[f64], q: f64) -> Option<Estimate> {
    let (low, high) = interval(sorted, q)?;
    Some(Estimate::with_interval(quantile(sorted, q)?, low, high))
}

/// The median over independent replicates (processes), with its interval where there are 6 or more.
pub fn median_estimate(values: &[f64]) -> Option<Estimate> {
    let point = median(values)?;
    let sorted = sorted(values.to_vec());
    Some(match interval(&sorted, 0.5) {
        Some((low, high)) => Estimate::with_interval(point, low, high),
        None => Estimate::point(point),
    })
}

/// The last of 1..=n that satisfies a condition which holds up to some point and then no more.
fn last_where(n: usize, holds: impl Fn(usize) -> bool) -> Option<usize> {
    first_where(n, |k| !holds(k)).unwrap_or(n + 1).checked_sub(1).filter(|k| *k > 0)
}

/// The first of 1..=n that satisfies a condition which, once it holds, goes on holding.
fn first_where(n: usize, holds: impl Fn(usize) -> bool) -> Option<usize> {
    let (mut low, mut high) = (1, n + 1);
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle) { high = middle } else { low = middle + 1 }
    }
    (low <= n).then_some(low)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_chacha::ChaCha8Rng;
    use rand_core::{Rng, SeedableRng};

    #[test]
    fn too_few_values_are_refused() {
        assert_eq!([0.5, 0.9, 0.99].map(values_needed), [6, 36, 368]);
        let values: Vec<f64> = (0..400).map(f64::from).collect();
        for (q, needed) in [(0.5, 6), (0.9, 36), (0.99, 368)] {
            assert_eq!(interval(&values[..needed - 1], q), None);
            assert_eq!(estimate(&values[..needed - 1], q), None);
            let (low, high) = interval(&values[..needed], q).unwrap();
            assert!(low < high);
        }
        assert_eq!(interval(&[], 0.5), None);
        assert_eq!(median_estimate(&[1.0]), Some(Estimate::point(1.0)));
        assert_eq!(median_estimate(&[]), None);
    }

    /// Ranks tabulated for the median's distribution-free interval, e.g. Conover, Practical Nonparametric
    /// Statistics, 1999: n = 10 gives ranks 2 and 9, n = 20 gives 6 and 15.
    #[test]
    fn ranks_agree_with_printed_tables() {
        for (n, low, high) in [(6, 1, 6), (10, 2, 9), (15, 4, 12), (20, 6, 15)] {
            let values: Vec<f64> = (1..=n).map(f64::from).collect();
            assert_eq!(interval(&values, 0.5), Some((f64::from(low), f64::from(high))), "{n}");
        }
    }

    #[test]
    fn the_interval_covers_the_true_quantile_as_often_as_it_says() {
        let mut random = ChaCha8Rng::seed_from_u64(1);
        for (q, n) in [(0.5, 10), (0.9, 50), (0.99, 400)] {
            let rounds = 4_000;
            let covered = (0..rounds)
                .filter(|_| {
                    let values = (0..n).map(|_| random.next_u32() as f64 / f64::from(u32::MAX)).collect();
                    interval(&sorted(values), q).is_some_and(|(low, high)| low <= q && q <= high)
                })
                .count();
            // Never below nominal by more than noise; above it, because ranks are whole numbers.
            assert!(covered as f64 / f64::from(rounds) > 0.94, "{q}: {covered}");
        }
    }
}
