//! The certificate of this machine: how often the comparison cries wolf, and how small a change it finds.
//!
//! Everything here has a known truth: the same code compared with itself, code that takes 1, 2, 3 or 5 %
//! more steps, an input that is expensive to build, and a body that does nothing.

use std::io;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::aa::{self, Upkeep};
use super::fresh::Launcher;
use super::run::AllocationPass;
use super::session::{self, Plan};
use crate::record::compare::{self, AA_ROW, Settings};
use crate::record::{Environment, Record, Row, Tool, Variant};
use crate::stats::special::binomial_at_most;
use crate::stats::{self, Estimate};
use crate::workload::{Digest, Suite, Workload};

/// Steps of the chain that is compared; multiples of 100, so that whole percents are whole steps.
const STEPS: u32 = 6_000;

/// The slow-downs injected, in percent.
pub const INJECTED: [u32; 4] = [1, 2, 3, 5];

/// Processes on each side of a comparison.
const PROCESSES: u32 = session::PROCESSES;

/// What a selfcheck is to do.
#[derive(Clone, Debug)]
pub struct Check {
    /// A/A comparisons; also sets the number of comparisons with an injected slow-down, a quarter each.
    pub comparisons: u32,
    /// Wall time of one row in one process.
    pub slice: Duration,
    /// Seed of orders.
    pub seed: u64,
    /// How a fresh process is started.
    pub launcher: Launcher,
}

/// What a selfcheck found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Certificate {
    /// Version of the record schema.
    pub schema_version: u32,
    /// The program that wrote it.
    pub tool: Tool,
    /// Where it holds.
    pub environment: Environment,
    /// Processes on each side of a comparison.
    pub processes: u32,
    /// Wall time of one row in one process, in nanoseconds.
    pub slice_ns: u64,
    /// Comparisons of code with itself.
    pub comparisons: u32,
    /// Those with p below 0.05 (nominal: 5 %).
    pub significant: u32,
    /// Those in which a change was claimed: p below 0.05 and the interval clear of the margin.
    pub claimed: u32,
    /// The margin of a claim, as a share.
    pub margin: f64,
    /// Injected slow-downs and how often they were found.
    pub power: Vec<Power>,
    /// Cost with an expensive input over cost with a cheap one: geometric mean over comparisons, t interval.
    pub set_up_leak: Option<Estimate>,
    /// Cost of an empty body, in nanoseconds.
    pub empty_body_ns: Option<f64>,
    /// Cost of an empty window, in nanoseconds.
    pub empty_window_ns: u64,
}

/// How often an injected slow-down was found.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Power {
    /// The slow-down, in percent.
    pub injected_percent: u32,
    /// Comparisons made.
    pub comparisons: u32,
    /// Those in which "slower" was claimed.
    pub found: u32,
    /// The slow-down measured, median over the comparisons, in percent.
    pub measured_percent: f64,
}

impl Certificate {
    /// Whether false alarms are no more than the nominal 5 % allows for this many comparisons, at a level
    /// of one wrong refusal in a thousand.
    pub fn alarms_are_nominal(&self) -> bool {
        let more = |count: u32| {
            count > 0 && 1.0 - binomial_at_most(u64::from(count) - 1, u64::from(self.comparisons), 0.05) < 0.001
        };
        !more(self.significant) && !more(self.claimed)
    }

    /// Whether an expensive input leaves the figure within the margin.
    pub fn set_up_stays_out(&self) -> Finding {
        let (inside_low, inside_high) = (1.0 - self.margin, 1.0 + self.margin);
        match self.set_up_leak.and_then(|ratio| ratio.low.zip(ratio.high)) {
            Some((low, high)) if low >= inside_low && high <= inside_high => Finding::Holds,
            Some((low, high)) if low > inside_high || high < inside_low => Finding::Fails,
            _ => Finding::Open,
        }
    }

    /// Whether an empty body costs less than a hundredth of an empty window.
    pub fn empty_is_empty(&self) -> Finding {
        match self.empty_body_ns {
            Some(ns) if ns < (0.01 * self.empty_window_ns as f64).max(2.0) => Finding::Holds,
            Some(_) => Finding::Fails,
            None => Finding::Open,
        }
    }

    /// Everything that the certificate attests.
    pub fn findings(&self) -> [Finding; 3] {
        let alarms = if self.alarms_are_nominal() { Finding::Holds } else { Finding::Fails };
        [alarms, self.set_up_stays_out(), self.empty_is_empty()]
    }
}

/// What the data say about a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finding {
    /// They bear it out.
    Holds,
    /// They refute it.
    Fails,
    /// They do not decide.
    Open,
}

