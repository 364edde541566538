//! Builds the page's WebAssembly modules into `www/pkg`: `cargo run -p web-build [MODULE...]`.
//!
//! Each module is the library compiled for `wasm32-unknown-unknown` with one set of features and one set
//! of flags, then given its JavaScript side. Nothing is installed; cargo decides what is out of date.
//! Beside them goes `recorded.json`: the figures of the records in `profiles/records`.

mod recorded;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail, ensure};
use wasm_bindgen_cli_support::Bindgen;

const TARGET: &str = "wasm32-unknown-unknown";

/// Flags that a group of modules is compiled with. Each has a target folder of its own, because cargo
/// throws away what other flags built.
struct Flavour {
    name: &'static str,
    rustflags: &'static str,
}

/// For engines with wide arithmetic: 64-bit limbs then reach native speed.
const WIDE: Flavour = Flavour {
    name: "wide",
    rustflags: "--cfg curve25519_dalek_bits=\"64\" -C target-feature=+wide-arithmetic,+simd128",
};

/// For every other engine: without wide arithmetic 64-bit limbs take about twice as long as 32-bit ones.
const PLAIN: Flavour =
    Flavour { name: "plain", rustflags: "--cfg curve25519_dalek_bits=\"32\" -C target-feature=+simd128" };

struct Module {
    name: &'static str,
    flavour: &'static Flavour,
    features: &'static str,
}

/// What the two shipped flavours were chosen from: kernels that only the table in `docs/WASM.md` runs,
/// and that are built only when they are named.
const CHOICES: [Module; 4] = [
    Module {
        name: "kernel-32-scalar",
        flavour: &Flavour { name: "32-scalar", rustflags: "--cfg curve25519_dalek_bits=\"32\"" },
        features: "web,crypto",
    },
    Module {
        name: "kernel-64-simd",
        flavour: &Flavour {
            name: "64-simd",
            rustflags: "--cfg curve25519_dalek_bits=\"64\" -C target-feature=+simd128",
        },
        features: "web,crypto",
    },
    Module {
        name: "kernel-64-wide-scalar",
        flavour: &Flavour {
            name: "64-wide-scalar",
            rustflags: "--cfg curve25519_dalek_bits=\"64\" -C target-feature=+wide-arithmetic",
        },
        features: "web,crypto",
    },
    Module {
        name: "kernel-32-small",
        flavour: &Flavour {
            name: "32-small",
            rustflags: "--cfg curve25519_dalek_bits=\"32\" -C target-feature=+simd128 -C opt-level=s",
        },
        features: "web,crypto",
    },
];

/// The kernel, which every visitor loads, and what is loaded on demand.
const MODULES: [Module; 9] = [
    Module { name: "kernel-wide", flavour: &WIDE, features: "web,crypto" },
    Module { name: "kernel-plain", flavour: &PLAIN, features: "web,crypto" },
    Module { name: "fields-wide", flavour: &WIDE, features: "web-operations,crypto" },
    Module { name: "fields-plain", flavour: &PLAIN, features: "web-operations,crypto" },
    Module { name: "families-wide", flavour: &WIDE, features: "web-operations,schnorr,groth16" },
    Module { name: "families-plain", flavour: &PLAIN, features: "web-operations,schnorr,groth16" },
    Module { name: "operations-wide", flavour: &WIDE, features: "web-operations,mls" },
    Module { name: "operations-plain", flavour: &PLAIN, features: "web-operations,mls" },
    Module { name: "profiles", flavour: &PLAIN, features: "web,import" },
];

fn main() -> anyhow::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).context("this crate lies in scripts/")?;
    let asked: Vec<String> = std::env::args().skip(1).collect();
    let modules: Vec<&Module> = if asked.is_empty() {
        MODULES.iter().collect()
    } else {
        asked.iter().map(|name| find(name)).collect::<anyhow::Result<_>>()?
    };
    require_target()?;
    for module in modules {
        let compiled = compile(root, module).with_context(|| format!("compiling {}", module.name))?;
        bind(root, module, &compiled).with_context(|| format!("binding {}", module.name))?;
    }
    recorded::write(&root.join("profiles/records"), &root.join("www/pkg/recorded.json"))
}

fn find(name: &str) -> anyhow::Result<&'static Module> {
    let all = || MODULES.iter().chain(&CHOICES);
    all().find(|module| module.name == name).with_context(|| {
        let names: Vec<&str> = all().map(|module| module.name).collect();
        format!("no module is called {name}; there are {}", names.join(", "))
    })
}

/// A missing target gives hundreds of errors about missing `core`; say the one that matters.
fn require_target() -> anyhow::Result<()> {
    let printed = Command::new("rustc").args(["--print", "target-libdir", "--target", TARGET]).output()?;
    let folder = PathBuf::from(String::from_utf8_lossy(&printed.stdout).trim().to_owned());
    if !folder.is_dir() {
        bail!("the compiler has no {TARGET}: run `rustup target add {TARGET}`");
    }
    Ok(())
}

fn compile(root: &Path, module: &Module) -> anyhow::Result<PathBuf> {
    let target_dir = root.join("target/web").join(module.flavour.name);
    let status = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .current_dir(root)
        .args(["rustc", "--quiet", "--package", "countercheck", "--lib", "--crate-type", "cdylib"])
        .args(["--target", TARGET, "--profile", "web", "--no-default-features", "--features", module.features])
        .env("CARGO_TARGET_DIR", &target_dir)
        .env("RUSTFLAGS", module.flavour.rustflags)
        // The flags are ours alone: encoded ones would replace them.
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .status()
        .context("running cargo")?;
    ensure!(status.success(), "cargo stopped with {status}");
    Ok(target_dir.join(TARGET).join("web/countercheck.wasm"))
}

fn bind(root: &Path, module: &Module, compiled: &Path) -> anyhow::Result<()> {
    let folder = root.join("www/pkg").join(module.name);
    let fresh = root.join("target/web/bound").join(module.name);
    std::fs::create_dir_all(&fresh)?;
    // Names are kept for the samplers.
    Bindgen::new()
        .input_path(compiled)
        .out_name(module.name)
        .web(true)?
        .typescript(false)
        .omit_default_module_path(false)
        .generate(&fresh)?;
    replace_changed(&fresh, &folder)?;
    println!("{}", folder.display());
    Ok(())
}

/// Copies the files that differ, so that the others keep their dates and nothing is built anew for them.
fn replace_changed(fresh: &Path, folder: &Path) -> anyhow::Result<()> {
    for entry in walk(fresh)? {
        let at = folder.join(entry.strip_prefix(fresh)?);
        let bytes = std::fs::read(&entry)?;
        if std::fs::read(&at).ok().as_ref() != Some(&bytes) {
            std::fs::create_dir_all(at.parent().context("a file lies in a folder")?)?;
            std::fs::write(&at, bytes).with_context(|| format!("writing {}", at.display()))?;
        }
    }
    Ok(())
}

fn walk(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in folder.read_dir()? {
        let path = entry?.path();
        if path.is_dir() { files.extend(walk(&path)?) } else { files.push(path) }
    }
    Ok(files)
}
