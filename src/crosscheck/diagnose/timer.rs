//! Mechanisms of the timer: too slow a tick, samples that never arrive, lockstep, one timer for many
//! threads.

use super::{Case, Certainty, Diagnosis, Mechanism, names, shown};
use crate::crosscheck::budget::{BudgetState, FINE};
use crate::profile::{FrameKind, SampleClock, facts};

/// Tick rates that Linux kernels are built with.
const KERNEL_TICKS: [f64; 4] = [100.0, 250.0, 300.0, 1000.0];

/// Asked for more samples a second than the kernel tick that drives the timer can give.
pub(super) fn rate_above_tick(case: &Case) -> Option<Diagnosis> {
    let (requested, delivered) = (case.budget.requested_hz?, case.budget.delivered_hz?);
    let (tick, certainty) = binding_tick(case)?;
    Some(Diagnosis {
        mechanism: Mechanism::RateAboveTick,
        certainty,
        message: format!(
            "asked {requested:.0} samples a second, got {delivered:.0}: the timer is bound to the kernel tick, so \
             times read from the number of samples are {:.2} of the truth",
            delivered / requested
        ),
        evidence: vec![format!("kernel tick {tick:.0} Hz"), format!("delivered {delivered:.0} Hz of CPU time")],
        remedy: format!("use --sampler own, or ask for at most {tick:.0}"),
        primitives: Vec::new(),
    })
}

/// The tick that holds the sampler back, and how sure that is.
fn binding_tick(case: &Case) -> Option<(f64, Certainty)> {
    let (requested, delivered) = (case.budget.requested_hz?, case.budget.delivered_hz?);
    let near = |tick: f64, tolerance: f64| (delivered / tick - 1.0).abs() < tolerance;
    let bound =
        |tick: f64| case.budget.state == BudgetState::Low && requested > tick * FINE.1 && delivered < tick * 1.15;
    match case.tick() {
        Some(tick) if !bound(tick) => None,
        Some(tick) if near(tick, 0.15) || case.fact(facts::TIMER) == Some("tick") => Some((tick, Certainty::Shown)),
        Some(_) => None,
        None => {
            let tick = KERNEL_TICKS.into_iter().find(|tick| bound(*tick) && near(*tick, 0.05))?;
            Some((tick, Certainty::Fits))
        }
    }
}

/// The part of the samples that the timer could have given and that are missing.
pub(super) fn missing(case: &Case) -> Option<f64> {
    let (requested, delivered) = (case.budget.requested_hz?, case.budget.delivered_hz?);
    let possible = binding_tick(case).map_or(requested, |(tick, _)| tick.min(requested));
    let missing = 1.0 - delivered / possible;
    (case.budget.state == BudgetState::Low && missing > 1.0 - FINE.0).then_some(missing)
}

/// A list of library paths whose samples the sampler throws away.
pub(super) fn blocklist(case: &Case) -> Option<Diagnosis> {
    let list = case.fact(facts::BLOCKLIST).filter(|list| !list.trim().is_empty())?;
    let short = case.short();
    let missing = missing(case);
    if missing.is_none() && short.is_empty() {
        return None;
    }
    let mut evidence = vec![format!("blocklist: {list}")];
    evidence
        .extend(missing.map(|part| format!("{:.0} % of the samples that the timer gives are missing", part * 100.0)));
    evidence.extend(short.iter().map(|(_, row, reading)| shown(row, reading)));
    Some(Diagnosis {
        mechanism: Mechanism::Blocklist,
        certainty: if missing.is_some() { Certainty::Shown } else { Certainty::Fits },
        message: "samples in libraries whose path contains a blocklisted word are dropped, and every other share \
                  grows by what they held"
            .into(),
        evidence,
        remedy: "take the blocklist out, or use --sampler own, which drops nothing".into(),
        primitives: names(short.iter().map(|(_, row, _)| *row)),
    })
}

