//! Profiles made by hand whose error is known: one for each mechanism, and sound ones beside them.

use super::{Certainty, Diagnosis, Mechanism};
use crate::crosscheck::explanation::Explanation;
use crate::crosscheck::judge::{Options, judge};
use crate::crosscheck::testing::{explanation, folded, stacks, timed};
use crate::crosscheck::verdict::Verdict;
use crate::profile::{FrameKind, Profile, SampleClock, facts};

const THIRTY_SEVENTY: [(&str, f64); 2] = [("a", 0.30), ("b", 0.60)];

fn sound() -> Profile {
    with_budget(folded("main;a 3000\nmain;b 6000\nmain 1000\n"))
}

/// Ten thousand samples of the operation asked for and delivered.
fn with_budget(mut profile: Profile) -> Profile {
    let provenance = &mut profile.provenance;
    provenance.requested_hz = Some(1000.0);
    provenance.cpu_time_ns = Some(10_000_000_000);
    provenance.duration_ns = Some(10_100_000_000);
    fact(profile, facts::OPERATION, "op/1")
}

fn fact(mut profile: Profile, key: &str, value: &str) -> Profile {
    profile.provenance.facts.insert(key.into(), value.into());
    profile
}

fn of(known: &Explanation, profile: &Profile) -> (Vec<Diagnosis>, Vec<Verdict>) {
    let report = judge(known, &[("s".into(), profile)], &Options::default()).unwrap().report;
    let verdict = |name: &str| {
        let rows = report.rows.iter().chain([&report.rest]);
        rows.filter(|row| row.primitive == name).map(|row| row.readings[0].judgement.verdict).next().unwrap()
    };
    let names = known.primitives.iter().map(|primitive| primitive.primitive.as_str()).chain(["rest"]);
    (report.samplers[0].diagnoses.clone(), names.map(verdict).collect())
}

fn mechanisms(profile: &Profile) -> Vec<(Mechanism, Certainty)> {
    let (found, _) = of(&explanation(&THIRTY_SEVENTY), profile);
    for diagnosis in &found {
        assert!(!diagnosis.evidence.is_empty() && !diagnosis.remedy.is_empty(), "{diagnosis:?}");
    }
    found.into_iter().map(|diagnosis| (diagnosis.mechanism, diagnosis.certainty)).collect()
}

use Certainty::{Fits, Shown};

#[test]
fn a_sound_profile_is_accused_of_nothing() {
    let (found, verdicts) = of(&explanation(&THIRTY_SEVENTY), &sound());
    assert_eq!((found, verdicts), (vec![], vec![Verdict::Agrees; 3]));
}

#[test]
fn sound_profiles_stay_sound_whoever_took_them() {
    for (key, value) in [
        (facts::UNWINDER, "frame-pointer"),
        (facts::BLOCKLIST, "libc,libgcc"),
        (facts::INLINE_FRAMES, "per-function"),
        (facts::MAX_DEPTH, "128"),
        (facts::TIMER, "tick"),
        (facts::TIMER_SCOPE, "process"),
        (facts::DEBUG_NON_SAFEPOINTS, "false"),
    ] {
        let mut profile = fact(sound(), key, value);
        profile.provenance.producer = Some("pprof-rs 0.15, jfr, node".into());
        assert_eq!(mechanisms(&profile), [], "{key}");
    }
}

#[test]
fn a_rate_above_the_tick() {
    let mut profile = fact(with_budget(folded("main;a 750\nmain;b 1500\nmain 250\n")), facts::TICK_HZ, "250");
    assert_eq!(mechanisms(&profile), [(Mechanism::RateAboveTick, Shown)]);
    // Unknown tick: 250 is one that kernels have.
    profile.provenance.facts.clear();
    assert_eq!(mechanisms(&profile), [(Mechanism::RateAboveTick, Fits)]);
    // A sampler that delivers what is asked is not bound to it.
    assert_eq!(mechanisms(&fact(sound(), facts::TICK_HZ, "250")), []);
}

#[test]
fn a_blocklist_drops_samples() {
    // b's 6000 samples are gone; a and the rest keep theirs.
    let profile = fact(with_budget(folded("main;a 3000\nmain 1000\n")), facts::BLOCKLIST, "libc,vdso");
    assert_eq!(mechanisms(&profile), [(Mechanism::Blocklist, Shown)]);
    let (found, verdicts) = of(&explanation(&THIRTY_SEVENTY), &profile);
    assert_eq!(verdicts, [Verdict::Over, Verdict::Blind, Verdict::Over]);
    assert_eq!(found[0].primitives, ["b"]);
    assert!(found[0].evidence.iter().any(|line| line.contains("60 % of the samples")));
}

