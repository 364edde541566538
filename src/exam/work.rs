//! Work of known shares: each case runs its parts under the thread CPU clock, so the truth is measured in
//! the very run that is sampled.
//!
//! Every part is one function with constants of its own, so that the linker cannot merge two of them.

use std::hint::black_box;
use std::sync::mpsc;

use crate::harness::clock::thread_cpu_ns;
use crate::workload::{Digest, Fixture};

/// CPU time of each part and of the whole.
#[derive(Debug, Default)]
pub(super) struct Truth {
    parts: [u64; 4],
    whole: u64,
    /// The thread that cases of two threads share their work with.
    second: Option<Second>,
}

impl Truth {
    /// Runs a part under the clock.
    fn part<T>(&mut self, index: usize, body: impl FnOnce() -> T) -> T {
        let start = thread_cpu_ns();
        let value = body();
        self.parts[index] += thread_cpu_ns() - start;
        value
    }

    /// Starts a part on the second thread.
    fn start(&mut self, body: fn() -> u64) {
        self.second.get_or_insert_with(Second::new).jobs.send(body).expect("the second thread waits for jobs");
    }

    /// Waits for the second thread to end a part.
    fn finish(&mut self, index: usize) -> u64 {
        let second = self.second.as_ref().expect("a part was started");
        let (value, cpu_ns) = second.done.recv().expect("the second thread answers every job");
        self.parts[index] += cpu_ns;
        self.whole += cpu_ns;
        value
    }

    /// CPU time of the whole, in nanoseconds.
    pub(super) fn whole_ns(&self) -> u64 {
        self.whole
    }

    /// The part's share of the whole.
    pub(super) fn share(&self, index: usize) -> f64 {
        self.parts[index] as f64 / self.whole.max(1) as f64
    }
}

/// A second thread, which runs what it is sent and ends when nobody can send any more.
#[derive(Debug)]
struct Second {
    jobs: mpsc::Sender<fn() -> u64>,
    /// Value and CPU time.
    done: mpsc::Receiver<(u64, u64)>,
}

impl Second {
    fn new() -> Self {
        let (jobs, to_do) = mpsc::channel::<fn() -> u64>();
        let (answer, done) = mpsc::channel();
        let work = move || {
            for body in to_do {
                let start = thread_cpu_ns();
                let value = body();
                if answer.send((value, thread_cpu_ns() - start)).is_err() {
                    return;
                }
            }
        };
        std::thread::Builder::new().name("second".to_owned()).spawn(work).expect("the system has room for a thread");
        Self { jobs, done }
    }
}

/// A case's body, which takes a fraction of a millisecond to some milliseconds.
pub(super) type Body = fn(&mut Truth) -> u64;

/// A case as something to be sampled.
pub(super) struct Known {
    body: Body,
    iterations: u64,
    pub(super) truth: Truth,
    out: u64,
}

impl Known {
    pub(super) fn new(body: Body) -> Self {
        Self { body, iterations: 0, truth: Truth::default(), out: 0 }
    }
}

impl Fixture for Known {
    fn load(&mut self, iterations: std::ops::Range<u64>) -> Result<(), String> {
        self.iterations = iterations.end - iterations.start;
        Ok(())
    }

    fn run(&mut self) {
        let start = thread_cpu_ns();
        for _ in 0..self.iterations {
            self.out ^= (self.body)(&mut self.truth);
        }
        self.truth.whole += thread_cpu_ns() - start;
    }

    fn unload(&mut self) -> Result<Digest, String> {
        Ok(Digest::of(&self.out.to_le_bytes()))
    }
}

/// A chain of dependent steps, about a nanosecond each.
#[inline(always)]
fn spin<const CONSTANT: u64>(steps: u64) -> u64 {
    let mut x = black_box(CONSTANT | 1);
    for _ in 0..steps {
        x = (x.rotate_left(13) ^ CONSTANT).wrapping_mul(CONSTANT | 1);
    }
    black_box(x)
}

const UNIT: u64 = 10_000;

#[inline(never)]
fn plain_thirty() -> u64 {
    spin::<0x9e37_79b9_7f4a_7c15>(3 * UNIT)
}

#[inline(never)]
fn plain_seventy() -> u64 {
    spin::<0xbf58_476d_1ce4_e5b9>(7 * UNIT)
}

