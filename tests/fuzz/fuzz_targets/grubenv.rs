//! Feeds `careen_fuzz::grubenv`.
#![no_main]
libfuzzer_sys::fuzz_target!(|input: &[u8]| careen_fuzz::grubenv::check(input));
