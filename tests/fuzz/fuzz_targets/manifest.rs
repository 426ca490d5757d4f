//! Feeds `careen_fuzz::manifest`.
#![no_main]
libfuzzer_sys::fuzz_target!(|input: &[u8]| careen_fuzz::manifest::check(input));
