//! The call tree of a profile with each node's owner and verdict, and the tree that the profile would
//! have shown had it been right.

use std::collections::HashMap;

use super::attribute::{Attribution, Owner, ratio};
use super::explanation::Explanation;
use super::report::Report;
use super::verdict::Verdict;
use crate::profile::{Builder, Frame, FrameKind, Profile, StackId, StackSample, WeightType};

/// Nodes that hold less than this share are left out; their parents are wider than their children.
const SMALLEST: f64 = 0.001;
/// Deeper frames are left out.
const DEEPEST: usize = 200;

/// A call tree, ready to draw.
#[derive(Clone, Debug, Default)]
pub struct Flame {
    /// The name of the profile.
    pub name: String,
    /// Nodes, a parent before its children; the first is the whole.
    pub nodes: Vec<Node>,
    /// Depth of the deepest node; the whole has depth 0.
    pub depth: usize,
    /// Nodes that are not listed because they are too small or too deep.
    pub left_out: usize,
}

/// One function in one calling context.
#[derive(Clone, Debug)]
pub struct Node {
    /// Function name.
    pub name: String,
    /// Index of the caller.
    pub parent: Option<usize>,
    /// Distance from the whole.
    pub depth: usize,
    /// Left end, as a share of the whole.
    pub start: f64,
    /// Left end where widths are corrected shares.
    pub corrected_start: f64,
    /// Sampled share of the whole.
    pub share: f64,
    /// The share that it would have had if its primitive's share were the reference.
    pub corrected: f64,
    /// The primitive that it belongs to.
    pub primitive: Option<String>,
    /// The verdict on that primitive, or on the rest.
    pub verdict: Option<Verdict>,
}

/// The verdict and the correction of each part of an attribution.
struct Parts<'a> {
    names: Vec<&'a str>,
    verdicts: Vec<Option<Verdict>>,
    /// Corrected ÷ sampled.
    factors: Vec<f64>,
    corrected: Vec<f64>,
}

impl<'a> Parts<'a> {
    fn new(explanation: &'a Explanation, attribution: &Attribution, report: &'a Report, sampler: usize) -> Self {
        let names: Vec<&str> =
            explanation.primitives.iter().map(|primitive| primitive.primitive.as_str()).chain(["rest"]).collect();
        let reading = |part: usize| {
            let row = if part + 1 == names.len() {
                Some(&report.rest)
            } else {
                report.rows.iter().find(|row| row.primitive == names[part])
            };
            row.and_then(|row| row.readings.get(sampler))
        };
        let verdicts = (0..names.len()).map(|part| reading(part).map(|reading| reading.judgement.verdict)).collect();
        let corrected: Vec<f64> =
            (0..names.len()).map(|part| reading(part).map_or(0.0, |reading| reading.corrected)).collect();
        let factors = (0..names.len()).map(|part| ratio(corrected[part], attribution.share(part))).collect();
        Self { verdicts, factors, corrected, names }
    }

    fn index(&self, owner: Owner) -> Option<usize> {
        match owner {
            Owner::Primitive(part) => Some(part),
            Owner::Rest => Some(self.names.len() - 1),
            Owner::Outside => None,
        }
    }
}

/// The call tree of what is in scope, coloured by verdict.
pub fn flame(
    profile: &Profile,
    attribution: &Attribution,
    explanation: &Explanation,
    report: &Report,
    sampler: usize,
) -> Flame {
    let parts = Parts::new(explanation, attribution, report, sampler);
    let rest = parts.names.len() - 1;
    let mut tree = Tree { nodes: vec![Weighted::new("all", None, rest)], children: HashMap::new() };
    for sample in &profile.samples {
        let weight = sample.weights.get(attribution.weight).copied().unwrap_or(0.0);
        let owner = sample.stack.map_or(Owner::Rest, |stack| attribution.owners[stack.0 as usize]);
        let Some(part) = parts.index(owner) else { continue };
        let (share, corrected) = (weight / attribution.total, weight / attribution.total * parts.factors[part]);
        tree.add(0, share, corrected);
        let Some(stack) = sample.stack else { continue };
        let mut at = 0;
        for stack in ancestry(profile, stack).into_iter().take(DEEPEST) {
            let entry = profile.stack(stack);
            let part = parts.index(attribution.owners[stack.0 as usize]).unwrap_or(rest);
            at = tree.child(at, &profile.frame(entry.frame).function, part);
            tree.add(at, share, corrected);
        }
    }
    // What was not sampled at all has no node to widen: it gets one.
    for part in 0..rest {
        if attribution.parts[part].weight == 0.0 && parts.corrected[part] > SMALLEST {
            let node = tree.child(0, &format!("[{}: not sampled]", parts.names[part]), part);
            tree.add(node, 0.0, parts.corrected[part]);
            tree.add(0, 0.0, parts.corrected[part]);
        }
    }
    laid_out(tree, &parts, &report.samplers[sampler].name)
}

