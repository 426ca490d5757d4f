//! Feeds `careen_fuzz::entry`.
#![no_main]
libfuzzer_sys::fuzz_target!(|input: &[u8]| careen_fuzz::entry::check(input));
