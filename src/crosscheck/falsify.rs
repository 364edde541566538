//! Numbers about one rewrite: what a profile says that it could save, what op counts say, and what it saved.

use serde::{Deserialize, Serialize};

use crate::stats::Estimate;

/// What is known before the question is put.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Known {
    /// The blamed function's sampled share of the operation.
    pub sampled: Estimate,
    /// Calls of it in one execution of the operation.
    pub calls: f64,
    /// One execution of the operation, in nanoseconds.
    pub operation_ns: Estimate,
    /// One call of the blamed function alone, in nanoseconds.
    pub blamed_ns: Estimate,
    /// One call of the rewrite alone, in nanoseconds.
    pub rewrite_ns: Estimate,
    /// The difference of the two.
    pub difference_ns: Estimate,
    /// What the rewrite saved.
    pub saved_ns: Estimate,
}

/// What is promised and what is kept, in nanoseconds for one execution of the operation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Falsified {
    /// Sampled share × operation time: what whoever reads the profile alone hopes for.
    pub promised_ns: Estimate,
    /// The same × the part of the function's cost that the rewrite takes away.
    pub profile_ns: Estimate,
    /// Calls × the difference of the two costs.
    pub counts_ns: Estimate,
    /// Time of the operation before, less its time after.
    pub saved_ns: Estimate,
}

/// The numbers from what is known.
pub fn falsify(known: &Known) -> Falsified {
    let part = 1.0 - known.rewrite_ns.point / known.blamed_ns.point;
    let factor = known.operation_ns.point * part.abs();
    let profile = known.sampled.scaled(factor);
    // A rewrite that is slower alone turns the interval around.
    let profile = if part < 0.0 {
        Estimate { point: -profile.point, low: profile.high.map(|high| -high), high: profile.low.map(|low| -low) }
    } else {
        profile
    };
    let promised_ns = known.sampled.scaled(known.operation_ns.point);
    Falsified {
        promised_ns,
        profile_ns: profile,
        counts_ns: known.difference_ns.scaled(known.calls),
        saved_ns: known.saved_ns,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_that_blames_wrongly_promises_what_is_not_saved() {
        // The published story: 75 % in a function that a rewrite makes 4 times as fast, and nothing saved.
        let known = Known {
            sampled: Estimate::with_interval(0.75, 0.73, 0.77),
            calls: 100.0,
            operation_ns: Estimate::point(579_000.0),
            blamed_ns: Estimate::point(8.0),
            rewrite_ns: Estimate::point(2.0),
            difference_ns: Estimate::with_interval(6.0, 5.0, 7.0),
            saved_ns: Estimate::point(0.0),
        };
        let found = falsify(&known);
        assert!((found.promised_ns.point - 0.75 * 579_000.0).abs() < 1e-6);
        assert!((found.profile_ns.point - 0.75 * 579_000.0 * 0.75).abs() < 1e-6);
        assert_eq!((found.counts_ns.point, found.counts_ns.low), (600.0, Some(500.0)));
        let slower = falsify(&Known { rewrite_ns: Estimate::point(16.0), ..known });
        assert!(slower.profile_ns.low.unwrap() < slower.profile_ns.point);
        assert!(slower.profile_ns.point < slower.profile_ns.high.unwrap());
    }
}
