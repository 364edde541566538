//! What a row says: quantiles over processes with intervals, allocation, and what to distrust.

use serde::Serialize;

use super::distrust::{self, Context};
use super::{Allocation, Measurement, Record, Row, Variant};
use crate::stats::{self, Estimate, order, sorted};
use crate::warning::Warning;
use crate::workload::Kind;

/// One row, summarised. Times are nanoseconds of thread CPU time per iteration.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// The workload's name.
    pub name: String,
    /// Its family.
    pub family: String,
    /// Primitive or operation.
    pub kind: Kind,
    /// Throughput, chained or cold.
    pub variant: Variant,
    /// Where it ran.
    pub runtime: String,
    /// Which implementation ran.
    pub implementation: String,
    /// Median over processes of each process's median; interval from 6 processes on.
    pub p50_ns: Option<Estimate>,
    /// The same of each process's 90 % quantile, where its samples are single iterations and 36 or more.
    pub p90_ns: Option<Estimate>,
    /// The same of the 99 % quantile, from 368 samples on.
    pub p99_ns: Option<Estimate>,
    /// Mean over processes of each process's mean, with a t interval.
    pub mean_ns: Option<Estimate>,
    /// Bytes requested from the allocator per iteration; `None` where not measured.
    pub bytes_per_op: Option<f64>,
    /// Calls to the allocator per iteration; `None` where not measured.
    pub allocations_per_op: Option<f64>,
    /// Iterations timed, over all processes.
    pub iterations: u64,
    /// Processes that measured the row.
    pub processes: usize,
    /// What to distrust about the figures.
    pub distrust: Vec<Warning>,
    /// Why there is no figure, where the row failed.
    pub error: Option<String>,
}

/// A row as `--json` prints it: the fields that marmotBench's users know, and more. `null` is "not known".
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FlatRow {
    /// The workload's name.
    pub name: String,
    /// Median in microseconds of thread CPU time.
    pub p50_us: Option<f64>,
    /// 90 % quantile in microseconds.
    pub p90_us: Option<f64>,
    /// 99 % quantile in microseconds.
    pub p99_us: Option<f64>,
    /// Mean in microseconds.
    pub mean_us: Option<f64>,
    /// Bytes allocated per iteration.
    pub bytes_per_op: Option<f64>,
    /// Iterations timed.
    pub iterations: u64,
    /// 95 % interval of the median in microseconds, over processes.
    pub p50_interval_us: Option<[f64; 2]>,
    /// 95 % interval of the 90 % quantile.
    pub p90_interval_us: Option<[f64; 2]>,
    /// 95 % interval of the 99 % quantile.
    pub p99_interval_us: Option<[f64; 2]>,
    /// 95 % interval of the mean.
    pub mean_interval_us: Option<[f64; 2]>,
    /// Allocator calls per iteration.
    pub allocations_per_op: Option<f64>,
    /// Processes that measured the row.
    pub processes: usize,
    /// Throughput, chained or cold.
    pub variant: Variant,
    /// Primitive or operation.
    pub kind: Kind,
    /// The workload's family.
    pub family: String,
    /// Where it ran.
    pub runtime: String,
    /// Which implementation ran.
    pub implementation: String,
    /// Codes of what to distrust.
    pub codes: Vec<String>,
    /// Why there is no figure.
    pub error: Option<String>,
}

impl Record {
    /// Every row summarised, in the record's order.
    pub fn summaries(&self) -> Vec<Summary> {
        let context = Context::of(self);
        self.rows.iter().map(|row| Summary::of(row, &context)).collect()
    }
}

impl Summary {
    /// Summarises a row in the context of its run.
    pub fn of(row: &Row, context: &Context) -> Self {
        let over_processes = |figure: &dyn Fn(&Measurement) -> Option<f64>| {
            let figures: Vec<f64> = row.processes.iter().filter_map(figure).collect();
            order::median_estimate(&figures)
        };
        // A tail quantile of a minority of the processes would be a figure of the odd ones.
        let tail = |q: f64| {
            let figures: Vec<f64> = row.processes.iter().filter_map(|m| m.tail_ns(q)).collect();
            if figures.len() * 2 > row.processes.len() { order::median_estimate(&figures) } else { None }
        };
        let lone = row.processes.iter().map(|m| m.samples.len()).sum::<usize>() < 2;
        let means: Vec<f64> = row.processes.iter().filter_map(Measurement::mean_ns).collect();
        Self {
            name: row.name.clone(),
            family: row.family.clone(),
            kind: row.kind,
            variant: row.variant,
            runtime: row.runtime.clone(),
            implementation: row.implementation.clone(),
            p50_ns: if lone { None } else { over_processes(&Measurement::median_ns) },
            p90_ns: tail(0.9),
            p99_ns: tail(0.99),
            mean_ns: if lone { None } else { stats::mean_estimate(&means) },
            bytes_per_op: median_allocation(row, Allocation::bytes_per_operation),
            allocations_per_op: median_allocation(row, |allocation| Some(allocation.per_operation()?.1)),
            iterations: row.processes.iter().flat_map(|m| &m.samples).map(|s| s.iterations).sum(),
            processes: row.processes.len(),
            distrust: distrust::of(row, context),
            error: row.error.clone(),
        }
    }

