//! Samplers: run a workload for some seconds of CPU time under a sampling profiler and return its profile.
//!
//! Only the body counts. Inputs are built and outputs checked between the *windows*, and what a sampler
//! sees there is dropped: in-process samplers are gated, samples from outside are dropped by their time.

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod own;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod perf;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod pprof_rs;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod symbolise;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod symbols;
mod window;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::profile::{FrameKind, Profile, StackId, facts};
use crate::stats::{self, Estimate};
use crate::unit::{Nanos, Share};
use crate::warning::Warning;
use crate::workload::{Digest, Fixture, Workload, WorkloadError};

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
pub use symbolise::symbolise;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
pub use symbols::names_of_code;
pub use window::MARKER;

/// A sampling profiler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sampler {
    /// The own sampler in this process: a monotonic timer per thread, weighted by thread CPU time.
    Own,
    /// pprof-rs in this process, with its default unwinder.
    Pprof,
    /// The same with the blocklist that its documentation recommends.
    PprofBlocklist,
    /// Linux perf attached to this process, walking frame pointers.
    PerfFp,
    /// Linux perf attached to this process, copying stacks and unwinding them by DWARF.
    PerfDwarf,
}

impl Sampler {
    /// Every sampler, the preferred one first.
    pub const ALL: [Self; 5] = [Self::Own, Self::Pprof, Self::PprofBlocklist, Self::PerfFp, Self::PerfDwarf];

    /// The name on the command line and in profiles.
    pub fn name(self) -> &'static str {
        match self {
            Self::Own => "own",
            Self::Pprof => "pprof",
            Self::PprofBlocklist => "pprof-blocklist",
            Self::PerfFp => "perf-fp",
            Self::PerfDwarf => "perf-dwarf",
        }
    }

    /// The first sampler that runs here; the own one where none does, so that its error is shown.
    pub fn preferred() -> Self {
        Self::ALL.into_iter().find(|sampler| sampler.available().is_ok()).unwrap_or(Self::Own)
    }

    /// Whether it can run here; else why not, with a remedy.
    pub fn available(self) -> Result<(), SamplerError> {
        platform::available(self)
    }
}

impl fmt::Display for Sampler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Sampler {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "perf" => Ok(Self::PerfFp),
            _ => Self::ALL.into_iter().find(|sampler| sampler.name() == name).ok_or_else(|| {
                let names: Vec<_> = Self::ALL.iter().map(|sampler| sampler.name()).collect();
                format!("unknown sampler {name:?}; expected one of {}, or perf (which is perf-fp)", names.join(", "))
            }),
        }
    }
}

/// What to sample, and how long.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Request {
    /// Which sampler.
    pub sampler: Sampler,
    /// Samples a second of CPU time to ask for.
    pub hz: u32,
    /// CPU time to spend in the body.
    pub cpu: Nanos,
    /// Whether to run the body unsampled as well, so that the sampler's overhead is known.
    pub overhead: Overhead,
}

/// Whether the sampler's overhead is measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Overhead {
    /// Not measured.
    #[default]
    Skip,
    /// A quarter of the CPU time is spent again, unsampled, before and after.
    Measure,
}

impl Request {
    /// A request at 997 Hz, which keeps out of step with periodic work.
    pub fn new(sampler: Sampler, cpu: Nanos) -> Self {
        Self { sampler, hz: 997, cpu, overhead: Overhead::Skip }
    }
}

