//! `primitives serve`: the browser page on the loopback interface.

use std::fs::File;
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Component, Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use anyhow::{Context, bail, ensure};
use tiny_http::{Header, Method, Request, Response, Server};

use super::Outcome;

#[derive(clap::Args)]
pub(super) struct Args {
    /// Port on 127.0.0.1; 0 takes a free one
    #[arg(long, default_value_t = 8377)]
    port: u16,
    /// The folder of the page; by default `www` of the working folder or of the source that this
    /// program was built from
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
    /// Which of the page's WebAssembly modules to build before serving
    #[arg(long, value_enum, default_value_t)]
    build: Build,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
enum Build {
    /// Those that are not there
    #[default]
    Missing,
    /// All, which cargo skips where nothing changed
    All,
    /// None: serve the folder as it is
    Nothing,
}

/// The modules that the page loads, as `scripts/web-build` names them.
const MODULES: [&str; 7] =
    ["kernel-wide", "kernel-plain", "fields-wide", "fields-plain", "operations-wide", "operations-plain", "profiles"];

/// Cross-origin isolation gives the page the finer clock; the document policy lets it use the browser's
/// own sampler.
const HEADERS: [(&str, &str); 7] = [
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cross-Origin-Embedder-Policy", "require-corp"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Document-Policy", "js-profiling"),
    ("X-Content-Type-Options", "nosniff"),
    ("Referrer-Policy", "no-referrer"),
    ("Cache-Control", "no-cache"),
];

pub(super) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let folder = match &args.folder {
        Some(folder) => folder.clone(),
        None => page_folder()?,
    };
    let folder = folder.canonicalize().with_context(|| format!("the page's folder {}", folder.display()))?;
    ensure!(folder.join("index.html").is_file(), "{} holds no index.html", folder.display());
    build(&folder, args.build)?;

    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, args.port));
    let server = Server::http(address)
        .map_err(|error| anyhow::anyhow!("listening on {address}: {error} (another --port may be free)"))?;
    let port = server.server_addr().to_ip().map_or(args.port, |address| address.port());
    writeln!(std::io::stdout(), "http://127.0.0.1:{port}/ (Ctrl-C stops it)")?;

    // A page asks for several files at once, and a slow reader must not hold up the others.
    let (server, folder) = (Arc::new(server), Arc::new(folder));
    let others: Vec<_> = (1..4)
        .map(|_| {
            let (server, folder) = (server.clone(), folder.clone());
            std::thread::spawn(move || answer_all(&server, &folder))
        })
        .collect();
    answer_all(&server, &folder);
    for other in others {
        // A thread only ends with the server; nothing is left to say then.
        let _ = other.join();
    }
    Ok(Outcome::Fine)
}

/// `www` of the working folder, else of the folder that this program was compiled in.
fn page_folder() -> anyhow::Result<PathBuf> {
    let candidates = [PathBuf::from("www"), Path::new(env!("CARGO_MANIFEST_DIR")).join("www")];
    candidates
        .iter()
        .find(|folder| folder.join("index.html").is_file())
        .cloned()
        .context("no folder www with index.html here or beside the source; name it with --folder")
}

/// Builds the modules that are asked for, where the source is at hand.
fn build(folder: &Path, which: Build) -> anyhow::Result<()> {
    let there = |name: &str| folder.join("pkg").join(name).join(format!("{name}_bg.wasm")).is_file();
    let missing: Vec<&str> = match which {
        Build::Nothing => Vec::new(),
        Build::Missing => MODULES.into_iter().filter(|name| !there(name)).collect(),
        Build::All => MODULES.into(),
    };
    if missing.is_empty() {
        return Ok(());
    }
    let root = folder.parent().filter(|root| root.join("scripts/web-build/Cargo.toml").is_file());
    let Some(root) = root else {
        bail!(
            "{} lacks {}, and the source to build it is not beside it; run `primitives serve` in a checkout",
            folder.join("pkg").display(),
            missing.join(", ")
        );
    };
    writeln!(std::io::stderr(), "building {} (a few minutes the first time)", missing.join(", "))?;
    let status = Command::new("cargo")
        .current_dir(root)
        .args(["run", "--quiet", "--package", "web-build", "--"])
        .args(&missing)
        .status()
        .context("running cargo to build the page's modules")?;
    ensure!(status.success(), "building the page's modules stopped with {status}");
    Ok(())
}

