//! Feeds `careen_fuzz::brain`.
#![no_main]
libfuzzer_sys::fuzz_target!(|input: &[u8]| careen_fuzz::brain::check(input));