/// A profile with what is known about the run that it was taken from.
#[derive(Clone, Debug, PartialEq)]
pub struct Recording {
    /// The profile as the sampler reports it, rooted at the window's [`MARKER`] frame.
    pub profile: Profile,
    /// The same samples with every one's own addresses resolved, where the sampler's own report does not
    /// do that (pprof-rs).
    pub by_own_address: Option<Profile>,
    /// Executions of the body in the windows.
    pub iterations: u64,
    /// CPU time of the whole process in the windows, in nanoseconds.
    pub cpu_ns: u64,
    /// CPU time of the thread that ran the body in the windows, in nanoseconds.
    pub thread_cpu_ns: u64,
    /// Wall time of the windows, in nanoseconds.
    pub wall_ns: u64,
    /// Samples seen outside of the windows, which are not in the profile.
    pub outside: u64,
    /// How much longer an iteration takes with the sampler on: 0.02 is 2 %.
    pub overhead: Option<Estimate>,
    /// Fingerprint of the outputs of all iterations.
    pub digest: Digest,
    /// What to distrust.
    pub warnings: Vec<Warning>,
}

/// Why there is no profile.
#[derive(Debug, thiserror::Error)]
pub enum SamplerError {
    /// The sampler cannot run here.
    #[error("{sampler} is not available: {reason}; {remedy}")]
    Unavailable {
        /// Which sampler.
        sampler: Sampler,
        /// What is missing.
        reason: String,
        /// What to do.
        remedy: String,
    },
    /// The program has a handler of its own for the signal that the sampler needs.
    #[error(
        "{sampler} needs signal {signal}, for which this program has a handler already; remove that handler or choose another sampler"
    )]
    HandlerTaken {
        /// Which sampler.
        sampler: Sampler,
        /// The signal's name.
        signal: &'static str,
    },
    /// The run yielded no sample.
    #[error(
        "{sampler} took no sample in {cpu} of CPU time at {hz} samples a second; sample for longer (--cpu-seconds) or at a higher rate (--hz)"
    )]
    NoSamples {
        /// Which sampler.
        sampler: Sampler,
        /// CPU time that was sampled.
        cpu: Nanos,
        /// The rate asked for.
        hz: u32,
    },
    /// The sampler failed.
    #[error("{sampler}: {message}")]
    Failed {
        /// Which sampler.
        sampler: Sampler,
        /// What it said.
        message: String,
    },
    /// The workload failed.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
}

/// Samples a workload set up from `seed`.
pub fn record(workload: &Workload, seed: u64, request: &Request) -> Result<Recording, SamplerError> {
    request.sampler.available()?;
    let mut fixture = workload.fixture(seed)?;
    record_fixture(&workload.name, fixture.as_mut(), request)
}

/// Samples a fixture, which `name` names in errors.
pub fn record_fixture(name: &str, fixture: &mut dyn Fixture, request: &Request) -> Result<Recording, SamplerError> {
    request.sampler.available()?;
    if request.hz == 0 {
        let message = "0 samples a second were asked for; at least 1 is needed".to_owned();
        return Err(SamplerError::Failed { sampler: request.sampler, message });
    }
    // One recording at a time: pprof-rs and the own sampler have state of the whole process.
    static ONE: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let failed = |message: String| WorkloadError { workload: name.to_owned(), message };
    let mut runner = window::Runner::calibrated(fixture).map_err(failed)?;
    let quarter = Nanos(request.cpu.0 / 4.0);
    let mut unsampled = Vec::new();
    if request.overhead == Overhead::Measure {
        unsampled.extend(runner.run(quarter, &mut window::Ungated).map_err(failed)?.per_iteration);
    }
    let (taken, windows) = platform::take(request, |gate| Ok(runner.run(request.cpu, gate).map_err(failed)?))?;
    if request.overhead == Overhead::Measure {
        unsampled.extend(runner.run(quarter, &mut window::Ungated).map_err(failed)?.per_iteration);
    }
    if taken.profile.samples.is_empty() {
        let cpu = Nanos(windows.cpu_ns as f64);
        return Err(SamplerError::NoSamples { sampler: request.sampler, cpu, hz: request.hz });
    }
    let overhead = overhead(&windows.per_iteration, &unsampled);
    let finish = |profile: Profile| {
        let mut profile = below_marker(profile);
        describe(&mut profile, request, &windows, taken.outside);
        profile.provenance.facts.insert(facts::OPERATION.to_owned(), name.to_owned());
        profile
    };
    let profile = finish(taken.profile);
    let mut warnings = taken.warnings;
    warnings.extend(window_warnings(&windows));
    warnings.extend(profile_warnings(&profile));
    if request.sampler == Sampler::PerfFp {
        warnings.extend(broken_walk_warning(&profile));
    }
    Ok(Recording {
        profile,
        by_own_address: taken.by_own_address.map(finish),
        iterations: windows.iterations,
        cpu_ns: windows.cpu_ns,
        thread_cpu_ns: windows.thread_cpu_ns,
        wall_ns: windows.wall_ns,
        outside: taken.outside,
        overhead,
        digest: windows.digest,
        warnings,
    })
}

