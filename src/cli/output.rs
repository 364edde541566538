//! Writes files whole or not at all.

use std::io::Write;
use std::path::Path;

use anyhow::{Context, bail};

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

/// A device or a pipe, such as /dev/null: to rename a file over it would destroy it.
fn is_special(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| !found.is_file() && !found.is_dir())
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Writes to a temporary file beside `path`, syncs and renames it: `path` has the old content or the new.
pub(super) fn write_file(path: &Path, content: &[u8]) -> anyhow::Result<()> {
    expect_writable(path)?;
    if is_special(path) {
        return std::fs::write(path, content).with_context(|| format!("cannot write {}", path.display()));
    }
    let folder = folder_of(path);
    let write = || -> std::io::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(content)?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            // A temporary file is private; what it becomes is as any file that a program writes.
            file.as_file().set_permissions(std::fs::Permissions::from_mode(0o644))?;
        }
        file.as_file().sync_all()?;
        file.persist(path)?;
        Ok(())
    };
    write().with_context(|| format!("cannot write {}", path.display()))
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
    #[cfg(unix)]
    fn a_device_is_written_to_and_not_replaced() {
        write_file(Path::new("/dev/null"), b"x").unwrap();
        assert!(is_special(Path::new("/dev/null")));
    }
}
