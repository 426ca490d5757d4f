//! The page that is rendered from the code. `CAREEN_BLESS=1 cargo test -p kubectl-careen --test
//! docs` writes it again.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};

use clap::Parser;
use kubectl::cli::Cli;

fn source() -> PathBuf {
    Path::new(&std::env::var("CARGO_MANIFEST_DIR").unwrap()).join("../..")
}

#[test]
fn the_page_of_commands_and_exit_codes_is_what_the_code_says() {
    let path = source().join("docs/kubectl-careen.md");
    let page = kubectl::reference::page();
    if std::env::var_os("CAREEN_BLESS").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        written, page,
        "docs/kubectl-careen.md has drifted: run CAREEN_BLESS=1 cargo test -p kubectl-careen --test docs"
    );
}

/// README.md and all of docs/, by name.
fn pages() -> Vec<(String, String)> {
    let docs = std::fs::read_dir(source().join("docs")).unwrap();
    let names = docs.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let names = names.filter(|name| name.ends_with(".md"));
    let pages = names.map(|name| format!("docs/{name}"));
    let read = |page: String| {
        let text = std::fs::read_to_string(source().join(&page)).unwrap();
        (page, text)
    };
    std::iter::once("README.md".to_owned())
        .chain(pages)
        .map(read)
        .collect()
}

/// What is typed of it in a page: in lines of code by themselves, however deep they lie, without
/// the usage of a command and a comment behind.
fn typed(text: &str) -> Vec<String> {
    let mut fenced = false;
    let mut is_code = |line: &str| {
        fenced ^= line.trim_start().starts_with("```");
        fenced || line.starts_with("    ")
    };
    let code = text.lines().filter(|line| is_code(line));
    let calls = code.filter_map(|line| line.trim_start().strip_prefix("kubectl careen "));
    let calls = calls.filter(|call| !call.contains("[OPTIONS]"));
    let calls = calls.map(|call| call.split(" #").next().unwrap().trim_end());
    calls.map(str::to_owned).collect()
}

/// The words of a call that reach the program: without the shell's redirection, and with an example
/// in place of each name that the reader fills in.
fn filled_in(call: &str) -> Vec<String> {
    let commit = format!("@{}", "0".repeat(64));
    let image = format!("ostree:careen:v2{commit}");
    let call = call.replace("@<commit>", &commit);
    let call = call.replace("$GOOD", &image).replace("$BAD", &image);
    let words = call
        .split_whitespace()
        .filter(|word| !word.starts_with('>'));
    let word = |word: &str| if word == "N" { "worker-1" } else { word }.to_owned();
    words.map(word).collect()
}

#[test]
fn what_a_person_is_told_to_type_is_taken() {
    let mut seen = Vec::new();
    for (page, text) in pages() {
        for call in typed(&text) {
            let words = std::iter::once("kubectl-careen".to_owned()).chain(filled_in(&call));
            if let Err(error) = Cli::try_parse_from(words) {
                panic!("{page}: {call}: {error}");
            }
            seen.push(page.clone());
        }
    }
    for page in [
        "README.md",
        "docs/install.md",
        "docs/runbook.md",
        "docs/tutorial.md",
    ] {
        assert!(seen.iter().any(|known| known == page), "{page}: {seen:?}");
    }
    assert!(seen.len() > 12, "{seen:?}");
}
