//! Prints the JVM story: facts, readings, and what follows from them, each sentence from the figures beside it.

use super::columns::{Form, table};
use crate::runner::story::{Fact, Reading, Story};
use crate::stats::Estimate;
use crate::unit::{Nanos, Share};

/// A sampled share that misses the dose's by more than this is called misleading.
pub const MARGIN: f64 = 0.05;

/// The story as text or Markdown.
pub fn text(story: &Story, form: Form) -> String {
    let title = |text: &str| if form == Form::Markdown { format!("\n## {text}\n\n") } else { format!("\n{text}\n\n") };
    let mut out = conclusion(story);
    out.push_str(&title("Without a sampler"));
    let facts: Vec<_> = story.facts.iter().map(fact).collect();
    let headers = [
        "product",
        "carry",
        "products",
        "carries",
        "ladder",
        "carry by dose",
        "product by dose",
        "first step",
        "time × branch",
    ];
    out.push_str(&table(form, &headers, &facts, 2));
    out.push_str(&format!(
        "\nX25519 on 16 limbs; {} fresh JVMs a variant (JDK {}), the 5 % quantile of each. Doses: extra executions at each multiplication,\n\
         slope over one to three; `first step` is the step from none to one over that slope.\n",
        story.rounds, story.java
    ));
    out.push_str(&title("What the flight recordings said"));
    let readings: Vec<_> = story.readings.iter().map(|reading| row(story, reading)).collect();
    let headers =
        ["product", "carry", "configuration", "samples", "delivered", "carry", "by dose", "off by", "product", "rest"];
    out.push_str(&table(form, &headers, &readings, 3));
    out.push_str(
        "\nShares of execution samples by innermost frame, with Wilson's interval. `delivered` is samples over CPU time ÷ period;\n\
         JDK 17 samples by wall clock and skips threads that it cannot walk.\n",
    );
    out
}

fn conclusion(story: &Story) -> String {
    let mut out = String::new();
    let misled = story.misled(MARGIN);
    out.push_str(&format!(
        "{} of {} recordings give the carry a share that its dose refutes by more than {} points.\n",
        misled.len(),
        story.readings.len(),
        MARGIN * 100.0
    ));
    out.push_str(&by_configuration(story));
    for product in ["straight", "loop"] {
        let (Some(branch), Some(peeled)) = (story.fact(product, "branch"), story.fact(product, "peeled")) else {
            continue;
        };
        let read = |carry: &str| story.reading(product, carry, "G1").and_then(|reading| reading.carry_share);
        let (Some(before), Some(after)) = (read("branch"), read("peeled")) else { continue };
        out.push_str(&format!(
            "{product} product: by default (G1) the recording gives the carry {}, its dose {}.\n",
            Share(before.point),
            Share(branch.carry_share.point)
        ));
        if let Some(ratio) = peeled.over_branch {
            out.push_str(&format!(
                "  Peeling modulo and branch off changed the ladder's time by {}{}, and the recorded share from {} to {} (by dose from {} to {}).\n",
                signed(ratio.point - 1.0),
                interval(ratio),
                Share(before.point),
                Share(after.point),
                Share(branch.carry_share.point),
                Share(peeled.carry_share.point),
            ));
        }
        if let Some(ratio) = story.fact(product, "register").and_then(|fact| fact.over_branch) {
            out.push_str(&format!(
                "  Keeping the carry in a register changed it by {}{}.\n",
                signed(ratio.point - 1.0),
                interval(ratio)
            ));
        }
    }
    let rewritten: Vec<Estimate> = story.facts.iter().filter_map(|fact| fact.over_branch).collect();
    let gained = rewritten.iter().filter(|ratio| ratio.high.unwrap_or(ratio.point) < 1.0).count();
    out.push_str(&format!(
        "{gained} of {} rewrites of the carry gained time. The published rewrite gained nothing on its machine; that is a statement about the\n\
         two codes, and not about the share of the carry, which only a dose or a replay can tell.\n",
        rewritten.len()
    ));
    out
}

