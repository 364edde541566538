//! A workload: what is timed. Set-up, inputs that depend only on seed and index, a body, and a check of
//! every output outside the clock.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Whether a workload is a primitive or an operation that calls primitives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A pure function with a standalone cost.
    Primitive,
    /// Real work that calls primitives.
    Operation,
}

/// A set-up or check that failed: which workload, and what it said.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{workload}: {message}")]
pub struct WorkloadError {
    /// The workload's name.
    pub workload: String,
    /// What went wrong.
    pub message: String,
}

/// Fingerprint of outputs, to tell whether two runs computed the same. Not cryptographic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Digest(pub u64);

impl Digest {
    /// The fingerprint of some bytes: FNV-1a over 8-byte words, the last padded with its length.
    pub fn of(bytes: &[u8]) -> Self {
        Self(0xcbf2_9ce4_8422_2325).with(bytes)
    }

    /// This fingerprint continued over more bytes.
    #[must_use]
    pub fn with(self, bytes: &[u8]) -> Self {
        let mut words = bytes.chunks_exact(8);
        let mut hash = self.0;
        for word in &mut words {
            hash = fold(hash, u64::from_le_bytes(word.try_into().expect("a chunk of 8 has 8 bytes")));
        }
        let rest = words.remainder();
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        last[7] = rest.len() as u8;
        Self(fold(hash, u64::from_le_bytes(last)))
    }
}

/// One FNV-1a step over a word, with the high half folded down because multiplication only carries up.
fn fold(hash: u64, word: u64) -> u64 {
    let product = (hash ^ word).wrapping_mul(0x0100_0000_01b3);
    product ^ (product >> 32)
}

/// A prepared instance of a workload. The clock runs around [`Fixture::run`] only.
pub trait Fixture {
    /// Builds the inputs of the iterations with these indices. The same seed and index always give the
    /// same input, so that an iteration can be run again.
    fn load(&mut self, iterations: Range<u64>) -> Result<(), String>;

    /// Runs every loaded iteration once and holds the outputs. Nothing but the body happens here.
    fn run(&mut self);

    /// Checks the outputs, drops them and the inputs, and returns the fingerprint of the outputs in order.
    fn unload(&mut self) -> Result<Digest, String>;
}

type Factory = Arc<dyn Fn(u64) -> Result<Box<dyn Fixture>, String> + Send + Sync>;

/// What can be timed: a primitive or an operation, by name.
#[derive(Clone)]
pub struct Workload {
    /// Unique name; a parameter follows a slash: `create_group/8`.
    pub name: String,
    /// The family it belongs to, for selection and display: `x25519`, `mls`.
    pub family: String,
    /// Primitive or operation.
    pub kind: Kind,
    /// The size parameter, where there is one.
    pub parameter: Option<u64>,
    /// Which implementation runs: crate and backend.
    pub implementation: String,
    factory: Factory,
    chained: Option<Factory>,
}

impl fmt::Debug for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Workload").field("name", &self.name).field("kind", &self.kind).finish_non_exhaustive()
    }
}

impl Workload {
    /// A primitive over a pool of distinct inputs that the body only reads.
    ///
    /// `inputs` builds the pool from a seed (64 or more, so that branch prediction is not trained on one
    /// value); iteration `i` uses input `i % len`. `check` sees input and output and returns the output's
    /// fingerprint, or what is wrong with it.
    pub fn primitive<I: 'static, O: 'static>(
        name: &str,
        inputs: impl Fn(u64) -> Vec<I> + Send + Sync + 'static,
        body: impl Fn(&I) -> O + Clone + Send + Sync + 'static,
        check: impl Fn(&I, &O) -> Result<Digest, String> + Clone + Send + Sync + 'static,
    ) -> Self {
        let factory: Factory = Arc::new(move |seed| {
            let pool = inputs(seed);
            if pool.is_empty() {
                return Err("the pool of inputs is empty".to_owned());
            }
            Ok(Box::new(Pooled { pool, body: body.clone(), check: check.clone(), loaded: 0..0, outputs: Vec::new() }))
        });
        Self::new(name, Kind::Primitive, factory)
    }

