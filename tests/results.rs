//! Results of other harnesses read to their right value: real files with known values where they are
//! present, and faults that tools of this field committed, each with a small input of our own.
#![cfg(feature = "import")]

use countercheck::import::result::compare::{Verdict, compare};
use countercheck::import::result::criterion::{self, Folder};
use countercheck::import::result::units::{Base, Direction, normalise};
use countercheck::import::result::{Results, read};
use countercheck::import::{ImportError, Input, Limits};
use countercheck::stats;
use countercheck::unit::Share;

const MARGIN: Share = Share(0.01);

fn parse(text: &str) -> Results {
    read(Input::open(text.as_bytes(), Limits::default()).unwrap()).unwrap()
}

fn error(text: &str) -> ImportError {
    read(Input::open(text.as_bytes(), Limits::default()).unwrap()).unwrap_err()
}

/// The bytes of a case file; `None`, with a line said, where the case files are absent.
fn case(name: &str) -> Option<Vec<u8>> {
    let path = format!("{}/../shared/cases/files/{name}", env!("CARGO_MANIFEST_DIR"));
    // Worktrees lie one folder deeper.
    let deeper = format!("{}/../../shared/cases/files/{name}", env!("CARGO_MANIFEST_DIR"));
    match std::fs::read(path).or_else(|_| std::fs::read(deeper)) {
        Ok(bytes) => Some(bytes),
        Err(_) => {
            println!("skipped: the case file {name} is not here");
            None
        }
    }
}

fn case_results(name: &str) -> Option<Results> {
    Some(read(Input::open(case(name)?.as_slice(), Limits::default()).unwrap()).unwrap())
}

