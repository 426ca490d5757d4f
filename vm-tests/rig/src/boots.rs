//! The boots of a node, as its kubelet told of them.

use crate::node::Seen;

/// Boot ids in their order, each once. A boot in which the kubelet never got through is not among
/// them.
#[must_use]
pub fn boots(history: &[Seen]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for boot in history.iter().map(|seen| &seen.view.boot) {
        if !boot.is_empty() && found.last() != Some(boot) {
            found.push(boot.clone());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::node::View;

    #[test]
    fn a_boot_counts_once_however_often_it_is_told_of() {
        let seen = |boot: &str| Seen {
            at: Instant::now(),
            view: View {
                boot: boot.to_owned(),
                ..View::default()
            },
        };
        assert_eq!(boots(&["", "a", "a", "b"].map(seen)), ["a", "b"]);
    }
}
