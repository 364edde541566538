//! Straight lines through points: intercept and slope with intervals, and whether a line fits at all.

use super::special::{f_above, t_critical};
use super::{CONFIDENCE, Estimate};

/// How much each point counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weighting {
    /// All the same: the error does not depend on the value.
    Equal,
    /// By the inverse square of the mean at its place: the error is a share of the value, as with times.
    Relative,
}

/// A line fitted by least squares.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// Value at x = 0, with its t interval where there are 3 points or more.
    pub intercept: Estimate,
    /// Rise per unit of x, likewise.
    pub slope: Estimate,
    /// Weighted sum of squared residuals.
    pub squares: f64,
    /// p-value of "the means at each x lie on the line", from the spread of repeated points. `None`
    /// without repetition or with fewer than 3 distinct places.
    pub lack_of_fit_p: Option<f64>,
}

impl Line {
    /// The line's value at `x`.
    pub fn at(&self, x: f64) -> f64 {
        self.intercept.point + self.slope.point * x
    }
}

/// Fits `y = intercept + slope · x` to points `(x, y)`. `None` where there are fewer than two distinct
/// places or a value is not finite.
pub fn line(points: &[(f64, f64)], weighting: Weighting) -> Option<Line> {
    if points.iter().any(|(x, y)| !x.is_finite() || !y.is_finite()) {
        return None;
    }
    let places = places(points);
    if places.len() < 2 {
        return None;
    }
    let weight = |x: f64| weight_at(&places, x, weighting);
    let (mut sw, mut sx, mut sy) = (0.0, 0.0, 0.0);
    for (x, y) in points {
        let w = weight(*x);
        sw += w;
        sx += w * x;
        sy += w * y;
    }
    let (mean_x, mean_y) = (sx / sw, sy / sw);
    let (mut sxx, mut sxy) = (0.0, 0.0);
    for (x, y) in points {
        let w = weight(*x);
        sxx += w * (x - mean_x).powi(2);
        sxy += w * (x - mean_x) * (y - mean_y);
    }
    let slope = sxy / sxx;
    let intercept = mean_y - slope * mean_x;
    let squares: f64 = points.iter().map(|(x, y)| weight(*x) * (y - intercept - slope * x).powi(2)).sum();
    let with_interval = |point: f64, variance_factor: f64| {
        let degrees = points.len() as f64 - 2.0;
        if degrees < 1.0 {
            return Estimate::point(point);
        }
        let half = t_critical(degrees, CONFIDENCE) * (squares / degrees * variance_factor).sqrt();
        Estimate::with_interval(point, point - half, point + half)
    };
    let fitted = Line {
        intercept: with_interval(intercept, 1.0 / sw + mean_x * mean_x / sxx),
        slope: with_interval(slope, 1.0 / sxx),
        squares,
        lack_of_fit_p: None,
    };
    Some(Line { lack_of_fit_p: lack_of_fit(points, &places, &fitted, weighting), ..fitted })
}

/// The exponent of `y ∝ x^e` from the log-log line through the points with positive coordinates.
pub fn exponent(points: &[(f64, f64)]) -> Option<Estimate> {
    let logs: Vec<_> = points.iter().filter(|(x, y)| *x > 0.0 && *y > 0.0).map(|(x, y)| (x.ln(), y.ln())).collect();
    Some(line(&logs, Weighting::Equal)?.slope)
}

/// The distinct places in ascending order, each with the mean of its values and their number.
pub fn places(points: &[(f64, f64)]) -> Vec<(f64, f64, usize)> {
    let mut sorted = points.to_vec();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
    sorted
        .chunk_by(|a, b| a.0 == b.0)
        .map(|group| (group[0].0, group.iter().map(|(_, y)| y).sum::<f64>() / group.len() as f64, group.len()))
        .collect()
}

fn weight_at(places: &[(f64, f64, usize)], x: f64, weighting: Weighting) -> f64 {
    let largest = places.iter().map(|(_, mean, _)| mean.abs()).fold(0.0, f64::max);
    if weighting == Weighting::Equal || largest == 0.0 {
        return 1.0;
    }
    let mean = places.iter().find(|place| place.0 == x).map_or(largest, |place| place.1.abs());
    // A mean near zero must not get all the weight.
    mean.max(1e-6 * largest).powi(-2)
}

