//! The counts file: what somebody knows about an operation of their own program, written as TOML.
//!
//! It names operations, how often each calls its primitives, which frames of a profile belong to which
//! primitive, and optionally measured totals, unit costs, and dose tables. With benchmark results for the
//! costs it becomes an [`Explanation`], against which any profile can be judged.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::result::{Results, units};
use crate::crosscheck::explanation::{Explained, Explanation, FramePattern};
use crate::crosscheck::pattern::{Matcher, PatternError};
use crate::nearest;
use crate::profile::{Frame, FrameKind, Profile};
use crate::stats::{Estimate, fit};
use crate::warning::Warning;

/// The version of the format that is written and read.
pub const VERSION: u32 = 1;

/// A counts file as written. Times are strings with their unit: `"579 us"`, `"14 ms"`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CountsFile {
    /// Version of the format: 1.
    pub version: u32,
    /// The operations.
    #[serde(default, rename = "operation")]
    pub operations: Vec<Operation>,
}

/// One operation.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Operation {
    /// Its name.
    pub name: String,
    /// Measured time of one execution.
    pub time: Option<Time>,
    /// The benchmark in the cost files that measures it, instead of `time`.
    pub time_of: Option<String>,
    /// Frames of the operation: only stacks with one of them count. None: all stacks.
    #[serde(default)]
    pub scope: Vec<Pattern>,
    /// Its primitives.
    #[serde(default, rename = "primitive")]
    pub primitives: Vec<Primitive>,
}

/// One primitive of an operation.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Primitive {
    /// Its name.
    pub name: String,
    /// Calls per operation that are not nested in another primitive.
    pub count: f64,
    /// Calls per operation nested in other primitives, by parent.
    #[serde(default)]
    pub nested: BTreeMap<String, f64>,
    /// Cost of one call.
    pub cost: Option<Time>,
    /// The benchmark in the cost files that measures it; without it, a benchmark of the primitive's name.
    pub cost_of: Option<String>,
    /// Lowest and highest cost of one call: in a tight loop, chained, with cold caches.
    pub cost_band: Option<[Time; 2]>,
    /// The frames that belong to it.
    #[serde(default)]
    pub frames: Vec<Pattern>,
    /// Operation times with `k` extra executions at each call, 0 included.
    #[serde(default)]
    pub dose: Vec<Dose>,
    /// Operation time where recorded outputs are returned instead of computing.
    pub replayed: Option<Time>,
    /// A rewrite of the primitive, with the time of something that calls it before and after.
    pub rewrite: Option<Rewrite>,
}

/// One line of a dose table.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dose {
    /// Extra executions at each call; may be a fraction where several calls share one.
    pub k: f64,
    /// Time of the operation.
    pub time: Time,
}

/// What a rewrite of a primitive changed.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rewrite {
    /// Time before.
    pub before: Time,
    /// Time after.
    pub after: Time,
    /// What was timed, where it is not the operation itself.
    pub of: Option<String>,
}

/// A time as written: a string with its unit, or one with an interval.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(
    untagged,
    expecting = "expected a time with its unit, \"579 us\", or { value = \"…\", low = \"…\", high = \"…\" }"
)]
pub enum Time {
    /// `"579 us"`.
    Point(String),
    /// `{ value = "579 us", low = "570 us", high = "588 us" }`.
    Interval {
        /// The figure.
        value: String,
        /// Lower end of its 95 % interval.
        low: String,
        /// Upper end.
        high: String,
    },
}

/// A frame pattern as written: a bare string is a glob over the function name.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(
    untagged,
    expecting = "expected a glob, \"*::mul\", or one of { exact = \"…\" }, { glob = \"…\" }, { regex = \"…\" }, \
                 { module = \"…\" }, { module_regex = \"…\" }"
)]
pub enum Pattern {
    /// `"com.example.*::mul"`.
    Glob(String),
    /// `{ exact = … }`, `{ glob = … }`, `{ regex = … }`, `{ module = … }`, `{ module_regex = … }`.
    Tagged(FramePattern),
}

