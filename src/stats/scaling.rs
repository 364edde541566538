//! How a cost grows with a size, in words: flat, logarithmic, linear and so on, with the evidence.

use serde::{Deserialize, Serialize};

use super::fit::{self, Weighting};
use super::order::median_estimate;
use super::special::f_above;
use super::{Estimate, median};

/// A law of growth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Law {
    /// The same at every size.
    Flat,
    /// `a + b · log₂ N`.
    Logarithmic,
    /// `a + b · N`.
    Linear,
    /// `a + b · N log₂ N`.
    Linearithmic,
    /// `a + b · N²`.
    Quadratic,
    /// It grows or falls, but by none of the above.
    Other,
    /// Too few sizes to say.
    Undetermined,
}

impl Law {
    /// The laws that are fitted, besides flat.
    const GROWING: [Self; 4] = [Self::Logarithmic, Self::Linear, Self::Linearithmic, Self::Quadratic];

    /// The law's name in a sentence.
    pub fn word(self) -> &'static str {
        match self {
            Self::Flat => "flat",
            Self::Logarithmic => "logarithmic",
            Self::Linear => "linear",
            Self::Linearithmic => "N log N",
            Self::Quadratic => "quadratic",
            Self::Other => "none of the simple laws",
            Self::Undetermined => "too few sizes to say",
        }
    }

    /// What multiplies the slope in the law's formula.
    fn term(self) -> &'static str {
        match self {
            Self::Logarithmic => "log₂ N",
            Self::Linearithmic => "N log₂ N",
            Self::Quadratic => "N²",
            _ => "N",
        }
    }

    /// The size as this law sees it. `from_zero` marks series that start at size 0, where the logarithm is
    /// taken of `N + 1`.
    fn size(self, n: f64, from_zero: bool) -> f64 {
        let log = if from_zero { (n + 1.0).log2() } else { n.log2() };
        match self {
            Self::Logarithmic => log,
            Self::Linearithmic => n * log,
            Self::Quadratic => n * n,
            _ => n,
        }
    }
}

/// How a cost grows with the size N.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scaling {
    /// The law that fits best.
    pub law: Law,
    /// Another law that these sizes cannot tell from it, where there is one.
    pub or: Option<Law>,
    /// Cost at size zero by the law, over processes. For a flat law the cost itself.
    pub intercept: Estimate,
    /// Rise per unit of the law's term (per N where linear), over processes. Zero for a flat law.
    pub slope: Estimate,
    /// Exponent of the log-log line over the sizes above 0, over processes.
    pub exponent: Option<Estimate>,
    /// p-value of "the law fits as well as the spread between processes allows". `None` with one process.
    pub lack_of_fit_p: Option<f64>,
    /// Root mean square of the relative distance between the law and the medians at each size.
    pub misfit: f64,
    /// Smallest and largest size.
    pub sizes: (f64, f64),
}

/// Growth that is not visible above this share counts as flat.
const FLAT: f64 = 0.05;

/// A law that misses the medians by more than this share is not named.
const MISFIT: f64 = 0.10;

/// Significance at which growth is claimed, and a second law told apart.
const LEVEL: f64 = 0.01;

/// Finds the law from one series of `(size, cost)` a process. `None` without finite data at two sizes.
pub fn scaling(processes: &[Vec<(f64, f64)>]) -> Option<Scaling> {
    let all: Vec<(f64, f64)> = processes.iter().flatten().copied().collect();
    if all.iter().any(|(n, y)| !n.is_finite() || !y.is_finite() || *n < 0.0) {
        return None;
    }
    let medians = medians(&all);
    let (first, last) = (medians.first()?.0, medians.last()?.0);
    if medians.len() < 2 {
        return None;
    }
    let from_zero = first == 0.0;
    let mut fits: Vec<(Law, fit::Line)> = Law::GROWING
        .into_iter()
        .filter_map(|law| Some((law, fit::line(&seen_by(law, &medians, from_zero), Weighting::Relative)?)))
        .collect();
    fits.sort_by(|a, b| a.1.squares.total_cmp(&b.1.squares));
    let flat_squares = flat_squares(&medians);
    let degrees = medians.len() as f64 - 2.0;
    let best = *fits.first()?;
    let misfit = (best.1.squares / medians.len() as f64).sqrt();
    let grows = f_above((flat_squares - best.1.squares) / (best.1.squares / degrees).max(1e-30), 1.0, degrees) <= LEVEL;
    let flat_misfit = (flat_squares / medians.len() as f64).sqrt();
    let law = if relative_range(&medians) < FLAT {
        Law::Flat
    } else if degrees < 1.0 {
        Law::Undetermined
    } else if grows && misfit <= MISFIT {
        best.0
    } else if !grows && flat_misfit <= MISFIT {
        Law::Flat
    } else {
        Law::Other
    };
    // Residuals of two fits to the same medians: their ratio under "both equally good" is about F.
    let told_apart = |other: &fit::Line| {
        f_above(other.squares.max(1e-30) / best.1.squares.max(1e-30), degrees.max(1.0), degrees.max(1.0)) < 5.0 * LEVEL
    };
    let or = fits.get(1).filter(|(_, line)| law == best.0 && !told_apart(line)).map(|(law, _)| *law);
    let (intercept, slope) = match law {
        Law::Flat => (level(processes)?, Estimate::point(0.0)),
        _ => over_processes(law, processes, &all, from_zero)?,
    };
    let lack_of_fit_p = match law {
        Law::Flat => None,
        _ => fit::line(&seen_by(law, &all, from_zero), Weighting::Relative)?.lack_of_fit_p,
    };
    Some(Scaling {
        law,
        or,
        intercept,
        slope,
        exponent: exponent(processes, &all),
        lack_of_fit_p,
        misfit: if law == Law::Flat { flat_misfit } else { misfit },
        sizes: (first, last),
    })
}

