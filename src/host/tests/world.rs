//! The whole chain in a small world: whatever is interrupted, and wherever, the node ends in a
//! system that has proved itself.
#![allow(clippy::unwrap_used, clippy::panic)]

mod fake;

use std::path::Path;

use fake::{Cut, Flaw, World};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use upgrade::{Phase, Reason};

const FLAWS: [Flaw; 8] = [
    Flaw::Panics,
    Flaw::HangsInInitramfs,
    Flaw::Tampered,
    Flaw::AgentDead,
    Flaw::KubeletDown,
    Flaw::UserCheck,
    Flaw::NeverReady,
    Flaw::NoNetwork,
];

fn reason(phase: Phase, world: &World) -> Reason {
    match phase {
        Phase::Failed { reason } => reason,
        other => panic!("{other:?}\n{}", world.log().join("\n")),
    }
}

/// Whether something of this world is evidence against the image. It has no pstore, no watchdog and
/// no deadman's note, and a check that could not be made shows nothing.
fn shows_the_image(flaw: Flaw) -> bool {
    match flaw {
        Flaw::KubeletDown | Flaw::UserCheck | Flaw::NoNetwork => true,
        Flaw::None
        | Flaw::Panics
        | Flaw::HangsInInitramfs
        | Flaw::AgentDead
        | Flaw::Unattended
        | Flaw::Tampered
        | Flaw::NeverReady => false,
    }
}

#[test]
fn a_good_image_ends_upgraded() {
    let mut world = World::new(Flaw::None);
    assert_eq!(world.live(), Phase::Upgraded, "{}", world.log().join("\n"));
    assert_eq!(world.trials(), 1);
}

#[test]
fn each_flaw_ends_in_the_old_system_with_its_own_reason() {
    for flaw in FLAWS {
        let mut world = World::new(flaw);
        let phase = world.live();
        let reason = reason(phase, &world);
        let fits = match flaw {
            Flaw::Panics | Flaw::HangsInInitramfs | Flaw::AgentDead => {
                matches!(reason, Reason::NoVerdict { tries: 2, .. })
            }
            Flaw::Tampered => matches!(reason, Reason::StageRefused { .. }),
            Flaw::KubeletDown | Flaw::NeverReady => matches!(reason, Reason::Unhealthy { .. }),
            Flaw::UserCheck => matches!(reason, Reason::UserCheck { .. }),
            Flaw::NoNetwork => matches!(reason, Reason::NoApiFromNewSystem { .. }),
            // Refused before the trial: see below.
            Flaw::Unattended | Flaw::None => false,
        };
        assert!(fits, "{flaw:?} gave {reason:?}\n{}", world.log().join("\n"));
        let bad = world.record().bad;
        let blamed = usize::from(shows_the_image(flaw));
        assert_eq!(bad.len(), blamed, "{flaw:?}: {bad:?}");
    }
}

/// Once the node runs it, nothing would end its trial.
#[test]
fn image_without_agent_and_deadman_is_never_tried_despite_cuts() {
    for cut in [Cut::Power, Cut::Kill] {
        for at in 0..=points(Flaw::Unattended) {
            let mut world = World::new(Flaw::Unattended).with_cuts(&[(at, cut)]);
            let phase = world.live();
            let reason = reason(phase, &world);
            assert!(matches!(reason, Reason::NoAgent { .. }), "{reason:?}");
            assert_eq!(world.trials(), 0, "{cut:?} at {at}");
        }
    }
}

#[test]
fn a_good_image_survives_one_cut_at_any_point() {
    for cut in [Cut::Power, Cut::Kill] {
        for at in 1..=points(Flaw::None) {
            let mut world = World::new(Flaw::None).with_cuts(&[(at, cut)]);
            assert_eq!(
                world.live(),
                Phase::Upgraded,
                "{cut:?} at {at}\n{}",
                world.log().join("\n")
            );
        }
    }
}

#[test]
fn a_flawed_image_never_stays_whatever_is_cut_where() {
    for flaw in FLAWS {
        for cut in [Cut::Power, Cut::Kill] {
            for at in 1..=points(flaw) {
                let mut world = World::new(flaw).with_cuts(&[(at, cut)]);
                let phase = world.live();
                reason(phase, &world);
            }
        }
    }
}

#[test]
fn api_outage_longer_than_the_hold_still_ends_upgraded() {
    for (from, to) in [(70, 3000), (100, 900), (75, 1500), (62, 200)] {
        let mut world = World::new(Flaw::None).with_api_away(from..to);
        assert_eq!(
            world.live(),
            Phase::Upgraded,
            "away {from} to {to}\n{}",
            world.log().join("\n")
        );
    }
}

