//! Real files from other tools, each against a value that an independent program found.
//!
//! The files are not part of this crate: where `../shared/cases` is absent, each test says so and passes.
#![cfg(feature = "import")]

use std::path::PathBuf;

use countercheck::import::ImportError;
use countercheck::import::profile::{Options, read};
use countercheck::profile::{Frame, FrameKind, Profile};

fn file(folder: &str, name: &str) -> Option<Vec<u8>> {
    let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "..", "shared", "cases", folder, name].iter().collect();
    match std::fs::read(&path) {
        Ok(bytes) => Some(bytes),
        Err(_) => {
            println!("skipped: no {}", path.display());
            None
        }
    }
}

fn case(name: &str) -> Option<Result<Profile, ImportError>> {
    Some(read(file("files", name)?.as_slice(), &Options::default()))
}

/// The profile of a case, or the end of the test where the files are absent.
macro_rules! profile {
    ($name:expr) => {
        match case($name) {
            Some(profile) => profile.unwrap_or_else(|error| panic!("{}: {error}", $name)),
            None => return,
        }
    };
}

fn of(profile: &Profile, weight: usize, function: &str) -> (f64, f64) {
    let by = profile.by(weight, |frame| frame.function.clone());
    by.get(function).map_or((0.0, 0.0), |sums| (sums.self_weight, sums.total_weight))
}

fn weight(profile: &Profile, name: &str) -> usize {
    let names: Vec<_> = profile.weight_types.iter().map(|weight| weight.name.as_str()).collect();
    names.iter().position(|known| *known == name).unwrap_or_else(|| panic!("{name} not among {names:?}"))
}

fn count(profile: &Profile, weight: usize) -> u64 {
    profile.samples.iter().filter(|sample| sample.weights[weight] != 0.0).filter_map(|sample| sample.count).sum()
}

/// Weight by stack as folded text, the thread's name as root, for comparison with a folded golden.
fn folded(profile: &Profile, weight: usize) -> Vec<(String, f64)> {
    let mut sums = std::collections::BTreeMap::<String, f64>::new();
    for sample in profile.samples.iter().filter(|sample| sample.weights[weight] != 0.0) {
        let thread = sample.thread.map_or("", |thread| &profile.threads[thread.0 as usize]);
        let comm = thread.rsplit_once(' ').map_or(thread, |(comm, _)| comm);
        let mut names = vec![comm.replace(' ', "_")];
        let frames = sample.stack.map_or_else(Vec::new, |stack| profile.root_to_leaf(stack));
        names.extend(frames.iter().map(|frame| annotated(profile.frame(*frame))));
        *sums.entry(names.join(";")).or_default() += sample.weights[weight];
    }
    sums.into_iter().collect()
}

/// As the golden's producer writes it: `Ljava/io/Writer;::write` as `java/io/Writer:::write`, inlined frames
/// marked, unknown ones named by their module.
fn annotated(frame: &Frame) -> String {
    let module = frame.module.as_deref().unwrap_or_default();
    let name = match frame.function.strip_prefix('L') {
        _ if frame.function == "[unknown]" && module != "[unknown]" => {
            format!("[{}]", module.rsplit('/').next().unwrap_or_default())
        }
        Some(class) if class.contains('/') => class.replace(';', ":"),
        _ => frame.function.replace(';', ":"),
    };
    if frame.kind == FrameKind::Inlined { name + "_[i]" } else { name }
}

fn golden(name: &str) -> Vec<(String, f64)> {
    let text =
        String::from_utf8(file("expected", name).expect("goldens lie beside the files")).expect("goldens are text");
    let mut sums = std::collections::BTreeMap::<String, f64>::new();
    for line in text.lines() {
        let (stack, value) = line.rsplit_once(' ').expect("a golden line ends in a number");
        *sums.entry(stack.to_owned()).or_default() += value.parse::<f64>().expect("a number");
    }
    sums.into_iter().collect()
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * b.abs().max(1.0)
}

