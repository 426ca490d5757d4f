//! A trial that the record does not know to have begun: it died before its guard, or may still
//! come.
#![allow(clippy::unwrap_used)]

mod node;

use std::fs;
use std::path::PathBuf;

use host::{Places, snapshot};
use node::disk::{boot_id, deployment, upgrade_id};
use node::{Node, armed, config_in, running};
use upgrade::{Deployment, ImageFacts, ImageInfo, Phase, Room, Upgrade};

/// The old system `a` in one boot after another, after the arming of upgrade `one`, and what its
/// kubelet's configuration says.
struct Armed {
    node: Node,
    places: Places,
    config: PathBuf,
}

impl Armed {
    fn new() -> Self {
        let node = armed();
        let places = running(&node);
        let config = config_in(&places.root, "saved");
        snapshot::save(&places, &upgrade_id("one")).unwrap();
        fs::write(&config, "of the trial").unwrap();
        Self {
            node,
            places,
            config,
        }
    }

    /// What the configuration says once the old system has come up in this boot.
    fn boots(&self, boot: &str) -> String {
        let file = self.node.disk.folder.path().join("that-boot");
        fs::write(&file, boot).unwrap();
        let more = ["--boot-id", file.to_str().unwrap()];
        let ended = self.node.run("restore", &self.node.old, false, &more);
        assert_eq!(ended.status.code(), Some(0));
        fs::read_to_string(&self.config).unwrap()
    }

    /// The guard has let the trial through in this boot.
    fn has_tried(&self, boot: &str, phase: Phase) {
        let mut upgrade = self.node.upgrade(phase);
        upgrade.attempt.guarded = Some(boot_id(boot));
        self.node.store_upgrade(upgrade);
    }

    /// What the agent does in this boot in each of its turns; whether something is owed behind it.
    fn turn(&self, boot: &str, phase: Phase) -> bool {
        self.turn_of(&self.node.old, boot, phase)
    }

    fn turn_of(&self, system: &Deployment, boot: &str, phase: Phase) -> bool {
        let upgrade = self.node.upgrade(phase);
        self.node.store_upgrade(upgrade.clone());
        let boot = boot_id(boot);
        let here = snapshot::Here {
            system,
            boot: &boot,
        };
        snapshot::is_outstanding(&self.places, &upgrade, here)
    }
}

fn unguarded() -> ImageFacts {
    let info = ImageInfo {
        format: 1,
        kubernetes: "v1.36.0".parse().unwrap(),
        architecture: "x86_64".to_owned(),
        stage: None,
        control: 0,
    };
    let commit = deployment('b', 0).digest;
    let room = Room { free: 1, need: 1 };
    ImageFacts {
        commit,
        info: Some(info),
        kernel: None,
        timestamp: 0,
        running: None,
        lacks: Box::default(),
        branches: Box::default(),
        running_branches: Box::default(),
        root: room,
        boot: room,
    }
}

fn still_armed() -> Phase {
    Phase::Armed {
        boot: boot_id("b0"),
    }
}

fn on_its_way_back() -> Phase {
    let reason = upgrade::Reason::Withdrawn { replaced_by: None };
    Phase::Reverting { reason }
}

fn over() -> Phase {
    let reason = upgrade::Reason::Withdrawn { replaced_by: None };
    Phase::Failed { reason }
}

/// A kernel that panics, an initramfs without its root, a power cut: by the record the trial has
/// never begun.
#[test]
fn a_trial_that_dies_before_its_guard_leaves_nothing_owed() {
    let armed = Armed::new();
    assert_eq!(armed.boots("b2"), "saved");
    for phase in [still_armed(), on_its_way_back(), over()] {
        let what = phase.name();
        assert!(!armed.turn("b2", phase), "owed while {what}");
    }
}

/// The way back waits for an absent API server, for as long as that takes.
#[test]
fn restore_after_a_trial_that_never_came_runs_only_once() {
    let armed = Armed::new();
    assert_eq!(armed.boots("b2"), "saved");
    assert!(!armed.turn("b2", still_armed()));
    assert!(!armed.turn("b2", on_its_way_back()));
    fs::write(&armed.config, "of the old kubelet").unwrap();
    assert_eq!(armed.boots("b3"), "of the old kubelet");
    assert!(!armed.turn("b3", on_its_way_back()));
}

