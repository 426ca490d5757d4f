//! The page that is rendered from the code. `CAREEN_BLESS=1 cargo test -p kubectl-careen --test docs` writes it anew.
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

#[test]
fn what_a_person_is_told_to_type_is_taken() {
    let commit = format!("@{}", "0".repeat(64));
    let mut typed = 0;
    for page in ["README.md", "docs/tutorial.md"] {
        let text = std::fs::read_to_string(source().join(page)).unwrap();
        let calls = text
            .lines()
            .filter_map(|line| line.strip_prefix("    kubectl careen "));
        for call in calls {
            typed += 1;
            let image = format!("ostree:careen:v2{commit}");
            let call = call.replace("@<commit>", &commit);
            let call = call.replace("$GOOD", &image).replace("$BAD", &image);
            let words = ["kubectl-careen"].into_iter().chain(call.split(' '));
            if let Err(error) = Cli::try_parse_from(words) {
                panic!("{page}: {call}: {error}");
            }
        }
    }
    assert!(typed > 5, "only {typed}");
}
