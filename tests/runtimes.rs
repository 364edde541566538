//! Other runtimes from the command line. Each test skips, with a line that says why, where its runtime is absent.
#![cfg(all(feature = "cli", feature = "crypto"))]

use std::process::Command;

use serde_json::Value;

fn primitives(arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_primitives")).args(arguments).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

fn cells<'a>(table: &'a Value, runtime: &str) -> Vec<&'a Value> {
    let cells = table["cells"].as_array().unwrap().iter();
    cells.filter(|cell| cell["runtime"].as_str().unwrap() == runtime).collect()
}

/// Runs one round on a runtime. `None`, with the reason said, where it is missing.
fn one_round(runtime: &str, only: &[&str]) -> Option<Value> {
    let mut arguments = vec!["runtimes", "--quick", "--millis", "60", "--no-fields", "--on", runtime, "--json"];
    arguments.extend(only.iter().flat_map(|only| ["--only", only]));
    let (status, out, err) = primitives(&arguments);
    assert_eq!(status, Some(0), "{err}");
    let table: Value = serde_json::from_str(&out).unwrap();
    assert!(!cells(&table, "native").is_empty(), "{out}");
    if let Some(missing) = table["missing"].as_array().unwrap().first() {
        println!("skipped: {runtime}: {} ({})", missing["what"], missing["install"]);
        assert!(!missing["install"].as_str().unwrap().is_empty());
        return None;
    }
    Some(table)
}

/// Every row ran, and its outputs were the native ones: other outputs would be an error in its place.
fn agrees(table: &Value, runtime: &str, at_least: usize) {
    let cells = cells(table, runtime);
    assert!(cells.len() >= at_least, "{runtime}: {} rows", cells.len());
    for cell in cells {
        assert!(cell["error"].is_null(), "{cell}");
        assert!(cell["p50_ns"]["point"].as_f64().unwrap() > 0.0, "{cell}");
        assert!(cell["ratio"]["point"].as_f64().unwrap() > 0.0, "{cell}");
    }
}

const ROWS: [&str; 4] = ["x25519", "ed25519", "hkdf", "/64"];

#[test]
fn the_jdk_computes_what_native_computes() {
    let Some(table) = one_round("jvm", &ROWS) else { return };
    agrees(&table, "jvm", 11);
    let bytes = cells(&table, "jvm")[0]["bytes_per_op"].as_f64().unwrap();
    assert!(bytes > 0.0, "the JDK's X25519 allocates");
    // Timed one by one where the clock is fine enough against it, and then it has the tails of a distribution; else neither.
    let dh = cells(&table, "jvm").into_iter().find(|cell| cell["name"] == "x25519_dh").unwrap();
    let quantile = |name: &str| dh[name]["point"].as_f64();
    let tails = [quantile("p90_ns"), quantile("p99_ns")];
    let ordered = |p90: f64, p99: f64| quantile("p50_ns").is_some_and(|p50| p50 <= p90) && p90 <= p99;
    let fits = match tails {
        [Some(p90), Some(p99)] => ordered(p90, p99),
        tails => tails == [None, None],
    };
    assert!(fits, "{dh}");
}

#[test]
fn node_computes_what_native_computes() {
    let Some(table) = one_round("node", &ROWS) else { return };
    agrees(&table, "node-wasm", 11);
    agrees(&table, "node-noble", 11);
    agrees(&table, "node-webcrypto", 6);
}

#[test]
fn a_browser_computes_what_native_computes() {
    let Some(table) = one_round("browser", &["x25519", "ed25519_sign"]) else { return };
    agrees(&table, "browser-wasm", 3);
    agrees(&table, "browser-noble", 3);
}

#[test]
fn a_runtime_that_is_missing_is_a_row() {
    let output = Command::new(env!("CARGO_BIN_EXE_primitives"))
        .args(["runtimes", "--quick", "--millis", "20", "--only", "x25519_dh"])
        .env("PATH", "/nowhere")
        .env_remove("JAVA_HOME")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    for install in ["openjdk-17-jdk-headless", "apt-get install nodejs", "apt-get install chromium"] {
        assert!(text.contains(install), "{text}");
    }
}

#[test]
fn rows_that_are_not_shared_are_refused() {
    let (status, _, err) = primitives(&["runtimes", "--only", "no_such_row"]);
    assert_eq!(status, Some(2));
    assert!(err.contains("no_such_row"), "{err}");
}

/// Direction and order of magnitude of the story, on whatever machine this runs.
#[test]
fn the_jvm_story_is_told_from_measurements() {
    let (status, out, err) = primitives(&[
        "falsify",
        "--runtime",
        "jvm",
        "--quick",
        "--product",
        "straight",
        "--configuration",
        "G1",
        "--json",
    ]);
    if status == Some(2) {
        assert!(err.contains("install a JDK"), "{err}");
        println!("skipped: {err}");
        return;
    }
    let story: Value = serde_json::from_str(&out).unwrap();
    let (facts, readings) = (story["facts"].as_array().unwrap(), story["readings"].as_array().unwrap());
    assert_eq!((facts.len(), readings.len()), (3, 4));
    for fact in facts {
        assert_eq!((fact["products"].as_u64(), fact["carries"].as_u64()), (Some(3057), Some(6114)));
        let share = |key: &str| fact[key]["point"].as_f64().unwrap();
        let (carry, product) = (share("carry_share"), share("product_share"));
        assert!(carry > 0.02 && product > 0.2 && carry + product < 1.3, "{fact}");
    }
    // Every recording was read: its samples are those of the ladder.
    for reading in readings {
        assert!(reading["error"].is_null(), "{reading}");
    }
    assert!(readings.iter().any(|reading| reading["samples"].as_u64().unwrap() > 20));
}

#[test]
fn v8_sees_functions_and_not_what_is_inlined() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let path = file.path().to_str().unwrap();
    let (status, _, err) = primitives(&["exam", "--runtime", "node", "--json", path]);
    if status == Some(2) {
        assert!(err.contains("install Node"), "{err}");
        println!("skipped: {err}");
        return;
    }
    let exam: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    for skipped in exam["skipped"].as_array().unwrap() {
        println!("skipped: {}: {}", skipped["name"], skipped["why"]);
    }
    for case in exam["cases"].as_array().unwrap() {
        // Five standard deviations of a share, and two points.
        let allowed = 0.02 + 5.0 * (0.25 / case["samples"].as_f64().unwrap()).sqrt();
        for function in case["functions"].as_array().unwrap() {
            let (truth, sampled) = (function[1].as_f64().unwrap(), function[2].as_f64().unwrap());
            match case["callees"].as_str().unwrap() {
                "separate" => assert!((sampled - truth).abs() < allowed, "{case}"),
                _ => assert!(sampled < truth / 4.0, "{case}"),
            }
        }
    }
}
