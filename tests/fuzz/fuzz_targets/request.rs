//! Feeds `careen_fuzz::request`.
#![no_main]
libfuzzer_sys::fuzz_target!(|input: &[u8]| careen_fuzz::request::check(input));
