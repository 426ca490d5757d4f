//! The kubelet's saved state, once an upgrade no longer needs it.

use host::snapshot::Here;
use host::{Error, Places, snapshot};
use upgrade::{Reason, Record, UpgradeId, names};

use crate::task::Verb;

/// Checks that everything a trial changed in the kubelet's state is restored for the old system.
/// The disk's content decides, for any upgrade.
///
/// # Errors
/// The agent cannot determine it.
pub fn none_is_owed(places: &Places) -> host::Result<Result<(), Reason>> {
    match snapshot::none_is_owed(places) {
        Ok(()) => Ok(Ok(())),
        Err(Error::Reason(reason)) => Ok(Err(reason)),
        Err(error) => Err(error),
    }
}

/// Notes what a trial changed and nothing restored; the unit for that may not have run at all. Call
/// it with the record as read, before any decision. Otherwise a second trial would save what the
/// first one left, and the undo would remove what is right.
///
/// # Errors
/// The note may be lost.
pub fn owe_what_is_outstanding(
    places: &Places,
    record: &Record,
    here: Here<'_>,
) -> host::Result<()> {
    let Some(upgrade) = &record.upgrade else {
        return Ok(());
    };
    if !snapshot::is_outstanding(places, upgrade, here) {
        return Ok(());
    }
    snapshot::owe_outstanding(places, upgrade)?;
    tell_what_is_owed(places, &upgrade.id);
    Ok(())
}

/// Removes the saved states of the kubelet, except this upgrade's, which the record names, and the
/// owed ones. What stays uses room and has no effect.
pub fn keep(places: &Places, id: Option<&UpgradeId>) {
    removed(snapshot::keep_only(places, id));
}

/// Runs after the last verb of an upgrade: nothing may restore its saved state any more, nor that
/// of an earlier upgrade. Only what the old system is still owed stays, for its next boot or a
/// person.
pub fn tidy(places: &Places, verb: &Verb, id: &UpgradeId) {
    match verb {
        Verb::Undo { .. } => tell_what_is_owed(places, id),
        // From now on the state of this node is what the new system has made of it. Nothing can
        // restore what this upgrade saved.
        Verb::Clean => removed(snapshot::forget(places, id)),
        Verb::Fetch { .. }
        | Verb::Verify { .. }
        | Verb::Deploy { .. }
        | Verb::Bless { .. }
        | Verb::Reinstate { .. } => return,
    }
    keep(places, None);
}

fn tell_what_is_owed(places: &Places, id: &UpgradeId) {
    let Some(owed) = snapshot::owed(places, id) else {
        return;
    };
    tracing::warn!(
        "the kubelet runs on the state that the trial left, because its state from before cannot be restored: {}. It is kept in {}, the next boot tries again, and no upgrade begins before it is restored; journalctl -u {} says what to do",
        owed.why,
        places.snapshot(id).display(),
        names::RESTORE_UNIT
    );
}

