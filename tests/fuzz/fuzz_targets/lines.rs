//! Feeds `careen_fuzz::lines`.
#![no_main]
libfuzzer_sys::fuzz_target!(|input: &[u8]| careen_fuzz::lines::check(input));