fn near(found: f64, expected: f64, relative: f64) {
    assert!((found / expected - 1.0).abs() <= relative, "found {found}, expected {expected}");
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn deviation(values: &[f64]) -> f64 {
    let mean = mean(values);
    (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (values.len() - 1) as f64).sqrt()
}

#[test]
fn criterion_in_the_old_layout_recomputes_to_its_own_figures() {
    let (Some(sample), Some(estimates)) =
        (case("criterion-book-fib-iterative.sample.json"), case("criterion-book-fib-iterative.estimates.json"))
    else {
        return;
    };
    let (sample, estimates) = (String::from_utf8(sample).unwrap(), String::from_utf8(estimates).unwrap());
    let folder = Folder { path: "fib", benchmark: None, sample: Some(&sample), estimates: Some(&estimates) };
    let results = criterion::read_folders(&[folder]).unwrap();
    let time = results.find("fib").unwrap().metric("time").unwrap();
    let values = time.numbers();
    near(mean(&values), 4.723173110355467, 1e-12);
    near(criterion::slope(time).unwrap(), 4.708418938929127, 1e-12);
    near(stats::median(&values).unwrap(), 4.670911442470985, 1e-12);
    near(criterion::median_abs_dev(time).unwrap(), time.stated("median_abs_dev").unwrap(), 1e-4);
    near(deviation(&values), time.stated("std_dev").unwrap(), 1e-12);
    near(time.estimate().unwrap().point, 4.670911442470985, 1e-12);
}

#[test]
fn criterion_in_flat_sampling_has_no_slope() {
    let (Some(sample), Some(estimates)) =
        (case("criterion-gen-flat-null-slope.sample.json"), case("criterion-gen-flat-null-slope.estimates.json"))
    else {
        return;
    };
    let (sample, estimates) = (String::from_utf8(sample).unwrap(), String::from_utf8(estimates).unwrap());
    let folder = Folder { path: "sleep", benchmark: None, sample: Some(&sample), estimates: Some(&estimates) };
    let results = criterion::read_folders(&[folder]).unwrap();
    let time = results.find("sleep").unwrap().metric("time").unwrap();
    near(mean(&time.numbers()), 9_093_070.78, 1e-9);
    assert_eq!((time.stated("slope"), criterion::slope(time)), (None, None));
    // Either file alone is read too.
    near(parse(&estimates).benchmarks[0].metrics[0].stated("mean").unwrap(), 9_093_070.78, 1e-9);
    assert_eq!(parse(&sample).benchmarks[0].metrics[0].values.len(), 10);
}

#[test]
fn jmh_states_999_per_cent_and_may_reach_below_zero() {
    let Some(results) = case_results("jmh-bencher-six-negative-ci.json") else { return };
    assert_eq!(results.benchmarks.len(), 6);
    for benchmark in &results.benchmarks {
        let metric = benchmark.metric("throughput").unwrap();
        assert_eq!((metric.base.clone(), metric.base.direction()), (Base::PerSecond, Direction::Higher));
        let values = metric.numbers();
        // t(0.9995, 2) = 31.5990546; the stated error is that times s / √n.
        near(31.599_054_576_443_62 * deviation(&values) / 3f64.sqrt(), metric.stated("error").unwrap(), 1e-9);
        // Three values support no interval, so none below zero either.
        assert_eq!(metric.estimate().unwrap().low, None);
        assert!(benchmark.time_ns().unwrap().point > 0.0);
    }
    let hash = &results.benchmarks[2];
    assert!(hash.name.contains("computeType=ConcurrentHashMap"), "{}", hash.name);
    near(mean(&hash.metrics[0].numbers()), 7_828_947.712794046, 1e-12);
}

#[test]
fn a_jmh_mode_that_contradicts_the_unit_is_noted_and_the_unit_decides() {
    let Some(results) = case_results("jmh-bencher-unit-mode-mismatch.json") else { return };
    let metric = &results.benchmarks[0].metrics[0];
    assert_eq!(metric.base.direction(), Direction::Lower);
    assert!(results.notes.iter().any(|note| note.code == "mode-unit-mismatch"));
    near(metric.stated("score").unwrap(), 3_376_238_873.122_818_5e9, 1e-12);
}

#[test]
fn go_text_compares_as_benchstat_does() {
    let (Some(old), Some(new)) = (case_results("gobench-xperf-old.txt"), case_results("gobench-xperf-new.txt")) else {
        return;
    };
    let comparison = compare(&old, &new, MARGIN).unwrap();
    let [json, gob] = &comparison.changes[..] else { panic!("{comparison:?}") };
    assert_eq!((json.old.unwrap().0.point, json.new.unwrap().0.point), (1718.0, 1422.5));
    near(json.ratio.unwrap().point, 1.0 - 0.172, 1e-3);
    near(json.p.unwrap(), 1.08e-5, 1e-2);
    assert_eq!(json.verdict, Verdict::Better);
    assert_eq!((gob.old.unwrap().0.point, gob.new.unwrap().0.point), (3065.5, 3070.0));
    near(gob.p.unwrap(), 0.44610, 1e-4);
    assert_eq!(gob.verdict, Verdict::Unresolved);
    near(comparison.time_ratio.unwrap(), 1.0 - 0.0894, 1e-3);
}

#[test]
fn go_text_from_powershell_is_the_same_text() {
    let (Some(plain), Some(utf16)) =
        (case_results("gobench-xperf-old.txt"), case_results("gobench-derived-old-utf16le-crlf.txt"))
    else {
        return;
    };
    assert_eq!(plain.benchmarks, utf16.benchmarks);
    assert_eq!(plain.benchmarks.iter().map(|b| b.metrics[0].values.len()).collect::<Vec<_>>(), [10, 10]);
}

#[test]
fn exact_units_compare_with_one_value_and_are_checked() {
    let Some(results) = case_results("gobench-xperf-units.txt") else { return };
    let side = |note: &str| {
        let mut side = results.clone();
        side.benchmarks.retain(|benchmark| benchmark.name.ends_with(note));
        side.benchmarks.iter_mut().for_each(|benchmark| benchmark.name.truncate(benchmark.name.find(' ').unwrap()));
        side
    };
    let comparison = compare(&side("[before]"), &side("[after]"), MARGIN).unwrap();
    let size = &comparison.changes[0];
    near(size.ratio.unwrap().point, 1.05, 1e-12);
    assert_eq!(size.verdict, Verdict::Worse);
    assert!(results.notes.iter().any(|note| note.code == "not-exact" && note.message.contains("NonExact")));
}

#[test]
fn hyperfine_keeps_failures_apart() {
    let Some(results) = case_results("hyperfine-gen-failures-included.json") else { return };
    let [flaky, sleep] = &results.benchmarks[..] else { panic!() };
    let time = flaky.metric("time").unwrap();
    near(mean(&time.numbers()), 0.03378e9, 1e-3);
    assert_eq!(flaky.failure.as_deref(), Some("3 of 12 runs failed"));
    near(time.stated("mean").unwrap(), 0.026383741616666664e9, 1e-12);
    near(mean(&time.numbers()) / mean(&sleep.metric("time").unwrap().numbers()), 1.51, 1e-2);
    assert!(results.notes.iter().any(|note| note.code == "failed-runs"));
}

#[test]
fn hyperfine_of_old_and_of_one_run() {
    if let Some(results) = case_results("hyperfine-bencher-two.json") {
        let times: Vec<_> = results.benchmarks.iter().map(|b| b.metric("time").unwrap()).collect();
        assert_eq!(times.iter().map(|time| time.values.len()).collect::<Vec<_>>(), [27, 13]);
        near(mean(&times[0].numbers()), 0.107_534_464e9, 1e-8);
        near(deviation(&times[0].numbers()), times[0].stated("stddev").unwrap(), 1e-9);
        near(mean(&times[1].numbers()), 0.208_514e9, 1e-5);
    }
    if let Some(results) = case_results("hyperfine-gen-one-run-null-stddev.json") {
        let estimate = results.benchmarks[0].metric("time").unwrap().estimate().unwrap();
        near(estimate.point, 10_738_786.64, 1e-9);
        assert_eq!((estimate.low, estimate.high), (None, None));
    }
}

#[test]
fn google_benchmark_takes_only_measurements() {
    let Some(results) = case_results("gbench-gen-aggregates-errors-counters.json") else { return };
    let times: usize = results.benchmarks.iter().filter_map(|b| b.metric("time")).map(|time| time.values.len()).sum();
    assert_eq!(times, 11);
    assert_eq!(results.find("BM_Err").unwrap().failure.as_deref(), Some("needs \"GPU\" <none>"));
    assert!(results.find("BM_Err").unwrap().time_ns().is_none());
    assert_eq!(results.notes.iter().find(|note| note.code == "aggregates").unwrap().count, 14);
    let cpu = results.find("BM_Sum/1024/repeats:3").unwrap().metric("cpu time").unwrap().numbers();
    near(mean(&cpu), 570.8948, 1e-6);
    near(deviation(&cpu), 1.691286, 1e-5);
    near(deviation(&cpu) / mean(&cpu), 0.00296, 1e-2);
    let manual = results.find("BM_Manual/iterations:50/manual_time").unwrap();
    near(manual.metric("time").unwrap().numbers()[0], 1e6, 1e-9);
    let counters = results.find("BM_Counters/real_time/threads:2").unwrap();
    assert_eq!(counters.metric("foo").unwrap().numbers(), [84.0]);
    assert!(results.notes.iter().any(|note| note.code == "threads"));
}

#[test]
fn google_benchmark_compares_as_its_own_script() {
    let (Some(old), Some(new)) =
        (case_results("gbench-google-test1_run1.json"), case_results("gbench-google-test1_run2.json"))
    else {
        return;
    };
    let comparison = compare(&old, &new, MARGIN).unwrap();
    let ratio = |name: &str, metric: &str| {
        let change = comparison.changes.iter().find(|c| c.benchmark == name && c.metric == metric).unwrap();
        // One value a side never makes a claim.
        assert!(matches!(change.verdict, Verdict::TooFew(_)), "{change:?}");
        change.ratio.unwrap().point - 1.0
    };
    near(ratio("BM_2xFaster", "time"), -0.5, 1e-9);
    near(ratio("BM_100xSlower", "time"), 99.0, 1e-9);
    near(ratio("BM_10PercentCPUToTime", "time"), 0.1, 1e-6);
    near(ratio("BM_10PercentCPUToTime", "cpu time"), -0.1, 1e-6);
    let all = |metric: &str| -> f64 {
        let rows = comparison.changes.iter().filter(|c| c.metric == metric);
        let logs: Vec<f64> = rows.map(|c| c.ratio.unwrap().point.ln()).collect();
        mean(&logs).exp() - 1.0
    };
    // Both with the row that changed from seconds to nanoseconds, converted.
    near(all("time"), -0.8113, 1e-3);
    near(all("cpu time"), -0.7779, 1e-3);
    near(comparison.time_ratio.unwrap() - 1.0, -0.8113, 1e-3);
}

// Faults that tools of this field committed. The number is the row in the list of public reports.

#[test]
fn fault_22_every_metric_of_a_go_line_is_read() {
    let results = parse("BenchmarkX-4 2582733 466.4 ns/op\t 1568 B/op\t 5 allocs/op\n");
    let benchmark = results.find("X-4").unwrap();
    let figures: Vec<_> = benchmark.metrics.iter().map(|m| (m.base.clone(), m.values[0].value)).collect();
    let expected = [(Base::Nanoseconds, 466.4), (Base::Bytes, 1568.0), (Base::Count("allocs".into()), 5.0)];
    assert_eq!(figures, expected);
    assert_eq!(benchmark.metrics[0].values[0].iterations, Some(2_582_733));
}

#[test]
fn fault_62_allocation_rate_and_norm_are_held_against_each_other() {
    let secondary = |rate: f64| {
        format!(
            r#"[{{"benchmark":"a.B.c","mode":"thrpt","primaryMetric":{{"score":15,"scoreUnit":"ops/us","rawData":[[15]]}},
            "secondaryMetrics":{{"gc.alloc.rate":{{"score":{rate},"scoreUnit":"MB/sec","rawData":[[{rate}]]}},
            "gc.alloc.rate.norm":{{"score":10,"scoreUnit":"B/op","rawData":[[10]]}}}}}}]"#
        )
    };
    let noted = |rate: f64| parse(&secondary(rate)).notes.iter().any(|note| note.code == "allocation-disagrees");
    assert!(noted(100.0));
    assert!(!noted(143.05));
}

