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
