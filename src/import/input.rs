//! The input under its wrappings: gzip and zstd are unpacked, text is brought to UTF-8, all within limits.

use std::cell::Cell;
use std::io::{BufRead, BufReader, Cursor, Read};
use std::rc::Rc;

use super::error::{ImportError, Position};

/// How much of the unpacked input detection looks at, in bytes.
const HEAD: usize = 64 * 1024;

/// How many wrappings may lie within each other.
const LAYERS: usize = 4;

/// Below this many unpacked bytes no ratio is suspicious.
const RATIO_FREE: u64 = 64 << 20;

/// What an input may cost.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes after unpacking, for formats read as a stream.
    pub unpacked: u64,
    /// Bytes after unpacking, for formats that are read whole.
    pub in_memory: u64,
    /// Unpacked bytes for one packed byte, once more than 64 MiB have been unpacked. Real profiles stay below 100.
    pub ratio: u64,
    /// Bytes in one line of text.
    pub line: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { unpacked: 64 << 30, in_memory: 2 << 30, ratio: 300, line: 256 << 20 }
    }
}

/// An unpacked input, with its beginning already looked at.
pub struct Input<'a> {
    head: Vec<u8>,
    rest: Box<dyn Read + 'a>,
    limits: Limits,
}

impl<'a> Input<'a> {
    /// Unpacks `reader`, however often it is packed, and decodes UTF-16 that has a byte order mark.
    ///
    /// # Errors
    /// When the packed data is damaged within the first 64 KiB, or packed more than four times over.
    pub fn open(reader: impl Read + 'a, limits: Limits) -> Result<Self, ImportError> {
        let mut rest: Box<dyn Read + 'a> = Box::new(reader);
        for _ in 0..LAYERS {
            let head = read_head(&mut rest)?;
            let Some(packing) = Packing::of(&head) else {
                return Input { head, rest, limits }.into_utf8();
            };
            let packed = Rc::new(Cell::new(0));
            let source = Counted { inner: Cursor::new(head).chain(rest), count: Rc::clone(&packed) };
            let unpacked: Box<dyn Read + 'a> = match packing {
                Packing::Gzip => Box::new(flate2::read::MultiGzDecoder::new(source)),
                Packing::Zstd => Box::new(ZstdFrames::Between(Box::new(BufReader::new(source)))),
            };
            rest = Box::new(BufReader::with_capacity(
                HEAD,
                Bounded { inner: unpacked, name: packing.name(), packed, unpacked: 0, limits },
            ));
        }
        Err(ImportError::Unsupported { what: "packing".into(), why: format!("it is nested more than {LAYERS} times") })
    }

    /// The first bytes, up to 64 KiB; fewer only where the input ends.
    pub fn head(&self) -> &[u8] {
        &self.head
    }

    /// The limits that it was opened with.
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// Everything, in memory.
    ///
    /// # Errors
    /// When it exceeds [`Limits::in_memory`] or the packed data is damaged.
    pub fn bytes(self) -> Result<Vec<u8>, ImportError> {
        let limit = self.limits.in_memory;
        let mut bytes = self.head;
        self.rest.take(limit.saturating_sub(bytes.len() as u64) + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > limit {
            let what = "the input, in a format that must be read whole".into();
            return Err(ImportError::TooLarge { what, limit: format!("{limit} bytes") });
        }
        Ok(bytes)
    }

    /// Everything as text; bytes that are not UTF-8 become U+FFFD.
    ///
    /// # Errors
    /// As [`Input::bytes`].
    pub fn text(self) -> Result<String, ImportError> {
        Ok(match String::from_utf8(self.bytes()?) {
            Ok(text) => text,
            Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
        })
    }

    /// The input line by line.
    pub fn lines(self) -> Lines<'a> {
        let buffer = self.head;
        let end = buffer.len();
        Lines { rest: self.rest, buffer, start: 0, end, number: 0, limit: self.limits.line, ended: false, cut: false }
    }

    fn into_utf8(mut self) -> Result<Self, ImportError> {
        if self.head.starts_with(&[0xef, 0xbb, 0xbf]) {
            self.head.drain(..3);
            return Ok(self);
        }
        let Some(unit) = utf16_of(&self.head) else { return Ok(self) };
        let limits = self.limits;
        let bytes = self.bytes()?;
        let units: Vec<u16> = bytes.chunks_exact(2).map(|pair| unit([pair[0], pair[1]])).collect();
        let text = String::from_utf16_lossy(&units);
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        let mut rest: Box<dyn Read + 'a> = Box::new(Cursor::new(text.as_bytes().to_vec()));
        let head = read_head(&mut rest)?;
        Ok(Input { head, rest, limits })
    }
}

impl From<Vec<u8>> for Input<'static> {
    /// Bytes that are known to be unpacked.
    fn from(bytes: Vec<u8>) -> Self {
        Input { head: bytes, rest: Box::new(std::io::empty()), limits: Limits::default() }
    }
}