/// The F test that splits the residuals into the spread at each place and what the line misses
/// (Draper and Smith, Applied Regression Analysis, 1998, section 2.1).
fn lack_of_fit(points: &[(f64, f64)], places: &[(f64, f64, usize)], line: &Line, weighting: Weighting) -> Option<f64> {
    let between = places.len().checked_sub(2).filter(|degrees| *degrees > 0)? as f64;
    let within = points.len().checked_sub(places.len()).filter(|degrees| *degrees > 0)? as f64;
    let weight = |x: f64| weight_at(places, x, weighting);
    let missed: f64 =
        places.iter().map(|(x, mean, count)| *count as f64 * weight(*x) * (mean - line.at(*x)).powi(2)).sum();
    let spread = (line.squares - missed).max(0.0);
    if missed <= 1e-24 * points.iter().map(|(x, y)| weight(*x) * y * y).sum::<f64>() {
        return Some(1.0);
    }
    Some(f_above(missed / between / (spread / within), between, within))
}

#[cfg(test)]
mod tests {
    use super::super::resample::normal;
    use super::*;
    use rand_chacha::ChaCha8Rng;
    use rand_core::SeedableRng;

    #[test]
    fn an_exact_line_is_found_and_degenerate_points_are_refused() {
        let fitted = line(&[(0.0, 1.0), (1.0, 3.0), (2.0, 5.0)], Weighting::Equal).unwrap();
        assert!((fitted.slope.point - 2.0).abs() < 1e-12 && (fitted.intercept.point - 1.0).abs() < 1e-12);
        assert_eq!(line(&[], Weighting::Equal), None);
        assert_eq!(line(&[(1.0, 1.0), (1.0, 2.0)], Weighting::Relative), None);
        assert_eq!(line(&[(1.0, f64::NAN), (2.0, 2.0)], Weighting::Equal), None);
        assert_eq!(line(&[(1.0, 1.0), (2.0, 2.0)], Weighting::Equal).unwrap().slope.low, None);
        assert!(line(&[(1.0, 0.0), (2.0, 0.0), (3.0, 0.0)], Weighting::Relative).unwrap().slope.point.abs() < 1e-12);
    }

    #[test]
    fn the_interval_of_the_slope_covers_it_as_often_as_it_says() {
        let mut random = ChaCha8Rng::seed_from_u64(8);
        let covered = (0..1_000)
            .filter(|_| {
                let points: Vec<_> = (0..12)
                    .map(|i| {
                        let x = f64::from(i % 6);
                        (x, 10.0 + 3.0 * x + normal(&mut random))
                    })
                    .collect();
                let slope = line(&points, Weighting::Equal).unwrap().slope;
                slope.low.unwrap() <= 3.0 && 3.0 <= slope.high.unwrap()
            })
            .count();
        assert!((920..975).contains(&covered), "{covered}");
    }

    #[test]
    fn lack_of_fit_tells_a_curve_from_noise() {
        let mut random = ChaCha8Rng::seed_from_u64(9);
        let mut p_of = |curve: f64| {
            let points: Vec<_> = (0..60)
                .map(|i| {
                    let x = f64::from(i % 6);
                    (x, 10.0 + x + curve * x * x + 0.3 * normal(&mut random))
                })
                .collect();
            line(&points, Weighting::Equal).unwrap().lack_of_fit_p.unwrap()
        };
        assert!(p_of(0.0) > 0.05);
        assert!(p_of(0.2) < 1e-4);
    }

    #[test]
    fn the_exponent_of_a_power_is_the_power() {
        let points: Vec<_> = (0..8).map(|i| (f64::from(1 << i), 3.0 * f64::from(1 << i).powf(1.5))).collect();
        assert!((exponent(&points).unwrap().point - 1.5).abs() < 1e-9);
        assert_eq!(exponent(&[(0.0, 1.0), (1.0, 1.0)]), None);
    }
}
