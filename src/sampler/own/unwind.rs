//! Walks a stack from an interrupted instruction, inside a signal handler.
//!
//! Modules and their unwind tables are copied before sampling starts; walking allocates nothing, takes no
//! lock, and reads the stack through the kernel, which answers a wrong address with an error.

use framehop::{
    CacheNative, ExplicitModuleSectionInfo, FrameAddress, Module, MustNotAllocateDuringUnwind, UnwindRegsNative,
    Unwinder as _, UnwinderNative,
};

use crate::sampler::symbols;

/// Frames kept at each end of a stack; those between are counted and left out.
pub(super) const KEPT: usize = 512;
/// Deeper stacks are given up.
const DEEPEST: usize = 1 << 16;
const PAGE: u64 = 4096;
const PAGES: usize = 8;

/// The unwind tables of all loaded modules.
pub(super) struct Tables {
    unwinder: UnwinderNative<Vec<u8>, MustNotAllocateDuringUnwind>,
}

impl Tables {
    pub(super) fn of_this_process() -> Self {
        let mut unwinder = UnwinderNative::new();
        for module in symbols::loaded_modules() {
            if let Some(sections) = sections(&module) {
                let name = module.path.to_string_lossy().into_owned();
                unwinder.add_module(Module::new(name, module.range.clone(), module.bias, sections));
            }
        }
        Self { unwinder }
    }
}

/// Copies the unwind sections of a module from memory, so that unloading it cannot pull them away.
fn sections(module: &symbols::Module) -> Option<ExplicitModuleSectionInfo<Vec<u8>>> {
    let index = module.unwind_index.clone()?;
    // SAFETY: the dynamic linker lists the range as a loaded, readable part of the module.
    let index_bytes =
        unsafe { std::slice::from_raw_parts(index.start as *const u8, (index.end - index.start) as usize) };
    // Version 1, then the encoding of the pointer to the frames: every linker in use writes a signed 32-bit
    // offset from the field itself.
    let [1, 0x1b, _, _, offset @ ..] = index_bytes else { return None };
    let offset = i32::from_le_bytes(*offset.first_chunk()?);
    let frames = (index.start + 4).checked_add_signed(i64::from(offset))?;
    let segment = module.segments.iter().find(|segment| segment.contains(&frames))?;
    // SAFETY: as above; the section ends somewhere in its segment, and its last entry says so itself.
    let frame_bytes = unsafe { std::slice::from_raw_parts(frames as *const u8, (segment.end - frames) as usize) };
    let in_file = |range: std::ops::Range<u64>| Some(range.start - module.bias..range.end - module.bias);
    Some(ExplicitModuleSectionInfo {
        base_svma: 0,
        text_svma: in_file(module.range.clone()),
        eh_frame_svma: in_file(frames..segment.end),
        eh_frame: Some(frame_bytes.to_vec()),
        eh_frame_hdr_svma: in_file(index.clone()),
        eh_frame_hdr: Some(index_bytes.to_vec()),
        ..ExplicitModuleSectionInfo::default()
    })
}

/// How a walk ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// At the thread's first function.
    Root,
    /// Somewhere before, because a frame could not be left or the stack is too deep.
    Broken,
}

/// A thread's room for walking its stack.
pub(super) struct Walker {
    cache: CacheNative<MustNotAllocateDuringUnwind>,
    memory: Memory,
    /// Leaf first: the first [`KEPT`] addresses.
    leaf: [u64; KEPT],
    /// The last [`KEPT`] after those, as a ring.
    root: [u64; KEPT],
}

/// A walked stack, leaf first: the parts to be put after one another, and how many frames are missing
/// between the first and the second.
pub(super) struct Walked<'a> {
    pub(super) parts: [&'a [u64]; 3],
    pub(super) left_out: u64,
    pub(super) end: End,
}

impl Walker {
    pub(super) fn new() -> Self {
        Self { cache: CacheNative::new_in(), memory: Memory::new(), leaf: [0; KEPT], root: [0; KEPT] }
    }

    /// Walks from the interrupted state. The first address is the interrupted instruction's own; the others
    /// are return addresses.
    pub(super) fn walk(&mut self, tables: &Tables, state: &State) -> Walked<'_> {
        self.memory.forget();
        let Self { cache, memory, leaf, root } = self;
        let mut read = |address| memory.read(address);
        let mut registers = state.registers;
        let mut address = FrameAddress::from_instruction_pointer(state.pc);
        let mut depth = 0;
        let end = loop {
            let raw = address.address();
            if depth < KEPT {
                leaf[depth] = raw
            } else {
                root[depth % KEPT] = raw
            }
            depth += 1;
            if depth == DEEPEST {
                break End::Broken;
            }
            match tables.unwinder.unwind_frame(address, &mut registers, cache, &mut read) {
                Ok(None) => break End::Root,
                Ok(Some(next)) => match FrameAddress::from_return_address(next) {
                    Some(next) => address = next,
                    None => break End::Broken,
                },
                Err(_) => break End::Broken,
            }
        };
        if depth <= KEPT {
            return Walked { parts: [&leaf[..depth], &[], &[]], left_out: 0, end };
        }
        if depth <= 2 * KEPT {
            return Walked { parts: [&leaf[..], &root[..depth - KEPT], &[]], left_out: 0, end };
        }
        let oldest = depth % KEPT;
        Walked { parts: [&leaf[..], &root[oldest..], &root[..oldest]], left_out: (depth - 2 * KEPT) as u64, end }
    }
}

