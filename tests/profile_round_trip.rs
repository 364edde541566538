//! Every profile that can be written is read back: equal where the format holds it, with the loss said where not.
#![cfg(feature = "import")]

use std::collections::BTreeMap;

use countercheck::import::export::{ExportOptions, Target, ThreadRoots, write};
use countercheck::import::profile::{Options, read};
use countercheck::profile::{Builder, Frame, FrameKind, Profile, StackSample, WeightType};

fn reread(profile: &Profile, target: Target) -> (Profile, Vec<String>) {
    let written = write(profile, target, &ExportOptions::default());
    let again = read(written.bytes.as_slice(), &Options::default())
        .unwrap_or_else(|error| panic!("{target:?}: {error}\n{}", String::from_utf8_lossy(&written.bytes)));
    (again, written.losses.into_iter().map(|loss| loss.code).collect())
}

/// Weight by stack of names.
fn stacks(profile: &Profile, weight: usize) -> BTreeMap<Vec<String>, f64> {
    let mut sums = BTreeMap::new();
    for sample in profile.samples.iter().filter(|sample| sample.weights[weight] != 0.0) {
        let frames = sample.stack.map_or_else(Vec::new, |stack| profile.root_to_leaf(stack));
        let names = frames.iter().map(|frame| profile.frame(*frame).function.clone()).collect();
        *sums.entry(names).or_default() += sample.weights[weight];
    }
    sums
}

/// The same with everything that a frame holds.
fn full(profile: &Profile, weight: usize) -> BTreeMap<(String, String), f64> {
    let mut sums = BTreeMap::new();
    for sample in profile.samples.iter().filter(|sample| sample.weights[weight] != 0.0) {
        let frames = sample.stack.map_or_else(Vec::new, |stack| profile.root_to_leaf(stack));
        let frames: Vec<_> = frames.iter().map(|frame| format!("{:?}", profile.frame(*frame))).collect();
        let thread = sample.thread.map_or("-", |thread| profile.threads[thread.0 as usize].as_str());
        *sums.entry((thread.to_owned(), frames.join("\n"))).or_default() += sample.weights[weight];
    }
    sums
}

fn rich() -> Profile {
    let mut builder = Builder::new(vec![
        WeightType { name: "samples".into(), unit: "count".into() },
        WeightType { name: "cpu".into(), unit: "nanoseconds".into() },
    ]);
    builder.default_weight(1);
    let plain = |function: &str, line| Frame {
        function: function.into(),
        module: Some("/bin/a b".into()),
        file: Some("src/a.rs".into()),
        line: Some(line),
        address: Some(0x1000 + u64::from(line)),
        kind: FrameKind::Plain,
    };
    let main = builder.frame(plain("main", 1));
    let outer = builder.frame(plain("outer", 5));
    let inner = builder.frame(Frame { kind: FrameKind::Inlined, ..plain("inner", 5) });
    let bare = builder.frame(Frame { function: "bare".into(), ..Frame::default() });
    let threads = [builder.thread("main 1"), builder.thread("worker 2")];
    for (frames, thread, count) in
        [(vec![main, outer, inner], 0, 3), (vec![main, outer], 0, 1), (vec![main, bare], 1, 2), (vec![], 1, 1)]
    {
        let stack = builder.stack_of(frames);
        let weights = vec![count as f64, count as f64 * 1e6];
        builder.sample(StackSample {
            stack,
            thread: Some(threads[thread]),
            time_ns: None,
            count: Some(count),
            weights,
        });
    }
    builder.finish()
}

#[test]
fn pprof_holds_all_but_times() {
    let profile = rich();
    let (again, losses) = reread(&profile, Target::Pprof);
    assert_eq!(losses, Vec::<String>::new());
    assert_eq!((again.weight_types.clone(), again.default_weight), (profile.weight_types.clone(), 1));
    assert_eq!((full(&again, 0), full(&again, 1)), (full(&profile, 0), full(&profile, 1)));
    let (twice, _) = reread(&again, Target::Pprof);
    assert_eq!(twice, again);
}

#[test]
fn otlp_holds_all_but_times_with_the_default_first() {
    let profile = rich();
    let (again, losses) = reread(&profile, Target::Otlp);
    assert_eq!(losses, Vec::<String>::new());
    let swapped: Vec<_> = profile.weight_types.iter().rev().cloned().collect();
    assert_eq!((again.weight_types.clone(), again.default_weight), (swapped, 0));
    assert_eq!((full(&again, 1), full(&again, 0)), (full(&profile, 0), full(&profile, 1)));
    assert_eq!(again.samples_of(0), profile.samples_of(1));
    let (twice, _) = reread(&again, Target::Otlp);
    assert_eq!(twice, again);
}

