//! What a cross-check found, as data: the versioned JSON that `primitives crosscheck --json` prints and
//! that every other form of the report is made from.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::attribute::FrameWeight;
use super::budget::Budget;
use super::diagnose::Diagnosis;
use super::reference::Reference;
use super::verdict::Judgement;
use crate::profile::Note;
use crate::record::{Environment, Tool};
use crate::stats::Estimate;
use crate::warning::Warning;

/// Version of this schema.
pub const SCHEMA_VERSION: u32 = 1;

/// The JSON Schema of [`Report`].
pub const SCHEMA: &str = include_str!("../../docs/schema/crosscheck.schema.json");

/// One operation, what it is made of, and what each sampler said about it. Shares are 0 to 1 of the
/// operation's time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Report {
    /// Version of this schema.
    pub schema_version: u32,
    /// The program that wrote it.
    pub tool: Tool,
    /// The operation's name, parameter included.
    pub operation: String,
    /// Measured time of one execution, in nanoseconds of thread CPU time.
    pub time_ns: Option<Estimate>,
    /// How it was judged.
    pub method: Method,
    /// The answer in a few figures.
    pub summary: Summary,
    /// One a primitive, the largest share first.
    pub rows: Vec<Row>,
    /// What is not behind any boundary.
    pub rest: Row,
    /// One a profile, in the order given.
    pub samplers: Vec<Sampler>,
    /// The machine and the build, where known.
    pub environment: Option<Environment>,
    /// What to distrust about the explanation, each with a remedy.
    pub warnings: Vec<Warning>,
}

/// How it was judged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Method {
    /// A sampled share may be off by this much.
    pub margin: f64,
    /// Dose and replay that differ by less are taken to agree.
    pub agreement: f64,
    /// Confidence of the intervals shown.
    pub confidence: f64,
    /// Chance, by design, that a sound profile is accused of anything.
    pub false_accusations: f64,
    /// Seed of the resampling.
    pub seed: u64,
}

/// The answer in a few figures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Summary {
    /// Share of the operation that its primitives make up, by reference.
    pub explained: Option<Estimate>,
    /// The fewest primitives that make up nine tenths of that.
    pub main_primitives: usize,
    /// Their share.
    pub main_share: Option<f64>,
    /// Samplers with a verdict of over, under or blind.
    pub misleading: Vec<String>,
    /// Samplers of which every row agrees.
    pub sound: Vec<String>,
    /// Largest difference between dose and replay on any row.
    pub largest_causal_gap: Option<f64>,
    /// Rows without a reference.
    pub without_reference: usize,
    /// Rows whose reference is only the model.
    pub model_only: usize,
}

/// One primitive: every estimate of its share.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Row {
    /// The primitive's name; `rest` for what is not behind a boundary.
    pub primitive: String,
    /// Calls per operation.
    pub count: Option<f64>,
    /// Calls per operation nested in other primitives, by parent; not in `count`.
    pub nested: Vec<(String, f64)>,
    /// Cost of one call, in nanoseconds.
    pub unit_cost_ns: Option<Estimate>,
    /// Share by op count × unit cost.
    pub model: Option<Estimate>,
    /// Share by dose.
    pub dose: Option<Estimate>,
    /// Share by replay.
    pub replay: Option<Estimate>,
    /// Share by timing in place.
    pub trace: Option<Estimate>,
    /// What samplers are judged against.
    pub reference: Reference,
    /// What each sampler says, in the order of [`Report::samplers`].
    pub readings: Vec<Reading>,
    /// Whether every estimate of it is below a third of the margin.
    pub minor: bool,
}

/// What one sampler says of one primitive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Reading {
    /// The sampled share.
    pub sampled: Estimate,
    /// Independent samples that it is worth.
    pub effective_samples: Option<f64>,
    /// The share if only leaf frames counted.
    pub leaf_only: f64,
    /// The share that this sampler would have shown had it been right.
    pub corrected: f64,
    /// The verdict and what it rests on.
    #[serde(flatten)]
    pub judgement: Judgement,
}

/// One profile and what is known about how it was taken.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Sampler {
    /// Its name in the report.
    pub name: String,
    /// Format or sampler of the profile.
    pub format: String,
    /// Program that wrote it.
    pub producer: Option<String>,
    /// The weight that was judged: name and unit.
    pub weight: String,
    /// Delivered against requested samples.
    pub budget: Budget,
    /// The profile as a whole.
    pub scores: Scores,
    /// Mechanisms that explain what is wrong with it, the surest first.
    pub diagnoses: Vec<Diagnosis>,
    /// Frames that several primitives claim equally.
    pub ambiguous: Vec<FrameWeight>,
    /// The heaviest leaf frames that belong to no primitive.
    pub unmatched: Vec<FrameWeight>,
    /// Share of the profile's weight outside the operation.
    pub outside: f64,
    /// What was dropped or changed when it was read.
    pub notes: Vec<Note>,
    /// Facts of the producer.
    pub facts: BTreeMap<String, String>,
}

/// A profile scored as a whole, over the rows that have a reference and the rest.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Scores {
    /// The largest |sampled − reference|.
    pub largest_error: Option<f64>,
    /// The row that has it.
    pub largest_error_row: Option<String>,
    /// Mean |sampled − reference|.
    pub mean_absolute_error: Option<f64>,
    /// Kendall's τ-b between sampled and reference shares of the primitives; `None` for fewer than two.
    pub rank_agreement: Option<f64>,
    /// Part of the weight that was attributed to a primitive.
    pub coverage: f64,
}
