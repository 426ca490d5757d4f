//! Passes two options to the linker where the agent goes into images.

use std::env;

/// An idle agent's memory is its program, for the most part, and the options make it smaller.
///
/// - `--icf=all`: of functions with the same instructions the linker keeps one. No code of ours
///   compares addresses of functions. Rust's own linker (LLD, the default on this target since Rust
///   1.90) knows the option, GNU ld does not.
/// - `pack-relative-relocs`: the list of addresses that the loader adjusts at the start is 430 KiB
///   shorter. It needs glibc 2.36 (sourceware.org/glibc/wiki/Release/2.36, `DT_RELR`). Debian 12 has
///   that, and an older system has an older dracut than we need.
fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |variable, value| env::var(variable).is_ok_and(|found| found == value);
    let goes_into_images = is("OPT_LEVEL", "z");
    if goes_into_images && is("TARGET", "x86_64-unknown-linux-gnu") {
        println!("cargo::rustc-link-arg-bins=-Wl,--icf=all");
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}
