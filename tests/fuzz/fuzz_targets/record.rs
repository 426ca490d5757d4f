//! Feeds `careen_fuzz::record`.
#![no_main]
libfuzzer_sys::fuzz_target!(|input: &[u8]| careen_fuzz::record::check(input));
