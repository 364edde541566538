//! What a profile gives away about itself without any reference: reasons to distrust its shares.

use rustc_hash::{FxHashMap, FxHashSet};

use super::{FrameKind, Profile, SampleClock, StackId};
use crate::unit::{Share, three_digits};
use crate::warning::Warning;

/// Functions of unwinders and of profilers' signal handlers.
const UNWINDERS: &[&str] = &[
    "perf_signal_handler",
    "backtrace::",
    "_Unwind_Backtrace",
    "_Unwind_Find_FDE",
    "unw_step",
    "unw_backtrace",
    "ProfileHandler",
    "ProfileData::",
    "prof_handler",
    "runtime.sigprof",
];

/// Above this share of one single sample, the rest is hardly visible.
const DOMINANT: f64 = 0.5;

impl Profile {
    /// Reasons to distrust the shares of this weight.
    pub fn doubts(&self, weight: usize) -> Vec<Warning> {
        let total: f64 = self.samples.iter().map(|sample| sample.weights[weight].abs()).sum();
        if total == 0.0 {
            return Vec::new();
        }
        let doubts = [
            self.one_sample_dominates(weight, total),
            self.unwinder_as_leaf(weight, total),
            self.stacks_cut(weight, total),
            self.more_than_the_clock(weight, total),
        ];
        doubts.into_iter().flatten().collect()
    }

    // KDAB/hotspot#124: a broken period of 1e13 swamps the rest.
    fn one_sample_dominates(&self, weight: usize, total: f64) -> Option<Warning> {
        let single = self.samples.iter().filter(|sample| sample.count == Some(1) && sample.weights[weight] != 0.0);
        let heaviest = single.clone().map(|sample| sample.weights[weight].abs()).fold(0.0, f64::max);
        if single.count() < 10 || heaviest < DOMINANT * total {
            return None;
        }
        Some(Warning {
            code: "one-sample-dominates".into(),
            message: format!("one sample weighs {} of the total, {}", Share(heaviest / total), three_digits(heaviest)),
            remedy: "Read the shares by number of samples; a period that large is usually a broken reading.".into(),
        })
    }

    // tikv/pprof-rs#135: every stack ends in the unwinder.
    fn unwinder_as_leaf(&self, weight: usize, total: f64) -> Option<Warning> {
        let is_unwinder: Vec<bool> =
            self.frames.iter().map(|frame| UNWINDERS.iter().any(|name| frame.function.contains(name))).collect();
        let leaf = |stack: StackId| is_unwinder[self.stack(stack).frame.0 as usize];
        let unwinding = self.samples.iter().filter(|sample| sample.stack.is_some_and(leaf));
        let share = unwinding.map(|sample| sample.weights[weight].abs()).sum::<f64>() / total;
        (share > 0.5).then(|| Warning {
            code: "unwinder-as-leaf".into(),
            message: format!("{} of the weight has the profiler's own unwinder as leaf", Share(share)),
            remedy: "Self times say nothing here: take another unwinder, or strip the profiler's frames.".into(),
        })
    }

