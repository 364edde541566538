//! Other runtimes: the same primitives on the same inputs on the JVM, under Node and in a browser.
//!
//! Each runtime is a process that prints the lines of one protocol ([`protocol`]). A runtime that cannot be
//! run is a row that says what to install. [`rounds`] runs them interleaved and [`table`] sets them side by side.

pub mod browser;
pub mod jvm;
pub mod native;
pub mod node;
pub mod node_exam;
pub mod protocol;
pub mod rounds;
pub mod story;
pub mod table;

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

pub use protocol::Line;

/// Why a runtime gave no figures.
#[derive(Debug, thiserror::Error)]
pub enum RunnerError {
    /// It is not installed, or a part of it is not.
    #[error("{what} ({install})")]
    Missing {
        /// What is missing.
        what: String,
        /// What to do about it.
        install: String,
    },
    /// Its process failed.
    #[error("{what} failed: {message}")]
    Failed {
        /// What was run.
        what: String,
        /// What it said last.
        message: String,
    },
    /// It printed something else than the protocol.
    #[error("{what}, line {line}: found {found}; expected a line of the runners' protocol, version {version}", version = protocol::VERSION)]
    Protocol {
        /// What was run.
        what: String,
        /// Line of its output, from 1.
        line: usize,
        /// The beginning of the line, or what is wrong with it.
        found: String,
    },
    /// A file that the runtime needs could not be written or read.
    #[error("{what}")]
    Io {
        /// What was attempted.
        what: String,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
}

/// What to run on a runtime.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The workloads, by name; only those with shared inputs can run elsewhere.
    pub names: Vec<String>,
    /// The seed of the inputs.
    pub seed: u32,
    /// Time for each row after its warm-up.
    pub row: Duration,
}

/// No process of a runner may take longer.
const LIMIT: Duration = Duration::from_secs(540);

/// Runs a command to its end and reads the protocol's lines from it.
fn run(what: &str, command: &mut Command) -> Result<Vec<Line>, RunnerError> {
    let failed = |message: String| RunnerError::Failed { what: what.to_owned(), message };
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| failed(error.to_string()))?;
    let reader = |stream: Option<Box<dyn Read + Send>>| {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            if let Some(mut stream) = stream {
                let _ = stream.read_to_end(&mut bytes);
            }
            String::from_utf8_lossy(&bytes).into_owned()
        })
    };
    let out = reader(child.stdout.take().map(|stream| Box::new(stream) as _));
    let err = reader(child.stderr.take().map(|stream| Box::new(stream) as _));
    let begin = Instant::now();
    let status = loop {
        match child.try_wait().map_err(|error| failed(error.to_string()))? {
            Some(status) => break status,
            None if begin.elapsed() > LIMIT => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(failed(format!("no end after {} s", LIMIT.as_secs())));
            }
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    };
    let (out, err) = (out.join().unwrap_or_default(), err.join().unwrap_or_default());
    if !status.success() {
        let last: Vec<&str> = err.lines().filter(|line| !line.trim().is_empty()).take(3).collect();
        let message = if last.is_empty() { status.to_string() } else { last.join(" / ") };
        return Err(failed(message));
    }
    protocol::parse(what, &out)
}

/// The first of these programs that is on the path.
fn find_program(names: &[&str]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let mut candidates =
        std::env::split_paths(&path).flat_map(|folder| names.iter().map(move |name| folder.join(name)));
    candidates.find(|candidate| candidate.is_file())
}

/// The source tree's folder of this name: in the working folder, or where this program was built from.
fn source_folder(name: &str) -> Option<PathBuf> {
    [Path::new("."), Path::new(env!("CARGO_MANIFEST_DIR"))]
        .map(|root| root.join(name))
        .into_iter()
        .find(|folder| folder.is_dir())
        .and_then(|folder| folder.canonicalize().ok())
}

/// The page's folder with its wasm kernel, built where it is not there yet; the one that every engine runs.
fn page_with_kernel() -> Result<PathBuf, RunnerError> {
    let missing = |what: &str, install: &str| RunnerError::Missing { what: what.into(), install: install.into() };
    let www =
        source_folder("www").ok_or_else(|| missing("the page's folder `www` is not here", "run in the source tree"))?;
    let kernel = www.join("pkg/kernel-plain/kernel-plain.js");
    if !kernel.is_file() {
        let root = www.parent().unwrap_or(Path::new("."));
        let built = Command::new("cargo")
            .current_dir(root)
            .args(["run", "--quiet", "-p", "web-build", "kernel-plain"])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .output();
        let message = match built {
            Ok(output) if output.status.success() && kernel.is_file() => return Ok(www),
            Ok(output) => String::from_utf8_lossy(&output.stderr).lines().next().unwrap_or("no message").to_owned(),
            Err(error) => error.to_string(),
        };
        return Err(missing(
            &format!("the wasm kernel is not built: {message}"),
            "rustup target add wasm32-unknown-unknown, then cargo run -p web-build",
        ));
    }
    Ok(www)
}
