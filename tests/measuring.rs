//! The command line from outside: measuring, recording, comparing, and everything that can go wrong.
#![cfg(feature = "cli")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use countercheck::record::{Record, store};

fn primitives(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_primitives")).args(arguments).output().unwrap()
}

/// An example's program. `cargo test` builds it beside the tests, `cargo test --test` does not.
fn example(name: &str) -> PathBuf {
    static BUILDING: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let _guard = BUILDING.lock();
    let this_program = std::env::current_exe().unwrap();
    let program = this_program.ancestors().nth(2).unwrap().join("examples").join(name);
    if !program.exists() {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--quiet", "--example", name]).current_dir(env!("CARGO_MANIFEST_DIR"));
        assert!(cargo.status().unwrap().success());
    }
    program
}

/// The example that registers workloads of its own.
fn own(arguments: &[&str]) -> Output {
    Command::new(example("own")).args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn assert_ok(output: &Output) {
    assert!(output.status.success(), "{}\n{}", text(&output.stdout), text(&output.stderr));
}

/// A small record of the example's own workloads.
fn own_record(path: &Path, extra: &[&str]) -> Record {
    let mut arguments = vec!["time", "--budget", "0.6", "--record", path.to_str().unwrap()];
    arguments.extend(extra);
    assert_ok(&own(&arguments));
    store::read(path).unwrap()
}

#[test]
fn a_run_prints_rows_with_the_documented_fields() {
    let output = own(&["--quick", "--json"]);
    assert_ok(&output);
    let rows: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let names: Vec<&str> = rows.as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["checksum", "check_message/4096"]);
    for row in rows.as_array().unwrap() {
        for field in ["p50_us", "mean_us"] {
            assert!(row[field].as_f64().unwrap() > 0.0, "{field}: {row}");
        }
        for field in ["p90_us", "p99_us", "p50_interval_us"] {
            assert!(row.get(field).is_some(), "{field}: {row}");
        }
        assert!(row["iterations"].as_u64().unwrap() > 0);
        assert!(row["codes"].as_array().unwrap().contains(&"few-processes".into()), "{row}");
        assert_eq!(row["error"], serde_json::Value::Null);
    }
    // One vector of 16 sums.
    assert_eq!((&rows[1]["bytes_per_op"], &rows[1]["allocations_per_op"]), (&128.0.into(), &1.0.into()));
    assert_eq!(rows[0]["bytes_per_op"], 0.0);
    let unmeasured = own(&["--quick", "--json", "--no-alloc", "--only", "checksum"]);
    let rows: serde_json::Value = serde_json::from_slice(&unmeasured.stdout).unwrap();
    assert_eq!(rows[0]["bytes_per_op"], serde_json::Value::Null);
}

#[test]
fn a_record_holds_every_process_and_compares_with_itself_as_unresolved() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.json");
    let record = own_record(&path, &["--processes", "6"]);
    let row = record.rows.iter().find(|row| row.name == "check_message/4096").unwrap();
    assert_eq!(row.processes.len(), 6);
    assert_eq!(record.clocks.len(), 6);
    assert!(row.processes.iter().any(|m| m.position != row.processes[0].position), "the order is drawn anew");
    let path = path.to_str().unwrap();
    let output = primitives(&["compare", path, path, "--json", "--fail-on", "1"]);
    assert_ok(&output);
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    for row in report["rows"].as_array().unwrap() {
        assert_eq!((&row["verdict"], &row["p"]), (&"unresolved".into(), &1.0.into()), "{row}");
    }
    assert_eq!(report["guard"]["state"], "quiet");
}

