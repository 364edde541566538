//! Collects what the handlers recorded, in bounded memory, and makes a profile of it.

use rustc_hash::FxHashMap;

use super::handler::{BROKEN, HEADER, LATE, OFF_CPU};
use super::unwind::KEPT;
use crate::profile::{Builder, Frame, FrameKind, Profile, SampleClock, StackId, StackSample, WeightType, facts};
use crate::sampler::MARKER;
use crate::sampler::symbols::Symbols;
use crate::warning::Warning;

/// Samples kept one by one, with their times. Later ones are added up by thread and stack.
const SINGLE_SAMPLES: usize = 2_000_000;
/// Calls kept, over all stacks. Samples with stacks that would need more are kept without one.
const CALLS: usize = 4_000_000;

/// Samples of a thread whose weight is evened out.
const NEIGHBOURS: usize = 32;

/// Frames without an address of their own.
const LEFT_OUT: u64 = 0;

#[derive(Clone, Copy, Default)]
struct Sums {
    count: u64,
    cpu_ns: u64,
    /// CPU time of signals that came late, beyond the timer's interval.
    late_ns: u64,
}

struct Single {
    thread: i32,
    stack: Option<u32>,
    wall_ns: u64,
    sums: Sums,
}

/// Raw stacks and their samples.
#[derive(Default)]
pub(super) struct Stacks {
    /// Calls by caller and address: a prefix tree of raw addresses.
    calls: Vec<(Option<u32>, u64)>,
    call_ids: FxHashMap<(Option<u32>, u64), u32>,
    singles: Vec<Single>,
    added_up: FxHashMap<(i32, Option<u32>), Sums>,
    names: FxHashMap<i32, String>,
    broken: u64,
    /// Samples of threads that were waiting, and the wall time up to them.
    waiting: u64,
    waiting_ns: u64,
    without_stack: u64,
    /// Records that the handlers could not keep.
    pub(super) lost: u64,
    /// Threads for which the system refused a timer.
    pub(super) refused: u64,
}

impl Stacks {
    /// Remembers a thread's name.
    pub(super) fn name(&mut self, thread: i32, name: String) {
        self.names.insert(thread, name);
    }

    /// Adds a record of the handler's.
    pub(super) fn add(&mut self, record: &[u64]) {
        let [first, wall_ns, cpu_ns, passed_ns, interval_ns, left_out, addresses @ ..] = record else {
            debug_assert!(false, "a record has {HEADER} words and its addresses");
            return;
        };
        let (thread, flags) = (*first as u32 as i32, first >> 32);
        if flags & OFF_CPU != 0 {
            self.waiting += 1;
            self.waiting_ns += passed_ns;
            return;
        }
        self.broken += u64::from(flags & BROKEN != 0);
        let stack = self.stack(addresses, *left_out);
        let sums = Sums {
            count: 1,
            cpu_ns: *cpu_ns,
            late_ns: if flags & LATE != 0 { cpu_ns.saturating_sub(*interval_ns) } else { 0 },
        };
        if self.singles.len() < SINGLE_SAMPLES {
            self.singles.push(Single { thread, stack, wall_ns: *wall_ns, sums });
        } else {
            let sum = self.added_up.entry((thread, stack)).or_default();
            sum.count += sums.count;
            sum.cpu_ns += sums.cpu_ns;
            sum.late_ns += sums.late_ns;
        }
    }

    /// The stack of addresses given leaf first. The leaf's is its own, all others are return addresses.
    fn stack(&mut self, addresses: &[u64], left_out: u64) -> Option<u32> {
        if self.calls.len() + addresses.len() > CALLS {
            self.without_stack += 1;
            return None;
        }
        let mut stack = None;
        for (at, address) in addresses.iter().enumerate().rev() {
            if left_out > 0 && at + 1 == KEPT {
                stack = Some(self.call(stack, LEFT_OUT));
            }
            // One less lies in the call, not behind it.
            stack = Some(self.call(stack, if at == 0 { *address } else { address.saturating_sub(1).max(1) }));
        }
        stack
    }

    fn call(&mut self, caller: Option<u32>, address: u64) -> u32 {
        *self.call_ids.entry((caller, address)).or_insert_with(|| {
            self.calls.push((caller, address));
            (self.calls.len() - 1) as u32
        })
    }

