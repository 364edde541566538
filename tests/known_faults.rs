//! Faults that tools of this field committed, each as a small input of our own with the right answer. The number is the row of
//! the public report in the list of known faults; those of benchmark statistics are in `tests/results.rs`, those of single
//! readers beside the reader.
#![cfg(feature = "import")]

mod support;

use countercheck::import::ImportError;
use countercheck::import::export::{ExportOptions, Target, write};
use countercheck::import::profile::{Options, read};
use countercheck::profile::{GroupBy, Profile};
use support::jfr::{self, Field};

fn parse(bytes: impl AsRef<[u8]>) -> Profile {
    read(bytes.as_ref(), &Options::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn refused(bytes: impl AsRef<[u8]>) -> ImportError {
    read(bytes.as_ref(), &Options::default()).expect_err("it is not to be read")
}

/// Self and total of a function.
fn of(profile: &Profile, weight: usize, function: &str) -> (f64, f64) {
    let by = profile.by(weight, |frame| frame.function.clone());
    by.get(function).map_or((0.0, 0.0), |sums| (sums.self_weight, sums.total_weight))
}

fn weight(profile: &Profile, name: &str) -> usize {
    profile.weight_types.iter().position(|weight| weight.name == name).unwrap_or_else(|| panic!("no weight {name}"))
}

fn note<'a>(profile: &'a Profile, code: &str) -> Option<&'a str> {
    profile.notes.iter().find(|note| note.code == code).map(|note| note.message.as_str())
}

#[test]
fn fault_1_a_module_with_a_blank_keeps_its_frame() {
    let profile = parse(
        "java 1 1.0: 1 cycles:\n\t9c51fd34 java.lang.String.hashCode ([JIT app cache])\n\t10 x (/games/Proton 3.16/y.so)\n\n",
    );
    assert_eq!(of(&profile, 0, "java.lang.String.hashCode"), (1.0, 1.0));
    assert_eq!(of(&profile, 0, "x"), (0.0, 1.0));
}

#[test]
fn fault_2_3_5_threads_of_every_name_and_none() {
    let text = "Plex DLNA Serve 26638 [001] 856620.530720: 2654110 cycles:\n\t10 f (/bin/a)\n\n\
                [ET_NET 0] 1234 856621.0: 1 cycles:\n\t10 f (/bin/a)\n\n";
    assert_eq!(parse(text).threads, ["Plex DLNA Serve 26638", "[ET_NET 0] 1234"]);
    let unnamed = parse("1234 5.678: 1 cycles:\n\t10 f (/bin/a)\n\n");
    assert_eq!((unnamed.threads.as_slice(), unnamed.total(0)), (["1234".to_owned()].as_slice(), 1.0));
}