/// Why a counts file cannot be used.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CountsError {
    /// Not TOML of the expected shape; the message shows the line.
    #[error("{0}")]
    Toml(String),
    /// A newer format.
    #[error("version: found {found}; expected {VERSION}")]
    Version {
        /// The version in the file.
        found: u32,
    },
    /// A value that cannot be meant.
    #[error("{place}: found {found}; expected {expected}")]
    Value {
        /// Where: `operation "a", primitive "b", cost`.
        place: String,
        /// What is there.
        found: String,
        /// What should be there.
        expected: String,
    },
    /// A frame pattern that does not compile.
    #[error(transparent)]
    Pattern(#[from] PatternError),
}

/// An operation that profiles can be judged against.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// What is known without a sampler.
    pub explanation: Explanation,
    /// Frames of the operation; empty: all stacks.
    pub scope: Vec<FramePattern>,
}

/// Reads a counts file.
///
/// # Errors
/// With the line for anything that is not the format; with the place for values that cannot be meant.
pub fn read(text: &str) -> Result<CountsFile, CountsError> {
    // The version comes first: a newer file may have members that are unknown here.
    if let Ok(table) = text.parse::<toml::Table>()
        && let Some(version) = table.get("version").and_then(toml::Value::as_integer)
        && version != i64::from(VERSION)
    {
        return Err(CountsError::Version { found: u32::try_from(version).unwrap_or(u32::MAX) });
    }
    let file: CountsFile =
        toml::from_str(text).map_err(|error| CountsError::Toml(error.to_string().trim_end().into()))?;
    if file.operations.is_empty() {
        let (place, found) = ("the file".to_owned(), "no operation".to_owned());
        return Err(CountsError::Value { place, found, expected: "at least one [[operation]]".into() });
    }
    Ok(file)
}

/// Fills an explanation for each operation of the file, with costs from these results where the file does
/// not state them.
///
/// # Errors
/// For a benchmark that is named and absent or ambiguous, a time without a unit, a count below zero, two
/// primitives of one name, a dose table with one line, and patterns that do not compile.
pub fn cases(file: &CountsFile, costs: &[Results]) -> Result<Vec<Case>, CountsError> {
    file.operations.iter().map(|operation| case(operation, costs)).collect()
}

fn case(operation: &Operation, costs: &[Results]) -> Result<Case, CountsError> {
    let place = format!("operation {:?}", operation.name);
    let mut warnings = Vec::new();
    let time_ns = match (&operation.time, &operation.time_of) {
        (Some(_), Some(_)) => return Err(value(&place, "both `time` and `time_of`", "one of them")),
        (Some(time), None) => Some(nanoseconds(time, &format!("{place}, time"))?),
        (None, Some(name)) => Some(named(name, costs, &format!("{place}, time_of"))?),
        (None, None) => {
            warnings.push(warning(
                "no-time",
                "the operation's time is not given, so no share of it is known",
                "add `time = \"…\"` or `time_of = \"…\"` to the operation",
            ));
            None
        }
    };
    let mut explained = Vec::new();
    let mut causal_valid = true;
    for primitive in &operation.primitives {
        let place = format!("{place}, primitive {:?}", primitive.name);
        if explained.iter().any(|other: &Explained| other.primitive == primitive.name) {
            return Err(value(&place, "a second primitive of this name", "one entry a primitive"));
        }
        explained.push(explain(primitive, time_ns, costs, &place, &mut warnings)?);
        causal_valid &= undosed_agrees(primitive, time_ns, &place, &mut warnings)?;
    }
    let uncounted = |p: &&Primitive| p.count == 0.0 && p.nested.is_empty();
    let never: Vec<&str> = operation.primitives.iter().filter(uncounted).map(|p| p.name.as_str()).collect();
    if !never.is_empty() && never.len() == operation.primitives.len() {
        return Err(value(
            &place,
            "the count 0 for every primitive",
            "how often the operation calls at least one of them",
        ));
    }
    if !never.is_empty() {
        let (names, verb) = (never.join(", "), if never.len() == 1 { "has" } else { "have" });
        warnings.push(warning(
            "count-zero",
            format!("{names}: {verb} the count 0, so no samples are expected there"),
            "fill in how often the operation calls it, or delete an entry that is no primitive",
        ));
    }
    let scope: Vec<FramePattern> = operation.scope.iter().map(Pattern::compiled_form).collect();
    for pattern in &scope {
        Matcher::new("scope", pattern)?;
    }
    let explanation = Explanation {
        operation: operation.name.clone(),
        time_ns,
        primitives: explained,
        dose_all_ns: None,
        replay_all_ns: None,
        causal_valid,
        warnings,
    };
    Ok(Case { explanation, scope })
}

