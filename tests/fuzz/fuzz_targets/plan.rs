//! Feeds `careen_fuzz::plan`.
#![no_main]
libfuzzer_sys::fuzz_target!(|input: &[u8]| careen_fuzz::plan::check(input));