/// What a sampler hands back before it is trimmed and described.
struct Taken {
    profile: Profile,
    by_own_address: Option<Profile>,
    outside: u64,
    warnings: Vec<Warning>,
}

/// Relative overhead from the CPU time of one iteration with the sampler on and off, batch by batch: the
/// ratio of medians, its interval from the quartiles' spread divided by the square root of the number of batches.
fn overhead(on: &[f64], off: &[f64]) -> Option<Estimate> {
    let middle = |values: &[f64]| {
        let sorted = stats::sorted(values.to_vec());
        let spread = stats::quantile(&sorted, 0.75)? - stats::quantile(&sorted, 0.25)?;
        let median = stats::quantile(&sorted, 0.5)?;
        // The standard error of a median is about 0.93 interquartile ranges over the root of n for normal data.
        (median > 0.0).then(|| (median, 0.93 * spread / (values.len() as f64).sqrt() / median))
    };
    let ((on, on_error), (off, off_error)) = (middle(on)?, middle(off)?);
    let point = on / off - 1.0;
    let half = 1.96 * on_error.hypot(off_error) * on / off;
    Some(Estimate::with_interval(point, point - half, point + half))
}

/// The profile with the frames above the marker cut off, so that the root is the window. Stacks without the
/// marker (other threads, truncated stacks) stay whole.
fn below_marker(profile: Profile) -> Profile {
    let is_marker: Vec<bool> = profile.frames.iter().map(|frame| frame.function.ends_with(MARKER)).collect();
    let mut builder = crate::profile::Builder::new(profile.weight_types.clone());
    let mut moved: rustc_hash::FxHashMap<StackId, Option<StackId>> = rustc_hash::FxHashMap::default();
    let mut whole = 0;
    for sample in &profile.samples {
        let stack = sample.stack.and_then(|id| {
            *moved.entry(id).or_insert_with(|| {
                let frames = profile.root_to_leaf(id);
                let from = frames.iter().rposition(|frame| is_marker[frame.0 as usize]).unwrap_or(0);
                let kept: Vec<_> =
                    frames[from..].iter().map(|frame| builder.frame(profile.frame(*frame).clone())).collect();
                builder.stack_of(kept)
            })
        });
        let marked = stack.is_some_and(|_| {
            sample.stack.is_some_and(|id| profile.leaf_to_root(id).any(|frame| is_marker[frame.0 as usize]))
        });
        whole += u64::from(!marked);
        let thread = sample.thread.map(|id| builder.thread(&profile.threads[id.0 as usize]));
        builder.sample(crate::profile::StackSample { stack, thread, ..sample.clone() });
    }
    for note in profile.notes {
        builder.note(&note.code, note.message, note.count);
    }
    if whole > 0 {
        let message = "stack samples do not reach the sampled window: another thread's, or truncated";
        builder.note("outside-marker", message, whole);
    }
    builder.default_weight(profile.default_weight);
    *builder.provenance() = profile.provenance;
    builder.finish()
}

