//! Opens a profile for a subcommand: a file, or standard input for `-`.

use std::fs::File;
use std::path::Path;

use anyhow::{Context, bail};

use crate::import::profile::{Options, read};
use crate::profile::Profile;

/// Reads a profile of any known format, or of the one named.
pub(super) fn read_profile(path: &Path, format: Option<&str>) -> anyhow::Result<Profile> {
    let options = Options { format: format.map(str::to_owned), ..Options::default() };
    if path == Path::new("-") {
        return read(std::io::stdin().lock(), &options).context("standard input").map(named);
    }
    let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
        bail!("{} is a directory; expected a profile", path.display());
    }
    read(file, &options).with_context(|| path.display().to_string()).map(named)
}

/// With names for bare addresses, where the programs are at hand.
fn named(profile: Profile) -> Profile {
    #[cfg(all(feature = "sampler", target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
    let profile = crate::sampler::symbolise(profile);
    profile
}

/// The index of the weight of this name, the profile's default where none is named.
pub(super) fn weight_named(profile: &Profile, name: Option<&str>) -> anyhow::Result<usize> {
    let Some(name) = name else { return Ok(profile.default_weight) };
    match profile.weight_types.iter().position(|weight| weight.name == name) {
        Some(weight) => Ok(weight),
        None => {
            let known: Vec<_> =
                profile.weight_types.iter().map(|weight| format!("{} ({})", weight.name, weight.unit)).collect();
            bail!("there is no weight {name:?}; the profile has {}", known.join(", "))
        }
    }
}
