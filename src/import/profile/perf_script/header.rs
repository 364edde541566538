//! The header lines of `perf script`, whose fields `-F` chooses, in every shape that perf gives them.

/// The fields of a header line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Header<'a> {
    pub comm: &'a [u8],
    pub pid: &'a [u8],
    pub time_ns: Option<u64>,
    pub period: Option<u64>,
    pub event: &'a [u8],
    pub rest: &'a [u8],
}

/// The header in a line; `None` where it is none.
pub(super) fn parse_header(line: &[u8]) -> Option<Header<'_>> {
    let line = line.trim_ascii_end();
    let mut tokens = Tokens { line, at: 0 };
    while let Some((start, end)) = tokens.next() {
        if let Some(time_ns) = parse_time(&line[start..end])
            && let Some((period, event, rest)) = parse_event(line, end)
        {
            let (comm, pid) = split_comm(&line[..start]);
            return Some(Header { comm, pid, time_ns: Some(time_ns), period, event, rest });
        }
    }
    // Without a time, the first number that leaves `[cpu]? period? event:` behind it is the pid.
    let mut tokens = Tokens { line, at: 0 };
    while let Some((start, end)) = tokens.next() {
        if !is_pid(&line[start..end]) || start == 0 {
            continue;
        }
        let mut ahead = Tokens { line, at: end };
        let from = match ahead.next() {
            Some((cpu, after)) if is_cpu(&line[cpu..after]) => after,
            _ => end,
        };
        if let Some((period, event, rest)) = parse_event(line, from) {
            let (comm, pid) = (line[..start].trim_ascii(), &line[start..end]);
            return Some(Header { comm, pid, time_ns: None, period, event, rest });
        }
    }
    None
}

struct Tokens<'a> {
    line: &'a [u8],
    at: usize,
}

impl Tokens<'_> {
    fn next(&mut self) -> Option<(usize, usize)> {
        let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t');
        let start = self.at + self.line[self.at..].iter().position(|byte| !is_blank(byte))?;
        let end = self.line[start..].iter().position(is_blank).map_or(self.line.len(), |length| start + length);
        self.at = end;
        Some((start, end))
    }
}

/// `1301.733789:` in nanoseconds.
fn parse_time(token: &[u8]) -> Option<u64> {
    let token = token.strip_suffix(b":")?;
    let point = memchr::memchr(b'.', token)?;
    let seconds = parse_number(&token[..point])?;
    let fraction = &token[point + 1..];
    let scale = 10u64.checked_pow(9u32.checked_sub(fraction.len() as u32)?)?;
    seconds.checked_mul(1_000_000_000)?.checked_add(parse_number(fraction)? * scale)
}

fn parse_number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || digits.len() > 19 || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    Some(digits.iter().fold(0, |value, digit| value * 10 + u64::from(digit - b'0')))
}

/// The period, the event and what follows it on the line.
fn parse_event(line: &[u8], from: usize) -> Option<(Option<u64>, &[u8], &[u8])> {
    let mut tokens = Tokens { line, at: from };
    let (mut start, mut end) = tokens.next()?;
    let period = parse_number(&line[start..end]);
    if period.is_some() {
        (start, end) = tokens.next()?;
    }
    let event = line[start..end].strip_suffix(b":")?;
    let is_event = !event.is_empty() && !event[0].is_ascii_digit() && parse_number(event).is_none();
    is_event.then(|| (period, event, line[end..].trim_ascii()))
}

/// What precedes the time: the thread's name, then its pid, perhaps a CPU and flags.
fn split_comm(prefix: &[u8]) -> (&[u8], &[u8]) {
    let mut text = prefix.trim_ascii();
    for allowed in [true, true, false] {
        let start = memchr::memrchr2(b' ', b'\t', text).map_or(0, |blank| blank + 1);
        let last = &text[start..];
        if is_pid(last) {
            return (text[..start].trim_ascii(), last);
        }
        // `[001]`, or flags such as `d.h1.`, stand between the pid and the time.
        let is_flags = last.len() <= 6 && last.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'.');
        if !allowed || start == 0 || !(is_cpu(last) || is_flags) {
            break;
        }
        text = text[..start].trim_ascii();
    }
    (prefix.trim_ascii(), b"")
}

fn is_cpu(token: &[u8]) -> bool {
    token.len() > 2
        && token[0] == b'['
        && token[token.len() - 1] == b']'
        && token[1..token.len() - 1].iter().all(u8::is_ascii_digit)
}

