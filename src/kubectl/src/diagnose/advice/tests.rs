use super::*;
use std::path::Path;

/// The same codes cover both.
#[test]
fn image_source_advice_names_remote_and_registry_settings() {
    for code in [
        "RemoteAway",
        "Unsigned",
        "WrongSignature",
        "VerificationOff",
    ] {
        let (_, advice) = ADVICE.iter().find(|(known, _)| *known == code).unwrap();
        for place in [
            "/etc/ostree/remotes.d",
            "/etc/containers",
            "registry.signed-by",
        ] {
            assert!(advice.first.contains(place), "{code}: {}", advice.first);
        }
    }
}

/// The runbook's section for a code.
fn section(code: &str) -> String {
    let page = docs("runbook.md");
    let begin = format!("\n### {code}\n");
    let (_, section) = page.split_once(&begin).unwrap();
    section.split("\n#").next().unwrap().to_owned()
}

fn docs(page: &str) -> String {
    let folder = Path::new(&std::env::var("CARGO_MANIFEST_DIR").unwrap()).join("../../docs");
    std::fs::read_to_string(folder.join(page)).unwrap()
}

/// The text in backticks.
fn commands(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

#[test]
fn advice_without_journal_output_uses_the_runbook_commands() {
    for code in ["StageRefused", "RememberedBad", "NoVerdict"] {
        let advice = of(code).unwrap();
        let commands = commands(advice.first);
        assert!(!commands.is_empty(), "{code}: {}", advice.first);
        for command in commands {
            assert_ne!(command, "journalctl -b -1", "{code}");
            assert!(section(code).contains(command), "{code}: {command}");
        }
    }
    for command in commands(OVERTAKEN.first) {
        assert!(section("ForeignDefault").contains(command), "{command}");
    }
}

#[test]
fn no_image_is_called_remembered_that_is_not() {
    let page = docs("reasons.md");
    let row = |code: &str| {
        page.lines()
            .find(|line| line.contains(&format!("[`{code}`]")))
    };
    for (code, advice) in ADVICE {
        if advice.first.contains("is remembered") {
            let row = row(code).unwrap();
            assert!(row.contains("the image is remembered"), "{code}");
        }
    }
}

#[test]
fn there_is_advice_for_every_reason_and_for_nothing_else() {
    let page = docs("reasons.md");
    let rows = page.lines().filter_map(|line| line.strip_prefix("| [`"));
    let codes: Vec<&str> = rows.filter_map(|row| row.split('`').next()).collect();
    let advised: Vec<&str> = ADVICE.iter().map(|(code, _)| *code).collect();
    assert_eq!(codes, advised);
}

/// A user who installed the package does not have the source tree.
#[test]
fn no_advice_sends_a_reader_to_a_file_of_our_docs() {
    let others = [UNKNOWN, OVERTAKEN];
    let all = ADVICE.iter().map(|(_, advice)| *advice).chain(others);
    for advice in all {
        assert!(!advice.first.contains(".md"), "{}", advice.first);
    }
}
