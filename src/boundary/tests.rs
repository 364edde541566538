use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::*;

static OUTER: Boundary = Boundary::new("test_outer").frames(&["countercheck::outer"]);
static INNER: Boundary = Boundary::new("test_inner");
static OTHER: Boundary = Boundary::new("test_other");
static RANDOM: Boundary = Boundary::new("test_random").stateful();

thread_local! {
    static EXECUTIONS: Cell<u64> = const { Cell::new(0) };
}

fn inner(x: u64) -> u64 {
    INNER.call_on(&[&x.to_le_bytes()], || {
        EXECUTIONS.set(EXECUTIONS.get() + 1);
        x * 3
    })
}

fn outer(x: u64) -> Vec<u64> {
    OUTER.call_on(&[&x.to_le_bytes()], || vec![inner(x), inner(x + 1)])
}

/// Two outer calls with two nested inner ones each, and one inner call of its own.
fn operation(x: u64) -> Vec<u64> {
    let mut all = outer(x);
    all.extend(outer(x + 10));
    all.push(inner(x));
    all
}

fn executions(body: impl FnOnce()) -> u64 {
    let before = EXECUTIONS.get();
    body();
    EXECUTIONS.get() - before
}

#[test]
fn nested_calls_are_counted_under_their_parent_alone() {
    let (output, counts) = count(|| operation(1));
    assert_eq!(output, operation(1));
    assert_eq!(counts.outermost, [("test_outer", 2), ("test_inner", 1)]);
    assert_eq!(counts.nested, [Nested { parent: "test_outer", primitive: "test_inner", calls: 4 }]);
    assert_eq!((counts.of("test_inner"), counts.within("test_outer", "test_inner")), (1, 4));
    assert_eq!(counts.of("never called"), 0);
}

#[test]
fn a_counted_primitive_knows_its_frames_and_closures() {
    // Of this test alone: other tests call the shared ones from closures of their own, at the same time.
    static FRAMED: Boundary = Boundary::new("test_framed").frames(&["countercheck::framed"]);
    fn framed(x: u64) -> u64 {
        FRAMED.call_on(&[&x.to_le_bytes()], || x + 1)
    }
    count(|| framed(1));
    let seen = known("test_framed").unwrap();
    assert_eq!(seen.frames, ["countercheck::framed"]);
    let test = "countercheck::boundary::tests::a_counted_primitive_knows_its_frames_and_closures";
    let names: Vec<&str> = seen.closures.iter().map(|closure| closure.name).collect();
    assert_eq!(names, [format!("{test}::framed::{{{{closure}}}}")]);
    assert!(known("never called").is_none());
}

#[test]
fn a_dose_repeats_outermost_calls_of_the_selected() {
    let plain = executions(|| drop(operation(1)));
    let only_inner = executions(|| {
        let (output, extra) = dose(&Selection::only(["test_inner"]), 7, || operation(1));
        assert_eq!((output, extra), (operation(1), 7));
    });
    // One run dosed, and one without a mode to compare with.
    assert_eq!(only_inner, 2 * plain + 7);
    let (_, extra) = dose(&Selection::all(), 2, || operation(1));
    assert_eq!(extra, 6);
    let (_, extra) = dose(&Selection::none(), 9, || operation(1));
    assert_eq!(extra, 0);
}

#[test]
fn a_replay_computes_nothing_and_returns_the_same() {
    let (output, recording) = record(|| operation(5));
    assert_eq!(recording.len(), 3);
    let computed =
        executions(|| assert_eq!(replay(&recording, &Selection::all(), || operation(5)), Ok(output.clone())));
    assert_eq!(computed, 0);
    let in_shadow =
        executions(|| assert_eq!(shadow(&recording, &Selection::all(), || operation(5)), Ok(output.clone())));
    assert_eq!(in_shadow, executions(|| drop(operation(5))));
    let inner_alone =
        executions(|| assert_eq!(replay(&recording, &Selection::only(["test_inner"]), || operation(5)), Ok(output)));
    assert_eq!(inner_alone, in_shadow - 1);
}