#[test]
fn api_outage_within_the_hold_needs_only_one_trial() {
    for (from, to) in [(62, 200), (75, 600), (100, 900), (75, 1400)] {
        let mut world = World::new(Flaw::None).with_api_away(from..to);
        assert_eq!(world.live(), Phase::Upgraded);
        let log = world.log().join("\n");
        assert_eq!(world.trials(), 1, "away {from} to {to}\n{log}");
    }
}

/// A node whose operator blesses without an API server.
fn alone(flaw: Flaw) -> World {
    let mut policy = fake::at_once();
    policy.health.bless_without_api = true;
    World::new(flaw).with_policy(policy)
}

/// kubeadm, which the blessing skipped, runs as soon as it can, without a person.
#[test]
fn kubeadm_runs_late_in_a_system_that_was_blessed_without_api() {
    // The server is up for one second of the trial, and down again when kubeadm needs it.
    let site = || {
        alone(Flaw::None)
            .with_api_away(75..99)
            .with_api_away(100..3000)
    };
    let mut whole = site();
    whole.live();
    let log = whole.log().join("\n");
    assert_eq!(log.matches("Kubeadm in b").count(), 2, "{log}");
    assert_eq!(whole.trials(), 1, "{log}");
    for at in 1..=whole.points() {
        for cut in [Cut::Power, Cut::Kill] {
            let mut world = site().with_cuts(&[(at, cut)]);
            let phase = world.live();
            let (upgraded, log) = (phase == Phase::Upgraded, world.log().join("\n"));
            assert_eq!(upgraded, world.is_configured(), "{cut:?} at {at}\n{log}");
            // A cut moves a drain, or the last trial, into the server's absence.
            let bad = world.record().bad;
            assert!(upgraded || bad.is_empty(), "{cut:?} at {at}\n{log}");
        }
    }
}

#[test]
fn a_system_that_never_reached_the_api_is_not_blessed() {
    // The old system drained the node through that server.
    let mut outage = alone(Flaw::None).with_api_away(75..3000);
    let phase = outage.live();
    let log = outage.log().join("\n");
    assert_eq!(phase, Phase::Upgraded, "by the second trial\n{log}");
    assert_eq!(outage.trials(), 2, "{log}");
    let mut cut_off = alone(Flaw::NoNetwork);
    let phase = cut_off.live();
    let reason = reason(phase, &cut_off);
    assert!(
        matches!(reason, Reason::NoApiFromNewSystem { .. }),
        "{reason}"
    );
    assert_eq!(cut_off.record().bad.len(), 1);
}

#[test]
fn refused_reboot_is_retried_four_times_and_then_fails_untried() {
    for refusals in [1, 4] {
        let mut world = World::new(Flaw::None).with_refused_reboots(refusals);
        assert_eq!(world.live(), Phase::Upgraded, "{}", world.log().join("\n"));
        assert_eq!(world.trials(), 1);
    }
    let mut world = World::new(Flaw::None).with_refused_reboots(5);
    let phase = world.live();
    let reason = reason(phase, &world);
    assert!(matches!(reason, Reason::RebootRefused { .. }), "{reason:?}");
    assert_eq!(world.trials(), 0);
}

#[test]
fn a_blessing_that_fails_behind_its_swap_is_a_blessing() {
    let mut world = World::new(Flaw::None).with_failure_behind_bless();
    assert_eq!(world.live(), Phase::Upgraded, "{}", world.log().join("\n"));
    assert_eq!(world.trials(), 1);
}

#[test]
fn loader_that_cannot_clear_its_one_shot_does_not_loop_forever() {
    for flaw in [
        Flaw::None,
        Flaw::Tampered,
        Flaw::KubeletDown,
        Flaw::AgentDead,
    ] {
        World::new(flaw).with_stuck_loader().live();
    }
}

#[test]
fn a_bad_image_is_tried_again_only_when_asked_again() {
    let mut world = World::new(Flaw::KubeletDown);
    world.live();
    let before = world.log().len();
    world.live();
    assert_eq!(world.log().len(), before, "it was not asked for again");
    world.repair();
    world.ask_again("two");
    assert_eq!(world.live(), Phase::Upgraded, "{}", world.log().join("\n"));
}

#[test]
fn withdrawal_before_arming_fails_and_after_it_is_ignored() {
    let mut armed = false;
    for at in 1..=points(Flaw::None) {
        let mut world = World::new(Flaw::None).with_withdrawal(at);
        let phase = world.live();
        let log = world.log().join("\n");
        match phase {
            Phase::Failed {
                reason: Reason::Withdrawn { replaced_by: None },
            } => {
                assert!(!armed, "withdrawn at {at}, later than it could be\n{log}");
                assert_eq!(world.trials(), 0, "{log}");
            }
            Phase::Upgraded => armed = true,
            other => panic!("{other:?}\n{log}"),
        }
    }
    assert!(armed);
}

