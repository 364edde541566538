//! Op counts of an operation: exact numbers of calls at each boundary, per iteration.

use serde::{Deserialize, Serialize};

use super::interleave::Session;
use crate::boundary::{self, Counts};
use crate::workload::{Digest, Workload, WorkloadError};

/// The op counts of one operation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OpCounts {
    /// The operation's name, parameter included.
    pub operation: String,
    /// Iterations that were counted, each on its own input.
    pub iterations: u64,
    /// The primitives, in order of first call.
    pub primitives: Vec<PrimitiveCount>,
    /// Calls on threads that were in no run, by primitive: not among `primitives`, and they may belong to
    /// other work of the process.
    pub elsewhere: Vec<(String, u64)>,
}

/// Calls of one primitive in an operation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PrimitiveCount {
    /// The primitive's name.
    pub primitive: String,
    /// Lowest and highest number of calls in one iteration, not nested in another primitive.
    pub calls: (u64, u64),
    /// Mean number of calls in one iteration, not nested in another primitive.
    pub mean: f64,
    /// Mean number of calls in one iteration within another primitive, by parent.
    pub nested: Vec<(String, f64)>,
}

impl PrimitiveCount {
    /// Whether every iteration made the same number of calls.
    pub fn is_exact(&self) -> bool {
        self.calls.0 == self.calls.1
    }
}

impl OpCounts {
    /// The counts of a primitive.
    pub fn of(&self, primitive: &str) -> Option<&PrimitiveCount> {
        self.primitives.iter().find(|one| one.primitive == primitive)
    }
}

/// Counts the first `iterations` iterations of a workload, each twice: the same input must give the same
/// counts and the same output.
///
/// # Errors
///
/// Where the set-up or an iteration fails, or where the second run differs from the first.
pub fn count(workload: &Workload, seed: u64, iterations: u64) -> Result<OpCounts, WorkloadError> {
    let mut session = Session::new(workload, seed)?;
    let mut runs = Vec::new();
    for iteration in 0..iterations.max(1) {
        let (first, output) = count_once(&mut session, iteration)?;
        let (second, again) = count_once(&mut session, iteration)?;
        if (&first.outermost, &first.nested, output) != (&second.outermost, &second.nested, again) {
            let message = format!("iteration {iteration} is not deterministic: its second run counted or output other");
            return Err(workload.error(message));
        }
        runs.push(first);
    }
    Ok(summary(workload, &runs))
}

fn count_once(session: &mut Session, iteration: u64) -> Result<(Counts, Digest), WorkloadError> {
    let (((), counts), digest) = session.run(iteration, |body| boundary::count(body))?;
    Ok((counts, digest))
}

fn summary(workload: &Workload, runs: &[Counts]) -> OpCounts {
    let mut names: Vec<&str> = Vec::new();
    let nested_names = runs.iter().flat_map(|run| run.nested.iter().map(|nested| nested.primitive));
    for name in runs.iter().flat_map(|run| run.outermost.iter().map(|(name, _)| *name)).chain(nested_names) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let mean = |calls: &dyn Fn(&Counts) -> u64| runs.iter().map(calls).sum::<u64>() as f64 / runs.len() as f64;
    let primitive = |name: &str| {
        let calls = runs.iter().map(|run| run.of(name));
        let mut parents: Vec<&str> = Vec::new();
        for nested in runs.iter().flat_map(|run| &run.nested).filter(|nested| nested.primitive == name) {
            if !parents.contains(&nested.parent) {
                parents.push(nested.parent);
            }
        }
        PrimitiveCount {
            primitive: name.to_owned(),
            calls: (calls.clone().min().unwrap_or(0), calls.max().unwrap_or(0)),
            mean: mean(&|run| run.of(name)),
            nested: parents
                .iter()
                .map(|parent| ((*parent).to_owned(), mean(&|run| run.within(parent, name))))
                .collect(),
        }
    };
    let mut elsewhere: Vec<(String, u64)> = Vec::new();
    for (name, calls) in runs.iter().flat_map(|run| &run.foreign) {
        match elsewhere.iter_mut().find(|(one, _)| one == name) {
            Some((_, sum)) => *sum += calls,
            None => elsewhere.push(((*name).to_owned(), *calls)),
        }
    }
    OpCounts {
        operation: workload.name.clone(),
        iterations: runs.len() as u64,
        primitives: names.into_iter().map(primitive).collect(),
        elsewhere,
    }
}

#[cfg(all(test, not(feature = "boundary-off")))]
mod tests {
    use super::*;
    use crate::Boundary;

    static STEP: Boundary = Boundary::new("count_step");

    fn workload(steps: impl Fn(u64) -> u64 + Clone + Send + Sync + 'static) -> Workload {
        Workload::operation(
            "steps",
            |_| Ok(()),
            |(), index| Ok(index),
            move |index| (0..steps(*index)).map(|i| STEP.call(|| i)).sum::<u64>(),
            |(), _, sum| Ok(Digest::of(&sum.to_le_bytes())),
        )
    }

    #[test]
    fn counts_that_depend_on_the_input_are_a_range_and_a_mean() {
        let counts = count(&workload(|index| 1 + index % 2), 1, 4).unwrap();
        let step = counts.of("count_step").unwrap();
        assert_eq!((step.calls, step.mean, step.is_exact()), ((1, 2), 1.5, false));
        assert!(counts.of("never called").is_none());
    }

    #[test]
    fn counts_that_change_on_the_same_input_are_an_error() {
        let runs = std::sync::Arc::new(std::sync::atomic::AtomicU64::new(0));
        let error =
            count(&workload(move |_| runs.fetch_add(1, std::sync::atomic::Ordering::Relaxed)), 1, 1).unwrap_err();
        assert!(error.message.contains("not deterministic"), "{error}");
    }
}