#[test]
fn fault_10_names_that_folded_stacks_cannot_hold_stay_apart() {
    let profile = parse(br#"{"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{"frames":[{"name":"f;g"},{"name":"fg"}]},"profiles":[{"type":"sampled","name":"p","unit":"none","startValue":0,"endValue":3,"samples":[[0],[1]],"weights":[1,2]}]}"#);
    let folded = write(&profile, Target::Folded, &ExportOptions::default()).bytes;
    assert_eq!(String::from_utf8(folded).unwrap(), "f%3Bg 1\nfg 2\n");
}

const RUNNING: &[(u64, &str)] = &[(1, "STATE_RUNNABLE"), (2, "STATE_SLEEPING")];

fn execution(start: u64, stack: u64, state: u64) -> jfr::Event {
    (jfr::EXECUTION, vec![Field::Int(start), Field::Int(stack), Field::Int(state)])
}

fn wall(start: u64, stack: u64, state: u64, samples: u64) -> jfr::Event {
    (jfr::WALL, [start, stack, state, samples].map(Field::Int).to_vec())
}

fn setting(event: u64, name: &'static str, value: &'static str) -> jfr::Event {
    (jfr::SETTING, vec![Field::Int(0), Field::Int(event), Field::Text(name), Field::Text(value)])
}

#[test]
fn fault_13_an_empty_stack_pool_leaves_the_samples() {
    let profile = parse(jfr::chunk(RUNNING, &[&[]], &[execution(0, 5, 1), execution(1, 5, 1)]));
    assert_eq!(profile.total(weight(&profile, "jdk.ExecutionSample")), 2.0);
    assert!(note(&profile, "stacks-missing").is_some() && note(&profile, "no-stack").is_some());
}

#[test]
fn fault_14_pools_of_one_type_add_up_and_cut_stacks_show() {
    let pools: &[&[jfr::Stack]] = &[&[(1, &["f", "main"], false)], &[(2, &["g", "main"], true)]];
    let profile = parse(jfr::chunk(RUNNING, pools, &[execution(0, 1, 1), execution(1, 2, 1), execution(2, 2, 1)]));
    let samples = weight(&profile, "jdk.ExecutionSample");
    assert_eq!((of(&profile, samples, "App.f").0, of(&profile, samples, "App.g").0), (1.0, 2.0));
    assert_eq!(of(&profile, samples, "App.main").1, 3.0);
    assert_eq!(of(&profile, samples, "[truncated]").1, 2.0);
    assert!(note(&profile, "stacks-truncated").is_some());
}

#[test]
fn fault_15_indices_have_64_bits() {
    let index = 1 << 40;
    let profile =
        parse(jfr::chunk(RUNNING, &[&[(index, &["f"], false), (0xff, &["g"], false)]], &[execution(0, index, 1)]));
    assert_eq!(of(&profile, weight(&profile, "jdk.ExecutionSample"), "App.f").0, 1.0);
}

#[test]
fn fault_17_a_recording_that_was_never_closed_gives_no_numbers() {
    let whole = jfr::chunk(RUNNING, &[&[(1, &["f"], false)]], &[execution(0, 1, 1)]);
    let mut open = whole.clone();
    open[8..16].fill(0);
    assert!(refused(&open).to_string().contains("never closed"));
    // Also where the chunks before it are whole.
    let error = refused([whole.as_slice(), &whole[..whole.len() - 10]].concat()).to_string();
    assert!(error.contains("truncated"), "{error}");
}

#[test]
fn fault_18_states_go_by_name_in_each_chunk() {
    let pools: &[&[jfr::Stack]] = &[&[(1, &["f"], false)]];
    let first =
        jfr::chunk(&[(1, "STATE_RUNNABLE"), (2, "STATE_SLEEPING")], pools, &[wall(0, 1, 1, 1), wall(1, 1, 2, 4)]);
    let second =
        jfr::chunk(&[(1, "STATE_SLEEPING"), (2, "STATE_RUNNABLE")], pools, &[wall(2, 1, 2, 16), wall(3, 1, 1, 64)]);
    let profile = parse([first, second].concat());
    assert_eq!(profile.total(weight(&profile, "profiler.WallClockSample")), 85.0);
    assert_eq!(profile.total(weight(&profile, "cpu")), 17.0);
}

#[test]
fn fault_19_and_30_wall_clock_samples_are_read_by_their_number() {
    let pools: &[&[jfr::Stack]] = &[&[(1, &["sleep", "a"], false), (2, &["sleep", "b"], false)]];
    let profile = parse(jfr::chunk(RUNNING, pools, &[wall(0, 1, 2, 198), wall(1, 2, 2, 2)]));
    let samples = weight(&profile, "profiler.WallClockSample");
    assert_eq!((of(&profile, samples, "App.a").1, of(&profile, samples, "App.b").1), (198.0, 2.0));
    assert_eq!(profile.samples_of(samples), Some(200));
}

#[test]
fn two_samplers_of_one_recording_count_cpu_time_once() {
    let of_kind = |kind: u64, at: u64| (kind, vec![Field::Int(at), Field::Int(1), Field::Int(1)]);
    let mut events: Vec<jfr::Event> = (0..4).map(|at| of_kind(jfr::EXECUTION, at)).collect();
    events.extend((0..10).map(|at| of_kind(jfr::CPU_TIME, at)));
    events.push(setting(jfr::CPU_TIME, "period", "10 ms"));
    events.push(setting(jfr::EXECUTION, "period", "20 ms"));
    let profile = parse(jfr::chunk(RUNNING, &[&[(1, &["f"], false)]], &events));
    assert_eq!(profile.total(weight(&profile, "cpu")), 100e6);
    assert_eq!(profile.weight_types.iter().filter(|weight| weight.name == "cpu").count(), 1);
    assert_eq!(profile.total(weight(&profile, "jdk.ExecutionSample")), 4.0);
    assert_eq!(profile.weight_types[profile.default_weight].name, "jdk.CPUTimeSample");
}

#[test]
fn events_of_oracles_jdk_9_and_of_datadogs_profiler_are_samples() {
    let oracle: jfr::Event = (jfr::ORACLE_EXECUTION, vec![Field::Int(0), Field::Int(1), Field::Int(1)]);
    let profile = parse(jfr::chunk(RUNNING, &[&[(1, &["f"], false)]], &[oracle, setting(106, "period", "20 ms")]));
    assert_eq!(profile.total(weight(&profile, "jdk.ExecutionSample")), 1.0);
    assert_eq!(profile.total(weight(&profile, "cpu")), 20e6);
    let datadog: jfr::Event = (jfr::DATADOG, [0, 1, 1, 3].map(Field::Int).to_vec());
    let profile = parse(jfr::chunk(RUNNING, &[&[(1, &["f"], false)]], &[datadog]));
    assert_eq!(profile.total(weight(&profile, "datadog.ExecutionSample")), 3.0);
    assert_eq!(profile.total(weight(&profile, "cpu")), 3.0);
}

#[test]
fn each_of_several_events_has_its_own_samples_also_through_pprof() {
    let text = "a 1 1.0: 100 instructions:\n\t10 f (/bin/a)\n\na 1 1.0: 7 cycles:\n\t10 g (/bin/a)\n\n".to_owned()
        + "a 1 1.1: 9 cycles:\n\t10 f (/bin/a)\n\n";
    let profile = parse(&text);
    let again = parse(write(&profile, Target::Pprof, &ExportOptions::default()).bytes);
    let samples = |name: &str| again.samples_of(weight(&again, name));
    assert_eq!((samples("instructions"), samples("cycles"), samples("samples")), (Some(1), Some(2), Some(3)));
    // OpenTelemetry has one number for a stack, which then is nobody's.
    let written = write(&profile, Target::Otlp, &ExportOptions::default());
    assert!(written.losses.iter().any(|loss| loss.code == "counts"), "{:?}", written.losses);
    let again = parse(written.bytes);
    assert_eq!(again.samples_of(weight(&again, "cycles")), None);
    // Counted events are samples too, whatever they are called.
    let counted = parse("a 1 1.0: cycles:\n\t10 f (/bin/a)\n\n".repeat(5));
    let again = parse(write(&counted, Target::Pprof, &ExportOptions::default()).bytes);
    assert_eq!(again.samples_of(weight(&again, "cycles")), Some(5));
}

#[test]
fn fault_29_the_interval_comes_from_the_file() {
    let mut events: Vec<jfr::Event> = (0..100).map(|at| wall(at * 100_000, 1, 1, 1)).collect();
    events.push(setting(jfr::WALL, "wall", "100us"));
    let profile = parse(jfr::chunk(RUNNING, &[&[(1, &["f"], false)]], &events));
    let time = weight(&profile, "wall");
    assert_eq!((profile.total(time), profile.weight_types[time].unit.as_str()), (10e6, "nanoseconds"));
}

// The 900 ms in between were not spent on the CPU.
#[test]
fn fault_41_a_cpu_sample_weighs_its_period_not_the_time_since_the_last() {
    let events = [
        execution(0, 1, 1),
        execution(10_000_000, 1, 1),
        execution(910_000_000, 1, 1),
        setting(jfr::EXECUTION, "period", "10 ms"),
    ];
    let profile = parse(jfr::chunk(RUNNING, &[&[(1, &["read"], false)]], &events));
    assert_eq!(profile.total(weight(&profile, "cpu")), 30e6);
}

#[test]
fn fault_54_and_55_allocations_weigh_what_they_stand_for() {
    const KIB: u64 = 1024;
    // 256 objects of 1 KiB fill one buffer, of which the first object is the event; one object of 256 KiB lies outside.
    let pools: &[&[jfr::Stack]] = &[&[(1, &["small"], false), (2, &["large"], false)]];
    let events = [
        (jfr::IN_TLAB, [0, 1, KIB, 256 * KIB].map(Field::Int).to_vec()),
        (jfr::OUTSIDE_TLAB, [1, 2, 256 * KIB].map(Field::Int).to_vec()),
    ];
    let profile = parse(jfr::chunk(RUNNING, pools, &events));
    let bytes = weight(&profile, "allocated");
    assert_eq!(profile.weight_types[bytes].unit, "bytes");
    assert_eq!(of(&profile, bytes, "App.small").0, of(&profile, bytes, "App.large").0);
    assert_eq!(profile.total(bytes), 512.0 * 1024.0);
    // Three allocations of 16, 32 and 64 bytes: a seventh, two sevenths, four sevenths of the bytes, a third each of the samples.
    let pools: &[&[jfr::Stack]] = &[&[(1, &["a"], false), (2, &["b"], false), (3, &["c"], false)]];
    let outside = |stack, size| (jfr::OUTSIDE_TLAB, [0, stack, size].map(Field::Int).to_vec());
    let profile = parse(jfr::chunk(RUNNING, pools, &[outside(1, 16), outside(2, 32), outside(3, 64)]));
    let top = profile.top(weight(&profile, "allocated"), GroupBy::Function);
    assert_eq!(top.rows.iter().map(|row| row.self_weight).collect::<Vec<_>>(), [64.0, 32.0, 16.0]);
    assert!((top.rows[0].self_share - 4.0 / 7.0).abs() < 1e-9);
    assert!(top.rows.iter().all(|row| row.self_samples == Some(1.0)));
}

#[test]
fn fault_57_what_has_no_stack_stays_in_the_denominator() {
    let outside = |stack, size| (jfr::OUTSIDE_TLAB, [0, stack, size].map(Field::Int).to_vec());
    let profile = parse(jfr::chunk(RUNNING, &[&[(1, &["a"], false)]], &[outside(1, 56), outside(0, 44)]));
    let top = profile.top(weight(&profile, "allocated"), GroupBy::Function);
    assert_eq!((top.rows[0].self_share, top.without_stack), (0.56, 44.0));
}

/// Just enough of protobuf to write pprof by hand.
mod pprof {
    fn varint(mut value: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        while value >= 0x80 {
            bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        bytes.push(value as u8);
        bytes
    }

    pub fn number(field: u64, value: i64) -> Vec<u8> {
        [varint(field << 3), varint(value as u64)].concat()
    }

    pub fn bytes(field: u64, bytes: &[u8]) -> Vec<u8> {
        [varint(field << 3 | 2), varint(bytes.len() as u64), bytes.to_vec()].concat()
    }

    /// The file: strings, value types as pairs of string indices, samples as location ids and values and the label `bytes`, the
    /// lines of each location as function ids, and further fields. Function n is named by string n.
    pub struct File<'a> {
        pub strings: &'a [&'a str],
        pub types: &'a [(i64, i64)],
        pub samples: &'a [(&'a [i64], &'a [i64], i64)],
        pub locations: &'a [&'a [i64]],
        pub further: Vec<u8>,
    }

    impl File<'_> {
        pub fn write(&self) -> Vec<u8> {
            let mut file = Vec::new();
            for (kind, unit) in self.types {
                file.extend(bytes(1, &[number(1, *kind), number(2, *unit)].concat()));
            }
            for (locations, values, size) in self.samples {
                let mut sample: Vec<u8> = locations.iter().flat_map(|id| number(1, *id)).collect();
                sample.extend(values.iter().flat_map(|value| number(2, *value)));
                if *size > 0 {
                    let key = self.strings.iter().position(|text| *text == "bytes").expect("the label's name") as i64;
                    sample.extend(bytes(3, &[number(1, key), number(3, *size)].concat()));
                }
                file.extend(bytes(2, &sample));
            }
            for (at, lines) in self.locations.iter().enumerate() {
                let lines = lines.iter().flat_map(|function| bytes(4, &number(1, *function)));
                file.extend(bytes(4, &number(1, at as i64 + 1).into_iter().chain(lines).collect::<Vec<u8>>()));
            }
            let mut functions: Vec<i64> = self.locations.concat();
            functions.sort_unstable();
            functions.dedup();
            for id in functions {
                file.extend(bytes(5, &[number(1, id), number(2, id)].concat()));
            }
            file.extend(self.strings.iter().flat_map(|text| bytes(6, text.as_bytes())));
            file.extend_from_slice(&self.further);
            file
        }
    }
}

