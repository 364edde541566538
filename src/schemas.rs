//! Holds the JSON Schemas in `docs/schema` against the types that are written.

use std::path::Path;

use crate::record::summary::FlatRow;

#[test]
fn published_schemas_are_current() {
    let schemas = [
        ("record", schemars::schema_for!(crate::record::Record)),
        ("rows", schemars::schema_for!(Vec<FlatRow>)),
        ("certificate", schemars::schema_for!(crate::harness::selfcheck::Certificate)),
        ("published", schemars::schema_for!(crate::record::published::Published)),
        ("crosscheck", schemars::schema_for!(crate::crosscheck::report::Report)),
    ];
    for (name, schema) in schemas {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("docs/schema/{name}.schema.json"));
        let current = format!("{}\n", serde_json::to_string_pretty(&schema).unwrap());
        if std::env::var_os("COUNTERCHECK_BLESS").is_some() {
            std::fs::write(&path, &current).unwrap();
        }
        let stored = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(stored == current, "{} is not current: COUNTERCHECK_BLESS=1 cargo test rewrites it", path.display());
    }
}