/// Two functions that are not inlined: what every sampler must get right.
pub(super) fn plain(truth: &mut Truth) -> u64 {
    truth.part(0, plain_thirty) ^ truth.part(1, plain_seventy)
}

/// Real primitives: key agreement and signatures.
#[cfg(feature = "crypto")]
pub(super) fn curves(truth: &mut Truth) -> u64 {
    use crate::primitive::x25519;
    let secret = black_box([0x55; 32]);
    let public = black_box(*b"\x09\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0");
    let shared = truth.part(0, || x25519::dh(&secret, &public));
    let key = truth.part(1, || x25519::base(&secret));
    u64::from(shared[0] ^ key[0])
}

#[inline(always)]
fn inlined_thirty() -> u64 {
    spin::<0x94d0_49bb_1331_11eb>(3 * UNIT)
}

#[inline(always)]
fn inlined_seventy() -> u64 {
    spin::<0xd6e8_feb8_6659_fd93>(7 * UNIT)
}

/// The function that both are inlined into.
#[inline(never)]
fn both_inlined(truth: &mut Truth) -> u64 {
    truth.part(0, inlined_thirty) ^ truth.part(1, inlined_seventy)
}

pub(super) fn inlined(truth: &mut Truth) -> u64 {
    both_inlined(truth)
}

#[inline(never)]
fn copies_memory() -> u64 {
    const SIZE: usize = 1 << 15;
    let (from, mut to) = (black_box([7u8; SIZE]), [0u8; SIZE]);
    for _ in 0..32 {
        to.copy_from_slice(black_box(&from));
        black_box(&mut to);
    }
    u64::from(to[SIZE - 1])
}

#[inline(never)]
fn computes_beside_copies() -> u64 {
    spin::<0xa076_1d64_78bd_642f>(3 * UNIT)
}

/// Time in the C library.
pub(super) fn memory(truth: &mut Truth) -> u64 {
    truth.part(0, copies_memory) ^ truth.part(1, computes_beside_copies)
}

#[inline(never)]
fn calls_the_kernel() -> u64 {
    let mut sum = 0;
    let mut buffer = [0u8; 1 << 14];
    if let Ok(mut zero) = std::fs::File::open("/dev/zero") {
        for _ in 0..40 {
            sum += std::io::Read::read(&mut zero, &mut buffer).unwrap_or(0) as u64;
        }
    }
    sum + u64::from(black_box(buffer[0]))
}

#[inline(never)]
fn computes_beside_calls() -> u64 {
    spin::<0xe703_7ed1_a0b4_28db>(2 * UNIT)
}

/// Time in the kernel.
pub(super) fn kernel(truth: &mut Truth) -> u64 {
    truth.part(0, calls_the_kernel) ^ truth.part(1, computes_beside_calls)
}

#[cfg(unix)]
#[inline(never)]
fn runs_with_sigprof_blocked() -> u64 {
    spin::<0x8ebc_6af0_9c88_c6e3>(70 * UNIT)
}

#[cfg(unix)]
#[inline(never)]
fn runs_unblocked() -> u64 {
    spin::<0x5897_89d2_1f1d_9c4b>(30 * UNIT)
}

/// Blocks or unblocks SIGPROF in this thread.
#[cfg(unix)]
fn mask(how: libc::c_int) {
    // SAFETY: zeroed is a valid set to be filled, and it is valid for the calls.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, libc::SIGPROF);
        libc::pthread_sigmask(how, &raw const set, std::ptr::null_mut());
    }
}

/// Most of the time with SIGPROF blocked, as some libraries do around their critical sections.
#[cfg(unix)]
pub(super) fn masked(truth: &mut Truth) -> u64 {
    mask(libc::SIG_BLOCK);
    let blocked = truth.part(0, runs_with_sigprof_blocked);
    mask(libc::SIG_UNBLOCK);
    blocked ^ truth.part(1, runs_unblocked)
}

#[cfg(unix)]
#[inline(never)]
fn runs_in_a_masked_thread() -> u64 {
    spin::<0xd1b5_4a32_d192_ed03>(700 * UNIT)
}

#[cfg(unix)]
#[inline(never)]
fn runs_beside_a_masked_thread() -> u64 {
    spin::<0xaef1_7502_108e_f2d9>(300 * UNIT)
}

