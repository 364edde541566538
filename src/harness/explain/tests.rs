use super::*;
use crate::Boundary;
use crate::workload::Digest;

static LARGE: Boundary = Boundary::new("explain_large").rerun(|inputs| {
    let input = u64::from_le_bytes(inputs[0].try_into().unwrap());
    Box::new(move || spin(input, 6_000))
});
static SMALL: Boundary = Boundary::new("explain_small").rerun(|inputs| {
    let input = u64::from_le_bytes(inputs[0].try_into().unwrap());
    Box::new(move || spin(input, 1_000))
});

#[inline(never)]
fn spin(input: u64, turns: u64) -> u64 {
    (0..turns).fold(input, |x: u64, i| std::hint::black_box(x.rotate_left(5) ^ i))
}

/// Three large, six small, and as much again as the small ones that is behind no boundary: 6 : 2 : 2.
fn workload() -> Workload {
    Workload::operation(
        "known_shares",
        Ok,
        |seed, index| Ok(seed + index),
        |input| {
            let x = *input;
            let large = (0..3).fold(x, |x, _| LARGE.call_on(&[&x.to_le_bytes()], || spin(x, 6_000)));
            let small = (0..6).fold(large, |x, _| SMALL.call_on(&[&x.to_le_bytes()], || spin(x, 1_000)));
            spin(small, 6_000)
        },
        |_, _, output| Ok(Digest::of(&output.to_le_bytes())),
    )
}

#[test]
fn known_shares_are_found_by_model_dose_and_replay() {
    let settings = Settings { budget: Duration::from_millis(1_500), ..Settings::default() };
    let explanation = explain(&Suite::new(), &workload(), &settings, &mut |_| ()).unwrap();
    let time = explanation.time_ns.unwrap().point;
    let [large, small] = ["explain_large", "explain_small"]
        .map(|name| explanation.primitives.iter().find(|one| one.primitive == name).unwrap());
    assert_eq!((large.count, small.count), (3.0, 6.0));
    // Leeway of a quarter of each share: this runs beside other tests.
    for (one, share) in [(large, 0.6), (small, 0.2)] {
        for estimate in [one.predicted_ns, one.dose_ns, one.replay_ns] {
            let found = estimate.unwrap().point / time;
            assert!((found / share - 1.0).abs() < 0.25, "{}: {found} against {share}", one.primitive);
        }
        // Two clock reads a call are in it, which is much for a call of a microsecond.
        assert!(one.trace_ns.unwrap().point / time > 0.75 * share, "{}: {:?}", one.primitive, one.trace_ns);
    }
    let all = explanation.replay_all_ns.unwrap().point / time;
    assert!((all / 0.8 - 1.0).abs() < 0.25, "{all}");
}

static BORROWED: Boundary = Boundary::new("explain_borrowed");

/// Six parts in a primitive whose output borrows from its input, and four behind no boundary.
fn borrowing() -> Workload {
    fn longest<'a>(words: &'a [String], turns: &u64) -> &'a str {
        let turn = spin(words.len() as u64, *turns) as usize;
        &words[turn % words.len()]
    }
    Workload::operation(
        "borrowing",
        |seed| Ok((0..7).map(|i| format!("word {}", seed + i)).collect::<Vec<String>>()),
        |words, index| Ok((words.clone(), index)),
        |(words, index)| {
            let lengths: usize = (0..3).map(|_| BORROWED.call_borrowed(&[], || longest(words, &6_000)).len()).sum();
            spin(*index + lengths as u64, 12_000)
        },
        |_, _, output| Ok(Digest::of(&output.to_le_bytes())),
    )
}

#[test]
fn an_output_that_borrows_is_known_by_its_dose() {
    let settings = Settings { budget: Duration::from_millis(1_000), ..Settings::default() };
    let explanation = explain(&Suite::new(), &borrowing(), &settings, &mut |_| ()).unwrap();
    let [one] = &explanation.primitives[..] else { panic!("{:?}", explanation.primitives) };
    assert_eq!((one.count, one.replay_ns, explanation.replay_all_ns), (3.0, None, None));
    let share = one.dose_ns.unwrap().point / explanation.time_ns.unwrap().point;
    assert!((share / 0.6 - 1.0).abs() < 0.25, "{share}");
}
