//! The published story put to the test on the JVM: what a flight recording says of the carry and of the
//! product in X25519 on 16 limbs, against op counts, doses, and rewrites that were timed.

use serde::Serialize;

use super::jvm::Jvm;
use super::{Line, RunnerError};
use crate::import::profile;
use crate::profile::Profile;
use crate::stats::{Estimate, fit, order, paired, quantile, sorted};

/// The quantile of ladder times that stands for a process: on a loaded machine the lower end is the
/// ladder's own cost.
const QUANTILE: f64 = 0.05;

/// Extra executions at each multiplication go up to this.
const MOST: u32 = 3;

/// How much to measure.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Only this form of the product; both where none is named.
    pub product: Option<String>,
    /// Only configurations whose label contains this.
    pub configuration: Option<String>,
    /// Fresh JVMs for each variant's doses; 6 are the fewest for an interval.
    pub rounds: u32,
    /// Time for the doses of one process, in milliseconds.
    pub dose_ms: u64,
    /// CPU time under each recording, in milliseconds.
    pub profile_ms: u64,
    /// Sampling period asked for, in milliseconds.
    pub period_ms: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { product: None, configuration: None, rounds: 6, dose_ms: 1500, profile_ms: 4000, period_ms: 10 }
    }
}

/// Product forms and carry forms of the story.
const PRODUCTS: [&str; 2] = ["straight", "loop"];
const CARRIES: [&str; 3] = ["branch", "peeled", "register"];

/// The JVMs' configurations: a label and flags.
const CONFIGURATIONS: [(&str, &[&str]); 6] = [
    ("G1", &["-XX:+UseG1GC"]),
    ("G1, DebugNonSafepoints", &["-XX:+UseG1GC", "-XX:+UnlockDiagnosticVMOptions", "-XX:+DebugNonSafepoints"]),
    ("Serial", &["-XX:+UseSerialGC"]),
    ("Serial, DebugNonSafepoints", &["-XX:+UseSerialGC", "-XX:+UnlockDiagnosticVMOptions", "-XX:+DebugNonSafepoints"]),
    (
        "Serial, UseCountedLoopSafepoints",
        &["-XX:+UseSerialGC", "-XX:+UseCountedLoopSafepoints", "-XX:LoopStripMiningIter=1000"],
    ),
    (
        "Serial, both",
        &[
            "-XX:+UseSerialGC",
            "-XX:+UseCountedLoopSafepoints",
            "-XX:LoopStripMiningIter=1000",
            "-XX:+UnlockDiagnosticVMOptions",
            "-XX:+DebugNonSafepoints",
        ],
    ),
];

/// Everything that was measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Story {
    /// The JDK.
    pub java: String,
    /// Fresh JVMs behind each fact.
    pub rounds: u32,
    /// What is known without a sampler.
    pub facts: Vec<Fact>,
    /// What each recording said.
    pub readings: Vec<Reading>,
}

/// One variant: counts, doses, time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fact {
    /// `straight` or `loop`.
    pub product: String,
    /// `branch`, `peeled` or `register`.
    pub carry: String,
    /// Products of one ladder, counted.
    pub products: u64,
    /// Carries of one ladder, counted.
    pub carries: u64,
    /// Time of one ladder.
    pub time_ns: Estimate,
    /// Share of the carry by its dose.
    pub carry_share: Estimate,
    /// Share of the product by its dose.
    pub product_share: Estimate,
    /// The step from no extra carry to one, over the step from one to the next: 1 where doses add up.
    pub first_step: f64,
    /// Time over that of the branch form with the same product, paired by round.
    pub over_branch: Option<Estimate>,
}

