//! The uninstall takes away what was installed and nothing else, and not in the middle of an upgrade.
#![allow(clippy::unwrap_used, missing_docs)]

mod world;

use std::fs;

use upgrade::{BootId, Phase};
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
fn of_a_node_whose_image_has_none_nothing_is_left_also_after_a_boot() {
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
fn it_is_refused_while_an_upgrade_is_under_way_and_done_when_that_has_ended() {
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
fn refused_it_starts_an_agent_that_a_killed_pod_has_left_stopped_so_that_the_upgrade_ends() {
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
fn in_an_upgrade_that_no_agent_is_left_to_end_it_says_what_to_do() {
    let world = World::bare();
    world.settle(&pod("0.1.0"));
    world.upgrade_in(Phase::Drained, 0);
    world.is_down();
    fs::remove_dir_all(world.agents().folder()).unwrap();
    let health = world.uninstall();
    assert!(
        !health.ready && health.text.contains("Install once more"),
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
