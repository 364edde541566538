//! Records on disk: written whole or not at all, read with an error that says where and what.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Record, SCHEMA_VERSION};

/// Why a record could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file could not be opened, read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file ends before the record does.
    #[error("{}:{line}:{column}: the file ends here, expected the rest of a record: it was cut short", path.display())]
    Truncated {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
    },
    /// The file is something else.
    #[error("{}:1:1: found {found}, expected a record of countercheck (JSON with \"schema_version\")", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What it looks like.
        found: String,
    },
    /// The record was written by a newer version.
    #[error("{}: \"schema_version\": found {found}, expected at most {SCHEMA_VERSION}: read it with the version that wrote it", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// The record's schema version.
        found: u64,
    },
    /// It is a record, but broken.
    #[error("{}:{line}:{column}: {message}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        /// What was found and expected.
        message: String,
    },
    /// It is a record, but a value in it cannot be.
    #[error("{}: {position}: found {found}, expected {expected}", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// Where in the document.
        position: String,
        /// The value.
        found: String,
        /// What may stand there.
        expected: String,
    },
    /// A baseline's name that cannot be a file name.
    #[error("baseline name {name:?}: expected letters, digits, '.', '-' and '_', not starting with '.'")]
    Name {
        /// The name.
        name: String,
    },
    /// No baseline of this name.
    #[error("no baseline {name:?} in {}; there {}", folder.display(), listed(names))]
    Unknown {
        /// The name.
        name: String,
        /// Where baselines are kept.
        folder: PathBuf,
        /// Those that exist.
        names: Vec<String>,
    },
}

fn listed(names: &[String]) -> String {
    if names.is_empty() {
        "are none yet (--save NAME makes one)".to_owned()
    } else {
        format!("are: {}", names.join(", "))
    }
}

/// Reads a record.
pub fn read(path: &Path) -> Result<Record, StoreError> {
    let bytes = fs::read(path).map_err(|source| StoreError::Io { path: path.to_owned(), source })?;
    parse(path, &bytes)
}

/// Reads a record from bytes; `path` is only named in errors.
pub fn parse(path: &Path, bytes: &[u8]) -> Result<Record, StoreError> {
    let record: Record = parse_versioned(path, bytes)?;
    validate(path, &record)?;
    Ok(record)
}

/// Reads a JSON document that carries our `schema_version`.
pub(super) fn parse_versioned<T: DeserializeOwned>(path: &Path, bytes: &[u8]) -> Result<T, StoreError> {
    #[derive(serde::Deserialize)]
    struct Head {
        schema_version: Option<serde_json::Value>,
    }
    let path = path.to_owned();
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(StoreError::Truncated { path, line: 1, column: 1 });
    }
    if bytes.iter().find(|byte| !byte.is_ascii_whitespace()) != Some(&b'{') {
        let found = String::from_utf8_lossy(&bytes[..bytes.len().min(24)]).into_owned();
        return Err(StoreError::Foreign { path, found: format!("{found:?}") });
    }
    let version = match serde_json::from_slice::<Head>(bytes) {
        Ok(head) => head.schema_version,
        Err(error) => return Err(json_error(path, &error)),
    };
    match version.as_ref().map(|version| version.as_u64()) {
        None => Err(StoreError::Foreign { path, found: "a JSON object without it".to_owned() }),
        Some(Some(found)) if found > u64::from(SCHEMA_VERSION) => Err(StoreError::Newer { path, found }),
        Some(Some(1..)) => serde_json::from_slice(bytes).map_err(|error| json_error(path, &error)),
        Some(_) => Err(StoreError::Invalid {
            path,
            position: "schema_version".to_owned(),
            found: version.map(|value| value.to_string()).unwrap_or_default(),
            expected: format!("a whole number from 1 to {SCHEMA_VERSION}"),
        }),
    }
}

fn json_error(path: PathBuf, error: &serde_json::Error) -> StoreError {
    let (line, column) = (error.line(), error.column());
    if error.is_eof() {
        return StoreError::Truncated { path, line, column };
    }
    // serde_json repeats the position at the end of its message.
    let message = error.to_string();
    let message = message.rsplit_once(" at line ").map_or(message.as_str(), |(message, _)| message).to_owned();
    StoreError::Malformed { path, line, column, message }
}