/// What one recording said.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reading {
    /// `straight` or `loop`.
    pub product: String,
    /// `branch` or `peeled`.
    pub carry: String,
    /// Collector and flags.
    pub configuration: String,
    /// Execution samples delivered.
    pub samples: u64,
    /// Delivered over CPU time ÷ period.
    pub delivered: f64,
    /// Share of the carry by innermost frame.
    pub carry_share: Option<Estimate>,
    /// Share of the product, likewise.
    pub product_share: Option<Estimate>,
    /// What is in neither.
    pub rest_share: Option<Estimate>,
    /// Why there is no reading.
    pub error: Option<String>,
}

/// Measures the whole story. `progress` is told what runs next and of how many steps.
///
/// # Errors
/// When a process of the JVM fails.
pub fn measure(jvm: &Jvm, settings: &Settings, progress: &mut dyn FnMut(&str, u64)) -> Result<Story, RunnerError> {
    let products: Vec<&str> =
        PRODUCTS.into_iter().filter(|p| settings.product.as_deref().is_none_or(|only| only == *p)).collect();
    let chosen = |label: &str| settings.configuration.as_deref().is_none_or(|only| label.contains(only));
    let configurations: Vec<_> = CONFIGURATIONS.into_iter().filter(|(label, _)| chosen(label)).collect();
    let variants: Vec<(&str, &str)> =
        products.iter().flat_map(|product| CARRIES.map(|carry| (*product, carry))).collect();
    let steps = (settings.rounds as usize + 1) * variants.len() + configurations.len() * products.len() * 2;
    let mut doses: Vec<Vec<Process>> = vec![Vec::new(); variants.len()];
    for round in 0..settings.rounds {
        // Each round starts elsewhere, so that no variant always runs first.
        for turn in 0..variants.len() {
            let at = (turn + round as usize) % variants.len();
            let (product, carry) = variants[at];
            progress(&format!("dose: {product} product, {carry} carry"), steps as u64);
            doses[at].push(dose(jvm, product, carry, settings, round)?);
        }
    }
    let mut facts = Vec::new();
    for (at, (product, carry)) in variants.iter().enumerate() {
        progress(&format!("count: {product} product, {carry} carry"), steps as u64);
        let branch = &doses[at - at % CARRIES.len()];
        facts.push(fact(jvm, product, carry, &doses[at], branch)?);
    }
    let mut readings = Vec::new();
    for (label, flags) in configurations {
        for product in &products {
            for carry in &CARRIES[..2] {
                progress(&format!("record: {product} product, {carry} carry, {label}"), steps as u64);
                readings.push(record(jvm, product, carry, (label, flags), settings)?);
            }
        }
    }
    Ok(Story { java: jvm.version().to_owned(), rounds: settings.rounds, facts, readings })
}

fn properties(product: &str, carry: &str) -> [String; 3] {
    ["-Dfield=16".to_owned(), format!("-Dproduct={product}"), format!("-Dcarry={carry}")]
}

/// What one process measured: ladder times by extra carries and by extra products, from none on.
#[derive(Clone)]
struct Process {
    carry: Vec<f64>,
    product: Vec<f64>,
}

fn dose(jvm: &Jvm, product: &str, carry: &str, settings: &Settings, round: u32) -> Result<Process, RunnerError> {
    let flags = properties(product, carry);
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let (most, millis, seed) = (MOST.to_string(), settings.dose_ms.to_string(), round.to_string());
    let lines = jvm.run(&flags, &["dose", "--most", &most, "--millis", &millis, "--seed", &seed])?;
    let time = |carries: u32, products: u32| {
        let found = lines.iter().find_map(|line| match line {
            Line::Dose { carry, product, cpu_ns, .. } if (*carry, *product) == (carries, products) => Some(cpu_ns),
            _ => None,
        });
        let times = sorted(found.into_iter().flatten().map(|ns| *ns as f64).collect());
        let missing = || RunnerError::Failed { what: "jvm".into(), message: "a dose has no times".into() };
        quantile(&times, QUANTILE).ok_or_else(missing)
    };
    Ok(Process {
        carry: (0..=MOST).map(|k| time(k, 0)).collect::<Result<_, _>>()?,
        product: (0..=MOST).map(|k| time(0, k)).collect::<Result<_, _>>()?,
    })
}

