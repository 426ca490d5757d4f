//! The uninstall takes away what was installed and nothing else, and not in the middle of an
//! upgrade.
#![allow(clippy::unwrap_used, missing_docs)]

mod world;

use std::fs;

use host::snapshot::{self, Owed};
use upgrade::{BootId, Phase, Reason, UpgradeId};
use world::{World, everything, pod};

fn paths(world: &World) -> Vec<std::path::PathBuf> {
    let files = everything(&world.path("/")).into_iter();
    files
        .map(|(path, _)| path)
        .filter(|path| !path.starts_with(world.path("run")))
        .collect()
}

#[test]
fn of_a_node_whose_image_has_an_agent_that_one_serves_again() {
    let world = World::with_image("0.1.0");
    let before = paths(&world);
    world.settle(&pod("0.1.1"));
    world.uninstall();
    let health = world.uninstall();
    assert!(health.ready, "{}", health.text);
    assert_eq!(world.runs().as_deref(), Some("0.1.0"));
    assert_eq!(paths(&world), before);
}

#[test]
fn uninstall_on_a_bare_image_leaves_nothing_even_after_a_boot() {
    let world = World::bare();
    let before = paths(&world);
    world.settle(&pod("0.1.0"));
    assert!(world.uninstall().ready);
    assert_eq!(world.runs(), None);
    world.boot();
    assert_eq!(world.runs(), None);
    assert_eq!(paths(&world), before);
}

#[test]
fn uninstall_is_refused_until_the_upgrade_has_ended() {
    let boot: BootId = "b0071".parse().unwrap();
    for phase in [
        Phase::Accepted,
        Phase::Drained,
        Phase::Trial { boot },
        Phase::Blessed,
    ] {
        let world = World::with_image("0.1.0");
        world.settle(&pod("0.1.1"));
        world.upgrade_in(phase.clone(), 0);
        let (before, stops) = (everything(&world.path("/")), world.stops.get());
        let health = world.uninstall();
        assert!(
            !health.ready && health.text.contains("refused"),
            "{phase:?}: {}",
            health.text
        );
        assert_eq!(everything(&world.path("/")), before, "{phase:?}");
        assert_eq!(world.stops.get(), stops, "{phase:?}");
        world.upgrade_in(Phase::Upgraded, 1);
        assert!(world.uninstall().ready, "{phase:?}");
    }
}

#[test]
fn refused_uninstall_starts_an_agent_left_stopped() {
    for world in [World::bare(), World::with_image("0.1.0")] {
        world.settle(&pod("0.1.1"));
        world.upgrade_in(Phase::Accepted, 0);
        world.is_down();
        assert!(!world.uninstall().ready);
        assert_eq!(world.runs().as_deref(), Some("0.1.1"));
    }
}

#[test]
fn an_upgrade_that_begins_just_then_goes_first() {
    for world in [World::bare(), World::with_image("0.1.0")] {
        world.settle(&pod("0.1.1"));
        *world.on_stop.borrow_mut() = Some(Box::new(|world: &World| {
            world.upgrade_in(Phase::Accepted, 0)
        }));
        assert!(!world.uninstall().ready);
        assert_eq!(
            world.runs().as_deref(),
            Some("0.1.1"),
            "the agent serves on"
        );
    }
}

/// The last upgrade fell back, and what its trial had changed for the kubelet could not be put
/// back.
fn owes(world: &World) -> (host::Places, UpgradeId) {
    let places = host::Places::running(&world.path("/"));
    let id: UpgradeId = "u1".parse().unwrap();
    let owed = Owed {
        why: "the disk was full".to_owned(),
        to: None,
    };
    snapshot::save(&places, &id).unwrap();
    snapshot::owe(&places, &id, &owed).unwrap();
    let reason = Reason::UnknownSystem {
        booted: "x".to_owned(),
    };
    world.upgrade_in(Phase::Failed { reason }, 1);
    (places, id)
}

