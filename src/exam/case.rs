//! The cases: what runs, which frames belong to which part, and which samplers are known to get it wrong.

use super::work::{self, Body};
use crate::crosscheck::diagnose::Mechanism;
use crate::sampler::Sampler;

/// A part of a case with a known share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its name in the scoreboard.
    pub name: &'static str,
    /// The function whose presence on a stack gives the sample to this part, without its path.
    pub function: &'static str,
}

/// What is known about a sampler on a case before it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expectation {
    /// Its shares must be right: an accusation would be false.
    Sound,
    /// It may mislead, by one of these mechanisms. Where it does, it must be accused and one of them named.
    Misleads(Vec<Mechanism>),
    /// Nothing in the process can see it; the reason.
    Invisible(&'static str),
}

/// Work of known shares.
#[derive(Clone)]
pub struct Case {
    /// Its name.
    pub name: &'static str,
    /// What it is about, in one sentence.
    pub about: &'static str,
    /// Its parts.
    pub parts: Vec<Part>,
    /// Whether it means something on an idle machine only.
    pub needs_quiet: bool,
    pub(super) body: Body,
    misleads: fn(Sampler) -> Expectation,
}

impl std::fmt::Debug for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Case").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Case {
    /// What is known about a sampler on this case.
    pub fn expectation(&self, sampler: Sampler) -> Expectation {
        let expected = (self.misleads)(sampler);
        let pprof = matches!(sampler, Sampler::Pprof | Sampler::PprofBlocklist);
        let mut mechanisms = match expected {
            Expectation::Misleads(mechanisms) => mechanisms,
            // That unwinder starts at the return address: leaves are charged to their callers in every case.
            Expectation::Sound if cfg!(feature = "pprof-frame-pointer") && pprof => Vec::new(),
            other => return other,
        };
        if cfg!(feature = "pprof-frame-pointer") && pprof {
            mechanisms.extend([Mechanism::LeafChargedToCaller, Mechanism::BrokenStacks]);
        }
        // Rust keeps no frame pointers unless asked. Where a walk ends at the leaf, what is not seen because it
        // was inlined or jumped from cannot be told from what the walk does not reach.
        if sampler == Sampler::PerfFp {
            mechanisms.push(Mechanism::BrokenStacks);
        }
        Expectation::Misleads(mechanisms)
    }

    /// Whether no sampler may be accused here.
    pub fn is_control(&self) -> bool {
        self.name.starts_with("control")
    }
}

fn part(name: &'static str, function: &'static str) -> Part {
    Part { name, function }
}