/// A thread that blocks SIGPROF for good, and one that does not and waits for it.
#[cfg(unix)]
pub(super) fn masked_thread(truth: &mut Truth) -> u64 {
    truth.start(|| {
        mask(libc::SIG_BLOCK);
        runs_in_a_masked_thread()
    });
    let theirs = truth.finish(0);
    theirs ^ truth.part(1, runs_beside_a_masked_thread)
}

#[inline(never)]
fn runs_on_the_second_thread() -> u64 {
    spin::<0xf134_2543_7af2_5a49>(500 * UNIT)
}

#[inline(never)]
fn runs_on_the_first_thread() -> u64 {
    spin::<0xda94_2042_e4dd_58b5>(500 * UNIT)
}

/// Two threads at the same time.
pub(super) fn two_threads(truth: &mut Truth) -> u64 {
    truth.start(runs_on_the_second_thread);
    let mine = truth.part(1, runs_on_the_first_thread);
    mine ^ truth.finish(0)
}

// What a C compiler makes of a function that needs every register: the frame pointer is saved, used for
// something else, and restored. The unwind tables say so.
#[cfg(target_arch = "x86_64")]
core::arch::global_asm!(
    ".p2align 4",
    ".globl countercheck_uses_frame_pointer",
    ".hidden countercheck_uses_frame_pointer",
    ".type countercheck_uses_frame_pointer,@function",
    "countercheck_uses_frame_pointer:",
    ".cfi_startproc",
    "push rbp",
    ".cfi_def_cfa_offset 16",
    ".cfi_offset rbp, -16",
    "mov ebp, 1",
    "call rdi",
    "pop rbp",
    ".cfi_def_cfa_offset 8",
    ".cfi_restore rbp",
    "ret",
    ".cfi_endproc",
    ".size countercheck_uses_frame_pointer, . - countercheck_uses_frame_pointer",
);
#[cfg(target_arch = "aarch64")]
core::arch::global_asm!(
    ".p2align 4",
    ".globl countercheck_uses_frame_pointer",
    ".hidden countercheck_uses_frame_pointer",
    ".type countercheck_uses_frame_pointer,@function",
    "countercheck_uses_frame_pointer:",
    ".cfi_startproc",
    "stp x29, x30, [sp, #-16]!",
    ".cfi_def_cfa_offset 16",
    ".cfi_offset x29, -16",
    ".cfi_offset x30, -8",
    "mov x29, #1",
    "blr x0",
    "ldp x29, x30, [sp], #16",
    ".cfi_def_cfa_offset 0",
    ".cfi_restore x29",
    ".cfi_restore x30",
    "ret",
    ".cfi_endproc",
    ".size countercheck_uses_frame_pointer, . - countercheck_uses_frame_pointer",
);

unsafe extern "C" {
    /// Calls back with the frame pointer in other use.
    fn countercheck_uses_frame_pointer(callback: extern "C" fn() -> u64) -> u64;
}

#[inline(never)]
extern "C" fn called_back() -> u64 {
    spin::<0x5851_f42d_4c95_7f2d>(7 * UNIT)
}

#[inline(never)]
fn calls_through_c() -> u64 {
    let mine = spin::<0x1405_7b7e_f767_814f>(3 * UNIT);
    // SAFETY: the function keeps to the C calling convention and does nothing but call back.
    let theirs = unsafe { countercheck_uses_frame_pointer(called_back) };
    black_box(mine) ^ black_box(theirs)
}

/// A foreign function that uses the frame pointer for something else, and calls back.
pub(super) fn clobbered(truth: &mut Truth) -> u64 {
    truth.part(0, calls_through_c)
}

#[inline(never)]
fn in_step_with_the_tick() -> u64 {
    // Half a tick at 250 Hz, less at 100 Hz: it never reaches the next one.
    let end = thread_cpu_ns() + 2_000_000;
    let mut x = 0;
    while thread_cpu_ns() < end {
        x ^= spin::<0x1d8e_4e27_c47d_124f>(UNIT / 4);
    }
    x
}

#[inline(never)]
fn waits_for_the_tick() -> u64 {
    // The coarse clock moves with the tick; its change, not its value, tells the phase.
    let coarse = || {
        #[cfg(target_os = "linux")]
        {
            let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
            // SAFETY: `time` is a valid timespec for the call to write to.
            unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC_COARSE, &raw mut time) };
            time.tv_nsec
        }
        #[cfg(not(target_os = "linux"))]
        {
            (thread_cpu_ns() / 4_000_000) as i64
        }
    };
    let start = coarse();
    let mut x = 0;
    while coarse() == start {
        x ^= spin::<0xeb44_acca_b455_d165>(100);
    }
    x
}