#[test]
fn folded_stacks() {
    let Some(empty) = case("folded-inferno-empty.txt") else { return };
    assert!(matches!(empty, Err(ImportError::NoSamples { .. })));

    let profile = profile!("folded-inferno-austin.txt");
    assert_eq!((profile.total(0), profile.samples.len()), (291.0, 2));

    let profile = profile!("folded-inferno-bad-lines.txt");
    assert_eq!(profile.total(0), 607.0);
    assert_eq!(of(&profile, 0, "main").0, 548.0);
    let ignored = profile.notes.iter().find(|note| note.code == "lines-ignored").expect("two bad lines");
    assert_eq!(ignored.count, 2);

    let profile = profile!("folded-inferno-fractional-with-space.txt");
    assert!(near(profile.total(0), 334.618));

    let profile = profile!("folded-inferno-two-counts-differential.txt");
    assert_eq!((profile.total(0), profile.total(1)), (333.0, 513.0));

    assert_eq!(profile!("folded-inferno-diff-before.txt").total(0), 65.0);
    assert_eq!(profile!("folded-inferno-diff-after.txt").total(0), 80.0);

    let profile = profile!("folded-speedscope-crlf.txt");
    assert_eq!(profile.total(0), 14.0);
    assert_eq!(["a", "b", "c", "d"].map(|name| of(&profile, 0, name).0), [0.0, 5.0, 5.0, 4.0]);

    let profile = profile!("folded-asyncprofiler-sample1.collapsed");
    assert_eq!(profile.total(0), 185.0);
    assert_eq!((of(&profile, 0, "read").0, of(&profile, 0, "BusyClient.run_[j]").1), (143.0, 185.0));
}

#[test]
fn perf_script_text() {
    let profile = profile!("perfscript-inferno-java-inline.txt");
    assert_eq!((profile.samples.len(), profile.total(0)), (22, 222_222_220.0));
    assert_eq!(folded(&profile, 0), golden("perfscript-inferno-java-inline.expected.folded"));

    let profile = profile!("perfscript-inferno-single-line-stacks.txt");
    assert_eq!(folded(&profile, 0), golden("perfscript-inferno-single-line-stacks.expected.folded"));

    let profile = profile!("perfscript-flamegraph-cycles-instructions-01.txt");
    let (cycles, instructions) = (weight(&profile, "cycles"), weight(&profile, "instructions"));
    assert_eq!((count(&profile, cycles), count(&profile, instructions)), (111, 333));
    let poll_idle = |weight| of(&profile, weight, "poll_idle").0 > 0.0;
    assert!(poll_idle(cycles) && !poll_idle(instructions));
    assert_eq!(profile.default_weight, cycles);

    let profile = profile!("perfscript-flamegraph-java-faults-01.txt");
    assert_eq!((profile.samples.len(), profile.total(0)), (23, 200.0));
    assert_eq!(of(&profile, 0, "handle_intel").0, 72.0);

    let profile = profile!("perfscript-gen-space-in-path-and-comm.txt");
    assert_eq!((profile.samples.len(), profile.total(0)), (266, 533_066_128.0));
    let share = |name| of(&profile, 0, name).0 / profile.total(0) * 100.0;
    assert!((share("leaf3") - 74.06).abs() < 0.01 && (share("leaf") - 25.19).abs() < 0.01);
    assert!(profile.threads.contains(&"my thr: 1/2 (x) 17853".to_owned()), "{:?}", profile.threads);
    assert!(profile.frames.iter().any(|frame| frame.module.as_deref() == Some("/opt/demo/my app")));
}

