//! A pod comes to a node: what runs there afterwards, and what it leaves alone.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod world;

use std::path::Path;

use host::agents::Role;
use upgrade::{BootId, Phase, Reason, names};
use world::{World, everything, pod};

fn boot() -> BootId {
    "b0071".parse().unwrap()
}

/// Every phase in which an upgrade is under way, with the trials that it has counted by then.
fn under_way() -> Vec<(Phase, u32)> {
    let reason = Reason::UnknownSystem {
        booted: "x".to_owned(),
    };
    vec![
        (Phase::Accepted, 0),
        (Phase::Fetched, 0),
        (Phase::Verified, 0),
        (Phase::Deployed, 0),
        (Phase::Drained, 0),
        (Phase::Armed { boot: boot() }, 1),
        (Phase::Trial { boot: boot() }, 1),
        (Phase::Healthy { boot: boot() }, 1),
        (Phase::Blessed, 1),
        (Phase::Deployed, 1),
        (Phase::Reverting { reason }, 1),
    ]
}

#[test]
fn a_newer_agent_takes_the_place_of_the_images() {
    let world = World::with_image("0.1.0");
    let new = pod("0.1.1");
    world.turn(&new);
    assert_eq!(world.runs().as_deref(), Some("0.1.1"));
    assert!(!world.turn(&new).ready, "before it has run for a while");
    world.pass(60);
    world.turn(&new);
    let health = world.turn(&new);
    assert!(health.ready, "{}", health.text);
    assert!(
        health.text.contains("0.1.1") && health.text.contains("watching"),
        "{}",
        health.text
    );
}

#[test]
fn an_older_one_lies_there_and_the_images_runs_on() {
    let world = World::with_image("0.2.0");
    let health = world.settle(&pod("0.1.1"));
    assert!(health.ready, "{}", health.text);
    assert!(health.text.contains("the image's own"), "{}", health.text);
    assert_eq!(world.runs().as_deref(), Some("0.2.0"));
}

/// Who updates to it sees that nothing was updated. A build of the day is older than the release it
/// leads to, however late it is.
#[test]
fn pod_reports_its_agent_unused_when_no_newer_than_the_images() {
    let day = "0.1.0~202611221200.abcdef123456";
    for brings in [day, "0.1.0"] {
        let world = World::with_image("0.1.0");
        let health = world.settle(&pod(brings));
        let [_, said] = health.text.split("this pod's ").collect::<Vec<_>>()[..] else {
            panic!("{}", health.text);
        };
        assert!(said.starts_with(&format!("{brings}-")), "{said}");
        assert!(said.contains("does not, because it is not newer"), "{said}");
    }
    let world = World::with_image(day);
    let health = world.settle(&pod("0.1.0"));
    assert!(!health.text.contains("not newer"), "{}", health.text);
}

#[test]
fn image_without_a_launcher_keeps_its_agent_and_pod_says_why() {
    let world = World::with_image("0.1.0");
    world.launches.set(false);
    let health = world.settle(&pod("0.1.1"));
    assert!(
        !health.ready && health.text.contains("too old"),
        "{}",
        health.text
    );
    assert_eq!(world.runs().as_deref(), Some("0.1.0"));
}

#[test]
fn a_node_whose_image_has_no_agent_gets_one_with_its_units() {
    let world = World::bare();
    let health = world.settle(&pod("0.1.0"));
    assert!(health.ready, "{}", health.text);
    assert_eq!(world.runs().as_deref(), Some("0.1.0"));
    world.boot();
    assert_eq!(
        world.runs().as_deref(),
        Some("0.1.0"),
        "after a boot, without a pod"
    );
}

#[test]
fn the_next_image_with_an_agent_is_masked_by_nothing() {
    let world = World::bare();
    world.settle(&pod("0.1.0"));
    world.new_image("0.2.0");
    world.boot();
    assert_eq!(world.runs().as_deref(), Some("0.2.0"));
    assert!(
        !world
            .path("run/systemd/generator.late/careen-agent.service")
            .exists()
    );
}

#[test]
fn nothing_is_put_where_it_would_mask_a_unit() {
    let world = World::bare();
    world.settle(&pod("0.1.0"));
    assert!(!world.path("etc/systemd/system").exists());
    assert!(!world.path("usr/local").exists());
}

#[test]
fn what_is_in_place_is_left_alone() {
    let world = World::with_image("0.1.0");
    let new = pod("0.1.1");
    world.settle(&new);
    let (before, stops) = (everything(&world.path("/")), world.stops.get());
    world.settle(&new);
    assert_eq!(everything(&world.path("/")), before);
    assert_eq!(world.stops.get(), stops);
}