/// What the types cannot rule out.
fn validate(path: &Path, record: &Record) -> Result<(), StoreError> {
    let invalid = |position: String, found: String, expected: &str| {
        Err(StoreError::Invalid { path: path.to_owned(), position, found, expected: expected.to_owned() })
    };
    let mut seen = std::collections::HashSet::new();
    for (i, row) in record.rows.iter().enumerate() {
        if !seen.insert((&row.name, row.variant, &row.runtime, &row.implementation)) {
            return invalid(format!("rows[{i}].name"), format!("{:?} again", row.name), "every row once");
        }
        for (j, measurement) in row.processes.iter().enumerate() {
            for (k, sample) in measurement.samples.iter().enumerate() {
                if sample.iterations == 0 {
                    let position = format!("rows[{i}].processes[{j}].samples[{k}][0]");
                    return invalid(position, "0 iterations".to_owned(), "1 or more");
                }
            }
        }
    }
    let steal = record.environment.steal;
    if steal.is_some_and(|steal| !(0.0..=1.0).contains(&steal)) {
        return invalid("environment.steal".to_owned(), format!("{steal:?}"), "a share from 0 to 1");
    }
    Ok(())
}

/// Writes a record so that at every moment the file is the old one or the new one, never part of one.
pub fn write(path: &Path, record: &Record) -> Result<(), StoreError> {
    write_json(path, record)
}

/// Writes any document as JSON in the same way: to a temporary name beside it, synced, then renamed.
pub fn write_json(path: &Path, document: &impl Serialize) -> Result<(), StoreError> {
    let json = serde_json::to_vec(document)
        .map_err(|error| StoreError::Io { path: path.to_owned(), source: io::Error::other(error) })?;
    write_bytes(path, &json)
}

/// Writes bytes and a line's end in the same way.
pub fn write_bytes(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    replace(path, &[bytes, b"\n"].concat()).map_err(|source| StoreError::Io { path: path.to_owned(), source })
}

/// Puts bytes in a file's place so that it holds its old content or the new at every moment: written to a temporary
/// name beside it, synced, then renamed.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let name =
        path.file_name().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "expected the name of a file"))?;
    if is_special(path) {
        return fs::write(path, bytes);
    }
    let folder = folder_of(path);
    let mut temporary_name = std::ffi::OsString::from(".");
    temporary_name.push(name);
    temporary_name.push(format!(".{}.tmp", std::process::id()));
    let temporary = folder.join(temporary_name);
    let written = (|| {
        let mut file = File::create(&temporary)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&temporary, path)?;
        // The rename itself is durable once the folder is synced. Not every system can sync one.
        if let Ok(folder) = File::open(folder) {
            let _ = folder.sync_all();
        }
        Ok(())
    })();
    written.inspect_err(|_| {
        let _ = fs::remove_file(&temporary);
    })
}

/// A device or a pipe, such as /dev/null, is written to: a rename would put a file in its place.
pub fn is_special(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| !found.is_file() && !found.is_dir())
}

/// The folder that a path's file is in.
pub fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The folder of baselines, saved by name.
#[derive(Clone, Debug)]
pub struct Baselines {
    folder: PathBuf,
}

impl Baselines {
    /// Baselines in a folder, which is made when the first is saved.
    pub fn in_folder(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// Saves a record under a name, in place of an older one.
    pub fn save(&self, name: &str, record: &Record) -> Result<PathBuf, StoreError> {
        let path = self.path(name)?;
        fs::create_dir_all(&self.folder).map_err(|source| StoreError::Io { path: self.folder.clone(), source })?;
        write(&path, record)?;
        Ok(path)
    }

    /// Loads the record of a name.
    pub fn load(&self, name: &str) -> Result<Record, StoreError> {
        let path = self.path(name)?;
        if !path.exists() {
            return Err(StoreError::Unknown {
                name: name.to_owned(),
                folder: self.folder.clone(),
                names: self.names(),
            });
        }
        read(&path)
    }

    /// The names saved, in alphabetical order.
    pub fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let mut names: Vec<String> = entries
            .filter_map(|entry| entry.file_name().to_str()?.strip_suffix(".json").map(str::to_owned))
            .filter(|name| is_name(name))
            .collect();
        names.sort();
        names
    }

