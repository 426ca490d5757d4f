//! Each row of docs/seeds.md says who does it, and names code and a test that exist, or the reason
//! why there is none. Each acceptance scenario names its tests, or what they do not show.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// How many rows nobody does without a reason. Lower it when one is done.
const MISSING: usize = 1;

/// Who may do something.
const PARTS: [&str; 4] = ["core", "careen-provider", "careen-host", "agent"];

/// The short names of folders with tests, as in docs/reliability.md.
const LAYERS: [(&str, &str); 6] = [
    ("infrastructure", "src/infrastructure/tests"),
    ("provider", "src/provider/tests"),
    ("hosts", "tests/hosts/tests"),
    ("agent", "tests/tests/agent"),
    ("vm", "vm-tests/scenarios/src"),
    ("src", "src"),
];

/// The section with the acceptance scenarios, and how many there are.
const ACCEPTANCE: &str = "Acceptance";
const SCENARIOS: usize = 48;

/// How many of them no test shows whole, and how many none at all. Lower them when one is done.
const PARTLY: usize = 8;
const UNSHOWN: usize = 1;

/// Where the test of a scenario runs.
const WHERE: [&str; 7] = ["pure", "model", "host", "API", "managers", "VM", "bench"];

/// The shortest reason.
const REASON: usize = 12;

struct Row<'a> {
    what: &'a str,
    who: &'a str,
    place: &'a str,
    test: &'a str,
}

impl<'a> Row<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let cells: Vec<_> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [what, who, place, test] = cells[..] else {
            return None;
        };
        Some(Self {
            what,
            who,
            place,
            test,
        })
    }

    fn parts(&self) -> Vec<&str> {
        self.who.split(", ").collect()
    }

    /// What is wrong with the row, if anything.
    fn fault(&self) -> Option<String> {
        self.fault_of_the_place()
            .or_else(|| self.fault_of_the_test())
    }

    fn fault_of_the_place(&self) -> Option<String> {
        if self.who == "nobody" {
            let reason = ["not applicable: ", "missing: "];
            let reason = reason.iter().find_map(|word| self.place.strip_prefix(word));
            let said = reason.is_some_and(|reason| reason.len() >= REASON);
            return (!said).then(|| "nobody does it, without a reason".to_owned());
        }
        let parts = self.parts();
        if parts.iter().any(|part| !PARTS.contains(part)) {
            return Some(format!("{:?} is nobody", self.who));
        }
        let mut places = quoted(self.place).filter(|place| place.starts_with("src/"));
        if parts != ["core"] && places.clone().next().is_none() {
            return Some("names no code".to_owned());
        }
        places.find_map(|place| (!is_code(place)).then(|| format!("{place} does not exist")))
    }

    fn fault_of_the_test(&self) -> Option<String> {
        let named: Vec<_> = quoted(self.test)
            .filter(|name| name.contains('/'))
            .collect();
        if let Some(lost) = named.iter().find(|name| !is_test(name)) {
            return Some(format!("{lost} does not exist"));
        }
        let reason = self.test.strip_prefix("none: ");
        let excused = self.who == "core" || self.who == "nobody";
        match reason {
            Some(reason) if excused && reason.len() >= REASON => None,
            None if !named.is_empty() => None,
            Some(_) | None => Some("names neither a test nor a reason".to_owned()),
        }
    }
}

/// An acceptance scenario.
struct Scenario<'a> {
    number: &'a str,
    test: &'a str,
    layer: &'a str,
}

impl<'a> Scenario<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let Row {
            what: number,
            place: test,
            test: layer,
            ..
        } = Row::parse(line)?;
        Some(Self {
            number,
            test,
            layer,
        })
    }

    /// What no test shows of it.
    fn left_out(&self) -> Option<&str> {
        self.test.split_once("; partly: ").map(|(_, left)| left)
    }

    fn is_unshown(&self) -> bool {
        self.test.starts_with("none: ")
    }

    fn fault(&self) -> Option<String> {
        if self.is_unshown() {
            let bare = self.layer == "none" && self.test.len() >= REASON;
            return (!bare).then(|| "no test, and no reason".to_owned());
        }
        let mut places = self.layer.split(", ");
        if let Some(place) = places.find(|place| !WHERE.contains(place)) {
            return Some(format!("nothing runs in {place:?}"));
        }
        if self.left_out().is_some_and(|left| left.len() < REASON) {
            return Some("does not say what is left out".to_owned());
        }
        let mut named = quoted(self.test).filter(|name| name.contains('/'));
        match named.next() {
            None => Some("names no test".to_owned()),
            Some(first) => std::iter::once(first)
                .chain(named)
                .find_map(|name| (!is_test(name)).then(|| format!("{name} does not exist"))),
        }
    }
}

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(file: &str) -> Option<String> {
    fs::read_to_string(source().join(file)).ok()
}

fn quoted(text: &str) -> impl Iterator<Item = &str> + Clone {
    text.split('`').skip(1).step_by(2)
}

/// Whether the file exists, and has this function if one is named.
fn is_code(place: &str) -> bool {
    let (file, function) = place.split_once("::").unwrap_or((place, ""));
    let has = |text: String| function.is_empty() || has_function(&text, function);
    read(file).is_some_and(has)
}

