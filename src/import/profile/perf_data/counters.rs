//! Samples, as far as a profile needs them. Those that carry counter values (`perf record -e '{a,b}:S'`) are taken
//! apart here: the parser of the records mistakes a group's values for a single counter's, and knows no lost counts.

use linux_perf_data::linux_perf_event_reader::{
    CpuMode, Endianness, RawEventRecord, ReadFormat, RecordType, SampleFormat, SampleRecord,
};

/// What a sample says.
pub(super) struct Sampled {
    pub pid: Option<i32>,
    pub tid: Option<i32>,
    pub ip: Option<u64>,
    pub timestamp: Option<u64>,
    pub period: Option<u64>,
    /// The call chain, leaf first, with its marks of kernel and user parts.
    pub chain: Vec<u64>,
    pub cpu_mode: CpuMode,
    /// Whether a copy of the stack stands in place of its callers.
    pub has_copy: bool,
}

impl From<&SampleRecord<'_>> for Sampled {
    fn from(sample: &SampleRecord<'_>) -> Self {
        let chain = sample.callchain.as_ref();
        Sampled {
            pid: sample.pid,
            tid: sample.tid,
            ip: sample.ip,
            timestamp: sample.timestamp,
            period: sample.period,
            chain: chain.map_or(Vec::new(), |chain| (0..chain.len()).map_while(|at| chain.get(at)).collect()),
            cpu_mode: sample.cpu_mode,
            has_copy: sample.user_stack.is_some(),
        }
    }
}

/// Whether a record is a sample that holds counter values.
pub(super) fn holds_values(record: &RawEventRecord<'_>) -> bool {
    record.record_type == RecordType::SAMPLE && record.parse_info.sample_format.contains(SampleFormat::READ)
}

/// Reads such a sample, in the order of `PERF_RECORD_SAMPLE`; `None` where it is cut short. With `lost` each counter
/// comes with the number of samples that it lost, a part of the format that this record's description leaves out.
pub(super) fn sample(record: &RawEventRecord<'_>, lost: bool) -> Option<Sampled> {
    let bytes = record.data.as_slice();
    let mut words = Words { bytes: &bytes, big: record.parse_info.endian == Endianness::BigEndian };
    let format = record.parse_info.sample_format;
    words.optional(format.contains(SampleFormat::IDENTIFIER))?;
    let ip = words.optional(format.contains(SampleFormat::IP))?;
    let (pid, tid) = match format.contains(SampleFormat::TID) {
        true => (Some(words.half()?), Some(words.half()?)),
        false => (None, None),
    };
    let timestamp = words.optional(format.contains(SampleFormat::TIME))?;
    for flag in [SampleFormat::ADDR, SampleFormat::ID, SampleFormat::STREAM_ID, SampleFormat::CPU] {
        words.optional(format.contains(flag))?;
    }
    let period = words.optional(format.contains(SampleFormat::PERIOD))?;
    words.skip_values(record.parse_info.read_format, lost)?;
    let length = words.optional(format.contains(SampleFormat::CALLCHAIN))?.unwrap_or(0);
    if length > words.bytes.len() as u64 / 8 {
        return None;
    }
    let chain = (0..length).map_while(|_| words.next()).collect();
    Some(Sampled { pid, tid, ip, timestamp, period, chain, cpu_mode: CpuMode::from_misc(record.misc), has_copy: false })
}

struct Words<'a> {
    bytes: &'a [u8],
    big: bool,
}

impl Words<'_> {
    fn next(&mut self) -> Option<u64> {
        let (word, rest) = self.bytes.split_first_chunk()?;
        self.bytes = rest;
        Some(if self.big { u64::from_be_bytes(*word) } else { u64::from_le_bytes(*word) })
    }

    fn half(&mut self) -> Option<i32> {
        let (word, rest) = self.bytes.split_first_chunk()?;
        self.bytes = rest;
        Some(if self.big { i32::from_be_bytes(*word) } else { i32::from_le_bytes(*word) })
    }

    /// A word where the format has it; the outer `None` means that it is missing.
    fn optional(&mut self, present: bool) -> Option<Option<u64>> {
        if present { self.next().map(Some) } else { Some(None) }
    }

    /// `struct read_format` of perf_event_open(2).
    fn skip_values(&mut self, format: ReadFormat, lost: bool) -> Option<()> {
        let has = |flag| u64::from(format.contains(flag));
        let times = has(ReadFormat::TOTAL_TIME_ENABLED) + has(ReadFormat::TOTAL_TIME_RUNNING);
        let each = 1 + has(ReadFormat::ID) + u64::from(lost);
        let counters = if format.contains(ReadFormat::GROUP) { self.next()? } else { 1 };
        let bytes = counters.checked_mul(each)?.checked_add(times)?.checked_mul(8)?;
        self.bytes = self.bytes.get(usize::try_from(bytes).ok()?..)?;
        Some(())
    }
}
