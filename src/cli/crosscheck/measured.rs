//! Profiles taken now, by the samplers asked for.

use anyhow::{Context, bail};

use super::Args;
use crate::sampler::{self, Overhead, Request, Sampler};
use crate::unit::{Nanos, Share};
use crate::warning::Warning;
use crate::workload::Suite;

/// A profile of the operation from each sampler, and what to distrust about them.
pub(super) fn profiles(args: &Args, suite: &Suite, operation: &str) -> anyhow::Result<super::Sampled> {
    let Some(workload) = suite.resolve(operation) else {
        bail!("there is no operation {operation:?} to sample; name stored profiles with --profile");
    };
    let mut profiles = Vec::new();
    let mut warnings = Vec::new();
    for sampler in chosen(args)? {
        let request = Request { sampler, hz: args.hz, cpu: Nanos(args.cpu_seconds * 1e9), overhead: Overhead::Measure };
        let recording =
            sampler::record(&workload, args.seed, &request).with_context(|| format!("sampling {operation}"))?;
        let mut profile = recording.profile;
        if let Some(overhead) = recording.overhead {
            profile.provenance.facts.insert("overhead".to_owned(), Share(overhead.point).to_string());
        }
        let named = |warning: Warning| Warning { message: format!("{sampler}: {}", warning.message), ..warning };
        // What diagnosis says better, with its evidence, is not said twice.
        let said = ["rate-low", "off-cpu", "no-symbols"];
        warnings.extend(recording.warnings.into_iter().filter(|one| !said.contains(&one.code.as_str())).map(named));
        profiles.push((sampler.name().to_owned(), profile));
    }
    Ok((profiles, warnings))
}

/// The samplers asked for; where none is, each that works here and is cheap.
fn chosen(args: &Args) -> anyhow::Result<Vec<Sampler>> {
    if !args.sampler.is_empty() {
        return Ok(args.sampler.clone());
    }
    let cheap = Sampler::ALL.into_iter().filter(|sampler| *sampler != Sampler::PerfDwarf);
    let (here, missing): (Vec<_>, Vec<_>) =
        cheap.map(|sampler| (sampler, sampler.available())).partition(|(_, able)| able.is_ok());
    for (_, error) in &missing {
        if let Err(error) = error {
            eprintln!("left out: {error}");
        }
    }
    if here.is_empty() {
        bail!("no sampler works here; name a stored profile with --profile");
    }
    Ok(here.into_iter().map(|(sampler, _)| sampler).collect())
}