#[test]
fn a_replay_of_other_work_is_an_error_that_says_where() {
    let (_, recording) = record(|| operation(5));
    let all = Selection::all();
    let error = replay(&recording, &all, || operation(6)).unwrap_err();
    assert_eq!((error.at, error.found.as_str()), (0, "test_outer on other inputs"));
    let error = replay(&recording, &all, || inner(5)).unwrap_err();
    assert_eq!((error.at, error.found.as_str()), (0, "test_inner"));
    let error = replay(&recording, &all, || outer(5)).unwrap_err();
    assert_eq!((error.at, error.found.as_str()), (1, "the end"));
    let error = replay(&recording, &all, || (operation(5), inner(1))).unwrap_err();
    assert_eq!((error.at, error.expected.as_str()), (3, "the end"));
    let other_type = || OUTER.call_on(&[&5u64.to_le_bytes()], || 1u8);
    let error = replay(&recording, &all, other_type).unwrap_err();
    assert_eq!((error.at, error.found.as_str()), (0, "test_outer with output u8"));
    // A selection checks the order of all calls, and the inputs of what it replays.
    assert!(replay(&recording, &Selection::none(), || inner(5)).is_err());
}

#[test]
fn an_alternative_computes_in_the_boundarys_place_where_its_type_fits() {
    fn halves(inputs: &[&[u8]]) -> Box<dyn std::any::Any> {
        Box::new(u64::from_le_bytes(inputs[0].try_into().unwrap()) / 2)
    }
    static SWAPPED: Boundary = Boundary::new("test_swapped").alternatives(&[
        Alternative { name: "halves", compute: halves },
        Alternative { name: "other type", compute: |_| Box::new("text") },
    ]);
    let operation = || SWAPPED.call_on(&[&10u64.to_le_bytes()], || 10u64) + inner(1);
    assert_eq!(swap("test_swapped", "halves", operation), (8, 1));
    assert_eq!(swap("test_swapped", "other type", operation), (13, 0));
    assert_eq!(swap("test_swapped", "none", operation), (13, 0));
    assert_eq!(swap("test_inner", "halves", operation), (13, 0));
}

#[test]
fn stateful_calls_are_counted_but_never_dosed_or_replayed() {
    let next = Cell::new(0u64);
    let draw = || RANDOM.call(|| next.replace(next.get() + 1));
    assert_eq!(dose(&Selection::all(), 5, draw), (0, 0));
    let (first, recording) = record(draw);
    assert_eq!(first, 1);
    assert_eq!(replay(&recording, &Selection::all(), draw), Ok(2));
    assert_eq!(count(draw).1.of("test_random"), 1);
}

#[test]
fn captured_inputs_are_those_of_the_outermost_calls() {
    let (_, captured) = capture(|| operation(1));
    let names: Vec<_> = captured.calls.iter().map(|call| call.primitive).collect();
    assert_eq!(names, ["test_outer", "test_outer", "test_inner"]);
    assert_eq!(captured.calls[1].inputs, [11u64.to_le_bytes().to_vec()]);
}

#[test]
fn a_trace_times_each_outermost_call() {
    fn clock() -> u64 {
        thread_local!(static NOW: Cell<u64> = const { Cell::new(0) });
        NOW.set(NOW.get() + 10);
        NOW.get()
    }
    let (_, mut traced) = trace(clock, || operation(1));
    traced.sort_by_key(|one| one.primitive);
    let expected = [
        Traced { primitive: "test_inner", calls: 1, total_ns: 10 },
        Traced { primitive: "test_outer", calls: 2, total_ns: 20 },
    ];
    assert_eq!(traced, expected);
}

