//! Every dependency's licence is one that `deny.toml` allows.
#![cfg(feature = "cli")]

use std::process::Command;

#[test]
fn every_dependency_has_an_allowed_licence() {
    let root = env!("CARGO_MANIFEST_DIR");
    let config = std::fs::read_to_string(format!("{root}/deny.toml")).expect("deny.toml is part of the crate");
    let config: toml::Table = config.parse().expect("deny.toml is TOML");
    let allowed: Vec<&str> =
        config["licenses"]["allow"].as_array().expect("a list").iter().filter_map(|v| v.as_str()).collect();
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked", "--all-features"])
        .current_dir(root)
        .output()
        .expect("cargo runs");
    if !output.status.success() {
        println!("skipped: cargo metadata failed: {}", String::from_utf8_lossy(&output.stderr));
        return;
    }
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).expect("cargo metadata is JSON");
    let packages = metadata["packages"].as_array().expect("packages");
    assert!(packages.len() > 100, "the dependency graph was read: {}", packages.len());
    let refused: Vec<String> = packages
        .iter()
        .filter(|package| !package["source"].is_null())
        .filter_map(|package| {
            let licence = package["license"].as_str().unwrap_or("none");
            (!is_allowed(licence, &allowed)).then(|| format!("{} {}: {licence}", package["name"], package["version"]))
        })
        .collect();
    assert!(refused.is_empty(), "not in deny.toml: {refused:#?}");
}

/// Whether an SPDX expression is satisfied: one alternative of `OR` (or the old `/`) all of whose `AND` parts are allowed.
fn is_allowed(expression: &str, allowed: &[&str]) -> bool {
    let flat = expression.replace('/', " OR ");
    if let Some((open, close)) = flat.find('(').zip(flat.find(')')).filter(|(open, close)| open < close) {
        let inner = is_allowed(&flat[open + 1..close], allowed);
        let stand_in = if inner { allowed[0] } else { "refused" };
        return is_allowed(&format!("{}{stand_in}{}", &flat[..open], &flat[close + 1..]), allowed);
    }
    flat.split(" OR ").any(|alternative| alternative.split(" AND ").all(|part| allowed.contains(&part.trim())))
}

#[test]
fn expressions_are_read_as_spdx_means_them() {
    let allowed = ["MIT", "ISC"];
    assert!(is_allowed("MIT OR GPL-3.0", &allowed));
    assert!(is_allowed("MIT/Apache-2.0", &allowed));
    assert!(!is_allowed("MIT AND GPL-3.0", &allowed));
    assert!(is_allowed("(GPL-3.0 OR MIT) AND ISC", &allowed));
    assert!(!is_allowed("(GPL-3.0 OR AGPL-3.0) AND ISC", &allowed));
}
