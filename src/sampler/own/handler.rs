//! The signal handler, and what it shares with the thread that prepares and drains it.
//!
//! Everything that the handler touches is prepared before: it allocates nothing, takes no lock, and calls
//! only what POSIX lists as safe in a handler (clocks, timers) besides two plain system calls.

use std::cell::UnsafeCell;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU64, AtomicUsize, Ordering};

use super::ring::Ring;
use super::unwind::{End, State, Tables, Walker};

/// Words of a record before its addresses.
pub(super) const HEADER: usize = 6;
/// The record's thread was off the CPU: its stack tells where it waits, its CPU time is nobody's yet.
pub(super) const OFF_CPU: u64 = 1;
/// The signal came much later than the timer: it was blocked, or the thread was long in the kernel.
pub(super) const LATE: u64 = 2;
/// The walk did not reach the thread's first function.
pub(super) const BROKEN: u64 = 4;

/// A handler on a thread that has the CPU runs within this time of its timer.
const PROMPT_NS: u64 = 100_000;
/// An idle thread's timer is slowed down to this many periods.
const SLOWEST: u64 = 16;

/// What one recording prepares for the handler.
pub(super) struct Session {
    pub(super) id: u64,
    pub(super) period_ns: u64,
    pub(super) tables: Tables,
    pub(super) ring: Ring,
    /// Whether samples count at the moment.
    pub(super) open: AtomicBool,
    /// Signals while they did not.
    pub(super) outside: AtomicU64,
    /// Room for walking in another sampler's handler, which has no slot.
    pub(super) walkers: Vec<Spare>,
}

/// A walker that whoever finds it free may use.
pub(super) struct Spare {
    taken: AtomicBool,
    walker: UnsafeCell<Walker>,
}

// SAFETY: `walker` is touched only by whoever has set `taken`.
unsafe impl Sync for Spare {}

impl Spare {
    pub(super) fn new() -> Self {
        Self { taken: AtomicBool::new(false), walker: UnsafeCell::new(Walker::new()) }
    }
}

/// Records the interrupted stack, with a period's CPU time, for the session under way if there is one.
///
/// # Safety
/// `context` is what the kernel passed to the signal handler that calls this.
pub(super) unsafe fn record(context: *const libc::c_void) {
    RUNNING.fetch_add(1, Ordering::SeqCst);
    let session = SESSION.load(Ordering::SeqCst);
    if !session.is_null() {
        // SAFETY: a session is not freed while a handler that has seen it runs.
        let session = unsafe { &*session };
        for spare in &session.walkers {
            if spare.taken.swap(true, Ordering::Acquire) {
                continue;
            }
            // SAFETY: the caller passes the kernel's context; the walker is ours until `taken` is cleared.
            let (state, walker) = unsafe { (State::interrupted(context), &mut *spare.walker.get()) };
            let walked = walker.walk(&session.tables, &state);
            let flags = if walked.end == End::Broken { BROKEN } else { 0 };
            let thread = super::this_thread() as u64;
            let period = session.period_ns;
            let header = [thread | flags << 32, super::monotonic_ns(), period, 0, period, walked.left_out];
            let [leaf, root, rest] = walked.parts;
            session.ring.push(&[&header, leaf, root, rest]);
            spare.taken.store(false, Ordering::Release);
            break;
        }
    }
    RUNNING.fetch_sub(1, Ordering::SeqCst);
}

/// The recording under way; null between recordings.
static SESSION: AtomicPtr<Session> = AtomicPtr::new(std::ptr::null_mut());
/// Handlers running now, so that a session is not freed under one.
static RUNNING: AtomicUsize = AtomicUsize::new(0);

/// A sampled thread's part of the handler's state. Slots are never freed: a signal that is still pending
/// when a recording ends carries a pointer to one.
pub(super) struct Slot {
    session: AtomicU64,
    pub(super) thread: AtomicI32,
    timer: AtomicPtr<libc::c_void>,
    /// Thread CPU time up to which weight has been given away. Moved forward by the gate.
    pub(super) weighed_cpu_ns: AtomicU64,
    /// Thread CPU time at the last signal, whether it was given weight or not.
    seen_cpu_ns: AtomicU64,
    weighed_wall_ns: AtomicU64,
    deadline_ns: AtomicU64,
    interval_ns: AtomicU64,
    idle_periods: AtomicU64,
    voluntary_switches: AtomicU64,
    random: AtomicU64,
    walker: UnsafeCell<Walker>,
}

// SAFETY: `walker` is touched only by the handler on the slot's thread, which checks that it is that thread
// and runs with its signal blocked.
unsafe impl Sync for Slot {}

/// When a timer fires next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    Regular,
    Soon,
}

static IDLE_SLOTS: Mutex<Vec<&'static Slot>> = Mutex::new(Vec::new());

impl Slot {
    fn new() -> Self {
        Self {
            session: AtomicU64::new(0),
            thread: AtomicI32::new(0),
            timer: AtomicPtr::new(std::ptr::null_mut()),
            weighed_cpu_ns: AtomicU64::new(0),
            seen_cpu_ns: AtomicU64::new(0),
            weighed_wall_ns: AtomicU64::new(0),
            deadline_ns: AtomicU64::new(0),
            interval_ns: AtomicU64::new(0),
            idle_periods: AtomicU64::new(1),
            voluntary_switches: AtomicU64::new(0),
            random: AtomicU64::new(0),
            walker: UnsafeCell::new(Walker::new()),
        }
    }

