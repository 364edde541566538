//! The sample budget: did the sampler deliver what it was asked for?

use serde::{Deserialize, Serialize};

use crate::profile::{Profile, SampleClock};

/// Delivered ÷ expected within which a budget is fine.
pub const FINE: (f64, f64) = (0.9, 1.1);

/// Delivered against requested samples.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Budget {
    /// Samples in the profile; `None` where it gives only weights.
    pub delivered: Option<f64>,
    /// Rate asked for, per second.
    pub requested_hz: Option<f64>,
    /// Thread CPU time used while sampling, in nanoseconds; wall time for a sampler of wall time.
    pub time_ns: Option<u64>,
    /// Delivered ÷ (time × requested rate).
    pub ratio: Option<f64>,
    /// Samples per second of that time.
    pub delivered_hz: Option<f64>,
    /// Wall time minus CPU time, in nanoseconds: invisible to a sampler of CPU time.
    pub off_cpu_ns: Option<u64>,
    /// What the ratio says.
    pub state: BudgetState,
}

/// What a sample budget says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum BudgetState {
    /// Between 0.9 and 1.1.
    Fine,
    /// Samples are missing.
    Low,
    /// More samples than the time allows.
    High,
    /// The profile does not say how long it ran, at what rate, or how many samples it has.
    Unknown,
}

/// The budget of a profile with this many samples, those outside the operation included.
pub fn budget(profile: &Profile, delivered: Option<f64>) -> Budget {
    let provenance = &profile.provenance;
    let time_ns = match provenance.clock {
        SampleClock::Wall => provenance.duration_ns,
        _ => provenance.cpu_time_ns,
    };
    let seconds = time_ns.map(|ns| ns as f64 / 1e9).filter(|seconds| *seconds > 0.0);
    let delivered_hz = delivered.zip(seconds).map(|(delivered, seconds)| delivered / seconds);
    let requested_hz = provenance.requested_hz.filter(|hz| *hz > 0.0);
    let ratio = delivered_hz.zip(requested_hz).map(|(delivered, requested)| delivered / requested);
    let state = match ratio {
        None => BudgetState::Unknown,
        Some(ratio) if ratio < FINE.0 => BudgetState::Low,
        Some(ratio) if ratio > FINE.1 => BudgetState::High,
        Some(_) => BudgetState::Fine,
    };
    let off_cpu_ns = provenance.duration_ns.zip(provenance.cpu_time_ns).map(|(wall, cpu)| wall.saturating_sub(cpu));
    Budget { delivered, requested_hz, time_ns, ratio, delivered_hz, off_cpu_ns, state }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crosscheck::testing::folded;

    fn with(delivered: u64, hz: f64) -> Budget {
        let mut profile = folded(&format!("main {delivered}\n"));
        profile.provenance.requested_hz = Some(hz);
        profile.provenance.cpu_time_ns = Some(2_000_000_000);
        profile.provenance.duration_ns = Some(5_000_000_000);
        budget(&profile, Some(delivered as f64))
    }

    #[test]
    fn a_tick_bound_sampler_is_low() {
        let found = with(500, 997.0);
        assert_eq!(found.state, BudgetState::Low);
        assert!((found.ratio.unwrap() - 0.2508).abs() < 1e-4);
        assert_eq!((found.delivered_hz, found.off_cpu_ns), (Some(250.0), Some(3_000_000_000)));
    }

    #[test]
    fn the_limits_are_a_tenth_either_way() {
        assert_eq!(with(1801, 1000.0).state, BudgetState::Fine);
        assert_eq!(with(1799, 1000.0).state, BudgetState::Low);
        assert_eq!(with(2199, 1000.0).state, BudgetState::Fine);
        assert_eq!(with(2201, 1000.0).state, BudgetState::High);
    }

    #[test]
    fn what_is_not_said_is_unknown() {
        assert_eq!(budget(&folded("main 5\n"), Some(5.0)).state, BudgetState::Unknown);
    }
}