#[test]
fn a_blocklist_under_a_tick_bound_timer() {
    let profile = with_budget(folded("main;a 750\nmain 250\n"));
    let profile = fact(fact(profile, facts::BLOCKLIST, "libc"), facts::TIMER, "tick");
    let profile = fact(profile, facts::TICK_HZ, "250");
    let found = mechanisms(&profile);
    assert!(found.contains(&(Mechanism::Blocklist, Shown)), "{found:?}");
    assert!(found.contains(&(Mechanism::RateAboveTick, Shown)), "{found:?}");
}

#[test]
fn samples_lost_without_a_blocklist() {
    let profile = with_budget(folded("main;a 3000\nmain 1000\n"));
    assert_eq!(mechanisms(&profile), [(Mechanism::SamplesLost, Fits)]);
    let profile = fact(sound(), facts::LOST, "4000");
    assert_eq!(mechanisms(&profile), [(Mechanism::SamplesLost, Shown)]);
}

#[test]
fn inlined_primitives_merged_under_one() {
    let merged = with_budget(folded("main;both;b 9000\nmain 1000\n"));
    let profile = fact(merged.clone(), facts::INLINE_FRAMES, "per-function");
    assert_eq!(mechanisms(&profile), [(Mechanism::InlinedMerged, Shown)]);
    assert_eq!(mechanisms(&merged), [(Mechanism::InlinedMerged, Fits)]);
    let (_, verdicts) = of(&explanation(&THIRTY_SEVENTY), &merged);
    assert_eq!(verdicts, [Verdict::Blind, Verdict::Over, Verdict::Agrees]);
}

#[test]
fn merged_inline_chains_show_in_the_frames() {
    let plain = FrameKind::Plain;
    let profile = with_budget(stacks(&[
        (&[("main", plain), ("both", plain), ("b", FrameKind::Inlined)], 9000),
        (&[("main", plain)], 1000),
    ]));
    assert_eq!(mechanisms(&profile), [(Mechanism::InlinedMerged, Shown)]);
}

#[test]
fn inlined_primitives_lost_in_their_caller() {
    let profile = fact(with_budget(folded("main;caller 9000\nmain 1000\n")), facts::INLINE_FRAMES, "none");
    assert_eq!(mechanisms(&profile), [(Mechanism::InlinedMerged, Shown)]);
    let (_, verdicts) = of(&explanation(&THIRTY_SEVENTY), &profile);
    assert_eq!(verdicts, [Verdict::Blind, Verdict::Blind, Verdict::Over]);
}

#[test]
fn leaves_charged_to_their_callers() {
    let profile = fact(with_budget(folded("main;caller 9000\nmain 1000\n")), facts::WALK_START, "return-address");
    assert_eq!(mechanisms(&profile)[0], (Mechanism::LeafChargedToCaller, Shown));
    let mut by_producer = fact(with_budget(folded("main;caller 10000\n")), facts::UNWINDER, "frame-pointer");
    by_producer.provenance.producer = Some("pprof-rs 0.15".into());
    assert_eq!(mechanisms(&by_producer)[0], (Mechanism::LeafChargedToCaller, Shown));
}

#[test]
fn a_tail_call_takes_the_caller_off_the_stack() {
    let mut known = explanation(&[("a", 0.80), ("b", 0.0)]);
    known.primitives[1].count = 0.0;
    known.primitives[1].nested = vec![("a".into(), 4.0)];
    let (found, verdicts) = of(&known, &with_budget(folded("main;a 2000\nmain;b 6000\nmain 2000\n")));
    assert_eq!((found[0].mechanism, found[0].certainty), (Mechanism::TailCall, Shown));
    assert_eq!(found[0].primitives, ["a", "b"]);
    assert_eq!(verdicts, [Verdict::Under, Verdict::Over, Verdict::Agrees]);
    // Seen inside its caller it is no error at all.
    let (found, verdicts) = of(&known, &with_budget(folded("main;a 2000\nmain;a;b 6000\nmain 2000\n")));
    assert_eq!((found.len(), verdicts), (0, vec![Verdict::Agrees; 3]));
}

#[test]
fn a_tail_call_to_a_function_that_is_no_primitive() {
    let found = mechanisms(&with_budget(folded("main;a 3000\nmain;b 2000\nmain;helper 4000\nmain 1000\n")));
    assert_eq!(found, [(Mechanism::TailCall, Fits)]);
}