fn explain(
    primitive: &Primitive,
    time_ns: Option<Estimate>,
    costs: &[Results],
    place: &str,
    warnings: &mut Vec<Warning>,
) -> Result<Explained, CountsError> {
    for count in std::iter::once(&primitive.count).chain(primitive.nested.values()) {
        if !count.is_finite() || *count < 0.0 {
            return Err(value(&format!("{place}, count"), count, "zero or more"));
        }
    }
    let frames: Vec<FramePattern> = primitive.frames.iter().map(Pattern::compiled_form).collect();
    for pattern in &frames {
        Matcher::new(&primitive.name, pattern)?;
    }
    let unit_cost_ns = match (&primitive.cost, &primitive.cost_of) {
        (Some(_), Some(_)) => return Err(value(place, "both `cost` and `cost_of`", "one of them")),
        (Some(cost), None) => Some(nanoseconds(cost, &format!("{place}, cost"))?),
        (None, Some(name)) => Some(named(name, costs, &format!("{place}, cost_of"))?),
        (None, None) => find(&primitive.name, costs).ok(),
    };
    let band = primitive.cost_band.as_ref().map(|[low, high]| {
        let place = format!("{place}, cost_band");
        Ok::<_, CountsError>((nanoseconds(low, &place)?.point, nanoseconds(high, &place)?.point))
    });
    let dose_ns = dose(&primitive.dose, place)?;
    let replay_ns = match (&primitive.replayed, time_ns) {
        (Some(replayed), Some(time)) => Some(difference(time, nanoseconds(replayed, &format!("{place}, replayed"))?)),
        _ => None,
    };
    if let Some(rewrite) = &primitive.rewrite {
        warnings.push(weigh_rewrite(primitive, rewrite, place)?);
    }
    if unit_cost_ns.is_none() && dose_ns.is_none() && replay_ns.is_none() && primitive.count > 0.0 {
        let names = costs.iter().flat_map(|results| &results.benchmarks).map(|benchmark| benchmark.name.as_str());
        let message = match &nearest::nearest(&primitive.name, names)[..] {
            [] => format!("{}: neither a unit cost nor a dose is known, so its share has no reference", primitive.name),
            names => format!(
                "{}: neither a unit cost nor a dose is known, so its share has no reference; of the benchmarks, {} {} most like it",
                primitive.name,
                names.join(", "),
                if names.len() == 1 { "is" } else { "are" }
            ),
        };
        let remedy = "benchmark it and name the row with `cost_of`, or time the operation with extra executions and add a dose table";
        warnings.push(warning("no-reference", message, remedy));
    }
    Ok(Explained {
        primitive: primitive.name.clone(),
        count: primitive.count,
        nested: primitive.nested.clone().into_iter().collect(),
        predicted_ns: unit_cost_ns.map(|cost| cost.scaled(primitive.count)),
        unit_cost_ns,
        cost_band_ns: band.transpose()?,
        dose_ns,
        replay_ns,
        trace_ns: None,
        frames,
    })
}

/// The slope of operation time over extra executions at each call: what the operation's own executions cost.
fn dose(table: &[Dose], place: &str) -> Result<Option<Estimate>, CountsError> {
    if table.is_empty() {
        return Ok(None);
    }
    let place = format!("{place}, dose");
    let mut points = Vec::new();
    for line in table {
        if !line.k.is_finite() || line.k < 0.0 {
            return Err(value(&place, format!("k = {}", line.k), "zero or more extra executions"));
        }
        points.push((line.k, nanoseconds(&line.time, &place)?.point));
    }
    let fitted = fit::line(&points, fit::Weighting::Equal);
    let fitted = fitted.ok_or_else(|| value(&place, "one value of k", "times at two or more values of k"))?;
    Ok(Some(fitted.slope))
}