#[test]
fn rollout_changes_nothing_while_an_upgrade_is_in_progress() {
    for (phase, tries) in under_way() {
        let world = World::with_image("0.1.0");
        world.settle(&pod("0.1.1"));
        world.upgrade_in(phase.clone(), tries);
        let (before, stops) = (everything(&world.path("/")), world.stops.get());
        let health = world.settle(&pod("0.1.2"));
        assert!(
            !health.ready && health.text.contains("under way"),
            "{phase:?}: {}",
            health.text
        );
        assert_eq!(everything(&world.path("/")), before, "{phase:?}");
        assert_eq!(world.stops.get(), stops, "{phase:?}");
        assert_eq!(world.runs().as_deref(), Some("0.1.1"), "{phase:?}");
    }
}

#[test]
fn when_it_has_ended_the_roll_out_goes_on() {
    let world = World::with_image("0.1.0");
    world.upgrade_in(Phase::Blessed, 1);
    let new = pod("0.1.1");
    world.settle(&new);
    world.upgrade_in(Phase::Upgraded, 1);
    assert!(world.settle(&new).ready);
    assert_eq!(world.runs().as_deref(), Some("0.1.1"));
}

#[test]
fn running_deploy_unit_blocks_a_rollout_despite_the_record() {
    let world = World::with_image("0.1.0");
    world
        .steps
        .borrow_mut()
        .push("careen-deploy-u1-clean.service".to_owned());
    assert!(world.settle(&pod("0.1.1")).text.contains("under way"));
    assert_eq!(world.stops.get(), 0);
}

#[test]
fn a_look_for_a_plan_is_in_nobodys_way() {
    let world = World::with_image("0.1.0");
    let looks = upgrade::names::PLAN_UNIT.to_owned();
    world.steps.borrow_mut().push(looks);
    assert!(world.settle(&pod("0.1.1")).ready);
    assert_eq!(world.runs().as_deref(), Some("0.1.1"));
}

#[test]
fn an_upgrade_that_begins_while_the_agent_is_stopped_goes_first() {
    let world = World::with_image("0.1.0");
    *world.on_stop.borrow_mut() = Some(Box::new(|world: &World| {
        world.upgrade_in(Phase::Accepted, 0)
    }));
    let new = pod("0.1.1");
    let health = world.turn(&new);
    assert!(
        health.text.contains("Waiting until it ends"),
        "{}",
        health.text
    );
    assert_eq!(
        world.runs().as_deref(),
        Some("0.1.0"),
        "the same agent serves on"
    );
    world.settle(&new);
    assert_eq!(world.stops.get(), 1);
}

#[test]
fn a_record_that_cannot_be_read_keeps_everything_as_it_is() {
    let world = World::with_image("0.1.0");
    let folder = world.path("sysroot").join(names::STATE_DIR);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("record.a"), "torn").unwrap();
    let health = world.settle(&pod("0.1.1"));
    assert!(
        !health.ready && health.text.contains("cannot tell"),
        "{}",
        health.text
    );
    assert_eq!(world.stops.get(), 0);
}

#[test]
fn a_system_that_ostree_did_not_deploy_is_left_alone() {
    let world = World::with_image("0.1.0");
    std::fs::remove_dir_all(world.path("sysroot/ostree")).unwrap();
    let health = world.settle(&pod("0.1.1"));
    assert!(
        !health.ready && health.text.contains("OSTree"),
        "{}",
        health.text
    );
    assert!(!world.agents().folder().exists());
}

#[test]
fn agent_that_does_not_start_gives_way_to_the_previous_one() {
    let world = World::with_image("0.1.0");
    world.settle(&pod("0.1.1"));
    world.dies("0.1.2");
    let bad = pod("0.1.2");
    world.turn(&bad);
    assert_eq!(world.runs().as_deref(), Some("0.1.1"));
    let health = world.settle(&bad);
    assert!(
        !health.ready && health.text.contains("did not run"),
        "{}",
        health.text
    );
    assert_eq!(world.runs().as_deref(), Some("0.1.1"));
}

#[test]
fn and_to_the_images_where_it_is_the_first() {
    let world = World::with_image("0.1.0");
    world.dies("0.1.1");
    let health = world.settle(&pod("0.1.1"));
    assert!(
        !health.ready && health.text.contains("the image's own"),
        "{}",
        health.text
    );
    assert_eq!(world.runs().as_deref(), Some("0.1.0"));
}

#[test]
fn abandoned_agent_is_not_retried_by_the_next_pod_of_its_image() {
    let world = World::with_image("0.1.0");
    world.dies("0.1.1");
    world.settle(&pod("0.1.1"));
    let stops = world.stops.get();
    world.settle(&pod("0.1.1"));
    assert_eq!(world.stops.get(), stops);
}

#[test]
fn abandoned_agent_can_be_installed_again_after_another_image() {
    let world = World::with_image("0.1.0");
    world.dies("0.1.2");
    world.settle(&pod("0.1.2"));
    assert!(world.settle(&pod("0.1.1")).ready);
    world.dying.borrow_mut().clear();
    assert!(world.settle(&pod("0.1.2")).ready);
    assert_eq!(world.runs().as_deref(), Some("0.1.2"));
}

