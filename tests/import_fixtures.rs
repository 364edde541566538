//! Profiles that real tools wrote of programs of known shares: each is detected by content, read to its golden,
//! written and read again.
//!
//! `scripts/fixtures` made the files; `BLESS=1 cargo test --test import_fixtures` writes the goldens.
#![cfg(feature = "import")]

use std::path::{Path, PathBuf};

use countercheck::import::export::{ExportOptions, Target, write};
use countercheck::import::profile::{Options, read};
use countercheck::profile::{GroupBy, Profile};
use serde_json::json;

const PRODUCERS: &[&str] = &["jdk", "node", "perf", "py-spy"];

fn fixtures() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("profiles/fixtures");
    let mut files = Vec::new();
    for producer in PRODUCERS {
        for version in std::fs::read_dir(root.join(producer)).unwrap_or_else(|error| panic!("{producer}: {error}")) {
            for file in std::fs::read_dir(version.unwrap().path()).unwrap() {
                files.push(file.unwrap().path());
            }
        }
    }
    files.retain(|path| !path.to_string_lossy().ends_with(".golden.json"));
    files.sort();
    assert!(files.len() >= 8, "{files:?}");
    files
}

fn load(path: &Path) -> Profile {
    let bytes = std::fs::read(path).unwrap();
    read(bytes.as_slice(), &Options::default()).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn summary(profile: &Profile) -> String {
    let weights: Vec<_> = (0..profile.weight_types.len())
        .map(|at| {
            json!([
                profile.weight_types[at].name,
                profile.weight_types[at].unit,
                profile.total(at),
                profile.samples_of(at)
            ])
        })
        .collect();
    let top = profile.top(profile.default_weight, GroupBy::Function);
    let rows: Vec<_> =
        top.rows.iter().take(8).map(|row| json!([row.name, row.self_weight, row.total_weight])).collect();
    let notes: Vec<_> = profile.notes.iter().map(|note| json!([note.code, note.count])).collect();
    let summary = json!({
        "format": profile.provenance.format,
        "producer": profile.provenance.producer,
        "clock": profile.provenance.clock,
        "requested_hz": profile.provenance.requested_hz,
        "duration_ns": profile.provenance.duration_ns,
        "threads": profile.threads.len(),
        "weights": weights,
        "default_weight": profile.weight_types[profile.default_weight].name,
        "top": rows,
        "notes": notes,
    });
    format!("{summary:#}\n")
}

#[test]
fn each_fixture_reads_to_its_golden() {
    for path in fixtures() {
        let golden = PathBuf::from(format!("{}.golden.json", path.display()));
        let found = summary(&load(&path));
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(&golden, &found).unwrap();
        }
        let expected = std::fs::read_to_string(&golden)
            .unwrap_or_else(|error| panic!("{}: {error}; BLESS=1 writes it", golden.display()));
        assert_eq!(found, expected, "{}", path.display());
    }
}

/// By op count `one` is 25 % and `three` is 75 %; with a hundred samples and more, five standard deviations.
#[test]
fn each_fixture_that_has_names_shows_the_known_shares() {
    let mut shown = 0;
    for path in fixtures() {
        let profile = load(&path);
        let weight = profile.default_weight;
        let part = |name: &str| {
            let is = |function: &str| {
                function == name
                    || function.ends_with(&format!(".{name}"))
                    || function.starts_with(&format!("{name} ("))
            };
            let by = profile.by(weight, |frame| is(&frame.function));
            by.get(&true).map_or(0.0, |sums| sums.total_weight)
        };
        let (one, three) = (part("one"), part("three"));
        if one + three == 0.0 || profile.provenance.format == "perf-data" {
            continue;
        }
        let samples = profile.samples_of(weight).expect("each fixture counts its samples") as f64;
        let share = three / (one + three);
        let allowed = 5.0 * (0.75 * 0.25 / samples).sqrt();
        assert!((share - 0.75).abs() < allowed, "{}: {share:.3}, {samples} samples", path.display());
        shown += 1;
    }
    assert!(shown >= 4, "only {shown} fixtures show the two functions");
}

#[test]
fn each_fixture_survives_being_written() {
    for path in fixtures() {
        let profile = load(&path);
        let total = profile.total(profile.default_weight);
        for target in Target::ALL {
            let written = write(&profile, target, &ExportOptions::default());
            let again = read(written.bytes.as_slice(), &Options::default())
                .unwrap_or_else(|error| panic!("{} as {target:?}: {error}", path.display()));
            let weight = match target {
                Target::Pprof | Target::Otlp => again.default_weight,
                _ => 0,
            };
            let close = (again.total(weight) - total).abs() <= 1e-6 * total.abs();
            assert!(close, "{} as {target:?}: {} instead of {total}", path.display(), again.total(weight));
        }
    }
}

/// The same recording as `perf.data` and as the text of `perf script`: equal samples and weight.
#[test]
fn perf_data_agrees_with_perf_script() {
    let all = fixtures();
    let named = |end: &str| all.iter().find(|path| path.to_string_lossy().ends_with(end)).map(|path| load(path));
    let (Some(data), Some(text)) = (named("ratio-fp.perf.data"), named("ratio-fp.script.txt")) else {
        panic!("both fixtures are part of the crate");
    };
    assert_eq!(data.weight_types, text.weight_types);
    assert_eq!((data.samples.len(), data.total(0)), (text.samples.len(), text.total(0)));
    let depths = |profile: &Profile| -> Vec<usize> {
        profile
            .samples
            .iter()
            .map(|sample| sample.stack.map_or(0, |stack| profile.leaf_to_root(stack).count()))
            .collect()
    };
    assert_eq!(depths(&data), depths(&text));
}