/// The slope over doses of one and more: the first one also pays for the loop around it.
fn slope(times: &[f64]) -> f64 {
    let points: Vec<_> = times.iter().enumerate().skip(1).map(|(k, ns)| (k as f64, *ns)).collect();
    fit::line(&points, fit::Weighting::Equal).map_or(f64::NAN, |line| line.slope.point)
}

fn over_processes(values: Vec<f64>) -> Estimate {
    order::median_estimate(&values).unwrap_or(Estimate::point(f64::NAN))
}

fn fact(jvm: &Jvm, product: &str, carry: &str, processes: &[Process], branch: &[Process]) -> Result<Fact, RunnerError> {
    let flags = properties(product, carry);
    let flags: Vec<&str> = flags.iter().map(String::as_str).chain(["-Dcounting=on"]).collect();
    let lines = jvm.run(&flags, &["count"])?;
    let counts = lines.iter().find_map(|line| match line {
        Line::Counts { product, square, carry, .. } => Some((product + square, *carry)),
        _ => None,
    });
    let (products, carries) = counts
        .filter(|(products, _)| *products > 0)
        .ok_or_else(|| RunnerError::Failed { what: "jvm".into(), message: "it counted no product".into() })?;
    // A dose is executed once at each multiplication; the ladder itself carries this often there.
    let carries_each = carries as f64 / products as f64;
    let share = |of: &dyn Fn(&Process) -> f64| over_processes(processes.iter().map(|p| of(p) / p.carry[0]).collect());
    let pairs: Vec<_> = branch.iter().zip(processes).map(|(old, new)| (old.carry[0], new.carry[0])).collect();
    let first = |p: &Process| (p.carry[1] - p.carry[0]) / slope(&p.carry);
    Ok(Fact {
        product: product.to_owned(),
        carry: carry.to_owned(),
        products,
        carries,
        time_ns: over_processes(processes.iter().map(|p| p.carry[0]).collect()),
        carry_share: share(&|p| carries_each * slope(&p.carry)),
        product_share: share(&|p| slope(&p.product)),
        first_step: over_processes(processes.iter().map(first).collect()).point,
        over_branch: if carry == "branch" { None } else { paired::compare(&pairs).map(|compared| compared.ratio) },
    })
}

fn record(
    jvm: &Jvm,
    product: &str,
    carry: &str,
    (label, flags): (&str, &[&str]),
    settings: &Settings,
) -> Result<Reading, RunnerError> {
    let properties = properties(product, carry);
    let flags: Vec<&str> = flags.iter().copied().chain(properties.iter().map(String::as_str)).collect();
    let file = jvm.folder().join("story.jfr");
    let (path, millis, period) =
        (file.to_string_lossy().into_owned(), settings.profile_ms.to_string(), settings.period_ms.to_string());
    let lines = jvm.run(&flags, &["profile", "--jfr", &path, "--millis", &millis, "--period", &period])?;
    let cpu_ns = lines.iter().find_map(|line| match line {
        Line::Profiled { cpu_ns, .. } => Some(*cpu_ns),
        _ => None,
    });
    let mut reading = Reading {
        product: product.to_owned(),
        carry: carry.to_owned(),
        configuration: label.to_owned(),
        samples: 0,
        delivered: 0.0,
        carry_share: None,
        product_share: None,
        rest_share: None,
        error: None,
    };
    let opened =
        std::fs::File::open(&file).map_err(|source| RunnerError::Io { what: format!("reading {path}"), source })?;
    match profile::read(opened, &profile::Options::default()) {
        Ok(profile) => read(&mut reading, &profile, cpu_ns.unwrap_or(0), settings.period_ms),
        Err(error) => reading.error = Some(error.to_string()),
    }
    let _ = std::fs::remove_file(&file);
    Ok(reading)
}

