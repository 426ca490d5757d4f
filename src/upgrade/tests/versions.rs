//! Every program says the version that it was packaged as. A plain build cannot tell that from
//! Cargo's, so the sources are looked at.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};

/// The one place that may ask Cargo.
const OWN: &str = "upgrade/src/release.rs";

fn sources() -> Vec<(PathBuf, String)> {
    let src = Path::new(&std::env::var("CARGO_MANIFEST_DIR").unwrap()).join("..");
    let crates = fs::read_dir(src).unwrap();
    let mut found = Vec::new();
    for one in crates {
        below(&one.unwrap().path().join("src"), &mut found);
    }
    found
}

fn below(folder: &Path, found: &mut Vec<(PathBuf, String)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            below(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            found.push((path, text));
        }
    }
}

/// What clap is told of a program that has a `--version`.
fn with_a_version(text: &str) -> impl Iterator<Item = &str> {
    let attributes = text.split("#[command(").skip(1);
    let attributes = attributes.filter_map(|rest| rest.split(")]").next());
    attributes.filter(|inner| inner.contains("name = ") && inner.contains("version"))
}

#[test]
fn every_program_with_a_version_says_the_release() {
    let sources = sources();
    let all = sources.iter();
    let all = all.flat_map(|(path, text)| with_a_version(text).map(move |inner| (path, inner)));
    let all: Vec<_> = all.collect();
    assert!(all.len() >= 6, "the programs are found: {all:?}");
    for (path, inner) in all {
        assert!(inner.contains("release::THIS"), "{}", path.display());
    }
}

#[test]
fn nothing_else_asks_cargo_for_a_version() {
    for (path, text) in sources() {
        let asks = text.contains("CARGO_PKG_VERSION");
        assert!(!asks || path.ends_with(OWN), "{}", path.display());
    }
}