/// The harness's own workloads: the A/A row and those of the selfcheck.
pub fn workload(name: &str) -> Option<Workload> {
    if name == AA_ROW {
        return Some(aa::workload());
    }
    let what = name.strip_prefix("selfcheck/")?;
    match what.split_once('/').unwrap_or((what, "")) {
        ("same", _) => Some(aa::chain(name, STEPS, Upkeep::Light)),
        ("light", _) => Some(aa::chain(name, STEPS, Upkeep::Light)),
        ("heavy", _) => Some(aa::chain(name, STEPS, Upkeep::Heavy)),
        ("slowed", percent) => {
            let percent: u32 = percent.split('/').next()?.parse().ok()?;
            Some(aa::chain(name, STEPS / 100 * (100 + percent), Upkeep::Light))
        }
        ("empty", _) => Some(empty(name)),
        _ => None,
    }
}

/// The workloads of the selfcheck as a suite, for measuring them with other harnesses too.
pub fn suite() -> Suite {
    let names = INJECTED.map(|percent| format!("selfcheck/slowed/{percent}"));
    let fixed = ["selfcheck/same", "selfcheck/light", "selfcheck/heavy", "selfcheck/empty"].map(str::to_owned);
    fixed.iter().chain(&names).filter_map(|name| workload(name)).fold(Suite::new(), Suite::with)
}

fn empty(name: &str) -> Workload {
    Workload::primitive(name, |_| vec![0u8; 64], |_| (), |_, ()| Ok(Digest::default()))
}

/// Runs the check. One round is a pair of runs, old and new, whose processes alternate; each has several
/// comparisons of every kind in it.
pub fn check(check: &Check, on_round: &mut dyn FnMut(u32, u32)) -> io::Result<Certificate> {
    const SAME: u32 = 20;
    const SLOWED: u32 = 5;
    const LEAKS: u32 = 5;
    let rounds = check.comparisons.div_ceil(SAME).max(1);
    let mut certificate: Option<Certificate> = None;
    let mut measured: Vec<Vec<f64>> = vec![Vec::new(); INJECTED.len()];
    let mut leaks = Vec::new();
    for round in 0..rounds {
        on_round(round, rounds);
        let (old, new) = pair_of_runs(check, round, &pairs(SAME, SLOWED, LEAKS))?;
        let certificate = certificate.get_or_insert_with(|| blank(check, &old));
        let report = compare::compare(&old, &new, Settings::default());
        for row in &report.rows {
            // Each comparison stands alone here: no correction for the number of rows.
            let claim = row.p.is_some_and(|p| p < 0.05).then_some(row.ratio).flatten();
            let clears = |bound: Option<f64>, slower: bool| {
                bound.is_some_and(|b| if slower { b > 1.0 + report.margin } else { b < 1.0 / (1.0 + report.margin) })
            };
            let slower = claim.is_some_and(|ratio| clears(ratio.low, true));
            let faster = claim.is_some_and(|ratio| clears(ratio.high, false));
            if row.name.starts_with("selfcheck/same/") {
                certificate.comparisons += 1;
                certificate.significant += u32::from(claim.is_some());
                certificate.claimed += u32::from(slower || faster);
            } else if let Some(at) = injected(&row.name).and_then(|p| INJECTED.iter().position(|i| *i == p)) {
                certificate.power[at].comparisons += 1;
                certificate.power[at].found += u32::from(slower);
                measured[at].extend(row.ratio.map(|ratio| (ratio.point - 1.0) * 100.0));
            } else if row.name.starts_with("selfcheck/light/") {
                leaks.extend(row.ratio.map(|ratio| ratio.point.ln()));
            }
        }
    }
    let mut certificate = certificate.ok_or_else(|| io::Error::other("no round ran"))?;
    for (power, measured) in certificate.power.iter_mut().zip(measured) {
        power.measured_percent = stats::median(&measured).unwrap_or(f64::NAN);
    }
    certificate.set_up_leak = stats::mean_estimate(&leaks).map(|log| Estimate {
        point: log.point.exp(),
        low: log.low.map(f64::exp),
        high: log.high.map(f64::exp),
    });
    Ok(certificate)
}

fn injected(name: &str) -> Option<u32> {
    name.strip_prefix("selfcheck/slowed/")?.split('/').next()?.parse().ok()
}

fn blank(check: &Check, old: &Record) -> Certificate {
    let empty = old.summaries().into_iter().find(|row| row.name == "selfcheck/empty");
    Certificate {
        schema_version: old.schema_version,
        tool: old.tool.clone(),
        environment: old.environment.clone(),
        processes: PROCESSES,
        slice_ns: check.slice.as_nanos() as u64,
        comparisons: 0,
        significant: 0,
        claimed: 0,
        margin: Settings::default().margin.0,
        power: INJECTED
            .map(|injected_percent| Power { injected_percent, comparisons: 0, found: 0, measured_percent: 0.0 })
            .to_vec(),
        set_up_leak: None,
        empty_body_ns: empty.and_then(|row| row.p50_ns).map(|estimate| estimate.point),
        empty_window_ns: old.clocks.iter().map(|clock| clock.empty_ns).max().unwrap_or(0),
    }
}

