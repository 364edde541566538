//! Addresses in this process to frames, each with its own inline chain.
//!
//! The physical function is named from the symbol table, which has full paths; debug information of the
//! kind `line-tables-only` has bare names. Functions inlined into it are named from debug information.

use std::cell::OnceCell;
use std::ffi::CStr;
use std::ops::Range;
use std::path::{Path, PathBuf};

use object::{Object, ObjectSegment, ObjectSymbol, SymbolKind};
use rustc_hash::FxHashMap;

use crate::profile::{Frame, FrameKind};

/// A loaded executable or library.
pub(super) struct Module {
    /// Its path as the dynamic linker has it; the executable's own is read from the system.
    pub(super) path: PathBuf,
    /// What is added to an address in its file to get one in memory.
    pub(super) bias: u64,
    /// Memory that its segments span.
    pub(super) range: Range<u64>,
    /// Memory of each of its segments.
    pub(super) segments: Vec<Range<u64>>,
    /// Memory of its unwind index (`.eh_frame_hdr`), where there is one.
    pub(super) unwind_index: Option<Range<u64>>,
}

/// The modules that are loaded now.
pub(super) fn loaded_modules() -> Vec<Module> {
    unsafe extern "C" fn one(info: *mut libc::dl_phdr_info, _size: usize, found: *mut libc::c_void) -> libc::c_int {
        // SAFETY: the dynamic linker passes a valid description and the pointer given below.
        let (info, found) = unsafe { (&*info, &mut *found.cast::<Vec<Module>>()) };
        // SAFETY: the name is a terminated string or null.
        let name = if info.dlpi_name.is_null() { c"" } else { unsafe { CStr::from_ptr(info.dlpi_name) } };
        // SAFETY: the headers are an array of that many entries.
        let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
        let memory = |header: &libc::Elf64_Phdr| {
            let start = info.dlpi_addr.wrapping_add(header.p_vaddr);
            start..start.wrapping_add(header.p_memsz)
        };
        let loads = || headers.iter().filter(|header| header.p_type == libc::PT_LOAD).map(memory);
        let (Some(start), Some(end)) = (loads().map(|range| range.start).min(), loads().map(|range| range.end).max())
        else {
            return 0;
        };
        let path = match name.to_bytes() {
            b"" => PathBuf::from("/proc/self/exe"),
            _ => PathBuf::from(name.to_string_lossy().into_owned()),
        };
        let unwind_index = headers.iter().find(|header| header.p_type == libc::PT_GNU_EH_FRAME).map(memory);
        found.push(Module { path, bias: info.dlpi_addr, range: start..end, segments: loads().collect(), unwind_index });
        0
    }
    let mut found: Vec<Module> = Vec::new();
    // SAFETY: the callback has the expected signature and `found` outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(one), (&raw mut found).cast()) };
    found
}

/// Resolves addresses; remembers what it has resolved.
pub(super) struct Symbols {
    modules: Vec<(Module, String, OnceCell<Tables>)>,
    known: FxHashMap<u64, Vec<Frame>>,
}

/// What is known about the addresses of a module.
struct Tables {
    /// Functions by address: start, size, name; sorted by start.
    functions: Vec<(u64, u64, String)>,
    lines: Option<addr2line::Loader>,
}

impl Symbols {
    /// For the modules that are loaded now.
    pub(super) fn of_this_process() -> Self {
        let modules = loaded_modules()
            .into_iter()
            .map(|module| {
                let name = display_name(&module.path);
                (module, name, OnceCell::new())
            })
            .collect();
        Self { modules, known: FxHashMap::default() }
    }

    /// Whether the executable has debug information at all.
    pub(super) fn has_lines(&self) -> bool {
        self.modules.first().is_some_and(|(module, _, tables)| {
            tables.get_or_init(|| Tables::load(module)).lines.as_ref().is_some_and(|lines| {
                lines.get_section_range(b".debug_line").is_some_and(|range| range.end > range.begin)
            })
        })
    }

    /// The frames of an address, outermost (the physical function) first. A return address must be passed
    /// as one less, so that it lies in the call.
    pub(super) fn frames(&mut self, address: u64) -> &[Frame] {
        if !self.known.contains_key(&address) {
            let frames = self.resolve(address);
            self.known.insert(address, frames);
        }
        &self.known[&address]
    }

