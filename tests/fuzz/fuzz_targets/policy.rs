//! Feeds `careen_fuzz::policy`.
#![no_main]
libfuzzer_sys::fuzz_target!(|input: &[u8]| careen_fuzz::policy::check(input));
