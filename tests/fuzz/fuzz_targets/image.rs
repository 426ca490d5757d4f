//! Feeds `careen_fuzz::image`.
#![no_main]
libfuzzer_sys::fuzz_target!(|input: &[u8]| careen_fuzz::image::check(input));
