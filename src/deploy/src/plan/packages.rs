//! The packages of a system, from any list that its tree contains, and the changes between two
//! systems.

use upgrade::plan::{Change, Package};

use super::installed::{Installed, List};
use super::{dpkg, rpm};
use crate::verify::image::Tree;

/// Where lists may be: dpkg's if the OSTree tree was made from Debian's (docs/images.md), rpm's as
/// in rpm-ostree and bootc.
pub const PLACES: &[&str] = &[
    "usr/lib/sysimage/dpkg/status",
    "usr/share/dpkg/status",
    "var/lib/dpkg/status",
    "usr/share/rpm",
    "usr/lib/sysimage/rpm",
];

/// The packages in a tree, or `None` if no list exists or can be read.
pub fn list(tree: &Tree) -> Option<List> {
    PLACES.iter().find_map(|place| {
        if tree.has_folder(place) {
            rpm::list(tree, place)
        } else {
            dpkg::list(tree, place)
        }
    })
}

/// The packages that are added, removed or have another version.
pub fn changes(before: &List, after: &List) -> Vec<Package> {
    let gone = before.keys().filter(|name| !after.contains_key(*name));
    let names = after.keys().chain(gone);
    let change = |name: &String| {
        let (from, to) = (before.get(name), after.get(name));
        let version = |one: Option<&Installed>| one.map(|one| one.version.clone());
        let (old, new) = (version(from), version(to));
        let bytes = |one: Option<&Installed>| one.map_or(0, |one| one.bytes);
        (old != new).then(|| Package {
            name: name.clone(),
            change: Change { from: old, to: new },
            bytes: growth(bytes(from), bytes(to)),
        })
    };
    names.filter_map(change).collect()
}

/// By how much something grows.
pub fn growth(from: u64, to: u64) -> i64 {
    let grown = i128::from(to) - i128::from(from);
    i64::try_from(grown).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list_of(packages: &[(&str, &str, u64)]) -> List {
        let one = |(name, version, bytes): &(&str, &str, u64)| {
            let installed = Installed {
                version: (*version).to_owned(),
                bytes: *bytes,
            };
            ((*name).to_owned(), installed)
        };
        packages.iter().map(one).collect()
    }

    #[test]
    fn what_comes_goes_or_changes_is_told_and_what_stays_is_not() {
        let before = list_of(&[
            ("bash", "5.2", 7),
            ("gone", "1", 5),
            ("kubelet", "1.35", 100),
        ]);
        let after = list_of(&[("bash", "5.2", 7), ("kubelet", "1.36", 90), ("new", "2", 3)]);
        let told: Vec<_> = changes(&before, &after)
            .into_iter()
            .map(|one| (one.name, one.change.from, one.change.to, one.bytes))
            .collect();
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(
            told,
            [
                ("kubelet".to_owned(), some("1.35"), some("1.36"), -10),
                ("new".to_owned(), None, some("2"), 3),
                ("gone".to_owned(), some("1"), None, -5),
            ]
        );
    }
}