    fn names(&self, address: u64) -> Vec<String> {
        let found = self.modules.iter().find(|(module, ..)| module.range.contains(&address));
        let Some((module, _, tables)) = found else { return Vec::new() };
        let tables = tables.get_or_init(|| Tables::load(module));
        let offset = address - module.bias;
        let by_lines = tables.inline_chain(offset).pop().map(|frame| frame.function);
        tables.function(offset).map(str::to_owned).into_iter().chain(by_lines).filter(|name| !name.is_empty()).collect()
    }

    fn resolve(&self, address: u64) -> Vec<Frame> {
        let Some((module, name, tables)) = self.modules.iter().find(|(module, ..)| module.range.contains(&address))
        else {
            return vec![Frame { function: format!("0x{address:x}"), ..Frame::default() }];
        };
        let tables = tables.get_or_init(|| Tables::load(module));
        let mut chain = tables.frames(address - module.bias);
        for frame in &mut chain {
            frame.module = Some(name.clone());
            if frame.function.is_empty() {
                frame.function = format!("[{name}]");
            }
        }
        chain
    }
}

/// The names of the functions at addresses of this process, a list for each address: by the symbol table, and by debug
/// information, which may spell a function with its type arguments.
pub fn names_of_code(addresses: &[usize]) -> Vec<Vec<String>> {
    let symbols = Symbols::of_this_process();
    addresses.iter().map(|address| symbols.names(*address as u64)).collect()
}

