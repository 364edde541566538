//! The verdict on one sampled share: agrees, over, under, blind, unresolved, or no reference.
//!
//! *Agrees* needs the 95 % interval of the difference to lie within the margin. An accusation needs more:
//! the difference must exceed the margin, and exclude zero at a level at which one sound profile in
//! [`FALSE_ACCUSATIONS`] is accused of anything, all its rows taken together (Bonferroni). What is in
//! between is unresolved.

use serde::{Deserialize, Serialize};

use super::reference::Reference;
use super::share::{Sampled, Z95};
use crate::stats::Estimate;

/// Chance that a sound profile is accused of anything at all.
pub const FALSE_ACCUSATIONS: f64 = 0.001;

/// A profile worth fewer independent samples than this accuses nobody: too few to know how much they
/// depend on each other.
pub const FEWEST_EFFECTIVE: f64 = 50.0;

/// What the judge says about one share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Within the margin.
    Agrees,
    /// The sampler shows too much.
    Over,
    /// The sampler shows too little.
    Under,
    /// The sampler shows nothing where there is something.
    Blind,
    /// Too wide to say.
    Unresolved,
    /// There is nothing to judge it by.
    NoReference,
}

impl Verdict {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Agrees => "agrees",
            Self::Over => "over",
            Self::Under => "under",
            Self::Blind => "blind",
            Self::Unresolved => "unresolved",
            Self::NoReference => "no reference",
        }
    }

    /// Whether it says that the sampler misleads.
    pub fn accuses(self) -> bool {
        matches!(self, Self::Over | Self::Under | Self::Blind)
    }
}

/// A sampled share held against its reference.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// Sampled minus reference, with its 95 % interval.
    pub difference: Option<Estimate>,
    /// For `unresolved`: how many further samples would settle it, where more samples can.
    pub further_samples: Option<u64>,
    /// Why there is no verdict, or no better one.
    pub reason: Option<String>,
}

/// How strict the judge is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Strictness {
    /// A share may be off by this much: 0.03 for three points.
    pub margin: f64,
    /// Number of rows judged in this profile.
    pub rows: usize,
}

impl Strictness {
    /// Standard deviations that an accusation must exceed.
    pub fn accusing_z(&self) -> f64 {
        normal_quantile(1.0 - FALSE_ACCUSATIONS / (2.0 * self.rows.max(1) as f64))
    }
}

/// Judges a share of which `samples` samples were taken (all rows together).
pub fn judge(sampled: &Sampled, samples: Option<f64>, reference: &Reference, strictness: Strictness) -> Judgement {
    let Some(share) = reference.share else {
        return Judgement {
            verdict: Verdict::NoReference,
            difference: None,
            further_samples: None,
            reason: reference.reason.clone(),
        };
    };
    let point = sampled.share - share.point;
    let Some((low, high)) = difference(sampled, reference, Z95) else {
        return Judgement {
            verdict: Verdict::Unresolved,
            difference: Some(Estimate::point(point)),
            further_samples: None,
            reason: Some("the profile does not say how many samples it has".to_owned()),
        };
    };
    let estimate = Estimate::with_interval(point, low, high);
    let margin = strictness.margin;
    let (strict_low, strict_high) =
        difference(sampled, reference, strictness.accusing_z()).unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
    let enough = sampled.effective.is_some_and(|effective| effective >= FEWEST_EFFECTIVE);
    let verdict = if low >= -margin && high <= margin {
        Verdict::Agrees
    } else if enough && point > margin && strict_low > 0.0 {
        Verdict::Over
    } else if enough && point < -margin && strict_high < 0.0 {
        if sampled.share == 0.0 { Verdict::Blind } else { Verdict::Under }
    } else {
        Verdict::Unresolved
    };
    let mut judgement = Judgement { verdict, difference: Some(estimate), further_samples: None, reason: None };
    if verdict == Verdict::Unresolved {
        settle(&mut judgement, sampled, samples, reference, strictness);
    }
    judgement
}

