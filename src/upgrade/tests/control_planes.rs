//! The page about control planes has a section for each finding, and none for a finding that there
//! is not.
#![allow(clippy::unwrap_used)]

mod scene;

use scene::page;
use upgrade::control_plane::Code;

/// Sections about findings are those of the third level, below the second one of this name.
fn sections() -> Vec<(String, String)> {
    let section = page::section("control-planes.md", "What the survey finds");
    let parts = section.split("\n### ").skip(1);
    let parts = parts.map(|part| part.split_once('\n').unwrap());
    parts
        .map(|(heading, text)| (heading.to_owned(), text.to_owned()))
        .collect()
}

#[test]
fn each_finding_has_its_section_in_the_order_of_the_code() {
    let headings: Vec<_> = sections().into_iter().map(|one| one.0).collect();
    let names: Vec<_> = Code::ALL.iter().map(|code| code.name()).collect();
    assert_eq!(headings, names);
}

#[test]
fn each_section_says_its_class_and_what_to_do() {
    for (heading, text) in sections() {
        let text = text.trim_start();
        let class = ["`refuse`", "`wait`", "`warn`"]
            .iter()
            .any(|class| text.starts_with(class));
        assert!(class && text.contains("\n**Do:** "), "{heading}");
    }
}

#[test]
fn sections_about_members_begin_with_what_not_to_do() {
    for code in [Code::QuorumAtRisk, Code::EtcdUnhealthy] {
        let all = sections();
        let (_, text) = all.iter().find(|one| one.0 == code.name()).unwrap();
        let (never, first) = (
            text.find("**Do not** ").unwrap(),
            text.find("**Do:** ").unwrap(),
        );
        assert!(never < first, "{}", code.name());
    }
}

#[test]
fn the_page_says_that_upgrades_of_control_planes_are_off() {
    let page = page::read("control-planes.md");
    let first = page.split("\n## ").next().unwrap();
    assert!(first.contains("control planes are off"), "{first}");
    assert!(first.contains("test clusters only"), "{first}");
    assert!(!upgrade::Policy::default().control_plane.enabled);
    assert!(first.contains("](runbook.md#controlplane)"), "{first}");
}
