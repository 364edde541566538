//! Builds the page's WebAssembly modules into `www/pkg`: `cargo run -p web-build [MODULE...]`.
//!
//! Each module is the library compiled for `wasm32-unknown-unknown` with one set of features and one set
//! of flags, then given its JavaScript side. Nothing is installed; cargo decides what is out of date.

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

/// The kernel, which every visitor loads, and what is loaded on demand.
const MODULES: [Module; 4] = [
    Module { name: "kernel-wide", flavour: &WIDE, features: "web,crypto" },
    Module { name: "kernel-plain", flavour: &PLAIN, features: "web,crypto" },
    Module { name: "fields-wide", flavour: &WIDE, features: "web-operations,crypto" },
    Module { name: "fields-plain", flavour: &PLAIN, features: "web-operations,crypto" },
];

fn main() -> anyhow::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).context("this crate lies in scripts/")?;
    let asked: Vec<String> = std::env::args().skip(1).collect();
    for name in &asked {
        ensure!(
            MODULES.iter().any(|module| module.name == name),
            "no module is called {name}; there are {}",
            MODULES.map(|module| module.name).join(", ")
        );
    }
    require_target()?;
    for module in MODULES.iter().filter(|module| asked.is_empty() || asked.iter().any(|name| name == module.name)) {
        let compiled = compile(root, module).with_context(|| format!("compiling {}", module.name))?;
        bind(root, module, &compiled).with_context(|| format!("binding {}", module.name))?;
    }
    Ok(())
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
    std::fs::create_dir_all(&folder)?;
    // Names are kept for the samplers.
    Bindgen::new()
        .input_path(compiled)
        .out_name(module.name)
        .web(true)?
        .typescript(false)
        .omit_default_module_path(false)
        .generate(&folder)?;
    println!("{}", folder.display());
    Ok(())
}
