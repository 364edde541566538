//! Any bytes read as perf-data: a consistent profile or an error, which is then written in every format.
#![no_main]

libfuzzer_sys::fuzz_target!(init: countercheck_fuzz::forgive_the_parser_of_perf_data(), |bytes: &[u8]| {
    countercheck_fuzz::read_as("perf-data", bytes);
});