/// A build id as it is written.
pub(super) fn hex(id: &[u8]) -> String {
    id.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A program or library on disk, by addresses of a recording made elsewhere or earlier.
pub(super) struct Binary {
    tables: Tables,
    /// Where each segment lies in the file and in memory.
    segments: Vec<(Range<u64>, u64)>,
    build_id: Option<Vec<u8>>,
}

impl Binary {
    /// Reads a file; `None` where there is none, or it is no program.
    pub(super) fn open(path: &Path) -> Option<Self> {
        let data = std::fs::read(path).ok()?;
        let file = object::File::parse(&*data).ok()?;
        let segments = file
            .segments()
            .map(|segment| {
                let (offset, size) = segment.file_range();
                (offset..offset.saturating_add(size), segment.address())
            })
            .collect();
        let build_id = file.build_id().ok().flatten().map(<[u8]>::to_vec);
        Some(Self { tables: Tables::read(path, &data), segments, build_id })
    }

    /// The id that the linker gave the build.
    pub(super) fn build_id(&self) -> Option<&[u8]> {
        self.build_id.as_deref()
    }

    /// The frames at an offset in the file, outermost (the physical function) first; none where it names no function.
    pub(super) fn frames(&self, offset: u64) -> Vec<Frame> {
        let segment = self.segments.iter().find(|(range, _)| range.contains(&offset));
        let Some((range, address)) = segment else { return Vec::new() };
        let mut chain = self.tables.frames(offset - range.start + address);
        if chain.iter().any(|frame| frame.function.is_empty()) {
            chain.clear();
        }
        chain
    }
}

impl Tables {
    fn load(module: &Module) -> Self {
        let data = std::fs::read(&module.path).unwrap_or_else(|_| memory_image(module));
        Self::read(&module.path, &data)
    }

    fn read(path: &Path, data: &[u8]) -> Self {
        let mut functions = Vec::new();
        let mut lines = addr2line::Loader::new(path).ok();
        if let Ok(file) = object::File::parse(data) {
            add_functions(&file, &mut functions);
            if let Some(debug) = debug_file(&file)
                && let Ok(data) = std::fs::read(&debug)
                && let Ok(file) = object::File::parse(&*data)
            {
                add_functions(&file, &mut functions);
                lines = addr2line::Loader::new(&debug).ok().or(lines);
            }
        }
        functions.sort();
        functions.dedup_by_key(|function| (function.0, function.1));
        Self { functions, lines }
    }

    /// The frames at an address in the file, outermost (the physical function) first; a function without a name is empty.
    fn frames(&self, address: u64) -> Vec<Frame> {
        let mut chain = self.inline_chain(address);
        chain.reverse();
        if chain.is_empty() {
            chain.push(Frame::default());
        }
        for (depth, frame) in chain.iter_mut().enumerate() {
            frame.kind = if depth == 0 { FrameKind::Plain } else { FrameKind::Inlined };
        }
        if let Some(physical) = self.function(address) {
            chain[0].function = physical.to_owned();
        }
        chain
    }

    fn function(&self, address: u64) -> Option<&str> {
        let after = self.functions.partition_point(|function| function.0 <= address);
        // Hand-written assembly has symbols of size 0, which reach to the next one.
        let (start, size, name) = self.functions[..after].last()?;
        (*size == 0 || address - start < *size).then_some(name)
    }

    /// The functions at an address by debug information, innermost first.
    fn inline_chain(&self, address: u64) -> Vec<Frame> {
        let mut chain = Vec::new();
        let Some(mut frames) = self.lines.as_ref().and_then(|lines| lines.find_frames(address).ok()) else {
            return chain;
        };
        while let Ok(Some(frame)) = frames.next() {
            let function = frame.function.as_ref().and_then(|name| name.raw_name().ok().map(|name| demangled(&name)));
            let location = frame.location.as_ref();
            chain.push(Frame {
                function: function.unwrap_or_default(),
                file: location.and_then(|at| at.file).map(str::to_owned),
                line: location.and_then(|at| at.line),
                ..Frame::default()
            });
        }
        chain
    }
}

/// Whether a frame's function has a name, rather than its address or module in place of one.
pub(super) fn is_named(frame: &Frame) -> bool {
    !frame.function.starts_with("0x") && !frame.function.starts_with('[')
}

/// A mangled name as people write it, without its hash; other names as they are.
pub(super) fn demangled(name: &str) -> String {
    format!("{:#}", rustc_demangle::demangle(name))
}

fn add_functions(file: &object::File<'_>, functions: &mut Vec<(u64, u64, String)>) {
    for symbol in file.symbols().chain(file.dynamic_symbols()) {
        if symbol.is_definition() && symbol.kind() == SymbolKind::Text {
            let name = symbol.name().map(demangled).unwrap_or_default();
            if !name.is_empty() {
                functions.push((symbol.address(), symbol.size(), name));
            }
        }
    }
}

/// Where distributions put the debug information of a stripped file.
fn debug_file(file: &object::File<'_>) -> Option<PathBuf> {
    let id = file.build_id().ok().flatten()?;
    let hex = hex(id);
    let path = Path::new("/usr/lib/debug/.build-id").join(hex.get(..2)?).join(format!("{}.debug", hex.get(2..)?));
    path.exists().then_some(path)
}

/// The vdso has no file; its image in memory is a whole ELF file. Other modules without a file are skipped.
fn memory_image(module: &Module) -> Vec<u8> {
    if !module.path.to_string_lossy().contains("vdso") {
        return Vec::new();
    }
    // The section headers follow the loaded segment, in the same pages.
    let length = ((module.range.end - module.range.start) as usize).next_multiple_of(4096);
    // SAFETY: the kernel maps the vdso's image in whole pages, which are never unmapped.
    unsafe { std::slice::from_raw_parts(module.range.start as *const u8, length) }.to_vec()
}

fn display_name(path: &Path) -> String {
    let real = if path == Path::new("/proc/self/exe") { std::env::current_exe().ok() } else { None };
    let path = real.as_deref().unwrap_or(path);
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[inline(never)]
    fn landmark() -> usize {
        std::hint::black_box(landmark as *const () as usize)
    }

    #[test]
    fn an_address_here_has_its_full_name_and_one_elsewhere_its_number() {
        let mut symbols = Symbols::of_this_process();
        let frames = symbols.frames(landmark() as u64 + 1);
        assert_eq!(frames[0].function, format!("{}::landmark", module_path!()));
        assert_eq!(frames[0].kind, FrameKind::Plain);
        assert!(frames[0].file.as_ref().unwrap().ends_with("symbols.rs"));
        assert_eq!(symbols.frames(0x10)[0].function, "0x10");
    }

    #[test]
    fn the_vdso_has_names() {
        let modules = loaded_modules();
        if let Some(vdso) = modules.iter().find(|module| module.path.to_string_lossy().contains("vdso")) {
            assert!(
                !Tables::load(vdso).functions.is_empty(),
                "{:?} {:?} {}",
                vdso.path,
                vdso.range,
                memory_image(vdso).len()
            );
        }
    }
}