#[test]
fn withdrawal_during_a_trial_without_verdict_prevents_a_second() {
    let mut heard = false;
    for at in 1..=points(Flaw::Panics) {
        let mut world = World::new(Flaw::Panics).with_withdrawal(at);
        let phase = world.live();
        let reason = reason(phase, &world);
        if matches!(reason, Reason::Withdrawn { .. }) && world.trials() > 0 {
            assert_eq!(world.trials(), 1, "{}", world.log().join("\n"));
            heard = true;
        }
    }
    assert!(heard);
}

#[test]
fn etc_changes_before_arming_reach_the_new_system_despite_cuts() {
    let drained = 22;
    let changed = || World::new(Flaw::None).with_etc_changed(drained..drained + 1);
    let mut whole = changed();
    whole.live();
    for cut in [Cut::Power, Cut::Kill] {
        for at in drained + 1..=whole.points() {
            let mut world = changed().with_cuts(&[(at, cut)]);
            let phase = world.live();
            let log = world.log().join("\n");
            assert_eq!(phase, Phase::Upgraded, "{cut:?} at {at}\n{log}");
            assert!(world.etc_is_carried_over(), "{cut:?} at {at}\n{log}");
        }
    }
}

#[test]
fn constantly_changing_etc_fails_the_upgrade_without_a_trial() {
    let mut world = World::new(Flaw::None).with_etc_changed(1..u32::MAX);
    let phase = world.live();
    let reason = reason(phase, &world);
    let named = matches!(&reason, Reason::EtcMerge { detail } if detail.contains("keeps changing"));
    assert!(named, "{reason:?}\n{}", world.log().join("\n"));
    assert_eq!(world.trials(), 0);
}

/// The current stories. To accept a change: `UPDATE_GOLDEN=1 cargo test`.
#[test]
fn the_stories_stay_as_they_are() {
    let cut = |at| World::new(Flaw::None).with_cuts(&[(at, Cut::Power)]);
    let storm = |flaw, step: u32| {
        let at = |number: u32| {
            (
                number * step,
                if number.is_multiple_of(2) {
                    Cut::Power
                } else {
                    Cut::Kill
                },
            )
        };
        World::new(flaw).with_cuts(&(1..6).map(at).collect::<Vec<_>>())
    };
    for (name, mut world) in [
        ("good", World::new(Flaw::None)),
        ("panics", World::new(Flaw::Panics)),
        ("tampered", World::new(Flaw::Tampered)),
        ("agent-dead", World::new(Flaw::AgentDead)),
        ("kubelet-down", World::new(Flaw::KubeletDown)),
        ("no-network", World::new(Flaw::NoNetwork)),
        ("api-away", World::new(Flaw::None).with_api_away(75..3000)),
        ("storm-good", storm(Flaw::None, 11)),
        ("storm-never-ready", storm(Flaw::NeverReady, 17)),
        ("storm-no-network", storm(Flaw::NoNetwork, 23)),
        ("power-cut-armed", cut(30)),
        ("power-cut-in-trial", cut(40)),
        ("power-cut-blessed", cut(48)),
    ] {
        let phase = world.live();
        let story = format!("{}\nat rest: {}\n", world.log().join("\n"), phase.name());
        let path = Path::new(&std::env::var("CARGO_MANIFEST_DIR").unwrap())
            .join(format!("tests/golden/{name}.log"));
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(&path, &story).unwrap();
        }
        assert_eq!(story, std::fs::read_to_string(&path).unwrap(), "{name}");
    }
}

fn points(flaw: Flaw) -> u32 {
    let mut world = World::new(flaw);
    world.live();
    world.points()
}

/// The same runs every time, unless another seed is set: `CAREEN_SEED=7 cargo test`.
fn seed() -> u64 {
    let asked = std::env::var("CAREEN_SEED").ok();
    let seed = asked.map_or(1, |text| text.parse().unwrap());
    println!("CAREEN_SEED={seed}");
    seed
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 400,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(seed()),
        ..ProptestConfig::default()
    })]

    #[test]
    fn many_cuts_leave_a_system_that_has_proved_itself(
        cuts in prop::collection::vec((1u32..400, prop_oneof![Just(Cut::Power), Just(Cut::Kill)]), 0..6),
        flaw in 0usize..9,
        away in prop::option::of((60u64..2000, 1u64..3000)),
    ) {
        let flaw = FLAWS.get(flaw).copied().unwrap_or(Flaw::None);
        let mut world = World::new(flaw).with_cuts(&cuts);
        if let Some((from, length)) = away {
            world = world.with_api_away(from..from + length);
        }
        let phase = world.live();
        prop_assert!(flaw == Flaw::None || phase != Phase::Upgraded);
    }
}