#[test]
fn a_tail_call_where_inlined_frames_are_told() {
    let (plain, inlined) = (FrameKind::Plain, FrameKind::Inlined);
    let jumped = |kind| {
        let profile = with_budget(stacks(&[
            (&[("main", plain), ("a", plain), ("step", inlined)], 3000),
            (&[("main", plain), ("b", kind)], 2000),
            (&[("main", plain), ("callee", plain), ("step", inlined)], 4000),
            (&[("main", plain)], 1000),
        ]));
        fact(profile, facts::INLINE_FRAMES, "per-function")
    };
    assert_eq!(mechanisms(&jumped(plain)), [(Mechanism::TailCall, Fits)]);
    // A primitive that shows as inlined only made no jump, and may be merged into its caller elsewhere.
    assert_eq!(mechanisms(&jumped(inlined)), [(Mechanism::InlinedMerged, Shown)]);
}

#[test]
fn stacks_that_break_are_not_merged_inline_chains() {
    // Both primitives call others, and walks that break on the way reach neither.
    let profile = with_budget(folded("main;a;inner 500\ninner 8000\nmain 1500\n"));
    let profile = fact(fact(profile, facts::INLINE_FRAMES, "none"), facts::UNWINDER, "frame-pointer");
    assert_eq!(mechanisms(&profile), [(Mechanism::BrokenStacks, Shown)]);
}

#[test]
fn samples_that_a_blocklist_drops_are_not_merged_inline_chains() {
    let (plain, inlined) = (FrameKind::Plain, FrameKind::Inlined);
    let profile =
        with_budget(stacks(&[(&[("main", plain), ("a", plain), ("step", inlined)], 3000), (&[("main", plain)], 300)]));
    let profile = fact(fact(profile, facts::BLOCKLIST, "libc"), facts::INLINE_FRAMES, "per-function");
    assert_eq!(mechanisms(&profile), [(Mechanism::Blocklist, Shown)]);
}

#[test]
fn signals_blocked_and_delivered_late() {
    let profile = with_budget(folded("main;a 3000\nmain;libc::pthread_sigmask 6000\nmain 1000\n"));
    let profile = fact(profile, facts::INLINE_FRAMES, "per-function");
    assert_eq!(mechanisms(&profile), [(Mechanism::SamplesLost, Shown)]);
}

#[test]
fn a_thread_that_blocks_the_signal_of_the_process() {
    // b runs in a thread that blocks the signal; the one that waits for it is interrupted instead.
    let profile = with_budget(folded("main;a 3000\nmain;recv;futex_wait;syscall 6000\nmain 1000\n"));
    let profile = fact(fact(profile, facts::TIMER_SCOPE, "process"), facts::INLINE_FRAMES, "per-sample");
    assert_eq!(mechanisms(&profile), [(Mechanism::ThreadBias, Shown)]);
    assert_eq!(mechanisms(&fact(profile, facts::TIMER_SCOPE, "thread")), [(Mechanism::Unknown, Fits)]);
}

#[test]
fn the_unwinder_as_leaf() {
    let profile = with_budget(folded(
        "main;a;pprof::profiler::perf_signal_handler;backtrace::trace 3000\nmain;b 6000\nmain 1000\n",
    ));
    assert_eq!(mechanisms(&profile), [(Mechanism::UnwinderLeaf, Shown)]);
}

#[test]
fn stacks_cut_at_the_limit() {
    let deep = format!("{} 9000\nmain 1000\n", vec!["descend"; 128].join(";"));
    let profile = fact(with_budget(folded(&deep)), facts::MAX_DEPTH, "128");
    assert_eq!(mechanisms(&profile)[0], (Mechanism::Truncated, Shown));
    assert_eq!(mechanisms(&with_budget(folded(&deep)))[0], (Mechanism::Truncated, Fits));
    // pprof-rs takes its own frames off what it cut, and no other sampler does.
    let less = format!("{} 9000\nmain 1000\n", vec!["descend"; 124].join(";"));
    let profile = fact(with_budget(folded(&less)), facts::MAX_DEPTH, "128");
    let mut profile = fact(profile, facts::INLINE_FRAMES, "per-function");
    assert!(!mechanisms(&profile).contains(&(Mechanism::Truncated, Shown)));
    profile.provenance.producer = Some("pprof-rs 0.15".into());
    assert_eq!(mechanisms(&profile), [(Mechanism::Truncated, Shown)]);
    // As deep, but below the limit that the sampler states.
    let found = mechanisms(&fact(with_budget(folded(&deep)), facts::MAX_DEPTH, "512"));
    assert!(!found.iter().any(|(mechanism, _)| *mechanism == Mechanism::Truncated), "{found:?}");
}

