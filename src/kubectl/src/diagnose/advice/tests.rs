use super::*;
use std::path::Path;

/// The runbook's section for a code.
fn section(code: &str) -> String {
    let folder = Path::new(&std::env::var("CARGO_MANIFEST_DIR").unwrap()).join("../../docs");
    let page = std::fs::read_to_string(folder.join("runbook.md")).unwrap();
    let begin = format!("\n### {code}\n");
    let (_, section) = page.split_once(&begin).unwrap();
    section.split("\n#").next().unwrap().to_owned()
}

/// The text in backticks.
fn commands(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

#[test]
fn advice_after_a_lost_default_uses_the_runbook_commands() {
    for command in commands(OVERTAKEN.first) {
        assert!(section("ForeignDefault").contains(command), "{command}");
    }
}

/// A user who installed the package does not have the source tree.
#[test]
fn advice_of_kubectl_alone_names_no_file_of_our_docs() {
    for advice in [UNKNOWN, OVERTAKEN] {
        assert!(!advice.first.contains(".md"), "{}", advice.first);
    }
}