#[test]
fn speedscope_holds_one_weight_by_thread() {
    let profile = rich();
    let (again, losses) = reread(&profile, Target::Speedscope);
    assert_eq!(losses, ["weights", "modules", "addresses", "frame-kinds"]);
    assert_eq!(stacks(&again, 0), stacks(&profile, 1));
    assert_eq!(again.threads, profile.threads);
    let counts = |profile: &Profile| profile.samples.iter().map(|sample| sample.count.unwrap()).sum::<u64>();
    assert_eq!(counts(&again), counts(&profile));
    assert!(again.frames.iter().any(|frame| frame.line == Some(5) && frame.file.as_deref() == Some("src/a.rs")));
    let (twice, losses) = reread(&again, Target::Speedscope);
    assert_eq!((twice.samples, twice.frames, losses), (again.samples, again.frames, vec![]));
}

#[test]
fn firefox_holds_modules_lines_and_inlining() {
    let profile = rich();
    let (again, losses) = reread(&profile, Target::Firefox);
    assert_eq!(losses, ["weights", "times"]);
    assert_eq!(stacks(&again, 0), stacks(&profile, 1));
    let inner = again.frames.iter().find(|frame| frame.function == "inner").unwrap();
    assert_eq!((inner.kind, inner.module.as_deref(), inner.line), (FrameKind::Inlined, Some("/bin/a b"), Some(5)));
}

#[test]
fn folded_says_what_it_loses() {
    let profile = rich();
    let (again, losses) = reread(&profile, Target::Folded);
    assert_eq!(losses, ["weights", "unit", "modules", "places", "addresses", "frame-kinds", "threads", "no-stack"]);
    assert_eq!(again.total(0), profile.total(1));
    let (twice, losses) = reread(&again, Target::Folded);
    assert_eq!((twice, losses), (again, vec![]));
}

#[test]
fn threads_become_roots_on_request() {
    let options = ExportOptions { weight: Some(0), threads: ThreadRoots::Prefix };
    let text = String::from_utf8(write(&rich(), Target::Folded, &options).bytes).unwrap();
    assert_eq!(text, "main 1;main;outer;inner 3\nmain 1;main;outer 1\nworker 2;main;bare 2\nworker 2;[no stack] 1\n");
}

fn named(names: &[&[&str]]) -> Profile {
    let mut builder = Builder::new(vec![WeightType { name: "samples".into(), unit: "count".into() }]);
    for names in names {
        let frames: Vec<_> =
            names.iter().map(|name| builder.frame(Frame { function: (*name).into(), ..Frame::default() })).collect();
        let stack = builder.stack_of(frames);
        builder.sample(StackSample { stack, thread: None, time_ns: None, count: Some(1), weights: vec![1.0] });
    }
    builder.finish()
}

// google/pprof#669: removing `;` merges functions.
#[test]
fn hostile_names_stay_apart_in_folded_stacks() {
    let names = [
        "f;g",
        "fg",
        "f%3Bg",
        "f\ng",
        "f\r\ng",
        "",
        " ",
        "#x",
        "# x",
        "a 12",
        "b\t3.5",
        "c 1 2",
        "\u{1b}[0m",
        "%",
        "é",
    ];
    let profile = named(&names.iter().map(std::slice::from_ref).collect::<Vec<_>>());
    let (again, _) = reread(&profile, Target::Folded);
    assert_eq!(again.total(0), names.len() as f64);
    assert_eq!(stacks(&again, 0).len(), names.len(), "{:?}", stacks(&again, 0));
    assert_eq!(stacks(&again, 0).values().copied().fold(0.0, f64::max), 1.0);
}

#[test]
fn hostile_names_survive_the_structured_formats() {
    let long = "n".repeat(1 << 20);
    let profile = named(&[&["f;g", "\"\\\n\0"], &["<svg onload=x>", "\u{202e}"], &[&long], &["", "x"]]);
    for target in [Target::Pprof, Target::Otlp, Target::Speedscope, Target::Firefox] {
        let (again, _) = reread(&profile, target);
        let expected = match target {
            // These have no empty name: it is the absence of one.
            Target::Pprof | Target::Otlp => stacks(&profile, 0)
                .into_iter()
                .map(|(names, value)| {
                    (
                        names
                            .into_iter()
                            .map(|name| if name.is_empty() { "[unknown]".to_owned() } else { name })
                            .collect(),
                        value,
                    )
                })
                .collect(),
            _ => stacks(&profile, 0),
        };
        assert_eq!(stacks(&again, 0), expected, "{target:?}");
    }
}

#[test]
fn deep_stacks_and_great_counts_are_written_and_read() {
    let deep = vec!["f"; 100_000];
    let mut profile = named(&[&deep]);
    profile.samples[0].count = Some(4_000_000_000);
    profile.samples[0].weights[0] = 4e9;
    for target in Target::ALL {
        let (again, _) = reread(&profile, target);
        assert_eq!(again.total(0), 4e9, "{target:?}");
        assert_eq!(again.stacks.len(), 100_000, "{target:?}");
    }
}
