//! Feeds `careen_fuzz::said`.
#![no_main]
libfuzzer_sys::fuzz_target!(|input: &[u8]| careen_fuzz::said::check(input));