    /// Starts sampling a thread of this process. None where the system refuses a timer.
    pub(super) fn start(session: &Session, signal: i32, thread: i32) -> Option<&'static Self> {
        let slot = IDLE_SLOTS.lock().ok()?.pop().unwrap_or_else(|| Box::leak(Box::new(Self::new())));
        let now = super::monotonic_ns();
        slot.thread.store(thread, Ordering::Relaxed);
        slot.weighed_cpu_ns.store(super::cpu_ns_of(thread).unwrap_or(0), Ordering::Relaxed);
        slot.weighed_wall_ns.store(now, Ordering::Relaxed);
        slot.deadline_ns.store(now, Ordering::Relaxed);
        slot.idle_periods.store(1, Ordering::Relaxed);
        slot.random.store((now ^ (thread as u64) << 40) | 1, Ordering::Relaxed);
        slot.session.store(session.id, Ordering::SeqCst);
        // SAFETY: zeroed is a valid sigevent.
        let mut event: libc::sigevent = unsafe { std::mem::zeroed() };
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_signo = signal;
        event.sigev_notify_thread_id = thread;
        event.sigev_value = libc::sigval { sival_ptr: std::ptr::from_ref(slot).cast_mut().cast() };
        let mut timer: libc::timer_t = std::ptr::null_mut();
        // SAFETY: both pointers are valid for the call.
        if unsafe { libc::timer_create(libc::CLOCK_MONOTONIC, &raw mut event, &raw mut timer) } != 0 {
            slot.release();
            return None;
        }
        slot.timer.store(timer, Ordering::SeqCst);
        slot.arm(session.period_ns, now, Next::Soon);
        Some(slot)
    }

    /// Stops the thread's timer and gives the slot back.
    pub(super) fn stop(&'static self) {
        let timer = self.timer.load(Ordering::SeqCst);
        // SAFETY: the timer was created by `start` and is deleted once.
        unsafe { libc::timer_delete(timer) };
        self.release();
    }

    fn release(&'static self) {
        self.session.store(0, Ordering::SeqCst);
        if let Ok(mut idle) = IDLE_SLOTS.lock() {
            idle.push(self);
        }
    }

    /// Sets the next deadline, between half a period and one and a half after the last: jitter keeps the
    /// samples out of step with periodic work. Deadlines that passed while the thread could not be
    /// interrupted are gone, as if each had come and found it waiting: a timer that started anew after every
    /// wait would sample a thread more often the more it is made to wait.
    /// [`Next::Soon`] is within one period from now: what is left of an interval on average.
    fn arm(&self, period_ns: u64, now: u64, next: Next) {
        const MOST_PASSED: u32 = 64;
        let period = (period_ns * self.idle_periods.load(Ordering::Relaxed)).max(1);
        let mut interval = self.random() % period;
        let mut deadline = now + interval;
        if next == Next::Regular {
            interval += period / 2;
            deadline = self.deadline_ns.load(Ordering::Relaxed) + interval;
            for _ in 0..MOST_PASSED {
                if deadline > now {
                    break;
                }
                interval = period / 2 + self.random() % period;
                deadline += interval;
            }
            if deadline <= now {
                deadline = now + self.random() % period;
            }
        }
        self.deadline_ns.store(deadline, Ordering::Relaxed);
        self.interval_ns.store(interval, Ordering::Relaxed);
        let zero = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        let at = libc::timespec {
            tv_sec: (deadline / 1_000_000_000) as libc::time_t,
            tv_nsec: (deadline % 1_000_000_000) as libc::c_long,
        };
        let when = libc::itimerspec { it_interval: zero, it_value: at };
        let timer = self.timer.load(Ordering::Relaxed);
        // SAFETY: the timer exists while the slot's session runs.
        unsafe { libc::timer_settime(timer, libc::TIMER_ABSTIME, &raw const when, std::ptr::null_mut()) };
    }

    /// Marsaglia's xorshift64 (2003).
    fn random(&self) -> u64 {
        let mut random = self.random.load(Ordering::Relaxed);
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        self.random.store(random, Ordering::Relaxed);
        random
    }

    fn sample(&self, session: &Session, context: *const libc::c_void) {
        let (cpu, wall) = (crate::harness::clock::thread_cpu_ns(), super::monotonic_ns());
        let seen = self.seen_cpu_ns.swap(cpu, Ordering::Relaxed).max(self.weighed_cpu_ns.load(Ordering::Relaxed));
        if session.open.load(Ordering::Acquire) {
            // SAFETY: the kernel passed the context to the handler.
            let state = unsafe { State::interrupted(context) };
            let used = cpu.saturating_sub(self.weighed_cpu_ns.load(Ordering::Relaxed));
            let passed = wall.saturating_sub(self.weighed_wall_ns.load(Ordering::Relaxed));
            let mut flags = 0;
            let mut weight = used;
            let late = wall.saturating_sub(self.deadline_ns.load(Ordering::Relaxed));
            // The timer fired while another thread had the CPU: this is where that one took it, which is
            // not where the time went.
            let preempted = late > PROMPT_NS && passed.saturating_sub(used) > late / 2;
            if preempted || (state.in_system_call() && self.has_slept()) {
                // The CPU time since the last sample was spent before the wait; the next sample on the CPU
                // carries it, or every burst of work would be charged to the wait after it.
                flags |= OFF_CPU;
                weight = 0;
            } else {
                self.weighed_cpu_ns.store(cpu, Ordering::Relaxed);
                // Time carried over from waits does not make a sample late.
                if cpu.saturating_sub(seen) > 2 * self.interval_ns.load(Ordering::Relaxed) {
                    flags |= LATE;
                }
            }
            let idle = used * 50 < passed;
            let periods = self.idle_periods.load(Ordering::Relaxed);
            self.idle_periods.store(if idle { (periods * 2).min(SLOWEST) } else { 1 }, Ordering::Relaxed);
            self.weighed_wall_ns.store(wall, Ordering::Relaxed);
            // SAFETY: this is the slot's thread, and its signal is blocked while the handler runs.
            let walker = unsafe { &mut *self.walker.get() };
            let walked = walker.walk(&session.tables, &state);
            if walked.end == End::Broken {
                flags |= BROKEN;
            }
            let thread = self.thread.load(Ordering::Relaxed) as u64;
            let interval = self.interval_ns.load(Ordering::Relaxed);
            let header: [u64; HEADER] = [thread | flags << 32, wall, weight, passed, interval, walked.left_out];
            let [leaf, root, rest] = walked.parts;
            session.ring.push(&[&header, leaf, root, rest]);
        } else {
            session.outside.fetch_add(1, Ordering::Relaxed);
            self.weighed_wall_ns.store(wall, Ordering::Relaxed);
        }
        self.arm(session.period_ns, wall, Next::Regular);
    }

    /// Whether the thread gave up the CPU of its own accord since this was asked last.
    fn has_slept(&self) -> bool {
        // SAFETY: zeroed is a valid rusage, and the call writes to it.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        unsafe { libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage) };
        let switches = usage.ru_nvcsw as u64;
        self.voluntary_switches.swap(switches, Ordering::Relaxed) != switches
    }
}

