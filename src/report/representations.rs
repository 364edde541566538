//! The field representations for the terminal and as Markdown.

use std::collections::BTreeMap;

use super::with_interval;
use crate::operation::field25519::representations::Representation;
use crate::operation::field25519::{Operation, Surroundings};
use crate::record::published::{Published, times_of};
use crate::report::columns::{Form, table};
use crate::stats::Estimate;
use crate::unit::{Bytes, Nanos, Share};

/// Times of rows in wasm, in nanoseconds, by row name.
pub type Wasm = BTreeMap<String, f64>;

/// The sentence, the tables, and where products mislead.
pub fn text(all: &[Representation], wasm: Option<&Wasm>, published: &[Published], form: Form) -> String {
    let mut text = format!("{}\n\n", sentence(all, wasm));
    text += &section(form, "What a representation costs, and how products rank it");
    text += &times(all, wasm, form);
    text += &section(form, "Count × cost against the clock");
    text += &explained(all, form);
    text += &section(form, "What each operation costs, by what surrounds it");
    text += &costs(all, form);
    text += &section(form, "Twins of the ladder");
    text += &twins(all, form);
    text += &section(form, "Published, on another machine and the JVM");
    text += &others(published, form);
    text
}

fn section(form: Form, title: &str) -> String {
    if form == Form::Markdown { format!("\n## {title}\n\n") } else { format!("\n{title}\n\n") }
}

/// Which is fastest, which has the fewest products, and whether that is the same one.
fn sentence(all: &[Representation], wasm: Option<&Wasm>) -> String {
    let least = |key: &dyn Fn(&Representation) -> f64| {
        all.iter().min_by(|a, b| key(a).total_cmp(&key(b))).map_or("none", |one| one.name)
    };
    let products = least(&|one| one.ladder_products() as f64);
    let native = least(&|one| one.accounts[0].time_ns.point);
    let mut sentence = format!(
        "{products} takes the fewest limb products for a ladder; {native} is the fastest natively{}",
        if products == native { "" } else { ": products do not rank representations" }
    );
    if let Some(wasm) = wasm {
        let there = least(&|one| wasm_time(wasm, "ladder", one).unwrap_or(f64::INFINITY));
        sentence += &format!("; {there} is the fastest in wasm");
    }
    for pair in [("16x16", "16x16-symmetric"), ("5x51", "4x64"), ("16x16", "10x25.5")] {
        let find = |name| all.iter().find(|one| one.name == name);
        let (Some(one), Some(other)) = (find(pair.0), find(pair.1)) else { continue };
        sentence += &format!(
            ". From {} to {}: products {}, time {}",
            pair.0,
            pair.1,
            change(one.ladder_products() as f64, other.ladder_products() as f64),
            change(one.accounts[0].time_ns.point, other.accounts[0].time_ns.point)
        );
        if let Some((from, to)) =
            wasm.and_then(|wasm| wasm_time(wasm, "ladder", one).zip(wasm_time(wasm, "ladder", other)))
        {
            sentence += &format!(", in wasm {}", change(from, to));
        }
    }
    sentence + "."
}

fn change(from: f64, to: f64) -> String {
    format!("{:+.0} %", 100.0 * (to / from - 1.0))
}

fn wasm_time(wasm: &Wasm, operation: &str, one: &Representation) -> Option<f64> {
    wasm.get(&format!("field25519/{operation}/{}", one.name)).copied()
}

