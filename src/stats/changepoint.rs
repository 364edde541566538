//! Change points in a series: where the level shifted, and how surely.
//!
//! Pettitt's statistic (A non-parametric approach to the change-point problem, Applied Statistics 28, 1979) finds the
//! split of a segment; its significance comes from permuting the segment, which accounts for having tried every split.
//! Segments on either side are then searched in turn (binary segmentation). Values are assumed exchangeable within a
//! segment: a slow drift is not a change point, and is reported as one only where it is large against the scatter.

use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};

use super::median;

/// A shift of level in a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChangePoint {
    /// Index of the first value after the shift.
    pub at: usize,
    /// Median of the segment before.
    pub before: f64,
    /// Median of the segment after.
    pub after: f64,
    /// Permutation p of the segment's largest Pettitt statistic.
    pub p: f64,
}

/// How change points are searched.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Largest p at which a split is accepted, within each segment.
    pub alpha: f64,
    /// Fewest values on either side of a split.
    pub min_segment: usize,
    /// Permutations a segment; the smallest p is 1 ÷ (permutations + 1).
    pub permutations: u32,
    /// Seed of the permutations.
    pub seed: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { alpha: 0.01, min_segment: 3, permutations: 1_999, seed: 1 }
    }
}

/// The change points of a series, in its order. A series shorter than two segments has none.
pub fn change_points(values: &[f64], settings: &Settings) -> Vec<ChangePoint> {
    let mut random = ChaCha20Rng::seed_from_u64(settings.seed);
    let mut splits: Vec<(usize, f64)> = Vec::new();
    let mut open = vec![(0, values.len())];
    while let Some((start, end)) = open.pop() {
        let Some((split, p)) = best_split(&values[start..end], settings, &mut random) else { continue };
        if p <= settings.alpha {
            splits.push((start + split, p));
            open.push((start, start + split));
            open.push((start + split, end));
        }
    }
    splits.sort_by_key(|(at, _)| *at);
    let bounds: Vec<usize> = std::iter::once(0).chain(splits.iter().map(|(at, _)| *at)).chain([values.len()]).collect();
    splits
        .iter()
        .enumerate()
        .filter_map(|(i, &(at, p))| {
            let before = median(&values[bounds[i]..at])?;
            let after = median(&values[at..bounds[i + 2]])?;
            Some(ChangePoint { at, before, after, p })
        })
        .collect()
}

/// The split of a segment with the largest Pettitt statistic, and its permutation p.
fn best_split(values: &[f64], settings: &Settings, random: &mut ChaCha20Rng) -> Option<(usize, f64)> {
    if values.len() < 2 * settings.min_segment {
        return None;
    }
    let mut ranks = doubled_ranks(values);
    let (split, observed) = largest_statistic(&ranks, settings.min_segment)?;
    let mut as_large = 0u32;
    for _ in 0..settings.permutations {
        shuffle(&mut ranks, random);
        let (_, statistic) = largest_statistic(&ranks, settings.min_segment)?;
        as_large += u32::from(statistic >= observed);
    }
    Some((split, f64::from(as_large + 1) / f64::from(settings.permutations + 1)))
}

/// Largest |U_k| over the allowed splits, with U_k = 2 Σ_{i ≤ k} rank_i − k (n + 1), and the split's index.
fn largest_statistic(doubled_ranks: &[i64], min_segment: usize) -> Option<(usize, i64)> {
    let n = doubled_ranks.len();
    let mut sum = 0;
    let mut best = None;
    for (index, rank) in doubled_ranks.iter().enumerate() {
        sum += rank;
        let k = index + 1;
        if k < min_segment || n - k < min_segment {
            continue;
        }
        let statistic = (sum - (k * (n + 1)) as i64).abs();
        if best.is_none_or(|(_, largest)| statistic > largest) {
            best = Some((k, statistic));
        }
    }
    best
}

/// Twice the mid-ranks, so that ties stay whole numbers.
fn doubled_ranks(values: &[f64]) -> Vec<i64> {
    values
        .iter()
        .map(|value| {
            let below = values.iter().filter(|other| *other < value).count();
            let equal = values.iter().filter(|other| *other == value).count();
            (2 * below + equal + 1) as i64
        })
        .collect()
}

fn shuffle(values: &mut [i64], random: &mut ChaCha20Rng) {
    for last in (1..values.len()).rev() {
        let other = (random.next_u64() % (last as u64 + 1)) as usize;
        values.swap(last, other);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values around `level` with a spread of about one percent, from a seed.
    fn noisy(level: f64, count: usize, seed: u64) -> Vec<f64> {
        let mut random = ChaCha20Rng::seed_from_u64(seed);
        (0..count).map(|_| level * (1.0 + 0.01 * ((random.next_u64() % 2_001) as f64 / 1_000.0 - 1.0))).collect()
    }

    #[test]
    fn a_planted_shift_is_found_where_it_is() {
        let series = [noisy(100.0, 15, 1), noisy(105.0, 15, 2)].concat();
        let found = change_points(&series, &Settings::default());
        assert_eq!(found.iter().map(|c| c.at).collect::<Vec<_>>(), [15]);
        assert!((found[0].after / found[0].before - 1.05).abs() < 0.01);
    }

    #[test]
    fn two_shifts_are_two_change_points() {
        let series = [noisy(100.0, 14, 3), noisy(120.0, 14, 4), noisy(90.0, 14, 5)].concat();
        let found = change_points(&series, &Settings::default());
        assert_eq!(found.iter().map(|c| c.at).collect::<Vec<_>>(), [14, 28]);
    }

    #[test]
    fn unchanged_series_rarely_show_one() {
        let settings = Settings { permutations: 199, ..Settings::default() };
        let alarms =
            (0..200).filter(|seed| !change_points(&noisy(100.0, 20, 1_000 + seed), &settings).is_empty()).count();
        // At alpha 0.01 two of 200 are expected; with a fixed seed the count is always the same.
        assert!(alarms <= 6, "{alarms} of 200");
    }

    #[test]
    fn short_and_constant_series_have_none() {
        assert_eq!(change_points(&[], &Settings::default()), []);
        assert_eq!(change_points(&[1.0, 2.0, 3.0], &Settings::default()), []);
        assert_eq!(change_points(&[7.0; 30], &Settings::default()), []);
    }
}