#[test]
fn a_panic_restores_the_mode_and_the_nesting() {
    let (_, counts) = count(|| {
        let caught = catch_unwind(AssertUnwindSafe(|| OUTER.call(|| -> u64 { panic!("on purpose") })));
        assert!(caught.is_err());
        inner(1)
    });
    assert_eq!((counts.of("test_outer"), counts.of("test_inner")), (1, 1));
    assert!(counts.nested.is_empty());

    let (_, counts) = count(|| {
        let caught = catch_unwind(|| dose(&Selection::all(), 3, || OUTER.call(|| -> u64 { panic!("on purpose") })));
        assert!(caught.is_err());
        inner(1)
    });
    assert_eq!(counts.outermost, [("test_inner", 1)]);
}

#[test]
fn a_run_within_a_run_is_its_own() {
    let (inner_counts, counts) = count(|| {
        inner(1);
        count(|| outer(2)).1
    });
    assert_eq!(inner_counts.outermost, [("test_outer", 1)]);
    assert_eq!(counts.outermost, [("test_inner", 1)]);
}

#[test]
fn calls_on_other_threads_are_reported_apart() {
    let spawn = || std::thread::spawn(|| (0..5).map(|i| OTHER.call(|| i)).sum::<u64>()).join().unwrap();
    let (sum, counts) = count(spawn);
    assert_eq!((sum, counts.of("test_other")), (10, 0));
    let seen: Vec<_> = counts.foreign.iter().filter(|(name, _)| *name == "test_other").collect();
    assert_eq!(seen, [&("test_other", 5)]);
}

#[test]
fn a_dose_from_a_supply_executes_its_calls_in_turn_and_the_operation_once() {
    static SUPPLIED: Boundary = Boundary::new("tests_supplied");
    static OTHER: Boundary = Boundary::new("tests_not_supplied");
    let log = std::rc::Rc::new(std::cell::RefCell::new(Vec::new()));
    let entry = |number: u64| -> Prepared {
        let log = log.clone();
        Box::new(move || {
            log.borrow_mut().push(number);
            number
        })
    };
    let calls: std::rc::Rc<[Prepared]> = [entry(1), entry(2), entry(3)].into();
    let supply = Supply::new([("tests_supplied".to_owned(), calls)]);
    let (own, others) = (std::cell::Cell::new(0), std::cell::Cell::new(0));
    let ((), extra) = dose_from(&supply, &Selection::all(), 2, || {
        for _ in 0..2 {
            SUPPLIED.call(|| own.set(own.get() + 1));
            OTHER.call(|| others.set(others.get() + 1));
        }
    });
    // The other has no supply: its own call stands in, twice for each of two calls.
    assert_eq!((own.get(), others.get(), extra), (2, 6, 8));
    assert_eq!(*log.borrow(), [1, 2, 3, 1]);
}

#[test]
fn an_output_that_borrows_is_dosed_and_computed_in_a_replay() {
    static FIRST: Boundary = Boundary::new("test_first_word");
    fn first(text: &str) -> &str {
        FIRST.call_borrowed(&[text.as_bytes()], || {
            EXECUTIONS.set(EXECUTIONS.get() + 1);
            text.split(' ').next().unwrap_or("")
        })
    }
    let run = |text: &str| (first(text).len() as u64, inner(2));
    let (output, counts) = count(|| run("a word"));
    assert_eq!((output, counts.of("test_first_word")), ((1, 6), 1));
    assert!(known("test_first_word").unwrap().unkept && !known("test_inner").unwrap().unkept);
    assert_eq!(executions(|| assert_eq!(dose(&Selection::only(["test_first_word"]), 5, || run("a word")).1, 5)), 7);
    let (_, recording) = record(|| run("a word"));
    let replayed = || replay(&recording, &Selection::all(), || run("a word"));
    assert_eq!(executions(|| assert_eq!(replayed(), Ok(output))), 1);
    let error = replay(&recording, &Selection::all(), || run("another word")).unwrap_err();
    assert_eq!((error.at, error.found.as_str()), (0, "test_first_word on other inputs"));
}