#[test]
fn a_slow_down_fails_a_comparison_that_asks_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let old = folder.path().join("old.json");
    let mut record = own_record(&old, &["--processes", "8"]);
    // Shares of one measurement, so that the ratio is 1.2 in every pair.
    for row in record.rows.iter_mut().filter(|row| row.name != "aa") {
        for sample in row.processes.iter_mut().flat_map(|m| &mut m.samples) {
            sample.cpu_ns += sample.cpu_ns / 5;
        }
    }
    record.rows.iter_mut().last().unwrap().name = "new\u{1b}[31m|row".to_owned();
    let new = folder.path().join("new.json");
    store::write(&new, &record).unwrap();
    let (old, new) = (old.to_str().unwrap(), new.to_str().unwrap());
    let output = primitives(&["compare", old, new, "--fail-on", "5"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let table = text(&output.stdout);
    assert!(table.contains("slower") && table.contains("Only in the new record: new\\u{1b}[31m|row"), "{table}");
    assert!(!table.contains('\u{1b}'), "names cannot steer the terminal");
    assert_eq!(primitives(&["compare", old, new, "--fail-on", "30"]).status.code(), Some(0));
    assert_eq!(primitives(&["compare", old, new]).status.code(), Some(0));
    let markdown = text(&primitives(&["compare", old, new, "--markdown"]).stdout);
    assert!(markdown.contains("| checksum |") && markdown.contains("|---|---:"), "{markdown}");
}

#[test]
fn baselines_are_saved_and_compared_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let baselines = folder.path().join("kept");
    let kept = baselines.to_str().unwrap();
    let short = ["--only", "checksum", "--no-band", "--budget", "0.3", "--processes", "6", "--baselines", kept];
    assert_ok(&own(&[&short[..], &["--save", "main"]].concat()));
    let output = own(&[&short[..], &["--baseline", "main"]].concat());
    assert_ok(&output);
    assert!(text(&output.stdout).contains("A/A row"), "{}", text(&output.stdout));
    let missing = own(&["compare", "mian", "main", "--baselines", kept]);
    assert_eq!(missing.status.code(), Some(2));
    assert!(text(&missing.stderr).contains("no baseline \"mian\"") && text(&missing.stderr).contains("main"));
    // Said before measuring, not after.
    let start = Instant::now();
    assert_eq!(own(&["--baseline", "nope", "--baselines", kept]).status.code(), Some(2));
    assert!(start.elapsed() < Duration::from_secs(5));
}

#[test]
fn calls_that_make_no_sense_exit_with_2_and_say_why() {
    let cases: [(&[&str], &str); 7] = [
        (&["--only", "x25519_hd"], "nearest: x25519_dh"),
        (&["list", "--only", "sha265"], "nearest: sha2"),
        (&["--budget", "0"], "expected a number of seconds above 0"),
        (&["--budget", "NaN"], "expected a number of seconds above 0"),
        (&["--processes", "0"], "not in 1..=1000"),
        (&["compare", "/no/such/file.json", "x"], "/no/such/file.json"),
        (&["compare", "a", "b", "--margin", "-1"], "expected percent from 0"),
    ];
    for (arguments, expected) in cases {
        let output = primitives(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(text(&output.stderr).contains(expected), "{arguments:?}: {}", text(&output.stderr));
        assert!(output.stdout.is_empty(), "{arguments:?}");
    }
}

#[test]
fn a_broken_record_is_named_and_left_untouched() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("broken.json");
    for (content, expected) in [
        (&b"{\"schema_version\": 1, \"tool\": {"[..], "cut short"),
        (b"{\"schema_version\": 7}", "found 7, expected at most 1"),
        (b"main;f 12\n", "a countercheck record"),
        (b"", "the input is empty"),
    ] {
        std::fs::write(&path, content).unwrap();
        let output = primitives(&["compare", path.to_str().unwrap(), path.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(2));
        let message = text(&output.stderr);
        assert!(message.contains(expected) && message.contains("broken.json"), "{message}");
        assert_eq!(std::fs::read(&path).unwrap(), content);
    }
}

#[test]
fn a_closed_pipe_is_no_error() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_primitives"))
        .args(["list", "--long"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), String::new()));
}

#[test]
fn without_a_terminal_nothing_is_coloured_and_no_progress_is_shown() {
    let output = own(&["--quick"]);
    assert_ok(&output);
    assert!(!text(&output.stdout).contains('\u{1b}'));
    assert_eq!(text(&output.stderr), "");
}

#[test]
fn a_row_that_takes_its_process_down_is_a_row_with_an_error() {
    let output =
        Command::new(example("failing")).args(["--json", "--budget", "0.5", "--processes", "2"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let rows: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let error = |name: &str| {
        let row = rows.as_array().unwrap().iter().find(|row| row["name"] == name && row["variant"] == "throughput");
        row.unwrap()["error"].as_str().map(str::to_owned)
    };
    assert!(error("aborts").unwrap().contains("ended early"));
    assert!(error("wrong").unwrap().contains("is not the answer"));
    assert!(error("no_inputs").unwrap().contains("pool of inputs is empty"));
    assert_eq!(error("prints"), None);
    assert_eq!(error("fine"), None);
}

/// The writer that [`a_record_survives_sigkill_at_any_moment`] kills: replaces one record by another,
/// over and over.
#[test]
#[ignore = "runs until it is killed"]
fn writes_records_until_killed() {
    let Some(path) = std::env::var_os("COUNTERCHECK_TEST_RECORD") else { return };
    let path = PathBuf::from(path);
    let mut record = store::read(&path).unwrap();
    loop {
        record.seed = 3 - record.seed;
        store::write(&path, &record).unwrap();
    }
}

#[test]
#[cfg(unix)]
fn a_record_survives_sigkill_at_any_moment() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kept.json");
    let mut record = own_record(&folder.path().join("first.json"), &["--quick"]);
    record.seed = 1;
    // Large enough that a kill lands inside a write.
    let samples = vec![record.rows[0].processes[0].samples[0]; 20_000];
    record.rows[0].processes[0].samples = samples;
    store::write(&path, &record).unwrap();
    let mut seeds = [0, 0];
    for kill in 0..50u64 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "writes_records_until_killed"])
            .env("COUNTERCHECK_TEST_RECORD", &path)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        // Spread over 20 to 80 ms by a fixed odd step.
        std::thread::sleep(Duration::from_micros(20_000 + kill * 37_501 % 60_000));
        child.kill().unwrap();
        child.wait().unwrap();
        let found = store::read(&path).unwrap();
        seeds[found.seed as usize - 1] += 1;
        assert_eq!(found.rows, record.rows, "kill {kill}");
    }
    assert!(seeds[0] > 0 && seeds[1] > 0, "both records were written: {seeds:?}");
}

