//! Feeds `careen_fuzz::menu`.
#![no_main]
libfuzzer_sys::fuzz_target!(|input: &[u8]| careen_fuzz::menu::check(input));
