//! Prints the exam of V8's sampler.

use super::columns::{Form, table};
use crate::runner::node_exam::{Case, NodeExam};
use crate::unit::Share;

/// The exam as text or Markdown.
pub fn text(exam: &NodeExam, form: Form) -> String {
    let headers = ["case", "samples", "delivered", "light", "true", "heavy", "true", "on the caller", "finding"];
    let mut out = table(form, &headers, &exam.cases.iter().map(row).collect::<Vec<_>>(), 1);
    for skipped in &exam.skipped {
        out.push_str(&format!("skipped: {}: {}\n", skipped.name, skipped.why));
    }
    out.push_str(&format!(
        "\nNode {}, --cpu-prof at 1 ms; self shares among the samples under `mixed`, which calls heavy three times for one light.\n\
         True shares: calls × the cost of one call, timed alone. Where callees are inlined the sampler has no frame for them.\n",
        exam.node
    ));
    out
}

fn row(case: &Case) -> Vec<String> {
    let mut row = vec![case.name.clone(), case.samples.to_string(), format!("{:.2}", case.delivered)];
    for (_, truth, sampled) in &case.functions {
        row.extend([Share(*sampled).to_string(), Share(*truth).to_string()]);
    }
    row.push(Share(case.caller).to_string());
    row.push(if case.is_blind() {
        "callees unseen".to_owned()
    } else {
        format!("off by at most {}", Share(case.largest_error()))
    });
    row
}
