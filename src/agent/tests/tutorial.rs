//! What docs/tutorial.md has written on the node is what the agent takes.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use agent::policy;
use upgrade::names;

/// What `printf` writes into a file, and into which.
fn printed(line: &str) -> Option<(String, &str)> {
    let rest = line.strip_prefix("    printf '")?;
    let (text, file) = rest.split_once("' >")?;
    Some((text.replace("\\n", "\n"), file))
}

#[test]
fn every_policy_of_the_tutorial_is_one() {
    let page =
        Path::new(&std::env::var("CARGO_MANIFEST_DIR").unwrap()).join("../../docs/tutorial.md");
    let page = std::fs::read_to_string(page).unwrap();
    let policies: Vec<_> = page.lines().filter_map(printed).collect();
    assert!(!policies.is_empty(), "the page prints no policy");
    for (text, file) in policies {
        assert_eq!(file, names::POLICY_FILE);
        let read = policy::parse(file, &text).unwrap();
        assert_eq!(read.remotes, ["careen"], "the rig's own remote:\n{text}");
    }
}
