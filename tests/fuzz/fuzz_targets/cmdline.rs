//! Feeds `careen_fuzz::cmdline`.
#![no_main]
libfuzzer_sys::fuzz_target!(|input: &[u8]| careen_fuzz::cmdline::check(input));