/// The registers that a walk starts from.
pub(super) struct State {
    pub(super) pc: u64,
    registers: UnwindRegsNative,
}

impl State {
    /// The interrupted state in a signal handler's third argument.
    ///
    /// # Safety
    /// `context` is what the kernel passed to the handler.
    pub(super) unsafe fn interrupted(context: *const libc::c_void) -> Self {
        // SAFETY: the caller passes the kernel's context.
        let machine = unsafe { &(*context.cast::<libc::ucontext_t>()).uc_mcontext };
        #[cfg(target_arch = "x86_64")]
        {
            let register = |name: i32| machine.gregs[name as usize] as u64;
            let pc = register(libc::REG_RIP);
            Self { pc, registers: UnwindRegsNative::new(pc, register(libc::REG_RSP), register(libc::REG_RBP)) }
        }
        #[cfg(target_arch = "aarch64")]
        Self { pc: machine.pc, registers: UnwindRegsNative::new(machine.regs[30], machine.sp, machine.regs[29]) }
    }

    /// Whether the thread was interrupted in a system call: behind the instruction, or on it where the call
    /// will be made again.
    pub(super) fn in_system_call(&self) -> bool {
        #[cfg(target_arch = "x86_64")]
        let (instruction, length): (&[u8], u64) = (&[0x0f, 0x05], 2);
        #[cfg(target_arch = "aarch64")]
        let (instruction, length): (&[u8], u64) = (&[0x01, 0x00, 0x00, 0xd4], 4);
        let at = |address: u64| {
            // Both bytes lie in the page of the interrupted instruction, which is mapped.
            address / PAGE == self.pc / PAGE
                && (address + length - 1) / PAGE == self.pc / PAGE
                // SAFETY: code pages are readable on Linux unless a program takes pains to hide them.
                && unsafe { std::slice::from_raw_parts(address as *const u8, length as usize) } == instruction
        };
        at(self.pc.wrapping_sub(length)) || at(self.pc)
    }
}

/// Pages of this process's memory, read through the kernel.
struct Memory {
    addresses: [u64; PAGES],
    next: usize,
    pages: Box<[[u64; PAGE as usize / 8]; PAGES]>,
}

impl Memory {
    fn new() -> Self {
        Self { addresses: [0; PAGES], next: 0, pages: Box::new([[0; PAGE as usize / 8]; PAGES]) }
    }

    fn forget(&mut self) {
        self.addresses = [0; PAGES];
    }

    fn read(&mut self, address: u64) -> Result<u64, ()> {
        let page = address & !(PAGE - 1);
        let word = (address % PAGE) as usize / 8;
        if page == 0 || !address.is_multiple_of(8) {
            return Err(());
        }
        let at = match self.addresses.iter().position(|known| *known == page) {
            Some(at) => at,
            None => {
                let at = self.next;
                self.addresses[at] = 0;
                if !read_memory(page, &mut self.pages[at]) {
                    return Err(());
                }
                self.addresses[at] = page;
                self.next = (at + 1) % PAGES;
                at
            }
        };
        Ok(self.pages[at][word])
    }
}

/// Copies this process's memory at an address through the kernel; false where it is not mapped.
pub(super) fn read_memory(address: u64, into: &mut [u64]) -> bool {
    let length = size_of_val(into);
    let local = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: length };
    let remote = libc::iovec { iov_base: address as *mut libc::c_void, iov_len: length };
    // SAFETY: `local` describes `into`; the kernel checks `remote`.
    let copied = unsafe { libc::process_vm_readv(libc::getpid(), &raw const local, 1, &raw const remote, 1, 0) };
    copied == length as isize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_is_not_mapped_is_an_error() {
        let here = [1u64, 2, 3];
        let mut memory = Memory::new();
        assert_eq!(memory.read(&raw const here[1] as u64), Ok(2));
        assert_eq!(memory.read(8), Err(()));
        assert_eq!(memory.read(!7), Err(()));
    }

    #[test]
    fn every_module_with_an_index_has_its_tables() {
        let modules = symbols::loaded_modules();
        assert!(modules.iter().filter(|module| module.unwind_index.is_some()).all(|module| sections(module).is_some()));
        assert!(modules.iter().any(|module| module.unwind_index.is_some()));
    }
}
