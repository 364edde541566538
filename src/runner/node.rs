//! Node: the page's wasm kernel, WebCrypto and pure JavaScript (noble), by `scripts/js/node.mjs`.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::json;

use super::{Line, Plan, RunnerError, find_program, page_with_kernel, run};

pub(super) const CORE: &str = include_str!("../../scripts/js/core.mjs");
const SCRIPT: &str = include_str!("../../scripts/js/node.mjs");

const OLDEST: u32 = 18;

/// A Node with the page's modules.
#[derive(Debug)]
pub struct Node {
    node: PathBuf,
    www: PathBuf,
    folder: tempfile::TempDir,
    version: String,
}

impl Node {
    /// The Node on the path, and the wasm kernel, which is built where it is not there yet.
    ///
    /// # Errors
    /// `Missing` where there is none, it is too old, or the kernel cannot be built.
    pub fn find() -> Result<Self, RunnerError> {
        let (node, version) = program()?;
        let www = page_with_kernel()?;
        let folder = tempfile::tempdir().and_then(|folder| {
            fs::write(folder.path().join("core.mjs"), CORE)?;
            fs::write(folder.path().join("node.mjs"), SCRIPT)?;
            Ok(folder)
        });
        let folder = folder.map_err(|source| RunnerError::Io { what: "writing node.mjs".into(), source })?;
        Ok(Self { node, www, folder, version })
    }

    /// The version, as `node --version` says it.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Times the plan's rows on wasm, WebCrypto and noble in one process.
    ///
    /// # Errors
    /// When the process fails or prints something else than the protocol.
    pub fn time(&self, plan: &Plan) -> Result<Vec<Line>, RunnerError> {
        let plan = json!({
            "names": plan.names, "seed": plan.seed, "millis": plan.row.as_millis() as u64,
            "runtimes": ["wasm", "webcrypto", "noble"], "www": self.www,
        });
        run("node", Command::new(&self.node).arg(self.folder.path().join("node.mjs")).arg(plan.to_string()))
    }
}

/// The Node on the path and its version.
///
/// # Errors
/// `Missing` where there is none or it is too old.
pub fn program() -> Result<(PathBuf, String), RunnerError> {
    let missing = |what: String| RunnerError::Missing {
        what,
        install: "install Node, 18 or newer: apt-get install nodejs".into(),
    };
    let node = find_program(&["node", "node.exe"]).ok_or_else(|| missing("no node".into()))?;
    let output = Command::new(&node).arg("--version").output();
    let output = output.map_err(|error| missing(format!("{} does not start: {error}", node.display())))?;
    let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let major: u32 =
        version.trim_start_matches('v').split('.').next().and_then(|major| major.parse().ok()).unwrap_or(0);
    if major < OLDEST {
        return Err(missing(format!("node is version {version}")));
    }
    Ok((node, version))
}