/// Whether dose 0 costs what the operation costs without a dose, within 5 % or the intervals.
fn undosed_agrees(
    primitive: &Primitive,
    time_ns: Option<Estimate>,
    place: &str,
    warnings: &mut Vec<Warning>,
) -> Result<bool, CountsError> {
    let (Some(time), Some(zero)) = (time_ns, primitive.dose.iter().find(|line| line.k == 0.0)) else {
        return Ok(true);
    };
    let zero = nanoseconds(&zero.time, &format!("{place}, dose"))?;
    let within = (zero.point / time.point - 1.0).abs() <= 0.05
        || (time.low.is_some_and(|low| low <= zero.point) && time.high.is_some_and(|high| zero.point <= high));
    if !within {
        let [zero, time] = [zero.point, time.point].map(crate::unit::Nanos);
        warnings.push(warning(
            "dose-zero-differs",
            format!(
                "{}: at dose 0 the operation took {zero}, without a dose {time}; the doses are no reference",
                primitive.name
            ),
            "measure the operation's time and its doses in one run, interleaved",
        ));
    }
    Ok(within)
}

/// A rewrite bounds how much cheaper the primitive became, never what it costs.
fn weigh_rewrite(primitive: &Primitive, rewrite: &Rewrite, place: &str) -> Result<Warning, CountsError> {
    let place = format!("{place}, rewrite");
    let (before, after) = (nanoseconds(&rewrite.before, &place)?.point, nanoseconds(&rewrite.after, &place)?.point);
    let of = rewrite.of.as_deref().unwrap_or("the operation");
    let saved = crate::unit::Share(1.0 - after / before);
    let message = format!(
        "{}: a rewrite took {of} from {} to {}, a saving of {saved}. That says by how much the new code is cheaper, times \
         its share; it does not say its share. A primitive of any share saves nothing when its new form costs the same",
        primitive.name,
        crate::unit::Nanos(before),
        crate::unit::Nanos(after)
    );
    Ok(warning(
        "rewrite-is-no-dose",
        message,
        "execute it twice at each call and time that (a dose), or time old and new form alone",
    ))
}

fn difference(whole: Estimate, without: Estimate) -> Estimate {
    let ends =
        |outer: Option<f64>, inner: Option<f64>| Some(outer.unwrap_or(whole.point) - inner.unwrap_or(without.point));
    let known = whole.low.is_some() || without.low.is_some();
    Estimate {
        point: whole.point - without.point,
        low: ends(whole.low, without.high).filter(|_| known),
        high: ends(whole.high, without.low).filter(|_| known),
    }
}

fn nanoseconds(time: &Time, place: &str) -> Result<Estimate, CountsError> {
    let parse = |text: &str| {
        let wrong = || value(place, format!("{text:?}"), "a time with its unit, such as \"579 us\" or \"1.2 ms\"");
        units::duration(text).filter(|ns| ns.is_finite() && *ns >= 0.0).ok_or_else(wrong)
    };
    Ok(match time {
        Time::Point(text) => Estimate::point(parse(text)?),
        Time::Interval { value: text, low, high } => {
            let (point, low, high) = (parse(text)?, parse(low)?, parse(high)?);
            if !(low <= point && point <= high) {
                return Err(value(place, format!("{low} to {high} ns around {point} ns"), "low ≤ value ≤ high"));
            }
            Estimate::with_interval(point, low, high)
        }
    })
}

/// The time of the benchmark of this name: the full name, or the end of just one full name.
fn find(name: &str, costs: &[Results]) -> Result<Estimate, String> {
    let all = || costs.iter().flat_map(|results| &results.benchmarks);
    let ends = |full: &str| full.strip_suffix(name).is_some_and(|rest| rest.ends_with(['/', '.', ':', ' ']));
    let mut found: Vec<_> = all().filter(|benchmark| benchmark.name == name).collect();
    if found.is_empty() {
        found = all().filter(|benchmark| ends(&benchmark.name)).collect();
    }
    match &found[..] {
        [one] => one.time_ns().ok_or_else(|| match &one.failure {
            Some(failure) => format!("{:?}, which failed: {failure}", one.name),
            None => format!("{:?}, which has no time", one.name),
        }),
        [] if all().next().is_none() => Err("no cost file (pass --costs)".to_owned()),
        [] => {
            let names = all().map(|benchmark| benchmark.name.as_str());
            Err(format!("none of this name; {}", nearest::phrase(name, names, "and none like it")))
        }
        several => Err(format!(
            "{} of this name: {}",
            several.len(),
            several.iter().map(|b| b.name.as_str()).collect::<Vec<_>>().join(", ")
        )),
    }
}