/// What one flag and the collector change, over all recordings: the largest miss, and whether samples vanish.
fn by_configuration(story: &Story) -> String {
    let flagged = |reading: &Reading| ["DebugNonSafepoints", "both"].iter().any(|f| reading.configuration.contains(f));
    let miss = |reading: &Reading| {
        let truth = story.fact(&reading.product, &reading.carry)?.carry_share;
        Some((reading.carry_share?.point - truth.point).abs())
    };
    let worst = |with_flag| {
        let chosen = story.readings.iter().filter(|reading| flagged(reading) == with_flag);
        chosen.filter_map(miss).reduce(f64::max)
    };
    let mut out = String::new();
    if let (Some(with), Some(without)) = (worst(true), worst(false)) {
        out.push_str(&format!(
            "With DebugNonSafepoints the recorded share of the carry misses the dose's by at most {:.1} points, without by up to {:.1}.\n",
            with * 100.0,
            without * 100.0
        ));
    }
    let delivered = |collector: &str| {
        let of = story.readings.iter().filter(|r| r.error.is_none() && r.configuration.starts_with(collector));
        let all: Vec<f64> = of.map(|reading| reading.delivered).collect();
        let (low, high) = (all.iter().copied().reduce(f64::min)?, all.iter().copied().reduce(f64::max)?);
        Some(format!("{low:.2} to {high:.2} under {collector}"))
    };
    let each: Vec<String> = ["G1", "Serial"].into_iter().filter_map(delivered).collect();
    if !each.is_empty() {
        out.push_str(&format!("Samples delivered, of those that the CPU time calls for: {}.\n", each.join(", ")));
    }
    out
}

fn signed(share: f64) -> String {
    format!("{}{}", if share >= 0.0 { "+" } else { "−" }, Share(share.abs()))
}

fn interval(ratio: Estimate) -> String {
    match (ratio.low, ratio.high) {
        (Some(low), Some(high)) => format!(" [{}, {}]", signed(low - 1.0), signed(high - 1.0)),
        _ => String::new(),
    }
}

fn share(estimate: Estimate) -> String {
    match estimate.half_width() {
        Some(half) => format!("{} ±{:.1}", Share(estimate.point), half * 100.0),
        None => Share(estimate.point).to_string(),
    }
}

fn fact(fact: &Fact) -> Vec<String> {
    vec![
        fact.product.clone(),
        fact.carry.clone(),
        fact.products.to_string(),
        fact.carries.to_string(),
        Nanos(fact.time_ns.point).to_string(),
        share(fact.carry_share),
        share(fact.product_share),
        format!("{:.2}", fact.first_step),
        fact.over_branch.map_or("1".to_owned(), |ratio| format!("{:.3}", ratio.point)),
    ]
}

fn row(story: &Story, reading: &Reading) -> Vec<String> {
    let truth = story.fact(&reading.product, &reading.carry).map(|fact| fact.carry_share);
    let off = reading.carry_share.zip(truth).map(|(sampled, truth)| (sampled.point - truth.point) * 100.0);
    let shown = |estimate: Option<Estimate>| estimate.map_or("—".to_owned(), share);
    let mut row = vec![reading.product.clone(), reading.carry.clone(), reading.configuration.clone()];
    if let Some(error) = &reading.error {
        row.extend([error.clone()]);
        row.resize(10, String::new());
        return row;
    }
    row.extend([
        reading.samples.to_string(),
        format!("{:.2}", reading.delivered),
        shown(reading.carry_share),
        truth.map_or("—".to_owned(), |truth| Share(truth.point).to_string()),
        off.map_or("—".to_owned(), |off| format!("{off:+.1}")),
        shown(reading.product_share),
        shown(reading.rest_share),
    ]);
    row
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flag_and_the_collectors_are_held_against_each_other() {
        let fact = Fact {
            product: "loop".into(),
            carry: "branch".into(),
            products: 1,
            carries: 2,
            time_ns: Estimate::point(1e6),
            carry_share: Estimate::point(0.4),
            product_share: Estimate::point(0.5),
            first_step: 1.0,
            over_branch: None,
        };
        let reading = |configuration: &str, carry: f64, delivered: f64| Reading {
            product: "loop".into(),
            carry: "branch".into(),
            configuration: configuration.into(),
            samples: 100,
            delivered,
            carry_share: Some(Estimate::point(carry)),
            product_share: None,
            rest_share: None,
            error: None,
        };
        let readings = vec![
            reading("G1", 0.9, 1.0),
            reading("G1, DebugNonSafepoints", 0.42, 0.9),
            reading("Serial", 0.0, 0.1),
            reading("Serial, both", 0.37, 0.8),
        ];
        let story = Story { java: "17".into(), rounds: 1, facts: vec![fact], readings };
        let text = by_configuration(&story);
        assert!(text.contains("at most 3.0 points, without by up to 50.0."), "{text}");
        assert!(text.contains("0.90 to 1.00 under G1, 0.10 to 0.80 under Serial."), "{text}");
    }
}
