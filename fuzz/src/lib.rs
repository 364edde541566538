//! What every fuzz target does with its bytes.

use countercheck::import::Limits;
use countercheck::import::export::{ExportOptions, Target, write};
use countercheck::import::profile::{Options, read};
use countercheck::profile::GroupBy;

fn options(format: Option<&str>) -> Options {
    let limits = Limits { unpacked: 1 << 24, in_memory: 1 << 24, ratio: 100, line: 1 << 20 };
    Options { format: format.map(str::to_owned), limits, keep_samples: 100 }
}

/// Reads as one format, whatever detection says.
pub fn read_as(format: &str, bytes: &[u8]) {
    use_profile(bytes, &options(Some(format)));
}

/// Reads whatever the bytes are taken for.
pub fn read_any(bytes: &[u8]) {
    use_profile(bytes, &options(None));
}

/// Lets panics of the perf.data parser pass, which the reader catches and turns into errors; every other panic
/// still ends the run.
pub fn forgive_the_parser_of_perf_data() {
    let fatal = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let forgiven = panic.location().is_some_and(|location| location.file().contains("linux-perf-"));
        if !forgiven {
            fatal(panic);
        }
    }));
}

fn use_profile(bytes: &[u8], options: &Options) {
    let Ok(profile) = read(bytes, options) else { return };
    profile.check().expect("readers check what they return");
    for weight in 0..profile.weight_types.len() {
        let _ = (profile.top(weight, GroupBy::Line), profile.doubts(weight));
    }
    for target in Target::ALL {
        let _ = write(&profile, target, &ExportOptions::default());
    }
}