/// Two phases, the first always over before the tick, the second always running at it.
pub(super) fn lockstep(truth: &mut Truth) -> u64 {
    truth.part(0, in_step_with_the_tick) ^ truth.part(1, waits_for_the_tick)
}

#[inline(never)]
fn descend<const CONSTANT: u64>(depth: u64, steps: u64) -> u64 {
    // The stack slot and what follows the call keep the recursion from becoming a loop.
    let here = black_box(depth);
    let below = if depth == 0 { spin::<CONSTANT>(steps) } else { descend::<CONSTANT>(depth - 1, steps) };
    below ^ black_box(here)
}

const DEPTH: u64 = 400;

#[inline(never)]
fn deep_thirty() -> u64 {
    // Not the last thing done, or the call would be a jump that takes this function off the stack.
    black_box(descend::<0xff51_afd7_ed55_8ccd>(DEPTH, 3 * UNIT)) ^ 1
}

#[inline(never)]
fn deep_seventy() -> u64 {
    // The same recursion, so that only the roots tell the two apart.
    black_box(descend::<0xff51_afd7_ed55_8ccd>(DEPTH, 7 * UNIT)) ^ 2
}

/// Recursion deeper than samplers keep, told apart by its roots.
pub(super) fn deep(truth: &mut Truth) -> u64 {
    truth.part(0, deep_thirty) ^ truth.part(1, deep_seventy)
}

#[inline(never)]
fn tail_callee(x: u64) -> u64 {
    spin::<0xc4ce_b9fe_1a85_ec53>(7 * UNIT) ^ x
}

#[inline(never)]
fn tail_work() -> u64 {
    spin::<0x2545_f491_4f6c_dd1d>(3 * UNIT)
}

/// Has no variable in memory, which would keep the compiler from making its last call a jump.
#[inline(never)]
fn tail_caller(x: u64) -> u64 {
    let mine = tail_work();
    tail_callee(mine ^ x)
}

/// A caller whose last act is a call, which the compiler makes a jump.
pub(super) fn tail(truth: &mut Truth) -> u64 {
    truth.part(0, || tail_caller(black_box(1)))
}

#[inline(never)]
fn divides() -> u64 {
    let mut x = black_box(u64::MAX);
    for i in 1..3_000 {
        x = (u64::MAX - black_box(i)) / (x | 3) + x / 3;
    }
    black_box(x)
}

#[inline(never)]
fn adds() -> u64 {
    let mut sums = black_box([1u64, 2, 3, 4]);
    for i in 0..40_000u64 {
        sums[0] = black_box(sums[0]).wrapping_add(i);
        sums[1] ^= i;
        sums[2] = sums[2].wrapping_add(sums[1]);
        sums[3] ^= sums[2];
    }
    black_box(sums.iter().fold(0, |sum, one| sum ^ one))
}

/// The same time in few slow instructions and in many fast ones.
pub(super) fn mix(truth: &mut Truth) -> u64 {
    truth.part(0, divides) ^ truth.part(1, adds)
}

#[inline(never)]
fn bursts_thirty() -> u64 {
    spin::<0x369d_ea0f_31a5_3f85>(30 * UNIT)
}

#[inline(never)]
fn bursts_seventy() -> u64 {
    spin::<0x27bb_2ee6_87b0_b0fd>(70 * UNIT)
}

/// Bursts of work between sleeps.
pub(super) fn sleepy(truth: &mut Truth) -> u64 {
    let pause = || std::thread::sleep(std::time::Duration::from_micros(700));
    let first = truth.part(0, bursts_thirty);
    pause();
    let second = truth.part(1, bursts_seventy);
    pause();
    first ^ second
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_take_the_shares_that_they_are_built_for() {
        for (body, shares) in [(plain as Body, [0.3, 0.7]), (inlined, [0.3, 0.7]), (deep, [0.3, 0.7])] {
            let mut known = Known::new(body);
            known.load(0..300).unwrap();
            known.run();
            for (part, share) in shares.into_iter().enumerate() {
                assert!((known.truth.share(part) - share).abs() < 0.05, "{:?}", known.truth);
            }
        }
    }
}
