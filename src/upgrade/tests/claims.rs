//! Each claim of the docs about safety has a test that is there, or says that it has none.
#![allow(clippy::unwrap_used, clippy::panic)]

mod scene;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use scene::layers::{LAYERS, is_there, layer, quoted};
use scene::page;

/// How many claims may be without a test. Lower it when one gets its test.
const WITHOUT_A_TEST: usize = 3;

/// A row of the table.
#[derive(Clone, Copy)]
struct Claim<'a> {
    text: &'a str,
    place: &'a str,
    tests: &'a str,
    layers: &'a str,
}

impl<'a> Claim<'a> {
    fn parse(row: &'a str) -> Self {
        let cells: Vec<_> = row.trim_matches('|').split('|').map(str::trim).collect();
        let [text, place, tests, layers] = cells[..] else {
            panic!("not four cells: {row}");
        };
        Self {
            text,
            place,
            tests,
            layers,
        }
    }

    /// What is wrong with the row, if anything.
    fn fault(&self) -> Option<String> {
        let names: Vec<_> = quoted(self.tests).collect();
        let layers: BTreeSet<_> = names.iter().map(|name| layer(name)).collect();
        let said: BTreeSet<_> = self.layers.split(", ").collect();
        if self.place.is_empty() {
            return Some("names no page".to_owned());
        }
        if names.is_empty() {
            let excused = self.tests == "none" && self.layers == "none";
            return (!excused).then(|| "neither a test nor `none`".to_owned());
        }
        let is_known = |name: &&&str| LAYERS.iter().any(|(known, _)| *known == layer(name));
        let lost = names.iter().find(|name| !is_known(name) || !is_there(name));
        let unequal = (layers != said).then(|| format!("layers are {layers:?}"));
        lost.map(|name| format!("{name} is not there")).or(unequal)
    }
}

/// The rows below the table's head.
fn rows(section: &str) -> Vec<&str> {
    let lines = section.lines().filter(|line| line.starts_with("| "));
    let rows = lines.skip_while(|line| !line.starts_with("| claim |"));
    rows.skip(1).collect()
}

#[test]
fn each_claim_names_a_test_that_is_there_or_says_none() {
    let section = page::section("reliability.md", "Claims");
    let claims: Vec<_> = rows(&section).into_iter().map(Claim::parse).collect();
    assert!(claims.len() > 150, "only {} claims", claims.len());
    let told = |claim: &Claim<'_>| Some(format!("{}: {}", claim.text, claim.fault()?));
    let faults: Vec<_> = claims.iter().filter_map(told).collect();
    assert!(faults.is_empty(), "{faults:#?}");
    let without = claims.iter().filter(|claim| claim.tests == "none").count();
    assert_eq!(without, WITHOUT_A_TEST, "claims without a test");
}

#[test]
fn a_claim_whose_test_is_lost_or_to_be_written_is_found() {
    let is_bad = |row: &str| Claim::parse(row).fault().is_some();
    let here = "`brain/claims::a_claim_whose_test_is_lost_or_to_be_written_is_found`";
    assert!(!is_bad(&format!(
        "| It holds | [a](a.md) | {here} | brain |"
    )));
    assert!(!is_bad("| It holds | [a](a.md) | none | none |"));
    for (place, tests, layers) in [
        ("[a](a.md)", "`brain/claims::nowhere`", "brain"),
        ("[a](a.md)", "`vm/no-such-scenario`", "vm"),
        ("[a](a.md)", "`nowhere/claims::nowhere`", "nowhere"),
        ("[a](a.md)", "`TBD-7`", "TBD-7"),
        ("[a](a.md)", "TBD-7", "none"),
        ("[a](a.md)", here, "model"),
        ("", here, "brain"),
    ] {
        let row = format!("| It holds | {place} | {tests} | {layers} |");
        assert!(is_bad(&row), "{row}");
    }
}

/// What would let a decision depend on more than its arguments. `std::net` holds types of addresses
/// too.
const IMPURE: [&str; 11] = [
    "std::fs",
    "std::io",
    "std::env",
    "std::process",
    "std::thread",
    "std::time::Instant",
    "SystemTime",
    "TcpStream",
    "TcpListener",
    "UdpSocket",
    "UnixStream",
];

/// The source files below a folder.
fn sources(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| match path.is_dir() {
            true => sources(&path),
            false => vec![fs::read_to_string(path).unwrap()],
        })
        .collect()
}

#[test]
fn the_brain_uses_no_clock_file_process_or_network() {
    let sources = sources(&page::source().join("src/upgrade/src"));
    assert!(sources.len() > 50, "only {} files", sources.len());
    for word in IMPURE {
        assert!(!sources.iter().any(|text| text.contains(word)), "{word}");
    }
}