/// How two bytes make a unit of UTF-16, where the input begins as one.
fn utf16_of(head: &[u8]) -> Option<fn([u8; 2]) -> u16> {
    if head.starts_with(&[0xff, 0xfe]) {
        return Some(u16::from_le_bytes);
    }
    if head.starts_with(&[0xfe, 0xff]) {
        return Some(u16::from_be_bytes);
    }
    // Without a mark: sixteen printable ASCII characters in every other byte.
    let pairs: Vec<_> = head.chunks_exact(2).take(16).collect();
    let printable = |byte: u8| matches!(byte, b'\t' | b'\r' | b'\n' | b' '..=b'~');
    if pairs.len() == 16 && pairs.iter().all(|pair| pair[1] == 0 && printable(pair[0])) {
        return Some(u16::from_le_bytes);
    }
    if pairs.len() == 16 && pairs.iter().all(|pair| pair[0] == 0 && printable(pair[1])) {
        return Some(u16::from_be_bytes);
    }
    None
}

fn read_head(reader: &mut dyn Read) -> Result<Vec<u8>, ImportError> {
    let mut head = Vec::with_capacity(HEAD);
    reader.take(HEAD as u64).read_to_end(&mut head)?;
    Ok(head)
}

#[derive(Clone, Copy)]
enum Packing {
    Gzip,
    Zstd,
}

impl Packing {
    fn of(head: &[u8]) -> Option<Packing> {
        match head {
            [0x1f, 0x8b, ..] => Some(Packing::Gzip),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(Packing::Zstd),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Packing::Gzip => "gzip",
            Packing::Zstd => "zstd",
        }
    }
}

struct Counted<R> {
    inner: R,
    count: Rc<Cell<u64>>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.count.set(self.count.get() + read as u64);
        Ok(read)
    }
}

/// Refuses to unpack more than the limits allow, and names the packing in its errors.
struct Bounded<'a> {
    inner: Box<dyn Read + 'a>,
    name: &'static str,
    packed: Rc<Cell<u64>>,
    unpacked: u64,
    limits: Limits,
}

impl Read for Bounded<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.inner.read(buffer).map_err(|error| {
            let damaged = |found: String| {
                let position = Position::Byte(self.packed.get());
                ImportError::malformed(self.name, position, found, "intact packed data to its end").into()
            };
            match error.kind() {
                std::io::ErrorKind::Interrupted => error,
                std::io::ErrorKind::UnexpectedEof => damaged("the end of the input (it is truncated)".into()),
                std::io::ErrorKind::InvalidInput | std::io::ErrorKind::InvalidData => damaged(error.to_string()),
                _ => match error.downcast::<ImportError>() {
                    Ok(inner) => inner.into(),
                    Err(error) => damaged(error.to_string()),
                },
            }
        })?;
        self.unpacked += read as u64;
        let bound = self.limits.unpacked.min(RATIO_FREE.max(self.packed.get().saturating_mul(self.limits.ratio)));
        if self.unpacked > bound {
            let what = format!("the {} data: {} bytes unpack to more than {bound}", self.name, self.packed.get());
            let limit = format!("{} bytes, or {} to one", self.limits.unpacked, self.limits.ratio);
            return Err(ImportError::TooLarge { what, limit }.into());
        }
        Ok(read)
    }
}

/// One zstd frame after the other; a plain decoder stops after the first.
enum ZstdFrames<'a> {
    Between(Box<dyn BufRead + 'a>),
    Inside(Box<ruzstd::decoding::StreamingDecoder<Box<dyn BufRead + 'a>, ruzstd::decoding::FrameDecoder>>),
}

impl Read for ZstdFrames<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        loop {
            match std::mem::replace(self, ZstdFrames::Between(Box::new(std::io::empty()))) {
                ZstdFrames::Between(mut source) => {
                    if source.fill_buf()?.is_empty() {
                        return Ok(0);
                    }
                    let decoder = ruzstd::decoding::StreamingDecoder::new(source)
                        .map_err(|error| std::io::Error::new(std::io::ErrorKind::InvalidData, error.to_string()))?;
                    *self = ZstdFrames::Inside(Box::new(decoder));
                }
                ZstdFrames::Inside(mut decoder) => {
                    let read = decoder.read(buffer)?;
                    if read > 0 || buffer.is_empty() {
                        *self = ZstdFrames::Inside(decoder);
                        return Ok(read);
                    }
                    *self = ZstdFrames::Between(decoder.into_inner());
                }
            }
        }
    }
}

/// Lines without their ends, from a buffer that grows only as far as the longest line.
pub struct Lines<'a> {
    rest: Box<dyn Read + 'a>,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    number: u64,
    limit: usize,
    ended: bool,
    cut: bool,
}

