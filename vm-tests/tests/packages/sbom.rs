//! Tests the SBOMs. A reader who hears of a vulnerability in a library can see whether a program
//! contains it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use crate::root::run;
use crate::shelf::{Shelf, source};

/// Programs that one crate brings are described together.
const TOGETHER: [(&str, &str); 1] = [("careen-grub", "careen-stage")];

/// The packages for dpkg, unpacked one over the other.
fn unpacked() -> TempDir {
    let work = TempDir::new().unwrap();
    for deb in Shelf::ours().debs() {
        run(Command::new("dpkg-deb").arg("-x").arg(deb).arg(work.path()));
    }
    work
}

/// Every program, with the file that says what it is made of.
fn described(root: &Path) -> Vec<(String, PathBuf)> {
    let mut find = Command::new("find");
    find.current_dir(root)
        .args(["usr/bin", "usr/libexec", "-type", "f", "-executable"])
        .args(["-printf", "%f\n"]);
    let named = |program: &str| {
        let one = TOGETHER.iter().find(|(other, _)| *other == program);
        one.map_or(program, |(_, one)| one).to_owned()
    };
    // The one that kubectl asks for completions is a script.
    let programs = run(&mut find);
    let programs = programs
        .lines()
        .filter(|program| *program != "kubectl_complete-careen");
    let said = |program: &str| {
        let name = format!("{}.cdx.json", named(program));
        let docs = ["careen", "careen-image", "kubectl-careen"];
        let mut places = docs
            .into_iter()
            .map(|doc| root.join("usr/share/doc").join(doc).join(&name));
        let there = places.find(|place| place.exists());
        let there = there.unwrap_or_else(|| panic!("{program} has no {name}"));
        (named(program), there)
    };
    programs.map(said).collect()
}

fn read(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// `name version` of all that it lists.
fn parts(sbom: &Value) -> BTreeSet<String> {
    let listed = sbom["components"].as_array().unwrap().iter();
    let part = |part: &Value| {
        let word = |key: &str| part[key].as_str().unwrap().to_owned();
        format!("{} {}", word("name"), word("version"))
    };
    listed.map(part).collect()
}

/// `name version` of all that cargo links into a program, beside itself.
fn linked(program: &str) -> BTreeSet<String> {
    let mut cargo = Command::new("cargo");
    cargo.current_dir(source());
    cargo.args(["tree", "--locked", "--package", program]);
    cargo.args(["--edges", "normal", "--target", "x86_64-unknown-linux-gnu"]);
    cargo.args(["--prefix", "none", "--format", "{p}"]);
    let listed = run(&mut cargo);
    let name = |line: &str| {
        let mut words = line.split(' ');
        let (name, version) = (words.next()?, words.next()?);
        Some(format!("{name} {}", version.trim_start_matches('v')))
    };
    let all = listed.lines().filter_map(name);
    all.filter(|part| part.split(' ').next() != Some(program))
        .collect()
}

#[test]
fn sbom_of_each_program_lists_everything_linked_into_it() {
    let root = unpacked();
    let described = described(root.path());
    assert!(described.len() >= 6, "{described:?}");
    for (program, path) in described {
        let sbom = read(&path);
        assert_eq!(sbom["bomFormat"], "CycloneDX", "{program}");
        assert_eq!(sbom["metadata"]["component"]["name"], program.as_str());
        let linked = linked(&program);
        assert!(linked.len() > 10, "{program}: {linked:?}");
        let missing: Vec<_> = linked.difference(&parts(&sbom)).cloned().collect();
        assert!(missing.is_empty(), "{program} is silent on {missing:?}");
    }
}

/// A scanner looks a part up by its purl; a distributor by its licence.
#[test]
fn each_part_of_others_can_be_looked_up_and_has_a_licence() {
    let root = unpacked();
    for (program, path) in described(root.path()) {
        for part in read(&path)["components"].as_array().unwrap() {
            let purl = part["purl"].as_str().unwrap();
            assert!(purl.starts_with("pkg:cargo/"), "{program}: {purl}");
            let licences = part["licenses"].as_array();
            assert!(
                licences.is_some_and(|all| !all.is_empty()),
                "{program}: {purl}"
            );
        }
    }
}

#[test]
fn none_tells_where_it_was_made() {
    let root = unpacked();
    let home = std::env::var("HOME").unwrap();
    for (program, path) in described(root.path()) {
        let text = fs::read_to_string(path).unwrap();
        for place in [home.as_str(), "/tmp/"] {
            assert!(!text.contains(place), "{program}: {place}");
        }
    }
}