    /// The row in the flat form.
    pub fn flat(&self) -> FlatRow {
        let us = |estimate: Option<Estimate>| estimate.map(|e| e.point / 1e3);
        let interval = |estimate: Option<Estimate>| estimate.and_then(|e| Some([e.low? / 1e3, e.high? / 1e3]));
        FlatRow {
            name: self.name.clone(),
            p50_us: us(self.p50_ns),
            p90_us: us(self.p90_ns),
            p99_us: us(self.p99_ns),
            mean_us: us(self.mean_ns),
            bytes_per_op: self.bytes_per_op,
            iterations: self.iterations,
            p50_interval_us: interval(self.p50_ns),
            p90_interval_us: interval(self.p90_ns),
            p99_interval_us: interval(self.p99_ns),
            mean_interval_us: interval(self.mean_ns),
            allocations_per_op: self.allocations_per_op,
            processes: self.processes,
            variant: self.variant,
            kind: self.kind,
            family: self.family.clone(),
            runtime: self.runtime.clone(),
            implementation: self.implementation.clone(),
            codes: self.distrust.iter().map(|warning| warning.code.clone()).collect(),
            error: self.error.clone(),
        }
    }
}

impl Measurement {
    /// Thread CPU time per iteration of every timing sample, in order. Samples that show no time or no
    /// iteration carry no figure and are left out.
    pub fn each_ns(&self) -> Vec<f64> {
        self.samples.iter().map(|s| s.cpu_ns_each()).filter(|ns| ns.is_finite() && *ns > 0.0).collect()
    }

    /// Whether a timing sample covers several iterations, so that quantiles of samples are not quantiles of
    /// iterations.
    pub fn is_batched(&self) -> bool {
        self.samples.iter().any(|sample| sample.iterations > 1)
    }

    /// The `q` quantile of the timing samples, in nanoseconds an iteration.
    pub fn quantile_ns(&self, q: f64) -> Option<f64> {
        stats::quantile(&sorted(self.each_ns()), q)
    }

    /// The median, in nanoseconds an iteration.
    pub fn median_ns(&self) -> Option<f64> {
        self.quantile_ns(0.5)
    }

    /// All CPU time over all iterations.
    pub fn mean_ns(&self) -> Option<f64> {
        let cpu: u64 = self.samples.iter().map(|s| s.cpu_ns).sum();
        let iterations: u64 = self.samples.iter().map(|s| s.iterations).sum();
        (cpu > 0 && iterations > 0).then(|| cpu as f64 / iterations as f64)
    }

    fn tail_ns(&self, q: f64) -> Option<f64> {
        let each = self.each_ns();
        (!self.is_batched() && each.len() >= order::values_needed(q)).then(|| stats::quantile(&sorted(each), q))?
    }
}

impl Allocation {
    /// Bytes per iteration; `None` where not measured.
    pub fn bytes_per_operation(self) -> Option<f64> {
        match self {
            Self::BytesOnly { iterations, bytes } if iterations > 0 => Some(bytes as f64 / iterations as f64),
            other => Some(other.per_operation()?.0),
        }
    }

    /// Bytes and calls per iteration; `None` where not measured.
    pub fn per_operation(self) -> Option<(f64, f64)> {
        match self {
            Self::Measured { iterations, bytes, calls } if iterations > 0 => {
                Some((bytes as f64 / iterations as f64, calls as f64 / iterations as f64))
            }
            _ => None,
        }
    }
}

fn median_allocation(row: &Row, part: impl Fn(Allocation) -> Option<f64>) -> Option<f64> {
    let values: Vec<f64> = row.processes.iter().filter_map(|m| part(m.allocation)).collect();
    stats::median(&values)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{record, row, sample};
    use super::*;

    #[test]
    fn quantiles_appear_where_the_samples_support_them() {
        for (count, p90, p99) in [(5, false, false), (36, true, false), (367, true, false), (368, true, true)] {
            let samples: Vec<_> = (0..count).map(|i| sample(1, 1_000_000 + i * 1_000)).collect();
            let record = record(vec![row("x", &vec![samples; 10])]);
            let summary = &record.summaries()[0];
            assert!(summary.p50_ns.unwrap().low.is_some());
            assert_eq!((summary.p90_ns.is_some(), summary.p99_ns.is_some()), (p90, p99), "{count}");
        }
    }

    #[test]
    fn batches_have_no_tail_quantiles() {
        let samples: Vec<_> = (0..400).map(|i| sample(10, 1_000_000 + i)).collect();
        let record = record(vec![row("x", &vec![samples; 10])]);
        let summary = &record.summaries()[0];
        assert_eq!((summary.p90_ns, summary.p99_ns), (None, None));
        assert!(summary.p50_ns.is_some());
        assert!(summary.distrust.iter().any(|warning| warning.code == "batch-mean"));
    }

    #[test]
    fn what_is_no_figure_is_not_printed_as_one() {
        let none = record(vec![
            row("no process", &[]),
            row("no sample", &[vec![]]),
            row("one sample", &[vec![sample(1, 5)]]),
            row("no time", &vec![vec![sample(1, 0); 50]; 10]),
            row("no iteration", &vec![vec![sample(0, 5); 50]; 10]),
        ]);
        for summary in none.summaries() {
            let flat = summary.flat();
            let figures = [flat.p50_us, flat.p90_us, flat.p99_us, flat.mean_us, flat.bytes_per_op];
            assert_eq!(figures, [None; 5], "{}", flat.name);
        }
    }

    #[test]
    fn one_process_has_no_interval() {
        let record = record(vec![row("x", &[vec![sample(1, 1_000_000); 400]])]);
        let summary = &record.summaries()[0];
        assert_eq!(summary.p50_ns, Some(Estimate::point(1e6)));
        assert!(summary.distrust.iter().any(|warning| warning.code == "few-processes"));
    }
}
