//! What the order of measurements gives away: dependence on the neighbour, and drift.

use super::special::t_two_sided;

/// The correlation of each value with its successor. `None` below 8 values or where all are equal.
pub fn autocorrelation(values: &[f64]) -> Option<f64> {
    if values.len() < 8 {
        return None;
    }
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let variance: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let lagged: f64 = values.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum();
    let r = lagged / variance;
    r.is_finite().then_some(r)
}

/// A monotone trend: rank correlation with time, and how far the values moved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trend {
    /// Spearman's rank correlation of value and place.
    pub correlation: f64,
    /// Its two-sided p-value (t approximation).
    pub p: f64,
    /// Median of the last third over median of the first third, minus one.
    pub change: f64,
}

/// The trend of values in time order. `None` below 9 values or where all are equal.
pub fn trend(values: &[f64]) -> Option<Trend> {
    let n = values.len();
    if n < 9 {
        return None;
    }
    let places: Vec<f64> = (0..n).map(|i| i as f64).collect();
    let correlation = correlation(&ranks(values), &places)?;
    let first = super::median(&values[..n / 3])?;
    let last = super::median(&values[n - n / 3..])?;
    Some(Trend { correlation, p: rank_p(correlation, n), change: last / first - 1.0 })
}

/// The two-sided p-value of a rank correlation over `n` values, by the t approximation.
pub fn rank_p(correlation: f64, n: usize) -> f64 {
    let degrees = n.saturating_sub(2) as f64;
    if degrees == 0.0 {
        return 1.0;
    }
    let t = correlation * (degrees / (1.0 - correlation * correlation).max(1e-12)).sqrt();
    t_two_sided(t, degrees)
}

/// Ranks from 0; equal values share their mean rank.
pub fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0.0; values.len()];
    let mut start = 0;
    while start < order.len() {
        let value = values[order[start]];
        let equal = order[start..].iter().take_while(|i| values[**i] == value).count().max(1);
        let shared = start as f64 + 0.5 * (equal - 1) as f64;
        for index in &order[start..start + equal] {
            ranks[*index] = shared;
        }
        start += equal;
    }
    ranks
}

/// Pearson's correlation. `None` where either side does not vary or the lengths differ.
pub fn correlation(a: &[f64], b: &[f64]) -> Option<f64> {
    if a.len() != b.len() || a.is_empty() {
        return None;
    }
    let n = a.len() as f64;
    let (mean_a, mean_b) = (a.iter().sum::<f64>() / n, b.iter().sum::<f64>() / n);
    let (mut ab, mut aa, mut bb) = (0.0, 0.0, 0.0);
    for (x, y) in a.iter().zip(b) {
        ab += (x - mean_a) * (y - mean_b);
        aa += (x - mean_a).powi(2);
        bb += (y - mean_b).powi(2);
    }
    let r = ab / (aa * bb).sqrt();
    r.is_finite().then_some(r)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alternation_and_a_run_are_told_apart() {
        let alternating: Vec<f64> = (0..40).map(|i| f64::from(i % 2)).collect();
        let runs: Vec<f64> = (0..40).map(|i| f64::from(i / 10 % 2)).collect();
        assert!(autocorrelation(&alternating).unwrap() < -0.9);
        assert!(autocorrelation(&runs).unwrap() > 0.7);
        assert_eq!(autocorrelation(&[1.0; 40]), None);
        assert_eq!(autocorrelation(&[1.0, 2.0]), None);
    }

    #[test]
    fn a_drift_is_seen_with_its_size() {
        let drifting: Vec<f64> = (0..90).map(|i| 100.0 + f64::from(i) / 10.0 + f64::from(i % 3)).collect();
        let trend_seen = trend(&drifting).unwrap();
        assert!(trend_seen.p < 1e-6 && (trend_seen.change - 0.06).abs() < 0.01, "{trend_seen:?}");
        let steady: Vec<f64> = (0..90).map(|i| 100.0 + f64::from(i * 37 % 11)).collect();
        assert!(trend(&steady).unwrap().p > 0.05);
        assert_eq!(trend(&[5.0; 50]), None);
    }

    #[test]
    fn equal_values_share_a_rank() {
        assert_eq!(ranks(&[3.0, 1.0, 3.0, 2.0]), [2.5, 0.0, 2.5, 1.0]);
        assert_eq!(ranks(&[f64::NAN]), [0.0]);
    }
}