fn times(all: &[Representation], wasm: Option<&Wasm>, form: Form) -> String {
    let first = all.first();
    let rows: Vec<Vec<String>> = all
        .iter()
        .map(|one| {
            let ratio = |of: &dyn Fn(&Representation) -> f64| {
                first.map_or_else(String::new, |first| format!("{:.2}", of(first) / of(one)))
            };
            let mut row = vec![
                one.name.to_owned(),
                format!("{}/{}", one.products[0], one.products[1]),
                one.ladder_products().to_string(),
                ratio(&|one| one.ladder_products() as f64),
                ratio(&|one| one.accounts[0].time_ns.point),
            ];
            for (account, operation) in one.accounts.iter().zip(["ladder", "sign", "verify"]) {
                row.push(with_interval(account.time_ns));
                let there = wasm.and_then(|wasm| wasm_time(wasm, operation, one));
                row.push(there.map_or_else(|| "—".to_owned(), |ns| Nanos(ns).to_string()));
            }
            row
        })
        .collect();
    let headers =
        ["limbs", "products", "a ladder", "fewer ×", "faster ×", "ladder", "wasm", "sign", "wasm", "verify", "wasm"];
    table(form, &headers, &rows, 1)
}

fn explained(all: &[Representation], form: Form) -> String {
    let mut rows = Vec::new();
    for one in all {
        for account in &one.accounts {
            let mut row = vec![
                one.name.to_owned(),
                account.operation.to_owned(),
                with_interval(account.time_ns),
                with_interval(account.predicted_ns),
                account.explained().to_string(),
                Nanos(account.time_ns.point - account.predicted_ns.point).to_string(),
            ];
            row.extend(
                Surroundings::ALL.map(|at| {
                    account.explained_by(at).map_or_else(|| "—".to_owned(), |share: Share| share.to_string())
                }),
            );
            row.push(account.nearest().map_or("—", Surroundings::name).to_owned());
            rows.push(row);
        }
    }
    let [a, b, c, d] = Surroundings::ALL.map(Surroundings::name);
    let headers = ["limbs", "operation", "measured", "predicted", "explained", "residual", a, b, c, d, "nearest alone"];
    table(form, &headers, &rows, 2)
}

fn costs(all: &[Representation], form: Form) -> String {
    let mut rows = Vec::new();
    for one in all {
        for (operation, costs) in &one.accounts[0].costs_ns {
            let mut row = vec![one.name.to_owned(), label(*operation).to_owned()];
            row.extend(costs.iter().map(|(_, cost)| with_interval(*cost)));
            rows.push(row);
        }
    }
    let [a, b, c, d] = Surroundings::ALL.map(Surroundings::name);
    table(form, &["limbs", "operation", a, b, c, d], &rows, 2)
}

fn label(operation: Operation) -> &'static str {
    match operation {
        Operation::Mul => "multiply",
        Operation::Square => "square",
        Operation::Add => "add",
        Operation::Sub => "subtract",
        Operation::MulSmall => "small multiply",
        Operation::Swap => "conditional swap",
        Operation::Assign => "conditional assignment",
    }
}

fn twins(all: &[Representation], form: Form) -> String {
    let amount = |allocated: Option<(u64, u64)>| match allocated {
        Some((bytes, calls)) => format!("{} in {calls} calls", Bytes(bytes as f64)),
        None => "not measured".to_owned(),
    };
    let rows: Vec<Vec<String>> = all
        .iter()
        .map(|one| {
            let plain = one.accounts[0].time_ns;
            let against = |twin: Estimate| change(plain.point, twin.point);
            vec![
                one.name.to_owned(),
                with_interval(plain),
                with_interval(one.inlined_ladder_ns),
                against(one.inlined_ladder_ns),
                with_interval(one.boxed_ladder_ns),
                against(one.boxed_ladder_ns),
                amount(one.allocated[0]),
                amount(one.allocated[1]),
            ]
        })
        .collect();
    let headers = ["limbs", "ladder", "inlined", "", "on the heap", "", "allocates", "on the heap"];
    table(form, &headers, &rows, 1)
}

fn others(published: &[Published], form: Form) -> String {
    let mut rows = Vec::new();
    for name in ["x25519_dh", "ed25519_sign", "ed25519_verify"] {
        for time in times_of(published, name) {
            let label = time.label();
            if ["limbs", "words"].iter().any(|word| label.contains(word)) {
                rows.push(vec![name.to_owned(), label, time.time().to_string()]);
            }
        }
    }
    table(form, &["row", "source", "time"], &rows, 2)
}
