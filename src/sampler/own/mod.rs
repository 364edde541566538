//! The own sampler: a jittered monotonic timer per thread, each sample weighted by the thread's CPU time
//! since the last one.
//!
//! A late or missed signal costs nothing, because the next one carries its CPU time; time off the CPU is
//! seen as such, because it has none. Every sample keeps its own addresses. A helper thread finds new
//! threads, ends the timers of those that are gone, and drains what the handlers record.

mod handler;
mod ring;
mod stacks;
#[cfg(test)]
mod under_test;
mod unwind;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use super::window::{Gate, Windows};
use super::{Request, Sampler, SamplerError, Taken};
use crate::warning::Warning;
use handler::{Session, Slot};
use stacks::Stacks;

/// Words that the handlers can record before the helper thread must have drained them: 16 MiB.
const RING_WORDS: usize = 1 << 21;
/// How often the helper looks for new threads and drains. A thread that lives shorter may be missed; its
/// CPU time is counted as unseen.
const ROUND: Duration = Duration::from_millis(5);

pub(super) fn available() -> Result<(), SamplerError> {
    let unavailable = |reason: String| SamplerError::Unavailable {
        sampler: Sampler::Own,
        reason,
        remedy: "allow timer_create and process_vm_readv (the container's seccomp profile), or choose another sampler"
            .to_owned(),
    };
    let here = [1u64];
    let mut copy = [0u64];
    if !unwind::read_memory(here.as_ptr() as u64, &mut copy) || copy != here {
        let error = std::io::Error::last_os_error();
        return Err(unavailable(format!("process_vm_readv on this process fails: {error}")));
    }
    // SAFETY: zeroed is a valid sigevent.
    let mut event: libc::sigevent = unsafe { std::mem::zeroed() };
    event.sigev_notify = libc::SIGEV_NONE;
    let mut timer: libc::timer_t = std::ptr::null_mut();
    // SAFETY: both pointers are valid for the call, and the timer is deleted once.
    if unsafe { libc::timer_create(libc::CLOCK_MONOTONIC, &raw mut event, &raw mut timer) } != 0 {
        return Err(unavailable(format!("timer_create fails: {}", std::io::Error::last_os_error())));
    }
    unsafe { libc::timer_delete(timer) };
    Ok(())
}

pub(super) fn take(
    request: &Request,
    run: impl FnOnce(&mut dyn Gate) -> Result<Windows, SamplerError>,
) -> Result<(Taken, Windows), SamplerError> {
    let mut recording = Recording::start(request.hz)?;
    let windows = run(&mut recording)?;
    let (stacks, outside, own_cpu_ns) = recording.finish();
    let seen = stacks.cpu_ns();
    let mut warnings = stacks.warnings();
    let unseen = windows.cpu_ns.saturating_sub(seen) as f64 / windows.cpu_ns.max(1) as f64;
    if unseen > 0.05 {
        warnings.push(Warning {
            code: "cpu-unseen".to_owned(),
            message: format!(
                "{} of the CPU time belongs to no sample: threads that lived for milliseconds, or the end of others",
                crate::unit::Share(unseen)
            ),
            remedy: "sample for longer; keep threads in a pool".to_owned(),
        });
    }
    let profile = stacks.profile(own_cpu_ns);
    Ok((Taken { profile, by_own_address: None, outside, warnings }, windows))
}

/// Records the interrupted stack in another sampler's signal handler while [`Addresses`] lives.
///
/// # Safety
/// `context` is what the kernel passed to the handler.
pub(super) unsafe fn record_addresses(context: *const libc::c_void) {
    // SAFETY: passed on.
    unsafe { handler::record(context) };
}

/// What another sampler's signals interrupted.
pub(super) struct Addresses {
    session: Box<Session>,
}

impl Addresses {
    /// Starts to record.
    pub(super) fn record(hz: u32) -> Self {
        let session = Box::new(Session {
            // No slot has it: signals of an earlier recording are not taken for this one.
            id: u64::MAX,
            period_ns: (1_000_000_000 / u64::from(hz)).max(1),
            tables: unwind::Tables::of_this_process(),
            ring: ring::Ring::new(RING_WORDS),
            open: AtomicBool::new(true),
            outside: AtomicU64::new(0),
            walkers: (0..8).map(|_| handler::Spare::new()).collect(),
        });
        handler::publish(&session);
        Self { session }
    }