/// Gives each sample to the innermost frame that is the carry's or the product's.
fn read(reading: &mut Reading, profile: &Profile, cpu_ns: u64, period_ms: u64) {
    let (mut carry, mut product, mut all) = (0.0, 0.0, 0.0);
    for sample in &profile.samples {
        let Some(stack) = sample.stack else { continue };
        let frames: Vec<&str> = profile.leaf_to_root(stack).map(|id| profile.frame(id).function.as_str()).collect();
        // Other threads (the recorder's own) are not the ladder's.
        if !frames.iter().any(|name| name.contains("Ladder.multiply")) {
            continue;
        }
        let count = sample.count.unwrap_or(1) as f64;
        all += count;
        let part = frames.iter().find_map(|name| part(name));
        match part {
            Some(Part::Carry) => carry += count,
            Some(Part::Product) => product += count,
            None => {}
        }
    }
    reading.samples = all as u64;
    reading.delivered = all / (cpu_ns as f64 / 1e6 / period_ms as f64).max(1.0);
    if all > 0.0 {
        reading.carry_share = Some(proportion(carry, all));
        reading.product_share = Some(proportion(product, all));
        reading.rest_share = Some(proportion(all - carry - product, all));
    }
}

#[derive(Clone, Copy)]
enum Part {
    Carry,
    Product,
}

fn part(function: &str) -> Option<Part> {
    let has = |name: &str| function.contains(name);
    if has("Field.carry") || has("Field.settle") {
        Some(Part::Carry)
    } else if has("Straight.") || has("Field.product") {
        Some(Part::Product)
    } else {
        None
    }
}

/// A share of samples with Wilson's 95 % interval (1927), which stays within 0 and 1.
fn proportion(part: f64, all: f64) -> Estimate {
    let (p, z2) = (part / all, 1.959_964f64.powi(2));
    let centre = (p + z2 / (2.0 * all)) / (1.0 + z2 / all);
    let half = (z2 * (p * (1.0 - p) / all + z2 / (4.0 * all * all))).sqrt() / (1.0 + z2 / all);
    Estimate::with_interval(p, (centre - half).max(0.0), (centre + half).min(1.0))
}

impl Story {
    /// The fact about a variant.
    pub fn fact(&self, product: &str, carry: &str) -> Option<&Fact> {
        self.facts.iter().find(|fact| fact.product == product && fact.carry == carry)
    }

    /// What a recording said about a variant under a configuration.
    pub fn reading(&self, product: &str, carry: &str, configuration: &str) -> Option<&Reading> {
        let same = |r: &&Reading| r.product == product && r.carry == carry && r.configuration == configuration;
        self.readings.iter().find(same)
    }

    /// The readings whose share of the carry misses the dose's by more than the margin and outside both intervals.
    pub fn misled(&self, margin: f64) -> Vec<&Reading> {
        let misses = |reading: &&Reading| {
            let Some((sampled, fact)) = reading.carry_share.zip(self.fact(&reading.product, &reading.carry)) else {
                return false;
            };
            let truth = fact.carry_share;
            let apart = sampled.low.unwrap_or(sampled.point) > truth.high.unwrap_or(truth.point)
                || sampled.high.unwrap_or(sampled.point) < truth.low.unwrap_or(truth.point);
            apart && (sampled.point - truth.point).abs() > margin
        };
        self.readings.iter().filter(misses).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slope_leaves_the_first_step_out() {
        assert!((slope(&[100.0, 150.0, 160.0, 170.0]) - 10.0).abs() < 1e-9);
    }

    #[test]
    fn proportions_stay_within_zero_and_one() {
        let none = proportion(0.0, 50.0);
        assert!(none.point == 0.0 && none.low == Some(0.0) && none.high.unwrap() < 0.1);
        let half = proportion(50.0, 100.0);
        assert!((half.low.unwrap() - 0.4038).abs() < 1e-3, "{half:?}");
    }
}
