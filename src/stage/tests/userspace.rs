//! A trial's userspace in a folder: the last check of its files, the gate, and the rescue.
#![allow(clippy::unwrap_used)]

mod node;

use std::fs;

use host::critical::CriticalFiles;
use host::loader;
use node::disk::{boot_id, critical};
use node::{Node, THIS_BOOT, WOULD_REBOOT, armed, refused};
use upgrade::{OneShot, Phase, Upgrade};

#[test]
fn what_the_initramfs_left_is_checked_before_the_kubelet() {
    let node = armed();
    let runtime = node.new_root().join("usr/bin/containerd");
    fs::write(&runtime, "containerd").unwrap();
    let mut list = CriticalFiles::read(&node.disk.places, &node.new.digest).unwrap();
    list.files
        .push(critical(&node.new_root(), "usr/bin/containerd", false));
    list.write(&node.disk.places).unwrap();
    let check = || node.run("check", &node.new, true, &[]).status.code();
    assert_eq!(node.guard(), Some(0));
    assert_eq!(check(), Some(0));
    fs::write(runtime, "containerb").unwrap();
    assert_eq!(node.guard(), Some(0), "none of its files");
    assert_eq!(check(), Some(WOULD_REBOOT));
    assert!(refused(&node.phase()).contains("usr/bin/containerd"));
    // A person who isolates rescue.target and returns starts the check once more.
    node.store(Phase::Blessed);
    assert_eq!(check(), Some(0), "its trial is over, and pods run");
}

#[test]
fn no_emergency_shell_opens_on_a_trial_until_it_is_the_default() {
    let node = armed();
    let fallback = || node.run("fallback", &node.new, true, &[]).status.code();
    assert_eq!(fallback(), Some(WOULD_REBOOT));
    node.store(Phase::Healthy {
        boot: boot_id(THIS_BOOT),
    });
    assert_eq!(fallback(), Some(WOULD_REBOOT), "the old one is still there");
    node.store(Phase::Blessed);
    assert_eq!(fallback(), Some(0));
}

#[test]
fn the_one_shot_of_the_next_upgrade_is_left_to_it() {
    let node = blessed_and_asked_again();
    node.disk.arm(&node.old).unwrap();
    for verb in ["fallback", "deadman"] {
        let ended = node.run(verb, &node.new, true, &["--now", "9000000"]);
        assert_eq!(ended.status.code(), Some(0), "{verb}");
        assert_eq!(loader::one_shot(&node.disk.places), OneShot::Set, "{verb}");
    }
}

/// A system that was blessed in this boot, and that a request upgrades again. The argument of its
/// trial is still on the command line.
fn blessed_and_asked_again() -> Node {
    let node = armed();
    node.disk.menu(&[node.new.clone(), node.old.clone()]);
    node.store_upgrade(Upgrade {
        from: node.new.clone(),
        to: None,
        ..node.upgrade(Phase::Accepted)
    });
    node
}

#[test]
fn blessed_system_keeps_its_rescue_after_the_next_request() {
    let node = blessed_and_asked_again();
    let run = |verb: &str| node.run(verb, &node.new, true, &["--now", "9000000"]);
    for verb in ["fallback", "gate", "deadman"] {
        assert_eq!(run(verb).status.code(), Some(0), "{verb}");
    }
}

#[test]
fn blessed_system_keeps_its_rescue_when_not_the_default() {
    let node = blessed_and_asked_again();
    node.disk.menu(&[node.old.clone(), node.new.clone()]);
    let run = |verb: &str| node.run(verb, &node.new, true, &["--now", "9000000"]);
    for verb in ["fallback", "gate", "deadman"] {
        assert_eq!(run(verb).status.code(), Some(0), "{verb}");
    }
}

#[test]
fn a_system_on_trial_gets_no_rescue_by_another_upgrades_record() {
    let node = armed();
    node.store_upgrade(Upgrade {
        to: None,
        ..node.upgrade(Phase::Accepted)
    });
    let fallback = node.run("fallback", &node.new, true, &[]);
    assert_eq!(fallback.status.code(), Some(WOULD_REBOOT));
}

#[test]
fn the_gate_opens_with_the_verdict() {
    let node = armed();
    assert_eq!(
        node.run("gate", &node.new, true, &[]).status.code(),
        Some(1)
    );
    node.store(Phase::Blessed);
    assert_eq!(
        node.run("gate", &node.new, true, &[]).status.code(),
        Some(0)
    );
}
