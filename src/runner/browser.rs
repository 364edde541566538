//! A browser: headless Chromium on a page that this process serves on loopback and that posts its lines back.

use std::io::Read;
use std::net::Ipv4Addr;
use std::path::{Component, Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;
use tiny_http::{Header, Method, Request, Response, Server};

use super::{Line, Plan, RunnerError, find_program, node, page_with_kernel, protocol};

const PAGE: &str = include_str!("../../scripts/js/browser.html");

/// Names of the browser on the systems that have it.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// What one run may take, and what it may post back.
const LIMIT: Duration = Duration::from_secs(300);
const POST_LIMIT: u64 = 256 << 20;

/// A Chromium with the page's modules.
#[derive(Debug)]
pub struct Browser {
    program: PathBuf,
    www: PathBuf,
    version: String,
}

impl Browser {
    /// The Chromium on the path, and the wasm kernel, which is built where it is not there yet.
    ///
    /// # Errors
    /// `Missing` where there is none, or the kernel cannot be built.
    pub fn find() -> Result<Self, RunnerError> {
        let missing = |what: String| RunnerError::Missing { what, install: "apt-get install chromium".into() };
        let program = find_program(&NAMES).ok_or_else(|| missing("no chromium".into()))?;
        let output = Command::new(&program).arg("--version").output();
        let output = output.map_err(|error| missing(format!("{} does not start: {error}", program.display())))?;
        let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        Ok(Self { program, www: page_with_kernel()?, version })
    }

    /// The version, as the browser says it.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Times the plan's rows on wasm, WebCrypto and noble in one fresh browser.
    ///
    /// # Errors
    /// When the browser does not start, does not answer in time, or posts something else than the protocol.
    pub fn time(&self, plan: &Plan) -> Result<Vec<Line>, RunnerError> {
        let failed = |message: String| RunnerError::Failed { what: "browser".into(), message };
        let server = Server::http((Ipv4Addr::LOCALHOST, 0)).map_err(|error| failed(format!("listening: {error}")))?;
        let port = server.server_addr().to_ip().map_or(0, |address| address.port());
        let profile =
            tempfile::tempdir().map_err(|source| RunnerError::Io { what: "a profile folder".into(), source })?;
        let child = Command::new(&self.program)
            // Containers give the sandbox nothing to work with; the page is our own and loads nothing else.
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"])
            .arg("--disable-background-networking")
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg(format!("http://127.0.0.1:{port}/runner/"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| failed(error.to_string()))?;
        let _running = Running(child);
        let plan = json!({
            "names": plan.names, "seed": plan.seed, "millis": plan.row.as_millis() as u64,
            "runtimes": ["wasm", "webcrypto", "noble"],
        });
        let begin = Instant::now();
        while begin.elapsed() < LIMIT {
            let received = server.recv_timeout(Duration::from_millis(200));
            let Some(mut request) = received.map_err(|error| failed(error.to_string()))? else { continue };
            if request.method() == &Method::Post && request.url() == "/runner/lines" {
                let mut lines = String::new();
                let read = request.as_reader().take(POST_LIMIT).read_to_string(&mut lines);
                let _ = request.respond(Response::empty(204));
                read.map_err(|error| failed(error.to_string()))?;
                return protocol::parse("browser", &lines);
            }
            self.answer(request, &plan.to_string());
        }
        Err(failed(format!("no answer after {} s", LIMIT.as_secs())))
    }

    fn answer(&self, request: Request, plan: &str) {
        let path = request.url().split('?').next().unwrap_or_default().to_owned();
        let (kind, body) = match path.as_str() {
            "/runner/" => ("text/html", Some(PAGE.as_bytes().to_vec())),
            "/runner/core.mjs" => ("text/javascript", Some(node::CORE.as_bytes().to_vec())),
            "/runner/plan" => ("application/json", Some(plan.as_bytes().to_vec())),
            other => (media_type(other), self.file(other)),
        };
        let status = if body.is_some() { 200 } else { 404 };
        let mut response = Response::from_data(body.unwrap_or_default()).with_status_code(status);
        // Isolation gives the page the finer clock.
        for (name, value) in [
            ("Content-Type", kind),
            ("Cross-Origin-Opener-Policy", "same-origin"),
            ("Cross-Origin-Embedder-Policy", "require-corp"),
        ] {
            let header = Header::from_bytes(name, value).expect("the headers above are plain ASCII");
            response.add_header(header);
        }
        let _ = request.respond(response);
    }

    /// A file of the page; nothing outside its folder.
    fn file(&self, url: &str) -> Option<Vec<u8>> {
        let path = Path::new(url.trim_start_matches('/'));
        let plain = path.components().all(|component| matches!(component, Component::Normal(_)));
        if plain { std::fs::read(self.www.join(path)).ok() } else { None }
    }
}

fn media_type(path: &str) -> &'static str {
    match path.rsplit('.').next() {
        Some("js" | "mjs") => "text/javascript",
        Some("wasm") => "application/wasm",
        Some("json") => "application/json",
        _ => "application/octet-stream",
    }
}

/// A browser that is ended when it is no longer needed, whatever happened.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