    /// An operation whose inputs are consumed: `setup` makes a state from a seed, `input` an iteration's
    /// input from state and index, `body` is timed, and `check` sees state, index and output.
    pub fn operation<S: 'static, I: 'static, O: 'static>(
        name: &str,
        setup: impl Fn(u64) -> Result<S, String> + Send + Sync + 'static,
        input: impl Fn(&S, u64) -> Result<I, String> + Clone + Send + Sync + 'static,
        body: impl Fn(&mut I) -> O + Clone + Send + Sync + 'static,
        check: impl Fn(&S, u64, &O) -> Result<Digest, String> + Clone + Send + Sync + 'static,
    ) -> Self {
        let factory: Factory = Arc::new(move |seed| {
            Ok(Box::new(Consuming {
                state: setup(seed)?,
                input: input.clone(),
                body: body.clone(),
                check: check.clone(),
                inputs: Vec::new(),
                outputs: Vec::new(),
            }))
        });
        Self::new(name, Kind::Operation, factory)
    }

    fn new(name: &str, kind: Kind, factory: Factory) -> Self {
        let parameter = name.rsplit('/').next().and_then(|last| last.parse().ok());
        Self {
            name: name.to_owned(),
            family: name.split('/').next().unwrap_or(name).to_owned(),
            kind,
            parameter,
            implementation: String::new(),
            factory,
            chained: None,
        }
    }

    /// The same with its family named.
    #[must_use]
    pub fn family(mut self, family: &str) -> Self {
        self.family = family.to_owned();
        self
    }

    /// The same with its implementation named.
    #[must_use]
    pub fn implementation(mut self, implementation: &str) -> Self {
        self.implementation = implementation.to_owned();
        self
    }

    /// The same with a chained form: `next` makes the first argument's successor from an output, so that
    /// each call waits for the one before it. Gives the latency end of the cost band.
    #[must_use]
    pub fn chained<I: Clone + 'static, O: 'static>(
        mut self,
        first: impl Fn(u64) -> I + Send + Sync + 'static,
        body: impl Fn(&I) -> O + Clone + Send + Sync + 'static,
        next: impl Fn(&I, &O) -> I + Clone + Send + Sync + 'static,
        digest: impl Fn(&O) -> Digest + Clone + Send + Sync + 'static,
    ) -> Self {
        self.chained = Some(Arc::new(move |seed| {
            let first = first(seed);
            Ok(Box::new(Chained {
                current: first.clone(),
                first,
                body: body.clone(),
                next: next.clone(),
                digest: digest.clone(),
                iterations: 0,
                last: None,
            }))
        }));
        self
    }

    /// Sets up an instance from a seed.
    pub fn fixture(&self, seed: u64) -> Result<Box<dyn Fixture>, WorkloadError> {
        (self.factory)(seed).map_err(|message| self.error(message))
    }

    /// Sets up the chained form, where there is one.
    pub fn chained_fixture(&self, seed: u64) -> Option<Result<Box<dyn Fixture>, WorkloadError>> {
        Some((self.chained.as_ref()?)(seed).map_err(|message| self.error(message)))
    }

    /// Whether there is a chained form.
    pub fn has_chained(&self) -> bool {
        self.chained.is_some()
    }

    /// An error of this workload.
    pub fn error(&self, message: impl Into<String>) -> WorkloadError {
        WorkloadError { workload: self.name.clone(), message: message.into() }
    }
}

/// Workloads that differ in a size parameter only, built when asked for: `create_group/N`.
#[derive(Clone)]
pub struct Family {
    /// The name before the slash.
    pub name: String,
    /// The parameters that a suite lists.
    pub listed: Vec<u64>,
    /// The smallest parameter that makes sense, and why none below it does.
    least: Option<(u64, String)>,
    /// The largest one.
    most: Option<(u64, String)>,
    build: Arc<dyn Fn(u64) -> Workload + Send + Sync>,
}

impl Family {
    /// A family; `build` makes the workload named `name/parameter`.
    pub fn new(name: &str, listed: &[u64], build: impl Fn(u64) -> Workload + Send + Sync + 'static) -> Self {
        Self { name: name.to_owned(), listed: listed.to_vec(), least: None, most: None, build: Arc::new(build) }
    }

    /// The same where parameters below `least` make no sense, and why.
    #[must_use]
    pub fn at_least(mut self, least: u64, why: &str) -> Self {
        self.least = Some((least, why.to_owned()));
        self
    }

    /// The same where parameters above `most` would take more time or memory than anybody has, and why.
    #[must_use]
    pub fn at_most(mut self, most: u64, why: &str) -> Self {
        self.most = Some((most, why.to_owned()));
        self
    }