#[test]
fn pprof_protobuf() {
    let profile = profile!("pprof-google-inline-sample.pb.gz");
    let (samples, cpu) = (weight(&profile, "samples"), weight(&profile, "cpu"));
    assert_eq!((profile.total(samples), profile.total(cpu), profile.default_weight), (176.0, 1.76e9, cpu));
    let leaf = |part: &str| {
        let by = profile.by(samples, |frame| frame.function.contains(part));
        by.get(&true).map_or(0.0, |sums| sums.self_weight)
    };
    assert_eq!([leaf("mapiternext"), leaf("busyLoop"), leaf("math.Abs")], [128.0, 15.0, 11.0]);

    let profile = profile!("pprof-parca-fgprof-wallclock.pb.gz");
    let time = weight(&profile, "time");
    assert_eq!(profile.total(weight(&profile, "samples")), 208_335.0);
    assert!((profile.total(time) / 1e9 - 2104.39).abs() < 0.01);
    assert!((of(&profile, time, "runtime.gopark").0 / profile.total(time) - 0.9679).abs() < 1e-4);
    let spread = profile.total(time) / profile.provenance.duration_ns.expect("a duration") as f64;
    assert!((spread - 70.14).abs() < 0.1, "{spread}");
    assert_ne!(profile.provenance.clock, countercheck::profile::SampleClock::Cpu);

    let profile = profile!("pprof-parca-heap-delta-negative.pb.gz");
    let (space, objects) = (weight(&profile, "inuse_space"), weight(&profile, "inuse_objects"));
    assert_eq!((profile.total(space), profile.total(objects)), (666_938_665.0, 535_448.0));
    let absolute: f64 = profile.samples.iter().map(|sample| sample.weights[space].abs()).sum();
    assert_eq!(absolute, 1_560_551_527.0);
    let least = profile.samples.iter().map(|sample| sample.weights[objects]).fold(f64::INFINITY, f64::min);
    assert_eq!(least, -65_536.0);

    let profile = profile!("pprof-pprofutils-raw-cpu.pb.gz");
    let cpu = weight(&profile, "cpu");
    assert_eq!((count(&profile, cpu), profile.total(cpu)), (38, 380e6));
    assert!((profile.provenance.duration_ns.expect("a duration") as f64 / 1e7 - 314.0).abs() < 1.0);
    assert_eq!(of(&profile, cpu, "main.computeSum"), (190e6, 240e6));

    let profile = profile!("pprof-gen-go-cpu-ratio-1-3.pb.gz");
    let samples = weight(&profile, "samples");
    assert_eq!((profile.total(samples), profile.total(weight(&profile, "cpu"))), (81.0, 810e6));
    assert_eq!((of(&profile, samples, "main.one").1, of(&profile, samples, "main.three").1), (20.0, 61.0));
    assert_eq!((of(&profile, samples, "main.mix").0, of(&profile, samples, "runtime.asyncPreempt").0), (57.0, 24.0));

    let profile = profile!("pprof-gen-go-heap-exact.pb.gz");
    let totals = ["alloc_objects", "alloc_space", "inuse_objects", "inuse_space"]
        .map(|name| profile.total(weight(&profile, name)));
    assert_eq!(totals, [1788.0, 5_546_944.0, 1010.0, 1_058_192.0]);
    let keep = |name| of(&profile, weight(&profile, name), "main.allocKeep").0;
    assert_eq!((keep("inuse_objects"), keep("inuse_space")), (1000.0, 1_024_000.0));
    let dropped = |name| of(&profile, weight(&profile, name), "main.allocDrop").0;
    assert_eq!((dropped("alloc_objects"), dropped("alloc_space"), dropped("inuse_space")), (500.0, 2_048_000.0, 0.0));
}

#[test]
fn v8_cpuprofile() {
    let profile = profile!("cpuprofile-speedscope-chrome65-simple.cpuprofile");
    assert_eq!((of(&profile, 1, "d").0, of(&profile, 1, "(anonymous)").0), (33_285e3, 1_060e3));
    assert_eq!((profile.total(0), profile.total(1)), (29.0, 34_345e3));
    assert_eq!(profile.provenance.duration_ns, Some(47_892_000));

    let profile = profile!("cpuprofile-gen-node20-ratio-1-3.cpuprofile");
    assert_eq!(profile.total(0), 669.0);
    assert_eq!(["three", "one", "mix"].map(|name| of(&profile, 0, name).0), [483.0, 155.0, 22.0]);
    assert_eq!(profile.total(1), (1_800_778.0 - 7_449.0) * 1e3);
}

