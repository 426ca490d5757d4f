//! Tests of the whole workspace state their behaviour in names that a report can show.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};

/// The longest name of a test, in characters.
const LONGEST: usize = 60;

/// The folders that hold Rust. A run of scenarios changes `vm-tests/out` meanwhile.
const FOLDERS: [&str; 8] = [
    "src",
    "tests",
    "vm-tests/rig",
    "vm-tests/scenarios",
    "vm-tests/soak",
    "vm-tests/src",
    "vm-tests/tests",
    "packaging",
];

#[test]
fn test_names_have_at_most_60_characters() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut long = Vec::new();
    for folder in FOLDERS {
        for file in sources(&root.join(folder)) {
            let text = fs::read_to_string(&file).unwrap();
            let names = tests(&text).filter(|name| name.len() > LONGEST);
            long.extend(names.map(|name| format!("{}: {name}", file.display())));
        }
    }
    assert!(long.is_empty(), "too long: {long:#?}");
}

#[test]
fn tests_are_found_after_their_attributes() {
    let text = "#[test]\n#[ignore = \"slow\"]\nfn one() {}\nfn none() {}\n#[tokio::test(start_paused = true)]\nasync fn two() {}\n";
    assert_eq!(tests(text).collect::<Vec<_>>(), ["one", "two"]);
}

/// The Rust files below a folder.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if entry.file_type().unwrap().is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found
}

/// The names of the functions that an attribute makes tests.
fn tests(text: &str) -> impl Iterator<Item = &str> {
    let mut is_test = false;
    text.lines().map(str::trim).filter_map(move |line| {
        let marks = line.starts_with("#[test]") || line.starts_with("#[tokio::test");
        let marked = is_test;
        is_test = marks || marked && line.starts_with('#');
        let function = line.strip_prefix("async ").unwrap_or(line);
        let name = function.strip_prefix("fn ").filter(|_| marked)?;
        name.split(['(', '<']).next()
    })
}
