//! The machine and the build, as far as they can be read.

use crate::record::{Environment, Tool};
use crate::unit::Bytes;

/// This crate as the writer of a record.
pub fn tool() -> Tool {
    Tool {
        name: "countercheck".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        commit: option_env!("COUNTERCHECK_COMMIT").map(str::to_owned),
    }
}

/// Reads the environment. Takes a few milliseconds; `steal` is left open, it belongs to a run.
pub fn capture() -> Environment {
    let mut environment = Environment {
        platform: format!("{}-{}", std::env::consts::OS, std::env::consts::ARCH),
        cores: std::thread::available_parallelism().ok().and_then(|cores| u32::try_from(cores.get()).ok()),
        compiler: known(env!("COUNTERCHECK_COMPILER")),
        optimisation: match env!("COUNTERCHECK_OPT_LEVEL") {
            "0" => "unoptimised".to_owned(),
            level => format!("opt-level {level}"),
        },
        flags: known(env!("COUNTERCHECK_FLAGS")),
        ..Environment::default()
    };
    if cfg!(debug_assertions) {
        environment.facts.insert("debug_assertions".to_owned(), "on".to_owned());
    }
    #[cfg(target_os = "linux")]
    linux::read(&mut environment);
    environment
}

fn known(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

/// CPU time of the whole machine: what the hypervisor took, and all of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MachineTime {
    steal: u64,
    total: u64,
}

impl MachineTime {
    /// The counters now; `None` where the system keeps none.
    pub fn now() -> Option<Self> {
        #[cfg(target_os = "linux")]
        return linux::machine_time(&std::fs::read_to_string("/proc/stat").ok()?);
        #[cfg(not(target_os = "linux"))]
        None
    }

    /// The share of CPU time stolen since then.
    pub fn steal_since(self, then: Self) -> Option<f64> {
        let total = self.total.checked_sub(then.total).filter(|total| *total > 0)?;
        Some(self.steal.checked_sub(then.steal)? as f64 / total as f64)
    }
}

/// What `/proc` and `/sys` tell. Everything may be missing: in containers much is.
#[cfg(target_os = "linux")]
pub(super) mod linux {
    use std::fs;

    use super::{Environment, MachineTime};

    /// CPU features that implementations choose by.
    const FEATURES: [&str; 22] = [
        "sse2",
        "ssse3",
        "sse4_1",
        "avx",
        "avx2",
        "bmi1",
        "bmi2",
        "adx",
        "aes",
        "pclmulqdq",
        "sha_ni",
        "vaes",
        "vpclmulqdq",
        "avx512f",
        "avx512ifma",
        "asimd",
        "neon",
        "pmull",
        "sha1",
        "sha2",
        "sha3",
        "sha512",
    ];

    pub(super) fn read(environment: &mut Environment) {
        let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let flags: Vec<&str> = field(&cpu, "flags").or(field(&cpu, "Features")).unwrap_or("").split(' ').collect();
        environment.cpu_model = field(&cpu, "model name").map(str::to_owned);
        environment.cpu_features =
            FEATURES.iter().filter(|name| flags.contains(name)).map(|name| (*name).to_owned()).collect();
        environment.kernel = line("/proc/sys/kernel/osrelease");
        environment.tick_hz = tick_hz();
        environment.governor = line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
        environment.turbo = turbo();
        environment.hypervisor = hypervisor(flags.contains(&"hypervisor"));
        environment.load = line("/proc/loadavg").and_then(|l| l.split(' ').next()?.parse().ok());
        let facts = [
            ("cpu_mhz", field(&cpu, "cpu MHz").map(str::to_owned)),
            ("microcode", field(&cpu, "microcode").map(str::to_owned)),
            ("cache_size", field(&cpu, "cache size").map(str::to_owned)),
            ("clock_source", line("/sys/devices/system/clocksource/clocksource0/current_clocksource")),
            ("aslr", line("/proc/sys/kernel/randomize_va_space")),
            ("transparent_huge_pages", line("/sys/kernel/mm/transparent_hugepage/enabled")),
            ("smt", line("/sys/devices/system/cpu/smt/active")),
        ];
        environment.facts.extend(facts.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
    }

    /// The first line of a file.
    pub(in super::super) fn line(path: &str) -> Option<String> {
        Some(fs::read_to_string(path).ok()?.lines().next()?.trim().to_owned()).filter(|line| !line.is_empty())
    }

    fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
        text.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            (key.trim() == name).then(|| value.trim())
        })
    }

    /// The coarse clock advances once a tick.
    fn tick_hz() -> Option<u32> {
        let mut step = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: `step` is a valid timespec for the call to write to.
        let status = unsafe { libc::clock_getres(libc::CLOCK_MONOTONIC_COARSE, &raw mut step) };
        let ns = step.tv_nsec;
        (status == 0 && step.tv_sec == 0 && ns > 0).then(|| ((1e9 / ns as f64).round()) as u32)
    }

    fn turbo() -> Option<bool> {
        let intel = line("/sys/devices/system/cpu/intel_pstate/no_turbo").map(|off| off == "0");
        intel.or_else(|| line("/sys/devices/system/cpu/cpufreq/boost").map(|on| on == "1"))
    }

    fn hypervisor(flagged: bool) -> Option<String> {
        let named = line("/sys/hypervisor/type").or_else(|| {
            let vendor = line("/sys/class/dmi/id/sys_vendor")?;
            let product = line("/sys/class/dmi/id/product_name").unwrap_or_default();
            Some(format!("{vendor} {product}").trim().to_owned())
        });
        flagged.then(|| named.unwrap_or_else(|| "unnamed".to_owned()))
    }

    /// The first line of `/proc/stat`: user, nice, system, idle, iowait, irq, softirq, steal, ...
    pub(super) fn machine_time(stat: &str) -> Option<MachineTime> {
        let fields = stat.lines().next()?.strip_prefix("cpu ")?;
        let times: Vec<u64> = fields.split_whitespace().take(8).map_while(|field| field.parse().ok()).collect();
        Some(MachineTime { steal: *times.get(7)?, total: times.iter().sum() })
    }
}

/// The most memory that this process has had resident, where the system tells.
pub fn peak_memory() -> Option<Bytes> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let kibibytes = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?.trim().strip_suffix("kB")?;
    Some(Bytes(kibibytes.trim().parse::<f64>().ok()? * 1024.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_build_and_the_platform_are_known() {
        let environment = capture();
        assert!(environment.platform.contains('-'));
        assert!(environment.compiler.is_some_and(|compiler| compiler.starts_with("rustc ")));
        assert!(environment.optimisation.starts_with("opt-level") || environment.optimisation == "unoptimised");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn steal_is_its_share_of_all_time() {
        let then = linux::machine_time("cpu  100 0 100 700 0 0 0 100 0 0\ncpu0 1 2").unwrap();
        let now = linux::machine_time("cpu  200 0 100 1400 0 0 0 300 0 0\n").unwrap();
        assert_eq!(now.steal_since(then), Some(0.2));
        assert_eq!(then.steal_since(then), None);
        assert_eq!(linux::machine_time("cpu  1 2 3"), None);
        assert_eq!(linux::machine_time(""), None);
    }
}