/// The stacks from root to leaf that end in this one.
fn ancestry(profile: &Profile, stack: StackId) -> Vec<StackId> {
    let mut stacks: Vec<_> = std::iter::successors(Some(stack), |id| profile.stack(*id).parent).collect();
    stacks.reverse();
    stacks
}

struct Weighted {
    name: String,
    parent: Option<usize>,
    part: usize,
    share: f64,
    corrected: f64,
}

impl Weighted {
    fn new(name: &str, parent: Option<usize>, part: usize) -> Self {
        Self { name: name.to_owned(), parent, part, share: 0.0, corrected: 0.0 }
    }
}

struct Tree {
    nodes: Vec<Weighted>,
    children: HashMap<(usize, String, usize), usize>,
}

impl Tree {
    fn child(&mut self, parent: usize, name: &str, part: usize) -> usize {
        *self.children.entry((parent, name.to_owned(), part)).or_insert_with(|| {
            self.nodes.push(Weighted::new(name, Some(parent), part));
            self.nodes.len() - 1
        })
    }

    fn add(&mut self, node: usize, share: f64, corrected: f64) {
        self.nodes[node].share += share;
        self.nodes[node].corrected += corrected;
    }
}

/// Children side by side in order of name, below their parent; a node with room for none is left out.
fn laid_out(tree: Tree, parts: &Parts, name: &str) -> Flame {
    let mut below: Vec<Vec<usize>> = vec![Vec::new(); tree.nodes.len()];
    for (index, node) in tree.nodes.iter().enumerate() {
        if let Some(parent) = node.parent {
            below[parent].push(index);
        }
    }
    for children in &mut below {
        children.sort_by(|a, b| tree.nodes[*a].name.cmp(&tree.nodes[*b].name));
    }
    let mut flame = Flame { name: name.to_owned(), ..Flame::default() };
    let mut queue = vec![(0usize, None, 0usize, 0.0f64, 0.0f64)];
    while let Some((index, parent, depth, start, corrected_start)) = queue.pop() {
        let node = &tree.nodes[index];
        let rest = parts.names.len() - 1;
        let place = flame.nodes.len();
        flame.depth = flame.depth.max(depth);
        flame.nodes.push(Node {
            name: node.name.clone(),
            parent,
            depth,
            start,
            corrected_start,
            share: node.share,
            corrected: node.corrected,
            primitive: (node.part != rest).then(|| parts.names[node.part].to_owned()),
            verdict: parts.verdicts[node.part],
        });
        let (mut at, mut corrected_at) = (start, corrected_start);
        for child in &below[index] {
            let Weighted { share, corrected, .. } = tree.nodes[*child];
            if share >= SMALLEST || corrected >= SMALLEST {
                queue.push((*child, Some(place), depth + 1, at, corrected_at));
            } else {
                flame.left_out += 1;
            }
            at += share;
            corrected_at += corrected;
        }
    }
    flame
}