    /// Ends, and returns the profile: every sample weighs a period.
    pub(super) fn finish(self) -> crate::profile::Profile {
        handler::withdraw();
        let mut stacks = Stacks::default();
        let mut record = Vec::new();
        while self.session.ring.pop(&mut record) {
            stacks.add(&record);
        }
        stacks.lost = self.session.ring.lost();
        stacks.profile(0)
    }
}

impl Drop for Addresses {
    fn drop(&mut self) {
        handler::withdraw();
    }
}

/// A recording under way.
struct Recording {
    shared: Arc<Shared>,
    helper: Option<std::thread::JoinHandle<Stacks>>,
    /// CPU time of each sampled thread when the gate was shut.
    shut_at: Vec<(i32, u64)>,
    own_cpu_ns: u64,
}

/// What the recording and its helper thread share. It owns the session that the handler works for.
struct Shared {
    session: Session,
    signal: i32,
    slots: Mutex<Vec<&'static Slot>>,
    stop: AtomicBool,
    started: (Mutex<bool>, Condvar),
    helper_thread: std::sync::atomic::AtomicI32,
}

impl Recording {
    fn start(hz: u32) -> Result<Self, SamplerError> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let failed = |message: String| SamplerError::Failed { sampler: Sampler::Own, message };
        let signal = handler::install().map_err(failed)?;
        let shared = Arc::new(Shared {
            session: Session {
                id: NEXT.fetch_add(1, Ordering::Relaxed),
                period_ns: (1_000_000_000 / u64::from(hz)).max(1),
                tables: unwind::Tables::of_this_process(),
                ring: ring::Ring::new(RING_WORDS),
                open: AtomicBool::new(false),
                outside: AtomicU64::new(0),
                walkers: Vec::new(),
            },
            signal,
            slots: Mutex::new(Vec::new()),
            stop: AtomicBool::new(false),
            started: (Mutex::new(false), Condvar::new()),
            helper_thread: std::sync::atomic::AtomicI32::new(0),
        });
        handler::publish(&shared.session);
        let helper = std::thread::Builder::new()
            .name("sampler".to_owned())
            .spawn({
                let shared = Arc::clone(&shared);
                move || help(&shared)
            })
            .map_err(|error| {
                handler::withdraw();
                failed(format!("cannot start the helper thread: {error}"))
            })?;
        let (started, signal_started) = &shared.started;
        let mut is_started = started.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        while !*is_started {
            is_started = signal_started.wait(is_started).unwrap_or_else(std::sync::PoisonError::into_inner);
        }
        drop(is_started);
        Ok(Self { shared, helper: Some(helper), shut_at: Vec::new(), own_cpu_ns: 0 })
    }

    fn finish(mut self) -> (Stacks, u64, u64) {
        let stacks = self.end();
        (
            stacks.expect("a recording is ended once"),
            self.shared.session.outside.load(Ordering::Relaxed),
            self.own_cpu_ns,
        )
    }

    fn end(&mut self) -> Option<Stacks> {
        let helper = self.helper.take()?;
        self.shared.stop.store(true, Ordering::SeqCst);
        helper.thread().unpark();
        helper.join().ok()
    }

    fn slots(&self) -> std::sync::MutexGuard<'_, Vec<&'static Slot>> {
        self.shared.slots.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        self.end();
    }
}

impl Gate for Recording {
    /// CPU time while the gate was shut is nobody's: it is taken out of what each thread has to weigh.
    fn open(&mut self) {
        for slot in self.slots().iter() {
            let thread = slot.thread.load(Ordering::Relaxed);
            let Some(now) = cpu_ns_of(thread) else { continue };
            let shut = self.shut_at.iter().find(|(known, _)| *known == thread);
            match shut {
                Some((_, shut)) => slot.weighed_cpu_ns.fetch_add(now.saturating_sub(*shut), Ordering::Relaxed),
                None => slot.weighed_cpu_ns.swap(now, Ordering::Relaxed),
            };
        }
        self.shared.session.open.store(true, Ordering::Release);
    }

