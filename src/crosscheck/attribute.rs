//! Attribution: each stack sample to the primitive whose frame is outermost on its stack.
//!
//! Outermost, because op counts are of calls that are not nested in another primitive; so a hash that a
//! signature makes belongs to the signature in both. Recursion counts once for the same reason.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::explanation::Explained;
use super::explanation::FramePattern;
use super::pattern::{Claims, Matcher, PatternError};
use crate::profile::{Frame, FrameId, FrameKind, Profile, StackId};

/// Where a stack belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// To the primitive of this index.
    Primitive(usize),
    /// To none: work that is not behind a boundary.
    Rest,
    /// Not part of the operation, or idle: not in the denominator.
    Outside,
}

/// The weight that one primitive (or the rest) received.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Part {
    /// Weight of the stacks in which its frame is the outermost primitive.
    pub weight: f64,
    /// Weight of the stacks whose leaf frame is its own, as if there were no callers.
    pub leaf_weight: f64,
    /// Weight of stacks in which it stands under another primitive.
    pub nested_weight: f64,
    /// Weight that an equally exact pattern of another primitive claims too.
    pub ambiguous_weight: f64,
}

/// One sample as the intervals need it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Draw {
    /// When it was taken, where known.
    pub time_ns: Option<u64>,
    /// Part index: a primitive's, or the number of primitives for the rest.
    pub part: usize,
    /// Its weight.
    pub weight: f64,
    /// How many samples it stands for, where known.
    pub count: Option<u64>,
}

/// A frame and the weight that it brings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FrameWeight {
    /// The function's name as the profile has it.
    pub function: String,
    /// Its module, where known.
    pub module: Option<String>,
    /// Part of the operation's sampled weight.
    pub share: f64,
    /// The primitives whose patterns claim it; empty where none does.
    pub claimed_by: Vec<String>,
}

/// A profile's weight divided among primitives.
#[derive(Clone, Debug)]
pub struct Attribution {
    /// One a primitive, in the order of the explanation; the last is the rest.
    pub parts: Vec<Part>,
    /// The weight that shares are of: everything in scope.
    pub total: f64,
    /// Weight outside the scope, idle time included.
    pub outside: f64,
    /// Weight of samples in scope that have no stack.
    pub without_stack: f64,
    /// For each frame of the profile, the primitives whose patterns claim it.
    pub claimed: Vec<Vec<usize>>,
    /// Who owns each stack of the profile.
    pub owners: Vec<Owner>,
    /// The samples in scope, in the profile's order.
    pub draws: Vec<Draw>,
    /// Frames claimed by several primitives with equally exact patterns, heaviest first. They went to the
    /// primitive listed first.
    pub ambiguous: Vec<FrameWeight>,
    /// Leaf frames of stacks that belong to no primitive, heaviest first, at most
    /// [`Attribution::UNMATCHED`].
    pub unmatched: Vec<FrameWeight>,
    /// The weight type that was used.
    pub weight: usize,
}

impl Attribution {
    /// How many unmatched frames are listed.
    pub const UNMATCHED: usize = 12;

    /// Divides the weight of index `weight` among the primitives. With a `scope`, only stacks that contain
    /// a frame matching one of its patterns count.
    pub fn new(
        profile: &Profile,
        weight: usize,
        primitives: &[Explained],
        scope: &[FramePattern],
    ) -> Result<Self, PatternError> {
        let claims = Claims::new(primitives)?;
        let scope =
            scope.iter().map(|pattern| Matcher::new("scope", pattern)).collect::<Result<Vec<_>, PatternError>>()?;
        let claimed: Vec<Vec<usize>> = profile.frames.iter().map(|frame| claims.on(frame)).collect();
        let in_scope: Vec<bool> =
            profile.frames.iter().map(|frame| scope.iter().any(|matcher| matcher.matches(frame))).collect();
        let places = places(profile, &claimed, &in_scope, scope.is_empty());
        Ok(Self::sum(profile, weight, primitives, claimed, places))
    }