/// Makes `session` the one that the handler works for.
pub(super) fn publish(session: &Session) {
    SESSION.store(std::ptr::from_ref(session).cast_mut(), Ordering::SeqCst);
}

/// Ends the handler's work and waits until none runs.
pub(super) fn withdraw() {
    SESSION.store(std::ptr::null_mut(), Ordering::SeqCst);
    while RUNNING.load(Ordering::SeqCst) != 0 {
        std::thread::yield_now();
    }
}

/// Installs the handler on a real-time signal that the program does not use, once, for good: a timer signal
/// that is still pending when a recording ends must not meet the default action, which ends the process.
pub(super) fn install() -> Result<i32, String> {
    static INSTALLED: Mutex<Option<i32>> = Mutex::new(None);
    let mut installed = INSTALLED.lock().map_err(|_| "an earlier installation panicked".to_owned())?;
    if let Some(signal) = *installed {
        return Ok(signal);
    }
    for signal in (libc::SIGRTMIN()..libc::SIGRTMAX()).rev() {
        // SAFETY: zeroed is a valid sigaction; a null new action only reads.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        if unsafe { libc::sigaction(signal, std::ptr::null(), &raw mut action) } != 0
            || action.sa_sigaction != libc::SIG_DFL
        {
            continue;
        }
        action.sa_sigaction = handle as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
        // SAFETY: `action` is a valid handler of the signature that SA_SIGINFO asks for.
        if unsafe { libc::sigaction(signal, &raw const action, std::ptr::null_mut()) } == 0 {
            *installed = Some(signal);
            return Ok(signal);
        }
    }
    Err("the program uses every real-time signal".to_owned())
}

extern "C" fn handle(_signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: every thread has an errno.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: as above. The interrupted code must find its errno as it was.
    let saved = unsafe { *errno };
    RUNNING.fetch_add(1, Ordering::SeqCst);
    let session = SESSION.load(Ordering::SeqCst);
    // SAFETY: the kernel passes a valid description of the signal.
    let info = unsafe { &*info };
    if !session.is_null() && info.si_code == libc::SI_TIMER {
        // SAFETY: a session is not freed while a handler that has seen it runs; a timer of this signal carries
        // a slot, and slots are never freed.
        let (session, slot) = unsafe { (&*session, &*info.si_value().sival_ptr.cast::<Slot>()) };
        // A signal may outlive the recording that it was sent for, and its slot may be another thread's by now.
        if slot.session.load(Ordering::SeqCst) == session.id
            && slot.thread.load(Ordering::Relaxed) == super::this_thread()
        {
            slot.sample(session, context);
        }
    }
    RUNNING.fetch_sub(1, Ordering::SeqCst);
    // SAFETY: as above.
    unsafe { *errno = saved };
}
