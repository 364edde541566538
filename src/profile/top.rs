//! Self and total by function, module or line: by weight and by number of samples, recursion counted once.

use serde::Serialize;

use super::{Frame, Profile, SelfTotal, StackSample};

/// What frames are put together by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum GroupBy {
    /// The function's name.
    #[default]
    Function,
    /// The library, module or package.
    Module,
    /// The function with its source file and line.
    Line,
}

/// One function, module or line.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TopRow {
    /// Its name.
    pub name: String,
    /// Weight of the samples whose leaf it is.
    pub self_weight: f64,
    /// Weight of the samples in which it appears, each counted once.
    pub total_weight: f64,
    /// `self_weight` over the denominator.
    pub self_share: f64,
    /// `total_weight` over the denominator.
    pub total_share: f64,
    /// Samples whose leaf it is; `None` where the file counts none.
    pub self_samples: Option<f64>,
    /// Samples in which it appears.
    pub total_samples: Option<f64>,
}

/// The rows with their denominators.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Top {
    /// Net sum of the weight.
    pub total: f64,
    /// What shares are of: the sum of absolute values, which differs from `total` where weights are negative.
    pub denominator: f64,
    /// Samples with a weight that is not zero; `None` where the file counts none.
    pub samples: Option<u64>,
    /// Weight of the samples without a stack, which no row holds.
    pub without_stack: f64,
    /// The rows, the heaviest self weight first.
    pub rows: Vec<TopRow>,
}

impl Profile {
    /// The number of samples of this weight; `None` where the file does not say.
    ///
    /// Where the file counts samples in a weight of its own, that counts; else a sample counts for every
    /// weight that it has. In both cases each of several events has its own samples: one that weighs only as
    /// another event is none of this one's.
    pub fn samples_of(&self, weight: usize) -> Option<u64> {
        let counted = self.count_weight();
        let mut counts = self.samples.iter().map(|sample| count_of(sample, weight, counted));
        counts.try_fold(0u64, |sum, count| Some(sum.saturating_add(count? as u64)))
    }

    /// The weight that counts samples.
    fn count_weight(&self) -> Option<usize> {
        self.weight_types.iter().position(|weight| weight.name == "samples" && weight.unit == "count")
    }

    /// Self and total of every function, module or line.
    pub fn top(&self, weight: usize, group: GroupBy) -> Top {
        let key = |frame: &Frame| name_of(frame, group);
        let by_weight = self.by(weight, key);
        let samples = self.samples_of(weight);
        let mut counted = samples.map(|_| {
            let counted = self.count_weight();
            self.by_value(|sample| count_of(sample, weight, counted).unwrap_or(0.0), key)
        });
        let values = || self.samples.iter().map(|sample| sample.weights[weight]);
        let denominator: f64 = values().map(f64::abs).sum();
        let share = |value: f64| if denominator > 0.0 { value / denominator } else { 0.0 };
        let mut rows: Vec<TopRow> = by_weight
            .into_iter()
            .filter(|(_, sums)| *sums != SelfTotal::default())
            .map(|(name, sums)| {
                let count = counted.as_mut().and_then(|counted| counted.remove(&name));
                TopRow {
                    self_weight: sums.self_weight,
                    total_weight: sums.total_weight,
                    self_share: share(sums.self_weight),
                    total_share: share(sums.total_weight),
                    self_samples: count.map(|count| count.self_weight),
                    total_samples: count.map(|count| count.total_weight),
                    name,
                }
            })
            .collect();
        let weighs = |row: &TopRow| (row.self_weight.abs(), row.total_weight.abs());
        rows.sort_by(|a, b| {
            weighs(b).partial_cmp(&weighs(a)).unwrap_or(std::cmp::Ordering::Equal).then(a.name.cmp(&b.name))
        });
        let without_stack = self.samples.iter().filter(|sample| sample.stack.is_none());
        let without_stack = without_stack.map(|sample| sample.weights[weight]).sum();
        Top { total: values().sum(), denominator, samples, without_stack, rows }
    }
}

