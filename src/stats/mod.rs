//! Statistics: estimates with intervals, quantiles, resampling, comparisons and fits. Pure functions
//! of the data and, where they resample, of a seed.

pub mod changepoint;
pub mod fit;
pub mod order;
pub mod paired;
pub mod rank_sum;
pub mod resample;
pub mod scaling;
pub mod serial;
pub mod special;

use serde::{Deserialize, Serialize};

/// The confidence level of every interval in this crate.
pub const CONFIDENCE: f64 = 0.95;

/// A point estimate with its interval. `low` and `high` are `None` where the data do not support one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Estimate {
    /// The point estimate.
    pub point: f64,
    /// Lower end of the 95 % interval.
    pub low: Option<f64>,
    /// Upper end of the 95 % interval.
    pub high: Option<f64>,
}

impl Estimate {
    /// An estimate without an interval.
    pub fn point(point: f64) -> Self {
        Self { point, low: None, high: None }
    }

    /// An estimate with its interval.
    pub fn with_interval(point: f64, low: f64, high: f64) -> Self {
        Self { point, low: Some(low), high: Some(high) }
    }

    /// Point and interval multiplied by a positive factor.
    pub fn scaled(self, factor: f64) -> Self {
        Self { point: self.point * factor, low: self.low.map(|v| v * factor), high: self.high.map(|v| v * factor) }
    }

    /// Half the width of the interval; `None` without one.
    pub fn half_width(self) -> Option<f64> {
        Some((self.high? - self.low?) / 2.0)
    }
}

/// The `q` quantile (0 to 1) of sorted values, linearly interpolated (type 7 of Hyndman and Fan 1996).
/// `None` where there are no values.
pub fn quantile(sorted: &[f64], q: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let at = q.clamp(0.0, 1.0) * last as f64;
    let below = at.floor() as usize;
    let above = (below + 1).min(last);
    Some(sorted[below] + (at - below as f64) * (sorted[above] - sorted[below]))
}

/// The values in ascending order; NaN sorts last.
pub fn sorted(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_by(f64::total_cmp);
    values
}

/// The median; `None` where there are no values.
pub fn median(values: &[f64]) -> Option<f64> {
    quantile(&sorted(values.to_vec()), 0.5)
}

/// The mean of independent values with its t interval, where there are two or more.
pub fn mean_estimate(values: &[f64]) -> Option<Estimate> {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    match values.len() {
        0 => None,
        1 => Some(Estimate::point(mean)),
        _ => {
            let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
            let half = special::t_critical(n - 1.0, CONFIDENCE) * (squares / (n - 1.0) / n).sqrt();
            Some(Estimate::with_interval(mean, mean - half, mean + half))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_interpolate_and_refuse_nothing() {
        assert_eq!(quantile(&[], 0.5), None);
        assert_eq!(quantile(&[3.0], 0.9), Some(3.0));
        assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]), Some(2.5));
    }
}
