//! What the pages of the docs and the README tell a person to type is there.
#![allow(clippy::unwrap_used)]

mod scene;

use std::collections::BTreeSet;
use std::fs;

use scene::page;
use upgrade::names;

fn text_of(path: &str) -> String {
    fs::read_to_string(page::source().join(path)).unwrap()
}

/// What is between backticks, and lines that are set in as a whole.
fn typed(text: &str) -> impl Iterator<Item = &str> {
    let quoted = text.split('`').skip(1).step_by(2);
    let lines = text.lines().filter_map(|line| line.strip_prefix("    "));
    quoted.chain(lines)
}

/// On every page, what follows this word where it is the first to be typed.
fn behind(first: &str) -> BTreeSet<String> {
    let pages = page::all();
    let all = pages.iter().flat_map(|(_, text)| typed(text));
    let calls = all.filter_map(|typed| typed.trim().strip_prefix(first)?.strip_prefix(' '));
    calls.map(str::to_owned).collect()
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|c| c.is_ascii_lowercase() || c == b'-')
}

#[test]
fn every_verb_of_make_is_in_the_makefile() {
    let makefile = text_of("Makefile");
    let calls = behind("make");
    let verbs: BTreeSet<_> = calls
        .iter()
        .filter_map(|call| call.split_whitespace().next())
        .filter(|verb| is_word(verb))
        .collect();
    assert!(verbs.len() > 10, "only {verbs:?}");
    for verb in verbs {
        assert!(makefile.contains(&format!("\n{verb}:")), "make {verb}");
    }
}

#[test]
fn every_scenario_that_is_to_be_run_by_name_is_there() {
    let folder = page::source().join("vm-tests/scenarios/src");
    let files = fs::read_dir(folder).unwrap();
    // One of several files has the others in a folder.
    let all: String = files
        .map(|file| file.unwrap().path())
        .filter(|path| path.is_file())
        .map(|path| fs::read_to_string(path).unwrap())
        .collect();
    let calls = behind("make");
    let named = calls.iter().flat_map(|call| call.split_whitespace());
    let named: BTreeSet<_> = named
        .filter_map(|word| word.strip_prefix("S="))
        .filter(|name| is_word(name) && !["all", "core"].contains(name))
        .collect();
    assert!(!named.is_empty());
    for name in named {
        assert!(
            all.contains(&format!("name: \"{name}\"")),
            "make vm S={name}"
        );
    }
}

#[test]
fn every_image_of_the_tutorial_is_one_of_the_rig() {
    let recipes = text_of("vm-tests/rig/src/images/recipe.rs");
    let tutorial = page::read("tutorial.md");
    let images: BTreeSet<_> = tutorial
        .split("debug/images ")
        .skip(1)
        .filter_map(|rest| rest.split(')').next())
        .collect();
    assert!(images.len() >= 3, "only {images:?}");
    for image in images {
        assert!(recipes.contains(&format!("\"{image}\"")), "{image}");
    }
}

/// Where names of ours that are not on the Node are written down.
const ELSEWHERE: [&str; 5] = [
    "src/provider/src/names.rs",
    "src/provider/src/rights.rs",
    "src/provider/src/catalogue/crd.rs",
    "src/provider/src/kinds/keys.rs",
    "src/agent/src/report/event.rs",
];

#[test]
fn every_name_below_careen_dev_is_one_of_the_code() {
    let elsewhere: String = ELSEWHERE.into_iter().map(text_of).collect();
    for (file, text) in page::all() {
        for rest in text.split("careen.dev/").skip(1) {
            let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
            // kubectl takes off what is named with a hyphen behind it.
            let word = rest[..end.unwrap_or(rest.len())].trim_end_matches('-');
            let name = format!("careen.dev/{word}");
            let known = names::TABLE.iter().any(|row| row.name == name)
                || elsewhere.contains(&name)
                || word == "v1alpha1";
            assert!(known, "{file}: {name}");
        }
    }
}

/// docs/reasons.md is rendered from the code. A reason in parentheses differs from case to case.
#[test]
fn tutorial_waits_for_sentences_that_reasons_have() {
    let tutorial = text_of("docs/tutorial.md");
    let awaited = |line: &str| {
        let text = line.strip_prefix("<!-- host; until ")?;
        Some(text.strip_suffix(" -->")?.split(" (").next()?.to_owned())
    };
    let awaited: Vec<_> = tutorial.lines().filter_map(awaited).collect();
    assert!(awaited.len() >= 2, "{awaited:?}");
    let reasons = text_of("docs/reasons.md");
    for text in awaited {
        assert!(reasons.contains(&text), "no reason says {text:?}");
    }
}
