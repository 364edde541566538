//! Writes small JFR chunks by the format's rules, for tests of its reader.

/// A field of an event.
#[derive(Clone, Copy)]
pub enum Field {
    Int(u64),
    Text(&'static str),
}

/// An event: its type below, and its fields in that order.
pub type Event = (u64, Vec<Field>);

/// A stack in a pool: its index, its frames leaf first, and whether the JVM cut it off.
pub type Stack<'a> = (u64, &'a [&'a str], bool);

const STRING: u64 = 20;
const LONG: u64 = 21;
const BOOLEAN: u64 = 22;
const STACK_TRACE: u64 = 30;
const STACK_FRAME: u64 = 31;
const METHOD: u64 = 32;
const CLASS: u64 = 33;
const SYMBOL: u64 = 34;
const STATE: u64 = 35;
/// `jdk.ExecutionSample`: start, stack, state.
pub const EXECUTION: u64 = 100;
/// `profiler.WallClockSample`: start, stack, state, samples.
pub const WALL: u64 = 101;
/// `jdk.ObjectAllocationInNewTLAB`: start, stack, object size, buffer size.
pub const IN_TLAB: u64 = 102;
/// `jdk.ObjectAllocationOutsideTLAB`: start, stack, object size.
pub const OUTSIDE_TLAB: u64 = 103;
/// `jdk.CPUTimeSample` and `com.oracle.jdk.ExecutionSample`: start, stack, state.
pub const CPU_TIME: u64 = 105;
pub const ORACLE_EXECUTION: u64 = 106;
/// `datadog.ExecutionSample`: start, stack, state, weight.
pub const DATADOG: u64 = 107;
/// `jdk.ActiveSetting`: start, event type, name, value.
pub const SETTING: u64 = 104;

fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    for _ in 0..8 {
        if value < 0x80 {
            bytes.push(value as u8);
            return bytes;
        }
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

fn text(text: &str) -> Vec<u8> {
    [vec![3], varint(text.len() as u64), text.as_bytes().to_vec()].concat()
}

/// An event with its size before it, as a number that always takes four bytes.
fn sized(body: &[u8]) -> Vec<u8> {
    let size = body.len() as u64 + 4;
    let bytes = [size as u8 | 0x80, (size >> 7) as u8 | 0x80, (size >> 14) as u8 | 0x80, (size >> 21) as u8 & 0x7f];
    [&bytes, body].concat()
}

struct Metadata {
    strings: Vec<String>,
}

impl Metadata {
    fn string(&mut self, text: &str) -> Vec<u8> {
        let at = self.strings.iter().position(|known| known == text).unwrap_or_else(|| {
            self.strings.push(text.to_owned());
            self.strings.len() - 1
        });
        varint(at as u64)
    }

    fn element(&mut self, name: &str, attributes: &[(&str, String)], children: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = self.string(name);
        bytes.extend(varint(attributes.len() as u64));
        for (key, value) in attributes {
            bytes.extend(self.string(key));
            bytes.extend(self.string(value));
        }
        bytes.extend(varint(children.len() as u64));
        bytes.extend(children.concat());
        bytes
    }

    /// A class with its fields: name, class, and whether it is pooled or an array.
    fn class(&mut self, id: u64, name: &str, fields: &[(&str, u64, &str)]) -> Vec<u8> {
        let mut children = Vec::new();
        for (name, class, how) in fields {
            let mut attributes = vec![("name", (*name).to_owned()), ("class", class.to_string())];
            match *how {
                "pooled" => attributes.push(("constantPool", "true".into())),
                "array" => attributes.push(("dimension", "1".into())),
                _ => {}
            }
            children.push(self.element("field", &attributes, &[]));
        }
        self.element("class", &[("id", id.to_string()), ("name", name.to_owned())], &children)
    }

    fn event(mut self) -> Vec<u8> {
        let start = ("startTime", LONG, "");
        let stack = ("stackTrace", STACK_TRACE, "pooled");
        let state = ("state", STATE, "pooled");
        let size = ("allocationSize", LONG, "");
        let classes = [
            self.class(STRING, "java.lang.String", &[]),
            self.class(LONG, "long", &[]),
            self.class(BOOLEAN, "boolean", &[]),
            self.class(
                STACK_TRACE,
                "jdk.types.StackTrace",
                &[("truncated", BOOLEAN, ""), ("frames", STACK_FRAME, "array")],
            ),
            self.class(STACK_FRAME, "jdk.types.StackFrame", &[("method", METHOD, "pooled"), ("lineNumber", LONG, "")]),
            self.class(METHOD, "jdk.types.Method", &[("type", CLASS, "pooled"), ("name", SYMBOL, "pooled")]),
            self.class(CLASS, "java.lang.Class", &[("name", SYMBOL, "pooled")]),
            self.class(SYMBOL, "jdk.types.Symbol", &[("string", STRING, "")]),
            self.class(STATE, "jdk.types.ThreadState", &[("name", STRING, "")]),
            self.class(EXECUTION, "jdk.ExecutionSample", &[start, stack, state]),
            self.class(CPU_TIME, "jdk.CPUTimeSample", &[start, stack, state]),
            self.class(ORACLE_EXECUTION, "com.oracle.jdk.ExecutionSample", &[start, stack, state]),
            self.class(DATADOG, "datadog.ExecutionSample", &[start, stack, state, ("weight", LONG, "")]),
            self.class(WALL, "profiler.WallClockSample", &[start, stack, state, ("samples", LONG, "")]),
            self.class(IN_TLAB, "jdk.ObjectAllocationInNewTLAB", &[start, stack, size, ("tlabSize", LONG, "")]),
            self.class(OUTSIDE_TLAB, "jdk.ObjectAllocationOutsideTLAB", &[start, stack, size]),
            self.class(
                SETTING,
                "jdk.ActiveSetting",
                &[start, ("id", LONG, ""), ("name", STRING, ""), ("value", STRING, "")],
            ),
        ];
        let root = self.element("root", &[], &classes);
        let mut body = [varint(0), varint(0), varint(0), varint(1)].concat();
        body.extend(varint(self.strings.len() as u64));
        body.extend(self.strings.iter().flat_map(|string| text(string)));
        body.extend(root);
        sized(&body)
    }
}

/// A checkpoint with one pool of a class.
fn pool(class: u64, constants: &[(u64, Vec<u8>)]) -> Vec<u8> {
    let mut body = [varint(1), varint(0), varint(0), varint(0), vec![0], varint(1), varint(class)].concat();
    body.extend(varint(constants.len() as u64));
    for (index, constant) in constants {
        body.extend(varint(*index));
        body.extend(constant);
    }
    sized(&body)
}

/// A chunk with these states, stacks in these pools, and events; one tick is a nanosecond.
pub fn chunk(states: &[(u64, &str)], stack_pools: &[&[Stack<'_>]], events: &[Event]) -> Vec<u8> {
    let mut names: Vec<&str> =
        stack_pools.iter().flat_map(|pool| pool.iter().flat_map(|(_, frames, _)| *frames)).copied().collect();
    names.sort_unstable();
    names.dedup();
    let id = |name: &str| names.iter().position(|known| *known == name).expect("every name was collected") as u64 + 1;
    const APP: u64 = 1000;
    let mut body = Vec::new();
    for (event, fields) in events {
        let fields = fields.iter().flat_map(|field| match field {
            Field::Int(value) => varint(*value),
            Field::Text(value) => text(value),
        });
        body.extend(sized(&varint(*event).into_iter().chain(fields).collect::<Vec<u8>>()));
    }
    for stacks in stack_pools {
        let constants: Vec<_> = stacks
            .iter()
            .map(|(index, frames, truncated)| {
                let mut bytes = vec![u8::from(*truncated)];
                bytes.extend(varint(frames.len() as u64));
                bytes.extend(frames.iter().flat_map(|name| [varint(id(name)), varint(7)].concat()));
                (*index, bytes)
            })
            .collect();
        body.extend(pool(STACK_TRACE, &constants));
    }
    let methods: Vec<_> = names.iter().map(|name| (id(name), [varint(APP), varint(id(name))].concat())).collect();
    let mut symbols: Vec<_> = names.iter().map(|name| (id(name), text(name))).collect();
    symbols.push((APP, text("App")));
    body.extend(pool(METHOD, &methods));
    body.extend(pool(CLASS, &[(APP, varint(APP))]));
    body.extend(pool(SYMBOL, &symbols));
    body.extend(pool(STATE, &states.iter().map(|(index, name)| (*index, text(name))).collect::<Vec<_>>()));
    let metadata_at = 68 + body.len() as u64;
    body.extend(Metadata { strings: Vec::new() }.event());
    let mut bytes = b"FLR\0\0\x02\0\x01".to_vec();
    for word in [68 + body.len() as u64, 68, metadata_at, 0, 1_000_000_000, 0, 1_000_000_000] {
        bytes.extend(word.to_be_bytes());
    }
    bytes.extend(1u32.to_be_bytes());
    bytes.extend(body);
    bytes
}