    fn close(&mut self) {
        self.shared.session.open.store(false, Ordering::Release);
        let threads = self.slots().iter().map(|slot| slot.thread.load(Ordering::Relaxed)).collect::<Vec<_>>();
        self.shut_at = threads.into_iter().filter_map(|thread| Some((thread, cpu_ns_of(thread)?))).collect();
    }

    fn own_cpu_ns(&mut self) -> u64 {
        let helper = self.shared.helper_thread.load(Ordering::Relaxed);
        self.own_cpu_ns = cpu_ns_of(helper).unwrap_or(self.own_cpu_ns);
        self.own_cpu_ns
    }
}

/// The helper thread: until it is told to stop, starts timers for new threads, stops those of threads that
/// are gone, and drains what was recorded.
fn help(shared: &Shared) -> Stacks {
    let me = this_thread();
    shared.helper_thread.store(me, Ordering::SeqCst);
    block_all_signals();
    let mut stacks = Stacks::default();
    let mut record = Vec::new();
    loop {
        let stop = shared.stop.load(Ordering::SeqCst);
        if !stop {
            update_threads(shared, me, &mut stacks);
        }
        let (started, signal_started) = &shared.started;
        let mut is_started = started.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if !*is_started {
            *is_started = true;
            signal_started.notify_all();
        }
        drop(is_started);
        if stop {
            let mut slots = shared.slots.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            slots.drain(..).for_each(Slot::stop);
            handler::withdraw();
        }
        while shared.session.ring.pop(&mut record) {
            stacks.add(&record);
        }
        if stop {
            stacks.lost = shared.session.ring.lost();
            return stacks;
        }
        std::thread::park_timeout(ROUND);
    }
}

fn update_threads(shared: &Shared, me: i32, stacks: &mut Stacks) {
    let Ok(tasks) = std::fs::read_dir("/proc/self/task") else { return };
    let live: Vec<i32> = tasks.flatten().filter_map(|task| task.file_name().to_str()?.parse().ok()).collect();
    let mut slots = shared.slots.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    slots.retain(|slot| {
        let alive = live.contains(&slot.thread.load(Ordering::Relaxed));
        if !alive {
            slot.stop();
        }
        alive
    });
    // A number is given to another thread only after all others were used, so within one round a thread with
    // a known number is the known thread.
    for thread in live {
        if thread == me || slots.iter().any(|slot| slot.thread.load(Ordering::Relaxed) == thread) {
            continue;
        }
        stacks.name(thread, thread_name(thread));
        match Slot::start(&shared.session, shared.signal, thread) {
            Some(slot) => slots.push(slot),
            None => stacks.refused += 1,
        }
    }
}

fn thread_name(thread: i32) -> String {
    let name = std::fs::read_to_string(format!("/proc/self/task/{thread}/comm")).unwrap_or_default();
    name.trim_end().to_owned()
}

fn block_all_signals() {
    // SAFETY: zeroed is a valid set to be filled, and the set is valid for the second call.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const all, std::ptr::null_mut());
    }
}

fn this_thread() -> i32 {
    // SAFETY: the call has no arguments and does not fail.
    unsafe { libc::syscall(libc::SYS_gettid) as i32 }
}

fn monotonic_ns() -> u64 {
    super::window::monotonic_ns()
}

