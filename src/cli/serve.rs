//! `primitives serve`: the browser page on the loopback interface.

use std::borrow::Cow;
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
const MODULES: [&str; 9] = [
    "kernel-wide",
    "kernel-plain",
    "fields-wide",
    "fields-plain",
    "families-wide",
    "families-plain",
    "operations-wide",
    "operations-plain",
    "profiles",
];

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

/// The page's files as they were when this program was built: of a release build, which may be moved away from its
/// source. Empty in a development build, which reads the folder.
const EMBEDDED: Embedded = include!(concat!(env!("OUT_DIR"), "/page.rs"));

type Embedded = &'static [(&'static str, &'static [u8])];

/// Where the page's files are.
#[derive(Debug)]
enum Page {
    /// In this folder, by its canonical path.
    Folder(PathBuf),
    /// In this program.
    Embedded(Embedded),
}

pub(super) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let page = page(args)?;

    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, args.port));
    let server = Server::http(address)
        .map_err(|error| anyhow::anyhow!("listening on {address}: {error} (another --port may be free)"))?;
    let port = server.server_addr().to_ip().map_or(args.port, |address| address.port());
    writeln!(std::io::stdout(), "http://127.0.0.1:{port}/ (Ctrl-C stops it)")?;

    // A page asks for several files at once, and a slow reader must not hold up the others.
    let (server, page) = (Arc::new(server), Arc::new(page));
    let others: Vec<_> = (1..4)
        .map(|_| {
            let (server, page) = (server.clone(), page.clone());
            std::thread::spawn(move || answer_all(&server, &page))
        })
        .collect();
    answer_all(&server, &page);
    for other in others {
        // A thread only ends with the server; nothing is left to say then.
        let _ = other.join();
    }
    Ok(Outcome::Fine)
}

/// The folder that is named, else `www` of the working folder or of the folder that this program was compiled in, else
/// the files in this program.
fn page(args: &Args) -> anyhow::Result<Page> {
    let near = || {
        let candidates = [PathBuf::from("www"), Path::new(env!("CARGO_MANIFEST_DIR")).join("www")];
        candidates.into_iter().find(|folder| folder.join("index.html").is_file())
    };
    let Some(folder) = args.folder.clone().or_else(near) else {
        ensure!(
            !EMBEDDED.is_empty(),
            "no folder www with index.html here or beside the source, and this development build holds no copy; name it \
             with --folder"
        );
        let lacking = missing(&Page::Embedded(EMBEDDED));
        ensure!(
            lacking.is_empty(),
            "this program was built before the page's modules ({}); in a checkout, run `cargo run --package web-build`, \
             then install it again",
            lacking.join(", ")
        );
        return Ok(Page::Embedded(EMBEDDED));
    };
    let folder = folder.canonicalize().with_context(|| format!("the page's folder {}", folder.display()))?;
    ensure!(folder.join("index.html").is_file(), "{} holds no index.html", folder.display());
    build(&folder, args.build)?;
    Ok(Page::Folder(folder))
}

/// The modules that the page lacks.
fn missing(page: &Page) -> Vec<&'static str> {
    let there = |name: &str| page.read(&format!("pkg/{name}/{name}_bg.wasm")).is_some();
    MODULES.into_iter().filter(|name| !there(name)).collect()
}

/// Builds the modules that are asked for, where the source is at hand.
fn build(folder: &Path, which: Build) -> anyhow::Result<()> {
    let missing: Vec<&str> = match which {
        Build::Nothing => Vec::new(),
        Build::Missing => missing(&Page::Folder(folder.to_owned())),
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

fn answer_all(server: &Server, page: &Page) {
    for request in server.incoming_requests() {
        // The browser may have gone away; there is nobody to tell.
        let _ = answer(request, page);
    }
}

fn answer(request: Request, page: &Page) -> std::io::Result<()> {
    if !matches!(request.method(), Method::Get | Method::Head) {
        return request.respond(plain("only GET and HEAD are answered", 405));
    }
    let found = named(request.url()).and_then(|name| Some((page.read(&name)?, name)));
    let Some((bytes, name)) = found else {
        return request.respond(plain("not found", 404));
    };
    let mut response = Response::from_data(bytes).with_header(header("Content-Type", content_type(&name)));
    response.add_header(header("Content-Security-Policy", policy(&name)));
    for (name, value) in HEADERS {
        response.add_header(header(name, value));
    }
    request.respond(response)
}

/// The path within the page that a request names; `None` where it leads out of the page.
fn named(url: &str) -> Option<String> {
    let path = decode(url.split(['?', '#']).next()?)?;
    let path = path.trim_start_matches('/');
    let inside = Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
    let folder = path.is_empty() || path.ends_with('/');
    inside.then(|| if folder { format!("{path}index.html") } else { path.to_owned() })
}

impl Page {
    /// The file of this name, or of a folder of this name its `index.html`.
    fn read(&self, name: &str) -> Option<Cow<'static, [u8]>> {
        match self {
            Self::Folder(folder) => {
                let mut found = folder.join(name);
                if found.is_dir() {
                    found.push("index.html");
                }
                // Resolves links, which could lead out of the folder.
                let found = found.canonicalize().ok()?;
                let inside = found.starts_with(folder) && found.is_file();
                inside.then(|| std::fs::read(found).ok())?.map(Cow::Owned)
            }
            Self::Embedded(files) => {
                files.iter().find(|(file, _)| *file == name).map(|(_, bytes)| Cow::Borrowed(*bytes))
            }
        }
    }
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

fn content_type(name: &str) -> &'static str {
    match name.rsplit('.').next().unwrap_or_default() {
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
fn policy(name: &str) -> &'static str {
    if name.starts_with("vendor/speedscope") {
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

        let page = Page::Folder(folder.clone());
        let read = |url: &str| named(url).and_then(|name| page.read(&name)).map(Cow::into_owned);

        assert_eq!(read("/"), Some(b"page".to_vec()));
        assert_eq!(read("/?x=1"), Some(b"page".to_vec()));
        assert_eq!(read("/sub/a%20b.js"), Some(b"script".to_vec()));
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
            assert_eq!(read(outside), None, "{outside}");
        }
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(outer.path().join("secret.txt"), folder.join("link.txt")).unwrap();
            assert_eq!(read("/link.txt"), None);
        }
    }

    #[test]
    fn a_program_without_its_source_serves_the_files_in_it() {
        let page = Page::Embedded(&[("index.html", b"page"), ("vendor/speedscope/index.html", b"viewer")]);
        let read = |url: &str| named(url).and_then(|name| page.read(&name));
        assert_eq!(read("/").as_deref(), Some(&b"page"[..]));
        assert_eq!(read("/vendor/speedscope/").as_deref(), Some(&b"viewer"[..]));
        assert_eq!(read("/nothing"), None);
        assert_eq!(missing(&page), MODULES);
    }
}