impl Scaling {
    /// The answer in a sentence; `unit` prints a cost.
    pub fn sentence(&self, unit: impl Fn(f64) -> String) -> String {
        let (first, last) = self.sizes;
        let exponent = self.exponent.map(|e| format!(", log-log exponent {:.2}", e.point)).unwrap_or_default();
        let range = format!("from N = {first} to {last}");
        let or = self.or.map(|law| format!(" (or {}: these sizes cannot tell)", law.word())).unwrap_or_default();
        match self.law {
            Law::Flat => format!("flat {range}: {}", unit(self.intercept.point)),
            Law::Undetermined => format!("too few sizes to name a law {range}{exponent}"),
            Law::Other => {
                format!("none of the simple laws fits {range} (misfit {:.0} %){exponent}", self.misfit * 100.0)
            }
            law => {
                let sign = if self.slope.point < 0.0 { "−" } else { "+" };
                format!(
                    "{}{or} {range}: {} {sign} {} · {}{exponent}",
                    law.word(),
                    unit(self.intercept.point),
                    unit(self.slope.point.abs()),
                    law.term()
                )
            }
        }
    }
}

fn medians(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    fit::places(points)
        .into_iter()
        .filter_map(|(n, _, _)| {
            let values: Vec<f64> = points.iter().filter(|point| point.0 == n).map(|point| point.1).collect();
            Some((n, median(&values)?))
        })
        .collect()
}

fn seen_by(law: Law, points: &[(f64, f64)], from_zero: bool) -> Vec<(f64, f64)> {
    points.iter().map(|(n, y)| (law.size(*n, from_zero), *y)).collect()
}

/// The weighted squares about a constant, on the scale of [`fit::line`]'s.
fn flat_squares(medians: &[(f64, f64)]) -> f64 {
    let weight = |y: f64| if y == 0.0 { 1.0 } else { y.powi(-2) };
    let total: f64 = medians.iter().map(|(_, y)| weight(*y)).sum();
    let mean = medians.iter().map(|(_, y)| weight(*y) * y).sum::<f64>() / total;
    medians.iter().map(|(_, y)| weight(*y) * (y - mean).powi(2)).sum()
}

fn relative_range(medians: &[(f64, f64)]) -> f64 {
    let (low, high) = medians.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), (_, y)| (l.min(*y), h.max(*y)));
    if high == low { 0.0 } else { (high - low) / high.abs().max(low.abs()) }
}

fn level(processes: &[Vec<(f64, f64)>]) -> Option<Estimate> {
    let levels: Vec<f64> =
        processes.iter().filter_map(|p| median(&p.iter().map(|(_, y)| *y).collect::<Vec<_>>())).collect();
    median_estimate(&levels)
}

/// Intercept and slope: the median over processes with its interval, or the pooled fit's where there are
/// too few processes for one.
fn over_processes(
    law: Law,
    processes: &[Vec<(f64, f64)>],
    all: &[(f64, f64)],
    from_zero: bool,
) -> Option<(Estimate, Estimate)> {
    let lines: Vec<_> =
        processes.iter().filter_map(|p| fit::line(&seen_by(law, p, from_zero), Weighting::Relative)).collect();
    let pooled = fit::line(&seen_by(law, all, from_zero), Weighting::Relative)?;
    let of = |part: fn(&fit::Line) -> Estimate| {
        median_estimate(&lines.iter().map(|line| part(line).point).collect::<Vec<_>>())
            .filter(|estimate| estimate.low.is_some())
            .unwrap_or_else(|| part(&pooled))
    };
    Some((of(|line| line.intercept), of(|line| line.slope)))
}