fn count_of(sample: &StackSample, weight: usize, counted: Option<usize>) -> Option<f64> {
    match counted {
        Some(counted) => {
            let others = sample.weights.iter().enumerate().filter(|(at, _)| *at != weight && *at != counted);
            let another = || others.map(|(_, value)| value).any(|value| *value != 0.0);
            let is_of_weight = weight == counted || sample.weights[weight] != 0.0 || !another();
            Some(if is_of_weight { sample.weights[counted].max(0.0) } else { 0.0 })
        }
        None if sample.weights[weight] == 0.0 => Some(0.0),
        None => sample.count.map(|count| count as f64),
    }
}

fn name_of(frame: &Frame, group: GroupBy) -> String {
    match group {
        GroupBy::Function => frame.function.clone(),
        GroupBy::Module => frame.module.clone().unwrap_or_else(|| "[no module]".to_owned()),
        GroupBy::Line => match (&frame.file, frame.line) {
            (Some(file), Some(line)) => format!("{} {file}:{line}", frame.function),
            (None, Some(line)) => format!("{}:{line}", frame.function),
            (Some(file), None) => format!("{} {file}", frame.function),
            (None, None) => frame.function.clone(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{Builder, WeightType};

    fn profile(samples: &[(&[&str], f64, Option<u64>)]) -> Profile {
        let mut builder = Builder::new(vec![WeightType { name: "cpu".into(), unit: "nanoseconds".into() }]);
        for (frames, weight, count) in samples {
            let frames: Vec<_> = frames
                .iter()
                .map(|name| builder.frame(Frame { function: (*name).into(), ..Frame::default() }))
                .collect();
            let stack = builder.stack_of(frames);
            builder.sample(StackSample { stack, thread: None, time_ns: None, count: *count, weights: vec![*weight] });
        }
        builder.finish()
    }

    // mstange/samply#14: one sample of 9600 ms beside 100 of 1 ms.
    #[test]
    fn shares_by_weight_and_by_samples_are_told_apart() {
        let mut samples: Vec<(&[&str], f64, Option<u64>)> = vec![(&["main", "wait"], 9600.0, Some(1))];
        samples.extend(std::iter::repeat_n((&["main", "work"][..], 1.0, Some(1)), 100));
        let top = profile(&samples).top(0, GroupBy::Function);
        assert_eq!((top.total, top.samples), (9700.0, Some(101)));
        assert_eq!((top.rows[0].name.as_str(), top.rows[0].self_samples), ("wait", Some(1.0)));
        assert_eq!((top.rows[1].name.as_str(), top.rows[1].self_samples), ("work", Some(100.0)));
        assert_eq!((top.rows[2].total_weight, top.rows[2].self_weight), (9700.0, 0.0));
    }

    // google/pprof#707: a recursive function above 100 %.
    #[test]
    fn recursion_counts_once_in_samples_too() {
        let top = profile(&[(&["a", "b", "a", "c"], 50.0, Some(5))]).top(0, GroupBy::Function);
        let a = top.rows.iter().find(|row| row.name == "a").unwrap();
        assert_eq!((a.total_weight, a.total_share, a.total_samples, a.self_weight), (50.0, 1.0, Some(5.0), 0.0));
    }

    #[test]
    fn negative_weights_are_kept_and_the_denominator_is_absolute() {
        let top = profile(&[(&["a"], 30.0, None), (&["b"], -10.0, None)]).top(0, GroupBy::Function);
        assert_eq!((top.total, top.denominator, top.samples), (20.0, 40.0, None));
        assert_eq!(top.rows[1].self_share, -0.25);
    }

    #[test]
    fn nothing_yields_no_share_instead_of_nan() {
        let top = profile(&[(&["a"], 0.0, Some(0))]).top(0, GroupBy::Function);
        assert!(top.rows.is_empty());
        assert_eq!(profile(&[]).top(0, GroupBy::Module).denominator, 0.0);
    }
}
