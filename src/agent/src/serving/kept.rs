//! How much of a look the note before a drain has room for: it is part of the record, so its size
//! has a limit. A look in a trial has none. Otherwise a new name could take the place of a noted
//! one, and that one would count as gone.

use std::collections::BTreeSet;

use upgrade::serving::Offer;

/// How many entries of one kind the note has. A node has about ten of each.
const MOST: usize = 64;

/// As [`MOST`], for labels: programs describe a node's hardware by hundreds.
const MOST_LABELS: usize = 256;

/// What the note has room for.
pub(super) fn kept(found: Offer) -> Offer {
    Offer {
        conditions: first(found.conditions, MOST),
        addresses: first(found.addresses, MOST),
        resources: first(found.resources, MOST),
        taints: found.taints.filter(are_all),
        drivers: names(found.drivers, MOST),
        handlers: names(found.handlers, MOST),
        features: names(found.features, MOST),
        devices: names(found.devices, MOST),
        labels: names(found.labels, MOST_LABELS),
        services: found.services,
        pods: first(found.pods, MOST),
    }
}

/// A taint that the trial has and the note does not counts as a new one. So a note that cannot have
/// all of them has none, and nothing is compared.
fn are_all(taints: &BTreeSet<String>) -> bool {
    taints.len() <= MOST
}

fn names(all: Option<BTreeSet<String>>, most: usize) -> Option<BTreeSet<String>> {
    all.map(|all| first(all, most))
}

fn first<T: IntoIterator + FromIterator<T::Item>>(all: T, most: usize) -> T {
    all.into_iter().take(most).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A look at a node with this many names of each kind.
    fn look(count: usize) -> Offer {
        let names = || (0..count).map(|number| format!("x{number:04}"));
        let set = || Some(names().collect());
        Offer {
            resources: names().map(|name| (name, "1".to_owned())).collect(),
            taints: set(),
            drivers: set(),
            labels: set(),
            pods: names()
                .map(|_| upgrade::serving::NodePod::default())
                .collect(),
            ..Offer::default()
        }
    }

    #[test]
    fn note_has_the_first_of_many_names_and_all_taints_or_none() {
        assert_eq!(kept(look(MOST)), look(MOST));
        let note = kept(look(300));
        let lengths = [
            note.resources.len(),
            note.drivers.unwrap().len(),
            note.labels.unwrap().len(),
            note.pods.len(),
        ];
        assert_eq!(lengths, [MOST, MOST, MOST_LABELS, MOST]);
        assert_eq!(note.taints, None);
    }
}
