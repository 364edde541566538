//! Effects of another primitive as a table: prediction and fact side by side.

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, ContentArrangement, Table};

use super::with_interval;
use crate::harness::whatif::Effect;
use crate::stats::Estimate;
use crate::unit::Share;
use crate::warning::Warning;
use crate::workload::WorkloadError;

/// One row an effect; what failed is told below.
pub fn table(effects: &[Result<Effect, WorkloadError>]) -> String {
    let mut text = String::new();
    let rows: Vec<&Effect> = effects.iter().flatten().collect();
    if !rows.is_empty() {
        let mut table = Table::new();
        table.load_style(NOTHING).set_content_arrangement(ContentArrangement::Disabled);
        table.set_header([
            "operation",
            "time",
            "change",
            "calls",
            "predicted saving",
            "by dose",
            "measured",
            "at most",
        ]);
        for effect in &rows {
            table.add_row(row(effect));
        }
        for column in table.column_iter_mut().skip(3) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        text = format!("{}\n", table.trim_fmt());
        let mut warnings: Vec<&Warning> = rows.iter().flat_map(|effect| &effect.warnings).collect();
        warnings.dedup();
        text.extend(warnings.into_iter().map(super::warning));
    }
    for error in effects.iter().filter_map(|effect| effect.as_ref().err()) {
        text += &format!("{error}\n");
    }
    text
}

fn row(effect: &Effect) -> Vec<String> {
    let time = effect.time_ns.point;
    let saving = |saving: Option<Estimate>| match saving {
        Some(saving) => format!("{} = {}", with_interval(saving), Share(saving.point / time)),
        None => "—".to_owned(),
    };
    let mut row = vec![
        effect.operation.clone(),
        with_interval(effect.time_ns),
        format!("{} {}", effect.primitive, effect.change),
        crate::unit::three_digits(effect.count),
    ];
    row.extend([effect.predicted_ns, effect.by_dose_ns, effect.measured_ns, effect.bound_ns].map(saving));
    row
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prediction_and_fact_stand_side_by_side() {
        let effect = Effect {
            operation: "op/1".to_owned(),
            time_ns: Estimate::point(2000.0),
            primitive: "dh".to_owned(),
            change: "2 times faster".to_owned(),
            count: 3.0,
            predicted_ns: Some(Estimate::with_interval(500.0, 490.0, 510.0)),
            by_dose_ns: None,
            bound_ns: Some(Estimate::point(1000.0)),
            measured_ns: Some(Estimate::point(-100.0)),
            warnings: Vec::new(),
        };
        let error = WorkloadError { workload: "op/2".to_owned(), message: "it never calls \"dh\"".to_owned() };
        let text = table(&[Ok(effect), Err(error)]);
        assert!(text.contains("500 ns ±10.0 ns = 25.0 %") && text.contains("-100 ns = -5.0 %"), "{text}");
        assert!(text.ends_with("op/2: it never calls \"dh\"\n"));
    }
}
