//! The comparison of two unpaired samples by ranks: exact where samples are small, with ties as they are.

use super::{CONFIDENCE, median, serial, sorted};

/// Up to this many values in both samples together, every arrangement is counted.
const EXACT_VALUES: usize = 100;

/// What the rank-sum test says (Wilcoxon 1945, Mann and Whitney 1947).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RankSum {
    /// The two-sided p-value of "both samples come from one distribution".
    pub p: f64,
    /// The smallest p-value that samples of these sizes and ties can reach. At 0.05 and above no
    /// difference, however large, could be told.
    pub smallest_p: f64,
}

/// Compares two samples. Exact by counting all arrangements of the mid-ranks up to 100 values, which no
/// table for distinct values can replace where there are ties; normal with tie correction above.
/// `None` where a sample is empty or a value is not finite.
pub fn rank_sum(a: &[f64], b: &[f64]) -> Option<RankSum> {
    if a.is_empty() || b.is_empty() || !a.iter().chain(b).all(|value| value.is_finite()) {
        return None;
    }
    let all: Vec<f64> = a.iter().chain(b).copied().collect();
    // Twice the mid-ranks from 1, so that ties stay whole numbers.
    let ranks: Vec<usize> = serial::ranks(&all).iter().map(|rank| (2.0 * rank).round() as usize + 2).collect();
    let (n, chosen) = (all.len(), a.len());
    let seen: usize = ranks[..chosen].iter().sum();
    let expected = chosen * (n + 1);
    if n > EXACT_VALUES {
        return Some(approximate(&ranks, chosen, seen.abs_diff(expected)));
    }
    let ways = arrangements(&ranks, chosen);
    let total: f64 = ways.iter().sum();
    let at_least = |distance: usize| -> f64 {
        ways.iter().enumerate().filter(|(sum, _)| sum.abs_diff(expected) >= distance).map(|(_, ways)| ways).sum()
    };
    let furthest = (0..ways.len()).filter(|sum| ways[*sum] > 0.0).map(|sum| sum.abs_diff(expected)).max()?;
    Some(RankSum { p: at_least(seen.abs_diff(expected)) / total, smallest_p: at_least(furthest) / total })
}

/// How many ways there are to choose `chosen` of the ranks, by their sum.
fn arrangements(ranks: &[usize], chosen: usize) -> Vec<f64> {
    let most: usize = ranks.iter().sum();
    let mut ways = vec![vec![0.0; most + 1]; chosen + 1];
    ways[0][0] = 1.0;
    for (taken, rank) in ranks.iter().enumerate() {
        for k in (1..=chosen.min(taken + 1)).rev() {
            for sum in (*rank..=most).rev() {
                ways[k][sum] += ways[k - 1][sum - rank];
            }
        }
    }
    ways.swap_remove(chosen)
}

fn approximate(ranks: &[usize], chosen: usize, distance: usize) -> RankSum {
    let (n, a) = (ranks.len() as f64, chosen as f64);
    let mean = n + 1.0;
    let variance: f64 = ranks.iter().map(|rank| (*rank as f64 - mean).powi(2)).sum::<f64>() / n;
    let deviation = (a * (n - a) / (n - 1.0) * variance).sqrt();
    if deviation == 0.0 {
        return RankSum { p: 1.0, smallest_p: 1.0 };
    }
    // Continuity correction of half a rank, which is one in doubled ranks.
    let z = (distance as f64 - 1.0).max(0.0) / deviation;
    RankSum { p: super::special::t_two_sided(z, 1e9), smallest_p: 0.0 }
}

/// The shift from `a` to `b` (Hodges and Lehmann 1963): the median of all differences, with the interval of
/// all shifts that the rank-sum test would not reject at 5 %. No interval where the samples are too small.
pub fn shift(a: &[f64], b: &[f64]) -> Option<super::Estimate> {
    let differences = sorted(a.iter().flat_map(|a| b.iter().map(move |b| b - a)).collect());
    let point = median(&differences)?;
    let (low, high) = interval_rank(a.len(), b.len())
        .map(|rank| (differences[rank - 1], differences[differences.len() - rank]))
        .unzip();
    Some(super::Estimate { point, low, high })
}

/// The rank from each end of the sorted differences that bounds the interval; `None` where even the
/// outermost differences leave more than 2.5 % outside.
fn interval_rank(a: usize, b: usize) -> Option<usize> {
    let tail = 0.5 * (1.0 - CONFIDENCE);
    let n = a + b;
    if n > EXACT_VALUES {
        let (product, n) = ((a * b) as f64, n as f64);
        let half = product / 2.0 - 1.959_964 * (product * (n + 1.0) / 12.0).sqrt();
        return (half >= 1.0).then_some(half as usize);
    }
    // The number of differences below zero is the rank sum less its smallest value.
    let ways = arrangements(&(1..=n).collect::<Vec<_>>(), a);
    let total: f64 = ways.iter().sum();
    let smallest = a * (a + 1) / 2;
    let mut below = 0.0;
    let mut rank = 0;
    for ways in &ways[smallest..] {
        below += ways / total;
        if below > tail {
            break;
        }
        rank += 1;
    }
    (rank > 0).then_some(rank)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_samples_are_counted_out() {
        // 3 against 3 without overlap: 2 of 20 arrangements are as extreme.
        let result = rank_sum(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]).unwrap();
        assert!((result.p - 0.1).abs() < 1e-12);
        assert_eq!(result.p, result.smallest_p);
        // 4 against 4: 2 of 70.
        let result = rank_sum(&[1.0, 2.0, 3.0, 4.0], &[5.0, 6.0, 7.0, 8.0]).unwrap();
        assert!((result.p - 2.0 / 70.0).abs() < 1e-12);
    }

    #[test]
    fn equal_values_say_nothing() {
        let result = rank_sum(&[1.0; 10], &[1.0; 10]).unwrap();
        assert_eq!((result.p, result.smallest_p), (1.0, 1.0));
        assert_eq!(rank_sum(&[], &[1.0]), None);
        assert_eq!(rank_sum(&[f64::NAN], &[1.0]), None);
    }

    #[test]
    fn exact_and_approximate_agree_where_they_meet() {
        let value = |i: usize, shift: f64| ((i * 7919) % 101) as f64 + shift;
        let sample = |n: usize, shift: f64| (0..n).map(|i| value(i, shift)).collect::<Vec<_>>();
        let exact = rank_sum(&sample(50, 0.0), &sample(50, 9.0)).unwrap().p;
        let approximate = rank_sum(&sample(51, 0.0), &sample(50, 9.0)).unwrap().p;
        assert!((exact - approximate).abs() < 0.03, "{exact} {approximate}");
    }

    /// Hollander and Wolfe, Nonparametric Statistical Methods, 1999, table for m = n = 5: the two-sided
    /// 95 % interval takes the third difference from each end.
    #[test]
    fn the_shift_interval_has_the_tabulated_rank() {
        assert_eq!(interval_rank(5, 5), Some(3));
        assert_eq!(interval_rank(3, 3), None);
        let shift = shift(&[1.0, 2.0, 3.0, 4.0, 5.0], &[11.0, 12.0, 13.0, 14.0, 15.0]).unwrap();
        assert_eq!(shift.point, 10.0);
        assert!(shift.low.unwrap() < 10.0 && shift.high.unwrap() > 10.0);
    }
}
