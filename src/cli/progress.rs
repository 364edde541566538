//! A progress bar on standard error, where that is a terminal, and what the work took.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::harness::environment::peak_memory;

pub(super) struct Bar(ProgressBar);

const STEPS: u64 = 1_000;

/// A bar with a name. It draws nothing where standard error is no terminal.
pub(super) fn bar(name: &str) -> Bar {
    let style = ProgressStyle::with_template("{prefix} {bar:30} {percent:>3} % {elapsed} {msg}");
    let bar = ProgressBar::new(STEPS).with_prefix(name.to_owned());
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.set_message("setting up");
    bar.enable_steady_tick(Duration::from_millis(200));
    Bar(bar)
}

impl Bar {
    /// Shows the part that is done, from 0 to 1.
    pub(super) fn set(&self, done: f64) {
        self.0.set_message("");
        self.0.set_position((done.clamp(0.0, 1.0) * STEPS as f64) as u64);
    }

    /// Removes the bar and tells time and memory.
    pub(super) fn finish(self) {
        let (name, seconds) = (self.0.prefix(), self.0.elapsed().as_secs_f64());
        self.0.finish_and_clear();
        let memory = peak_memory().map(|peak| format!(", at most {peak} of memory so far")).unwrap_or_default();
        eprintln!("{name}: {seconds:.1} s{memory}");
    }
}

/// A bar of steps that are counted, with the time left. It draws nothing where standard error is no terminal.
pub(super) fn counted(total: u64) -> ProgressBar {
    let bar = ProgressBar::new(total);
    if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len}  {msg}  {eta} left") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

/// A line for steps that are named as they come; silent where standard error is no terminal.
#[cfg(feature = "crypto")]
pub(super) fn spinner() -> ProgressBar {
    let spinner = ProgressBar::new_spinner();
    spinner.enable_steady_tick(Duration::from_millis(200));
    spinner
}