fn named(name: &str, costs: &[Results], place: &str) -> Result<Estimate, CountsError> {
    find(name, costs).map_err(|found| value(place, found, format!("one benchmark {name:?} in the cost files")))
}

impl Pattern {
    fn compiled_form(&self) -> FramePattern {
        match self {
            Pattern::Glob(text) => FramePattern::Glob(text.clone()),
            Pattern::Tagged(pattern) => pattern.clone(),
        }
    }
}

fn value(place: &str, found: impl ToString, expected: impl Into<String>) -> CountsError {
    CountsError::Value { place: place.to_owned(), found: found.to_string(), expected: expected.into() }
}

fn warning(code: &str, message: impl Into<String>, remedy: impl Into<String>) -> Warning {
    Warning { code: code.to_owned(), message: message.into(), remedy: remedy.into() }
}

/// Frames that a template lists.
const TEMPLATE_FRAMES: usize = 12;

/// A commented counts file to start from, with the profile's heaviest functions as primitives to be filled in.
///
/// A function that is the leaf of little but under which much lies is offered too: op counts are kept of
/// outermost calls. What a function name contains is quoted, so that any name gives a valid file.
pub fn template(profile: &Profile) -> String {
    let weight = profile.default_weight;
    let total: f64 = profile.samples.iter().filter_map(|s| s.weights.get(weight)).map(|w| w.abs()).sum();
    let by = profile.by(weight, |frame: &Frame| (frame.kind != FrameKind::Synthetic, frame.function.clone()));
    let mut heavy: Vec<_> = by.into_iter().filter(|((real, name), _)| *real && !name.is_empty()).collect();
    heavy.sort_by(|(a, x), (b, y)| y.self_weight.total_cmp(&x.self_weight).then_with(|| a.cmp(b)));
    let unit = profile.weight_types.get(weight).map_or("samples".to_owned(), |w| format!("{} ({})", w.name, w.unit));
    let mut out = format!(
        "# What is known about the program without a sampler. Fill in the counts, delete what is no primitive,\n\
         # then: primitives crosscheck --profile PROFILE --costs RESULTS --counts THIS_FILE\n\
         # Times are strings with a unit. Shares below are of {unit} in the profile: the claim to be checked.\n\
         version = {VERSION}\n\n\
         [[operation]]\n\
         name = \"operation\"          # what one execution is\n\
         # time = \"14 ms\"            # measured without a profiler; or the benchmark that measures it:\n\
         # time_of = \"bench name\"\n\
         # scope = [\"*operation*\"]   # count only stacks with such a frame\n\n\
         # Patterns of frames: a bare string is a glob over the function name; {{ exact = … }}, {{ regex = … }},\n\
         # {{ module = … }} and {{ module_regex = … }} are the others. The outermost primitive on a stack gets it.\n",
        unit = unit.escape_debug(),
    );
    for ((_, name), weights) in heavy.iter().take(TEMPLATE_FRAMES).filter(|(_, w)| w.self_weight > 0.0) {
        let share = |weight: f64| crate::unit::Share(weight / total);
        let quoted = toml::Value::String(name.clone());
        out.push_str(&format!(
            "\n[[operation.primitive]]      # self {}, with what it calls {}\nname = {quoted}\n\
             count = 0                    # calls per operation\n# cost = \"1.5 us\"             # of one call; or the benchmark that measures it:\n\
             # cost_of = \"bench name\"\nframes = [{{ exact = {quoted} }}]\n\
             # dose = [{{ k = 0, time = \"14 ms\" }}, {{ k = 1, time = \"15 ms\" }}]   # operation with k extra executions at each call\n",
            share(weights.self_weight),
            share(weights.total_weight),
        ));
    }
    out
}

#[cfg(test)]
mod tests;
