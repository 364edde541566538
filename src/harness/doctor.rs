//! What about this machine helps or hinders measuring, each with a remedy.

use serde::Serialize;

use super::{alloc, calibrate, environment};

/// One thing looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What was looked at.
    pub what: String,
    /// What was found.
    pub found: String,
    /// Whether that is good.
    pub state: State,
    /// What to do about it; empty where nothing needs doing.
    pub remedy: String,
}

/// Whether a finding is good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Good for measuring.
    Good,
    /// Makes figures noisier or less comparable.
    Poor,
    /// Could not be read.
    Unknown,
}

/// Looks at everything.
pub fn examine() -> Vec<Finding> {
    let clock = calibrate::calibrate();
    let environment = environment::capture();
    let cores = environment.cores.unwrap_or(1);
    let mut findings = vec![
        finding(
            "thread CPU clock",
            format!("step {} ns, an empty window reads {} ns", clock.step_ns, clock.empty_ns),
            State::from_good(super::clock::THREAD_CPU_CLOCK && clock.step_ns < 10_000),
            "figures are wall time or coarse here: batches are made longer, and rows say clock-coarse",
        ),
        finding(
            "wall clock",
            format!("step {} ns", clock.wall_step_ns),
            State::from_good(clock.wall_step_ns < 10_000),
            "a coarse wall clock hides short interruptions",
        ),
        finding(
            "build",
            environment.optimisation.clone(),
            State::from_good(environment.optimisation != "unoptimised"),
            "build with opt-level 3; the figures of an unoptimised build are of another program",
        ),
        finding(
            "counting allocator",
            if alloc::is_installed() { "installed" } else { "not installed" }.to_owned(),
            State::from_good(alloc::is_installed()),
            "declare countercheck::harness::alloc::Counting as the global allocator to see allocations",
        ),
        finding(
            "load",
            environment.load.map_or("not known".to_owned(), |load| format!("{load:.2} on {cores} cores")),
            environment.load.map_or(State::Unknown, |load| State::from_good(load < 0.5 * f64::from(cores))),
            "stop other work: shared caches and frequency suffer even where CPU time is measured",
        ),
    ];
    #[cfg(target_os = "linux")]
    findings.extend(linux(&environment));
    #[cfg(not(target_os = "linux"))]
    findings.push(finding(
        "system",
        environment.platform,
        State::Unknown,
        "governor, turbo, steal, ASLR and perf are looked at on Linux only",
    ));
    findings
}

impl State {
    fn from_good(good: bool) -> Self {
        if good { Self::Good } else { Self::Poor }
    }
}

fn finding(what: &str, found: String, state: State, remedy: &str) -> Finding {
    let remedy = if state == State::Good { String::new() } else { remedy.to_owned() };
    Finding { what: what.to_owned(), found, state, remedy }
}

#[cfg(target_os = "linux")]
fn linux(environment: &crate::record::Environment) -> Vec<Finding> {
    use super::environment::linux::line;

    fn unless_known(found: Option<String>) -> String {
        found.unwrap_or_else(|| "not known".to_owned())
    }
    let governor = environment.governor.clone();
    let turbo = environment.turbo;
    let aslr = line("/proc/sys/kernel/randomize_va_space");
    let paranoid = line("/proc/sys/kernel/perf_event_paranoid");
    let permitted = paranoid.as_ref().and_then(|level| level.parse::<i32>().ok());
    let has_pmu = ["cpu", "cpu_core", "armv8_pmuv3_0"]
        .iter()
        .any(|name| std::path::Path::new(&format!("/sys/bus/event_source/devices/{name}")).exists());
    let steal = steal_over(std::time::Duration::from_millis(300));
    vec![
        finding(
            "tick rate",
            unless_known(environment.tick_hz.map(|hz| format!("{hz} Hz"))),
            environment.tick_hz.map_or(State::Unknown, |_| State::Good),
            "samplers driven by ITIMER_PROF deliver no more than one sample a tick",
        ),
        finding(
            "frequency governor",
            unless_known(governor.clone()),
            governor.map_or(State::Unknown, |name| State::from_good(name == "performance")),
            "where the machine is yours: cpupower frequency-set -g performance",
        ),
        finding(
            "turbo",
            turbo.map_or("not known".to_owned(), |on| if on { "on" } else { "off" }.to_owned()),
            turbo.map_or(State::Unknown, |on| State::from_good(!on)),
            "the frequency depends on heat and neighbours; switch it off in intel_pstate/no_turbo or cpufreq/boost",
        ),
        finding(
            "hypervisor",
            environment.hypervisor.clone().unwrap_or_else(|| "none seen".to_owned()),
            State::from_good(environment.hypervisor.is_none()),
            "neighbours share caches and turbo, and steal time: compare only runs made close together",
        ),
        finding(
            "steal",
            steal.map_or("not known".to_owned(), |share| format!("{:.1} % over 0.3 s", share * 100.0)),
            steal.map_or(State::Unknown, |share| State::from_good(share < 0.01)),
            "the host gives this machine's time to others: measure when they sleep",
        ),
        finding(
            "address randomisation",
            unless_known(aslr.clone()),
            aslr.map_or(State::Unknown, |level| State::from_good(level == "2")),
            "fresh processes rely on it to draw new memory layouts: sysctl kernel.randomize_va_space=2",
        ),
        finding(
            "perf permission",
            unless_known(paranoid.map(|level| format!("perf_event_paranoid {level}"))),
            permitted.map_or(State::Unknown, |level| State::from_good(level <= 1 || is_root())),
            "sysctl kernel.perf_event_paranoid=1 lets perf sample your own processes",
        ),
        finding(
            "performance counters",
            if has_pmu { "present" } else { "none" }.to_owned(),
            State::from_good(has_pmu),
            "perf falls back to the cpu-clock timer: samples land where interrupts are let through",
        ),
    ]
}

#[cfg(target_os = "linux")]
fn is_root() -> bool {
    // SAFETY: the call takes nothing and cannot fail.
    unsafe { libc::geteuid() == 0 }
}

#[cfg(target_os = "linux")]
fn steal_over(time: std::time::Duration) -> Option<f64> {
    let then = environment::MachineTime::now()?;
    std::thread::sleep(time);
    environment::MachineTime::now()?.steal_since(then)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_poor_or_unknown_has_a_remedy() {
        let findings = examine();
        assert!(findings.len() >= 6);
        for finding in findings {
            assert_eq!(finding.remedy.is_empty(), finding.state == State::Good, "{finding:?}");
            assert!(!finding.found.is_empty());
        }
    }
}
