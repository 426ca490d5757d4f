//! The advice of each reason: there is one, and it agrees with the docs.
#![allow(clippy::unwrap_used)]

mod scene;

use scene::{page, reasons};
use upgrade::Reason;
use upgrade::reason::{ROWS, Row};

fn first(code: &str) -> &'static str {
    Row::of(code).unwrap().advice.first
}

/// The runbook's section for a code.
fn section(code: &str) -> String {
    let page = page::read("runbook.md");
    let begin = format!("\n### {code}\n");
    let (_, section) = page.split_once(&begin).unwrap();
    section.split("\n#").next().unwrap().to_owned()
}

/// The text in backticks.
fn commands(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

#[test]
fn each_row_has_the_code_that_the_record_has() {
    let codes: Vec<_> = reasons::all().iter().map(Reason::code).collect();
    let rows: Vec<_> = ROWS.iter().map(|row| row.code).collect();
    assert_eq!(rows, codes);
}

#[test]
fn code_of_a_newer_version_has_no_row() {
    assert!(Row::of("Mystery").is_none());
    assert!(Row::of("").is_none());
}

/// The same codes cover both.
#[test]
fn image_source_advice_names_remote_and_registry_settings() {
    for code in [
        "RemoteAway",
        "Unsigned",
        "WrongSignature",
        "VerificationOff",
    ] {
        for place in [
            "/etc/ostree/remotes.d",
            "/etc/containers",
            "registry.signed-by",
        ] {
            assert!(first(code).contains(place), "{code}: {}", first(code));
        }
    }
}

#[test]
fn advice_without_journal_output_uses_the_runbook_commands() {
    for code in ["StageRefused", "RememberedBad", "NoVerdict"] {
        let commands = commands(first(code));
        assert!(!commands.is_empty(), "{code}: {}", first(code));
        for command in commands {
            assert_ne!(command, "journalctl -b -1", "{code}");
            assert!(section(code).contains(command), "{code}: {command}");
        }
    }
}

#[test]
fn no_image_is_called_remembered_that_is_not() {
    let page = page::read("reasons.md");
    let row = |code: &str| {
        page.lines()
            .find(|line| line.contains(&format!("[`{code}`]")))
    };
    for Row { code, advice } in ROWS {
        if advice.first.contains("is remembered") {
            let row = row(code).unwrap();
            assert!(row.contains("the image is remembered"), "{code}");
        }
    }
}

/// A user who installed the package does not have the source tree.
#[test]
fn no_advice_sends_a_reader_to_a_file_of_our_docs() {
    for Row { code, advice } in ROWS {
        assert!(!advice.first.contains(".md"), "{code}: {}", advice.first);
    }
}
