//! `crosscheck --profile --costs --counts`: other people's profiles, results and counts, judged.
#![cfg(feature = "cli")]

use std::process::Command;

use serde_json::Value;

fn primitives(arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_primitives"))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(arguments)
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

const PROFILE: &str = "profiles/published-story/create_group.folded";
const COSTS: &str = "profiles/published-story/results.json";
const COUNTS: &str = "profiles/published-story/counts.toml";

fn judged(operation: &str) -> Value {
    let (status, out, err) =
        primitives(&["crosscheck", operation, "--profile", PROFILE, "--costs", COSTS, "--counts", COUNTS, "--json"]);
    assert_eq!(status, Some(0), "{err}");
    serde_json::from_str(&out).unwrap()
}

#[test]
fn the_published_story_is_its_scalar_multiplications() {
    let report = judged("create_group/1");
    let row = &report["rows"][0];
    assert_eq!(row["primitive"], "scalar multiplication");
    let model = row["model"]["point"].as_f64().unwrap();
    assert!((model - 24.0 * 579e3 / 14e6).abs() < 1e-9, "{model}");
    let sampled = row["readings"][0]["sampled"]["point"].as_f64().unwrap();
    assert!((sampled - 0.75).abs() < 1e-9, "{sampled}");
}

#[test]
fn a_rewrite_is_no_reference_for_the_carry() {
    let report = judged("x25519_dh");
    assert_eq!(report["rows"][0]["reference"]["basis"], "none");
    let codes: Vec<_> = report["warnings"].as_array().unwrap().iter().map(|w| w["code"].as_str().unwrap()).collect();
    assert!(codes.contains(&"rewrite-is-no-dose") && codes.contains(&"no-reference"), "{codes:?}");
}

/// A profile of 20,000 samples that gives f a half, where doses say a quarter.
#[test]
fn a_dose_table_convicts_a_profile() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let profile = write("p.folded", "main;work;f 10000\nmain;work;g 10000\nmain;other 5000\n");
    let counts = |zero: &str| {
        format!(
            "version = 1\n[[operation]]\nname = \"work\"\ntime = \"10 ms\"\nscope = [\"work\"]\n[[operation.primitive]]\nname = \"f\"\ncount = 8\n\
             frames = [\"f\"]\ndose = [{{ k = 0, time = \"{zero}\" }}, {{ k = 1, time = \"12.5 ms\" }}, {{ k = 2, time = \"15 ms\" }}, {{ k = 3, time = \"17.5 ms\" }}]\n"
        )
    };
    let file = write("c.toml", &counts("10 ms"));
    let (status, out, err) =
        primitives(&["crosscheck", "--profile", &profile, "--counts", &file, "--json", "--fail-on", "over"]);
    assert_eq!(status, Some(1), "{err}");
    let report: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(report["rows"][0]["readings"][0]["verdict"], "over", "{out}");
    assert_eq!(report["rows"][0]["reference"]["basis"], "dose");

    // A dose 0 that is not the operation's own time is no reference.
    let file = write("d.toml", &counts("13 ms"));
    let (status, out, _) =
        primitives(&["crosscheck", "--profile", &profile, "--counts", &file, "--json", "--fail-on", "over"]);
    assert_eq!(status, Some(0));
    assert!(out.contains("dose-zero-differs"), "{out}");
}

#[test]
fn a_template_is_a_counts_file() {
    let (status, template, err) = primitives(&["counts", "--template", PROFILE]);
    assert_eq!(status, Some(0), "{err}");
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), &template).unwrap();
    let check = ["counts", "--check", file.path().to_str().unwrap(), "--json"];
    let (status, out, err) = primitives(&check);
    assert_eq!((status, &out[..]), (Some(2), ""), "nothing is filled in");
    assert!(err.contains("operation \"operation\": found the count 0 for every primitive"), "{err}");
    std::fs::write(file.path(), template.replace("count = 0 ", "count = 3 ")).unwrap();
    let (status, out, err) = primitives(&check[..3]);
    assert_eq!(status, Some(0), "{err}");
    assert!(out.contains("operation: not timed") && out.contains("no-time: "), "{out}");
    let (status, out, err) = primitives(&check);
    assert_eq!(status, Some(0), "{err}");
    let explanations: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(explanations[0]["primitives"][0]["primitive"], "car25519");
}

#[test]
fn what_is_missing_is_said_with_status_2() {
    for (arguments, expected) in [
        (&["crosscheck", "--counts", COUNTS][..], "--profile"),
        (&["crosscheck", "--profile", PROFILE, "--counts", COUNTS, "--costs", COSTS], "name one of them"),
        (
            &["crosscheck", "x", "--profile", PROFILE, "--counts", COUNTS, "--costs", COSTS],
            "counts create_group/1, x25519_dh, not x",
        ),
        (&["crosscheck", "x25519_dh", "--profile", PROFILE, "--counts", COUNTS], "no cost file (pass --costs)"),
        (&["crosscheck", "--profile", PROFILE, "--counts", PROFILE], PROFILE),
        (&["counts", "--template", COUNTS], COUNTS),
    ] {
        let (status, _, err) = primitives(arguments);
        assert_eq!(status, Some(2), "{arguments:?}: {err}");
        assert!(err.contains(expected), "{arguments:?}: {err}");
    }
}
