//! The built-in suite from the command line.

fn main() -> std::process::ExitCode {
    countercheck::cli::main(&countercheck::operation::builtin())
}