    /// Gives neighbouring samples of a thread the same weight, their total kept. A thread that works in
    /// bursts between sleeps is hit in proportion to the length of each burst; the CPU time since the last
    /// hit, though, depends on what came before, and would give short bursts the weight of long ones.
    /// Samples that came late keep their own weight.
    fn even_out(&mut self) {
        let mut runs: FxHashMap<i32, Vec<usize>> = FxHashMap::default();
        let mut full = Vec::new();
        for (at, single) in self.singles.iter().enumerate().filter(|(_, single)| single.sums.late_ns == 0) {
            let run = runs.entry(single.thread).or_default();
            run.push(at);
            if run.len() == NEIGHBOURS {
                full.push(std::mem::take(run));
            }
        }
        full.extend(runs.into_values().filter(|run| !run.is_empty()));
        for run in full {
            let total: u64 = run.iter().map(|at| self.singles[*at].sums.cpu_ns).sum();
            let (each, rest) = (total / run.len() as u64, total % run.len() as u64);
            for (turn, at) in run.into_iter().enumerate() {
                self.singles[at].sums.cpu_ns = each + u64::from((turn as u64) < rest);
            }
        }
    }

    /// CPU time of all samples.
    pub(super) fn cpu_ns(&self) -> u64 {
        self.singles.iter().map(|single| single.sums.cpu_ns).chain(self.added_up.values().map(|sums| sums.cpu_ns)).sum()
    }

    pub(super) fn warnings(&self) -> Vec<Warning> {
        let mut warnings = Vec::new();
        let mut warn = |count: u64, code: &str, message: String, remedy: &str| {
            if count > 0 {
                warnings.push(Warning { code: code.to_owned(), message, remedy: remedy.to_owned() });
            }
        };
        warn(
            self.lost,
            "samples-lost",
            format!("{} samples were lost because the buffer was full; their CPU time is in no sample", self.lost),
            "ask for a lower rate (--hz)",
        );
        warn(
            self.refused,
            "threads-refused",
            format!("the system refused a timer for {} threads, which are not sampled", self.refused),
            "raise the limit on pending signals (ulimit -i)",
        );
        warn(
            self.without_stack,
            "stacks-dropped",
            format!("{} samples have no stack: more than {CALLS} different calls were seen", self.without_stack),
            "sample for a shorter time",
        );
        warnings
    }

    /// The profile, with names.
    pub(super) fn profile(mut self, own_cpu_ns: u64) -> Profile {
        self.even_out();
        let mut builder = Builder::new(vec![WeightType { name: "cpu".to_owned(), unit: "nanoseconds".to_owned() }]);
        let mut symbols = Symbols::of_this_process();
        // A caller comes before what it calls, so one pass resolves all.
        let mut resolved: Vec<StackId> = Vec::with_capacity(self.calls.len());
        for (caller, address) in &self.calls {
            let mut stack = caller.map(|caller| resolved[caller as usize]);
            if *address == LEFT_OUT {
                let frame = builder.frame(synthetic("[frames left out]"));
                resolved.push(builder.stack(stack, frame));
                continue;
            }
            for frame in symbols.frames(*address) {
                let frame = builder.frame(frame.clone());
                stack = Some(builder.stack(stack, frame));
            }
            resolved.push(stack.expect("every address resolves to one frame at least"));
        }
        let origin = self.singles.first().map_or(0, |single| single.wall_ns);
        let mut blocked_ns = 0;
        let samples = self
            .singles
            .iter()
            .map(|single| (single.thread, single.stack, Some(single.wall_ns.saturating_sub(origin)), single.sums))
            .chain(self.added_up.iter().map(|((thread, stack), sums)| (*thread, *stack, None, *sums)));
        for (thread, stack, time_ns, sums) in samples {
            let stack = stack.map(|stack| resolved[stack as usize]);
            let thread = builder.thread(self.names.get(&thread).map_or("", String::as_str));
            let mut cpu_ns = sums.cpu_ns;
            if sums.late_ns > 0
                && let Some(stack) = stack
                && let Some(blocked) = blocked_stack(&mut builder, stack)
            {
                // Signals were blocked, and the call that lets them through again is not where the time went.
                cpu_ns -= sums.late_ns;
                blocked_ns += sums.late_ns;
                let weights = vec![sums.late_ns as f64];
                builder.sample(StackSample {
                    stack: Some(blocked),
                    thread: Some(thread),
                    time_ns,
                    count: Some(1),
                    weights,
                });
            }
            let weights = vec![cpu_ns as f64];
            builder.sample(StackSample { stack, thread: Some(thread), time_ns, count: Some(sums.count), weights });
        }
        let mut note = |count: u64, code: &str, message: &str| {
            if count > 0 {
                builder.note(code, message, count);
            }
        };
        note(self.broken, "stacks-broken", "stacks whose walk did not reach the thread's first function");
        note(self.lost, "samples-lost", "samples that did not fit the buffer");
        note(self.waiting, "waiting", "samples of threads that were waiting, which weigh nothing");
        note(
            blocked_ns,
            "signals-blocked",
            "nanoseconds of CPU time spent while all signals were blocked: what ran then is not known",
        );
        note(
            self.added_up.values().map(|sums| sums.count).sum(),
            "samples-added-up",
            "samples beyond the first two million, added up by stack",
        );
        let has_lines = symbols.has_lines();
        let provenance = builder.provenance();
        provenance.producer = Some(concat!("countercheck ", env!("CARGO_PKG_VERSION")).to_owned());
        provenance.clock = SampleClock::Cpu;
        let debug_info = if has_lines { "present" } else { "absent: names are from the symbol table" };
        let facts = [
            (facts::TIMER, "jittered"),
            (facts::TIMER_SCOPE, "thread"),
            (facts::UNWINDER, "framehop"),
            (facts::WALK_START, "instruction"),
            (facts::INLINE_FRAMES, "per-sample"),
            (facts::LOST, &self.lost.to_string()),
            ("clock", "CLOCK_MONOTONIC, period times 0.5 to 1.5"),
            ("helper_cpu_ns", &own_cpu_ns.to_string()),
            ("waiting_samples_wall_ns", &self.waiting_ns.to_string()),
            ("debug_info", debug_info),
        ];
        provenance.facts.extend(facts.map(|(name, value)| (name.to_owned(), value.to_owned())));
        builder.finish()
    }
}