#[test]
fn uninstall_waits_while_its_unit_alone_can_restore_the_kubelet() {
    let world = World::bare();
    world.settle(&pod("0.1.1"));
    let (places, id) = owes(&world);
    world.is_down();
    let (before, stops) = (everything(&world.path("etc")), world.stops.get());
    let health = world.uninstall();
    assert!(!health.ready, "{}", health.text);
    for wanted in [
        "refused",
        "u1",
        "the disk was full",
        " /sysroot/ostree/careen/snapshot-u1",
        "reboot",
    ] {
        assert!(health.text.contains(wanted), "{wanted}: {}", health.text);
    }
    assert_eq!(
        world.runs().as_deref(),
        Some("0.1.1"),
        "the agent serves on"
    );
    assert_eq!(world.stops.get(), stops);
    assert_eq!(everything(&world.path("etc")), before, "and our unit stays");
    snapshot::forget(&places, &id).unwrap();
    assert!(world.uninstall().ready);
}

#[test]
fn where_its_program_for_that_is_missing_it_says_what_brings_it() {
    let world = World::bare();
    world.settle(&pod("0.1.1"));
    owes(&world);
    world.is_down();
    fs::remove_dir_all(world.agents().folder()).unwrap();
    let health = world.uninstall();
    assert!(
        !health.ready && health.text.contains("install again"),
        "{}",
        health.text
    );
}

#[test]
fn it_does_not_wait_where_the_images_own_unit_puts_it_back() {
    let world = World::with_image("0.1.0");
    world.settle(&pod("0.1.1"));
    owes(&world);
    assert!(world.uninstall().ready);
    assert!(world.path("sysroot/ostree/careen/snapshot-u1").exists());
}

#[test]
fn what_the_operator_and_the_node_own_stays() {
    let world = World::with_image("0.1.0");
    world.settle(&pod("0.1.1"));
    fs::create_dir_all(world.path("etc/careen/required.d")).unwrap();
    fs::write(world.path("etc/careen/policy.toml"), "skew = 2\n").unwrap();
    world.upgrade_in(Phase::Upgraded, 1);
    world.uninstall();
    assert!(world.path("etc/careen/policy.toml").exists());
    assert!(world.path("etc/careen/required.d").exists());
    assert!(world.path("sysroot/ostree/careen/record.a").exists());
}

#[test]
fn cut_off_at_any_call_it_is_ended_by_the_next_pod() {
    for world in [World::bare, || World::with_image("0.1.0")] {
        for calls in 0..10 {
            let world = world();
            world.settle(&pod("0.1.1"));
            world.calls_left.set(calls);
            world.uninstall();
            world.calls_left.set(u32::MAX);
            world.uninstall();
            assert!(world.uninstall().ready, "after {calls} calls");
            assert!(!world.agents().folder().exists(), "after {calls} calls");
            let image = world.image.borrow().as_ref().map(ToString::to_string);
            assert_eq!(world.runs(), image, "after {calls} calls");
        }
    }
}

#[test]
fn units_whose_programs_a_person_has_removed_go_too() {
    let world = World::bare();
    let before = paths(&world);
    world.settle(&pod("0.1.0"));
    world.is_down();
    fs::remove_dir_all(world.agents().folder()).unwrap();
    assert!(world.uninstall().ready);
    assert_eq!(paths(&world), before);
}

#[test]
fn uninstall_without_an_agent_mid_upgrade_advises_reinstalling() {
    let world = World::bare();
    world.settle(&pod("0.1.0"));
    world.upgrade_in(Phase::Drained, 0);
    world.is_down();
    fs::remove_dir_all(world.agents().folder()).unwrap();
    let health = world.uninstall();
    assert!(
        !health.ready && health.text.contains("Install the DaemonSet again"),
        "{}",
        health.text
    );
    world.settle(&pod("0.1.0"));
    world.upgrade_in(Phase::Upgraded, 1);
    assert!(world.uninstall().ready);
}

#[test]
fn where_nothing_was_installed_there_is_nothing_to_do() {
    let world = World::with_image("0.1.0");
    assert!(world.uninstall().ready);
    assert_eq!(world.stops.get(), 0);
}