/// The weight in the call that unblocks signals, which is hardly ever where time goes: what was sampled
/// there ran before it, with the signal blocked.
pub(super) fn unblocking(case: &Case) -> Option<f64> {
    let unblocks = |name: &str| name.contains("sigmask") || name.contains("sigprocmask") || name == "[signals blocked]";
    let part = case.weight_anywhere(|stack| case.frames(stack).next().is_some_and(|leaf| unblocks(&leaf.function)));
    (part > case.margin && case.accused().next().is_some()).then_some(part)
}

/// Samples that are missing without a tick or a blocklist to explain it.
pub(super) fn samples_lost(case: &Case) -> Option<Diagnosis> {
    let said: u64 = case.fact(facts::LOST).and_then(|text| text.parse().ok()).unwrap_or(0)
        + case.profile.provenance.events.iter().filter(|(name, _)| name.contains("LOST")).map(|(_, n)| n).sum::<u64>();
    let delivered = case.budget.delivered.unwrap_or(0.0);
    let counted = said as f64 > case.margin * (delivered + said as f64);
    let missing = missing(case).filter(|_| blocklist(case).is_none());
    let masked = unblocking(case);
    if !counted && missing.is_none() && masked.is_none() {
        return None;
    }
    let mut evidence = Vec::new();
    evidence.extend(counted.then(|| format!("the sampler counts {said} lost samples beside {delivered:.0} kept")));
    evidence.extend(missing.map(|part| format!("{:.0} % of the expected samples are missing", part * 100.0)));
    evidence.extend(masked.map(|part| {
        format!(
            "{:.0} % of the weight is in the call that changes the signal mask: signals were blocked before it",
            part * 100.0
        )
    }));
    Some(Diagnosis {
        mechanism: Mechanism::SamplesLost,
        certainty: if counted || masked.is_some() { Certainty::Shown } else { Certainty::Fits },
        message: "samples are missing, and what ran while they were is not in any share".into(),
        evidence,
        remedy: if case.profile.provenance.format == "own" {
            "its shares are weighted by CPU time and stand; take a quieter machine or a lower rate where their width \
             matters"
                .into()
        } else {
            "look for code that blocks the signal, a lock held by the unwinder, or a full buffer; use --sampler own, \
             which weights each sample by the CPU time since the last"
                .into()
        },
        primitives: names(case.short().iter().map(|(_, row, _)| *row)),
    })
}

/// Sampling at a regular step that falls in with the operation's own period.
pub(super) fn lockstep(case: &Case) -> Option<Diagnosis> {
    if case.accused().next().is_none() || case.fact(facts::TIMER) == Some("jittered") {
        return None;
    }
    let step = regular_step(case)?;
    let mut evidence = vec![format!("samples come whole steps of {:.2} ms apart", step / 1e6)];
    let period = case.explanation.time_ns.map(|time| time.point).filter(|period| in_step(step, *period));
    evidence.extend(
        period.map(|period| format!("the operation takes {:.2} ms, {:.2} of that step", period / 1e6, period / step)),
    );
    // A share of nothing or all is one run, whatever the reason.
    let partly = case.accused().filter(|(_, reading)| (0.02..0.98).contains(&reading.sampled.point));
    let worst = partly.filter_map(|(row, reading)| Some((row, run_length(case, reading)?)));
    let runs = worst.filter(|(_, runs)| *runs > 8.0).max_by(|a, b| a.1.total_cmp(&b.1));
    evidence.extend(runs.map(|(row, runs)| {
        format!("{} comes in runs: its samples are worth one in {runs:.0} independent ones", row.primitive)
    }));
    let certainty = match (period, runs) {
        (None, None) => return None,
        (Some(_), Some(_)) => Certainty::Shown,
        _ => Certainty::Fits,
    };
    Some(Diagnosis {
        mechanism: Mechanism::Lockstep,
        certainty,
        message: "samples fall in step with a periodic load, so that the same phases are met again and again".into(),
        evidence,
        remedy:
            "sample at a rate that is no multiple of the load's (99, 997), or with a jittered period (--sampler own)"
                .into(),
        primitives: names(case.accused().map(|(row, _)| row)),
    })
}