const HEAP: &[&str] = &["", "alloc_objects", "count", "alloc_space", "bytes", "inuse_objects", "inuse_space", "f", "g"];

#[test]
fn fault_25_and_31_time_is_named_and_in_nanoseconds() {
    let file = pprof::File {
        strings: &["", "samples", "count", "cpu", "microseconds", "f"],
        types: &[(1, 2), (3, 4)],
        samples: &[(&[1], &[50, 500_000], 0)],
        locations: &[&[5]],
        further: pprof::number(12, 10_000),
    };
    let profile = parse(file.write());
    assert_eq!((profile.total(0), profile.weight_types[0].unit.as_str()), (50.0, "count"));
    assert_eq!((profile.total(1), profile.weight_types[1].unit.as_str()), (500e6, "nanoseconds"));
    assert_eq!(profile.samples_of(1), Some(50));
}

#[test]
fn fault_33_the_default_type_is_a_string_not_an_index() {
    let types: &[(i64, i64)] = &[(1, 2), (3, 4), (5, 2), (6, 4)];
    let file = |further| {
        let samples: &[(&[i64], &[i64], i64)] = &[(&[1], &[1, 10, 1, 10], 0)];
        parse(pprof::File { strings: HEAP, types, samples, locations: &[&[7]], further }.write())
    };
    // String 3 is `alloc_space`; sample type 3 would be `inuse_space`.
    let named = file(pprof::number(14, 3));
    assert_eq!(named.weight_types[named.default_weight].name, "alloc_space");
    let unnamed = file(Vec::new());
    assert_eq!(unnamed.weight_types[unnamed.default_weight].name, "inuse_space");
}

