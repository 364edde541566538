//! Linux perf as a child process, attached to this one.
//!
//! perf runs all the time; its samples carry the monotonic clock, and those outside of the windows are dropped.

use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use super::window::{Gate, Windows};
use super::{Request, Sampler, SamplerError, Taken};
use crate::profile::{Builder, Frame, FrameKind, SampleClock, StackSample, WeightType, bare, facts};

/// Bytes of stack that perf copies with each sample for DWARF unwinding.
const STACK_BYTES: u32 = 16384;

pub(super) fn available(sampler: Sampler) -> Result<(), SamplerError> {
    let output = match Command::new("perf").arg("--version").output() {
        Ok(output) if output.status.success() => output,
        _ => {
            let reason = "there is no perf on the PATH".to_owned();
            let remedy = "install it (Debian: linux-perf) or choose another sampler".to_owned();
            return Err(SamplerError::Unavailable { sampler, reason, remedy });
        }
    };
    let paranoid = fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap_or_default();
    // SAFETY: geteuid has no preconditions.
    let root = unsafe { libc::geteuid() } == 0;
    if !root && paranoid.trim().parse::<i32>().is_ok_and(|level| level > 2) {
        let reason = format!("kernel.perf_event_paranoid is {}", paranoid.trim());
        let remedy = "set it to 2 or lower (sysctl kernel.perf_event_paranoid=2) or run as root".to_owned();
        return Err(SamplerError::Unavailable { sampler, reason, remedy });
    }
    drop(output);
    Ok(())
}

pub(super) fn take(
    request: &Request,
    run: impl FnOnce(&mut dyn Gate) -> Result<Windows, SamplerError>,
) -> Result<(Taken, Windows), SamplerError> {
    let sampler = request.sampler;
    let failed = |message: String| SamplerError::Failed { sampler, message };
    let folder = tempfile::tempdir().map_err(|error| failed(format!("cannot make a temporary folder: {error}")))?;
    let data = folder.path().join("perf.data");
    let mut recorder = Recorder::start(request, &data)?;
    let windows = run(&mut super::window::Ungated);
    let stopped = recorder.stop();
    let windows = windows?;
    stopped.map_err(failed)?;
    let script = script(sampler, &data)?;
    let read = read_script(sampler, &script, &windows)?;
    Ok((read, windows))
}

/// A running `perf record`, which is ended when this is dropped.
struct Recorder {
    child: Child,
}

impl Recorder {
    fn start(request: &Request, data: &Path) -> Result<Self, SamplerError> {
        let sampler = request.sampler;
        let unavailable = |reason: String| {
            SamplerError::Unavailable {
            sampler,
            reason,
            remedy: "allow perf_event_open (kernel.perf_event_paranoid, container seccomp profile) or choose another sampler".to_owned(),
        }
        };
        let control = data.with_file_name("control");
        let acknowledged = data.with_file_name("acknowledged");
        for fifo in [&control, &acknowledged] {
            make_fifo(fifo).map_err(|error| unavailable(format!("cannot make a pipe for perf: {error}")))?;
        }
        let call_graph = match sampler {
            Sampler::PerfDwarf => format!("dwarf,{STACK_BYTES}"),
            _ => "fp".to_owned(),
        };
        let mut child = Command::new("perf")
            .args(["record", "--quiet", "--event", "cpu-clock", "--clockid", "CLOCK_MONOTONIC", "--delay", "-1"])
            .args(["--freq", &request.hz.to_string(), "--call-graph", &call_graph])
            .args(["--pid", &std::process::id().to_string()])
            .arg(format!("--control=fifo:{},{}", control.display(), acknowledged.display()))
            .arg("--output")
            .arg(data)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| unavailable(format!("perf does not start: {error}")))?;
        if let Err(message) = enable(&mut child, &control, &acknowledged) {
            child.kill().ok();
            let mut said = String::new();
            if let Some(stderr) = child.stderr.as_mut() {
                stderr.read_to_string(&mut said).ok();
            }
            child.wait().ok();
            return Err(unavailable(format!("perf record failed: {message} {}", said.trim()).trim().to_owned()));
        }
        Ok(Self { child })
    }

    fn stop(&mut self) -> Result<(), String> {
        // SAFETY: the child has not been waited for, so its id is still its own.
        unsafe { libc::kill(self.child.id() as libc::pid_t, libc::SIGINT) };
        let status = self.child.wait().map_err(|error| format!("perf record cannot be waited for: {error}"))?;
        let mut said = String::new();
        if let Some(stderr) = self.child.stderr.as_mut() {
            stderr.read_to_string(&mut said).ok();
        }
        // perf ends itself by the signal again once it has written its file.
        use std::os::unix::process::ExitStatusExt;
        if status.success() || status.signal() == Some(libc::SIGINT) {
            Ok(())
        } else {
            Err(format!("perf record ended with {status}: {}", said.trim()))
        }
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            self.child.kill().ok();
            self.child.wait().ok();
        }
    }
}

