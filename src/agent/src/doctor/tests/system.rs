//! The system that runs, and what boots the next one.

use std::fs;
use std::os::unix::fs::symlink;

use upgrade::names;

use super::super::{Verdict, examine};
use super::disk::deployment;
use super::node::{Node, write};

#[test]
fn a_system_that_is_no_deployment_is_bad() {
    let node = Node::sound();
    let elsewhere = tempfile::tempdir().unwrap();
    let mut patient = node.patient();
    patient.places.root = elsewhere.path().to_owned();
    let found = examine(&patient);
    let system = found
        .iter()
        .find(|finding| finding.name == "system")
        .unwrap();
    assert_eq!(system.verdict, Verdict::Bad, "{system:?}");
}

#[test]
fn a_system_that_is_not_the_default_is_bad() {
    second().is_bad("system", "not the default");
}

/// With the deployment that runs second in the menu.
fn second() -> Node {
    let node = Node::sound();
    let other = deployment('b', 0);
    node.disk.lay_out(&other);
    node.disk.menu(&[other, deployment('a', 0)]);
    node
}

#[test]
fn set_default_command_names_the_installed_menu_generator() {
    let node = second();
    let command =
        |generator: &str| format!(": OSTREE_GRUB2_EXEC={generator} ostree admin set-default 1");
    let brought = "/var/lib/careen/agents/proven/careen-grub";
    write(&node.root().join(&brought[1..]), "a program");
    let fix = node.found("system").fix;
    assert!(fix.ends_with(&command(brought)), "{fix}");
    write(&node.root().join(&names::GENERATOR[1..]), "a program");
    let fix = node.found("system").fix;
    assert!(fix.ends_with(&command(names::GENERATOR)), "{fix}");
}

#[test]
fn set_default_command_omits_the_generator_for_grub_mkconfig() {
    let node = second();
    let grub = node.disk.places.boot.join("loader.1/grub.cfg");
    write(&grub, "### BEGIN /etc/grub.d/00_header ###\n");
    write(&node.root().join(&names::GENERATOR[1..]), "a program");
    let fix = node.found("system").fix;
    assert!(
        fix.ends_with("default: ostree admin set-default 1"),
        "{fix}"
    );
}

#[test]
fn unreadable_boot_entries_are_bad_without_set_default_advice() {
    let node = Node::sound();
    let entries = node.disk.places.boot.join("loader/entries");
    let entry = fs::read_dir(&entries).unwrap().next().unwrap().unwrap();
    fs::write(entry.path(), "title torn\n").unwrap();
    node.is_bad("system", "is damaged");
    assert!(!node.found("system").fix.contains("set-default"));
}

#[test]
fn a_system_that_was_not_made_for_careen_is_worth_a_look() {
    let node = Node::sound();
    fs::remove_file(node.root().join(names::IMAGE_INFO)).unwrap();
    assert_eq!(node.found("image").verdict, Verdict::Warn);
}

#[test]
fn a_control_plane_is_bad() {
    let node = Node::sound();
    write(
        &node
            .root()
            .join("etc/kubernetes/manifests/kube-scheduler.yaml"),
        "",
    );
    node.is_bad("worker", "control plane");
    let found = node.found("kubernetes");
    assert_eq!(found.verdict, Verdict::Bad);
    assert!(found.fix.contains("doctor --fix"), "{found:?}");
}

#[test]
fn enabled_control_plane_is_not_bad() {
    let node = Node::sound();
    let manifest = "etc/kubernetes/manifests/kube-scheduler.yaml";
    write(&node.root().join(manifest), "");
    let fix = node.found("worker").fix;
    assert!(fix.contains("enabled = true in [control-plane]"), "{fix}");
    node.policy("[control-plane]\nenabled = true\n");
    let found = node.found("worker");
    assert_eq!(found.verdict, Verdict::Ok, "{found:?}");
    assert!(found.found.contains("control plane"), "{found:?}");
}

#[test]
fn a_missing_unit_is_bad_by_name() {
    let node = Node::sound();
    let unit = node
        .root()
        .join("usr/lib/systemd/system")
        .join(names::DEADMAN_TIMER);
    fs::remove_file(unit).unwrap();
    node.is_bad("units", names::DEADMAN_TIMER);
}

/// A package that was removed and came again, or a person, has left it so.
#[test]
fn unit_is_bad_until_every_wanted_by_target_pulls_it_in() {
    let node = Node::sound();
    let folder = node.root().join("usr/lib/systemd/system");
    let text = "[Install]\nWantedBy=sysinit.target rescue.target\n";
    write(&folder.join(names::DEADMAN_TIMER), text);
    node.is_bad("units", names::DEADMAN_TIMER);
    for target in ["sysinit.target.wants", "rescue.target.wants"] {
        node.is_bad("units", "not enabled");
        let wants = node.root().join("etc/systemd/system").join(target);
        fs::create_dir_all(&wants).unwrap();
        symlink("/nowhere/here", wants.join(names::DEADMAN_TIMER)).unwrap();
    }
    assert_eq!(node.found("units").verdict, Verdict::Ok);
}

#[test]
fn a_masked_unit_is_bad_though_the_image_has_it() {
    let node = Node::sound();
    let folder = node.root().join("etc/systemd/system");
    fs::create_dir_all(&folder).unwrap();
    symlink("/dev/null", folder.join(names::AGENT_UNIT)).unwrap();
    node.is_bad("units", "masked");
}

#[test]
fn a_loader_that_cannot_clear_its_one_shot_is_bad() {
    let node = Node::sound();
    fs::write(node.disk.places.grubenv(), "short").unwrap();
    node.is_bad("loader", "1024");
}

#[test]
fn initramfs_without_a_guard_is_bad_when_the_image_claims_one() {
    let node = Node::sound();
    node.initramfs(&["init", "bin/careen-stage"]);
    node.is_bad("stage", names::GUARD_UNIT);
}
