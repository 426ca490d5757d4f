//! When a system is blessed without an API server, and when it is not.
#![allow(clippy::unwrap_used, clippy::panic)]

mod scene;

use scene::*;
use upgrade::*;

fn trial() -> Record {
    upgrade_in(Phase::Trial { boot: boot(2) })
}

/// A trial whose old system has reached the API server.
fn compared() -> Record {
    let mut record = trial();
    record.upgrade.as_mut().unwrap().api.from_old = true;
    record
}

fn policy() -> PolicyRead {
    let mut policy = at_once();
    policy.health.bless_without_api = true;
    Ok(policy)
}

/// Only what needs the API server is open.
fn away(seconds: u64) -> Observation {
    let open = || Check::Pending("no API server".into());
    on_trial().with(|seen| {
        seen.turn.now = SinceBoot(0).plus_seconds(seconds);
        seen.node.api = Api::Away;
        seen.turn.health = Health {
            kubeadm: open(),
            ready: open(),
            version: open(),
            ..healthy()
        };
    })
}

fn reached(seconds: u64) -> Observation {
    away(seconds).with(|seen| seen.node.api = on_trial().node.api)
}

fn lacks() -> [NoNetwork; 4] {
    let to = || "192.0.2.1".to_owned();
    [
        NoNetwork::Carrier {
            device: "eth0".into(),
        },
        NoNetwork::Address { to: to() },
        NoNetwork::Route { to: to() },
        NoNetwork::Resolver {
            name: "api.example.org".into(),
        },
    ]
}

/// In the old system again, with its API server or without.
fn back(api: Api) -> Observation {
    asked().with(|seen| {
        seen.turn.boot = boot(3);
        seen.machine.deployments = on_trial().machine.deployments;
        seen.node.api = api;
    })
}

#[test]
fn a_server_that_the_old_reached_must_be_reached_by_the_new() {
    let (record, act) = next_with(&away(600), &compared(), &policy());
    assert_eq!(act, Act::Wait(Some(SinceBoot(1_500_000))), "not blessed");
    let (record, act) = next_with(&away(1500), &record, &policy());
    assert_eq!(begun(&act), Some("Reboot"));
    let up = record.upgrade.as_ref().unwrap();
    let outage = matches!(up.attempt.given_up, Some(Reason::ApiAwayInTrial { .. }));
    assert!(outage, "an outage is not held against the image: {up:?}");
}

/// The next trial, after the old system has reached the server.
fn second(first: &Record) -> Record {
    let (record, act) = next_with(&back(quiet().node.api), first, &policy());
    assert_eq!(begun(&act), Some("Snapshot"));
    let mut record = record;
    let up = record.upgrade.as_mut().unwrap();
    assert!(up.api.compared);
    // As the arming leaves it.
    (up.phase, up.attempt.given_up) = (Phase::Trial { boot: boot(2) }, None);
    record
}

fn cut_off(seconds: u64) -> Observation {
    let [network, ..] = lacks();
    away(seconds).with(|seen| seen.turn.network = Err(network))
}

/// The trial ends, nothing is held against the image, and the reason says this.
fn assert_is_an_outage(record: &Record, says: &str) {
    let up = record.upgrade.as_ref().unwrap();
    let given_up = up.attempt.given_up.clone().unwrap();
    assert!(
        matches!(given_up, Reason::ApiAwayInTrial { .. }),
        "{given_up:?}"
    );
    assert!(!given_up.blames_image());
    assert!(given_up.to_string().contains(says), "{given_up}");
}

/// The upgrade ends with the reason that blames the image, and the reason says this.
fn assert_is_the_images(record: &Record, says: &str) {
    let Phase::Reverting { reason } = phase_of(record) else {
        panic!("{record:?}");
    };
    assert!(matches!(reason, Reason::NoApiFromNewSystem { .. }));
    assert!(reason.blames_image());
    assert!(reason.to_string().contains(says), "{reason}");
}

#[test]
fn two_trials_that_never_reach_the_server_are_the_images() {
    let (first, _) = next_with(&away(1500), &compared(), &policy());
    let (waits, act) = next_with(&back(Api::Away), &first, &policy());
    assert_eq!(act, Act::Wait(None), "the old one has not reached it yet");
    let second = second(&waits);
    let (record, _) = next_with(&away(1500), &second, &policy());
    assert_is_the_images(&record, "the old system reached it");
    let (record, _) = next_with(&cut_off(1500), &second, &policy());
    assert_is_the_images(&record, "network device eth0");
}

#[test]
fn server_reached_in_the_second_trial_and_lost_is_an_outage() {
    let (first, _) = next(&cut_off(1500), &compared());
    let (record, _) = next(&reached(60), &second(&first));
    let (record, _) = next(&cut_off(1500), &record);
    assert_is_an_outage(&record, "reached the API server in this trial and then");
}

#[test]
fn server_reached_in_the_first_trial_excuses_the_second() {
    let (record, _) = next(&reached(60), &compared());
    let (first, _) = next(&away(1500), &record);
    let second = second(&first);
    let (record, _) = next(&cut_off(1500), &second);
    assert_is_an_outage(&record, "eth0");
    let (record, _) = next(&away(1500), &second);
    assert_is_an_outage(&record, "lacks nothing on its own way");
    assert!(!record.upgrade.unwrap().api.compared, "asked once more");
}

