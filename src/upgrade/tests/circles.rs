//! No file imports one that imports it, directly or through others: code is read in one direction.
//!
//! A crate joins the list once that is true of it, and never leaves the list.
#![allow(clippy::unwrap_used)]

#[path = "circles/imports.rs"]
mod imports;

use std::collections::BTreeSet;
use std::path::Path;

use imports::{Imports, imports};

/// Folders without circles.
const WITHOUT: [&str; 31] = [
    "src/agent/src",
    "src/careen-host/src",
    "src/client/src",
    "src/cloud-config/src",
    "src/control/src",
    "src/cri/src",
    "src/deploy/src",
    "src/host/src",
    "src/image/src",
    "src/infrastructure/src",
    "src/installer/src",
    "src/kubectl/src",
    "src/life/src",
    "src/prepared/src",
    "src/provider/src",
    "src/requests/src",
    "src/stage/src",
    "src/systemd/src",
    "src/upgrade/src",
    "packaging/pages/src",
    "tests/fuzz/src",
    "tests/hosts/src",
    "tests/model/src",
    "tests/native/src",
    "tests/src",
    "tests/testkit/src",
    "vm-tests/far-pod/src",
    "vm-tests/rig/src",
    "vm-tests/scenarios/src",
    "vm-tests/soak/src",
    "vm-tests/src",
];

#[test]
fn no_file_imports_one_that_imports_it() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for folder in WITHOUT {
        let found = imports(&root.join(folder));
        assert!(!found.is_empty(), "{folder} is empty");
        let circle = on_circles(found);
        assert!(circle.is_empty(), "{folder}: {circle:#?}");
    }
}

#[test]
fn a_circle_is_found_and_what_leads_to_it_is_not() {
    let pairs = [("user", "a"), ("a", "b"), ("b", "a"), ("b", "leaf")];
    let mut made = Imports::new();
    for (from, to) in pairs {
        made.entry(from.to_owned())
            .or_default()
            .insert(to.to_owned());
        made.entry(to.to_owned()).or_default();
    }
    let found: Vec<String> = on_circles(made).into_keys().collect();
    assert_eq!(found, ["a", "b"]);
}

/// Drops files that import none of the others, and files that none of the others imports.
fn on_circles(mut imports: Imports) -> Imports {
    loop {
        let imported: BTreeSet<String> = imports.values().flatten().cloned().collect();
        let ends =
            |(name, of): &(&String, &BTreeSet<String>)| of.is_empty() || !imported.contains(*name);
        let Some(end) = imports.iter().find(ends).map(|(name, _)| name.clone()) else {
            return imports;
        };
        imports.remove(&end);
        for of in imports.values_mut() {
            of.remove(&end);
        }
    }
}
