//! From the names on the command line to workloads.

use anyhow::bail;

use crate::workload::{Kind, Suite, Workload};

/// The operations that the names stand for: `create_group/8`, or `create_group` for all that are listed.
pub(super) fn operations(suite: &Suite, names: &[String]) -> anyhow::Result<Vec<Workload>> {
    let mut chosen = Vec::new();
    for name in names {
        let members = || {
            let of_base = |workload: &&Workload| workload.name.split_once('/').is_some_and(|(base, _)| base == name);
            suite.workloads.iter().filter(of_base).cloned().collect::<Vec<_>>()
        };
        let found = suite.resolve(name).map_or_else(members, |workload| vec![workload]);
        if found.is_empty() {
            bail!("there is no operation {name:?}{}", nearest(suite, name));
        }
        if let Some(primitive) = found.iter().find(|workload| workload.kind == Kind::Primitive) {
            bail!("{} is a primitive; this is about operations: `primitives list` shows them", primitive.name);
        }
        chosen.extend(found);
    }
    Ok(chosen)
}

fn nearest(suite: &Suite, name: &str) -> String {
    let listed = suite.workloads.iter().filter(|workload| workload.kind == Kind::Operation).map(|w| w.name.clone());
    let families = suite.families.iter().map(|family| format!("{}/N", family.name));
    let mut scored: Vec<(f64, String)> =
        listed.chain(families).map(|known| (strsim::jaro_winkler(name, &known), known)).collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    let close: Vec<String> =
        scored.into_iter().filter(|(score, _)| *score > 0.7).take(3).map(|(_, known)| known).collect();
    match close.as_slice() {
        [] => "; `primitives list` shows what there is".to_owned(),
        names => format!("; did you mean {}?", names.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_operation_names_its_neighbours() {
        let suite = crate::operation::builtin();
        let error = |name: &str| operations(&suite, &[name.to_owned()]).unwrap_err().to_string();
        assert!(error("xyzzy/8").ends_with("`primitives list` shows what there is"));
        #[cfg(feature = "mls")]
        assert!(error("create_gruop/8").contains("did you mean create_group/8"), "{}", error("create_gruop/8"));
        #[cfg(feature = "crypto")]
        assert!(error("x25519_dh").contains("is a primitive"));
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
}