    // flamegraph-rs/flamegraph#193, #337: stacks that do not reach the root.
    fn stacks_cut(&self, weight: usize, total: f64) -> Option<Warning> {
        let mut roots: Vec<u32> = Vec::with_capacity(self.stacks.len());
        for (index, stack) in self.stacks.iter().enumerate() {
            roots.push(stack.parent.map_or(index as u32, |parent| roots[parent.0 as usize]));
        }
        let root_frame = |stack: usize| self.stacks[roots[stack] as usize].frame;
        let mut names: FxHashMap<(&str, &Option<String>, &Option<String>), u32> = FxHashMap::default();
        let mut name_of = Vec::with_capacity(self.frames.len());
        for frame in &self.frames {
            let next = names.len() as u32;
            name_of.push(*names.entry((frame.function.as_str(), &frame.module, &frame.file)).or_insert(next));
        }
        let by_root: FxHashSet<u32> =
            (0..self.stacks.len()).map(|stack| name_of[root_frame(stack).0 as usize]).collect();
        // A function (of one file: every module of Python has a `<module>`) that is a root here and lies below
        // another root there was cut off here.
        let inner: FxHashSet<u32> = (0..self.stacks.len())
            .filter(|stack| self.stacks[*stack].parent.is_some())
            .map(|stack| (name_of[self.stacks[stack].frame.0 as usize], name_of[root_frame(stack).0 as usize]))
            .filter(|(name, root)| by_root.contains(name) && name != root)
            .map(|(name, _)| name)
            .collect();
        let cut = |stack: StackId| {
            let frame = root_frame(stack.0 as usize);
            inner.contains(&name_of[frame.0 as usize]) || self.frame(frame).function == "[truncated]"
        };
        let plain = |stack: StackId| self.frame(root_frame(stack.0 as usize)).kind != FrameKind::Kernel;
        let samples = self.samples.iter().filter(|sample| sample.stack.is_some_and(|stack| cut(stack) && plain(stack)));
        let share = samples.map(|sample| sample.weights[weight].abs()).sum::<f64>() / total;
        (share > 0.005).then(|| Warning {
            code: "stacks-cut".into(),
            message: format!("{} of the weight lies in stacks that do not reach their root", Share(share)),
            remedy: "Totals of callers are too low; self times and sums over all roots still hold.".into(),
        })
    }

    // felixge/fgprof#23: seconds summed over all goroutines.
    fn more_than_the_clock(&self, weight: usize, total: f64) -> Option<Warning> {
        let duration = self.provenance.duration_ns.filter(|duration| *duration > 0)? as f64;
        let is_time = self.weight_types[weight].unit == "nanoseconds";
        if !is_time || self.provenance.clock == SampleClock::Cpu || total < 1.5 * duration {
            return None;
        }
        Some(Warning {
            code: "wall-over-threads".into(),
            message: format!("the time adds up to {} times the recording's", three_digits(total / duration)),
            remedy: "It is wall time summed over threads, the waiting ones included: not CPU time.".into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::profile::Profile;
    use crate::profile::testing::stacks;

    fn profile(samples: &[(&[&str], f64)]) -> Profile {
        stacks("time", "nanoseconds", samples)
    }

    fn codes(profile: &Profile) -> Vec<String> {
        profile.doubts(0).into_iter().map(|warning| warning.code).collect()
    }

    #[test]
    fn a_broken_period_is_flagged() {
        let mut samples: Vec<(&[&str], f64)> = vec![(&["main", "f"], 1e6); 50];
        assert!(codes(&profile(&samples)).is_empty());
        samples.push((&["main", "g"], 1e13));
        assert_eq!(codes(&profile(&samples)), ["one-sample-dominates"]);
    }

    #[test]
    fn the_unwinder_as_leaf_is_flagged() {
        let samples: &[(&[&str], f64)] =
            &[(&["main", "perf_signal_handler", "backtrace::trace"], 9.0), (&["main"], 1.0)];
        assert_eq!(codes(&profile(samples)), ["unwinder-as-leaf"]);
    }

    #[test]
    fn stacks_that_end_early_are_flagged_and_still_summed() {
        let profile = profile(&[(&["main", "f"], 50.0), (&["f"], 45.0)]);
        assert_eq!(codes(&profile), ["stacks-cut"]);
        assert!(profile.doubts(0)[0].message.starts_with("47.4 %"), "{}", profile.doubts(0)[0].message);
        assert_eq!(profile.by(0, |frame| frame.function.clone())["f"].total_weight, 95.0);
        assert!(codes(&self::profile(&[(&["f", "f", "g"], 5.0), (&["h", "g"], 5.0)])).is_empty());
    }

    #[test]
    fn wall_time_over_threads_is_named() {
        let mut profile = profile(&[(&["main", "park"], 70e9)]);
        profile.provenance.duration_ns = Some(1_000_000_000);
        assert_eq!(codes(&profile), ["wall-over-threads"]);
    }
}