#[test]
fn fault_34_a_default_that_is_zero_names_the_one_that_is_not() {
    let samples: &[(&[i64], &[i64], i64)] = &[(&[1], &[3, 3_360_919, 0, 0], 0)];
    let types: &[(i64, i64)] = &[(1, 2), (3, 4), (5, 2), (6, 4)];
    let profile = parse(pprof::File { strings: HEAP, types, samples, locations: &[&[7]], further: Vec::new() }.write());
    let message = note(&profile, "default-is-zero").expect("said");
    assert!(message.contains("inuse_space is zero") && message.contains("alloc_space is 3360919"), "{message}");
}

#[test]
fn fault_45_the_innermost_inlined_line_is_the_leaf() {
    let file = pprof::File {
        strings: &["", "alloc_space", "bytes", "NewBuffer", "caller"],
        types: &[(1, 2)],
        samples: &[(&[1], &[64], 0)],
        locations: &[&[3, 4]],
        further: Vec::new(),
    };
    let profile = parse(file.write());
    assert_eq!((of(&profile, 0, "NewBuffer"), of(&profile, 0, "caller")), ((64.0, 64.0), (0.0, 64.0)));
}

#[test]
fn fault_53_no_frame_is_hidden_by_its_name() {
    let profile = parse("main;reflect.Value.call;user.Alloc 5\nmain;runtime.mallocgc 2\n");
    assert_eq!((of(&profile, 0, "user.Alloc").0, of(&profile, 0, "reflect.Value.call")), (5.0, (0.0, 5.0)));
    assert_eq!(of(&profile, 0, "runtime.mallocgc").0, 2.0);
}