    fn path(&self, name: &str) -> Result<PathBuf, StoreError> {
        if is_name(name) {
            Ok(self.folder.join(format!("{name}.json")))
        } else {
            Err(StoreError::Name { name: name.to_owned() })
        }
    }
}

fn is_name(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    !name.is_empty() && name.len() <= 100 && !name.starts_with('.') && name.chars().all(allowed)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{record, row, sample};
    use super::*;

    fn example() -> Record {
        record(vec![row("x25519_dh", &vec![vec![sample(1, 50_000), sample(2, 99_000)]; 3])])
    }

    #[test]
    fn what_is_written_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        write(&path, &example()).unwrap();
        assert_eq!(read(&path).unwrap(), example());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no temporary file is left");
    }

    #[test]
    fn every_cut_is_an_error_with_a_position() {
        let whole = serde_json::to_string(&example()).unwrap();
        for length in 0..whole.len() {
            let error = parse(Path::new("cut.json"), &whole.as_bytes()[..length]).unwrap_err();
            assert!(matches!(error, StoreError::Truncated { .. }), "{length}: {error}");
            assert!(error.to_string().starts_with("cut.json:1:"), "{error}");
        }
    }

    #[test]
    fn foreign_newer_and_broken_files_say_what_was_found_and_expected() {
        let mut newer = serde_json::to_value(example()).unwrap();
        newer["schema_version"] = 99.into();
        newer["rows"] = "another shape".into();
        let mut negative = serde_json::to_value(example()).unwrap();
        negative["rows"][0]["processes"][0]["samples"][0][1] = (-5).into();
        let mut idle = serde_json::to_value(example()).unwrap();
        idle["rows"][0]["processes"][1]["samples"][1][0] = 0.into();
        let mut twice = serde_json::to_value(example()).unwrap();
        twice["rows"] = vec![twice["rows"][0].clone(); 2].into();
        let mut version = serde_json::to_value(example()).unwrap();
        version["schema_version"] = "one".into();
        let cases = [
            ("[1, 2]".to_owned(), "found \"[1, 2]\", expected a record"),
            ("a;b 12\n".to_owned(), "expected a record"),
            ("{\"benchmarks\": []}".to_owned(), "found a JSON object without it"),
            (newer.to_string(), "found 99, expected at most 1"),
            (negative.to_string(), "invalid value: integer `-5`, expected u64"),
            (idle.to_string(), "rows[0].processes[1].samples[1][0]: found 0 iterations, expected 1 or more"),
            (twice.to_string(), "rows[1].name: found \"x25519_dh\" again, expected every row once"),
            (version.to_string(), "schema_version: found \"one\", expected a whole number"),
            ("{\"schema_version\": 1}".to_owned(), "missing field"),
            ("{\"schema_version\": 1,}".to_owned(), "trailing comma"),
        ];
        for (text, expected) in cases {
            let error = parse(Path::new("in.json"), text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}\nlacks {expected}");
            assert!(error.starts_with("in.json:"), "{error}");
        }
    }

    #[test]
    fn a_failed_write_leaves_the_old_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        write(&path, &example()).unwrap();
        assert!(write(&folder.path().join("no/such/folder.json"), &example()).is_err());
        assert!(write(Path::new("/"), &example()).is_err());
        assert_eq!(read(&path).unwrap(), example());
    }

    #[test]
    fn baselines_are_found_by_name_and_hostile_names_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let baselines = Baselines::in_folder(folder.path().join("baselines"));
        assert!(baselines.load("main").unwrap_err().to_string().contains("--save NAME"));
        baselines.save("main", &example()).unwrap();
        baselines.save("a-1.2", &example()).unwrap();
        assert_eq!(baselines.load("main").unwrap(), example());
        assert_eq!(baselines.names(), ["a-1.2", "main"]);
        assert!(baselines.load("mian").unwrap_err().to_string().contains("a-1.2, main"));
        for name in ["", "..", "../x", "a/b", "a b", ".hidden", "\u{1b}[31m"] {
            assert!(matches!(baselines.save(name, &example()), Err(StoreError::Name { .. })), "{name:?}");
        }
    }
}