    /// Why this parameter makes no sense; `None` where it does.
    pub fn refuses(&self, parameter: u64) -> Option<String> {
        let (below, above) = (self.least.as_ref(), self.most.as_ref());
        let below = below.filter(|(least, _)| parameter < *least).map(|(least, why)| (why, "least", least));
        let above = above.filter(|(most, _)| parameter > *most).map(|(most, why)| (why, "most", most));
        below.or(above).map(|(why, end, limit)| format!("{}/{parameter}: {why}: N must be at {end} {limit}", self.name))
    }

    /// The workload of this parameter.
    pub fn member(&self, parameter: u64) -> Workload {
        (self.build)(parameter)
    }
}

impl fmt::Debug for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Family").field("name", &self.name).field("listed", &self.listed).finish_non_exhaustive()
    }
}

/// The workloads that a program offers, in the order in which they are listed.
#[derive(Clone, Debug, Default)]
pub struct Suite {
    /// Every workload, primitives and operations.
    pub workloads: Vec<Workload>,
    /// Families of which any member can be asked for by name.
    pub families: Vec<Family>,
    /// Rewrites of functions that samplers blame, to put what profiles promise to the test.
    pub rewrites: Vec<Rewrite>,
}

/// A function that a sampler blames, and a rewrite of it. All four workloads are named; the operations
/// compute the same, and so do the functions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rewrite {
    /// Its name on the command line.
    pub name: String,
    /// The operation with the blamed function in it.
    pub operation: String,
    /// The operation with the rewrite in its place.
    pub rewritten: String,
    /// A glob over the blamed function's name in profiles.
    pub blamed: String,
    /// The blamed function alone.
    pub blamed_alone: String,
    /// The rewrite alone.
    pub rewrite_alone: String,
    /// Calls of the function in one execution of the operation.
    pub calls: f64,
}

impl Suite {
    /// An empty suite, for a crate of one's own.
    pub fn new() -> Self {
        Self::default()
    }

    /// The suite with one more workload.
    #[must_use]
    pub fn with(mut self, workload: Workload) -> Self {
        self.workloads.push(workload);
        self
    }

    /// The suite with a family: the members that it lists, and any other by name.
    #[must_use]
    pub fn with_family(mut self, family: Family) -> Self {
        self.workloads.extend(family.listed.iter().map(|parameter| family.member(*parameter)));
        self.families.push(family);
        self
    }

    /// A name that two workloads have.
    pub fn repeated_name(&self) -> Option<&str> {
        let mut seen = std::collections::HashSet::new();
        self.workloads.iter().map(|workload| workload.name.as_str()).find(|name| !seen.insert(*name))
    }

    /// The workload of this name: a listed one, or the member of a family.
    pub fn resolve(&self, name: &str) -> Option<Workload> {
        let member = || self.member(name).map(|(family, parameter)| family.member(parameter));
        self.find(name).cloned().or_else(member)
    }

    /// Why the member of a family that this names makes no sense; `None` where it does, or is no member.
    pub fn refuses(&self, name: &str) -> Option<String> {
        let (family, parameter) = self.member(name)?;
        family.refuses(parameter)
    }

    fn member(&self, name: &str) -> Option<(&Family, u64)> {
        let (base, parameter) = name.rsplit_once('/')?;
        let family = self.families.iter().find(|family| family.name == base)?;
        Some((family, parameter.parse().ok()?))
    }

    /// The listed workload of this name.
    pub fn find(&self, name: &str) -> Option<&Workload> {
        self.workloads.iter().find(|workload| workload.name == name)
    }
}

struct Pooled<I, O, B, C> {
    pool: Vec<I>,
    body: B,
    check: C,
    loaded: Range<u64>,
    outputs: Vec<O>,
}

impl<I, O, B: Fn(&I) -> O, C: Fn(&I, &O) -> Result<Digest, String>> Pooled<I, O, B, C> {
    fn input(&self, index: u64) -> &I {
        &self.pool[(index % self.pool.len() as u64) as usize]
    }
}

impl<I, O, B: Fn(&I) -> O, C: Fn(&I, &O) -> Result<Digest, String>> Fixture for Pooled<I, O, B, C> {
    fn load(&mut self, iterations: Range<u64>) -> Result<(), String> {
        self.outputs = Vec::with_capacity((iterations.end - iterations.start) as usize);
        self.loaded = iterations;
        Ok(())
    }

    fn run(&mut self) {
        let mut at = (self.loaded.start % self.pool.len() as u64) as usize;
        for _ in self.loaded.clone() {
            self.outputs.push((self.body)(std::hint::black_box(&self.pool[at])));
            at += 1;
            if at == self.pool.len() {
                at = 0;
            }
        }
    }