fn exponent(processes: &[Vec<(f64, f64)>], all: &[(f64, f64)]) -> Option<Estimate> {
    let each: Vec<f64> = processes.iter().filter_map(|p| Some(fit::exponent(p)?.point)).collect();
    median_estimate(&each).filter(|estimate| estimate.low.is_some()).or_else(|| fit::exponent(all))
}

#[cfg(test)]
mod tests {
    use super::super::resample::normal;
    use super::*;
    use rand_chacha::ChaCha8Rng;
    use rand_core::SeedableRng;

    const SIZES: [f64; 7] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0];

    /// Ten processes with 1 % noise in each point and 1 % between processes.
    fn noisy(seed: u64, sizes: &[f64], cost: impl Fn(f64) -> f64) -> Vec<Vec<(f64, f64)>> {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        (0..10)
            .map(|_| {
                let process = 1.0 + 0.01 * normal(&mut random);
                sizes.iter().map(|n| (*n, cost(*n) * process * (1.0 + 0.01 * normal(&mut random)))).collect()
            })
            .collect()
    }

    #[test]
    fn every_law_is_named_from_noisy_data() {
        type Cost = fn(f64) -> f64;
        let laws: [(Law, Cost); 5] = [
            (Law::Flat, |_| 1_000.0),
            (Law::Logarithmic, |n| 1_000.0 + 300.0 * n.log2()),
            (Law::Linear, |n| 1_000.0 + 300.0 * n),
            (Law::Linearithmic, |n| 100.0 + 30.0 * n * n.log2()),
            (Law::Quadratic, |n| 1_000.0 + 30.0 * n * n),
        ];
        for (law, cost) in laws {
            for seed in 0..40 {
                let found = scaling(&noisy(seed, &SIZES, cost)).unwrap();
                assert!(found.law == law || found.or == Some(law), "{law:?} seed {seed}: {found:?}");
                if !matches!(law, Law::Linearithmic) {
                    assert_eq!(found.law, law, "seed {seed}: {found:?}");
                }
            }
        }
    }

    #[test]
    fn intercept_and_slope_are_recovered_with_intervals() {
        let covered = (0..100)
            .filter(|seed| {
                let found = scaling(&noisy(*seed, &SIZES, |n| 1_000.0 + 300.0 * n)).unwrap();
                let covers = |e: Estimate, truth: f64| e.low.unwrap() <= truth && truth <= e.high.unwrap();
                covers(found.slope, 300.0) && covers(found.intercept, 1_000.0)
            })
            .count();
        assert!(covered >= 90, "{covered}");
    }

    #[test]
    fn a_step_is_no_law_and_says_so() {
        let found = scaling(&noisy(1, &SIZES, |n| if n < 16.0 { 100.0 } else { 400.0 })).unwrap();
        assert_eq!(found.law, Law::Other);
        assert!(found.lack_of_fit_p.unwrap() < 0.001);
        assert!(found.sentence(|v| v.to_string()).contains("none of the simple laws"));
    }

    #[test]
    fn sizes_from_zero_and_zero_costs_are_handled() {
        let found = scaling(&noisy(2, &[0.0, 1.0, 2.0, 4.0, 8.0, 16.0], |n| 500.0 + 100.0 * n)).unwrap();
        assert_eq!(found.law, Law::Linear);
        let zeros = scaling(&[SIZES.iter().map(|n| (*n, 0.0)).collect::<Vec<_>>()]).unwrap();
        assert_eq!((zeros.law, zeros.intercept.point), (Law::Flat, 0.0));
        assert_eq!(scaling(&[]), None);
        assert_eq!(scaling(&[vec![(1.0, 5.0)]]), None);
        assert_eq!(scaling(&[vec![(1.0, f64::NAN), (2.0, 1.0)]]), None);
        assert_eq!(scaling(&[vec![(1.0, 5.0), (2.0, 50.0)]]).unwrap().law, Law::Undetermined);
    }

    #[test]
    fn exact_counts_without_noise_are_named() {
        let exact = |cost: fn(f64) -> f64| vec![SIZES.iter().map(|n| (*n, cost(*n))).collect::<Vec<_>>()];
        let found = scaling(&exact(|n| 96.0 + 48.0 * n)).unwrap();
        assert_eq!((found.law, found.or), (Law::Linear, None));
        assert!((found.slope.point - 48.0).abs() < 1e-9);
        assert_eq!(
            found.sentence(|v| format!("{v:.0} B")),
            "linear from N = 1 to 64: 96 B + 48 B · N, log-log exponent 0.75"
        );
    }
}