#[test]
fn fault_58_and_63_sizes_and_counts_that_disagree_are_named() {
    let types: &[(i64, i64)] = &[(1, 2), (3, 4)];
    let file = |samples| {
        parse(pprof::File { strings: HEAP, types, samples, locations: &[&[7], &[8]], further: Vec::new() }.write())
    };
    // Both scaled up from one sampled object of each size.
    let sound = file(&[(&[1], &[8192, 524_288], 64), (&[2], &[1, 1_048_576], 1_048_576)]);
    assert_eq!(note(&sound, "sizes-disagree"), None);
    assert_eq!(of(&sound, 0, "f").0, 8192.0);
    let broken = file(&[(&[1], &[3, 1_000_000], 64), (&[2], &[1, 1_048_576], 1_048_576)]);
    let message = note(&broken, "sizes-disagree").expect("said");
    assert!(message.contains("alloc_space 1000000 over alloc_objects 3"), "{message}");
}

#[test]
fn fault_59_negative_values_of_a_difference_are_kept() {
    let samples: &[(&[i64], &[i64], i64)] = &[(&[1], &[-65_536, -4096], 0), (&[2], &[65_536, 4096], 0)];
    let types: &[(i64, i64)] = &[(1, 2), (3, 4)];
    let profile =
        parse(pprof::File { strings: HEAP, types, samples, locations: &[&[7], &[8]], further: Vec::new() }.write());
    assert_eq!((profile.total(0), of(&profile, 1, "f").0, of(&profile, 1, "g").0), (0.0, -4096.0, 4096.0));
    let top = profile.top(1, GroupBy::Function);
    assert_eq!((top.total, top.denominator), (0.0, 8192.0));
}

