//! Any bytes read by detection, packings included.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| countercheck_fuzz::read_any(bytes));
