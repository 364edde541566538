//! The JVM: `scripts/jvm/Runner.java`, run by `java` as it is.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Line, Plan, RunnerError, find_program, run};
use crate::primitive::shared;

const RUNNER: &str = include_str!("../../scripts/jvm/Runner.java");

/// The oldest version that runs it.
const OLDEST: u32 = 17;

const INSTALL: &str = "install a JDK, 17 or newer: apt-get install openjdk-17-jdk-headless";

/// A JDK with the runner's source beside it.
#[derive(Debug)]
pub struct Jvm {
    java: PathBuf,
    folder: tempfile::TempDir,
    version: String,
}

impl Jvm {
    /// The JDK that `JAVA_HOME` or the path names.
    ///
    /// # Errors
    /// `Missing` where there is none, it is too old, or it has no compiler.
    pub fn find() -> Result<Self, RunnerError> {
        let missing = |what: String| RunnerError::Missing { what, install: INSTALL.into() };
        let home =
            std::env::var_os("JAVA_HOME").map(|home| Path::new(&home).join("bin/java")).filter(|java| java.is_file());
        let java = home.or_else(|| find_program(&["java", "java.exe"])).ok_or_else(|| missing("no java".into()))?;
        let output = Command::new(&java).arg("-version").output();
        let output = output.map_err(|error| missing(format!("{} does not start: {error}", java.display())))?;
        // It prints to standard error: `openjdk version "17.0.15" 2025-04-15`.
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        let version = text.split('"').nth(1).unwrap_or("unknown").to_owned();
        let major: u32 = version.split('.').next().and_then(|major| major.parse().ok()).unwrap_or(0);
        if major < OLDEST {
            return Err(missing(format!("java is version {version}")));
        }
        let compiler = Command::new(&java).args(["--describe-module", "jdk.compiler"]).output();
        if !compiler.is_ok_and(|output| output.status.success()) {
            return Err(missing(format!("java {version} has no compiler: it is a runtime, not a JDK")));
        }
        let folder = tempfile::tempdir().and_then(|folder| {
            fs::write(folder.path().join("Runner.java"), RUNNER)?;
            Ok(folder)
        });
        let folder = folder.map_err(|source| RunnerError::Io { what: "writing Runner.java".into(), source })?;
        Ok(Self { java, folder, version })
    }

    /// The version, as `java -version` says it.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The JVM itself, for other programs than the runner.
    pub fn java(&self) -> &Path {
        &self.java
    }

    /// A folder for files of one run, removed with this value.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Runs the runner with these flags of the JVM and these arguments of its own.
    ///
    /// # Errors
    /// When the process fails or prints something else than the protocol.
    pub fn run(&self, flags: &[&str], arguments: &[&str]) -> Result<Vec<Line>, RunnerError> {
        let script = self.folder.path().join("Runner.java");
        run("jvm", Command::new(&self.java).args(flags).arg(script).args(arguments))
    }

    /// Times the plan's rows: on the JDK's primitives, or with `-Dfield=…` among the flags on the pure-Java ladder.
    ///
    /// # Errors
    /// As [`Jvm::run`], and where the inputs cannot be written.
    pub fn time(&self, flags: &[&str], plan: &Plan, order_seed: u64) -> Result<Vec<Line>, RunnerError> {
        let inputs = self.folder.path().join("inputs.tsv");
        fs::write(&inputs, shared_inputs(plan))
            .map_err(|source| RunnerError::Io { what: format!("writing {}", inputs.display()), source })?;
        let millis = plan.row.as_millis().to_string();
        let seed = order_seed.to_string();
        self.run(flags, &["time", "--inputs", &inputs.to_string_lossy(), "--millis", &millis, "--seed", &seed])
    }
}

/// The pools of the plan's workloads: the row's name and the inputs in hexadecimal, separated by tabs.
fn shared_inputs(plan: &Plan) -> String {
    let mut text = String::new();
    for name in &plan.names {
        for case in shared::cases(name, plan.seed.into()).unwrap_or_default() {
            text.push_str(name);
            for input in case.inputs {
                text.push('\t');
                for byte in input {
                    write!(text, "{byte:02x}").expect("writing to a string does not fail");
                }
            }
            text.push('\n');
        }
    }
    text
}