#[test]
fn fault_65_and_66_units_are_known_and_shown_per_cell() {
    assert_eq!(normalise("user-ns/op"), (Base::Nanoseconds, 1.0));
    let results = parse("BenchmarkBuild 1 448000000 user-ns/op\n");
    let metric = &results.benchmarks[0].metrics[0];
    assert_eq!(metric.base.show(metric.values[0].value), "448 ms");
}

#[test]
fn fault_67_a_changed_unit_is_converted_and_an_unknown_one_refused() {
    let go = |line: &str| parse(&format!("BenchmarkA 10 {line}\n"));
    let comparison = compare(&go("900 ns/op"), &go("1.1 us/op"), MARGIN).unwrap();
    // Go names a metric by its unit, so the two are two metrics unless both are times.
    let change = &comparison.changes[0];
    match change.ratio {
        Some(ratio) => near(ratio.point, 1.1 / 0.9, 1e-9),
        None => assert!(matches!(change.verdict, Verdict::Refused(_)), "{change:?}"),
    }
    let gbench = |value: f64, unit: &str| {
        parse(&format!(
            r#"{{"context":{{}},"benchmarks":[{{"name":"a","iterations":1,"real_time":{value},"cpu_time":{value},"time_unit":"{unit}"}}]}}"#
        ))
    };
    let comparison = compare(&gbench(900.0, "ns"), &gbench(1.1, "us"), MARGIN).unwrap();
    near(comparison.changes[0].ratio.unwrap().point, 1.1 / 0.9, 1e-9);
    let unknown = error(
        r#"{"context":{},"benchmarks":[{"name":"a","iterations":1,"real_time":1,"cpu_time":1,"time_unit":"fortnight"}]}"#,
    );
    assert!(unknown.to_string().contains("benchmarks[0]: found time_unit \"fortnight\""), "{unknown}");
}

fn go_values(values: &[f64]) -> Results {
    parse(&values.iter().map(|value| format!("BenchmarkA 1 {value} ns/op\n")).collect::<String>())
}

fn verdict(old: &[f64], new: &[f64]) -> Verdict {
    compare(&go_values(old), &go_values(new), MARGIN).unwrap().changes[0].verdict.clone()
}

#[test]
fn fault_69_the_gate_passes_equal_and_fails_a_planted_regression() {
    let old = [8696.0, 8690.0, 8701.0, 8699.0, 8694.0, 8697.0];
    assert_eq!(verdict(&old, &old.map(|value| value + 0.3)), Verdict::Unresolved);
    assert_eq!(verdict(&old, &old.map(|value| value * 2.3)), Verdict::Worse);
    assert_eq!(verdict(&old, &old.map(|value| value / 2.3)), Verdict::Better);
}

