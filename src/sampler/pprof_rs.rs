//! pprof-rs in this process, with its report as it stands.
//!
//! pprof-rs has no way to pause. Its signal handler is wrapped in one that leaves at once while the gate is
//! shut, so that building inputs and checking outputs is not in the profile. The wrapper also records the
//! addresses of each sample, which pprof-rs keeps of the first one of a sequence of functions only.

use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};

use super::own::{self, Addresses};
use super::symbols::{Symbols, is_named};
use super::window::{Gate, Windows};
use super::{Request, Sampler, SamplerError, Taken};
use crate::profile::{Builder, Profile, SampleClock, StackSample, WeightType, facts};
use crate::warning::Warning;

static OPEN: AtomicBool = AtomicBool::new(false);
static OUTSIDE: AtomicU64 = AtomicU64::new(0);
/// pprof-rs's own handler while it is wrapped.
static WRAPPED: AtomicPtr<libc::c_void> = AtomicPtr::new(std::ptr::null_mut());

/// The unwinder that pprof-rs was built with.
const UNWINDER: &str = if cfg!(feature = "pprof-frame-pointer") {
    "frame-pointer"
} else if cfg!(feature = "pprof-framehop") {
    "framehop"
} else {
    "default"
};

/// A frame's address: pprof-rs has another private type of frame for each unwinder.
#[cfg(not(any(feature = "pprof-frame-pointer", feature = "pprof-framehop")))]
macro_rules! address {
    ($frame:expr) => {
        $frame.ip() as u64
    };
}
#[cfg(any(feature = "pprof-frame-pointer", feature = "pprof-framehop"))]
macro_rules! address {
    ($frame:expr) => {
        $frame.ip as u64
    };
}

type Handler = extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void);

/// What pprof-rs's documentation recommends to put on the blocklist. It is matched against any part of a
/// library's path, and samples that hit it are dropped.
const BLOCKLIST: [&str; 4] = ["libc", "libgcc", "pthread", "vdso"];

pub(super) fn available(sampler: Sampler) -> Result<(), SamplerError> {
    let handler = current_action()?.sa_sigaction;
    if handler == libc::SIG_DFL || handler == libc::SIG_IGN {
        Ok(())
    } else {
        Err(SamplerError::HandlerTaken { sampler, signal: "SIGPROF" })
    }
}

pub(super) fn take(
    request: &Request,
    run: impl FnOnce(&mut dyn Gate) -> Result<Windows, SamplerError>,
) -> Result<(Taken, Windows), SamplerError> {
    let failed = |error: pprof::Error| SamplerError::Failed { sampler: Sampler::Pprof, message: error.to_string() };
    let hz = i32::try_from(request.hz).unwrap_or(i32::MAX);
    OPEN.store(false, Ordering::SeqCst);
    OUTSIDE.store(0, Ordering::SeqCst);
    let mut builder = pprof::ProfilerGuardBuilder::default().frequency(hz);
    if request.sampler == Sampler::PprofBlocklist {
        builder = builder.blocklist(&BLOCKLIST);
    }
    // The wrapper sees signals that the blocklist makes pprof-rs drop; its record would show what pprof-rs does not.
    let addresses = (request.sampler == Sampler::Pprof).then(|| Addresses::record(request.hz));
    let guard = builder.build().map_err(failed)?;
    wrap_handler()?;
    let windows = run(&mut InProcess)?;
    let report = guard.report().build_unresolved().map_err(failed)?;
    drop(guard);
    let by_own_address = addresses.map(|addresses| {
        let mut profile = addresses.finish();
        describe(&mut profile, request.sampler);
        set(&mut profile, facts::UNWINDER, "framehop");
        set(&mut profile, facts::INLINE_FRAMES, "per-sample");
        profile
    });
    let mut reported = profile(&report);
    describe(&mut reported, request.sampler);
    set(&mut reported, facts::UNWINDER, UNWINDER);
    if cfg!(feature = "pprof-frame-pointer") {
        set(&mut reported, facts::WALK_START, "return-address");
    }
    set(&mut reported, facts::INLINE_FRAMES, "per-function");
    set(&mut reported, facts::MAX_DEPTH, "128");
    let taken = Taken {
        profile: reported,
        by_own_address,
        outside: OUTSIDE.load(Ordering::SeqCst),
        warnings: rate_warning(request, &windows, report.data.values().sum::<isize>() as u64).into_iter().collect(),
    };
    Ok((taken, windows))
}

struct InProcess;

impl Gate for InProcess {
    fn open(&mut self) {
        OPEN.store(true, Ordering::SeqCst);
    }

    fn close(&mut self) {
        OPEN.store(false, Ordering::SeqCst);
    }
}

fn current_action() -> Result<libc::sigaction, SamplerError> {
    let mut action = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: a null new action only reads; `action` is valid for the call to write to.
    let status = unsafe { libc::sigaction(libc::SIGPROF, std::ptr::null(), action.as_mut_ptr()) };
    if status != 0 {
        let message = format!("cannot read the SIGPROF handler: {}", std::io::Error::last_os_error());
        return Err(SamplerError::Failed { sampler: Sampler::Pprof, message });
    }
    // SAFETY: zeroed is a valid sigaction, and the call has filled it.
    Ok(unsafe { action.assume_init() })
}