fn make_fifo(path: &Path) -> std::io::Result<()> {
    use std::os::unix::ffi::OsStrExt;
    let path = std::ffi::CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: `path` is a terminated string.
    if unsafe { libc::mkfifo(path.as_ptr(), 0o600) } == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

/// Asks perf to start sampling and waits until it says that it does, so that the first window is sampled whole.
fn enable(child: &mut Child, control: &Path, acknowledged: &Path) -> Result<(), String> {
    use std::os::unix::fs::OpenOptionsExt;
    // Opened for reading and writing without blocking: neither end waits for perf to open its own.
    let open = |path: &Path| {
        fs::OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NONBLOCK)
            .open(path)
            .map_err(|e| e.to_string())
    };
    let (mut control, mut acknowledged) = (open(control)?, open(acknowledged)?);
    control.write_all(b"enable\n").map_err(|error| error.to_string())?;
    let deadline = Instant::now() + Duration::from_secs(10);
    let mut answer = [0; 8];
    while Instant::now() < deadline {
        if acknowledged.read(&mut answer).is_ok_and(|length| answer[..length].starts_with(b"ack")) {
            return Ok(());
        }
        if let Ok(Some(status)) = child.try_wait() {
            return Err(format!("it ended with {status}."));
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    Err("it did not start within 10 seconds.".to_owned())
}

fn script(sampler: Sampler, data: &Path) -> Result<String, SamplerError> {
    let failed = |message: String| SamplerError::Failed { sampler, message };
    let output: Output = Command::new("perf")
        .args(["script", "--ns", "--no-demangle", "--show-lost-events", "--fields", "tid,time,period,ip,sym,dso"])
        .arg("--input")
        .arg(data)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| failed(format!("perf script does not start: {error}")))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(failed(format!("perf script ended with {}: {said}", output.status)));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Reads `perf script` text with the fields asked for above. A sample is `tid seconds.nanoseconds: period`,
/// then its frames, leaf first, as `address symbol (object)`, then an empty line.
fn read_script(sampler: Sampler, text: &str, windows: &Windows) -> Result<Taken, SamplerError> {
    let mut builder = Builder::new(vec![
        WeightType { name: "cpu-clock".to_owned(), unit: "nanoseconds".to_owned() },
        WeightType { name: "samples".to_owned(), unit: "count".to_owned() },
    ]);
    let origin = windows.intervals.first().map_or(0, |interval| interval.0);
    let (mut outside, mut lost) = (0, 0);
    let mut lines = text.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        if line.trim().is_empty() {
            continue;
        }
        if line.contains("PERF_RECORD_LOST") {
            lost += line.rsplit(' ').next().and_then(|count| count.parse::<u64>().ok()).unwrap_or(1);
            continue;
        }
        let header = header(line).ok_or_else(|| SamplerError::Failed {
            sampler,
            message: format!("perf script, line {}: expected `tid time: period`, found {line:?}", number + 1),
        })?;
        let stack = lines.by_ref().map(|(_, line)| line).take_while(|line| !line.trim().is_empty());
        let frames = physical_last(stack.filter_map(frame).collect());
        if !windows.contain(header.time_ns) {
            outside += 1;
            continue;
        }
        let ids: Vec<_> = frames.into_iter().rev().map(|frame| builder.frame(frame)).collect();
        let stack = builder.stack_of(ids);
        let thread = builder.thread(&header.thread);
        builder.sample(StackSample {
            stack,
            thread: Some(thread),
            time_ns: Some(header.time_ns.saturating_sub(origin)),
            count: Some(1),
            weights: vec![header.period, 1.0],
        });
    }
    if lost > 0 {
        builder.note("samples-lost", "perf lost samples because its buffer was full", lost);
    }
    let provenance = builder.provenance();
    provenance.producer = Some("perf".to_owned());
    provenance.clock = SampleClock::Cpu;
    let (unwinder, inline) = match sampler {
        Sampler::PerfDwarf => ("dwarf", "per-sample"),
        _ => ("frame-pointer", "none"),
    };
    let facts = [
        (facts::UNWINDER, unwinder),
        (facts::INLINE_FRAMES, inline),
        (facts::WALK_START, "instruction"),
        (facts::MAX_DEPTH, "127"),
        (facts::TIMER, "high-resolution"),
        (facts::TIMER_SCOPE, "thread"),
        (facts::LOST, &lost.to_string()),
        ("lines", "not asked"),
    ];
    provenance.facts.extend(facts.map(|(name, value)| (name.to_owned(), value.to_owned())));
    Ok(Taken { profile: builder.finish(), by_own_address: None, outside, warnings: Vec::new() })
}

/// perf prints an address's physical function before the functions inlined into it, and then once more by
/// its name in debug information, where that is not the symbol's; or by that name alone, as if it were inlined
/// too. Inlined functions belong before theirs.
fn physical_last(lines: Vec<Frame>) -> Vec<Frame> {
    let mut frames: Vec<Frame> = Vec::with_capacity(lines.len());
    let mut lines = lines.into_iter().peekable();
    while let Some(first) = lines.next() {
        let address = first.address;
        let mut group: Vec<Frame> = Vec::new();
        let mut physical = None;
        let mut next = Some(first);
        while let Some(frame) = next {
            let frame = Frame { address: None, ..frame };
            if frame.kind == FrameKind::Inlined {
                group.push(frame)
            } else {
                physical = Some(frame)
            }
            // The next physical function at the same address is the next call of a recursion.
            next = lines
                .next_if(|next| next.address == address && (next.kind == FrameKind::Inlined || physical.is_none()));
        }
        match &physical {
            Some(physical) => drop(group.pop_if(|last| bare(&last.function) == bare(&physical.function))),
            None => group.last_mut().into_iter().for_each(|last| last.kind = FrameKind::Plain),
        }
        frames.append(&mut group);
        frames.extend(physical);
    }
    frames
}

struct Header {
    thread: String,
    time_ns: u64,
    period: f64,
}

fn header(line: &str) -> Option<Header> {
    let (before, period) = line.split_once(": ")?;
    let mut words = before.split_whitespace();
    let (thread, time) = (words.next()?, words.next()?);
    let (seconds, nanos) = time.split_once('.')?;
    let time_ns = seconds.parse::<u64>().ok()? * 1_000_000_000 + format!("{nanos:0<9}").parse::<u64>().ok()?;
    Some(Header { thread: thread.to_owned(), time_ns, period: period.trim().parse().ok()? })
}

fn frame(line: &str) -> Option<Frame> {
    let (address, rest) = line.trim().split_once(' ')?;
    let address = u64::from_str_radix(address, 16).ok()?;
    // A mangled symbol has no spaces, a path may have any character.
    let (symbol, object) = match (rest.strip_suffix(" (inlined)"), rest.split_once(" (")) {
        (Some(symbol), _) => (symbol, "inlined"),
        (None, Some((symbol, object))) => (symbol, object.strip_suffix(')').unwrap_or(object)),
        (None, None) => (rest, ""),
    };
    let symbol = symbol.trim();
    let inlined = object == "inlined";
    let kernel = object.starts_with("[kernel") || object.ends_with(".ko");
    let function = match symbol {
        "[unknown]" | "" => format!("0x{address:x}"),
        _ => format!("{:#}", rustc_demangle::demangle(symbol)),
    };
    Some(Frame {
        function,
        module: (!inlined && !object.is_empty()).then(|| object.to_owned()),
        file: None,
        line: None,
        address: Some(address),
        kind: match (inlined, kernel) {
            (true, _) => FrameKind::Inlined,
            (_, true) => FrameKind::Kernel,
            _ => FrameKind::Plain,
        },
    })
}

impl Windows {
    fn contain(&self, time_ns: u64) -> bool {
        let after = self.intervals.partition_point(|interval| interval.0 <= time_ns);
        after > 0 && time_ns <= self.intervals[after - 1].1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCRIPT: &str = " 2156     1.000000011:    1003009 \n\
        \t            1155 _ZN4core3num7add_one17h0123456789abcdefE (inlined)\n\
        \t            1155 work (/tmp/a (b)/t)\n\
        \t            1155 helper (inlined)\n\
        \t            1155 work (inlined)\n\
        \t            1070 [unknown] (/usr/lib/libc.so.6)\n\
        \n\
         2156     9.000000000:    1003009 \n\
        \t            1155 work (/tmp/t)\n";

    fn windows() -> Windows {
        Windows { intervals: vec![(1_000_000_000, 2_000_000_000)], ..Windows::default() }
    }

    #[test]
    fn frames_keep_their_order_and_inlined_ones_their_kind() {
        let taken = read_script(Sampler::PerfDwarf, SCRIPT, &windows()).unwrap();
        assert_eq!((taken.profile.samples.len(), taken.outside), (1, 1));
        let stack = taken.profile.root_to_leaf(taken.profile.samples[0].stack.unwrap());
        let frames: Vec<_> = stack.iter().map(|id| taken.profile.frame(*id)).collect();
        assert_eq!(
            frames.iter().map(|f| f.function.as_str()).collect::<Vec<_>>(),
            ["0x1070", "work", "helper", "core::num::add_one"]
        );
        assert_eq!((frames[2].kind, frames[3].kind), (FrameKind::Inlined, FrameKind::Inlined));
        assert_eq!(frames[1].module.as_deref(), Some("/tmp/a (b)/t"));
    }

    #[test]
    fn a_function_told_by_its_name_in_debug_information_alone_is_no_inlined_one() {
        let script = " 2156     1.000000011:    1003009 \n\
            \t            75fa spin<7>+0x4a (inlined)\n\
            \t            75fa tail_callee+0x4a (inlined)\n\
            \t            1155 work (/tmp/t)\n\
            \t            1155 work (/tmp/t)\n";
        let taken = read_script(Sampler::PerfDwarf, script, &windows()).unwrap();
        let stack = taken.profile.root_to_leaf(taken.profile.samples[0].stack.unwrap());
        let kinds: Vec<_> = stack.iter().map(|id| taken.profile.frame(*id).kind).collect();
        assert_eq!(kinds, [FrameKind::Plain, FrameKind::Plain, FrameKind::Plain, FrameKind::Inlined]);
    }

    #[test]
    fn a_line_that_is_no_header_is_refused_with_its_number() {
        let error = read_script(Sampler::PerfFp, "\nnonsense\n", &windows()).err().unwrap();
        assert!(error.to_string().contains("line 2"), "{error}");
    }
}