#[test]
fn fault_70_one_new_value_within_the_spread_is_no_alarm() {
    // 100 values of spread 1 around 100, and one at 101.5: inside the spread, far outside the mean's interval.
    let past: Vec<f64> = (1..=100).map(|i| 100.0 + (f64::from(i) / 101.0 * 2.0 - 1.0) * 2.0).collect();
    assert!(!matches!(verdict(&past, &[101.5]), Verdict::Worse | Verdict::Better));
}

#[test]
fn fault_73_and_74_intervals_have_a_width_and_stay_above_zero() {
    for values in [&[5.0][..], &[289.4, 300.0, 280.0], &[1.0, 1.0, 2.0, 1.0, 1.0, 900.0, 1.0]] {
        let estimate = go_values(values).benchmarks[0].metrics[0].estimate().unwrap();
        assert!(estimate.low.is_none_or(|low| low >= 0.0 && low <= estimate.point));
        assert!(estimate.high.is_none_or(|high| high >= estimate.point));
        assert_eq!(estimate.low.is_some(), values.len() >= 6);
    }
}

#[test]
fn fault_75_no_variance_and_a_zero_baseline_stay_finite() {
    assert_eq!(verdict(&[5.0; 8], &[5.0; 8]), Verdict::Unresolved);
    assert!(matches!(verdict(&[0.0; 8], &[5.0; 8]), Verdict::Refused(_)));
    let change = compare(&go_values(&[5.0; 8]), &go_values(&[5.0; 8]), MARGIN).unwrap().changes.remove(0);
    assert_eq!((change.p, change.ratio.unwrap().point), (Some(1.0), 1.0));
}

#[test]
fn fault_78_the_inner_loop_is_divided_out() {
    let results = parse(
        r#"{"results":[{"title":"benchmark","name":"loop","unit":"item","batch":1000,"median(elapsed)":2e-6,
        "measurements":[{"iterations":10,"elapsed":2e-6,"instructions":8000},{"iterations":10,"elapsed":3e-6,"instructions":8000}]}]}"#,
    );
    let benchmark = results.find("loop").unwrap();
    let times = benchmark.metric("time").unwrap().numbers();
    near(times[0], 2.0, 1e-12);
    near(times[1], 3.0, 1e-12);
    assert_eq!(benchmark.metric("instructions").unwrap().numbers(), [8.0, 8.0]);
}

#[test]
fn fault_79_identical_code_within_its_noise_is_not_a_change() {
    let old = [100.0, 97.0, 103.0, 99.0, 101.0, 98.0, 102.0, 100.5];
    let new = [103.0, 100.0, 106.0, 97.0, 105.0, 101.0, 104.0, 96.0];
    let change = compare(&go_values(&old), &go_values(&new), MARGIN).unwrap().changes.remove(0);
    assert_eq!(change.verdict, Verdict::Unresolved);
    // Fault 91: the least change that these data could have shown is said instead.
    assert!(change.smallest_visible(MARGIN).unwrap().0 > 0.01);
}

