//! From the names and patterns on the command line to workloads, with the nearest named where nothing matches.

use anyhow::{Context, bail};
use globset::{Glob, GlobMatcher};

use crate::nearest;
use crate::workload::{Kind, Suite, Workload};

/// The workloads that match any of the patterns, in the suite's order; all where there is no pattern.
/// A pattern with `*`, `?`, `[` or `{` is a glob over the whole name, any other a part of it. The full name
/// of an unlisted member of a family, `create_group/12`, chooses it too.
pub(super) fn select(suite: &Suite, patterns: &[String]) -> anyhow::Result<Vec<Workload>> {
    let patterns = patterns.iter().map(|text| Pattern::parse(text)).collect::<anyhow::Result<Vec<_>>>()?;
    let mut unlisted = Vec::new();
    for pattern in &patterns {
        if !suite.workloads.iter().any(|workload| pattern.matches(&workload.name)) {
            refuse(suite, pattern.text())?;
            if let Some(member) = suite.resolve(pattern.text()) {
                unlisted.push(member);
                continue;
            }
            let names = suite.workloads.iter().map(|workload| workload.name.as_str());
            bail!("no row matches {:?}; {}", pattern.text(), nearest(pattern.text(), names));
        }
    }
    let chosen = |workload: &&Workload| patterns.is_empty() || patterns.iter().any(|p| p.matches(&workload.name));
    Ok(suite.workloads.iter().filter(chosen).cloned().chain(unlisted).collect())
}

enum Pattern {
    Part(String),
    Glob(GlobMatcher),
}

impl Pattern {
    fn parse(text: &str) -> anyhow::Result<Self> {
        if !text.contains(['*', '?', '[', '{']) {
            return Ok(Self::Part(text.to_owned()));
        }
        let glob = Glob::new(text).with_context(|| format!("pattern {text:?}"))?;
        Ok(Self::Glob(glob.compile_matcher()))
    }

    fn matches(&self, name: &str) -> bool {
        match self {
            Self::Part(part) => name.contains(part.as_str()),
            Self::Glob(glob) => glob.is_match(name),
        }
    }

    fn text(&self) -> &str {
        match self {
            Self::Part(part) => part,
            Self::Glob(glob) => glob.glob().glob(),
        }
    }
}

/// The error where a name is of a family's member that makes no sense.
fn refuse(suite: &Suite, name: &str) -> anyhow::Result<()> {
    suite.refuses(name).map_or(Ok(()), |why| bail!(why))
}

/// The names most like the one asked for, in a phrase.
pub(super) fn nearest<'a>(asked: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    nearest::phrase(asked, names, "`list` shows them all")
}

/// The workload of this name, listed or a member of a family.
pub(super) fn one(suite: &Suite, name: &str) -> anyhow::Result<Workload> {
    refuse(suite, name)?;
    suite.resolve(name).with_context(|| {
        let families = suite.families.iter().map(|family| family.name.as_str());
        let known = suite.workloads.iter().map(|workload| workload.name.as_str()).chain(families);
        format!("there is no workload {name:?}; {}", nearest(name, known))
    })
}