#[test]
fn firefox() {
    let profile = profile!("gecko-firefox-unsymbolicated-weights.json.gz");
    assert_eq!((profile.samples.len(), profile.total(0)), (42, 236.0));
    let mut by_thread = vec![0.0; profile.threads.len()];
    for sample in &profile.samples {
        by_thread[sample.thread.expect("a thread").0 as usize] += sample.weights[0];
    }
    assert_eq!(by_thread, [60.0, 12.0, 22.0, 35.0, 47.0, 60.0]);

    let profile = profile!("gecko-samply-ls-weights-null-stack.json");
    assert_eq!((profile.samples.len(), profile.total(0)), (5130, 13_083.0));
    let without: Vec<_> = profile.samples.iter().filter(|sample| sample.stack.is_none()).collect();
    assert_eq!((without.len(), without.iter().map(|sample| sample.weights[0]).sum::<f64>()), (11, 14.0));
    assert_eq!(profile.total(weight(&profile, "cpu")), 153_216e3);
    assert!((profile.provenance.duration_ns.expect("times") as f64 / 1e6 - 3273.0).abs() < 1.0);
    assert_eq!(of(&profile, 0, "0xb27a8").0, 11_938.0);
}

#[test]
fn speedscope() {
    let profile = profile!("speedscope-speedscope-evented-0.0.1.json");
    assert_eq!(profile.total(0), 14.0);
    assert_eq!(["a", "b", "c", "d"].map(|name| of(&profile, 0, name).0), [0.0, 5.0, 5.0, 4.0]);
    assert_eq!((of(&profile, 0, "a").1, of(&profile, 0, "b").1), (14.0, 14.0));

    let Some(broken) = case("speedscope-speedscope-invalid-incomplete.json") else { return };
    let error = broken.expect_err("a frame is never closed").to_string();
    assert!(error.contains("profiles[0].events[1]") && error.contains("the close of \"A\""), "{error}");

    let profile = profile!("speedscope-gen-pyspy-ratio-1-3.json");
    assert_eq!(count(&profile, 0), 170);
    assert!(near(profile.total(0), 0.85e9));
    assert!(near(of(&profile, 0, "three").0, 0.63e9) && near(of(&profile, 0, "one").0, 0.185e9));
}

#[test]
fn flight_recorder() {
    let profile = profile!("jfr-jfrparser-fastslow-broken-pool.jfr");
    let execution = weight(&profile, "jdk.ExecutionSample");
    assert_eq!(profile.total(execution), 1012.0);
    assert_eq!(profile.total(weight(&profile, "cpu")), 10.12e9);
    assert_eq!(profile.total(weight(&profile, "jdk.ObjectAllocationSample")), 4_689_568.0);
    assert_eq!(profile.provenance.events["profiler.WallClockSleeping"], 11);
    assert_eq!(of(&profile, execution, "FastSlow.fib").0, 999.0);
    assert_eq!(profile.default_weight, execution);

    let profile = profile!("jfr-jfrparser-wall-batch.jfr");
    let wall = weight(&profile, "profiler.WallClockSample");
    assert_eq!((profile.samples.len(), profile.total(wall)), (1780, 26_246.0));
    assert_eq!((profile.total(weight(&profile, "wall")), profile.total(weight(&profile, "cpu"))), (262.46e9, 8.34e9));
    let fib = of(&profile, wall, "App.fib").0 / profile.total(wall);
    assert!((fib - 0.030).abs() < 0.002, "{fib}");

    let profile = profile!("jfr-speedscope-heavy-jdk21.jfr");
    let (execution, native) = (weight(&profile, "jdk.ExecutionSample"), weight(&profile, "jdk.NativeMethodSample"));
    assert_eq!((profile.total(execution), profile.total(native)), (346.0, 44.0));
    let sort = by_part(&profile, execution, "DualPivotQuicksort.sort");
    assert_eq!(sort, 211.0);
    assert_eq!(by_part(&profile, native, "emitEvent"), 44.0);
    let allocation = weight(&profile, "jdk.ObjectAllocationSample");
    let events = profile.samples.iter().filter(|sample| sample.weights[allocation] != 0.0);
    assert_eq!((events.count(), profile.total(allocation)), (25, 878_277_960.0));
    let without = profile.samples.iter().filter(|sample| sample.weights[allocation] != 0.0 && sample.stack.is_none());
    assert_eq!(without.count(), 2);

    let Some(truncated) = case("jfr-derived-heavy-truncated.jfr") else { return };
    let error = truncated.expect_err("the file is truncated").to_string();
    assert!(error.contains("truncated"), "{error}");
}

fn by_part(profile: &Profile, weight: usize, part: &str) -> f64 {
    profile.by(weight, |frame| frame.function.contains(part)).get(&true).map_or(0.0, |sums| sums.self_weight)
}