fn is_pid(token: &[u8]) -> bool {
    let mut parts = token.splitn(2, |byte| *byte == b'/');
    // -1 is a thread that perf lost track of.
    let number = |part: &[u8]| part == b"-1" || parse_number(part).is_some();
    parts.next().is_some_and(number) && parts.next().is_none_or(number)
}

/// The event without modifiers and without the name of a hybrid processor's unit.
pub fn base_event<'a>(event: &'a str) -> &'a str {
    let modifiers = |text: &str| !text.is_empty() && text.chars().all(|letter| "ukhHGIpPSDWeb".contains(letter));
    let plain = |event: &'a str| match event.rsplit_once(':') {
        Some((base, tail)) if !base.is_empty() && modifiers(tail) => base,
        _ => event,
    };
    let event = plain(event);
    for unit in ["cpu_core/", "cpu_atom/", "cpu/"] {
        if let Some((inner, tail)) = event.strip_prefix(unit).and_then(|rest| rest.split_once('/'))
            && (tail.is_empty() || modifiers(tail))
            && !inner.contains('=')
        {
            return plain(inner);
        }
    }
    event
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(line: &str) -> (String, String, Option<u64>, Option<u64>, String) {
        let header = parse_header(line.as_bytes()).unwrap_or_else(|| panic!("{line}"));
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (text(header.comm), text(header.pid), header.time_ns, header.period, text(header.event))
    }

    // brendangregg/FlameGraph#78, #162, #357 and their fixes, each of which broke another form.
    #[test]
    fn headers_of_every_shape() {
        for (line, comm, pid, time_ns, period, event) in [
            (
                "java 10488  9962.502413:   10101010 cpu-clock: ",
                "java",
                "10488",
                Some(9_962_502_413_000),
                Some(10_101_010),
                "cpu-clock",
            ),
            (
                "Plex DLNA Serve 26638 [001] 856620.530720: 2654110 cycles:",
                "Plex DLNA Serve",
                "26638",
                Some(856_620_530_720_000),
                Some(2_654_110),
                "cycles",
            ),
            ("[ET_NET 0] 1234 1.0: 1 cycles:", "[ET_NET 0]", "1234", Some(1_000_000_000), Some(1), "cycles"),
            ("1234 5.678: 1 cycles:", "", "1234", Some(5_678_000_000), Some(1), "cycles"),
            (
                "my thr: 1/2 (x) 17853  1301.733789:    2004008 cpu-clock:ppp: ",
                "my thr: 1/2 (x)",
                "17853",
                Some(1_301_733_789_000),
                Some(2_004_008),
                "cpu-clock:ppp",
            ),
            (
                "swapper     0/0     [000] d.h1.  5.000001: sched:sched_switch: prev_comm=a",
                "swapper",
                "0/0",
                Some(5_000_001_000),
                None,
                "sched:sched_switch",
            ),
            ("a 7/8 [002] 1.123456789: cycles:u:", "a", "7/8", Some(1_123_456_789), None, "cycles:u"),
            ("java 12 cycles:", "java", "12", None, None, "cycles"),
            ("V8 Worker 3 991 [003] 77 cpu_core/cycles/P:", "V8 Worker 3", "991", None, Some(77), "cpu_core/cycles/P"),
            (":-1 -1 3.5: 1 cycles:", ":-1", "-1", Some(3_500_000_000), Some(1), "cycles"),
        ] {
            assert_eq!(header(line), (comm.into(), pid.into(), time_ns, period, event.into()), "{line}");
        }
        for line in ["", "main;f 5", "hello world", "\t29ebc cmd (/usr/bin/perf)", "1.5: 7:", "a 1.2.3: cycles:"] {
            assert_eq!(parse_header(line.as_bytes()), None, "{line}");
        }
    }

    #[test]
    fn an_event_is_its_name_without_unit_and_modifiers() {
        for (event, base) in [
            ("cycles", "cycles"),
            ("cycles:u", "cycles"),
            ("cpu_core/cycles:ppp/", "cycles"),
            ("cpu_atom/cycles/P", "cycles"),
            ("cpu/event=0x3c/u", "cpu/event=0x3c/u"),
            ("sched:sched_switch", "sched:sched_switch"),
        ] {
            assert_eq!(base_event(event), base, "{event}");
        }
    }
}
