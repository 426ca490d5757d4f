//! Passes one option to the linker where the agent goes into images.

use std::env;

/// An idle agent's memory is its program, for the most part, and `--icf=all` makes it smaller: of
/// functions with the same instructions the linker keeps one. No code of ours compares addresses of
/// functions. Rust's own linker (LLD, the default on this target since Rust 1.90) knows the option,
/// GNU ld does not.
fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |variable, value| env::var(variable).is_ok_and(|found| found == value);
    let goes_into_images = is("OPT_LEVEL", "z");
    if goes_into_images && is("TARGET", "x86_64-unknown-linux-gnu") {
        println!("cargo::rustc-link-arg-bins=-Wl,--icf=all");
    }
}