/// Puts [`gated`] in front of the handler that pprof-rs has just installed. pprof-rs removes both when its
/// guard is dropped.
fn wrap_handler() -> Result<(), SamplerError> {
    let mut action = current_action()?;
    WRAPPED.store(action.sa_sigaction as *mut libc::c_void, Ordering::SeqCst);
    action.sa_sigaction = gated as *const () as usize;
    // SAFETY: `action` is the installed one with another handler of the same signature.
    if unsafe { libc::sigaction(libc::SIGPROF, &raw const action, std::ptr::null_mut()) } != 0 {
        let message = format!("cannot wrap the SIGPROF handler: {}", std::io::Error::last_os_error());
        return Err(SamplerError::Failed { sampler: Sampler::Pprof, message });
    }
    Ok(())
}

/// Passes the signal on while the gate is open. The call is the last thing it does, so it is compiled to a
/// jump and the stack that pprof-rs walks is as without it.
extern "C" fn gated(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    if !OPEN.load(Ordering::SeqCst) {
        OUTSIDE.fetch_add(1, Ordering::Relaxed);
        return;
    }
    // SAFETY: the kernel passed the context to this handler.
    unsafe { own::record_addresses(context) };
    let wrapped = WRAPPED.load(Ordering::SeqCst);
    // SAFETY: `WRAPPED` is set, before this handler is installed, to a handler with this signature.
    let wrapped = unsafe { std::mem::transmute::<*mut libc::c_void, Handler>(wrapped) };
    wrapped(signal, info, context);
}

/// pprof-rs's own report: all samples of one sequence of functions stand under the inline chains of the
/// first of them. It is resolved here, by the same rules, because pprof-rs names functions by debug
/// information alone, which may have bare names.
fn profile(report: &pprof::UnresolvedReport) -> Profile {
    let frequency = f64::from(report.timing.frequency.max(1));
    let mut builder = Builder::new(vec![
        WeightType { name: "samples".to_owned(), unit: "count".to_owned() },
        WeightType { name: "cpu".to_owned(), unit: "nanoseconds".to_owned() },
    ]);
    // The report is a hash map; a fixed order makes equal profiles equal files.
    let mut rows: Vec<_> = report.data.iter().collect();
    rows.sort_by_key(|(frames, _)| (frames.sample_timestamp, frames.thread_id));
    let mut symbols = Symbols::of_this_process();
    for (unresolved, count) in rows {
        let mut stack = None;
        for address in own_frames(unresolved.frames.iter().map(|frame| address!(frame)), &mut symbols).into_iter().rev()
        {
            for frame in symbols.frames(address) {
                let frame = builder.frame(frame.clone());
                stack = Some(builder.stack(stack, frame));
            }
        }
        let name = &unresolved.thread_name[..unresolved.thread_name_length];
        let thread = builder.thread(&String::from_utf8_lossy(name));
        builder.sample(StackSample {
            stack,
            thread: Some(thread),
            time_ns: None,
            count: Some(count.unsigned_abs() as u64),
            weights: vec![*count as f64, *count as f64 * 1e9 / frequency],
        });
    }
    builder.finish()
}

fn describe(profile: &mut Profile, sampler: Sampler) {
    profile.provenance.producer = Some("pprof-rs 0.15".to_owned());
    profile.provenance.clock = SampleClock::Cpu;
    set(profile, facts::TIMER, "tick");
    set(profile, facts::TIMER_SCOPE, "process");
    set(profile, facts::WALK_START, "instruction");
    if sampler == Sampler::PprofBlocklist {
        set(profile, facts::BLOCKLIST, &BLOCKLIST.join(","));
    }
}

fn set(profile: &mut Profile, fact: &str, value: &str) {
    profile.provenance.facts.insert(fact.to_owned(), value.to_owned());
}

/// The addresses that pprof-rs resolves, leaf first: it takes one from each, the interrupted instruction's
/// included; it skips its handler and the frame after it, and drops frames without a name.
fn own_frames(ips: impl Iterator<Item = u64>, symbols: &mut Symbols) -> Vec<u64> {
    let mut kept = Vec::new();
    let mut ips = ips.map(|ip| ip.saturating_sub(1));
    while let Some(address) = ips.next() {
        let frames = symbols.frames(address);
        if frames.iter().any(|frame| frame.function == "perf_signal_handler") {
            ips.next();
        } else if frames.iter().any(is_named) {
            kept.push(address);
        }
    }
    kept
}

fn rate_warning(request: &Request, windows: &Windows, delivered: u64) -> Option<Warning> {
    let got = delivered as f64 / (windows.cpu_ns as f64 / 1e9);
    let asked = f64::from(request.hz);
    (got < 0.9 * asked).then(|| Warning {
        code: "rate-low".to_owned(),
        message: format!("{asked:.0} samples a second of CPU time were asked for and {got:.0} delivered: ITIMER_PROF fires at the kernel's tick at most"),
        remedy: format!("ask for a rate below {got:.0}, or use another sampler"),
    })
}