    fn sum(
        profile: &Profile,
        weight: usize,
        primitives: &[Explained],
        claimed: Vec<Vec<usize>>,
        places: Vec<Place>,
    ) -> Self {
        let rest = primitives.len();
        let mut parts = vec![Part::default(); rest + 1];
        let mut draws = Vec::with_capacity(profile.samples.len());
        let (mut total, mut outside, mut without_stack) = (0.0, 0.0, 0.0);
        let mut ambiguous: FxHashMap<FrameId, f64> = FxHashMap::default();
        let mut unmatched: FxHashMap<FrameId, f64> = FxHashMap::default();
        for sample in &profile.samples {
            let value = sample.weights.get(weight).copied().unwrap_or(0.0);
            let place = sample.stack.map_or(Place::NOWHERE, |id| places[id.0 as usize]);
            if place.owner == Owner::Outside {
                outside += value;
                continue;
            }
            total += value;
            let part = if let Owner::Primitive(index) = place.owner { index } else { rest };
            parts[part].weight += value;
            draws.push(Draw { time_ns: sample.time_ns, part, weight: value, count: sample.count });
            let Some(stack) = sample.stack else {
                without_stack += value;
                continue;
            };
            let leaf = profile.stack(stack).frame;
            let leaf_part = claimed[leaf.0 as usize].first().copied().unwrap_or(rest);
            parts[leaf_part].leaf_weight += value;
            if part == rest {
                *unmatched.entry(leaf).or_default() += value;
            }
            if let Some(frame) = place.ambiguous {
                *ambiguous.entry(frame).or_default() += value;
                for index in &claimed[frame.0 as usize] {
                    parts[*index].ambiguous_weight += value;
                }
            }
            for index in nested(profile, stack, &claimed, part) {
                parts[index].nested_weight += value;
            }
        }
        let list = |weights: FxHashMap<FrameId, f64>| heaviest(profile, weights, total, &claimed, primitives);
        let (ambiguous, mut unmatched) = (list(ambiguous), list(unmatched));
        unmatched.truncate(Self::UNMATCHED);
        Self {
            parts,
            total,
            outside,
            without_stack,
            claimed,
            owners: places.iter().map(|place| place.owner).collect(),
            draws,
            ambiguous,
            unmatched,
            weight,
        }
    }

    /// The sampled share of a part: a primitive's index, or the last for the rest.
    pub fn share(&self, part: usize) -> f64 {
        ratio(self.parts[part].weight, self.total)
    }

    /// Whether a primitive claims any frame of the profile.
    pub fn claims(&self, primitive: usize) -> bool {
        self.claimed.iter().any(|claims| claims.contains(&primitive))
    }

    /// The part of the weight in scope that was attributed to a primitive.
    pub fn coverage(&self) -> f64 {
        1.0 - self.share(self.parts.len() - 1)
    }
}

/// `part ÷ whole`; 0 where there is nothing.
pub(super) fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

#[derive(Clone, Copy)]
struct Place {
    owner: Owner,
    ambiguous: Option<FrameId>,
}

impl Place {
    /// A sample without a stack: time of the operation that belongs to nobody.
    const NOWHERE: Self = Self { owner: Owner::Rest, ambiguous: None };
}

/// A parent comes before its children, so one pass settles every stack.
fn places(profile: &Profile, claimed: &[Vec<usize>], in_scope: &[bool], whole: bool) -> Vec<Place> {
    let mut places: Vec<Place> = Vec::with_capacity(profile.stacks.len());
    let outside = Place { owner: Owner::Outside, ambiguous: None };
    for stack in &profile.stacks {
        let parent = stack.parent.map(|id| places[id.0 as usize]);
        let frame = stack.frame.0 as usize;
        let before = parent.unwrap_or(if whole { Place::NOWHERE } else { outside });
        let entered = if before.owner == Owner::Outside && in_scope[frame] { Place::NOWHERE } else { before };
        let place = match (entered.owner, claimed[frame].as_slice()) {
            _ if is_idle(&profile.frames[frame]) => outside,
            (Owner::Rest, []) | (Owner::Primitive(_) | Owner::Outside, _) => entered,
            (Owner::Rest, [only]) => Place { owner: Owner::Primitive(*only), ambiguous: None },
            (Owner::Rest, [first, ..]) => Place { owner: Owner::Primitive(*first), ambiguous: Some(stack.frame) },
        };
        places.push(place);
    }
    places
}

