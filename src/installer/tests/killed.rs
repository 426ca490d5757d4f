//! Pods that are killed, disks that are full, damaged or read-only: an agent serves all the same,
//! and the next pod ends the work.
#![allow(clippy::unwrap_used, missing_docs)]

mod world;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use host::agents::Role;
use installer::units::{self, Entry};
use upgrade::{BootId, Phase, Reason, names};
use world::{Pod, World, everything, pod};

const MIB: u64 = 1 << 20;

/// Phases before anything is armed, in the trial, and on the way back.
fn under_way() -> [(Phase, u32); 3] {
    let boot: BootId = "b0071".parse().unwrap();
    let booted = "x".to_owned();
    let reason = Reason::UnknownSystem { booted };
    [
        (Phase::Accepted, 0),
        (Phase::Trial { boot }, 1),
        (Phase::Reverting { reason }, 1),
    ]
}

/// A node whose image has no agent, with the units of an older pod.
fn with_older_units() -> World {
    let world = World::bare();
    world.settle(&pod("0.1.0"));
    for (name, entry) in units::tree() {
        let path = units_of(&world).join(name);
        match entry {
            Entry::File(text) => fs::write(path, format!("{text}# older\n")).unwrap(),
            Entry::Link(_) => {
                fs::remove_file(&path).unwrap();
                symlink("../careen-former.service", path).unwrap();
            }
        }
    }
    fs::write(units_of(&world).join("careen-former.service"), "").unwrap();
    let generator = world.path(names::POD_GENERATOR);
    let text = fs::read_to_string(&generator).unwrap();
    fs::write(generator, format!("{text}# older\n")).unwrap();
    world.boot();
    world
}

fn units_of(world: &World) -> PathBuf {
    world.path(names::POD_UNITS)
}

fn runs(world: &World, version: &str) {
    assert_eq!(world.runs().as_deref(), Some(version));
}

/// Nothing can be written under this name: a folder lies where the new file is begun.
fn block(path: &Path) -> PathBuf {
    let blocked = PathBuf::from(format!("{}.new", path.display()));
    fs::create_dir_all(&blocked).unwrap();
    blocked
}

fn comes_at_last(world: &World, new: &Pod, version: &str) {
    let health = world.settle(new);
    assert!(health.ready, "{}", health.text);
    runs(world, version);
    world.boot();
    runs(world, version);
}

#[test]
fn install_cut_off_at_any_unit_boots_and_is_finished_later() {
    let files = units::tree().into_keys();
    let mut paths: Vec<_> = files
        .map(|name| Path::new(names::POD_UNITS).join(name))
        .collect();
    paths.push(names::POD_GENERATOR.into());
    for path in paths {
        let world = with_older_units();
        let blocked = block(&world.path(&path.display().to_string()));
        let new = pod("0.1.1");
        assert!(!world.turn(&new).ready, "{}", path.display());
        runs(&world, "0.1.0");
        world.boot();
        runs(&world, "0.1.0");
        fs::remove_dir(blocked).unwrap();
        comes_at_last(&world, &new, "0.1.1");
        assert!(!units_of(&world).join("careen-former.service").exists());
    }
}

#[test]
fn old_agent_is_restarted_when_a_link_cannot_be_moved() {
    let world = World::with_image("0.1.0");
    world.settle(&pod("0.1.1"));
    let blocked = block(&world.agents().folder().join("wanted"));
    let new = pod("0.1.2");
    assert!(!world.turn(&new).ready);
    runs(&world, "0.1.1");
    fs::remove_dir(blocked).unwrap();
    comes_at_last(&world, &new, "0.1.2");
}

#[test]
fn upgrade_starting_while_the_agent_is_stopped_keeps_the_units() {
    let world = with_older_units();
    let before = everything(&units_of(&world));
    *world.on_stop.borrow_mut() = Some(Box::new(|world: &World| {
        world.upgrade_in(Phase::Accepted, 0)
    }));
    let health = world.turn(&pod("0.1.1"));
    assert!(
        health.text.contains("Waiting until it ends"),
        "{}",
        health.text
    );
    assert_eq!(everything(&units_of(&world)), before);
    runs(&world, "0.1.0");
}

#[test]
fn stopped_agent_of_a_killed_pod_is_started_during_an_upgrade() {
    for (phase, tries) in under_way() {
        for world in [World::bare(), World::with_image("0.1.0")] {
            world.settle(&pod("0.1.1"));
            world.is_down();
            world.upgrade_in(phase.clone(), tries);
            let wanted = world.agents().id(Role::Wanted).unwrap();
            let health = world.turn(&pod("0.1.2"));
            assert!(health.text.contains("under way"), "{}", health.text);
            runs(&world, "0.1.1");
            assert_eq!(world.agents().id(Role::Wanted).unwrap(), wanted);
        }
    }
}

#[test]
fn units_that_were_put_and_never_read_are_read() {
    let world = World::bare();
    let new = pod("0.1.0");
    world.settle(&new);
    fs::remove_dir_all(world.path("run/systemd/generator.late")).unwrap();
    world.is_down();
    world.turn(&new);
    runs(&world, "0.1.0");
}

#[test]
fn lost_units_are_restored_during_an_upgrade() {
    for (phase, tries) in under_way() {
        let world = World::bare();
        let new = pod("0.1.0");
        world.settle(&new);
        world.upgrade_in(phase, tries);
        fs::remove_file(world.path(names::POD_GENERATOR)).unwrap();
        world.boot();
        assert_eq!(world.runs(), None);
        world.turn(&new);
        runs(&world, "0.1.0");
    }
}