#[test]
fn a_system_that_reached_the_server_and_lost_it_is_blessed() {
    let (record, _) = next_with(&reached(60), &compared(), &policy());
    let (record, _) = next_with(&away(600), &record, &policy());
    assert_eq!(phase_of(&record), Phase::Healthy { boot: boot(2) });
    let mut other_boot = compared();
    let up = other_boot.upgrade.as_mut().unwrap();
    up.api.from_new = Some(boot(9));
    let (record, _) = next_with(&away(600), &other_boot, &policy());
    assert_eq!(phase_of(&record), Phase::Trial { boot: boot(2) });
}

#[test]
fn reached_server_is_noted_once_in_each_trial() {
    let (record, _) = next(&reached(60), &compared());
    let noted = &record.upgrade.as_ref().unwrap().api.from_new;
    assert_eq!(*noted, Some(boot(2)));
    assert_eq!(next(&reached(61), &record).0, record);
}

#[test]
fn a_drain_by_a_released_agent_counts_as_a_reached_server() {
    let mut record = trial();
    let begun = Some(Moment {
        boot: boot(1),
        at: SinceBoot(1),
    });
    record.upgrade.as_mut().unwrap().custody = taken(|taken| taken.drain_begun = begun);
    let (record, _) = next_with(&away(600), &record, &policy());
    assert_eq!(phase_of(&record), Phase::Trial { boot: boot(2) });
}

#[test]
fn the_old_system_notes_that_it_has_reached_the_server() {
    let noted = |record: &Record| record.upgrade.as_ref().unwrap().api.from_old;
    assert!(noted(&next(&asked(), &Record::default()).0), "accepted");
    for phase in phases().into_iter().filter(Phase::can_be_withdrawn) {
        let seen = asked().with(|seen| seen.machine.deployments = on_trial().machine.deployments);
        assert!(
            noted(&next(&seen, &upgrade_in(phase.clone())).0),
            "{phase:?}"
        );
        let unseen = seen.with(|seen| seen.node.api = Api::Away);
        assert!(
            !noted(&next(&unseen, &upgrade_in(phase.clone())).0),
            "{phase:?}"
        );
    }
    let drained = back(Api::Away)
        .with(|seen| seen.turn.finished = finished(drain(), Outcome::Done(Effect::Plain)));
    assert!(noted(&next(&drained, &upgrade_in(Phase::Deployed)).0));
}

#[test]
fn a_node_without_a_network_is_never_blessed_alone() {
    for network in lacks() {
        let cut_off = |seconds| away(seconds).with(|seen| seen.turn.network = Err(network.clone()));
        // Not even where the old system never reached a server, nor where this one did before.
        for record in [trial(), next_with(&reached(60), &compared(), &policy()).0] {
            let (record, act) = next_with(&cut_off(600), &record, &policy());
            assert_eq!(act, Act::Wait(Some(SinceBoot(1_500_000))), "{network}");
            let (blessed, _) = next_with(&away(900), &record, &policy());
            assert_eq!(phase_of(&blessed), Phase::Healthy { boot: boot(2) });
            let (record, act) = next_with(&cut_off(1500), &record, &policy());
            assert_eq!(begun(&act), Some("Reboot"));
            let given_up = record.upgrade.unwrap().attempt.given_up;
            let given_up = given_up.unwrap().to_string();
            assert!(given_up.contains(&network.to_string()), "{given_up}");
        }
    }
}

#[test]
fn one_trial_without_a_network_is_no_verdict_on_the_image() {
    let (first, _) = next(&cut_off(1500), &compared());
    // A cable may be out: the old system is asked, and a second trial is made.
    let (waits, act) = next(&back(Api::Away), &first);
    assert_eq!(act, Act::Wait(None));
    second(&waits);
    // Where the policy allows one trial alone, that is the verdict.
    let once = Ok(Policy {
        trials: 1,
        ..at_once()
    });
    let (record, _) = next_with(&back(quiet().node.api), &first, &once);
    assert_is_the_images(&record, "eth0");
}

#[test]
fn a_cut_in_a_long_soak_is_asked_about_at_its_end() {
    let mut policy = policy();
    policy.as_mut().unwrap().health.soak_seconds = 3600;
    let (record, _) = next_with(&reached(60), &compared(), &policy);
    let (record, _) = next_with(&away(600), &record, &policy);
    let (record, act) = next_with(&cut_off(2_000), &record, &policy);
    assert_eq!(
        act,
        Act::Wait(Some(SinceBoot(4_200_000))),
        "not begun again"
    );
    let (record, _) = next_with(&cut_off(4_200), &record, &policy);
    assert_eq!(phase_of(&record), Phase::Trial { boot: boot(2) });
    let (record, _) = next_with(&away(4_300), &record, &policy);
    assert_eq!(phase_of(&record), Phase::Healthy { boot: boot(2) });
}
