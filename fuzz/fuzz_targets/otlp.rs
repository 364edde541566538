//! Any bytes read as otlp: a consistent profile or an error, which is then written in every format.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| countercheck_fuzz::read_as("otlp", bytes));
