//! `records` and `history` on a folder of records with a planted slow-down.
#![cfg(feature = "cli")]

use std::path::Path;
use std::process::{Command, Output};

use countercheck::record::{
    Allocation, ClockCalibration, Environment, Measurement, Record, Row, SCHEMA_VERSION, TimingSample, Tool, Variant,
    store,
};
use countercheck::workload::Kind;

fn record(day: u64, ns: u64) -> Record {
    let samples = |process: u64| {
        (0..5).map(|i| TimingSample { iterations: 1, cpu_ns: ns + process + i, wall_ns: ns + 9 }).collect()
    };
    let processes = (0..6)
        .map(|process| Measurement {
            process: process as u32,
            position: 1 + process as u32,
            samples: samples(process),
            allocation: Allocation::NotMeasured,
        })
        .collect();
    Record {
        schema_version: SCHEMA_VERSION,
        tool: Tool { name: "countercheck".into(), version: "0.1.0".into(), commit: Some(format!("{day:040x}")) },
        started_at: 1_700_000_000 + day * 86_400,
        environment: Environment {
            cpu_model: Some("test CPU".into()),
            platform: "linux-x86_64".into(),
            ..Environment::default()
        },
        clocks: vec![ClockCalibration::default()],
        seed: 1,
        rows: vec![Row {
            name: "x25519_dh".into(),
            family: "x25519".into(),
            kind: Kind::Primitive,
            parameter: None,
            variant: Variant::Throughput,
            runtime: "native".into(),
            implementation: "x25519-dalek".into(),
            processes,
            error: None,
        }],
        warnings: Vec::new(),
    }
}

fn primitives(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_primitives"))
        .args(arguments)
        .current_dir(folder)
        .output()
        .expect("the program runs")
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

fn folder_of_twenty() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for day in 0..20 {
        let ns = if day < 11 { 50_000 } else { 55_000 } + day * day % 7 * 20;
        store::write(&folder.path().join(format!("{day:02}.json")), &record(day, ns)).expect("written");
    }
    folder
}

#[test]
fn history_marks_the_record_that_brought_the_slow_down() {
    let folder = folder_of_twenty();
    let output = primitives(folder.path(), &["history", "x25519_dh", "--records", "."]);
    let printed = text(&output);
    assert!(output.status.success(), "{printed}");
    assert!(printed.contains("20 records, 1 change of level"), "{printed}");
    let marked: Vec<&str> = printed.lines().filter(|line| line.contains("level +")).collect();
    assert_eq!(marked.len(), 1, "{printed}");
    assert!(marked[0].starts_with("2023-11-25 22:13"), "{printed}");

    let json = primitives(folder.path(), &["history", "x25519_dh", "--records", ".", "--json"]);
    let series: serde_json::Value = serde_json::from_slice(&json.stdout).expect("JSON and nothing else");
    assert_eq!(series[0]["points"].as_array().map(Vec::len), Some(20));

    let ascii = primitives(folder.path(), &["history", "x25519_dh", "--records", ".", "--ascii"]);
    let plot = text(&ascii).lines().nth(2).map(str::to_owned).unwrap_or_default();
    assert!(plot.starts_with(|c: char| c.is_ascii()) && plot.contains('@') && plot.contains('_'), "{plot}");
}

#[test]
fn an_unknown_row_and_a_broken_record_are_named() {
    let folder = folder_of_twenty();
    let output = primitives(folder.path(), &["history", "x25519_hd", "--records", "."]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output).contains("x25519_dh"), "{}", text(&output));
    std::fs::write(folder.path().join("broken.json"), "{\"schema_version\": 1, ").expect("written");
    let output = primitives(folder.path(), &["history", "x25519_dh", "--records", "."]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output).contains("broken.json:1:"), "{}", text(&output));
}

#[test]
fn records_are_listed_pooled_and_thinned_out() {
    let folder = folder_of_twenty();
    let listed = text(&primitives(folder.path(), &["records", "list", "."]));
    assert_eq!(listed.lines().count(), 21, "{listed}");
    let merged = primitives(folder.path(), &["records", "merge", "-o", "pool.json", "00.json", "01.json"]);
    assert!(merged.status.success(), "{}", text(&merged));
    let pooled = store::read(&folder.path().join("pool.json")).expect("a record");
    assert_eq!(pooled.rows[0].processes.len(), 12);
    let shown = text(&primitives(folder.path(), &["records", "show", "pool.json"]));
    assert!(shown.contains("x25519_dh"), "{shown}");

    let named = text(&primitives(folder.path(), &["records", "prune", ".", "--keep", "5"]));
    assert!(named.contains("16 would be removed"), "{named}");
    let pruned = text(&primitives(folder.path(), &["records", "prune", ".", "--keep", "5", "--yes"]));
    assert!(pruned.contains("16 removed"), "{pruned}");
    assert_eq!(std::fs::read_dir(folder.path()).expect("readable").count(), 5);
    assert!(folder.path().join("19.json").exists() && !folder.path().join("00.json").exists());
}

#[test]
fn completions_and_man_pages_come_from_the_parser() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let completions = text(&primitives(folder.path(), &["completions", "bash"]));
    assert!(completions.contains("history") && completions.contains("--fail-on"), "{completions}");
    assert!(primitives(folder.path(), &["man", "--output", "man"]).status.success());
    let page = std::fs::read_to_string(folder.path().join("man/primitives-compare.1")).expect("a page a subcommand");
    assert!(page.contains("fail\\-on"), "{page}");
}