fn removed(done: host::Result<()>) {
    if let Err(error) = done {
        tracing::warn!("cannot remove the kubelet's saved state: {error}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use upgrade::{BootId, Deployment, Phase, Target, Upgrade};

    /// A node whose upgrade saved the state, and may owe it.
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

    fn kept_behind(verb: &Verb, owed: bool) -> bool {
        let node = Node::new(owed);
        tidy(&node.places, verb, &one());
        node.keeps()
    }

    #[test]
    fn undo_keeps_the_snapshot_while_kubelet_state_is_owed() {
        let undo = Verb::Undo { commit: None };
        assert!(kept_behind(&undo, true));
        assert!(!kept_behind(&undo, false));
    }

    #[test]
    fn a_blessed_system_keeps_nothing_of_the_old_one() {
        assert!(!kept_behind(&Verb::Clean, true));
    }

    fn deployment(letter: &str) -> Deployment {
        Deployment {
            digest: letter.repeat(64).parse().unwrap(),
            serial: 0,
            stateroot: "os".to_owned(),
            bootcsum: letter.repeat(64),
            pinned: false,
            kept: false,
        }
    }

    /// The upgrade from `a` to `b`, during or after its first trial.
    fn tried_once(phase: Phase) -> Record {
        let (old, new) = (deployment("a"), deployment("b"));
        let target = Target::here(new.digest.clone());
        let asked = upgrade::RawRequest::default();
        let mut upgrade = Upgrade::new(one(), asked, target, old);
        (upgrade.to, upgrade.phase, upgrade.attempt.tries) = (Some(new), phase, 1);
        Record {
            upgrade: Some(upgrade),
            ..Record::default()
        }
    }

    fn boot() -> BootId {
        "00000001".parse().unwrap()
    }

    fn trial() -> Phase {
        Phase::Trial { boot: boot() }
    }

    fn reverting() -> Phase {
        let reason = Reason::Withdrawn { replaced_by: None };
        Phase::Reverting { reason }
    }

    #[test]
    fn owed_snapshot_survives_an_undo_and_is_not_overwritten() {
        for phase in [trial(), reverting()] {
            let (node, record) = (Node::new(false), tried_once(phase));
            owe(&node, &record, "a");
            assert!(snapshot::save(&node.places, &one()).is_err());
            tidy(&node.places, &Verb::Undo { commit: None }, &one());
            assert!(node.keeps());
            let owed = none_is_owed(&node.places).unwrap().unwrap_err().to_string();
            assert!(owed.contains(names::RESTORE_UNIT), "{owed}");
            let noted = snapshot::owed(&node.places, &one()).unwrap();
            assert_eq!(noted.to, Some(deployment("a")), "whose state it is");
        }
    }

    /// The agent looks, in a later boot than the one that armed the trial.
    fn owe(node: &Node, record: &Record, booted: &str) {
        let here = Here {
            system: &deployment(booted),
            boot: &"00000002".parse().unwrap(),
        };
        owe_what_is_outstanding(&node.places, record, here).unwrap();
    }

    /// Whether something is owed after the agent has looked.
    fn is_owed(node: &Node, phase: Phase, booted: &str) -> bool {
        let record = tried_once(phase);
        owe(node, &record, booted);
        none_is_owed(&node.places).unwrap().is_err()
    }

    #[test]
    fn what_is_back_is_not_owed() {
        let node = Node::new(false);
        snapshot::note(&node.places, &tried_once(trial()).upgrade.unwrap()).unwrap();
        assert!(!is_owed(&node, trial(), "a"));
        assert!(!is_owed(&node, reverting(), "a"));
    }

    /// A trial that died before its guard: by the record it has never begun.
    #[test]
    fn state_restored_while_armed_is_not_owed_in_later_phases() {
        let (node, here) = (Node::new(false), "00000002".parse().unwrap());
        snapshot::note_armed(&node.places, &one(), &here).unwrap();
        assert!(!is_owed(&node, Phase::Armed { boot: boot() }, "a"));
        assert!(!is_owed(&node, reverting(), "a"));
        let upgrade = tried_once(reverting()).upgrade.unwrap();
        assert!(snapshot::is_over(&node.places, &upgrade, None));
    }

    #[test]
    fn state_is_not_owed_to_the_running_or_an_untried_system() {
        let node = Node::new(false);
        assert!(!is_owed(&node, trial(), "b"), "it runs");
        assert!(!is_owed(&node, Phase::Armed { boot: boot() }, "a"));
        assert!(!is_owed(&node, Phase::Drained, "a"));
        snapshot::forget(&node.places, &one()).unwrap();
        assert!(!is_owed(&node, trial(), "a"), "nothing was saved");
    }

    #[test]
    fn what_is_owed_already_keeps_what_was_said_of_it() {
        let node = Node::new(true);
        assert!(is_owed(&node, reverting(), "a"));
        assert_eq!(snapshot::owed(&node.places, &one()), Some(full()));
    }

    #[test]
    fn what_is_owed_outlives_whatever_is_done_for_another_upgrade() {
        let (node, two) = (Node::new(true), "two".parse().unwrap());
        keep(&node.places, Some(&two));
        keep(&node.places, None);
        tidy(&node.places, &Verb::Undo { commit: None }, &two);
        tidy(&node.places, &Verb::Clean, &two);
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