fn is_test(name: &str) -> bool {
    let (path, function) = name.split_once("::").unwrap_or((name, ""));
    let Some((layer, below)) = path.split_once('/') else {
        return false;
    };
    let Some((_, folder)) = LAYERS.iter().find(|(known, _)| *known == layer) else {
        return false;
    };
    let text = |file: &str| read(&format!("{folder}/{file}.rs")).unwrap_or_default();
    if layer == "vm" {
        return text(&below.replace('-', "_")).contains(&format!("name: \"{below}\""));
    }
    !function.is_empty() && has_function(&text(below), function)
}

fn has_function(text: &str, name: &str) -> bool {
    let plain = format!("fn {name}(");
    text.contains(&plain) || text.contains(&format!("fn {name}<"))
}

fn page() -> String {
    read("docs/seeds.md").unwrap()
}

/// The rows below the head of each table, by section.
fn sections(page: &str) -> BTreeMap<&str, Vec<Row<'_>>> {
    let parts = page.split("\n## ").skip(1);
    parts
        .map(|part| {
            let lines = part.lines().filter(|line| line.starts_with("| "));
            let rows = lines.skip(1).filter_map(Row::parse).collect();
            (part.lines().next().unwrap(), rows)
        })
        .collect()
}

#[test]
fn each_state_names_code_and_test_or_a_reason() {
    let page = page();
    let mut sections = sections(&page);
    sections.remove(ACCEPTANCE);
    assert!(sections.len() >= 8, "{:?}", sections.keys());
    let rows: Vec<_> = sections.values().flatten().collect();
    assert!(rows.len() > 90, "only {} rows", rows.len());
    let told = |row: &&Row<'_>| Some(format!("{}: {}", row.what, row.fault()?));
    let faults: Vec<_> = rows.iter().filter_map(told).collect();
    assert!(faults.is_empty(), "{faults:#?}");
    let missing = rows.iter().filter(|row| row.place.starts_with("missing: "));
    assert_eq!(missing.count(), MISSING, "states that nobody does");
}

#[test]
fn row_that_names_what_does_not_exist_is_found() {
    let is_bad = |row: &str| Row::parse(row).is_none_or(|row| row.fault().is_some());
    let code = "`src/infrastructure/src/lost.rs::lost`";
    let here = "`hosts/seeds::row_that_names_what_does_not_exist_is_found`";
    assert!(!is_bad(&format!(
        "| a | careen-provider | {code} | {here} |"
    )));
    assert!(!is_bad(
        "| a | core | its controller | none: it is Cluster API's |"
    ));
    assert!(!is_bad(
        "| a | nobody | missing: nobody has written it | none: there is nothing |"
    ));
    for (who, place, test) in [
        ("somebody", code, here),
        ("nobody", code, here),
        ("nobody", "missing: so", here),
        ("agent", "its code", here),
        ("agent", "`src/infrastructure/src/lost.rs::found`", here),
        ("agent", "`src/infrastructure/src/gone.rs`", here),
        ("agent", code, "none: it has no test, for no reason"),
        ("agent", code, "`hosts/seeds::gone`"),
        ("agent", code, "`hosts/seeds`"),
        ("agent", code, "`vm/no-such-scenario`"),
        ("core", "its controller", "none"),
    ] {
        let row = format!("| a | {who} | {place} | {test} |");
        assert!(is_bad(&row), "{row}");
    }
}

#[test]
fn each_acceptance_scenario_names_its_tests_or_a_reason() {
    let page = page();
    let part = page
        .split("\n## ")
        .find(|part| part.starts_with(ACCEPTANCE));
    let lines = part.unwrap().lines().filter(|line| line.starts_with("| "));
    let all: Vec<_> = lines.skip(1).filter_map(Scenario::parse).collect();
    let numbers: Vec<_> = all.iter().map(|one| one.number.to_owned()).collect();
    let expected: Vec<_> = (1..=SCENARIOS).map(|number| number.to_string()).collect();
    assert_eq!(numbers, expected);
    let told = |one: &Scenario<'_>| Some(format!("{}: {}", one.number, one.fault()?));
    let faults: Vec<_> = all.iter().filter_map(told).collect();
    assert!(faults.is_empty(), "{faults:#?}");
    let partly = all.iter().filter(|one| one.left_out().is_some()).count();
    let unshown = all.iter().filter(|one| one.is_unshown()).count();
    assert_eq!(
        (partly, unshown),
        (PARTLY, UNSHOWN),
        "scenarios without a test"
    );
}

#[test]
fn scenario_that_names_what_does_not_exist_is_found() {
    let is_bad = |row: &str| Scenario::parse(row).is_none_or(|one| one.fault().is_some());
    let here = "`hosts/seeds::scenario_that_names_what_does_not_exist_is_found`";
    assert!(!is_bad(&format!("| 1 | a | {here} | pure, API |")));
    assert!(!is_bad(&format!(
        "| 1 | a | {here}; partly: no test does the rest | pure |"
    )));
    assert!(!is_bad("| 1 | a | none: nobody has written it | none |"));
    for (test, layer) in [
        (here, "somewhere"),
        ("`hosts/seeds::gone`", "pure"),
        ("`infrastructure/tables/lost`", "pure"),
        ("the tables", "pure"),
        ("none: so", "none"),
        ("none: nobody has written it", "pure"),
        (&format!("{here}; partly: so"), "pure"),
        (&format!("{here}, `hosts/seeds::gone`"), "pure"),
    ] {
        let row = format!("| 1 | a | {test} | {layer} |");
        assert!(is_bad(&row), "{row}");
    }
}