fn answer_all(server: &Server, folder: &Path) {
    for request in server.incoming_requests() {
        // The browser may have gone away; there is nobody to tell.
        let _ = answer(request, folder);
    }
}

fn answer(request: Request, folder: &Path) -> std::io::Result<()> {
    if !matches!(request.method(), Method::Get | Method::Head) {
        return request.respond(plain("only GET and HEAD are answered", 405));
    }
    let Some((path, file)) = find(folder, request.url()).and_then(|path| Some((path.clone(), File::open(path).ok()?)))
    else {
        return request.respond(plain("not found", 404));
    };
    let mut response = Response::from_file(file).with_header(header("Content-Type", content_type(&path)));
    response.add_header(header("Content-Security-Policy", policy(folder, &path)));
    for (name, value) in HEADERS {
        response.add_header(header(name, value));
    }
    request.respond(response)
}

/// The file that a request names; `None` where there is none or it lies outside the folder.
fn find(folder: &Path, url: &str) -> Option<PathBuf> {
    let path = url.split(['?', '#']).next()?;
    let path = decode(path)?;
    let relative = Path::new(path.trim_start_matches('/'));
    if !relative.components().all(|part| matches!(part, Component::Normal(_))) {
        return None;
    }
    let mut found = folder.join(relative);
    if found.is_dir() {
        found.push("index.html");
    }
    // Resolves links, which could lead out of the folder.
    let found = found.canonicalize().ok()?;
    (found.starts_with(folder) && found.is_file()).then_some(found)
}

/// Undoes percent encoding; `None` where it is malformed, not UTF-8, or hides a NUL or backslash.
fn decode(path: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(if byte == b'%' {
            let digits = [rest.next()?, rest.next()?];
            u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
        } else {
            byte
        });
    }
    String::from_utf8(bytes).ok().filter(|path| !path.contains(['\0', '\\']))
}

fn content_type(path: &Path) -> &'static str {
    match path.extension().and_then(|extension| extension.to_str()).unwrap_or_default() {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "json" => "application/json",
        "wasm" => "application/wasm",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "woff2" => "font/woff2",
        _ => "text/plain; charset=utf-8",
    }
}

/// The page's own policy, and a looser one for the vendored viewer, which styles itself inline.
fn policy(folder: &Path, path: &Path) -> &'static str {
    if path.starts_with(folder.join("vendor/speedscope")) {
        "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self' 'unsafe-inline'; img-src 'self' \
         data: blob:; font-src 'self'; connect-src 'self' blob: data:; worker-src 'self' blob:; base-uri 'none'; \
         form-action 'none'; frame-ancestors 'self'"
    } else {
        "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' data:; \
         font-src 'self'; connect-src 'self'; worker-src 'self'; frame-src 'self'; base-uri 'none'; \
         form-action 'none'; frame-ancestors 'none'"
    }
}

fn plain(text: &str, status: u16) -> Response<std::io::Cursor<Vec<u8>>> {
    Response::from_string(text).with_status_code(status)
}

fn header(name: &str, value: &str) -> Header {
    Header::from_bytes(name, value).expect("the names and values above are ASCII")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_inside_the_folder_are_found() {
        let outer = tempfile::tempdir().unwrap();
        let folder = outer.path().canonicalize().unwrap().join("www");
        std::fs::create_dir_all(folder.join("sub")).unwrap();
        std::fs::write(folder.join("index.html"), "page").unwrap();
        std::fs::write(folder.join("sub/a b.js"), "script").unwrap();
        std::fs::write(outer.path().join("secret.txt"), "secret").unwrap();

        assert_eq!(find(&folder, "/"), Some(folder.join("index.html")));
        assert_eq!(find(&folder, "/?x=1"), Some(folder.join("index.html")));
        assert_eq!(find(&folder, "/sub/a%20b.js"), Some(folder.join("sub/a b.js")));
        for outside in [
            "/../secret.txt",
            "/%2e%2e/secret.txt",
            "/sub/../../secret.txt",
            "/sub/..%2f..%2fsecret.txt",
            "//etc/passwd",
            "/..\\secret.txt",
            "/secret.txt",
            "/index.html%00.js",
            "/%zz",
            "/%",
            "/sub",
        ] {
            assert_eq!(find(&folder, outside), None, "{outside}");
        }
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(outer.path().join("secret.txt"), folder.join("link.txt")).unwrap();
            assert_eq!(find(&folder, "/link.txt"), None);
        }
    }
}
