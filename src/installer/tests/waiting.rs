//! A node whose upgrade waits for its operator, for hours or days, holds up no roll-out to the
//! others; one in the middle of a step does.
#![allow(clippy::unwrap_used, missing_docs)]

mod world;

use upgrade::record::{Custody, Taken};
use upgrade::{Moment, Phase, Reason, SinceBoot, Step, Upgrade};
use world::{World, everything, pod};

const NEW: &str = "0.1.2";

/// Until when nothing is begun.
type Wait = fn(&mut Upgrade);

/// The operator's hours, and a pause.
const WAITS: [Wait; 2] = [
    |up| {
        let opens = "it opens Fri 22:00 UTC".to_owned();
        up.waits = Some(Reason::WindowClosed { opens });
    },
    |up| up.paused = true,
];

/// The phases in which the node serves its users.
fn early() -> [Phase; 4] {
    [
        Phase::Accepted,
        Phase::Fetched,
        Phase::Verified,
        Phase::Deployed,
    ]
}

/// A node with a pod's agent and an upgrade that waits, but for this.
fn with_a_wait(wait: Wait, but: impl FnOnce(&mut Upgrade)) -> World {
    let world = World::with_image("0.1.0");
    world.settle(&pod("0.1.1"));
    world.upgrade_as(|up| {
        wait(up);
        but(up);
    });
    world
}

/// Whatever it says, it changes nothing and is not ready.
fn keeps_its_hands_off(world: &World, what: &str) {
    let (before, stops) = (everything(&world.path("/")), world.stops.get());
    let health = world.settle(&pod(NEW));
    let says_it = health.text.contains("under way");
    assert!(!health.ready && says_it, "{what}: {}", health.text);
    assert_eq!(everything(&world.path("/")), before, "{what}");
    assert_eq!(world.stops.get(), stops, "{what}");
    assert_eq!(world.runs().as_deref(), Some("0.1.1"), "{what}");
}

#[test]
fn rollout_proceeds_while_an_upgrade_waits_or_is_paused() {
    for wait in WAITS {
        for phase in early() {
            let world = with_a_wait(wait, |up| up.phase = phase.clone());
            let record = everything(&world.path("sysroot"));
            let new = pod(NEW);
            let first = world.turn(&new);
            assert!(
                first.text.contains("waits for its window"),
                "{}",
                first.text
            );
            let health = world.settle(&new);
            assert!(health.ready, "{phase:?}: {}", health.text);
            assert_eq!(world.runs().as_deref(), Some(NEW), "{phase:?}");
            let kept = everything(&world.path("sysroot")) == record;
            assert!(kept, "{phase:?}: the upgrade is the agent's");
        }
    }
}

#[test]
fn in_the_middle_of_a_fetch_or_a_drain_it_does_not() {
    let since = || {
        Some(Moment {
            boot: "b0071".parse().unwrap(),
            at: SinceBoot(1),
        })
    };
    for wait in WAITS {
        let world = with_a_wait(wait, |up| {
            let target = up.target.clone();
            up.intent = Some(Step::Fetch { target });
        });
        keeps_its_hands_off(&world, "a fetch");
        let world = with_a_wait(wait, |up| {
            up.phase = Phase::Deployed;
            up.custody = Custody::Upgrade(Taken {
                drain_begun: since(),
                ..Taken::default()
            });
        });
        keeps_its_hands_off(&world, "a drain");
        let world = with_a_wait(wait, |up| up.phase = Phase::Drained);
        keeps_its_hands_off(&world, "drained");
    }
}

/// Whatever the record says.
#[test]
fn nor_while_a_run_of_careen_deploy_lives() {
    for wait in WAITS {
        let world = with_a_wait(wait, |_| {});
        let fetches = "careen-deploy-u1-fetch.service".to_owned();
        world.steps.borrow_mut().push(fetches);
        keeps_its_hands_off(&world, "a run");
    }
}

#[test]
fn wait_ending_while_the_agent_is_stopped_keeps_the_old_agent() {
    for wait in WAITS {
        let world = with_a_wait(wait, |_| {});
        *world.on_stop.borrow_mut() = Some(Box::new(|world: &World| {
            world.upgrade_in(Phase::Accepted, 0);
        }));
        let health = world.turn(&pod(NEW));
        assert!(
            health.text.contains("Waiting until it ends"),
            "{}",
            health.text
        );
        assert_eq!(world.runs().as_deref(), Some("0.1.1"));
    }
}

#[test]
fn failing_new_agent_returns_a_waiting_upgrade_to_the_old_one() {
    for wait in WAITS {
        let world = with_a_wait(wait, |_| {});
        world.dies(NEW);
        let health = world.settle(&pod(NEW));
        assert!(health.text.contains("did not run"), "{}", health.text);
        assert_eq!(world.runs().as_deref(), Some("0.1.1"));
    }
}

/// Nobody would be left to end it.
#[test]
fn the_uninstall_waits_with_it() {
    for wait in WAITS {
        let world = with_a_wait(wait, |_| {});
        let health = world.uninstall();
        assert!(health.text.contains("refused"), "{}", health.text);
        assert_eq!(world.runs().as_deref(), Some("0.1.1"));
    }
}
