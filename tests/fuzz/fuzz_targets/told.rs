//! Feeds `careen_fuzz::told`.
#![no_main]
libfuzzer_sys::fuzz_target!(|input: &[u8]| careen_fuzz::told::check(input));