fn describe(profile: &mut Profile, request: &Request, windows: &window::Windows, outside: u64) {
    let delivered: u64 = profile.samples.iter().filter_map(|sample| sample.count).sum();
    let provenance = &mut profile.provenance;
    provenance.format = request.sampler.name().to_owned();
    provenance.requested_hz = Some(f64::from(request.hz));
    provenance.period = Some(1e9 / f64::from(request.hz));
    provenance.period_unit = Some("nanoseconds".to_owned());
    provenance.cpu_time_ns = Some(windows.cpu_ns);
    provenance.duration_ns = Some(windows.wall_ns);
    let known = [
        (facts::ITERATIONS, windows.iterations.to_string()),
        ("samples_delivered", delivered.to_string()),
        ("samples_outside_window", outside.to_string()),
        (facts::THREAD_CPU_NS, windows.thread_cpu_ns.to_string()),
        ("windows", windows.per_iteration.len().to_string()),
    ];
    provenance.facts.extend(known.map(|(name, value)| (name.to_owned(), value)));
    if let Some(hz) = tick_hz() {
        provenance.facts.insert(facts::TICK_HZ.to_owned(), hz.to_string());
    }
}

/// The kernel's tick rate: the coarse clocks move with it.
fn tick_hz() -> Option<u64> {
    #[cfg(target_os = "linux")]
    {
        let mut step = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: `step` is a valid timespec for the call to write to.
        let status = unsafe { libc::clock_getres(libc::CLOCK_MONOTONIC_COARSE, &raw mut step) };
        (status == 0 && step.tv_sec == 0 && step.tv_nsec > 0).then(|| 1_000_000_000 / step.tv_nsec as u64)
    }
    #[cfg(not(target_os = "linux"))]
    None
}

fn window_warnings(windows: &window::Windows) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let wall = windows.wall_ns.max(1) as f64;
    let waited = windows.waited_ns as f64 / wall;
    let off_cpu = windows.wall_ns.saturating_sub(windows.cpu_ns) as f64 / wall - waited;
    if off_cpu > 0.1 {
        warnings.push(Warning {
            code: "off-cpu".to_owned(),
            message: format!(
                "{} of the wall time of {} was spent sleeping or blocked; samplers of CPU time do not see it",
                Share(off_cpu),
                Nanos(wall),
            ),
            remedy: "shares are of CPU time; compare wall time where waiting matters".to_owned(),
        });
    }
    if waited > 0.1 {
        warnings.push(Warning {
            code: "busy-host".to_owned(),
            message: format!("{} of the wall time went by ready to run, while others had the CPU", Share(waited)),
            remedy: "run again when the machine is idle".to_owned(),
        });
    }
    if windows.cpu_ns as f64 > 1.1 * windows.thread_cpu_ns as f64 {
        warnings.push(Warning {
            code: "other-threads".to_owned(),
            message: format!(
                "{} of the CPU time was used by other threads of the process",
                Share(1.0 - windows.thread_cpu_ns as f64 / windows.cpu_ns as f64),
            ),
            remedy: "shares are of the CPU time of all threads; counts and doses see the calling thread only"
                .to_owned(),
        });
    }
    warnings
}

fn profile_warnings(profile: &Profile) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let unnamed = |function: &str| function.starts_with("0x") || function == "[unknown]" || function == "Unknown";
    let total = profile.total(profile.default_weight);
    let nameless: f64 = profile
        .samples
        .iter()
        .filter(|sample| sample.stack.is_none_or(|id| unnamed(&profile.frame(profile.stack(id).frame).function)))
        .filter_map(|sample| sample.weights.get(profile.default_weight))
        .sum();
    if nameless > 0.2 * total {
        warnings.push(Warning {
            code: "no-symbols".to_owned(),
            message: format!(
                "the leaf of {} of the samples has no name: the binary looks stripped",
                Share(nameless / total)
            ),
            remedy: "build without strip, with debug = \"line-tables-only\" in the profile".to_owned(),
        });
    } else if profile.frames.iter().all(|frame| frame.line.is_none() && frame.kind != FrameKind::Inlined)
        && profile.provenance.facts.get("lines").is_none_or(|lines| lines != "not asked")
    {
        warnings.push(Warning {
            code: "no-debug-info".to_owned(),
            message: "no frame has a source line: inlined functions cannot be told from the function around them"
                .to_owned(),
            remedy: "build with debug = \"line-tables-only\" in the profile".to_owned(),
        });
    }
    warnings
}

