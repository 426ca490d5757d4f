//! The kubelet's saved state, once an upgrade needs it no more.

use host::{Error, Places, snapshot};
use upgrade::{Reason, Step, UpgradeId, names};

/// Whether the old system has got back all that a trial has changed of it; by what lies on the disk, whichever upgrade it is of.
///
/// # Errors
/// When that cannot be told.
pub fn none_is_owed(places: &Places) -> host::Result<Result<(), Reason>> {
    match snapshot::none_is_owed(places) {
        Ok(()) => Ok(Ok(())),
        Err(Error::Reason(reason)) => Ok(Err(reason)),
        Err(error) => Err(error),
    }
}

/// Removes the saved states of the kubelet but for this upgrade's, which the record tells of, and what is owed. What stays takes room and does
/// nothing.
pub fn keep(places: &Places, id: Option<&UpgradeId>) {
    removed(snapshot::keep_only(places, id));
}

/// Behind the last step of an upgrade: its state must not be put back any more, nor that of one before it. Only what the old system is still
/// owed stays, for its next boot or a person.
pub fn tidy(places: &Places, step: &Step, id: &UpgradeId) {
    match step {
        Step::Undo { .. } => tell_what_is_owed(places, id),
        // What the new system has made of it is the state of this node from now on, and there is no way back to what this upgrade has saved.
        Step::Clean => removed(snapshot::forget(places, id)),
        _ => return,
    }
    keep(places, None);
}

fn tell_what_is_owed(places: &Places, id: &UpgradeId) {
    let Some(owed) = snapshot::owed(places, id) else {
        return;
    };
    tracing::warn!(
        "the kubelet runs on what the trial left, for its state of before could not be put back: {}. It is kept in {} and tried again at \
         the next boot, and no upgrade is begun before it is back; journalctl -u {} says what to do",
        owed.why,
        places.snapshot(id).display(),
        names::RESTORE_UNIT
    );
}

fn removed(done: host::Result<()>) {
    if let Err(error) = done {
        tracing::warn!("the kubelet's saved state was not removed: {error}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A node whose upgrade has saved the state, and may owe it.
    struct Node {
        _folder: tempfile::TempDir,
        places: Places,
    }

    impl Node {
        fn new(owes: bool) -> Self {
            let folder = tempfile::tempdir().unwrap();
            let places = Places::running(folder.path());
            snapshot::save(&places, &one()).unwrap();
            if owes {
                snapshot::owe(&places, &one(), &full()).unwrap();
            }
            Self {
                _folder: folder,
                places,
            }
        }

        fn keeps(&self) -> bool {
            snapshot::exists(&self.places, &one())
        }
    }

    fn one() -> UpgradeId {
        "one".parse().unwrap()
    }

    fn full() -> snapshot::Owed {
        snapshot::Owed {
            why: "the disk was full".to_owned(),
            to: None,
        }
    }

    fn kept_behind(step: &Step, owed: bool) -> bool {
        let node = Node::new(owed);
        tidy(&node.places, step, &one());
        node.keeps()
    }

    #[test]
    fn what_could_not_be_put_back_outlives_the_undoing_of_its_upgrade() {
        let undo = Step::Undo { commit: None };
        assert!(kept_behind(&undo, true));
        assert!(!kept_behind(&undo, false));
    }

    #[test]
    fn a_blessed_system_keeps_nothing_of_the_old_one() {
        assert!(!kept_behind(&Step::Clean, true));
    }

    #[test]
    fn what_is_owed_outlives_whatever_is_done_for_another_upgrade() {
        let (node, two) = (Node::new(true), "two".parse().unwrap());
        keep(&node.places, Some(&two));
        keep(&node.places, None);
        tidy(&node.places, &Step::Undo { commit: None }, &two);
        tidy(&node.places, &Step::Clean, &two);
        assert!(node.keeps());
    }

    #[test]
    fn a_node_that_owes_says_which_upgrade_why_and_where_it_is_kept() {
        let node = Node::new(true);
        let owed = none_is_owed(&node.places).unwrap().unwrap_err().to_string();
        for word in ["upgrade one", "the disk was full", "snapshot-one"] {
            assert!(owed.contains(word), "no {word} in: {owed}");
        }
        assert_eq!(none_is_owed(&Node::new(false).places).unwrap(), Ok(()));
    }
}