impl Lines<'_> {
    /// The number of the line last returned, from 1.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Whether the input's last line had no end, and has been returned.
    pub fn was_cut(&self) -> bool {
        self.cut
    }

    /// The next line without `\n` or `\r\n`; `None` at the end of the input.
    ///
    /// # Errors
    /// When a line exceeds [`Limits::line`], or what lies below cannot be read.
    pub fn next_line(&mut self) -> Result<Option<&[u8]>, ImportError> {
        let mut searched = 0;
        loop {
            let window = &self.buffer[self.start..self.end];
            if let Some(at) = memchr::memchr(b'\n', &window[searched..]) {
                let line = self.start..self.start + searched + at;
                self.start = line.end + 1;
                self.number += 1;
                return Ok(Some(without_return(&self.buffer[line])));
            }
            searched = window.len();
            if self.ended {
                if searched == 0 {
                    return Ok(None);
                }
                let line = self.start..self.end;
                self.start = self.end;
                self.number += 1;
                self.cut = true;
                return Ok(Some(without_return(&self.buffer[line])));
            }
            if searched > self.limit {
                let what = format!("line {}", self.number + 1);
                return Err(ImportError::TooLarge { what, limit: format!("{} bytes", self.limit) });
            }
            self.refill()?;
        }
    }

    fn refill(&mut self) -> Result<(), ImportError> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        let wanted = (self.end * 2).max(4 * HEAD);
        if self.buffer.len() < wanted {
            self.buffer.resize(wanted, 0);
        }
        loop {
            match self.rest.read(&mut self.buffer[self.end..]) {
                Ok(0) => self.ended = true,
                Ok(read) => self.end += read,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error.into()),
            }
            return Ok(());
        }
    }
}

fn without_return(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn zstd(bytes: &[u8]) -> Vec<u8> {
        ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
    }

    fn read(bytes: &[u8]) -> Result<Vec<u8>, ImportError> {
        Input::open(bytes, Limits::default())?.bytes()
    }

    #[test]
    fn packings_nest_and_follow_each_other() {
        let text = "a;b 1\n".repeat(50_000).into_bytes();
        assert_eq!(read(&text).unwrap(), text);
        assert_eq!(read(&gzip(&zstd(&gzip(&text)))).unwrap(), text);
        assert_eq!(read(&[zstd(b"a;b "), zstd(b"1\n")].concat()).unwrap(), b"a;b 1\n");
        assert_eq!(read(&[gzip(b"a;b "), gzip(b"1\n")].concat()).unwrap(), b"a;b 1\n");
    }

    #[test]
    fn packed_five_times_is_refused() {
        let packed = (0..5).fold(b"a 1".to_vec(), |bytes, _| gzip(&bytes));
        assert!(matches!(read(&packed), Err(ImportError::Unsupported { .. })));
    }

    #[test]
    fn truncated_packing_is_named_at_every_length() {
        let packed = gzip(b"a;b 1\na;c 2\n");
        for length in 2..packed.len() {
            let error = read(&packed[..length]).unwrap_err();
            assert!(matches!(error, ImportError::Malformed { format: "gzip", .. }), "{length}: {error}");
        }
        let packed = zstd(&b"a;b 1\na;c 2\n".repeat(100));
        for length in 4..packed.len() {
            let error = read(&packed[..length]).unwrap_err();
            assert!(matches!(error, ImportError::Malformed { format: "zstd", .. }), "{length}: {error}");
        }
    }

    #[test]
    fn a_bomb_is_stopped_early() {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(&vec![0; 200 << 20]).unwrap();
        let bomb = encoder.finish().unwrap();
        assert!(bomb.len() < 1 << 20);
        let error = read(&bomb).map(|bytes| bytes.len()).unwrap_err();
        assert!(matches!(error, ImportError::TooLarge { .. }), "{error}");
    }

    #[test]
    fn utf16_is_decoded_with_and_without_a_mark() {
        let text = "main;some function 12\r\n";
        let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
        for bytes in [
            [b"\xff\xfe", little.as_slice()].concat(),
            [b"\xfe\xff", big.as_slice()].concat(),
            little,
            big,
            [b"\xef\xbb\xbf", text.as_bytes()].concat(),
        ] {
            assert_eq!(read(&bytes).unwrap(), text.as_bytes());
        }
    }

    #[test]
    fn lines_of_every_length_come_back_whole() {
        let long = "x".repeat(1_000_000);
        let text = format!("a\r\n\n{long}\nlast");
        let mut lines = Input::open(text.as_bytes(), Limits::default()).unwrap().lines();
        for expected in ["a", "", long.as_str(), "last"] {
            assert_eq!(lines.next_line().unwrap().unwrap(), expected.as_bytes());
        }
        assert!(lines.next_line().unwrap().is_none());
        assert_eq!(lines.number(), 4);
    }

    #[test]
    fn an_endless_line_is_refused() {
        let limits = Limits { line: 1000, ..Limits::default() };
        let mut lines = Input::open(std::io::repeat(b'x').take(1 << 20), limits).unwrap().lines();
        assert!(matches!(lines.next_line(), Err(ImportError::TooLarge { .. })));
    }
}
