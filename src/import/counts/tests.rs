use super::*;
use crate::profile::{Builder, StackSample, WeightType};

const FILE: &str = r#"
version = 1

[[operation]]
name = "create"
time = { value = "14 ms", low = "13.5 ms", high = "14.5 ms" }
scope = ["*createGroup*"]

[[operation.primitive]]
name = "x25519"
count = 24
cost_of = "x25519_dh"
cost_band = ["550 us", "600 us"]
frames = ["X25519.*", { exact = "dh" }, { regex = "^scalar" }, { module = "libcrypto*" }]
dose = [{ k = 0, time = "14 ms" }, { k = 1, time = "27 ms" }, { k = 2, time = "40 ms" }]

[[operation.primitive]]
name = "carry"
count = 0
nested = { x25519 = 146736 }
replayed = "9 ms"
rewrite = { before = "579 us", after = "579 us", of = "x25519" }
"#;

fn costs() -> Vec<Results> {
    let text = r#"[{"name":"curve/x25519_dh","p50_us":579},{"name":"other","p50_us":1}]"#;
    vec![crate::import::result::read(crate::import::Input::from(text.as_bytes().to_vec())).unwrap()]
}

fn refused(text: &str) -> String {
    match read(text).and_then(|file| cases(&file, &costs())) {
        Ok(cases) => panic!("accepted: {cases:?}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_file_becomes_an_explanation() {
    let case = cases(&read(FILE).unwrap(), &costs()).unwrap().remove(0);
    let [dh, carry] = &case.explanation.primitives[..] else { panic!() };
    assert_eq!(case.scope, [FramePattern::Glob("*createGroup*".into())]);
    assert_eq!(case.explanation.time_ns, Some(Estimate::with_interval(14e6, 13.5e6, 14.5e6)));
    assert_eq!(dh.unit_cost_ns, Some(Estimate::point(579e3)));
    assert_eq!(dh.predicted_ns.unwrap().point, 24.0 * 579e3);
    assert_eq!(dh.cost_band_ns, Some((550e3, 600e3)));
    assert!((dh.dose_ns.unwrap().point - 13e6).abs() < 1e-3);
    assert_eq!(dh.frames.len(), 4);
    assert_eq!(carry.nested, [("x25519".to_owned(), 146_736.0)]);
    assert_eq!(carry.replay_ns, Some(Estimate::with_interval(5e6, 4.5e6, 5.5e6)));
    assert!(case.explanation.causal_valid);
    let codes: Vec<_> = case.explanation.warnings.iter().map(|warning| warning.code.as_str()).collect();
    assert_eq!(codes, ["rewrite-is-no-dose"]);
}

#[test]
fn doses_that_do_not_start_at_the_operation_are_no_reference() {
    let off = FILE.replace("{ k = 0, time = \"14 ms\" }", "{ k = 0, time = \"19 ms\" }");
    let case = cases(&read(&off).unwrap(), &costs()).unwrap().remove(0);
    assert!(!case.explanation.causal_valid);
    assert!(case.explanation.warnings.iter().any(|warning| warning.code == "dose-zero-differs"));
}

#[test]
fn what_cannot_be_meant_is_refused_with_its_place() {
    for (from, to, expected) in [
        ("version = 1", "version = 9", "version: found 9; expected 1"),
        ("count = 24", "cuont = 24", "unknown field `cuont`"),
        ("count = 24", "count = -1", "primitive \"x25519\", count: found -1"),
        ("count = 24", "count = nan", "count: found NaN"),
        ("\"x25519_dh\"", "\"x25519_hd\"", "cost_of: found none of this name; nearest: curve/x25519_dh; expected"),
        ("\"9 ms\"", "\"9\"", "replayed: found \"9\"; expected a time with its unit"),
        ("\"9 ms\"", "\"-9 ms\"", "found \"-9 ms\""),
        ("low = \"13.5 ms\"", "low = \"15 ms\"", "expected low ≤ value ≤ high"),
        ("name = \"carry\"", "name = \"x25519\"", "a second primitive of this name"),
        ("^scalar", "(scalar", "frame pattern \"(scalar\" of x25519"),
        (", { k = 1, time = \"27 ms\" }, { k = 2, time = \"40 ms\" }", "", "expected times at two or more values of k"),
        ("{ regex = ", "{ rgeex = ", "expected a glob, \"*::mul\", or one of { exact = \"…\" }"),
        ("{ value = \"14 ms\"", "{ vlaue = \"14 ms\"", "expected a time with its unit"),
        ("cost_of", "cost = \"1 us\"\ncost_of", "both `cost` and `cost_of`"),
    ] {
        let broken = FILE.replace(from, to);
        assert_ne!(broken, FILE, "{from}");
        let message = refused(&broken);
        assert!(message.contains(expected), "{to}: {message}");
    }
    assert!(refused("version = 1\n").contains("at least one [[operation]]"));
    let message = refused(&FILE.replace("count = 24", "count = = 24"));
    assert!(message.contains("line 11") || message.contains("11 |"), "{message}");
}

#[test]
fn a_template_of_hostile_names_is_a_valid_file() {
    let mut builder = Builder::new(vec![WeightType { name: "cpu".into(), unit: "nanoseconds".into() }]);
    for (name, weight) in [("a\"]\n[[x]]\u{1b}", 70.0), ("'''\"\"\"\\", 20.0), ("plain::f<[u8; 4]>", 10.0)] {
        let frame = builder.frame(Frame { function: name.into(), ..Frame::default() });
        let stack = builder.stack_of([frame]);
        builder.sample(StackSample { stack, thread: None, time_ns: None, count: Some(1), weights: vec![weight] });
    }
    let text = template(&builder.finish());
    let file = read(&text).unwrap();
    let names: Vec<_> = file.operations[0].primitives.iter().map(|primitive| primitive.name.as_str()).collect();
    assert_eq!(names, ["a\"]\n[[x]]\u{1b}", "'''\"\"\"\\", "plain::f<[u8; 4]>"]);
    assert!(text.contains("self 70.0 %"));
    assert!(!text.contains('\u{1b}'));
    let unfilled = cases(&file, &[]).unwrap_err().to_string();
    assert!(unfilled.contains("found the count 0 for every primitive"), "{unfilled}");
    cases(&read(&text.replace("count = 0 ", "count = 2 ")).unwrap(), &[]).unwrap();
}