#[test]
fn fault_61_two_layers_of_allocation_are_two_weights() {
    let file = pprof::File {
        strings: &["", "mmap", "bytes", "malloc", "f"],
        types: &[(1, 2), (3, 2)],
        samples: &[(&[1], &[1 << 20, 0], 0), (&[1], &[0, 1 << 20], 0)],
        locations: &[&[4]],
        further: Vec::new(),
    };
    let profile = parse(file.write());
    assert_eq!((profile.total(0), profile.total(1)), (1_048_576.0, 1_048_576.0));
    assert_eq!(profile.top(1, GroupBy::Function).total, 1_048_576.0);
}

/// A processed Firefox profile of one thread with these columns of samples.
fn firefox(samples: &str) -> Profile {
    parse(format!(
        r#"{{"meta":{{"version":27,"interval":1,"preprocessedProfileVersion":48,"product":"t"}},"libs":[],"threads":[{{"name":"main","pid":1,"tid":1,"samples":{samples},"stackTable":{{"frame":[0,1],"prefix":[null,0],"length":2}},"frameTable":{{"func":[0,1],"length":2}},"funcTable":{{"name":[0,1],"length":2}},"stringArray":["main","blocked"]}}]}}"#
    ))
}

#[test]
fn fault_26_a_block_of_weight_is_not_as_many_samples() {
    let (stacks, weights, times) = (
        vec!["0"; 100].join(","),
        vec!["1"; 100].join(","),
        (1..=101).map(|at| at.to_string()).collect::<Vec<_>>().join(","),
    );
    let profile = firefox(&format!(
        r#"{{"stack":[1,{stacks}],"time":[{times}],"weight":[9600,{weights}],"weightType":"tracing-ms","length":101}}"#
    ));
    assert_eq!((profile.total(0), profile.weight_types[0].unit.as_str()), (9700e6, "nanoseconds"));
    let top = profile.top(0, GroupBy::Function);
    assert_eq!(top.rows[0].name, "blocked");
    assert!(top.samples.is_none_or(|samples| samples == 101), "{:?}", top.samples);
}

