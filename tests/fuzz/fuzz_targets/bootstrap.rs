//! Feeds `careen_fuzz::bootstrap`.
#![no_main]
libfuzzer_sys::fuzz_target!(|input: &[u8]| careen_fuzz::bootstrap::check(input));
