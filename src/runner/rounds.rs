//! Interleaved rounds: in each, every runtime runs once in a fresh process, in random order.

use std::collections::BTreeMap;

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

use super::browser::Browser;
use super::jvm::Jvm;
use super::node::Node;
use super::{Line, Plan, RunnerError, native};
use crate::harness::environment;
use crate::primitive::shared;
use crate::record::{Record, Row, SCHEMA_VERSION, Variant};
use crate::stats::resample::shuffle;
use crate::workload::Kind;

/// The pure-Java field variants: flags of the JVM.
pub const FIELDS: [&[&str]; 6] = [
    &["-Dfield=16", "-Dproduct=loop", "-Dcarry=branch", "-Dmemory=allocating"],
    &["-Dfield=16", "-Dproduct=loop", "-Dcarry=branch"],
    &["-Dfield=16", "-Dproduct=straight", "-Dcarry=peeled"],
    &["-Dfield=16", "-Dproduct=loop", "-Dcarry=branch", "-Dsquare=symmetric"],
    &["-Dfield=10", "-Dsquare=symmetric", "-Dmemory=allocating"],
    &["-Dfield=10", "-Dsquare=symmetric"],
];

/// The rows that the pure-Java ladder computes.
const LADDER: &str = "x25519_dh";

/// The runtimes of this machine.
#[derive(Debug)]
pub struct Runtimes {
    jvm: Option<Jvm>,
    node: Option<Node>,
    browser: Option<Browser>,
    /// Those that cannot run: which, what is missing, what to install.
    pub missing: Vec<Missing>,
}

/// A runtime that did not run.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Missing {
    /// `jvm`, `node`, `browser`.
    pub runtime: String,
    /// What is missing.
    pub what: String,
    /// What to do about it.
    pub install: String,
}

/// What to run, and how often.
#[derive(Clone, Debug)]
pub struct Rounds {
    /// The rows.
    pub plan: Plan,
    /// Rounds; 6 are the fewest for an interval.
    pub rounds: u32,
    /// Whether the pure-Java field variants run too.
    pub fields: Fields,
    /// Seed of the orders.
    pub order_seed: u64,
}

/// Whether the pure-Java field variants run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fields {
    /// All of [`FIELDS`].
    All,
    /// None.
    None,
}

#[derive(Clone, Copy)]
enum Job {
    Native,
    Jvm,
    Field(usize),
    Node,
    Browser,
}

impl Runtimes {
    /// Looks for the runtimes named (`jvm`, `node`, `browser`).
    pub fn find(names: &[String]) -> Self {
        let mut missing = Vec::new();
        let mut note = |runtime: &str, error: &RunnerError| {
            let (what, install) = match error {
                RunnerError::Missing { what, install } => (what.clone(), install.clone()),
                other => (other.to_string(), "see the message".to_owned()),
            };
            missing.push(Missing { runtime: runtime.to_owned(), what, install });
        };
        let wanted = |name: &str| names.iter().any(|wanted| wanted == name);
        let jvm = wanted("jvm").then(Jvm::find).and_then(|found| found.map_err(|error| note("jvm", &error)).ok());
        let node = wanted("node").then(Node::find).and_then(|found| found.map_err(|error| note("node", &error)).ok());
        let browser =
            wanted("browser").then(Browser::find).and_then(|found| found.map_err(|error| note("browser", &error)).ok());
        Self { jvm, node, browser, missing }
    }

    /// Runs all rounds. `native` are the arguments that make this program print the native lines;
    /// `progress` is told what runs next. A runtime whose process fails is left out from then on and
    /// becomes one of those missing.
    ///
    /// # Errors
    /// Only when the native side fails: without it there is nothing to compare with.
    pub fn run(
        &mut self,
        rounds: &Rounds,
        native_arguments: &dyn Fn(u64) -> Vec<String>,
        progress: &mut dyn FnMut(u32, &str),
    ) -> Result<Record, RunnerError> {
        let mut random = ChaCha8Rng::seed_from_u64(rounds.order_seed);
        let mut collected = Collected::new(&rounds.plan);
        for round in 0..rounds.rounds {
            let mut jobs = vec![Job::Native, Job::Jvm, Job::Node, Job::Browser];
            if rounds.fields == Fields::All && rounds.plan.names.iter().any(|name| name == LADDER) {
                jobs.extend((0..FIELDS.len()).map(Job::Field));
            }
            shuffle(&mut random, &mut jobs);
            for job in jobs {
                let seed = random.next_u64() >> 1;
                let (name, lines) = match job {
                    Job::Native => {
                        progress(round, "native");
                        collected.add("native", round, native::measure(&native_arguments(seed))?);
                        continue;
                    }
                    Job::Jvm | Job::Field(_) => {
                        let Some(jvm) = &self.jvm else { continue };
                        progress(round, "jvm");
                        let ladder = Plan { names: vec![LADDER.to_owned()], ..rounds.plan.clone() };
                        (
                            "jvm",
                            match job {
                                Job::Field(at) => jvm.time(FIELDS[at], &ladder, seed),
                                _ => jvm.time(&[], &rounds.plan, seed),
                            },
                        )
                    }
                    Job::Node => {
                        let Some(node) = &self.node else { continue };
                        progress(round, "node");
                        ("node", node.time(&rounds.plan))
                    }
                    Job::Browser => {
                        let Some(browser) = &self.browser else { continue };
                        progress(round, "browser");
                        ("browser", browser.time(&rounds.plan))
                    }
                };
                match lines {
                    Ok(lines) => collected.add(name, round, lines),
                    Err(error) => self.lose(name, &error),
                }
            }
        }
        Ok(self.record(rounds, collected))
    }