#[test]
fn stacks_that_break_before_the_root() {
    let profile = with_budget(folded("main;a 3000\nmain;b 2500\nmain 1000\ncallback 3500\n"));
    let profile = fact(profile, facts::UNWINDER, "frame-pointer");
    assert!(mechanisms(&profile).contains(&(Mechanism::BrokenStacks, Shown)));
}

#[test]
fn safepoint_bias_of_a_jvm_recording() {
    let mut profile = folded("main;a 9000\nmain 1000\n");
    profile.provenance.format = "jfr".into();
    profile.provenance.events.insert("jdk.ExecutionSample".into(), 10_000);
    assert_eq!(mechanisms(&profile)[0], (Mechanism::Safepoint, Fits));
    let off = fact(profile.clone(), facts::DEBUG_NON_SAFEPOINTS, "false");
    assert_eq!(mechanisms(&off)[0], (Mechanism::Safepoint, Shown));
    let on = fact(profile, facts::DEBUG_NON_SAFEPOINTS, "true");
    assert!(!mechanisms(&on).iter().any(|(mechanism, _)| *mechanism == Mechanism::Safepoint));
}

#[test]
fn webassembly_inlining() {
    let mut profile = fact(folded("js-to-wasm;caller 9000\njs-to-wasm 1000\n"), facts::OPERATION, "op/1");
    profile.provenance.format = "cpuprofile".into();
    assert_eq!(mechanisms(&profile)[0], (Mechanism::JitInlining, Shown));
}

#[test]
fn lockstep_with_a_periodic_load() {
    // One sample each millisecond of an operation of 2 ms: two phases, the first never met in the first half.
    let mut known = explanation(&[("a", 0.50)]);
    let scale = |estimate: Option<crate::stats::Estimate>| estimate.map(|estimate| estimate.scaled(2.0));
    known.time_ns = scale(known.time_ns);
    known.primitives[0].dose_ns = scale(known.primitives[0].dose_ns);
    known.primitives[0].replay_ns = scale(known.primitives[0].replay_ns);
    let profile = with_budget(timed(std::iter::repeat_n("", 10_000)));
    let (found, verdicts) = of(&known, &profile);
    assert_eq!(verdicts, [Verdict::Blind, Verdict::Over]);
    assert!(found.iter().any(|diagnosis| diagnosis.mechanism == Mechanism::Lockstep), "{found:?}");
    // The same step with both phases met in turn is right.
    let (found, verdicts) = of(&known, &with_budget(timed((0..10_000).map(|i| ["a", ""][i % 2]))));
    assert_eq!((found.len(), verdicts), (0, vec![Verdict::Agrees; 2]));
}

#[test]
fn one_timer_for_several_threads() {
    let mut profile = fact(sound(), facts::TIMER_SCOPE, "process");
    profile = Profile { samples: with_budget(folded("main;a 6000\nmain;b 3000\nmain 1000\n")).samples, ..profile };
    profile.threads = vec!["one".into(), "two".into()];
    assert!(mechanisms(&profile).contains(&(Mechanism::ThreadBias, Fits)));
}

#[test]
fn events_that_are_not_time() {
    let mut profile = folded("main;a 6000\nmain;b 3000\nmain 1000\n");
    profile.weight_types[0].name = "instructions".into();
    profile.provenance.clock = SampleClock::Event;
    assert_eq!(mechanisms(&profile)[0], (Mechanism::NotTime, Shown));
}

#[test]
fn time_off_the_cpu_is_said_but_no_error() {
    let mut profile = sound();
    profile.provenance.duration_ns = Some(40_000_000_000);
    let (found, verdicts) = of(&explanation(&THIRTY_SEVENTY), &profile);
    assert_eq!(verdicts, [Verdict::Agrees; 3]);
    assert_eq!(found[0].mechanism, Mechanism::OffCpu);
    assert!(found[0].message.starts_with("75 % of the wall time"));
}

#[test]
fn functions_without_names() {
    let profile = with_budget(folded("main;0x55d0c0ffee 9000\nmain 1000\n"));
    assert!(mechanisms(&profile).contains(&(Mechanism::NoSymbols, Shown)));
}

