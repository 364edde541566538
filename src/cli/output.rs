//! Files that a command writes: asked for before it measures, and written whole or not at all.

use std::path::Path;

use anyhow::{Context, bail};

use crate::record::store::{folder_of, is_special, replace};

/// Whether `path` can be written, asked before a measurement whose result would be lost if not.
pub(super) fn expect_writable(path: &Path) -> anyhow::Result<()> {
    if is_special(path) {
        return Ok(());
    }
    let folder = folder_of(path);
    if !folder.is_dir() {
        bail!("cannot write {}: there is no folder {}", path.display(), folder.display());
    }
    if path.is_dir() {
        bail!("cannot write {}: it is a folder; expected the name of a file", path.display());
    }
    match tempfile::tempfile_in(folder) {
        Ok(_) => Ok(()),
        Err(error) => bail!("cannot write {}: no file can be made in {}: {}", path.display(), folder.display(), error),
    }
}

/// Whether `path` is a folder that files can be put into, or can be made one; asked before a measurement
/// whose result would be lost if not.
pub(super) fn expect_folder(path: &Path) -> anyhow::Result<()> {
    let Some(present) = path.ancestors().find(|part| part.as_os_str().is_empty() || part.exists()) else {
        bail!("cannot make the folder {}: nothing of its path is there", path.display());
    };
    let present = if present.as_os_str().is_empty() { Path::new(".") } else { present };
    if !present.is_dir() {
        bail!("cannot write into {}: {} is a file; expected a folder", path.display(), present.display());
    }
    match tempfile::tempfile_in(present) {
        Ok(_) => Ok(()),
        Err(error) => {
            bail!("cannot write into {}: no file can be made in {}: {error}", path.display(), present.display())
        }
    }
}

/// Puts content in a file's place: `path` has the old content or the new.
pub(super) fn write_file(path: &Path, content: &[u8]) -> anyhow::Result<()> {
    expect_writable(path)?;
    replace(path, content).with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_written_is_known_before() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report.html");
        expect_writable(&path).unwrap();
        assert!(!path.exists(), "asking leaves nothing behind");
        let error = |path: &Path| expect_writable(path).unwrap_err().to_string();
        assert!(error(folder.path()).contains("it is a folder"));
        assert!(error(&folder.path().join("none/report.html")).contains("there is no folder"));
        assert!(write_file(&folder.path().join("none/report.html"), b"x").is_err());
    }

    #[test]
    fn a_folder_that_cannot_be_is_known_before() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "x").unwrap();
        expect_folder(&folder.path().join("new/deep")).unwrap();
        assert!(!folder.path().join("new").exists(), "asking leaves nothing behind");
        for path in [file.clone(), file.join("below")] {
            assert!(expect_folder(&path).unwrap_err().to_string().contains("is a file"), "{}", path.display());
        }
    }

    #[test]
    #[cfg(unix)]
    fn a_device_is_written_to_and_not_replaced() {
        write_file(Path::new("/dev/null"), b"x").unwrap();
        assert!(is_special(Path::new("/dev/null")));
    }
}
