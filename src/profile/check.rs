//! Whether a profile holds together: every index in range, parents before children, a weight for each type.

use super::Profile;

/// The first inconsistency found in a profile.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} {index} {broken}")]
pub struct Inconsistent {
    /// What kind of thing: `stack`, `sample`.
    pub what: &'static str,
    /// Which one, from 0.
    pub index: usize,
    /// What is wrong with it.
    pub broken: &'static str,
}

impl Profile {
    /// Checks the profile's own rules, which every reader and sampler must keep.
    ///
    /// # Errors
    /// The first rule broken.
    pub fn check(&self) -> Result<(), Inconsistent> {
        let fail = |what, index, broken| Err(Inconsistent { what, index, broken });
        if self.default_weight >= self.weight_types.len() {
            return fail("default weight", self.default_weight, "does not exist");
        }
        for (index, stack) in self.stacks.iter().enumerate() {
            if stack.frame.0 as usize >= self.frames.len() {
                return fail("stack", index, "has a frame that does not exist");
            }
            if stack.parent.is_some_and(|parent| parent.0 as usize >= index) {
                return fail("stack", index, "comes before its parent");
            }
        }
        for (index, sample) in self.samples.iter().enumerate() {
            if sample.stack.is_some_and(|stack| stack.0 as usize >= self.stacks.len()) {
                return fail("sample", index, "has a stack that does not exist");
            }
            if sample.thread.is_some_and(|thread| thread.0 as usize >= self.threads.len()) {
                return fail("sample", index, "has a thread that does not exist");
            }
            if sample.weights.len() != self.weight_types.len() {
                return fail("sample", index, "does not have one weight for each type");
            }
            if sample.weights.iter().any(|weight| !weight.is_finite()) {
                return fail("sample", index, "has a weight that is not a number");
            }
        }
        // Shares are of the sum of absolute values: where that overflows, each of them would be zero.
        for weight in 0..self.weight_types.len() {
            if !self.samples.iter().map(|sample| sample.weights[weight].abs()).sum::<f64>().is_finite() {
                return fail("weight", weight, "adds up to more than a number can hold");
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::profile::{Builder, Frame, StackId, StackSample, WeightType};

    #[test]
    fn each_rule_is_checked() {
        let mut builder = Builder::new(vec![WeightType { name: "samples".into(), unit: "count".into() }]);
        let frame = builder.frame(Frame { function: "f".into(), ..Frame::default() });
        let stack = builder.stack_of([frame, frame]);
        builder.sample(StackSample { stack, thread: None, time_ns: None, count: Some(1), weights: vec![1.0] });
        let good = builder.finish();
        assert_eq!(good.check(), Ok(()));
        let mut broken = good.clone();
        broken.stacks[0].parent = Some(StackId(1));
        assert_eq!(broken.check().unwrap_err().to_string(), "stack 0 comes before its parent");
        let mut broken = good.clone();
        broken.samples[0].weights[0] = f64::NAN;
        assert!(broken.check().is_err());
        let mut broken = good.clone();
        broken.samples[0].weights[0] = 1e308;
        assert_eq!(broken.check(), Ok(()));
        broken.samples.push(broken.samples[0].clone());
        assert_eq!(broken.check().unwrap_err().to_string(), "weight 0 adds up to more than a number can hold");
        let mut broken = good.clone();
        broken.samples[0].weights.clear();
        assert!(broken.check().is_err());
        let mut broken = good;
        broken.frames.clear();
        assert!(broken.check().is_err());
    }
}