    fn unload(&mut self) -> Result<Digest, String> {
        let mut digest = Digest::default();
        for (index, output) in self.loaded.clone().zip(&self.outputs) {
            let one =
                (self.check)(self.input(index), output).map_err(|message| format!("iteration {index}: {message}"))?;
            digest = digest.with(&one.0.to_le_bytes());
        }
        self.outputs = Vec::new();
        Ok(digest)
    }
}

struct Consuming<S, I, O, N, B, C> {
    state: S,
    input: N,
    body: B,
    check: C,
    inputs: Vec<(u64, I)>,
    outputs: Vec<O>,
}

impl<S, I, O, N, B, C> Fixture for Consuming<S, I, O, N, B, C>
where
    N: Fn(&S, u64) -> Result<I, String>,
    B: Fn(&mut I) -> O,
    C: Fn(&S, u64, &O) -> Result<Digest, String>,
{
    fn load(&mut self, iterations: Range<u64>) -> Result<(), String> {
        self.outputs = Vec::with_capacity((iterations.end - iterations.start) as usize);
        self.inputs =
            iterations.map(|index| Ok((index, (self.input)(&self.state, index)?))).collect::<Result<_, String>>()?;
        Ok(())
    }

    fn run(&mut self) {
        for (_, input) in &mut self.inputs {
            self.outputs.push((self.body)(std::hint::black_box(input)));
        }
    }

    fn unload(&mut self) -> Result<Digest, String> {
        let mut digest = Digest::default();
        for ((index, _), output) in self.inputs.iter().zip(&self.outputs) {
            let one =
                (self.check)(&self.state, *index, output).map_err(|message| format!("iteration {index}: {message}"))?;
            digest = digest.with(&one.0.to_le_bytes());
        }
        self.outputs = Vec::new();
        self.inputs = Vec::new();
        Ok(digest)
    }
}

struct Chained<I, O, B, N, D> {
    first: I,
    current: I,
    body: B,
    next: N,
    digest: D,
    iterations: u64,
    last: Option<O>,
}

impl<I: Clone, O, B: Fn(&I) -> O, N: Fn(&I, &O) -> I, D: Fn(&O) -> Digest> Fixture for Chained<I, O, B, N, D> {
    fn load(&mut self, iterations: Range<u64>) -> Result<(), String> {
        self.current = self.first.clone();
        self.iterations = iterations.end - iterations.start;
        Ok(())
    }

    fn run(&mut self) {
        for _ in 0..self.iterations {
            let output = (self.body)(std::hint::black_box(&self.current));
            self.current = (self.next)(&self.current, &output);
            self.last = Some(output);
        }
    }

    fn unload(&mut self) -> Result<Digest, String> {
        self.last.take().map(|output| (self.digest)(&output)).ok_or_else(|| "nothing ran".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_and_index_give_the_same_output() {
        let workload = Workload::primitive(
            "double",
            |seed| (0..64).map(|i| seed + i).collect(),
            |input: &u64| input * 2,
            |input, output| {
                if *output == input * 2 { Ok(Digest::of(&output.to_le_bytes())) } else { Err("not doubled".into()) }
            },
        );
        let mut fixture = workload.fixture(7).unwrap();
        let mut run = |range: Range<u64>| {
            fixture.load(range).unwrap();
            fixture.run();
            fixture.unload().unwrap()
        };
        assert_eq!(run(3..9), run(3..9));
        assert_ne!(run(3..9), run(4..10));
    }

    #[test]
    fn fingerprints_tell_every_bit_and_length_apart() {
        let mut seen = std::collections::HashSet::new();
        for length in 0..20 {
            assert!(seen.insert(Digest::of(&vec![0; length])), "length {length}");
            for bit in 0..length * 8 {
                let mut bytes = vec![0; length];
                bytes[bit / 8] |= 1 << (bit % 8);
                assert!(seen.insert(Digest::of(&bytes)), "bit {bit} of length {length}");
            }
        }
    }

    #[test]
    fn a_wrong_output_is_an_error_with_its_iteration() {
        let workload =
            Workload::primitive("wrong", |_| vec![1u8], |input: &u8| *input, |_, _| Err::<Digest, _>("bad".into()));
        let mut fixture = workload.fixture(0).unwrap();
        fixture.load(5..6).unwrap();
        fixture.run();
        assert_eq!(fixture.unload(), Err("iteration 5: bad".to_owned()));
    }
}