#[test]
fn full_disk_keeps_the_running_agent_and_writes_nothing() {
    let world = World::with_image("0.1.0");
    let _disk = world.disk("var", MIB);
    let before = everything(&world.path("var"));
    let health = world.settle(&pod("0.1.1"));
    let has_said = health.text.contains("bytes are free");
    assert!(!health.ready && has_said, "{}", health.text);
    assert_eq!(everything(&world.path("var")), before);
    assert_eq!(world.stops.get(), 0);
    runs(&world, "0.1.0");
}

#[test]
fn a_disk_that_cannot_be_written_keeps_the_agent_that_runs() {
    let world = World::with_image("0.1.0");
    let _disk = world.disk("var", 64 * MIB);
    world.is_read_only("var", true);
    let health = world.settle(&pod("0.1.1"));
    assert!(!health.ready, "{}", health.text);
    assert_eq!(world.stops.get(), 0);
    world.is_read_only("var", false);
    comes_at_last(&world, &pod("0.1.1"), "0.1.1");
}

#[test]
fn old_agent_is_restarted_when_the_disk_fails_mid_update() {
    for world in [World::bare(), World::with_image("0.1.0")] {
        let _disk = world.disk("var", 64 * MIB);
        world.settle(&pod("0.1.1"));
        *world.on_stop.borrow_mut() =
            Some(Box::new(|world: &World| world.is_read_only("var", true)));
        let new = pod("0.1.2");
        assert!(!world.turn(&new).ready);
        runs(&world, "0.1.1");
        world.is_read_only("var", false);
        comes_at_last(&world, &new, "0.1.2");
    }
}

#[test]
fn damaged_stopped_agent_is_restored_even_in_a_trial() {
    for (phase, tries) in under_way() {
        let world = World::bare();
        let new = pod("0.1.0");
        world.settle(&new);
        world.upgrade_in(phase, tries);
        world.spoil("0.1.0");
        world.is_down();
        world.turn(&new);
        runs(&world, "0.1.0");
    }
}

#[test]
fn damaged_agent_with_an_image_fallback_waits_for_upgrade_end() {
    let world = World::with_image("0.1.0");
    let new = pod("0.1.1");
    world.settle(&new);
    world.spoil("0.1.1");
    world.is_down();
    world.boot();
    runs(&world, "0.1.0");
    world.upgrade_in(Phase::Accepted, 0);
    assert!(!world.settle(&new).ready);
    runs(&world, "0.1.0");
    world.upgrade_in(Phase::Upgraded, 1);
    comes_at_last(&world, &new, "0.1.1");
}

#[test]
fn an_agent_that_ends_again_and_again_is_never_ready_in_between() {
    for world in [World::bare(), World::with_image("0.1.0")] {
        let new = pod("0.1.1");
        for _ in 0..5 {
            world.turn(&new);
            world.pass(50);
            assert!(!world.turn(&new).ready);
            world.is_down();
        }
    }
}

/// Its /etc is its own, and out of the pod's reach.
#[test]
fn units_left_in_a_kept_system_start_nothing_after_uninstall() {
    let world = World::bare();
    world.settle(&pod("0.1.0"));
    let set = world.agents().folder().join("environment");
    let for_libostree = fs::read_to_string(&set).unwrap();
    let program = for_libostree.trim_end().rsplit('=').next().unwrap();
    assert!(world.path(program).exists(), "{for_libostree}");
    let kept = world.path("kept");
    fs::rename(world.path("etc"), &kept).unwrap();
    fs::create_dir(world.path("etc")).unwrap();
    world.uninstall();
    fs::remove_dir_all(world.path("etc")).unwrap();
    fs::rename(&kept, world.path("etc")).unwrap();
    world.boot();
    assert_eq!(world.runs(), None);
    assert!(
        !set.exists(),
        "libostree would be sent to a program that is gone"
    );
    for unit in [names::AGENT_UNIT, names::RESTORE_UNIT] {
        let unit = fs::read_to_string(units_of(&world).join(unit)).unwrap();
        let condition = format!("ConditionFileIsExecutable={}/proven/", names::AGENTS_DIR);
        assert!(unit.contains(&condition), "{unit}");
    }
}

/// Somebody has emptied the folder, or the disk has spoilt it.
#[test]
fn an_upgrade_that_no_agent_is_left_to_end_gets_the_pods() {
    let lost: [fn(&World); 2] = [
        |world| fs::remove_dir_all(world.agents().folder()).unwrap(),
        |world| world.spoil("0.1.0"),
    ];
    for lose in lost {
        for (phase, tries) in under_way() {
            let world = World::bare();
            world.settle(&pod("0.1.0"));
            world.upgrade_in(phase.clone(), tries);
            world.is_down();
            lose(&world);
            let health = world.turn(&pod("0.1.1"));
            assert!(health.text.contains("no agent is left"), "{}", health.text);
            assert_eq!(world.runs().as_deref(), Some("0.1.1"), "{phase:?}");
        }
    }
}

#[test]
fn lost_proven_agent_is_restored_outside_an_upgrade() {
    let world = World::bare();
    let same = pod("0.1.0");
    world.settle(&same);
    world.is_down();
    fs::remove_file(world.agents().folder().join("proven")).unwrap();
    world.settle(&same);
    assert_eq!(world.runs().as_deref(), Some("0.1.0"));
}