#[test]
fn an_agent_that_dies_later_is_given_up_in_a_boot_without_a_pod() {
    let world = World::with_image("0.1.0");
    world.turn(&pod("0.1.1"));
    world.dies("0.1.1");
    world.boot();
    assert_eq!(world.runs().as_deref(), Some("0.1.0"));
}

#[test]
fn agent_unable_to_run_on_a_trial_image_runs_after_the_fallback() {
    let world = World::with_image("0.1.0");
    let new = pod("0.1.2");
    world.settle(&new);
    let roles = || [Role::Wanted, Role::Proven].map(|role| world.agents().id(role).unwrap());
    let before = roles();
    // Built on a newer system than that of the next image: it ends in its loader.
    world.dies("0.1.2");
    world.new_image("0.1.1");
    world.upgrade_in(Phase::Trial { boot: boot() }, 1);
    world.boot();
    assert_eq!(world.runs().as_deref(), Some("0.1.1"), "judges the trial");
    let health = world.settle(&new);
    assert!(!health.ready, "{}", health.text);
    for wanted in ["does not run in this boot", "the image's own agent, 0.1.1,"] {
        assert!(health.text.contains(wanted), "{}", health.text);
    }
    assert_eq!(roles(), before);
    // The old system has what it had when the trial was armed.
    world.dying.borrow_mut().clear();
    world.new_image("0.1.0");
    world.boot();
    assert_eq!(world.runs().as_deref(), Some("0.1.2"));
    assert!(world.settle(&new).ready);
}

#[test]
fn one_that_runs_bears_any_number_of_starts_in_one_boot() {
    let world = World::with_image("0.1.0");
    let new = pod("0.1.2");
    world.settle(&new);
    for start in 0..10 {
        world.is_down();
        world.settle(&new);
        assert_eq!(world.runs().as_deref(), Some("0.1.2"), "start {start}");
    }
}

#[test]
fn going_back_to_an_older_image_of_the_daemonset_goes_back() {
    let world = World::with_image("0.1.0");
    world.settle(&pod("0.1.2"));
    assert!(world.settle(&pod("0.1.1")).ready);
    assert_eq!(world.runs().as_deref(), Some("0.1.1"));
}

#[test]
fn trial_moves_no_link_even_for_an_agent_that_has_lasted() {
    let world = World::with_image("0.1.0");
    let new = pod("0.1.1");
    world.turn(&new);
    world.upgrade_in(Phase::Trial { boot: boot() }, 1);
    let all = || {
        let files = everything(&world.path("/")).into_iter();
        // In which the agent itself notes that it has lasted.
        let of_the_pod = files.filter(|(path, _)| !path.ends_with("agents/launched"));
        of_the_pod.collect::<Vec<_>>()
    };
    let before = all();
    let health = world.settle(&new);
    assert!(health.ready, "it runs: {}", health.text);
    assert_eq!(all(), before);
}

#[test]
fn an_agent_that_somebody_stopped_is_started_again() {
    let world = World::with_image("0.1.0");
    let new = pod("0.1.1");
    world.settle(&new);
    world.is_down();
    assert!(!world.turn(&new).ready);
    assert_eq!(world.runs().as_deref(), Some("0.1.1"));
    assert!(world.settle(&new).ready);
}

#[test]
fn next_pod_finishes_an_install_cut_off_at_any_call() {
    for world in [World::bare, || World::with_image("0.1.0")] {
        for calls in 0..16 {
            let world = world();
            world.calls_left.set(calls);
            world.turn(&pod("0.1.1"));
            world.calls_left.set(u32::MAX);
            let health = world.settle(&pod("0.1.1"));
            assert!(health.ready, "after {calls} calls: {}", health.text);
            assert_eq!(
                world.runs().as_deref(),
                Some("0.1.1"),
                "after {calls} calls"
            );
        }
    }
}

#[test]
fn nothing_is_left_of_versions_that_are_not_used_any_more() {
    let world = World::with_image("0.1.0");
    for version in ["0.1.1", "0.1.2", "0.1.3", "0.1.4"] {
        world.settle(&pod(version));
    }
    let bundles = std::fs::read_dir(world.agents().folder()).unwrap();
    let bundles = bundles.filter(|entry| {
        let entry = entry.as_ref().unwrap();
        entry.file_type().unwrap().is_dir()
    });
    assert!(bundles.count() <= 2);
}

#[test]
fn agent_the_launcher_could_not_run_is_not_marked_proven() {
    let world = World::with_image("0.1.0");
    let new = pod("0.1.1");
    world.turn(&new);
    let agents = world.agents();
    let id = agents.id(Role::Wanted).unwrap().unwrap();
    let image = Path::new("/usr/libexec/careen/careen-agent");
    let bundle = agents.bundle(&id).unwrap();
    agents.could_not_run(&bundle, image, "0.1.0").unwrap();
    *world.running.borrow_mut() = Some("0.1.0".to_owned());
    let health = world.settle(&new);
    assert!(
        !health.ready && health.text.contains("did not run"),
        "{}",
        health.text
    );
    assert_eq!(agents.id(Role::Proven).unwrap(), None);
}