#[test]
#[cfg(unix)]
fn a_run_that_is_killed_leaves_the_old_record() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kept.json");
    let record = own_record(&path, &["--quick"]);
    let program = example("own");
    for kill in 0..10u64 {
        let mut child = Command::new(&program)
            .args(["--processes", "3", "--budget", "3", "--no-band", "--record", path.to_str().unwrap()])
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(kill * 11));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(store::read(&path).unwrap(), record, "kill {kill}");
    }
}

/// A build puts another program where the running one was: its figures must not get into the record.
#[cfg(target_os = "linux")]
#[test]
fn a_program_that_is_replaced_while_it_measures_goes_on_with_itself_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let (program, path) = (folder.path().join("own"), folder.path().join("record.json"));
    std::fs::copy(example("own"), &program).unwrap();
    let run = Command::new(&program)
        .args(["time", "--budget", "2", "--only", "checksum", "--record", path.to_str().unwrap()])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(300));
    let other = folder.path().join("other");
    std::fs::write(&other, "#!/bin/false\n").unwrap();
    std::fs::rename(&other, &program).unwrap();
    let output = run.wait_with_output().unwrap();
    assert_ok(&output);
    assert!(text(&output.stdout).contains("program-replaced"), "{}", text(&output.stdout));
    let record = store::read(&path).unwrap();
    assert!(record.warnings.iter().any(|warning| warning.code == "program-replaced"));
    let row = record.rows.iter().find(|row| row.name == "checksum").unwrap();
    assert_eq!((row.processes.len(), &row.error), (10, &None));
}

#[test]
fn a_budget_that_is_no_budget_is_told_what_it_should_be() {
    for bad in ["-1", "0", "nan", "1e9", "soon"] {
        let output = own(&["time", "--budget", bad]);
        assert_eq!(output.status.code(), Some(2), "{bad}");
        let message = text(&output.stderr);
        assert!(message.contains("expected a number of seconds above 0 and at most 86400"), "{bad}: {message}");
    }
}

#[test]
fn a_number_out_of_range_is_refused_before_anything_is_measured() {
    for (arguments, expected) in [
        (&["count", "store/64", "--iterations", "0"][..], "0 is not in 1..=1000000"),
        (&["flamegraph", "store/64", "--hz", "0"], "0 is not in 1..=20000"),
        (&["flamegraph", "store/64", "--hz", "4294967295"], "4294967295 is not in 1..=20000"),
        (&["crosscheck", "store/64", "--hz", "0"], "0 is not in 1..=20000"),
        (&["exam", "--hz", "0"], "0 is not in 1..=20000"),
        (&["exam", "--certify", "--runs", "0"], "0 is not in 1.."),
        (&["exam", "--cpu-seconds", "1e300"], "expected a number of seconds above 0 and at most 86400"),
        (&["flamegraph", "store/64", "--cpu-seconds", "-1"], "expected a number of seconds above 0 and at most 86400"),
    ] {
        let output = own(arguments);
        let message = text(&output.stderr);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{arguments:?}: {message}");
        assert!(message.contains(expected), "{arguments:?}: {message}");
    }
}

#[test]
fn an_error_says_its_cause_once_and_names_the_standard_output() {
    let folder = tempfile::tempdir().unwrap();
    let message = text(&own(&["records", "show", folder.path().to_str().unwrap()]).stderr);
    assert_eq!(message.matches("Is a directory").count(), 1, "{message}");

    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = Command::new(example("own")).arg("list").stdout(full).output().unwrap();
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(message.contains("cannot write to the standard output: "), "{message}");
}