#[test]
fn a_pattern_that_misses_its_function() {
    let mut known = explanation(&[("x25519_dh", 0.60), ("b", 0.30)]);
    known.primitives[0].frames = vec![crate::crosscheck::explanation::FramePattern::Exact("crate::dh".into())];
    let (found, _) = of(&known, &with_budget(folded("main;x25519_dh::inner 6000\nmain;b 3000\nmain 1000\n")));
    assert!(found.iter().any(|diagnosis| diagnosis.mechanism == Mechanism::PatternMissed), "{found:?}");
}

#[test]
fn a_primitive_that_only_its_patterns_miss_is_not_called_blind() {
    use crate::crosscheck::explanation::FramePattern::{Exact, Glob, Regex};
    let profile = with_budget(folded("main;store::table::carry 6000\nmain;b 3000\nmain 1000\n"));
    let verdict = |frames: Vec<crate::crosscheck::explanation::FramePattern>| {
        let mut known = explanation(&[("fold", 0.60), ("b", 0.30)]);
        known.primitives[0].frames = frames;
        of(&known, &profile).1[0]
    };
    // The function is there under another path, or nobody said which functions are the primitive's.
    assert_eq!(verdict(vec![Exact("store::carry".into())]), Verdict::Unresolved);
    assert_eq!(verdict(vec![Glob("*::cell::carry".into())]), Verdict::Unresolved);
    let guessed = vec![Exact("fold".into()), Glob("*::fold".into()), Regex("^store::run::closure$".into())];
    assert_eq!(verdict(guessed), Verdict::Unresolved);
    assert_eq!(verdict(vec![Exact("store::square".into())]), Verdict::Blind);
    assert_eq!(verdict(vec![Exact("store::table::carry".into())]), Verdict::Agrees);
}

#[test]
fn an_error_that_nothing_explains_is_still_an_error() {
    let mut profile =
        fact(with_budget(folded("main;a 6000\nmain;b 3000\nmain 1000\n")), facts::INLINE_FRAMES, "per-sample");
    profile.provenance.clock = SampleClock::Cpu;
    assert_eq!(mechanisms(&profile), [(Mechanism::Unknown, Fits)]);
}

#[test]
fn codes_are_those_of_the_json() {
    for mechanism in Mechanism::ALL {
        assert_eq!(serde_json::to_value(mechanism).unwrap(), mechanism.code());
    }
}

#[test]
fn a_profile_of_something_else_is_told_from_a_blind_one() {
    let judged = |profile: &Profile, options: &Options| {
        let report = judge(&explanation(&THIRTY_SEVENTY), &[("s".into(), profile)], options).unwrap().report;
        let verdicts: Vec<_> = report.rows.iter().map(|row| row.readings[0].judgement.verdict).collect();
        (report.warnings.into_iter().map(|warning| warning.code).collect::<Vec<_>>(), verdicts)
    };
    let nothing = folded("main;other 10000\n");
    let unmatched = vec!["nothing-matched".to_owned()];
    assert_eq!(judged(&nothing, &Options::default()), (unmatched.clone(), vec![Verdict::Unresolved; 2]));
    // Known to be of the operation, by who took it or by its frames, it is blind.
    let taken_here = fact(nothing.clone(), facts::OPERATION, "op/1");
    assert_eq!(judged(&taken_here, &Options::default()), (unmatched.clone(), vec![Verdict::Blind; 2]));
    let main = crate::crosscheck::explanation::FramePattern::Exact("main".into());
    let scoped = Options { scope: vec![main], ..Options::default() };
    assert_eq!(judged(&nothing, &scoped), (unmatched, vec![Verdict::Blind; 2]));
    let (codes, verdicts) = judged(&folded("main;other 9999\nmain;b 1\n"), &Options::default());
    assert_eq!((codes.len(), verdicts[0]), (0, Verdict::Under));
}

#[test]
fn a_profile_of_slower_executions_says_so() {
    let codes = |cpu_ns: &str| {
        let profile = fact(fact(sound(), facts::ITERATIONS, "1000"), facts::THREAD_CPU_NS, cpu_ns);
        let report = judge(&explanation(&THIRTY_SEVENTY), &[("s".into(), &profile)], &Options::default());
        report.unwrap().report.warnings.into_iter().map(|warning| warning.code).collect::<Vec<_>>()
    };
    // The operation takes 1 ms.
    assert_eq!(codes("1200000000"), ["slower-while-sampled"]);
    assert_eq!(codes("1010000000"), [""; 0]);
}
