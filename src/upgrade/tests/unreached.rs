//! What is left to do of a system that was blessed while the API server was away, as the policy's
//! `bless-without-api` lets it be.
#![allow(clippy::unwrap_used)]

mod scene;

use scene::*;
use upgrade::*;

fn at(seconds: u64) -> Observation {
    on_trial().with(|seen| seen.turn.now = SinceBoot(0).plus_seconds(seconds))
}

/// Blessed without an API server, and without kubeadm.
fn blessed_without_api() -> Record {
    let mut record = upgrade_in(Phase::Blessed);
    let up = record.upgrade.as_mut().unwrap();
    (up.attempt.kubeadm.due, up.attempt.kubeadm.configured) = (true, None);
    record
}

/// Blessed when kubeadm had succeeded, in this boot.
fn configured_in(number: u32) -> Record {
    let mut record = upgrade_in(Phase::Blessed);
    record.upgrade.as_mut().unwrap().attempt.kubeadm.configured = Some(boot(number));
    record
}

/// It runs as the default, after another reboot perhaps.
fn runs_as_the_default() -> Observation {
    at(600).with(|seen| {
        seen.turn.boot = boot(3);
        seen.machine.trial = false;
        seen.machine.deployments = vec![deployment('b'), deployment('a')];
    })
}

#[test]
fn kubeadm_due_after_a_blessing_runs_before_the_release() {
    let seen = runs_as_the_default();
    let (record, act) = next(&seen, &blessed_without_api());
    assert_eq!(act, Act::Begin(Step::Kubeadm));
    let done = Outcome::Done(Effect::Plain);
    let seen = seen.with(|seen| seen.turn.finished = finished(Step::Kubeadm, done));
    let (record, act) = next(&seen, &record);
    assert_eq!(act, Act::Begin(Step::Release));
    assert!(!record.upgrade.unwrap().attempt.kubeadm.due);
    let (_, act) = next(&runs_as_the_default(), &configured_in(3));
    assert_eq!(act, Act::Begin(Step::Release), "where it has run");
}

#[test]
fn kubeadm_runs_again_after_a_reboot_that_may_have_undone_it() {
    let seen = runs_as_the_default();
    let (record, act) = next(&seen, &configured_in(2));
    assert_eq!(act, Act::Begin(Step::Kubeadm));
    assert!(
        record.upgrade.unwrap().attempt.kubeadm.due,
        "its unit looks there"
    );
}

#[test]
fn released_node_is_upgraded_only_after_kubeadm_runs_again() {
    let mut record = configured_in(2);
    let up = record.upgrade.as_mut().unwrap();
    (up.custody, up.cleaned) = (given_back(), true);
    let away = runs_as_the_default().with(|seen| seen.node.api = Api::Away);
    let (record, act) = next(&away, &record);
    assert_eq!((phase_of(&record), act), (Phase::Blessed, Act::Wait(None)));
    let (record, act) = next(&runs_as_the_default(), &record);
    assert_eq!(act, Act::Begin(Step::Kubeadm));
    let ended = runs_as_the_default()
        .with(|seen| seen.turn.finished = finished(Step::Kubeadm, Outcome::Done(Effect::Plain)));
    assert_eq!(phase_of(&next(&ended, &record).0), Phase::Upgraded);
}

#[test]
fn kubeadm_after_a_blessing_waits_for_the_api_and_never_expires() {
    let away = runs_as_the_default().with(|seen| seen.node.api = Api::Away);
    let (record, act) = next(&away, &blessed_without_api());
    assert_eq!(act, Act::Begin(Step::Clean), "what needs no server goes on");
    let running = runs_as_the_default().with(|seen| {
        seen.turn.running = Some(Step::Kubeadm);
        seen.turn.now = SinceBoot(0).plus_seconds(90_000);
    });
    let (record, act) = next(&running, &record);
    assert_eq!(act, Act::Wait(None));
    assert_eq!(phase_of(&record), Phase::Blessed);
}

#[test]
fn failing_kubeadm_after_a_blessing_is_retried_and_reported() {
    let detail = "see its journal".to_owned();
    let reason = Reason::KubeadmFailed { detail };
    let mut record = blessed_without_api();
    for _ in 0..20 {
        let failed = runs_as_the_default().with(|seen| {
            seen.turn.finished = finished(Step::Kubeadm, Outcome::Failed(reason.clone()))
        });
        let (next, act) = next(&failed, &record);
        assert!(matches!(act, Act::Wait(Some(_))), "{act:?}");
        record = next;
    }
    let told = report(&Ok(record.clone()), &runs_as_the_default(), None);
    assert_eq!(told.unwrap().reason, Some(reason));
    let later = runs_as_the_default().with(|seen| seen.turn.now = SinceBoot(0).plus_seconds(901));
    assert_eq!(next(&later, &record).1, Act::Begin(Step::Kubeadm));
}

#[test]
fn new_trial_resets_kubeadm_due_of_an_earlier_trial() {
    let mut record = upgrade_in(Phase::Armed { boot: boot(1) });
    record.upgrade.as_mut().unwrap().attempt.kubeadm.due = true;
    let (record, _) = next(&at(60), &record);
    assert_eq!(phase_of(&record), Phase::Trial { boot: boot(2) });
    assert!(!record.upgrade.unwrap().attempt.kubeadm.due);
}

/// As a node is without an API server: kubeadm has not succeeded, and the Node is not seen.
fn away(seconds: u64) -> Observation {
    let unseen = || Check::Pending("no API server".into());
    at(seconds).with(|seen| {
        seen.node.api = Api::Away;
        seen.turn.health = Health {
            kubeadm: Check::Fail("it has not succeeded yet".into()),
            ready: unseen(),
            version: unseen(),
            ..healthy()
        };
    })
}

/// Whose operator blesses without an API server, what was well for an hour.
fn patient() -> PolicyRead {
    let mut policy = at_once();
    (policy.health.bless_without_api, policy.health.soak_seconds) = (true, 3600);
    Ok(policy)
}

/// On trial in this very boot, past the guard.
fn tried() -> Record {
    upgrade_in(Phase::Trial { boot: boot(2) })
}

#[test]
fn soak_without_an_api_server_ends_although_kubeadm_never_ran() {
    let (record, _) = next_with(&away(600), &tried(), &patient());
    let (record, act) = next_with(&away(2_000), &record, &patient());
    assert_eq!(
        act,
        Act::Wait(Some(SinceBoot(4_200_000))),
        "not begun again"
    );
    let (record, _) = next_with(&away(4_200), &record, &patient());
    assert_eq!(phase_of(&record), Phase::Healthy { boot: boot(2) });
}

#[test]
fn soak_without_api_restarts_on_kubelet_death_or_api_return() {
    let (record, _) = next_with(&away(600), &tried(), &patient());
    let dead = away(1_000).with(|seen| {
        seen.turn.health = Health {
            kubelet: Check::Fail("connection refused".into()),
            ..away(0).turn.health
        }
    });
    let back = away(1_000).with(|seen| seen.node.api = on_trial().node.api);
    for seen in [dead, back] {
        let (record, _) = next_with(&seen, &record, &patient());
        assert_eq!(record.upgrade.unwrap().attempt.well_since, None);
    }
}
