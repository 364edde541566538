//! Profiles read, drawn and judged in the page.

use serde::Serialize;
use wasm_bindgen::prelude::*;

use super::{error, json};
use crate::crosscheck::explanation::{Explanation, FramePattern};
use crate::crosscheck::judge::{self, judge};
use crate::import::profile::{Options, read};
use crate::profile::{Profile, StackId};

/// Functions in the table of self and total.
const TOP: usize = 100;

/// Narrower boxes than this part of the whole cannot be seen.
const NARROWEST: f64 = 0.0005;

/// A profile that was read.
#[wasm_bindgen]
pub struct ReadProfile {
    profile: Profile,
}

#[derive(Serialize)]
struct About<'a> {
    format: &'a str,
    producer: Option<&'a str>,
    samples: usize,
    stacks: usize,
    threads: &'a [String],
    weights: Vec<Weight<'a>>,
    default_weight: usize,
    notes: &'a [crate::profile::Note],
}

#[derive(Serialize)]
struct Weight<'a> {
    name: &'a str,
    unit: &'a str,
    total: f64,
}

#[derive(Serialize)]
struct Top {
    function: String,
    own: f64,
    total: f64,
}

#[derive(Serialize)]
struct Node<'a> {
    name: &'a str,
    value: f64,
    children: Vec<Node<'a>>,
}

#[wasm_bindgen]
impl ReadProfile {
    /// Reads a profile in any form that the importer knows, judged by its content.
    #[wasm_bindgen(constructor)]
    pub fn new(bytes: &[u8]) -> Result<ReadProfile, JsError> {
        Ok(Self { profile: read(bytes, &Options::default()).map_err(error)? })
    }

    /// What it is, as JSON.
    pub fn about(&self) -> Result<String, JsError> {
        let profile = &self.profile;
        json(&About {
            format: &profile.provenance.format,
            producer: profile.provenance.producer.as_deref(),
            samples: profile.samples.len(),
            stacks: profile.stacks.len(),
            threads: &profile.threads,
            weights: profile
                .weight_types
                .iter()
                .enumerate()
                .map(|(at, w)| Weight { name: &w.name, unit: &w.unit, total: profile.total(at) })
                .collect(),
            default_weight: profile.default_weight,
            notes: &profile.notes,
        })
    }

    /// The functions with the largest own and total weight, as a JSON array of `{function, own, total}`.
    pub fn top(&self, weight: usize) -> Result<String, JsError> {
        let mut all: Vec<Top> = self
            .profile
            .by(weight, |frame| frame.function.clone())
            .into_iter()
            .map(|(function, sums)| Top { function, own: sums.self_weight, total: sums.total_weight })
            .collect();
        all.sort_by(|a, b| b.own.total_cmp(&a.own).then(b.total.total_cmp(&a.total)));
        all.truncate(TOP);
        json(&all)
    }

    /// The call tree as JSON `{name, value, children}`; boxes too narrow to be seen are left out.
    pub fn tree(&self, weight: usize) -> Result<String, JsError> {
        let profile = &self.profile;
        let mut totals = vec![0.0; profile.stacks.len()];
        let mut all = 0.0;
        for sample in &profile.samples {
            if let (Some(stack), Some(value)) = (sample.stack, sample.weights.get(weight)) {
                totals[stack.0 as usize] += value;
                all += value;
            }
        }
        let mut children: Vec<Vec<StackId>> = vec![Vec::new(); profile.stacks.len()];
        let mut roots = Vec::new();
        // A parent comes before its children, so from the back each total is complete when it is passed on.
        for at in (0..profile.stacks.len()).rev() {
            let id = StackId(at as u32);
            match profile.stacks[at].parent {
                Some(parent) => {
                    totals[parent.0 as usize] += totals[at];
                    children[parent.0 as usize].push(id);
                }
                None => roots.push(id),
            }
        }
        let tree = Tree { profile, totals: &totals, children: &children, least: all * NARROWEST };
        json(&Node { name: "all", value: all, children: tree.nodes(&roots, 0) })
    }

    /// Holds the profile against an explanation (JSON, as `primitives explain --json` prints it) and
    /// returns the cross-check's report as JSON. With a `scope`, only stacks count that hold one of these
    /// functions.
    pub fn judge(&self, name: &str, explanation: &str, scope: Vec<String>) -> Result<String, JsError> {
        let explanation: Explanation = serde_json::from_str(explanation).map_err(error)?;
        let scope = scope.into_iter().map(FramePattern::Exact).collect();
        let options = judge::Options { scope, ..judge::Options::default() };
        let judged = judge(&explanation, &[(name.to_owned(), &self.profile)], &options);
        json(&judged.map_err(error)?.report)
    }
}

struct Tree<'a> {
    profile: &'a Profile,
    totals: &'a [f64],
    children: &'a [Vec<StackId>],
    least: f64,
}

/// Deeper stacks are cut: the drawing recurses.
const DEEPEST: usize = 256;

impl<'a> Tree<'a> {
    fn nodes(&self, stacks: &[StackId], depth: usize) -> Vec<Node<'a>> {
        if depth == DEEPEST {
            return Vec::new();
        }
        let mut nodes: Vec<Node> = Vec::new();
        for stack in stacks {
            let at = stack.0 as usize;
            if self.totals[at] < self.least || self.totals[at] <= 0.0 {
                continue;
            }
            let name = self.profile.frame(self.profile.stacks[at].frame).function.as_str();
            nodes.push(Node { name, value: self.totals[at], children: self.nodes(&self.children[at], depth + 1) });
        }
        nodes.sort_by(|a, b| b.value.total_cmp(&a.value));
        nodes
    }
}
