//! nanobench's JSON template: epochs with iterations and seconds for one iteration, divided by `batch`.

use serde_json::Value;

use super::Results;
use super::json::Node;
use super::units::Base;
use crate::import::ImportError;

pub(super) fn detect(document: &Value) -> bool {
    document["results"]
        .as_array()
        .is_some_and(|results| results.iter().any(|result| result.get("median(elapsed)").is_some()))
}

/// Reads the document. `elapsed` is seconds for one iteration; an iteration works on `batch` units, and the
/// figure is for one unit, as nanobench prints it.
pub(super) fn read(document: &Value) -> Result<Results, ImportError> {
    let mut results = Results { harness: "nanobench".into(), ..Results::default() };
    for result in Node::root("nanobench", document).need("results")?.items()? {
        let (title, name) = (result.get("title"), result.need("name")?.text()?);
        let full = match title.map(|title| title.fact()).filter(|title| !title.is_empty() && title != "benchmark") {
            Some(title) => format!("{title}/{name}"),
            None => name.to_owned(),
        };
        let batch = result.get("batch").map_or(Ok(1.0), |batch| batch.amount())?;
        if batch <= 0.0 {
            return Err(result.error(format!("batch {batch}"), "a batch above zero"));
        }
        let unit = result.get("unit").map_or("op".to_owned(), |unit| unit.fact());
        let benchmark = results.entry(&full);
        let time = benchmark.metric_mut("time", Base::Nanoseconds, &format!("s/{unit}"));
        time.state("median", result.need("median(elapsed)")?.number()? / batch * 1e9);
        for epoch in result.get("measurements").map_or(Ok(Vec::new()), |node| node.items())? {
            let iterations = epoch.get("iterations").map(|n| n.amount()).transpose()?.map(|n| n as u64);
            let elapsed = epoch.need("elapsed")?.amount()? / batch * 1e9;
            benchmark.metric_mut("time", Base::Nanoseconds, "s").push(elapsed, iterations, 0);
            for (key, name) in
                [("instructions", "instructions"), ("cpucycles", "cycles"), ("branchinstructions", "branches")]
            {
                // Zero means that the machine has no such counter.
                if let Some(count) = epoch.get(key).map(|n| n.amount()).transpose()?.filter(|count| *count > 0.0) {
                    benchmark.metric_mut(name, Base::Count(name.into()), key).push(count / batch, iterations, 0);
                }
            }
        }
    }
    Ok(results)
}