/// The profile with two weights, `sampled` and `corrected`, in shares of the operation: what it shows and
/// what it would have shown had each primitive its reference share. Stacks end at their primitive: what is
/// below it is off by the same factor. Primitives that were not sampled at all stand in a stack of their own.
pub fn corrected(
    profile: &Profile,
    attribution: &Attribution,
    explanation: &Explanation,
    report: &Report,
    sampler: usize,
) -> Profile {
    let parts = Parts::new(explanation, attribution, report, sampler);
    let weight = |name: &str| WeightType { name: name.into(), unit: "share".into() };
    let mut builder = Builder::new(vec![weight("sampled"), weight("corrected")]);
    for sample in &profile.samples {
        let owner = sample.stack.map_or(Owner::Rest, |stack| attribution.owners[stack.0 as usize]);
        let Some(part) = parts.index(owner) else { continue };
        let stack = sample.stack.map(|stack| at_the_primitive(profile, attribution, stack));
        let frames: Vec<_> = stack.map_or_else(Vec::new, |stack| profile.root_to_leaf(stack));
        let frames: Vec<_> = frames.into_iter().map(|frame| builder.frame(profile.frame(frame).clone())).collect();
        let stack = builder.stack_of(frames);
        let share = sample.weights.get(attribution.weight).copied().unwrap_or(0.0) / attribution.total;
        builder.sample(StackSample {
            stack,
            thread: None,
            time_ns: sample.time_ns,
            count: sample.count,
            weights: vec![share, share * parts.factors[part]],
        });
    }
    for part in 0..parts.names.len() {
        if attribution.parts[part].weight == 0.0 && parts.corrected[part] > 0.0 {
            let function = format!("[{}: not sampled]", parts.names[part]);
            let frame = builder.frame(Frame { function, kind: FrameKind::Synthetic, ..Frame::default() });
            let stack = builder.stack_of([frame]);
            let weights = vec![0.0, parts.corrected[part]];
            builder.sample(StackSample { stack, thread: None, time_ns: None, count: Some(0), weights });
        }
    }
    *builder.provenance() = profile.provenance.clone();
    builder.finish()
}

/// The stack up to the frame of the primitive that it belongs to; the whole stack where that is the rest.
fn at_the_primitive(profile: &Profile, attribution: &Attribution, stack: StackId) -> StackId {
    let owns = |stack: &StackId| matches!(attribution.owners[stack.0 as usize], Owner::Primitive(_));
    ancestry(profile, stack).into_iter().find(owns).unwrap_or(stack)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crosscheck::judge::{Options, judge};
    use crate::crosscheck::testing::{explanation, folded};

    fn judged() -> (Explanation, Profile, crate::crosscheck::judge::Judged) {
        let known = explanation(&[("a", 0.5), ("b", 0.3)]);
        let profile = folded("main;a;inner 6000\nmain;a 2000\nmain 2000\n");
        let judged = judge(&known, &[("s".into(), &profile)], &Options::default()).unwrap();
        (known, profile, judged)
    }

    #[test]
    fn correction_gives_each_primitive_its_reference() {
        let (known, profile, judged) = judged();
        let right = corrected(&profile, &judged.attributions[0], &known, &judged.report, 0);
        assert!((right.total(0) - 1.0).abs() < 1e-9 && (right.total(1) - 1.0).abs() < 1e-9);
        let by = right.by(1, |frame| frame.function.clone());
        assert!((by["a"].total_weight - 0.5).abs() < 1e-9);
        assert!((by["a"].self_weight - 0.5).abs() < 1e-9 && !by.contains_key("inner"), "stacks end at the primitive");
        assert!((by["[b: not sampled]"].total_weight - 0.3).abs() < 1e-9);
    }

    #[test]
    fn nodes_carry_the_verdict_of_their_primitive() {
        let (known, profile, judged) = judged();
        let flame = flame(&profile, &judged.attributions[0], &known, &judged.report, 0);
        let node = |name: &str| flame.nodes.iter().find(|node| node.name == name).unwrap();
        assert_eq!(node("inner").verdict, Some(Verdict::Over));
        assert_eq!(node("[b: not sampled]").verdict, Some(Verdict::Blind));
        assert!((node("all").share - 1.0).abs() < 1e-9 && (node("all").corrected - 1.0).abs() < 1e-9);
        for node in flame.nodes.iter().filter(|node| node.parent.is_some()) {
            let parent = &flame.nodes[node.parent.unwrap()];
            assert!(node.start >= parent.start - 1e-9);
            assert!(node.start + node.share <= parent.start + parent.share + 1e-9);
        }
    }
}