/// Every case of this build, controls first.
pub fn all() -> Vec<Case> {
    let mut all = vec![Case {
        name: "control: plain",
        about: "two functions that are not inlined, 30/70",
        parts: vec![part("30", "plain_thirty"), part("70", "plain_seventy")],
        needs_quiet: false,
        body: work::plain,
        misleads: |_| Expectation::Sound,
    }];
    #[cfg(feature = "crypto")]
    all.push(Case {
        name: "control: curves",
        about: "X25519 key agreement and key generation",
        parts: vec![part("dh", "x25519::dh"), part("base", "x25519::base")],
        needs_quiet: false,
        body: work::curves,
        misleads: |sampler| match sampler {
            // Rust keeps no frame pointers unless asked, and these primitives are callers.
            Sampler::PerfFp => Expectation::Misleads(vec![Mechanism::BrokenStacks, Mechanism::LeafChargedToCaller]),
            _ => Expectation::Sound,
        },
    });
    all.extend([
        Case {
            name: "instruction mix",
            about: "time in few slow instructions and in many fast ones",
            parts: vec![part("divides", "divides"), part("adds", "adds")],
            needs_quiet: false,
            body: work::mix,
            misleads: |_| Expectation::Sound,
        },
        Case {
            name: "inlined pair",
            about: "two inline(always) bodies in one function, 30/70",
            parts: vec![part("30", "inlined_thirty"), part("70", "inlined_seventy")],
            needs_quiet: false,
            body: work::inlined,
            misleads: |sampler| match sampler {
                Sampler::Pprof | Sampler::PprofBlocklist | Sampler::PerfFp => {
                    Expectation::Misleads(vec![Mechanism::InlinedMerged])
                }
                _ => Expectation::Sound,
            },
        },
        Case {
            name: "C library",
            about: "copying memory beside computing",
            parts: vec![part("copies", "copies_memory"), part("computes", "computes_beside_copies")],
            needs_quiet: false,
            body: work::memory,
            misleads: |sampler| match sampler {
                Sampler::PprofBlocklist => Expectation::Misleads(vec![Mechanism::Blocklist]),
                Sampler::PerfFp => Expectation::Misleads(vec![Mechanism::BrokenStacks, Mechanism::LeafChargedToCaller]),
                _ => Expectation::Sound,
            },
        },
        Case {
            name: "system calls",
            about: "time in the kernel beside computing",
            parts: vec![part("kernel", "calls_the_kernel"), part("user", "computes_beside_calls")],
            needs_quiet: false,
            body: work::kernel,
            misleads: |sampler| match sampler {
                Sampler::PprofBlocklist => Expectation::Misleads(vec![Mechanism::Blocklist]),
                Sampler::PerfFp => Expectation::Misleads(vec![Mechanism::BrokenStacks, Mechanism::LeafChargedToCaller]),
                _ => Expectation::Sound,
            },
        },
        Case {
            name: "deep recursion",
            about: "roots of 30 and 70 over 400 equal frames",
            parts: vec![part("30", "deep_thirty"), part("70", "deep_seventy")],
            needs_quiet: false,
            body: work::deep,
            misleads: |sampler| match sampler {
                Sampler::Own => Expectation::Sound,
                _ => Expectation::Misleads(vec![Mechanism::Truncated, Mechanism::BrokenStacks]),
            },
        },
        Case {
            name: "tail call",
            about: "a caller that jumps to its callee: all of the time is the caller's total",
            parts: vec![part("caller", "tail_caller")],
            needs_quiet: false,
            body: work::tail,
            misleads: |sampler| match sampler {
                Sampler::Own => Expectation::Invisible("a tail call leaves no trace of the caller on the stack"),
                _ => Expectation::Misleads(vec![Mechanism::TailCall]),
            },
        },
        Case {
            name: "frame pointer in other use",
            about: "a foreign function that uses the frame pointer and calls back: all of the time is the caller's total",
            parts: vec![part("caller", "calls_through_c")],
            needs_quiet: false,
            body: work::clobbered,
            misleads: |sampler| match sampler {
                Sampler::PerfFp => Expectation::Misleads(vec![Mechanism::BrokenStacks]),
                _ => Expectation::Sound,
            },
        },
        Case {
            name: "bursts",
            about: "bursts of work between sleeps, 30/70",
            parts: vec![part("30", "bursts_thirty"), part("70", "bursts_seventy")],
            needs_quiet: false,
            body: work::sleepy,
            misleads: |sampler| match sampler {
                Sampler::Pprof | Sampler::PprofBlocklist => {
                    Expectation::Misleads(vec![Mechanism::Lockstep, Mechanism::RateAboveTick, Mechanism::SamplesLost])
                }
                Sampler::Own => Expectation::Invisible("the CPU time of the sleeping call goes to the code around it"),
                _ => Expectation::Sound,
            },
        },
    ]);
    #[cfg(unix)]
    all.push(Case {
        name: "SIGPROF blocked",
        about: "70 run with SIGPROF blocked",
        parts: vec![part("blocked", "runs_with_sigprof_blocked"), part("unblocked", "runs_unblocked")],
        needs_quiet: false,
        body: work::masked,
        misleads: |sampler| match sampler {
            Sampler::Pprof => Expectation::Misleads(vec![Mechanism::SamplesLost]),
            // The call that unblocks the signal is in libc, so its late samples may be dropped.
            Sampler::PprofBlocklist => Expectation::Misleads(vec![Mechanism::SamplesLost, Mechanism::Blocklist]),
            _ => Expectation::Sound,
        },
    });
    #[cfg(unix)]
    all.push(Case {
        name: "masked thread",
        about: "70 run in a thread with SIGPROF blocked, while another waits for it",
        parts: vec![part("masked", "runs_in_a_masked_thread"), part("other", "runs_beside_a_masked_thread")],
        needs_quiet: false,
        body: work::masked_thread,
        misleads: |sampler| match sampler {
            Sampler::Pprof => Expectation::Misleads(vec![Mechanism::ThreadBias]),
            Sampler::PprofBlocklist => Expectation::Misleads(vec![Mechanism::ThreadBias, Mechanism::Blocklist]),
            _ => Expectation::Sound,
        },
    });
    all.push(Case {
        name: "two threads",
        about: "two threads at the same time, 50/50",
        parts: vec![part("second", "runs_on_the_second_thread"), part("first", "runs_on_the_first_thread")],
        needs_quiet: true,
        body: work::two_threads,
        misleads: |sampler| match sampler {
            Sampler::Pprof | Sampler::PprofBlocklist => Expectation::Misleads(vec![Mechanism::ThreadBias]),
            _ => Expectation::Sound,
        },
    });
    all.push(Case {
        name: "lockstep",
        about: "a phase of half a tick that always begins just after one",
        parts: vec![part("between", "in_step_with_the_tick"), part("at the tick", "waits_for_the_tick")],
        needs_quiet: true,
        body: work::lockstep,
        misleads: |sampler| match sampler {
            Sampler::Pprof | Sampler::PprofBlocklist => Expectation::Misleads(vec![Mechanism::Lockstep]),
            // A regular period of its own slides along the load's by a fraction of it each time.
            Sampler::PerfFp | Sampler::PerfDwarf => Expectation::Misleads(vec![Mechanism::Lockstep]),
            _ => Expectation::Sound,
        },
    });
    all
}
