//! Two tools check the licences of the linked crates: cargo-deny permits them, and cargo-about
//! collects the texts for the packages.

// A failure in a helper fails the test.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use toml::Table;

fn list(text: &str, path: &[&str]) -> BTreeSet<String> {
    let table: Table = toml::from_str(text).unwrap();
    let mut value = &toml::Value::Table(table);
    for key in path {
        value = &value[*key];
    }
    let items = value.as_array().unwrap().iter();
    items
        .map(|item| item.as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn both_accept_the_same_licences() {
    let deny = list(include_str!("../../../deny.toml"), &["licenses", "allow"]);
    let about = list(include_str!("../../about.toml"), &["accepted"]);
    assert_eq!(deny, about);
}
