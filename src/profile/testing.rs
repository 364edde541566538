//! Small profiles for tests.

use super::{Builder, Frame, Profile, StackSample, WeightType};

/// A profile of stacks, root first, each one sample with one weight of this name and unit.
pub(crate) fn stacks(name: &str, unit: &str, stacks: &[(&[&str], f64)]) -> Profile {
    let mut builder = Builder::new(vec![WeightType { name: name.into(), unit: unit.into() }]);
    for (stack, weight) in stacks {
        let frames: Vec<_> =
            stack.iter().map(|name| builder.frame(Frame { function: (*name).into(), ..Frame::default() })).collect();
        let stack = builder.stack_of(frames);
        builder.sample(StackSample { stack, thread: None, time_ns: None, count: Some(1), weights: vec![*weight] });
    }
    builder.finish()
}
