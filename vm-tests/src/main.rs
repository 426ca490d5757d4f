//! `vm-tests`: lists and runs the scenarios.

fn main() {}
