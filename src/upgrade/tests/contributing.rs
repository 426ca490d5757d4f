//! CONTRIBUTING.md leads the next person to files and verbs that exist, and `make help` fits a
//! terminal.
#![allow(clippy::unwrap_used)]

mod scene;

use std::fs;

use scene::page::source;

fn text_of(path: &str) -> String {
    fs::read_to_string(source().join(path)).unwrap()
}

fn contributing() -> String {
    text_of("CONTRIBUTING.md")
}

/// What is between backticks and names a file or folder of the source tree.
fn named(text: &str) -> Vec<&str> {
    let quoted = text.split('`').skip(1).step_by(2);
    let top = |word: &&str| {
        let first = word.split('/').next().unwrap_or_default();
        !word.contains(' ') && is_at_the_top(first)
    };
    quoted.filter(top).filter(|word| !is_made(word)).collect()
}

fn is_at_the_top(name: &str) -> bool {
    const FOLDERS: [&str; 8] = [
        "src",
        "tests",
        "vm-tests",
        "docs",
        "packaging",
        "systemd",
        "dracut",
        ".ci",
    ];
    FOLDERS.contains(&name)
}

/// Whether `make` writes it, so that a fresh tree does not have it.
fn is_made(path: &str) -> bool {
    path == "packaging/out"
}

/// The rows of the table of a section, each as its cells.
fn rows<'a>(text: &'a str, section: &str) -> Vec<Vec<&'a str>> {
    let head = format!("\n## {section}\n");
    let (_, rest) = text.split_once(&head).unwrap();
    let section = rest.split("\n## ").next().unwrap();
    let lines = section.lines().filter(|line| line.starts_with("| "));
    let cells = lines.map(|line| line.trim_matches('|').split('|').map(str::trim).collect());
    cells.skip(1).collect()
}

/// The verbs that `make help` lists, with their texts.
fn verbs(makefile: &str) -> Vec<(&str, &str)> {
    let entries = makefile.lines().filter_map(|line| line.split_once(" ## "));
    entries
        .filter_map(|(rule, text)| Some((rule.split_once(':')?.0, text)))
        .collect()
}

#[test]
fn every_file_that_contributing_names_exists() {
    let text = contributing();
    let files = named(&text);
    assert!(files.len() > 50, "only {files:?}");
    let gone: Vec<_> = files
        .iter()
        .filter(|file| !source().join(file).exists())
        .collect();
    assert!(gone.is_empty(), "CONTRIBUTING.md names {gone:?}");
}

#[test]
fn every_kind_of_change_has_files_and_tests() {
    let text = contributing();
    let rows = rows(&text, "To change X");
    assert!(rows.len() >= 8, "only {rows:?}");
    for row in rows {
        assert!(!named(row[1]).is_empty(), "no file for {}", row[0]);
        let tests = !named(row[2]).is_empty() || row[2].contains("`make ");
        assert!(tests, "no test for {}", row[0]);
    }
}

#[test]
fn every_crate_of_the_workspace_is_on_the_map() {
    let manifest = text_of("Cargo.toml");
    let members = manifest.split("members = [").nth(1).unwrap();
    let members = members.split(']').next().unwrap();
    let text = contributing();
    let map = rows(&text, "The map");
    for member in members.split('"').skip(1).step_by(2) {
        let there = map.iter().any(|row| row.join(" ").contains(member));
        assert!(there, "{member} is not on the map of CONTRIBUTING.md");
    }
}

#[test]
fn every_verb_of_make_help_is_explained() {
    let (makefile, text) = (text_of("Makefile"), contributing());
    let verbs = verbs(&makefile);
    assert!(verbs.len() > 25, "only {verbs:?}");
    for (verb, _) in verbs {
        let plain = ["help", "setup", "demo-capi"].contains(&verb);
        let told = text.contains(&format!("`make {verb}`"));
        assert!(
            plain || told,
            "CONTRIBUTING.md does not explain make {verb}"
        );
    }
}

#[test]
fn every_line_of_make_help_fits_in_80_columns() {
    for (verb, text) in verbs(&text_of("Makefile")) {
        let width = format!("  make {verb:<16} {text}").chars().count();
        assert!(width <= 80, "make {verb}: {width} columns");
    }
}

#[test]
fn prose_for_the_next_person_wraps_at_100_columns() {
    for file in [
        "README.md",
        "CONTRIBUTING.md",
        "CHANGELOG.md",
        "docs/decisions.md",
    ] {
        for (at, line) in text_of(file).lines().enumerate() {
            let long = line.chars().count() > 100 && !line.starts_with('|');
            assert!(!long, "{file}, line {}", at + 1);
        }
    }
}

/// A person who looks for the first time reads it whole.
#[test]
fn readme_has_at_most_80_lines() {
    let lines = text_of("README.md").lines().count();
    assert!(lines <= 80, "README.md has {lines} lines");
}

#[test]
fn each_entry_of_the_glossary_has_at_most_30_words() {
    let page = text_of("docs/concepts.md");
    let entries = rows(&page, "Words");
    assert!(entries.len() > 25, "only {} entries", entries.len());
    for entry in entries {
        let words = entry[1].split_whitespace().count();
        assert!(words <= 30, "{} has {words} words", entry[0]);
    }
}

#[test]
fn each_decision_names_what_lost() {
    let page = text_of("docs/decisions.md");
    let decisions: Vec<_> = page.split("\n### ").skip(1).collect();
    assert!(decisions.len() > 50, "only {} decisions", decisions.len());
    for decision in decisions {
        let title = decision.lines().next().unwrap();
        assert!(decision.contains("\nAlternative"), "{title}");
    }
}

/// clippy sees neither a tuple nor `matches!`; a reader must.
#[test]
fn each_program_and_library_below_src_denies_wildcards() {
    let mut roots = 0;
    for folder in fs::read_dir(source().join("src")).unwrap() {
        let folder = folder.unwrap().path().join("src");
        let bins = fs::read_dir(folder.join("bin")).into_iter().flatten();
        let bins = bins.map(|entry| entry.unwrap().path());
        let named = ["lib.rs", "main.rs"].map(|name| folder.join(name));
        for root in named.into_iter().chain(bins).filter(|root| root.is_file()) {
            let text = fs::read_to_string(&root).unwrap();
            let denies = text.contains("#![deny(clippy::wildcard_enum_match_arm)]");
            assert!(denies, "{}", root.display());
            roots += 1;
        }
    }
    assert!(roots > 13, "{roots}");
}
