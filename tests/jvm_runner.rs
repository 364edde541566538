//! The JVM runner's arithmetic and protocol, checked by running it. Skipped where there is no JDK 17.

use std::process::Command;

use serde_json::Value;

/// The runner's lines for these arguments; `None`, with a line said, where `java` is absent or too old.
fn runner(properties: &[&str], arguments: &[&str]) -> Option<Vec<Value>> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/jvm/Runner.java");
    let output = match Command::new("java").args(properties).arg(script).args(arguments).output() {
        Ok(output) => output,
        Err(error) => {
            println!("skipped: java does not start ({error}); install a JDK, 17 or newer");
            return None;
        }
    };
    assert!(output.status.success(), "{properties:?}: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.last().unwrap()["type"], "end");
    Some(lines)
}

#[test]
fn every_field_variant_passes_the_vectors_of_rfc_7748() {
    for properties in [
        &["-Dfield=16", "-Dproduct=loop", "-Dcarry=branch"][..],
        &["-Dfield=16", "-Dproduct=straight", "-Dcarry=peeled"],
        &["-Dfield=16", "-Dproduct=straight", "-Dcarry=register", "-Dsquare=symmetric"],
        &["-Dfield=16", "-Dproduct=loop", "-Dsquare=symmetric", "-Dmemory=allocating"],
        &["-Dfield=10", "-Dmemory=allocating"],
        &["-Dfield=10", "-Dsquare=symmetric"],
    ] {
        let Some(lines) = runner(properties, &["check"]) else { return };
        assert_eq!(lines[0]["vectors"], 4, "{properties:?}");
    }
}

#[test]
fn a_ladder_counts_its_products_and_carries() {
    // 255 steps of 10 multiplications, 506 for the inversion, one at the end; two carries each.
    let Some(lines) = runner(&["-Dfield=16", "-Dcounting=on"], &["count"]) else { return };
    let counts = lines.iter().find(|line| line["type"] == "counts").unwrap();
    assert_eq!((counts["product"].as_u64(), counts["carry"].as_u64()), (Some(3057), Some(6114)));
}

#[test]
fn a_wrong_variant_is_refused() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/jvm/Runner.java");
    let Ok(output) = Command::new("java").args(["-Dfield=16", "-Dcarry=none", script, "check"]).output() else {
        println!("skipped: java does not start; install a JDK, 17 or newer");
        return;
    };
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("expected branch, peeled or register"));
}
