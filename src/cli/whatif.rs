//! `primitives whatif`: what an operation would take with another primitive.

use std::io::Write;
use std::time::Duration;

use anyhow::{Context, bail};

use super::{Outcome, progress, select};
use crate::harness::count::count;
use crate::harness::explain::{Settings, explain};
use crate::harness::whatif::{Effect, faster, implementations, swapped};
use crate::report::effect::table;
use crate::workload::{Suite, Workload, WorkloadError};

#[derive(clap::Args)]
pub(super) struct Args {
    /// Operations: `create_group/8`, or `create_group` for every listed N
    #[arg(required = true)]
    operations: Vec<String>,
    /// A primitive and how many times faster it gets: x25519_dh=2
    #[arg(long, value_name = "PRIMITIVE=FACTOR", value_parser = factor)]
    faster: Vec<(String, f64)>,
    /// A primitive and the implementation to swap in and measure: x25519_dh=5x51
    #[arg(long, value_name = "PRIMITIVE=NAME", value_parser = pair)]
    implementation: Vec<(String, String)>,
    /// Thread CPU time for the rounds of each measurement, in seconds
    #[arg(long, default_value_t = 20.0, value_parser = super::seconds, allow_negative_numbers = true)]
    budget: f64,
    /// Seed of inputs and orders
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, suite: &Suite) -> anyhow::Result<Outcome> {
    let operations = select::operations(suite, &args.operations)?;
    let settings = Settings { seed: args.seed, budget: Duration::from_secs_f64(args.budget), ..Settings::default() };
    if args.faster.is_empty() && args.implementation.is_empty() {
        bail!("say what changes: --faster PRIMITIVE=FACTOR or --implementation PRIMITIVE=NAME");
    }
    for operation in &operations {
        refuse_unknown(operation, &args.implementation, args.seed)?;
    }
    let mut effects = Vec::new();
    for operation in &operations {
        effects.extend(effects_on(operation, suite, args, &settings));
    }
    let mut out = std::io::stdout().lock();
    if args.json {
        let (effects, errors): (Vec<_>, Vec<_>) = effects.iter().map(Result::as_ref).partition(|one| one.is_ok());
        let effects: Vec<&Effect> = effects.into_iter().flatten().collect();
        let errors: Vec<String> = errors.into_iter().filter_map(Result::err).map(ToString::to_string).collect();
        let json = serde_json::json!({ "effects": effects, "errors": errors });
        writeln!(out, "{}", serde_json::to_string_pretty(&json).context("effects as JSON")?)?;
    } else {
        write!(out, "{}", table(&effects))?;
    }
    Ok(super::failed_rows(&effects))
}

fn effects_on(
    operation: &Workload,
    suite: &Suite,
    args: &Args,
    settings: &Settings,
) -> Vec<Result<Effect, WorkloadError>> {
    let mut effects = Vec::new();
    // Counting is quick: what is never called is refused before anything is measured.
    let called = match count(operation, settings.seed, settings.iterations) {
        Ok(counts) => counts,
        Err(error) => return vec![Err(error)],
    };
    let is_called = |primitive: &str| called.of(primitive).is_some_and(|one| one.mean > 0.0);
    let (faster_ones, never): (Vec<_>, Vec<_>) = args.faster.iter().partition(|(primitive, _)| is_called(primitive));
    let refused = |primitive: &String| Err(operation.error(format!("it never calls {primitive:?}")));
    effects.extend(never.into_iter().map(|(primitive, _)| refused(primitive)));
    if !faster_ones.is_empty() {
        let bar = progress::bar(&operation.name);
        let explained = explain(suite, operation, settings, &mut |done| bar.set(done));
        bar.finish();
        match explained {
            Ok(explanation) => effects.extend(faster_ones.into_iter().map(|(primitive, factor)| {
                faster(&explanation, primitive, *factor).ok_or_else(|| operation.error("it was not timed"))
            })),
            Err(error) => effects.push(Err(error)),
        }
    }
    for (primitive, implementation) in &args.implementation {
        let bar = progress::bar(&format!("{} with {implementation}", operation.name));
        let change = (primitive.as_str(), implementation.as_str());
        let effect = swapped(suite, operation, change, settings, &mut |done| bar.set(done));
        bar.finish();
        effects.push(effect);
    }
    effects
}

/// An implementation that none of the operation's calls has is the call's fault: said before anything is measured.
fn refuse_unknown(operation: &Workload, changes: &[(String, String)], seed: u64) -> anyhow::Result<()> {
    if changes.is_empty() {
        return Ok(());
    }
    let offered = implementations(operation, seed)?;
    let known = |primitive: &String, implementation: &str| {
        offered.iter().any(|(name, names)| name == primitive && names.contains(&implementation))
    };
    let Some((primitive, implementation)) = changes.iter().find(|(primitive, name)| !known(primitive, name)) else {
        return Ok(());
    };
    let mut message = format!("{primitive} has no implementation {implementation:?}");
    let offers: Vec<String> = offered
        .iter()
        .flat_map(|(primitive, names)| names.iter().map(move |name| format!("{primitive}={name}")))
        .collect();
    if !offers.is_empty() {
        message += &format!("; there are {}", offers.join(", "));
    }
    Err(operation.error(message).into())
}

fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() && !value.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("expected PRIMITIVE=VALUE".to_owned()),
    }
}

fn factor(text: &str) -> Result<(String, f64), String> {
    let (name, factor) = pair(text)?;
    match factor.parse::<f64>() {
        Ok(factor) if factor > 0.0 && factor.is_finite() => Ok((name, factor)),
        _ => Err(format!("expected a factor above 0, found {factor:?}")),
    }
}