/// The operations that the names stand for: `create_group/8`, or `create_group` for all that are listed.
pub(super) fn operations(suite: &Suite, names: &[String]) -> anyhow::Result<Vec<Workload>> {
    let mut chosen = Vec::new();
    for name in names {
        refuse(suite, name)?;
        let members = || {
            let of_base = |workload: &&Workload| {
                let base = workload.name.split_once('/').map(|(base, _)| base);
                base == Some(name.as_str()) && workload.kind == Kind::Operation
            };
            suite.workloads.iter().filter(of_base).cloned().collect::<Vec<_>>()
        };
        let found = suite.resolve(name).map_or_else(members, |workload| vec![workload]);
        if found.is_empty() {
            let families: Vec<String> = suite.families.iter().map(|family| format!("{}/N", family.name)).collect();
            let listed = suite.workloads.iter().filter(|workload| workload.kind == Kind::Operation);
            let known = listed.map(|workload| workload.name.as_str()).chain(families.iter().map(String::as_str));
            bail!("there is no operation {name:?}; {}", nearest(name, known));
        }
        if let Some(primitive) = found.iter().find(|workload| workload.kind == Kind::Primitive) {
            let below = match crate::operation::counted_below(&primitive.name) {
                [] => "`list` shows them".to_owned(),
                rows => format!("the same function on fields whose operations are counted: {}", rows.join(", ")),
            };
            bail!("{} is a primitive; this is about operations: {below}", primitive.name);
        }
        chosen.extend(found);
    }
    Ok(chosen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::Digest;

    #[test]
    fn an_unknown_operation_names_its_neighbours() {
        let suite = crate::operation::builtin();
        let error = |name: &str| operations(&suite, &[name.to_owned()]).unwrap_err().to_string();
        #[cfg(feature = "mls")]
        assert!(error("create_gruop/8").contains("nearest: create_group/8"), "{}", error("create_gruop/8"));
        #[cfg(feature = "crypto")]
        {
            assert!(error("x25519_dh").contains("counted: field25519/ladder/5x51"), "{}", error("x25519_dh"));
            assert!(error("sha256/64").contains("`list` shows them"));
        }
        #[cfg(feature = "mls")]
        assert!(error("join_welcome/0").contains("N must be at least 1"));
    }

    #[cfg(feature = "mls")]
    #[test]
    fn a_base_name_is_all_that_is_listed_and_any_parameter_can_be_asked_for() {
        let suite = crate::operation::builtin();
        let names = |name: &str| -> Vec<String> {
            operations(&suite, &[name.to_owned()]).unwrap().into_iter().map(|workload| workload.name).collect()
        };
        assert_eq!(names("create_group"), ["create_group/0", "create_group/1", "create_group/8", "create_group/32"]);
        assert_eq!(names("create_group/1000"), ["create_group/1000"]);
    }

    fn suite() -> Suite {
        let workload = |name: &str| Workload::primitive(name, |_| vec![0u8], |x| *x, |_, _| Ok(Digest::default()));
        ["x25519_dh", "x25519_base", "sha256/64", "sha256/1024"]
            .map(workload)
            .into_iter()
            .fold(Suite::new(), Suite::with)
    }

    fn chosen(patterns: &[&str]) -> Result<Vec<String>, String> {
        let patterns: Vec<String> = patterns.iter().map(|text| (*text).to_owned()).collect();
        let found = select(&suite(), &patterns).map_err(|error| error.to_string())?;
        Ok(found.into_iter().map(|workload| workload.name).collect())
    }

    #[test]
    fn parts_and_globs_choose() {
        assert_eq!(chosen(&[]).unwrap().len(), 4);
        assert_eq!(chosen(&["x25519"]).unwrap(), ["x25519_dh", "x25519_base"]);
        assert_eq!(chosen(&["sha256/*4", "dh"]).unwrap(), ["x25519_dh", "sha256/64", "sha256/1024"]);
        assert_eq!(chosen(&["sha256/{64,65}"]).unwrap(), ["sha256/64"]);
    }

    #[cfg(feature = "crypto")]
    #[test]
    fn slips_other_separators_and_other_orders_find_their_row_first() {
        let suite = crate::operation::builtin();
        let first = |asked: &str| {
            let names = suite.workloads.iter().map(|workload| workload.name.as_str());
            let text = nearest(asked, names);
            text.trim_start_matches("nearest: ").split(", ").next().unwrap().to_owned()
        };
        for (asked, found) in [
            ("x25519dh", "x25519_dh"),
            ("dh_x25519", "x25519_dh"),
            ("verify_ed25519", "ed25519_verify"),
            ("sha-256", "sha256/64"),
            ("hkdf_extract", "hkdf_sha256_extract"),
            ("chacha_seal/1024", "chacha20poly1305_seal/1024"),
            ("aes_gcm_open/16384", "aes128gcm_open/16384"),
            ("batch_verfiy/64", "batch_verify/64"),
            ("zzzzzz", "`list` shows them all"),
        ] {
            assert_eq!(first(asked), found, "{asked}");
        }
    }

    #[test]
    fn what_matches_nothing_names_the_nearest() {
        assert!(chosen(&["x25519_hd"]).unwrap_err().contains("nearest: x25519_dh"));
        assert!(chosen(&["x25519", "sha1*"]).unwrap_err().contains("sha1*"));
        assert!(chosen(&["[z-a]"]).is_err());
    }
}