#[test]
fn fault_82_every_repetition_counts_on_both_sides() {
    let side = |times: [f64; 4]| {
        let rows: Vec<_> = times
            .iter()
            .enumerate()
            .map(|(i, t)| {
                format!(r#"{{"name":"a/repeats:4","run_name":"a/repeats:4","run_type":"iteration","repetition_index":{i},"iterations":1,"real_time":{t},"cpu_time":{t},"time_unit":"ms"}}"#)
            })
            .collect();
        parse(&format!(r#"{{"context":{{}},"benchmarks":[{}]}}"#, rows.join(",")))
    };
    let comparison = compare(&side([10.0, 10.1, 10.2, 10.3]), &side([10.05, 20.0, 20.1, 20.2]), MARGIN).unwrap();
    near(comparison.changes[0].new.unwrap().0.point, 20.05e6, 1e-9);
    near(comparison.changes[0].p.unwrap(), 14.0 / 70.0, 1e-9);
}

#[test]
fn fault_83_times_are_not_divided_by_threads() {
    let results = parse(
        r#"{"context":{},"benchmarks":[{"name":"sleep/threads:4","run_type":"iteration","threads":4,"iterations":4,"real_time":1000,"cpu_time":0.1,"time_unit":"ms"}]}"#,
    );
    assert_eq!(results.benchmarks[0].metric("time").unwrap().numbers(), [1e9]);
}

#[test]
fn fault_85_and_86_zeros_and_two_groups_are_said() {
    let zeros = parse(r#"{"results":[{"command":"true","mean":0.45,"times":[0,0,0,1.8]}]}"#);
    assert!(zeros.notes.iter().any(|note| note.code == "below-resolution"));
    let two =
        parse(r#"{"results":[{"command":"a","mean":0.4,"times":[0.011,0.765,0.012,0.77,0.0115,0.76,0.011,0.765]}]}"#);
    assert!(two.notes.iter().any(|note| note.code == "bimodal" && note.message.contains("765 ms")), "{:?}", two.notes);
    assert!(!go_values(&[1.0, 1.1, 1.2, 1.3, 1.4]).notes.iter().any(|note| note.code == "bimodal"));
}

#[test]
fn fault_87_a_mean_is_called_a_mean() {
    let results = parse(r#"{"results":[{"command":"a","mean":1,"user":0.5,"system":0.1,"times":[1,1,10]}]}"#);
    let names: Vec<_> = results.benchmarks[0].metrics.iter().map(|metric| metric.name.as_str()).collect();
    assert_eq!(names, ["time", "user time, mean of all runs", "system time, mean of all runs"]);
}

#[test]
fn fault_89_a_series_that_remembers_gets_a_wider_interval() {
    // An autoregressive series of one process: x' = 0.9 x + noise.
    let mut state = 0x5eed_u64;
    let mut noise = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f64 / (1u64 << 24) as f64 - 0.5
    };
    let mut x = 0.0;
    let series: Vec<f64> = (0..1000)
        .map(|_| {
            x = 0.9 * x + noise();
            100.0 + x
        })
        .collect();
    let estimate = go_values(&series).benchmarks[0].metrics[0].estimate().unwrap();
    let naive = stats::order::median_estimate(&series).unwrap();
    assert!(estimate.half_width().unwrap() > 1.8 * naive.half_width().unwrap());
}

#[test]
fn fault_90_an_unknown_throughput_changes_nothing() {
    let folder = Folder {
        path: "a",
        benchmark: Some(r#"{"full_id":"group/a","throughput":{"BytesDecimal":10}}"#),
        sample: Some(r#"{"sampling_mode":"Linear","iters":[1,2,3],"times":[10,20,30]}"#),
        estimates: None,
    };
    let results = criterion::read_folders(&[folder]).unwrap();
    assert_eq!(results.find("group/a").unwrap().metrics[0].numbers(), [10.0, 10.0, 10.0]);
}

#[test]
fn the_other_harnesses_are_read_in_their_own_units() {
    let pytest = parse(
        r#"{"machine_info":{"node":"x"},"benchmarks":[{"name":"t","fullname":"m.py::t","stats":{"median":0.002,"mean":0.0021,"rounds":2,"iterations":5,"data":[0.002,0.0022]}}]}"#,
    );
    assert_eq!(pytest.find("m.py::t").unwrap().metrics[0].numbers(), [2e6, 2.2e6]);
    let julia = parse(
        r#"[{"Julia":"1.9"},[["BenchmarkTools.BenchmarkGroup",{"data":{"field":["BenchmarkTools.BenchmarkGroup",{"data":{"mul":["BenchmarkTools.Trial",{"params":{"evals":10},"times":[12.5,13],"gctimes":[0,0],"memory":64,"allocs":1}]},"tags":[]}]},"tags":[]}]]]"#,
    );
    let mul = julia.find("field/mul").unwrap();
    assert_eq!(mul.metric("time").unwrap().numbers(), [12.5, 13.0]);
    assert_eq!(mul.metric("memory").unwrap().numbers(), [64.0]);
    let rebar = parse(
        "name,model,rebar_version,engine,engine_version,err,haystack_len,iters,total,median,mad,mean,stddev,min,max\n\
         curated/a,count,v,rust/regex,1,,100,9,1s,1.5us,0ns,\"1.6us\",1ns,1us,2ms\ncurated/a,count,v,go,1,timed out,,,,,,,,,\n",
    );
    assert_eq!(rebar.find("curated/a (rust/regex)").unwrap().time_ns().unwrap().point, 1500.0);
    assert_eq!(rebar.find("curated/a (go)").unwrap().failure.as_deref(), Some("timed out"));
    let marmot = parse(
        r#"[{"name":"x25519_dh","p50_us":579,"p90_us":600,"p99_us":700,"mean_us":581,"bytes_per_op":12,"iterations":100}]"#,
    );
    assert_eq!(marmot.benchmarks[0].time_ns().unwrap().point, 579e3);
    let cargo = parse(
        "{\"reason\":\"benchmark-complete\",\"id\":\"g/f\",\"unit\":\"ns\",\"iteration_count\":[10,20],\"measured_values\":[100,220],\"throughput\":[],\"typical\":{\"estimate\":10.5,\"lower_bound\":10,\"upper_bound\":11,\"unit\":\"ns\"}}\n{\"reason\":\"group-complete\",\"group_name\":\"g\"}\n",
    );
    assert_eq!(cargo.find("g/f").unwrap().metrics[0].numbers(), [10.0, 11.0]);
    let jmh = parse(
        r#"[{"benchmark":"B.c","mode":"sample","primaryMetric":{"score":5.0,"scoreError":"NaN","scoreConfidence":["NaN","NaN"],"scorePercentiles":{"50.0":4,"99.99":9},"scoreUnit":"us/op","rawDataHistogram":[[[[4.0,1000000000],[9.0,3]]]]},"secondaryMetrics":{}}]"#,
    );
    let time = jmh.find("B.c:sample").unwrap().metric("time").unwrap();
    assert_eq!(
        (time.stated("p50"), time.stated("p99.99"), time.values[0].iterations),
        (Some(4e3), Some(9e3), Some(1_000_000_003))
    );
}

/// A row of JMH's: benchmark, mode, threads, and the raw data of its forks.
fn jmh_row(benchmark: &str, mode: &str, threads: u32, raw: &str) -> String {
    let kind = if mode == "sample" { "rawDataHistogram" } else { "rawData" };
    format!(
        r#"{{"benchmark":"{benchmark}","mode":"{mode}","threads":{threads},"forks":1,
        "primaryMetric":{{"score":1.0,"scoreError":"NaN","scoreUnit":"us/op","{kind}":{raw}}},"secondaryMetrics":{{}}}}"#
    )
}

#[test]
fn a_jmh_histogram_counts_each_value_as_often_as_it_occurred() {
    let row = jmh_row("B.c", "sample", 1, "[[[[9.0,1],[2.0,10],[7.0,2]],[[3.0,5],[8.0,4]]],[[[6.0,1]]]]");
    let results = parse(&format!("[{row}]"));
    let time = results.find("B.c:sample").unwrap().metric("time").unwrap();
    // One median for each iteration: of 2 2 2 2 2 2 2 2 2 2 7 7 9, of 3 3 3 3 3 8 8 8 8, of 6.
    assert_eq!(time.numbers(), [2e3, 3e3, 6e3]);
    assert_eq!(time.values.iter().map(|value| value.process).collect::<Vec<_>>(), [0, 0, 1]);
    assert_eq!(time.independent(), [2.5e3, 6e3]);
    assert!(
        error(&format!("[{}]", jmh_row("B.c", "sample", 1, "[[[[9.0,-1]]]]"))).to_string().contains("[value, count]")
    );
}

#[test]
fn jmh_rows_of_one_benchmark_are_further_forks_and_other_threads_another_benchmark() {
    let rows =
        [("B.c", 1, "[[1,2]]"), ("B.c", 1, "[[3]]"), ("B.c", 1, "[[5]]"), ("B.d", 1, "[[1]]"), ("B.d", 4, "[[2]]")];
    let rows: Vec<_> = rows.iter().map(|(name, threads, raw)| jmh_row(name, "avgt", *threads, raw)).collect();
    let results = parse(&format!("[{}]", rows.join(",")));
    let names: Vec<_> = results.benchmarks.iter().map(|benchmark| benchmark.name.as_str()).collect();
    assert_eq!(names, ["B.c", "B.d[threads=1]", "B.d[threads=4]"]);
    assert_eq!(results.find("B.c").unwrap().metric("time").unwrap().independent(), [1.5e3, 3e3, 5e3]);
    assert_eq!(results.notes.iter().find(|note| note.code == "repeated-rows").unwrap().count, 2);
    // A file holds what it holds, also beside itself.
    let comparison = compare(&results, &results, MARGIN).unwrap();
    assert!(comparison.changes.iter().all(|change| change.ratio.unwrap().point == 1.0));
}

#[test]
fn a_rate_of_jmhs_collector_is_neither_better_nor_worse() {
    let row = r#"[{"benchmark":"B.c","mode":"avgt","primaryMetric":{"score":1,"scoreUnit":"us/op","rawData":[[1]]},
        "secondaryMetrics":{"·gc.alloc.rate":{"score":100,"scoreUnit":"MB/sec","rawData":[[100]]}}}]"#;
    let rate = parse(row).benchmarks[0].metric("·gc.alloc.rate").unwrap().clone();
    assert_eq!((rate.base.direction(), rate.numbers()), (Direction::Unknown, vec![100.0]));
}

#[test]
fn google_benchmark_without_its_repetitions_keeps_their_figures() {
    let row = |name: &str, more: &str, time: f64| {
        format!(r#"{{"name":"{name}",{more}"iterations":3,"real_time":{time},"cpu_time":{time},"time_unit":"us"}}"#)
    };
    let aggregate = |name: &str, time: f64| {
        let kind = if name == "cv" { "percentage" } else { "time" };
        let more =
            format!(r#""run_name":"BM_A","run_type":"aggregate","aggregate_name":"{name}","aggregate_unit":"{kind}","#);
        row(&format!("BM_A_{name}"), &more, time)
    };
    let rows = [aggregate("mean", 2.0), aggregate("median", 1.5), aggregate("stddev", 0.5), aggregate("cv", 0.25)];
    let results = parse(&format!(r#"{{"context":{{}},"benchmarks":[{}]}}"#, rows.join(",")));
    let [only] = &results.benchmarks[..] else { panic!("{results:?}") };
    assert_eq!((only.name.as_str(), only.time_ns().unwrap().point), ("BM_A", 1.5e3));
    assert_eq!((only.metrics[0].values.len(), only.metrics[0].stated("stddev")), (0, Some(500.0)));
    assert!(results.notes.iter().any(|note| note.code == "aggregates-only"));
    // Before 1.4.2 only the name told what a row is.
    let rows = [("BM_B", 4.0), ("BM_B", 6.0), ("BM_B_mean", 5.0), ("BM_B_median", 5.0), ("BM_B_stddev", 1.4)];
    let rows: Vec<_> = rows.iter().map(|(name, time)| row(name, "", *time)).collect();
    let results = parse(&format!(r#"{{"context":{{}},"benchmarks":[{}]}}"#, rows.join(",")));
    let [only] = &results.benchmarks[..] else { panic!("{results:?}") };
    assert_eq!(only.metric("time").unwrap().numbers(), [4e3, 6e3]);
    // A benchmark may be called so.
    let results = parse(&format!(r#"{{"context":{{}},"benchmarks":[{}]}}"#, row("compute_mean", "", 1.0)));
    assert_eq!(results.benchmarks[0].metric("time").unwrap().numbers(), [1e3]);
}

#[test]
fn google_benchmark_says_what_was_skipped_and_bare_nan_is_a_number() {
    let text = r#"{"context":{},"benchmarks":[
        {"name":"A","run_type":"iteration","skipped":true,"skip_message":"no \"NaN\" here","iterations":0,"real_time":0,"cpu_time":0,"time_unit":"ns"},
        {"name":"B","run_type":"iteration","iterations":5,"real_time":2,"cpu_time":2,"time_unit":"ns","rate":Infinity,"odd":-NaN,"allocs_per_iter":3,"max_bytes_used":64}]}"#;
    let results = parse(text);
    assert_eq!(results.find("A").unwrap().failure.as_deref(), Some("no \"NaN\" here"));
    assert!(results.notes.iter().any(|note| note.code == "errors" && note.message.contains("A has no figure")));
    let b = results.find("B").unwrap();
    assert_eq!(b.metric("rate").unwrap().numbers(), [f64::INFINITY]);
    assert!(b.metric("odd").unwrap().numbers()[0].is_nan());
    assert_eq!(b.metric("allocs_per_iter").unwrap().base, Base::Count("allocs".into()));
    assert_eq!(b.metric("max_bytes_used").unwrap().base, Base::Bytes);
    let error = error(r#"{"results":[{"command":"a","times":[1,NaN]}]}"#).to_string();
    assert!(error.contains("results[0].times[1]"), "{error}");
}

#[test]
fn go_names_may_begin_with_a_small_letter_and_prose_is_prose() {
    let results = parse("Benchmarking 3 things\nBenchmarkuber_zap 1 5 total-bytes\nBenchmarkX 1 2 ns/op\n");
    let names: Vec<_> = results.benchmarks.iter().map(|benchmark| benchmark.name.as_str()).collect();
    assert_eq!(names, ["uber_zap", "X"]);
    assert_eq!(results.notes.iter().find(|note| note.code == "lines-ignored").unwrap().count, 1);
}

#[test]
fn go_results_under_other_settings_stay_apart() {
    let text = "goos: linux\ncpu: Old\nBenchmarkX 1 10 ns/op\nBenchmarkY 1 7 ns/op\n\
                cpu: New\nBenchmarkX 1 20 ns/op\ncpu:\nBenchmarkX 1 30 ns/op\n";
    let results = parse(text);
    let names: Vec<_> = results.benchmarks.iter().map(|benchmark| benchmark.name.as_str()).collect();
    assert_eq!(names, ["X [cpu=Old]", "Y", "X [cpu=New]", "X"]);
    assert!(results.notes.iter().any(|note| note.code == "settings-differ" && note.message.contains("cpu")));
    assert_eq!(results.context.keys().collect::<Vec<_>>(), ["goos"]);
    // A setting of the whole file does not keep two files apart.
    let [old, new] = ["disabled", "enabled"].map(|note| parse(&format!("note: {note}\nBenchmarkX 1 10 ns/op\n")));
    let comparison = compare(&old, &new, MARGIN).unwrap();
    assert_eq!((comparison.changes.len(), comparison.context[0].0.as_str()), (1, "note"));
    // What a test prints is no setting, though it has a colon.
    let logged = "BenchmarkX 1 10 ns/op\na_test.go:7: seed 4\nBenchmarkX 1 12 ns/op\n";
    let results = parse(logged);
    assert_eq!(results.find("X").unwrap().metrics[0].numbers(), [10.0, 12.0]);
    assert!(!results.context.contains_key("a_test.go"));
    // `go test -v` announces each benchmark.
    let verbose = "=== RUN   BenchmarkX\nBenchmarkX\nBenchmarkX-4 1 10 ns/op\n# a comment\nPASS\n";
    assert!(parse(verbose).notes.is_empty());
}

#[test]
fn a_comparison_carries_the_notes_of_both_sides() {
    let old = parse("BenchmarkX 1 10 ns/op\nnoise\n");
    let comparison = compare(&old, &parse("BenchmarkX 1 10 ns/op\n"), MARGIN).unwrap();
    assert_eq!((comparison.old_notes.len(), comparison.new_notes.len()), (1, 0));
    let equal = go_values(&[115.0, 114.0, 115.0, 115.0, 115.0]);
    let comparison = compare(&equal, &equal, MARGIN).unwrap();
    let Verdict::TooFew(why) = &comparison.changes[0].verdict else { panic!("{comparison:?}") };
    assert!(why.contains("too many of them are equal"), "{why}");
}

#[test]
fn packages_with_one_name_stay_apart() {
    let results = parse("pkg: a\nBenchmarkX 1 10 ns/op\nBenchmarkY 1 7 ns/op\npkg: b\nBenchmarkX 1 20 ns/op\n");
    let names: Vec<_> = results.benchmarks.iter().map(|benchmark| benchmark.name.as_str()).collect();
    assert_eq!(names, ["a.X", "Y", "b.X"]);
}

#[test]
fn harnesses_do_not_mix() {
    let other = parse(r#"[{"name":"A","p50_us":1}]"#);
    let error = compare(&go_values(&[1.0]), &other, MARGIN).unwrap_err().to_string();
    assert_eq!(error, "the old results are go's and the new ones marmotBench's: expected two of one harness");
}

#[test]
fn bad_input_says_where_and_what() {
    for (text, expected) in [
        ("", "no samples"),
        ("hello\n", "not recognised: found hello"),
        ("{\"a\":1}", "an object with a"),
        (r#"{"results":[{"command":"a","times":[1,-2]}]}"#, "results[0].times[1]: found -2; expected a finite number"),
        (r#"{"results":[{"command":"a","times":"x"}]}"#, "results[0].times: found the string"),
        ("BenchmarkX 5 10\n", "line 1: found BenchmarkX 5 10"),
        ("BenchmarkX 5 ten ns/op\n", "line 1: found ten; expected a number"),
        (r#"{"iters":[1,2],"times":[5]}"#, "2 iteration counts and 1 times"),
        (r#"{"schema_version":99,"rows":[]}"#, "record version 99 is not supported"),
        ("name,model,rebar_version,engine,err\n", "a column `median`"),
    ] {
        let message = error(text).to_string();
        assert!(message.contains(expected), "{text:?}: {message}");
    }
}

#[test]
fn truncation_at_every_offset_is_an_answer_or_an_error() {
    let text = r#"[{"benchmark":"a.B.c","mode":"thrpt","params":{"n":"1"},"primaryMetric":{"score":15,"scoreError":"NaN","scoreUnit":"ops/us","rawData":[[15,16]]},"secondaryMetrics":{}}]"#;
    for length in 0..text.len() {
        let truncated = read(Input::open(&text.as_bytes()[..length], Limits::default()).unwrap());
        assert!(truncated.is_err(), "{length}");
    }
}

/// Fixtures of our own, made with the real tools by the programs beside them.
fn fixture(path: &str) -> Results {
    let path = format!("{}/profiles/fixtures/{path}", env!("CARGO_MANIFEST_DIR"));
    read(Input::open(std::fs::File::open(&path).unwrap(), Limits::default()).unwrap()).unwrap()
}

#[test]
fn fixtures_of_real_tools_are_read() {
    let hyperfine = fixture("hyperfine/1.15.0/flaky.json");
    assert_eq!(hyperfine.benchmarks[0].failure.as_deref(), Some("3 of 9 runs failed"));
    assert_eq!(hyperfine.benchmarks[0].metric("time").unwrap().values.len(), 6);
    // The successful runs sleep for 20 ms; the failed ones do not.
    assert!(hyperfine.benchmarks[0].metric("time").unwrap().numbers().iter().all(|ns| *ns > 20e6));

    let google = fixture("google-benchmark/1.7.1/repeat.json");
    let sum = google.find("Sum/1024/repeats:4").unwrap();
    assert_eq!(sum.metric("cpu time").unwrap().values.len(), 4);
    let rate = sum.metric("items_per_second").unwrap().numbers()[0];
    // Items a second are counted by CPU time: the same figure by another way.
    near(1024.0 / rate * 1e9, sum.metric("cpu time").unwrap().numbers()[0], 1e-3);
    assert_eq!(google.find("Broken").unwrap().failure.as_deref(), Some("needs a device"));

    let pytest = fixture("pytest-benchmark/5.3.1/sum.json");
    for benchmark in &pytest.benchmarks {
        let time = benchmark.metric("time").unwrap();
        assert_eq!((time.values.len(), time.values[0].iterations), (20, Some(10)));
        near(stats::median(&time.numbers()).unwrap(), time.stated("median").unwrap(), 1e-9);
    }
}

/// Runs `primitives compare` on two texts.
#[cfg(feature = "cli")]
fn compare_files(old: &str, new: &str, options: &[&str]) -> (Option<i32>, String, String) {
    let folder = tempfile::tempdir().unwrap();
    let (a, b) = (folder.path().join("old"), folder.path().join("new"));
    std::fs::write(&a, old).unwrap();
    std::fs::write(&b, new).unwrap();
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_primitives"))
        .arg("compare")
        .args([&a, &b])
        .args(options)
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[cfg(feature = "cli")]
#[test]
fn the_command_line_compares_two_of_one_kind() {
    let lines = |factor: f64| -> String {
        (0..8).map(|i| format!("BenchmarkA 1 {} ns/op\n", (100.0 + f64::from(i)) * factor)).collect()
    };
    let (status, out, _) = compare_files(&lines(1.0), &lines(1.5), &["--fail-on", "10"]);
    assert_eq!(status, Some(1));
    assert!(out.contains("worse") && out.contains("+50.00 %"), "{out}");
    let (status, out, _) = compare_files(&lines(1.0), &lines(1.0), &["--fail-on", "10"]);
    assert_eq!(status, Some(0));
    assert!(out.contains("unresolved"), "{out}");
    let (status, _, err) = compare_files(&lines(1.0), r#"[{"name":"A","p50_us":1}]"#, &[]);
    assert_eq!(status, Some(2));
    assert!(err.contains("expected two of one harness"), "{err}");
    let (status, _, err) = compare_files("BenchmarkA 1 x ns/op\n", &lines(1.0), &[]);
    assert_eq!(status, Some(2));
    assert!(err.contains("line 1: found x; expected a number"), "{err}");
    // What is no results at all is told what would be.
    let (status, _, err) = compare_files("hello\n", "hello\n", &[]);
    assert_eq!(status, Some(2));
    assert!(err.contains("not recognised: found hello; expected benchmark results: criterion"), "{err}");
    let (status, out, _) = compare_files(&(lines(1.0) + "hello\n"), &lines(1.0), &[]);
    assert_eq!(status, Some(0));
    assert!(out.contains("note, old results: line 9: neither a result nor a setting (1)"), "{out}");
    // Beside a record, results are of another harness; what is no record either is said first.
    let record = include_str!("../profiles/records/jvm.json");
    let (status, _, err) = compare_files(record, &lines(1.0), &[]);
    assert_eq!(status, Some(2));
    assert!(err.contains("the old results are countercheck's and the new ones go's"), "{err}");
}

#[cfg(feature = "cli")]
#[test]
fn criterions_folder_is_read_from_the_command_line() {
    let folder = tempfile::tempdir().unwrap();
    for (name, factor) in [("old", 1), ("new", 2)] {
        let below = folder.path().join(name).join("group/f/new");
        std::fs::create_dir_all(&below).unwrap();
        let times: Vec<_> = (1..=9).map(|i| (i * 100 * factor + i % 3).to_string()).collect();
        let sample = format!("{{\"iters\":[1,2,3,4,5,6,7,8,9],\"times\":[{}]}}", times.join(","));
        std::fs::write(below.join("sample.json"), sample).unwrap();
        std::fs::write(below.join("benchmark.json"), r#"{"full_id":"group/f"}"#).unwrap();
    }
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_primitives"))
        .arg("compare")
        .args([folder.path().join("old"), folder.path().join("new")])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("group/f") && text.contains("worse"), "{text}{}", String::from_utf8_lossy(&output.stderr));
}