#[test]
fn what_nobody_has_put_back_behind_such_a_trial_is_owed() {
    let armed = Armed::new();
    assert!(!armed.turn("b2", still_armed()));
    assert!(armed.turn("b2", on_its_way_back()));
}

/// Somebody picks the old system in the menu of an armed node, and a power cut brings back the
/// one-shot that the loader had cleared: the trial that then comes about was counted before.
#[test]
fn state_restored_before_a_late_trial_is_restored_after_it() {
    let trial = Phase::Trial {
        boot: boot_id("b3"),
    };
    // It dies before its guard, or behind it, or has a verdict.
    for ended in [still_armed(), trial, on_its_way_back()] {
        let armed = Armed::new();
        assert_eq!(armed.boots("b2"), "saved");
        assert!(!armed.turn("b2", still_armed()));
        fs::write(&armed.config, "of the trial").unwrap();
        if ended == still_armed() {
            armed.node.store(ended.clone());
        } else {
            armed.has_tried("b3", ended.clone());
        }
        assert_eq!(armed.boots("b4"), "saved", "{}", ended.name());
        assert!(!armed.turn("b4", ended));
    }
}

/// The power goes right after the record that says that the trial has not come, and a person had
/// chosen another system for the next boot.
#[test]
fn trial_that_never_came_owes_no_state_to_a_foreign_system() {
    let armed = Armed::new();
    assert_eq!(armed.boots("b2"), "saved");
    let (own, reason) = (
        deployment('d', 0),
        upgrade::Reason::Withdrawn { replaced_by: None },
    );
    assert!(!armed.turn_of(&own, "b3", Phase::Halted { reason }));
    fs::write(&armed.config, "of another kubelet").unwrap();
    assert_eq!(armed.boots("b4"), "of another kubelet");
}

/// Without a trial: its own default by then, or picked at the menu.
#[test]
fn state_changed_by_a_manual_boot_of_the_target_is_restored() {
    let armed = Armed::new();
    assert_eq!(armed.boots("b2"), "saved");
    let ended = armed.node.run("restore", &armed.node.new, false, &[]);
    assert_eq!(ended.status.code(), Some(0));
    fs::write(&armed.config, "of the target").unwrap();
    let reason = upgrade::Reason::Withdrawn { replaced_by: None };
    armed.node.store(Phase::Halted { reason });
    assert_eq!(armed.boots("b4"), "saved");
}

/// What puts it back did not run, and that trial's guard could note nothing.
#[test]
fn armed_unguarded_image_owes_its_state_in_the_next_boot() {
    let armed = Armed::new();
    for (boot, owes) in [("b0", false), ("b2", true)] {
        let upgrade = armed.node.upgrade(still_armed());
        let upgrade = Upgrade {
            facts: Some(unguarded()),
            ..upgrade
        };
        let here = snapshot::Here {
            system: &armed.node.old,
            boot: &boot_id(boot),
        };
        let outstanding = snapshot::is_outstanding(&armed.places, &upgrade, here);
        assert_eq!(outstanding, owes, "{boot}");
    }
}

/// Nobody has noted whether its trial has run.
#[test]
fn state_is_restored_again_after_an_unguarded_image() {
    let armed = Armed::new();
    assert_eq!(armed.boots("b2"), "saved");
    fs::write(&armed.config, "of the trial").unwrap();
    let upgrade = armed.node.upgrade(on_its_way_back());
    armed.node.store_upgrade(Upgrade {
        facts: Some(unguarded()),
        ..upgrade
    });
    assert_eq!(armed.boots("b4"), "saved");
}

/// What cannot be made out is none.
#[test]
fn a_note_that_says_nothing_has_it_put_back() {
    for noted in ["", "armed", "armed b4x", "\u{fffd}"] {
        let armed = Armed::new();
        armed.has_tried("b3", on_its_way_back());
        let folder = armed.places.snapshot(&upgrade_id("one"));
        fs::write(folder.join("restored"), noted).unwrap();
        assert_eq!(armed.boots("b4"), "saved", "{noted:?}");
    }
}
