//! The built-in suite from the command line.

/// Counts what the measured code allocates, where the harness asks for it.
#[global_allocator]
static ALLOCATOR: countercheck::harness::alloc::Counting = countercheck::harness::alloc::Counting;

fn main() -> std::process::ExitCode {
    countercheck::cli::main(&countercheck::operation::builtin())
}