/// CPU time of a thread of this process. None once it is gone.
fn cpu_ns_of(thread: i32) -> Option<u64> {
    // The kernel's encoding of a thread's CPU clock (include/linux/posix-timers.h): the complement of its
    // number, and 6 for "this one thread, by the scheduler's accounting".
    let clock = (!thread << 3) | 6;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec for the call to write to.
    let status = unsafe { libc::clock_gettime(clock, &raw mut time) };
    (status == 0).then(|| time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
    use std::time::{Duration, Instant};

    use crate::sampler::{Request, Sampler, record_fixture};
    use crate::unit::Nanos;
    use crate::workload::{Digest, Fixture};

    /// Threads that start and end, children that run another program, a signal handler of the program's own
    /// and sleeping threads, all while sampling. For longer: `COUNTERCHECK_SOAK_SECONDS=3600`.
    #[test]
    fn it_survives_what_programs_do() {
        let sampler = Sampler::Own;
        if let Err(reason) = sampler.available() {
            println!("skipped: {reason}");
            return;
        }
        static OWN_SIGNALS: AtomicU64 = AtomicU64::new(0);
        extern "C" fn count(_signal: libc::c_int) {
            OWN_SIGNALS.fetch_add(1, Ordering::Relaxed);
        }
        // SAFETY: the handler only counts.
        unsafe { libc::signal(libc::SIGUSR1, count as *const () as usize) };

        struct Busy;
        impl Fixture for Busy {
            fn load(&mut self, _iterations: std::ops::Range<u64>) -> Result<(), String> {
                Ok(())
            }
            fn run(&mut self) {
                let stop = AtomicBool::new(false);
                std::thread::scope(|scope| {
                    scope.spawn(|| {
                        while !stop.load(Ordering::Relaxed) {
                            std::thread::sleep(Duration::from_millis(1));
                        }
                    });
                    for seed in 0..6u64 {
                        scope.spawn(move || spin(seed, Duration::from_millis(2 * seed)));
                    }
                    let child = Command::new("true").status();
                    assert!(child.is_ok_and(|status| status.success()), "a child of a sampled program works");
                    // SAFETY: the signal has a handler.
                    unsafe { libc::raise(libc::SIGUSR1) };
                    spin(9, Duration::from_millis(10));
                    stop.store(true, Ordering::Relaxed);
                });
            }
            fn unload(&mut self) -> Result<Digest, String> {
                Ok(Digest::default())
            }
        }
        fn spin(seed: u64, time: Duration) {
            let start = Instant::now();
            let mut x = seed;
            while start.elapsed() < time {
                x = std::hint::black_box(x.wrapping_mul(5) + 1);
            }
        }

        let seconds = std::env::var("COUNTERCHECK_SOAK_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(1.0);
        let mut request = Request::new(sampler, Nanos(seconds * 1e9));
        request.hz = 4_000;
        let recording = record_fixture("soak", &mut Busy, &request).unwrap();
        let profile = &recording.profile;
        let cpu: f64 = profile.total(0);
        println!(
            "{} threads, {} samples, {:.2} of the CPU time",
            profile.threads.len(),
            profile.samples.len(),
            cpu / recording.cpu_ns as f64
        );
        assert!(OWN_SIGNALS.load(Ordering::Relaxed) > 0, "the program's own handler still runs");
        assert!(profile.samples.len() > 100 && cpu > 0.0);
        assert!(profile.samples.iter().all(|sample| sample.weights.iter().all(|weight| *weight >= 0.0)));
        assert_eq!(profile.provenance.facts["lost"], "0");
    }

    /// CPU time spent while every signal is blocked is not charged to the call that unblocks them.
    #[test]
    fn blocked_signals_are_said_to_be_blocked() {
        if let Err(reason) = Sampler::Own.available() {
            println!("skipped: {reason}");
            return;
        }
        struct Blocked;
        impl Fixture for Blocked {
            fn load(&mut self, _iterations: std::ops::Range<u64>) -> Result<(), String> {
                Ok(())
            }
            fn run(&mut self) {
                // SAFETY: zeroed is a valid set to be filled, and the sets are valid for the calls.
                unsafe {
                    let mut all: libc::sigset_t = std::mem::zeroed();
                    let mut before: libc::sigset_t = std::mem::zeroed();
                    libc::sigfillset(&raw mut all);
                    libc::pthread_sigmask(libc::SIG_BLOCK, &raw const all, &raw mut before);
                    let end = crate::harness::clock::thread_cpu_ns() + 20_000_000;
                    while crate::harness::clock::thread_cpu_ns() < end {}
                    libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut());
                }
            }
            fn unload(&mut self) -> Result<Digest, String> {
                Ok(Digest::default())
            }
        }
        let request = Request::new(Sampler::Own, Nanos(0.3e9));
        let recording = record_fixture("blocked", &mut Blocked, &request).unwrap();
        let by = recording.profile.by(0, |frame| frame.function.clone());
        let marked = by.keys().any(|name| name.ends_with(crate::sampler::MARKER));
        let blocked = by.get("[signals blocked]").map_or(0.0, |sums| sums.total_weight);
        let of_thread = recording.thread_cpu_ns as f64;
        assert!(marked && blocked > 0.6 * of_thread, "{blocked} of {of_thread}");
    }
}