fn synthetic(name: &str) -> Frame {
    Frame { function: name.to_owned(), kind: FrameKind::Synthetic, ..Frame::default() }
}

/// For a stack that ends in the call that unblocks signals: the stack to charge with what ran while they
/// were blocked, which is known down to the sampled window and no further.
fn blocked_stack(builder: &mut Builder, stack: StackId) -> Option<StackId> {
    let unblocks = |name: &str| name.contains("sigmask") || name.contains("sigprocmask");
    let frames = builder.root_to_leaf(stack);
    let leaf = frames.last()?;
    if !unblocks(&builder.frame_of(*leaf).function) {
        return None;
    }
    let known = frames.iter().position(|frame| builder.frame_of(*frame).function.ends_with(MARKER)).unwrap_or(0);
    let blocked = builder.frame(synthetic("[signals blocked]"));
    builder.stack_of(frames[..=known].iter().copied().chain([blocked]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(flags: u64, cpu: u64, left_out: u64, addresses: &[u64]) -> Vec<u64> {
        [&[7 | flags << 32, 1_000, cpu, 10, 5, left_out], addresses].concat()
    }

    #[test]
    fn weights_follow_the_clock_and_waiting_weighs_nothing() {
        let mut stacks = Stacks::default();
        stacks.name(7, "worker".to_owned());
        stacks.add(&record(0, 100, 0, &[0x10, 0x21]));
        stacks.add(&record(0, 40, 0, &[0x18, 0x21]));
        stacks.add(&record(OFF_CPU, 0, 0, &[0x10, 0x21]));
        assert_eq!(stacks.cpu_ns(), 140);
        assert_eq!(stacks.calls.len(), 3, "a caller is shared");
        let profile = stacks.profile(0);
        assert_eq!(profile.total(0), 140.0);
        assert_eq!((profile.notes[0].code.as_str(), profile.notes[0].count), ("waiting", 1));
        assert_eq!(profile.threads, ["worker"]);
        assert_eq!(profile.samples.iter().filter_map(|sample| sample.count).sum::<u64>(), 2);
        let by = profile.by(0, |frame| frame.function.clone());
        // The leaf's address is its own; the caller's is one less than the return address.
        assert_eq!((by["0x10"].self_weight, by["0x18"].self_weight, by["0x20"].total_weight), (70.0, 70.0, 140.0));
    }

    #[test]
    fn a_deep_stack_keeps_both_ends() {
        let mut stacks = Stacks::default();
        let addresses: Vec<u64> = (1..=2 * KEPT as u64).map(|n| n * 16).collect();
        stacks.add(&record(0, 1, 77, &addresses));
        let profile = stacks.profile(0);
        let frames = profile.root_to_leaf(profile.samples[0].stack.unwrap());
        let names: Vec<_> = frames.iter().map(|id| profile.frame(*id).function.as_str()).collect();
        assert_eq!(names.len(), 2 * KEPT + 1);
        assert_eq!(names[KEPT], "[frames left out]");
        assert_eq!((names[0], names[2 * KEPT]), ("0x3fff", "0x10"));
    }
}