#[test]
fn fault_42_unsorted_times_change_no_total() {
    let profile = firefox(r#"{"stack":[0,1,1],"time":[1,900,120],"weight":null,"weightType":"samples","length":3}"#);
    assert_eq!((profile.total(0), of(&profile, 0, "blocked").0), (3.0, 2.0));
}

/// A V8 profile of one function with these samples and deltas in microseconds.
fn cpuprofile(samples: &str, deltas: &str) -> Profile {
    parse(format!(
        r#"{{"nodes":[{{"id":1,"callFrame":{{"functionName":"(root)"}},"children":[2,3]}},{{"id":2,"callFrame":{{"functionName":"f"}}}},{{"id":3,"callFrame":{{"functionName":"g"}}}}],"samples":{samples},"timeDeltas":{deltas},"startTime":0,"endTime":0}}"#
    ))
}

#[test]
fn fault_38_the_lead_in_is_nobodys_time() {
    let profile = cpuprofile("[2,2,2]", "[200000,400000,500000]");
    assert_eq!(of(&profile, profile.default_weight, "f").0, 900e6);
}

#[test]
fn fault_39_a_negative_delta_does_not_move_the_clock_for_good() {
    // The clock reads 100, 80, 180: 100 µs from the earliest sample to the last.
    let profile = cpuprofile("[2,3,2]", "[100,-20,100]");
    assert_eq!(profile.total(profile.default_weight), 100e3);
}

#[test]
fn fault_47_one_function_under_several_roots_is_one_row() {
    let profile = parse("main;f 50\nf 45\n");
    assert_eq!(of(&profile, 0, "f").1, 95.0);
    assert!(profile.doubts(0).iter().any(|doubt| doubt.code == "stacks-cut"));
}

#[test]
fn fault_49_and_50_a_difference_includes_what_lies_below_and_plus_is_more() {
    let profile = parse("parent;first_child 10 30\nparent;second_child 10 30\nparent2 30 30\n");
    let change = |name| of(&profile, 1, name).1 - of(&profile, 0, name).1;
    assert_eq!((change("parent"), change("parent2")), (40.0, 0.0));
}

#[test]
fn fault_51_self_time_belongs_to_the_leaf() {
    let profile = parse("main;f 5\n");
    assert_eq!((of(&profile, 0, "f"), of(&profile, 0, "main")), ((5.0, 5.0), (0.0, 5.0)));
}

#[test]
fn fault_21_events_out_of_order_are_refused_by_their_index() {
    let error = refused(br#"{"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{"frames":[{"name":"a"}]},"profiles":[{"type":"evented","name":"p","unit":"milliseconds","startValue":0,"endValue":20000,"events":[{"type":"O","frame":0,"at":16047},{"type":"C","frame":0,"at":11524}]}]}"#);
    assert!(error.to_string().contains("events[1]"), "{error}");
}

#[cfg(feature = "cli")]
mod drawn {
    use countercheck::report::flamegraph::{Labels, differential, svg};

    use super::parse;

    fn labels() -> Labels {
        Labels { title: "t".into(), subtitle: None }
    }

    #[test]
    fn fault_93_94_95_98_names_stay_text() {
        let profile = parse("main;a\x1b[0mb 3\nmain;Time::Moment::(\"\" 4\nmain;f(A const&)<B> 5\n");
        let drawing = svg(&profile, 0, &labels()).unwrap();
        assert!(!drawing.contains('\x1b') && !drawing.contains("&nbsp;"));
        assert!(!drawing.contains("(\"\"") && !drawing.contains("const&)") && !drawing.contains("<B>"), "{drawing}");
        assert!(drawing.contains("f(A const&amp;)&lt;B&gt;"));
    }

    #[test]
    fn fault_49_50_the_second_profile_is_the_one_drawn() {
        let (before, after) = (parse("a 10\nb 10\n"), parse("a 20\nb 10\n"));
        let drawing = differential((&before, 0), (&after, 0), &labels()).unwrap();
        assert!(drawing.contains("a (20 samples") && drawing.contains("+16.67%"), "{drawing}");
    }
}
