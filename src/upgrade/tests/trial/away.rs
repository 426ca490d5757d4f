//! A trial whose API server, clock or credential fails it.

use super::*;

/// Only what needs the API server is open.
fn without_api(seconds: u64) -> Observation {
    let open = || Check::Pending("no API server".into());
    let health = Health {
        kubeadm: open(),
        ready: open(),
        version: open(),
        ..healthy()
    };
    at(seconds).with(|seen| {
        seen.node.api = Api::Away;
        seen.turn.health = health;
    })
}

#[test]
fn an_absent_api_server_is_waited_for_with_the_deadman_told() {
    let (record, act) = next(&without_api(600), &trial());
    assert_eq!(act, Act::Wait(Some(SinceBoot(1_500_000))));
    assert!(record.upgrade.unwrap().attempt.hold.unwrap().at > SinceBoot(1_500_000));
}

#[test]
fn api_outage_past_the_hold_reverts_without_blaming_the_image() {
    let (record, act) = next(&without_api(1500), &trial());
    assert_eq!(act, Act::Begin(Step::Reboot { force: false }));
    assert_gives_way_without_blame(record);
}

#[test]
fn old_system_arms_again_only_after_it_reached_the_api_server() {
    let (record, _) = next(&without_api(1500), &trial());
    let old = asked().with(|seen| {
        seen.turn.boot = boot(3);
        seen.machine.deployments = on_trial().machine.deployments;
    });
    let away = old.clone().with(|seen| seen.node.api = Api::Away);
    let (waiting, act) = next(&away, &record);
    assert_eq!(act, Act::Wait(None));
    let (saving, act) = next(&old, &waiting);
    assert_eq!(begun(&act), Some("Snapshot"));
    assert!(saving.upgrade.unwrap().api.compared);
}

#[test]
fn a_server_that_comes_back_late_leaves_the_node_its_full_time() {
    let since = SinceBoot(1_000_000);
    let seen = without_api(1001).with(|seen| {
        seen.node.api = Api::Reached {
            since,
            version: None,
        }
    });
    assert_eq!(
        next(&seen, &trial()).1,
        Act::Wait(Some(SinceBoot(1_600_000)))
    );
}

/// The kubelet's certificate has run out by this machine's clock: to neither system does it start.
fn locked_out(seconds: u64) -> Observation {
    let mut seen = without_api(seconds);
    seen.turn.health.kubelet = Check::Fail("connection refused".into());
    seen.turn.health.credential = Check::Fail("ran out".into());
    seen
}

#[test]
fn expired_kubelet_certificate_reverts_without_blame() {
    let (held, act) = next(&locked_out(30), &trial());
    assert_eq!(act, Act::Wait(Some(SinceBoot(1_500_000))));
    let (record, act) = next(&locked_out(1500), &held);
    assert_eq!(act, Act::Begin(Step::Reboot { force: false }));
    assert_gives_way_without_blame(record);
}

#[test]
fn once_the_clock_is_put_right_the_kubelet_has_its_full_time() {
    let (held, _) = next(&locked_out(590), &trial());
    let (record, act) = next(&kubelet_restarting(1002), &held);
    assert_eq!(act, Act::Wait(Some(SinceBoot(1_600_000))));
    assert_eq!(phase_of(&record), Phase::Trial { boot: boot(2) });
}

#[test]
fn a_certificate_that_ran_out_excuses_nothing_but_the_kubelet() {
    let mut seen = locked_out(600);
    seen.turn.health.runtime = Check::Fail("no such file".into());
    assert!(matches!(
        phase_of(&next(&seen, &trial()).0),
        Phase::Reverting { .. }
    ));
    let reached = at(600).with(|seen| {
        seen.turn.health = Health {
            kubeadm: Check::Pass,
            ..locked_out(600).turn.health
        };
    });
    assert!(matches!(
        phase_of(&next(&reached, &trial()).0),
        Phase::Reverting { .. }
    ));
}

/// The server is back, and kubeadm has just restarted the kubelet.
fn kubelet_restarting(seconds: u64) -> Observation {
    let mut seen = without_api(seconds);
    seen.turn.health.kubelet = Check::Fail("connection refused".into());
    seen.node.api = Api::Reached {
        since: SinceBoot(1_000_000),
        version: None,
    };
    seen
}

#[test]
fn a_kubelet_that_kubeadm_restarts_late_is_not_bad_for_it() {
    let (held, _) = next(&without_api(600), &trial());
    let (record, act) = next(&kubelet_restarting(1002), &held);
    assert_eq!(act, Act::Wait(Some(SinceBoot(1_600_000))));
    let (record, _) = next(&kubelet_restarting(1600), &record);
    assert!(matches!(phase_of(&record), Phase::Reverting { .. }));
}

#[test]
fn never_healthy_kubelet_is_not_excused_by_an_api_outage() {
    let configured = kubelet_restarting(1002).with(|seen| seen.turn.health.kubeadm = Check::Pass);
    let (record, _) = next(&configured, &trial());
    assert!(matches!(phase_of(&record), Phase::Reverting { .. }));
}

#[test]
fn a_site_without_a_steady_api_server_may_bless_on_local_checks() {
    let mut policy = at_once();
    policy.health.bless_without_api = true;
    let policy = Ok(policy);
    let (record, act) = next_with(&without_api(60), &trial(), &policy);
    let deadline = Act::Wait(Some(SinceBoot(600_000)));
    assert_eq!(act, deadline, "a server that blinks is no absent one");
    let (record, _) = next_with(&without_api(600), &record, &policy);
    assert_eq!(phase_of(&record), Phase::Healthy { boot: boot(2) });
    assert!(record.upgrade.unwrap().attempt.kubeadm.due);
}