    fn lose(&mut self, runtime: &str, error: &RunnerError) {
        match runtime {
            "jvm" => self.jvm = None,
            "node" => self.node = None,
            _ => self.browser = None,
        }
        self.missing.push(Missing {
            runtime: runtime.to_owned(),
            what: error.to_string(),
            install: "run it alone to see more".to_owned(),
        });
    }

    fn record(&self, rounds: &Rounds, collected: Collected) -> Record {
        let mut environment = environment::capture();
        environment.facts.extend(collected.facts);
        let versions = [
            ("jvm", self.jvm.as_ref().map(Jvm::version)),
            ("node", self.node.as_ref().map(Node::version)),
            ("browser", self.browser.as_ref().map(Browser::version)),
        ];
        for (runtime, version) in versions {
            if let Some(version) = version {
                environment.facts.insert(format!("{runtime}.version"), version.to_owned());
            }
        }
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        Record {
            schema_version: SCHEMA_VERSION,
            tool: environment::tool(),
            started_at: now.as_secs(),
            environment,
            clocks: Vec::new(),
            seed: rounds.plan.seed.into(),
            rows: collected.rows.into_values().collect(),
            warnings: Vec::new(),
        }
    }
}

/// Rows by place of the workload, runtime and implementation.
struct Collected {
    names: Vec<String>,
    expected: BTreeMap<String, String>,
    rows: BTreeMap<(usize, String, String), Row>,
    facts: BTreeMap<String, String>,
}

impl Collected {
    fn new(plan: &Plan) -> Self {
        let expected = plan.names.iter().filter_map(|name| {
            let cases = shared::cases(name, plan.seed.into())?;
            let digest = shared::digest(cases.iter().map(|case| case.output.as_slice()));
            Some((name.clone(), format!("{:016x}", digest.0)))
        });
        Self { names: plan.names.clone(), expected: expected.collect(), rows: BTreeMap::new(), facts: BTreeMap::new() }
    }

    fn add(&mut self, process: &str, round: u32, lines: Vec<Line>) {
        let full = |runtime: &str| if runtime.is_empty() { process.to_owned() } else { format!("{process}-{runtime}") };
        let mut position = 0;
        for line in lines {
            match line {
                Line::Start { facts, .. } => {
                    for (key, value) in facts {
                        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                        self.facts.insert(format!("{process}.{key}"), value);
                    }
                }
                Line::Row(timed) => {
                    // Agreement before time: other outputs are another computation, whatever its time.
                    let agrees = self.expected.get(&timed.name).is_none_or(|expected| *expected == timed.outputs);
                    let row = self.row(&timed.name, &full(&timed.runtime), &timed.implementation);
                    if agrees {
                        row.processes.push(timed.measurement(round, position));
                        position += 1;
                    } else {
                        row.error = Some("its outputs differ from the native ones on the same inputs".to_owned());
                    }
                }
                Line::Error { name, runtime, message } if !name.is_empty() => {
                    self.row(&name, &full(&runtime), "").error = Some(message);
                }
                Line::Skip { .. } | Line::Error { .. } | Line::End => {}
                Line::Checked { .. } | Line::Counts { .. } | Line::Dose { .. } | Line::Profiled { .. } => {}
            }
        }
    }

    fn row(&mut self, name: &str, runtime: &str, implementation: &str) -> &mut Row {
        let place = self.names.iter().position(|other| other == name).unwrap_or(usize::MAX);
        let key = (place, runtime.to_owned(), implementation.to_owned());
        self.rows.entry(key).or_insert_with(|| Row {
            name: name.to_owned(),
            family: name.split(['/', '_']).next().unwrap_or(name).to_owned(),
            kind: Kind::Primitive,
            parameter: name.rsplit('/').next().and_then(|last| last.parse().ok()),
            variant: Variant::Throughput,
            runtime: runtime.to_owned(),
            implementation: implementation.to_owned(),
            processes: Vec::new(),
            error: None,
        })
    }
}
