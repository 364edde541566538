//! Scores of a profile as a whole: largest and mean error, and rank agreement.

use super::report::{Row, Scores};

/// Scores the reading of index `sampler` over all rows, the rest included.
pub(super) fn scores(rows: &[Row], rest: &Row, sampler: usize, coverage: f64) -> Scores {
    let pair = |row: &Row| Some((row.reference.share?.point, row.readings.get(sampler)?.sampled.point));
    let errors: Vec<(&str, f64)> = rows
        .iter()
        .chain([rest])
        .filter_map(|row| pair(row).map(|(reference, sampled)| (row.primitive.as_str(), (sampled - reference).abs())))
        .collect();
    let largest = errors.iter().max_by(|a, b| a.1.total_cmp(&b.1));
    let pairs: Vec<(f64, f64)> = rows.iter().filter_map(pair).collect();
    Scores {
        largest_error: largest.map(|(_, error)| *error),
        largest_error_row: largest.map(|(row, _)| (*row).to_owned()),
        mean_absolute_error: (!errors.is_empty())
            .then(|| errors.iter().map(|(_, error)| error).sum::<f64>() / errors.len() as f64),
        rank_agreement: kendall(&pairs),
        coverage,
    }
}

/// Kendall's τ-b (1945), which allows for ties. `None` where all values of a side are equal.
fn kendall(pairs: &[(f64, f64)]) -> Option<f64> {
    let (mut concordance, mut untied_a, mut untied_b) = (0.0, 0.0, 0.0);
    for (index, a) in pairs.iter().enumerate() {
        for b in &pairs[..index] {
            let (x, y) = (sign(a.0 - b.0), sign(a.1 - b.1));
            concordance += x * y;
            untied_a += x.abs();
            untied_b += y.abs();
        }
    }
    let scale = f64::sqrt(untied_a * untied_b);
    (scale > 0.0).then(|| concordance / scale)
}

fn sign(value: f64) -> f64 {
    if value == 0.0 { 0.0 } else { value.signum() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rank_agreement_has_its_known_values() {
        assert_eq!(kendall(&[(1.0, 1.0), (2.0, 2.0), (3.0, 3.0)]), Some(1.0));
        assert_eq!(kendall(&[(1.0, 3.0), (2.0, 2.0), (3.0, 1.0)]), Some(-1.0));
        assert_eq!(kendall(&[(1.0, 1.0), (2.0, 1.0)]), None);
        // Two of three pairs untied on one side: 2 ÷ √(3 × 2).
        assert!((kendall(&[(1.0, 0.0), (2.0, 0.0), (3.0, 1.0)]).unwrap() - 2.0 / 6.0f64.sqrt()).abs() < 1e-12);
    }
}
