//! Whether a person wants a Node left alone.

use std::collections::BTreeMap;

use upgrade::keys::Keys;
use upgrade::names::{OPT_OUT, PAUSED};

use crate::kinds::UNMANAGED;

type Pairs = BTreeMap<String, String>;

/// The pause or the opt-out of a person, also a label, a taint or a misspelt key. The mark that
/// careen-provider sets on a Node without a machine is not one.
pub(super) fn by(annotations: &Pairs, labels: &Pairs, taints: &Pairs) -> Option<String> {
    let exact = [PAUSED, OPT_OUT].into_iter();
    let mut exact = exact.filter_map(|key| annotations.get_key_value(key));
    if let Some((key, value)) = exact.next() {
        return Some(format!("annotation {key} ({value:?})"));
    }
    let mut annotations = annotations.clone();
    annotations.remove(UNMANAGED);
    let strays = Keys::of(&annotations, labels, taints).strays;
    let mut holds = strays
        .iter()
        .filter(|stray| matches!(stray.meant, Some(PAUSED | OPT_OUT)));
    holds.next().map(ToString::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(key: &str) -> Pairs {
        Pairs::from([(key.to_owned(), "looking".to_owned())])
    }

    #[test]
    fn pause_of_a_person_is_named_and_a_mark_of_ours_is_none() {
        let none = Pairs::new();
        for key in [PAUSED, OPT_OUT, "careen.dev/pause", "careen.dev/optout"] {
            let why = by(&with(key), &none, &none).unwrap_or_else(|| panic!("{key} holds nothing"));
            assert_eq!(why, format!("annotation {key} (\"looking\")"));
        }
        let label = by(&none, &with(PAUSED), &none);
        assert_eq!(
            label.as_deref(),
            Some("label careen.dev/paused (\"looking\")")
        );
        assert_eq!(by(&with(UNMANAGED), &none, &none), None);
        assert_eq!(
            by(&none, &none, &with("node.kubernetes.io/out-of-service")),
            None
        );
        let mut both = with(UNMANAGED);
        both.extend(with("careen.dev/pause"));
        assert!(by(&both, &none, &none).is_some_and(|why| why.contains("careen.dev/pause ")));
    }
}
