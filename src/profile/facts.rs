//! Keys of [`Provenance::facts`](super::Provenance::facts) that diagnosis reads. Samplers and readers
//! write those that they know; any other key is shown and not interpreted.

/// Kernel tick rate in hertz.
pub const TICK_HZ: &str = "tick_hz";
/// How stacks are unwound: `frame-pointer`, `dwarf`, `framehop`, `default`.
pub const UNWINDER: &str = "unwinder";
/// What the walk starts at: `instruction` (the interrupted one) or `return-address` (the leaf is lost).
pub const WALK_START: &str = "walk_start";
/// Library path parts whose samples are dropped, comma separated.
pub const BLOCKLIST: &str = "blocklist";
/// Most frames that a stack can hold.
pub const MAX_DEPTH: &str = "max_depth";
/// Inlined frames: `per-sample` (each sample's own address), `per-function` (all samples of a function
/// under the first one's chain) or `none`.
pub const INLINE_FRAMES: &str = "inline_frames";
/// What drives the sampling: `tick` (bound to the kernel tick), `high-resolution`.
pub const TIMER: &str = "timer";
/// Whose time the timer counts: `process` or `thread`.
pub const TIMER_SCOPE: &str = "timer_scope";
/// Samples that the sampler knows it lost.
pub const LOST: &str = "lost";
/// The JVM's flag of this name: `true` or `false`.
pub const DEBUG_NON_SAFEPOINTS: &str = "DebugNonSafepoints";
/// The operation or case that ran while the profile was taken, by name.
pub const OPERATION: &str = "operation";
/// Executions of the operation while the profile was taken.
pub const ITERATIONS: &str = "iterations";
/// CPU time of the thread that ran them, in nanoseconds.
pub const THREAD_CPU_NS: &str = "thread_cpu_ns";
/// Begins the fact that holds the build id of a module, in hexadecimal; the module's name follows.
pub const BUILD_ID: &str = "build_id of ";
