//! Every dependency's licence is one that `deny.toml` allows, and is named in `docs/THIRD-PARTY.md`.
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

/// What a build with default features links, and what the page carries.
#[test]
fn third_party_notices_are_current() {
    let root = env!("CARGO_MANIFEST_DIR");
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--locked", "--edges", "normal", "--target", "all", "--prefix", "none", "--no-dedupe"])
        .args(["--format", "{p}|{l}|{r}"])
        .current_dir(root)
        .output()
        .expect("cargo runs");
    if !output.status.success() {
        println!("skipped: cargo tree failed: {}", String::from_utf8_lossy(&output.stderr));
        return;
    }
    let mut notices = String::from(
        "# Third-party notices\n\nWhat `primitives` links by default, on whatever platform, with the licences its authors give. Their texts are in each\n\
         crate's package. The page's libraries have theirs beside them in `www/vendor`. Written by\n\
         `COUNTERCHECK_BLESS=1 cargo test --test licences`.\n\n| crate | licence |\n|---|---|\n",
    );
    let crates = String::from_utf8(output.stdout).expect("cargo tree prints UTF-8");
    let rows: std::collections::BTreeSet<String> = crates.lines().filter_map(notice).collect();
    assert!(rows.len() > 100, "the dependency tree was read: {} rows", rows.len());
    notices.extend(rows);
    let path = format!("{root}/docs/THIRD-PARTY.md");
    if std::env::var_os("COUNTERCHECK_BLESS").is_some() {
        std::fs::write(&path, &notices).expect("docs can be written");
    }
    let stored = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(stored == notices, "docs/THIRD-PARTY.md is not current: COUNTERCHECK_BLESS=1 rewrites it");
}

/// One row of the table, without versions, which change more often than licences do.
fn notice(line: &str) -> Option<String> {
    let (package, rest) = line.split_once('|')?;
    let (licence, repository) = rest.split_once('|')?;
    let name = package.split(' ').next()?;
    let linked = match repository {
        "" => name.to_owned(),
        address => format!("[{name}]({address})"),
    };
    (name != "countercheck").then(|| format!("| {linked} | {licence} |\n"))
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
