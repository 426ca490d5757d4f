//! No file of `decide/` imports one that imports it, directly or by others: a decision is read in
//! one direction.
#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

type Imports = BTreeMap<String, BTreeSet<String>>;

#[test]
fn no_rule_calls_back_into_another() {
    let mut imports = imports();
    assert!(imports.len() > 20, "{imports:?}");
    while let Some(leaf) = leaf(&imports) {
        imports.remove(&leaf);
        imports.values_mut().for_each(|of| {
            of.remove(&leaf);
        });
    }
    assert!(imports.is_empty(), "in a circle: {imports:#?}");
}

/// A file that imports none of the others.
fn leaf(imports: &Imports) -> Option<String> {
    let mut leaves = imports.iter().filter(|(_, of)| of.is_empty());
    leaves.next().map(|(name, _)| name.clone())
}

fn imports() -> Imports {
    let files = files();
    let names: BTreeSet<&String> = files.keys().collect();
    files
        .iter()
        .map(|(name, text)| {
            let words = imported(text).into_iter().map(str::to_owned);
            let others = words.filter(|word| names.contains(word) && word != name);
            (name.clone(), others.collect())
        })
        .collect()
}

/// The words that follow `super::` in what a file imports and in the paths that it calls.
fn imported(text: &str) -> Vec<&str> {
    let parts = text.split("super::").skip(1);
    let ends = |part: &str| part.find([';', '(']).unwrap_or(part.len());
    parts
        .flat_map(|part| part[..ends(part)].split(|letter: char| !is_of_a_name(letter)))
        .collect()
}

const fn is_of_a_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}

/// The text of each file, by its name. `mod.rs` has the table, and calls them all.
fn files() -> BTreeMap<String, String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/decide");
    fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap().path())
        .filter(|path| !path.ends_with("mod.rs"))
        .map(|path| {
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            (name, fs::read_to_string(path).unwrap())
        })
        .collect()
}
