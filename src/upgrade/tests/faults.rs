//! The table of fault classes in docs/reliability.md names tests that are there.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::fs;
use std::path::{Path, PathBuf};

/// The table's short names of folders with tests.
const LAYERS: [(&str, &str); 10] = [
    ("power", "src/deploy/tests/power"),
    ("sysroot", "src/deploy/tests/sysroot"),
    ("host", "src/host/tests"),
    ("stage", "src/stage/tests"),
    ("brain", "src/upgrade/tests"),
    ("model", "tests/model/tests"),
    ("agent", "tests/tests/agent"),
    ("fuzz", "tests/fuzz/tests"),
    ("vm", "vm-tests/src/scenarios"),
    // Tests beside the code stand with their whole path.
    ("src", "src"),
];

fn source() -> PathBuf {
    Path::new(&std::env::var("CARGO_MANIFEST_DIR").unwrap()).join("../..")
}

/// The section about fault classes.
fn section() -> String {
    let text = fs::read_to_string(source().join("docs/reliability.md")).unwrap();
    let (_, rest) = text.split_once("\n## Fault classes\n").unwrap();
    rest.split("\n## ").next().unwrap().to_owned()
}

/// The rows that name tests: their cells.
fn rows() -> Vec<Vec<String>> {
    let section = section();
    let (_, tables) = section.split_once("\n| class |").unwrap();
    let lines = tables.lines().filter(|line| line.starts_with("| "));
    lines
        .map(|line| line.split('|').map(|cell| cell.trim().to_owned()).collect())
        .collect()
}

/// What stands between backticks and begins with the name of a layer.
fn named(cell: &str) -> Vec<&str> {
    let quoted = cell.split('`').skip(1).step_by(2);
    quoted
        .filter(|word| {
            let first = word.split('/').next().unwrap_or_default();
            word.contains('/') && LAYERS.iter().any(|(layer, _)| *layer == first)
        })
        .collect()
}

fn is_there(name: &str) -> bool {
    let (path, function) = name.split_once("::").unwrap_or((name, ""));
    let (layer, below) = path.split_once('/').unwrap();
    let (_, folder) = LAYERS.iter().find(|(known, _)| *known == layer).unwrap();
    let file = source().join(folder).join(below.replace('-', "_") + ".rs");
    let text = fs::read_to_string(file).unwrap_or_default();
    let wanted = match layer {
        "vm" => format!("name: \"{below}\""),
        _ => format!("fn {function}("),
    };
    text.contains(&wanted)
}

#[test]
fn every_test_that_the_table_of_fault_classes_names_is_there() {
    let rows = rows();
    let tests: Vec<_> = rows
        .iter()
        .flat_map(|row| named(&row[row.len() - 2]))
        .collect();
    assert!(tests.len() > 80, "only {} tests are named", tests.len());
    let missing: Vec<_> = tests.into_iter().filter(|name| !is_there(name)).collect();
    assert!(missing.is_empty(), "not there: {missing:#?}");
}

#[test]
fn every_fault_class_has_one_row_with_tests_or_a_word_about_them() {
    let rows = rows();
    for class in (1..=25).map(|number| format!("T{number}")) {
        let its_own: Vec<_> = rows.iter().filter(|row| row[1] == class).collect();
        let [row] = its_own[..] else {
            panic!("{class} has {} rows", its_own.len());
        };
        let tests = &row[row.len() - 2];
        let excused = tests.starts_with("not covered yet") || tests == "none needed";
        assert!(excused || !named(tests).is_empty(), "{class}: {tests}");
    }
}