fn is_idle(frame: &Frame) -> bool {
    frame.kind == FrameKind::Synthetic && matches!(frame.function.as_str(), "(idle)" | "[idle]" | "idle")
}

/// The primitives on a stack other than its owner, each once.
fn nested(profile: &Profile, stack: StackId, claimed: &[Vec<usize>], owner: usize) -> Vec<usize> {
    let mut found = Vec::new();
    for frame in profile.leaf_to_root(stack) {
        if let Some(index) = claimed[frame.0 as usize].first().copied()
            && index != owner
            && !found.contains(&index)
        {
            found.push(index);
        }
    }
    found
}

fn heaviest(
    profile: &Profile,
    weights: FxHashMap<FrameId, f64>,
    total: f64,
    claimed: &[Vec<usize>],
    primitives: &[Explained],
) -> Vec<FrameWeight> {
    let mut merged: FxHashMap<(&str, Option<&str>), (f64, FrameId)> = FxHashMap::default();
    for (id, weight) in weights {
        let frame = profile.frame(id);
        merged.entry((&frame.function, frame.module.as_deref())).or_insert((0.0, id)).0 += weight;
    }
    let mut list: Vec<FrameWeight> = merged
        .into_iter()
        .map(|((function, module), (weight, id))| FrameWeight {
            function: function.to_owned(),
            module: module.map(str::to_owned),
            share: ratio(weight, total),
            claimed_by: claimed[id.0 as usize].iter().map(|index| primitives[*index].primitive.clone()).collect(),
        })
        .collect();
    list.sort_by(|a, b| b.share.total_cmp(&a.share).then_with(|| a.function.cmp(&b.function)));
    list
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crosscheck::testing::{folded, primitive};

    #[test]
    fn the_outermost_primitive_wins_and_recursion_counts_once() {
        let profile = folded("main;sign;hash;hash 6\nmain;hash 2\nmain;sign;sign 1\nmain 1\n");
        let found = Attribution::new(&profile, 0, &[primitive("sign"), primitive("hash")], &[]).unwrap();
        assert_eq!(found.total, 10.0);
        assert_eq!((found.share(0), found.share(1), found.share(2)), (0.7, 0.2, 0.1));
        assert!((found.coverage() - 0.9).abs() < 1e-12);
        assert_eq!(found.parts[1].leaf_weight, 8.0);
        assert_eq!(found.parts[1].nested_weight, 6.0);
        assert_eq!(found.unmatched[0].function, "main");
    }

    #[test]
    fn a_scope_leaves_the_rest_of_the_program_out_of_the_denominator() {
        let profile = folded("main;setup;hash 90\nmain;run;hash 4\nmain;run 6\n");
        let scope = [FramePattern::Exact("run".into())];
        let found = Attribution::new(&profile, 0, &[primitive("hash")], &scope).unwrap();
        assert_eq!((found.total, found.outside, found.share(0)), (10.0, 90.0, 0.4));
    }

    #[test]
    fn a_frame_that_two_claim_is_listed_with_its_weight() {
        let mut a = primitive("a");
        a.frames = vec![FramePattern::Glob("sha*".into())];
        let mut b = primitive("b");
        b.frames = vec![FramePattern::Glob("*512".into())];
        let found = Attribution::new(&folded("main;sha512 3\nmain 7\n"), 0, &[a, b], &[]).unwrap();
        assert_eq!(found.ambiguous.len(), 1);
        assert_eq!((found.ambiguous[0].share, found.ambiguous[0].claimed_by.len()), (0.3, 2));
        assert_eq!(found.parts[1].ambiguous_weight, 3.0);
    }
}