/// The interval of sampled − reference at `z` standard deviations: the distances to the limits add in
/// quadrature (Zou and Donner 2008), except to a range of costs, which is not statistical and adds in
/// full.
fn difference(sampled: &Sampled, reference: &Reference, z: f64) -> Option<(f64, f64)> {
    let (s_low, s_high) = sampled.interval(z)?;
    let (r_low, r_high) = reference.interval(z)?;
    let (s, r) = (sampled.share, reference.share?.point);
    let point = s - r;
    let (below, above) = ((s - s_low, r_high - r), (s_high - s, r - r_low));
    Some(if reference.is_range() {
        (point - below.0 - below.1, point + above.0 + above.1)
    } else {
        (point - below.0.hypot(below.1), point + above.0.hypot(above.1))
    })
}

/// Finds by doubling and halving how many samples would give a verdict if the share stayed as it is.
fn settle(
    judgement: &mut Judgement,
    sampled: &Sampled,
    samples: Option<f64>,
    reference: &Reference,
    strictness: Strictness,
) {
    let (Some(effective), Some(samples)) = (sampled.effective, samples) else { return };
    let settled = |factor: f64| {
        let more = Sampled { share: sampled.share, effective: Some(effective * factor) };
        let Some((low, high)) = difference(&more, reference, Z95) else { return false };
        let Some((strict_low, strict_high)) = difference(&more, reference, strictness.accusing_z()) else {
            return false;
        };
        let (margin, point) = (strictness.margin, judgement.difference.map_or(0.0, |d| d.point));
        (low >= -margin && high <= margin)
            || (effective * factor >= FEWEST_EFFECTIVE
                && ((point > margin && strict_low > 0.0) || (point < -margin && strict_high < 0.0)))
    };
    // Past ten thousand times the samples, the reference or the margin is what does not let it settle.
    let Some(mut enough) = (0..=14).map(|power| f64::from(1u32 << power)).find(|factor| settled(*factor)) else {
        judgement.reason = Some(
            "more samples would not settle it: the reference is too wide, or the difference too near the margin"
                .to_owned(),
        );
        return;
    };
    let mut short = enough / 2.0;
    for _ in 0..20 {
        let middle = (short + enough) / 2.0;
        if settled(middle) { enough = middle } else { short = middle }
    }
    let further = (samples * (enough - 1.0)).ceil().max(1.0) as u64;
    judgement.further_samples = Some(further);
    judgement.reason = Some(format!("about {further} further samples would settle it"));
}