/// The step in nanoseconds of which the gaps between samples, nine tenths of them at least, are multiples.
fn regular_step(case: &Case) -> Option<f64> {
    let times: Option<Vec<u64>> = case.attribution.draws.iter().map(|draw| draw.time_ns).collect();
    let Some(mut times) = times.filter(|times| times.len() > 50) else {
        // Without times, a timer that is said to be bound to the tick fires on ticks, however many samples were kept.
        let hz = case.tick().or(case.budget.delivered_hz).filter(|_| case.fact(facts::TIMER) == Some("tick"))?;
        return Some(1e9 / hz);
    };
    times.sort_unstable();
    let gaps: Vec<f64> = times.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
    let step = crate::stats::median(&gaps).filter(|step| *step > 0.0)?;
    let regular = gaps.iter().filter(|gap| ((*gap / step) - (*gap / step).round()).abs() < 0.1).count();
    (regular * 10 >= gaps.len() * 9).then_some(step)
}

/// Whether a period of the load returns to the same phase within four samples. A load much shorter than
/// the step drifts through all its phases anyway.
fn in_step(step: f64, period: f64) -> bool {
    let turns = step / period;
    turns < 4.5
        && (1..=4).any(|q| {
            let advance = turns * f64::from(q);
            advance > 0.5 && (advance - advance.round()).abs() < 0.02
        })
}

/// How many samples go for one independent one.
fn run_length(case: &Case, reading: &crate::crosscheck::report::Reading) -> Option<f64> {
    let timed = case.attribution.draws.iter().all(|draw| draw.time_ns.is_some());
    Some(case.attribution.draws.len() as f64 / reading.effective_samples.filter(|_| timed)?)
}

/// One timer for the whole process, and several threads.
pub(super) fn thread_bias(case: &Case) -> Option<Diagnosis> {
    let process_wide = match case.fact(facts::TIMER_SCOPE) {
        Some(scope) => scope == "process",
        None => case.made_by(&["pprof-rs"]),
    };
    let threads = case.profile.threads.len();
    let waiting = waiting(case);
    if !process_wide || (threads < 2 && waiting.is_none()) || case.accused().next().is_none() {
        return None;
    }
    let mut evidence = Vec::new();
    evidence.extend((threads > 1).then(|| format!("{threads} threads were sampled by one process-wide timer")));
    evidence.extend(waiting.map(|part| {
        format!(
            "{:.0} % of the samples of CPU time are in a call that waits: the time was spent by another thread",
            part * 100.0
        )
    }));
    Some(Diagnosis {
        mechanism: Mechanism::ThreadBias,
        certainty: if waiting.is_some() { Certainty::Shown } else { Certainty::Fits },
        message: "one timer counts the CPU time of all threads and interrupts whichever the kernel picks, which \
                  favours some"
            .into(),
        evidence,
        remedy: "use a timer per thread (--sampler own, perf)".into(),
        primitives: names(case.accused().map(|(row, _)| row)),
    })
}

/// The part of a profile of CPU time whose leaf is in a call that waits and uses none, where there is any to
/// speak of.
pub(super) fn waiting(case: &Case) -> Option<f64> {
    const WAITS: [&str; 6] =
        ["futex_wait", "pthread_cond_wait", "pthread_cond_timedwait", "epoll_wait", "nanosleep", "sem_wait"];
    if case.profile.provenance.clock != SampleClock::Cpu {
        return None;
    }
    let waits = |stack| {
        let mut leaves = case.frames(stack).filter(|frame| frame.kind != FrameKind::Kernel).take(3);
        leaves.any(|frame| WAITS.iter().any(|call| frame.function.contains(call)))
    };
    Some(case.weight_anywhere(waits)).filter(|part| *part > case.margin)
}
