//! The clocks: thread CPU time, which decides, and wall time, which tells when the host took time away.

/// CPU time used by the calling thread, in nanoseconds.
///
/// Where the platform has no such clock this is wall time; [`THREAD_CPU_CLOCK`] says which.
#[cfg(any(target_os = "linux", target_os = "macos"))]
#[inline]
pub fn thread_cpu_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec for the call to write to.
    let status = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    debug_assert_eq!(status, 0);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Wall time in nanoseconds, for platforms without a thread CPU clock.
#[cfg(not(any(target_os = "linux", target_os = "macos")))]
#[inline]
pub fn thread_cpu_ns() -> u64 {
    wall_ns()
}

/// Whether [`thread_cpu_ns`] reads CPU time rather than wall time.
pub const THREAD_CPU_CLOCK: bool = cfg!(any(target_os = "linux", target_os = "macos"));

/// CPU time of a piece of work on this thread, in nanoseconds, and notes for [`take_interruptions`] whether the thread
/// had to make room for others meanwhile.
#[inline]
pub fn window(work: impl FnOnce()) -> u64 {
    let before = switched_away();
    let start = thread_cpu_ns();
    work();
    let elapsed = thread_cpu_ns() - start;
    INTERRUPTIONS.set(INTERRUPTIONS.get() + (switched_away() - before));
    elapsed
}

/// How often the thread had to make room for others in the windows since the last call.
pub fn take_interruptions() -> u64 {
    INTERRUPTIONS.take()
}

std::thread_local! {
    static INTERRUPTIONS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// Involuntary context switches of this thread so far.
#[cfg(target_os = "linux")]
fn switched_away() -> u64 {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: `usage` is valid for the call to write to, and all zeros are a valid value of it.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr());
        usage.assume_init()
    };
    usage.ru_nivcsw as u64
}

/// Elsewhere a thread cannot ask: no interruption is ever noted.
#[cfg(not(target_os = "linux"))]
fn switched_away() -> u64 {
    0
}

/// Monotonic wall time in nanoseconds since the first call in this process.
#[inline]
pub fn wall_ns() -> u64 {
    static START: std::sync::OnceLock<instant::Instant> = std::sync::OnceLock::new();
    let start = START.get_or_init(instant::Instant::now);
    u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_clocks_advance_under_work() {
        let (cpu, wall) = (thread_cpu_ns(), wall_ns());
        let mut sum = 0u64;
        while thread_cpu_ns() == cpu || wall_ns() == wall {
            sum = std::hint::black_box(sum + 1);
        }
        assert!(thread_cpu_ns() > cpu && wall_ns() > wall);
    }
}
