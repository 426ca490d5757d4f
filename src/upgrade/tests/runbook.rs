//! The runbook has one section for each reason, under the anchor that the code names, and none for
//! a reason that there is not.
#![allow(clippy::unwrap_used)]

mod scene;

use scene::{page, reasons};
use upgrade::Reason;

/// A section about a reason: its heading, and the text below it.
struct Section {
    heading: String,
    text: String,
}

/// Sections about reasons are those of the third level; the groups above them are of the second.
fn sections() -> Vec<Section> {
    let page = page::read("runbook.md");
    let parts = page.split("\n### ").skip(1);
    parts
        .map(|part| {
            let (heading, text) = part.split_once('\n').unwrap_or((part, ""));
            let text = text.split("\n## ").next().unwrap_or_default();
            Section {
                heading: heading.to_owned(),
                text: text.to_owned(),
            }
        })
        .collect()
}

#[test]
fn each_reason_has_its_section_in_the_order_of_the_code() {
    let headings: Vec<_> = sections().into_iter().map(|one| one.heading).collect();
    let codes: Vec<_> = reasons::all().iter().map(Reason::code).collect();
    assert_eq!(headings, codes);
}

#[test]
fn runbook_anchor_is_the_lower_case_reason_code() {
    for reason in reasons::all() {
        let anchor = reason.runbook();
        let (file, anchor) = anchor.split_once('#').unwrap();
        assert_eq!(file, "runbook.md");
        // A heading of one word is its own anchor in small letters, on the site and where the file
        // is shown as it is.
        let plain = anchor.bytes().all(|c| c.is_ascii_lowercase());
        assert!(plain && anchor == reason.code().to_lowercase(), "{anchor}");
    }
}

#[test]
fn every_runbook_section_has_meaning_look_at_and_do() {
    for Section { heading, text } in sections() {
        let (means, rest) = text.split_once("\n**Look at:** ").unwrap_or_default();
        let (look, act) = rest.split_once("\n\n**Do:** ").unwrap_or_default();
        for (part, words) in [("meaning", means), ("look", look), ("do", act)] {
            assert!(words.trim().len() > 10, "{heading}: its {part} is missing");
        }
    }
}