fn broken_walk_warning(profile: &Profile) -> Option<Warning> {
    let outside = profile.notes.iter().find(|note| note.code == "outside-marker").map_or(0, |note| note.count);
    let part = outside as f64 / profile.samples.len().max(1) as f64;
    (part > 0.1).then(|| Warning {
        code: "no-frame-pointers".to_owned(),
        message: format!(
            "{} of the stacks do not reach the sampled window: their functions keep no frame pointer",
            Share(part)
        ),
        remedy: "build with RUSTFLAGS=\"-C force-frame-pointers=yes\", or use perf-dwarf".to_owned(),
    })
}

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod platform {
    use super::{Request, Sampler, SamplerError, Taken, own, perf, pprof_rs, window};

    pub(super) fn available(sampler: Sampler) -> Result<(), SamplerError> {
        match sampler {
            Sampler::Own => own::available(),
            Sampler::Pprof | Sampler::PprofBlocklist => pprof_rs::available(sampler),
            Sampler::PerfFp | Sampler::PerfDwarf => perf::available(sampler),
        }
    }

    pub(super) fn take(
        request: &Request,
        run: impl FnOnce(&mut dyn window::Gate) -> Result<window::Windows, SamplerError>,
    ) -> Result<(Taken, window::Windows), SamplerError> {
        match request.sampler {
            Sampler::Own => own::take(request, run),
            Sampler::Pprof | Sampler::PprofBlocklist => pprof_rs::take(request, run),
            Sampler::PerfFp | Sampler::PerfDwarf => perf::take(request, run),
        }
    }
}

#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
mod platform {
    use super::{Request, Sampler, SamplerError, Taken, window};

    pub(super) fn available(sampler: Sampler) -> Result<(), SamplerError> {
        let reason = "samplers run on Linux on x86-64 and aarch64 only".to_owned();
        let remedy = "bring a profile from this platform's own profiler (--profile FILE)".to_owned();
        Err(SamplerError::Unavailable { sampler, reason, remedy })
    }