/// The standard normal quantile (Acklam's rational approximation, relative error below 1.2e-9).
pub(super) fn normal_quantile(p: f64) -> f64 {
    const A: [f64; 6] = [
        -3.969_683_028_665_376e1,
        2.209_460_984_245_205e2,
        -2.759_285_104_469_687e2,
        1.383_577_518_672_69e2,
        -3.066_479_806_614_716e1,
        2.506_628_277_459_239,
    ];
    const B: [f64; 5] = [
        -5.447_609_879_822_406e1,
        1.615_858_368_580_409e2,
        -1.556_989_798_598_866e2,
        6.680_131_188_771_972e1,
        -1.328_068_155_288_572e1,
    ];
    const C: [f64; 6] = [
        -7.784_894_002_430_293e-3,
        -3.223_964_580_411_365e-1,
        -2.400_758_277_161_838,
        -2.549_732_539_343_734,
        4.374_664_141_464_968,
        2.938_163_982_698_783,
    ];
    const D: [f64; 4] =
        [7.784_695_709_041_462e-3, 3.224_671_290_700_398e-1, 2.445_134_137_142_996, 3.754_408_661_907_416];
    let polynomial = |coefficients: &[f64], x: f64| coefficients.iter().fold(0.0, |sum, c| sum * x + c);
    if p < 0.024_25 {
        let q = (-2.0 * p.ln()).sqrt();
        polynomial(&C, q) / (polynomial(&D, q) * q + 1.0)
    } else if p > 1.0 - 0.024_25 {
        -normal_quantile(1.0 - p)
    } else {
        let q = p - 0.5;
        let r = q * q;
        polynomial(&A, r) * q / (polynomial(&B, r) * r + 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crosscheck::reference::Basis;

    fn reference(point: f64, half: f64) -> Reference {
        Reference {
            basis: Basis::Causal,
            share: Some(Estimate::with_interval(point, point - half, point + half)),
            reason: None,
        }
    }

    fn verdict(share: f64, samples: f64, reference: &Reference) -> Judgement {
        let sampled = Sampled { share, effective: Some(samples) };
        judge(&sampled, Some(samples), reference, Strictness { margin: 0.03, rows: 5 })
    }

    #[test]
    fn each_verdict_has_its_case() {
        let r = reference(0.30, 0.005);
        assert_eq!(verdict(0.31, 10_000.0, &r).verdict, Verdict::Agrees);
        assert_eq!(verdict(0.38, 10_000.0, &r).verdict, Verdict::Over);
        assert_eq!(verdict(0.20, 10_000.0, &r).verdict, Verdict::Under);
        assert_eq!(verdict(0.00, 10_000.0, &r).verdict, Verdict::Blind);
        assert_eq!(verdict(0.33, 50.0, &r).verdict, Verdict::Unresolved);
        let none = Reference { basis: Basis::None, share: None, reason: Some("why".into()) };
        let found = verdict(0.33, 50.0, &none);
        assert_eq!((found.verdict, found.reason.as_deref()), (Verdict::NoReference, Some("why")));
    }

    #[test]
    fn nothing_seen_in_few_samples_is_not_blind() {
        assert_eq!(verdict(0.0, 20.0, &reference(0.05, 0.005)).verdict, Verdict::Unresolved);
        assert_eq!(verdict(0.0, 1_000.0, &reference(0.02, 0.005)).verdict, Verdict::Agrees);
    }

    #[test]
    fn a_difference_within_the_margin_is_never_accused() {
        assert_eq!(verdict(0.329, 1e9, &reference(0.30, 1e-6)).verdict, Verdict::Agrees);
        assert_eq!(verdict(0.331, 1e9, &reference(0.30, 1e-6)).verdict, Verdict::Over);
    }

    #[test]
    fn the_further_samples_do_settle_it() {
        let r = reference(0.30, 0.005);
        for (share, samples) in [(0.31, 300.0), (0.36, 100.0), (0.20, 50.0)] {
            let open = verdict(share, samples, &r);
            assert_eq!(open.verdict, Verdict::Unresolved, "{share}");
            let further = open.further_samples.unwrap() as f64;
            assert_ne!(verdict(share, samples + further, &r).verdict, Verdict::Unresolved);
            assert_eq!(verdict(share, samples + further * 0.9, &r).verdict, Verdict::Unresolved);
        }
    }

    #[test]
    fn where_the_reference_is_too_wide_samples_do_not_help() {
        let found = verdict(0.31, 1e6, &reference(0.30, 0.10));
        assert_eq!((found.verdict, found.further_samples), (Verdict::Unresolved, None));
        assert!(found.reason.unwrap().contains("would not settle"));
    }

    #[test]
    fn without_a_number_of_samples_there_is_no_verdict() {
        let sampled = Sampled { share: 0.9, effective: None };
        let found = judge(&sampled, None, &reference(0.3, 0.01), Strictness { margin: 0.03, rows: 5 });
        assert_eq!(found.verdict, Verdict::Unresolved);
    }

    #[test]
    fn quantiles_of_the_normal_are_the_known_ones() {
        for (p, z) in [(0.5, 0.0), (0.975, Z95), (0.999_95, 3.890_591_886), (0.01, -2.326_347_874)] {
            assert!((normal_quantile(p) - z).abs() < 1e-6, "{p}");
        }
    }
}
