//! A warning: a value in a result, with a code and a remedy, never a print.

use serde::{Deserialize, Serialize};

/// Something to distrust, with what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Warning {
    /// Short fixed code, kebab case: `clock-coarse`.
    pub code: String,
    /// What was seen, in one sentence.
    pub message: String,
    /// What to do about it, in one sentence.
    pub remedy: String,
}
