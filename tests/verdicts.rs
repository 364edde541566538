//! What `crosscheck` refuses before it measures, what it does not judge, and what is drawn of what it kept.
#![cfg(feature = "cli")]

use std::path::Path;
use std::process::Command;

fn primitives(folder: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_primitives")).current_dir(folder).args(arguments).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

const COUNTS: &str = "version = 1\n[[operation]]\nname = \"op\"\ntime = \"10 ms\"\n\
                      [[operation.primitive]]\nname = \"a\"\ncount = 10\ncost = \"500 us\"\nframes = [\"a\"]\n";

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("counts.toml", COUNTS);
    write("op.folded", "main;a;inner 8000\nmain 2000\n");
    write("other.folded", "main;elsewhere 10000\n");
    folder
}

#[test]
fn a_profile_alone_says_what_it_needs() {
    let folder = folder();
    let (status, _, error) = primitives(folder.path(), &["crosscheck", "--profile", "op.folded"]);
    assert_eq!(status, Some(2));
    assert!(error.contains("--counts") && error.contains("--explanation"), "{error}");
}

#[test]
fn a_folder_that_cannot_be_kept_is_known_before() {
    let folder = folder();
    let arguments = ["crosscheck", "x25519_dh", "--keep", "op.folded/below"];
    let (status, _, error) = primitives(folder.path(), &arguments);
    assert_eq!(status, Some(2));
    assert!(error.contains("op.folded is a file"), "{error}");
}

#[test]
fn a_profile_of_something_else_is_not_judged() {
    let folder = folder();
    let arguments = ["crosscheck", "--counts", "counts.toml", "--profile", "other.folded", "--fail-on", "blind"];
    let (status, out, error) = primitives(folder.path(), &arguments);
    assert_eq!(status, Some(0), "{out}{error}");
    assert!(out.contains("nothing-matched") && out.contains("it is not judged") && !out.contains("blind"), "{out}");
    let (status, out, _) = primitives(folder.path(), &[&arguments[..], &["--scope", "main"]].concat());
    assert_eq!(status, Some(1), "{out}");
}

#[test]
#[cfg(feature = "sampler")]
fn what_was_kept_is_drawn_as_it_should_have_been() {
    let folder = folder();
    let kept = ["crosscheck", "--counts", "counts.toml", "--profile", "op.folded", "--keep", "kept"];
    assert_eq!(primitives(folder.path(), &kept).0, Some(0));
    let drawn = ["flamegraph", "--honest", "--explanation", "kept/explanation.json", "--profile"];
    let (status, out, error) = primitives(folder.path(), &[&drawn[..], &["kept/op.profile.json"]].concat());
    assert_eq!((status, out.trim()), (Some(0), "honest.svg"), "{error}");
    let image = std::fs::read_to_string(folder.path().join("honest.svg")).unwrap();
    assert!(image.contains("a (5,000 of 10,000, 50.00%; +30.00%)"), "{image}");
    let (status, _, error) = primitives(folder.path(), &["flamegraph", "--honest", "--profile", "op.folded"]);
    assert_eq!(status, Some(2));
    assert!(error.contains("--explanation"), "{error}");
}