    pub(super) fn take(
        request: &Request,
        _run: impl FnOnce(&mut dyn window::Gate) -> Result<window::Windows, SamplerError>,
    ) -> Result<(Taken, window::Windows), SamplerError> {
        available(request.sampler)?;
        unreachable!("no sampler is available here")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{Builder, Frame, StackSample, WeightType};

    #[test]
    fn names_are_read_back_and_unknown_ones_refused() {
        for sampler in Sampler::ALL {
            assert_eq!(sampler.name().parse(), Ok(sampler));
        }
        assert_eq!("perf".parse(), Ok(Sampler::PerfFp));
        assert!("gprof".parse::<Sampler>().unwrap_err().contains("expected one of"));
    }

    #[test]
    fn the_window_becomes_the_root() {
        let mut builder = Builder::new(vec![WeightType { name: "samples".into(), unit: "count".into() }]);
        for (stack, weight) in [(vec!["main", "loop", MARKER, "body"], 3.0), (vec!["other"], 1.0)] {
            let frames: Vec<_> = stack
                .iter()
                .map(|name| builder.frame(Frame { function: (*name).into(), ..Frame::default() }))
                .collect();
            let stack = builder.stack_of(frames);
            builder.sample(StackSample { stack, thread: None, time_ns: None, count: Some(1), weights: vec![weight] });
        }
        let profile = below_marker(builder.finish());
        let names = |sample: &StackSample| -> Vec<String> {
            let frames = profile.root_to_leaf(sample.stack.unwrap());
            frames.iter().map(|frame| profile.frame(*frame).function.clone()).collect()
        };
        assert_eq!(names(&profile.samples[0]), [MARKER, "body"]);
        assert_eq!(names(&profile.samples[1]), ["other"]);
        assert_eq!(profile.total(0), 4.0);
        assert_eq!((profile.notes[0].code.as_str(), profile.notes[0].count), ("outside-marker", 1));
    }

    #[test]
    fn overhead_is_the_ratio_of_medians() {
        let estimate = overhead(&[105.0; 20], &[100.0; 20]).unwrap();
        assert!((estimate.point - 0.05).abs() < 1e-9);
        assert_eq!(overhead(&[105.0], &[]), None);
    }

    /// Two bodies that are not inlined, one running three sevenths as long as the other.
    mod known {
        #[inline(never)]
        pub(super) fn thirty(n: u64) -> u64 {
            spin(3 * n)
        }

        #[inline(never)]
        pub(super) fn seventy(n: u64) -> u64 {
            spin(7 * n).wrapping_add(1)
        }

        #[inline(always)]
        fn spin(n: u64) -> u64 {
            (0..n).fold(1u64, |x, i| std::hint::black_box(x.rotate_left(5) ^ i))
        }
    }

    fn known_workload() -> Workload {
        Workload::primitive(
            "known",
            |_| vec![2_000u64; 64],
            |n| known::thirty(*n) ^ known::seventy(*n),
            |_, out| Ok(Digest::of(&out.to_le_bytes())),
        )
    }

    fn share(profile: &Profile, function: &str) -> f64 {
        let by = profile.by(profile.default_weight, |frame| frame.function.ends_with(function));
        by.get(&true).map_or(0.0, |sums| sums.total_weight) / profile.total(profile.default_weight)
    }

    #[test]
    fn every_sampler_here_sees_the_known_shares() {
        // Samplers see every thread of the process, other tests' included.
        const NAME: &str = "sampler::tests::every_sampler_here_sees_the_known_shares";
        if std::env::var_os("COUNTERCHECK_ALONE").is_none() {
            let this = std::env::current_exe().expect("a test has a program");
            let status = std::process::Command::new(this)
                .args([NAME, "--exact", "--nocapture", "--test-threads=1"])
                .env("COUNTERCHECK_ALONE", "1")
                .status()
                .expect("the program starts again");
            assert!(status.success());
            return;
        }
        for sampler in Sampler::ALL {
            if let Err(reason) = sampler.available() {
                println!("skipped: {reason}");
                continue;
            }
            let mut request = Request::new(sampler, Nanos(1.0e9));
            request.overhead = Overhead::Measure;
            let recording = match record(&known_workload(), 1, &request) {
                Ok(recording) => recording,
                // A container may forbid what looks allowed from outside.
                Err(SamplerError::Unavailable { reason, .. }) => {
                    println!("skipped: {reason}");
                    continue;
                }
                Err(error) => panic!("{error}"),
            };
            let profile = &recording.profile;
            println!("{sampler}: {:?} overhead {:?}", profile.provenance, recording.overhead);
            println!("warnings {:?}", recording.warnings);
            let (thirty, seventy) = (share(profile, "known::thirty"), share(profile, "known::seventy"));
            println!("{sampler}: {thirty:.3} {seventy:.3} marker {:.3}", share(profile, MARKER));
            // 250 samples of 0.3 have a standard deviation of 0.029; four of them are exceeded less than once in 10,000 runs.
            assert!((thirty - 0.3).abs() < 0.13 && (seventy - 0.7).abs() < 0.13, "{sampler}: {thirty} {seventy}");
            // Without frame pointers in the build the walk ends at the leaf, and a warning says so.
            let whole = share(profile, MARKER) > 0.9;
            let warned = recording.warnings.iter().any(|warning| warning.code == "no-frame-pointers");
            assert!(whole != warned && (whole || sampler == Sampler::PerfFp), "{sampler}");
            assert!(profile.frames.iter().all(|frame| !frame.function.ends_with("pprof_rs::gated")));
            assert!(recording.cpu_ns >= 1_000_000_000 && recording.iterations > 0);
        }
    }
}
