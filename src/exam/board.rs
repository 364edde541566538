//! The scoreboard: what each sampler got right and wrong, and whether the verdicts said so.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::run::{Outcome, Rate};

/// Version of the scoreboard's JSON.
pub const SCHEMA_VERSION: u32 = 1;

/// The whole exam.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scoreboard {
    /// Version of this schema.
    pub schema_version: u32,
    /// Every sampler on every case, in the order run.
    pub outcomes: Vec<Outcome>,
    /// Delivered rates and overheads.
    pub rates: Vec<Rate>,
    /// One a sampler.
    pub samplers: Vec<Standing>,
    /// The verdicts' own exam.
    pub verdicts: Verdicts,
}

/// How a sampler did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Standing {
    /// The sampler.
    pub sampler: String,
    /// What it can be trusted with, in one sentence.
    pub sentence: String,
    /// The largest error on the cases that it can see.
    pub largest_error: Option<f64>,
}

/// How the verdicts did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Verdicts {
    /// Runs of the whole exam: the most that any sampler had of any case.
    #[serde(default)]
    pub exam_runs: u64,
    /// Runs of sound samplers.
    pub sound_runs: u64,
    /// Of those, how many were accused: false accusations.
    pub falsely_accused: u64,
    /// Of `sound_runs`, those on the controls.
    pub control_runs: u64,
    /// Of those, how many were accused.
    pub controls_accused: u64,
    /// Runs with an error of ten points or more by a known mechanism.
    pub lies: u64,
    /// Of those, how many were accused and their mechanism named.
    pub lies_named: u64,
}

impl Verdicts {
    /// Whether no control was accused, and 95 % of the lies at least were named.
    pub fn hold(&self) -> bool {
        self.controls_accused == 0 && self.lies_named * 100 >= self.lies * 95
    }
}

impl Scoreboard {
    /// Sums up.
    pub fn new(outcomes: Vec<Outcome>, rates: Vec<Rate>) -> Self {
        let mut names: Vec<String> = Vec::new();
        for outcome in &outcomes {
            if !names.contains(&outcome.sampler) {
                names.push(outcome.sampler.clone());
            }
        }
        let samplers = names.iter().map(|name| standing(name, &outcomes, &rates)).collect();
        let verdicts = verdicts(&outcomes);
        Self { schema_version: SCHEMA_VERSION, outcomes, rates, samplers, verdicts }
    }
}

fn verdicts(outcomes: &[Outcome]) -> Verdicts {
    let mut sums = Verdicts::default();
    let mut runs: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    for outcome in outcomes {
        *runs.entry((&outcome.case, &outcome.sampler)).or_default() += 1;
    }
    sums.exam_runs = runs.into_values().max().unwrap_or(0);
    for outcome in outcomes.iter().filter(|outcome| outcome.skipped.is_none()) {
        if outcome.expected == "sound" {
            sums.sound_runs += 1;
            sums.falsely_accused += u64::from(outcome.accused);
            if outcome.case.starts_with("control") {
                sums.control_runs += 1;
                sums.controls_accused += u64::from(outcome.accused);
            }
        }
        if let Some(named) = outcome.rightly_named {
            sums.lies += 1;
            sums.lies_named += u64::from(named);
        }
    }
    sums
}

fn standing(name: &str, outcomes: &[Outcome], rates: &[Rate]) -> Standing {
    let mine: Vec<&Outcome> = outcomes.iter().filter(|outcome| outcome.sampler == name).collect();
    let run: Vec<&&Outcome> = mine.iter().filter(|outcome| outcome.skipped.is_none()).collect();
    if run.is_empty() {
        let why = mine.first().and_then(|outcome| outcome.skipped.clone()).unwrap_or_default();
        return Standing { sampler: name.to_owned(), sentence: format!("not examined: {why}"), largest_error: None };
    }
    // Over repeated runs a case counts by its worst.
    let mut worst: BTreeMap<&str, (f64, bool)> = BTreeMap::new();
    let mut invisible = Vec::new();
    for outcome in &run {
        let error = outcome.largest_error.unwrap_or(f64::NAN);
        if outcome.expected == "invisible" {
            if !invisible.contains(&outcome.case.as_str()) {
                invisible.push(outcome.case.as_str());
            }
            continue;
        }
        let entry = worst.entry(outcome.case.as_str()).or_insert((error, false));
        *entry = (entry.0.max(error), entry.1 || outcome.lies());
    }
    let wrong: Vec<String> = worst
        .iter()
        .filter(|(_, (_, lies))| *lies)
        .map(|(case, (error, _))| format!("{case} ({:.0} points)", error * 100.0))
        .collect();
    let largest_error = worst.values().map(|(error, _)| *error).max_by(f64::total_cmp);
    let mut sentence = if wrong.is_empty() {
        let largest = largest_error.unwrap_or(0.0) * 100.0;
        format!("within {largest:.1} points on all {} cases that it can see", worst.len())
    } else {
        format!("wrong on {} of {} cases: {}", wrong.len(), worst.len(), wrong.join(", "))
    };
    if !invisible.is_empty() {
        sentence.push_str(&format!("; cannot see: {}", invisible.join(", ")));
    }
    let slow = rates.iter().filter(|rate| rate.sampler == name).find_map(|rate| {
        let delivered = rate.delivered_hz?;
        (delivered < 0.9 * f64::from(rate.asked_hz))
            .then(|| format!("; {delivered:.0} samples a second where {} are asked for", rate.asked_hz))
    });
    sentence.push_str(&slow.unwrap_or_default());
    Standing { sampler: name.to_owned(), sentence, largest_error }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(case: &str, expected: &str, error: f64, accused: bool, named: Option<bool>) -> Outcome {
        Outcome {
            case: case.into(),
            sampler: "s".into(),
            parts: Vec::new(),
            largest_error: Some(error),
            noise: Some(0.03),
            delivered: Some(100),
            expected: expected.into(),
            accused,
            named: Vec::new(),
            rightly_named: named,
            skipped: None,
        }
    }

    #[test]
    fn sums_and_sentences() {
        let board = Scoreboard::new(
            vec![
                outcome("control: plain", "sound", 0.01, false, None),
                outcome("control: plain", "sound", 0.02, true, None),
                outcome("inlined pair", "misleads", 0.7, true, Some(true)),
                outcome("tail call", "invisible", 0.7, true, None),
            ],
            Vec::new(),
        );
        let verdicts = &board.verdicts;
        assert_eq!((verdicts.sound_runs, verdicts.falsely_accused, verdicts.control_runs), (2, 1, 2));
        assert_eq!((verdicts.lies, verdicts.lies_named), (1, 1));
        assert_eq!(verdicts.exam_runs, 2);
        assert!(!verdicts.hold() && Verdicts { controls_accused: 0, ..verdicts.clone() }.hold());
        assert!(!Verdicts { controls_accused: 0, lies: 20, lies_named: 18, ..verdicts.clone() }.hold());
        assert_eq!(
            board.samplers[0].sentence,
            "wrong on 1 of 2 cases: inlined pair (70 points); cannot see: tail call"
        );
    }
}