/// An old and a new run whose processes alternate, which of the two goes first alternating too. Rows that
/// stand for the new version carry another workload under the same name.
fn pair_of_runs(check: &Check, round: u32, pairs: &[Pair]) -> io::Result<(Record, Record)> {
    let mut sides: [Option<Record>; 2] = [None, None];
    for process in 0..PROCESSES {
        for turn in 0..2 {
            let side = ((process + turn) % 2) as usize;
            let rows: Vec<(Workload, String)> = pairs
                .iter()
                .filter_map(|(name, old, new)| Some((workload(if side == 0 { old } else { new })?, name.clone())))
                .collect();
            let plan = Plan {
                rows: rows.iter().map(|(workload, _)| (workload.clone(), Variant::Throughput)).collect(),
                processes: 1,
                budget: check.slice * rows.len() as u32,
                // Both sides of a pair run their rows in orders of their own.
                seed: check.seed ^ u64::from(round * PROCESSES + process) << 8 ^ side as u64,
                allocation: AllocationPass::Skip,
                launcher: check.launcher.clone(),
            };
            let mut record = session::run(&plan, &mut |_| ())?;
            for (row, (_, name)) in record.rows.iter_mut().skip(1).zip(&rows) {
                row.name.clone_from(name);
            }
            for measurement in record.rows.iter_mut().flat_map(|row| &mut row.processes) {
                measurement.process = process;
            }
            match &mut sides[side] {
                None => sides[side] = Some(record),
                Some(all) => join(all, record),
            }
        }
    }
    match sides {
        [Some(old), Some(new)] => Ok((old, new)),
        _ => Err(io::Error::other("no process ran")),
    }
}

/// Name, old workload, new workload of a comparison.
type Pair = (String, String, String);

/// The comparisons of a round.
fn pairs(same: u32, slowed: u32, leaks: u32) -> Vec<Pair> {
    let mut pairs: Vec<Pair> = (0..same)
        .map(|i| {
            let name = format!("selfcheck/same/{i}");
            (name.clone(), name.clone(), name)
        })
        .collect();
    for percent in INJECTED {
        pairs.extend((0..slowed).map(|i| {
            let name = format!("selfcheck/slowed/{percent}/{i}");
            (name.clone(), format!("selfcheck/same/{percent}/{i}"), name)
        }));
    }
    pairs.extend((0..leaks).map(|i| {
        let name = format!("selfcheck/light/{i}");
        (name.clone(), name, format!("selfcheck/heavy/{i}"))
    }));
    pairs.push(("selfcheck/empty".to_owned(), "selfcheck/empty".to_owned(), "selfcheck/empty".to_owned()));
    pairs
}

fn join(all: &mut Record, one: Record) {
    all.clocks.extend(one.clocks);
    for (into, row) in all.rows.iter_mut().zip(one.rows) {
        let Row { processes, error, .. } = row;
        into.processes.extend(processes);
        into.error = into.error.take().or(error);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_workload_is_found_by_its_name() {
        for (_, old, new) in pairs(2, 2, 2) {
            assert_eq!(workload(&old).unwrap().name, old);
            assert_eq!(workload(&new).unwrap().name, new);
        }
        assert!(workload("selfcheck/nonsense").is_none());
        assert!(workload("x25519_dh").is_none());
        assert_eq!(suite().workloads.len(), 4 + INJECTED.len());
    }

    #[test]
    fn the_certificate_refuses_what_exceeds_its_nominal_rate() {
        let record = crate::record::testing::record(vec![]);
        let launcher = Launcher::this_program().unwrap();
        let check = Check { comparisons: 200, slice: Duration::ZERO, seed: 0, launcher };
        let of = |significant| {
            let mut certificate = blank(&check, &record);
            (certificate.comparisons, certificate.significant) = (200, significant);
            certificate.alarms_are_nominal()
        };
        assert!(of(0) && of(10) && of(15));
        assert!(!of(30) && !of(200));
        let leak = |low, high| {
            let leak = Some(Estimate::with_interval(0.5 * (low + high), low, high));
            Certificate { set_up_leak: leak, ..blank(&check, &record) }.set_up_stays_out()
        };
        assert_eq!(leak(0.998, 1.004), Finding::Holds);
        assert_eq!(leak(1.006, 1.02), Finding::Fails);
        assert_eq!(leak(0.9, 0.99), Finding::Fails);
        assert_eq!(leak(0.98, 1.03), Finding::Open);
        assert_eq!(blank(&check, &record).set_up_stays_out(), Finding::Open);
    }
}
