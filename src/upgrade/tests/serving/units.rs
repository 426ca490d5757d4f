//! Units of systemd: which have failed, which mounts, swaps and services are not active, and a boot
//! that does not end.

use super::*;

/// The phase at the deadline if these units were active before the drain, and these are now.
fn active(before: &[&str], now: Option<&[&str]>, policy: &Policy) -> Record {
    let set = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect());
    let mut record = trial();
    let served = &mut record.upgrade.as_mut().unwrap().served;
    served.units.as_mut().unwrap().active = set(before);
    let seen = at(620).with(|seen| {
        let units = seen.turn.serving.units.as_mut().unwrap();
        units.active = now.and_then(set);
    });
    next_by(&seen, &record, policy).0
}

#[test]
fn mount_or_swap_that_is_not_active_fails_the_trial() {
    for unit in ["srv-data.mount", "dev-sda2.swap"] {
        let Phase::Reverting { reason } = phase_of(&active(&[unit], Some(&[]), &at_once())) else {
            panic!("{unit} is not missed");
        };
        assert!(reason.to_string().contains(unit), "{reason}");
        assert!(!reason.blames_image(), "{reason}");
        let there = active(&[unit], Some(&[unit]), &at_once());
        assert!(matches!(phase_of(&there), Phase::Healthy { .. }));
        let unknown = active(&[unit], None, &at_once());
        assert!(matches!(phase_of(&unknown), Phase::Healthy { .. }));
        let mut policy = at_once();
        policy.serving.except = vec![format!("unit:{unit}")];
        let excepted = active(&[unit], Some(&[]), &policy);
        assert!(matches!(phase_of(&excepted), Phase::Healthy { .. }));
    }
}

#[test]
fn service_that_is_not_active_warns_by_default() {
    let warned = active(&["chrony.service"], Some(&[]), &at_once());
    assert!(matches!(phase_of(&warned), Phase::Healthy { .. }));
    let differs = warned.upgrade.unwrap().differs;
    assert!(differs[0].contains("chrony.service"), "{differs:?}");
    let mut policy = at_once();
    policy.serving.services = Demand::Require;
    let failed = active(&["chrony.service"], Some(&[]), &policy);
    assert!(matches!(phase_of(&failed), Phase::Reverting { .. }));
}

#[test]
fn unit_that_fails_only_in_the_trial_fails_it() {
    let seen = at(600).with(|seen| {
        seen.turn.serving.units = Some(units(&["old.service", "new.service"]));
    });
    let (missing, image) = less(&seen, &at_once()).unwrap();
    let told = "unit new.service fails and did not before the drain (exit-code, exit status 217)";
    assert_eq!((missing.as_str(), image), (told, true));
}

#[test]
fn job_of_a_timer_that_fails_only_warns() {
    let seen = at(620).with(|seen| {
        let units = seen.turn.serving.units.as_mut().unwrap();
        units.down.push(Down {
            name: "fwupd-refresh.service".into(),
            timed: true,
            ..Down::default()
        });
    });
    let (record, _) = next_by(&seen, &trial(), &at_once());
    assert!(matches!(phase_of(&record), Phase::Healthy { .. }));
    let differs = record.upgrade.unwrap().differs;
    let told = "unit fwupd-refresh.service of a timer fails and did not before the drain";
    assert_eq!(differs, [told]);
    let mut policy = at_once();
    policy.serving.units = Demand::Off;
    let (record, _) = next_by(&seen, &trial(), &policy);
    assert_eq!(record.upgrade.unwrap().differs, Vec::<String>::new());
}

#[test]
fn failed_unit_counts_without_an_api_server_too() {
    let away = at(700).with(|seen| {
        seen.node.api = Api::Away;
        seen.turn.serving.units = Some(units(&["new.service"]));
    });
    assert!(less(&away, &at_once()).is_some());
}

#[test]
fn missing_network_is_named_before_the_units_that_wait_for_it() {
    let cut_off = |seconds| {
        at(seconds).with(|seen| {
            seen.node.api = Api::Away;
            seen.turn.network = Err(NoNetwork::Route {
                to: "192.0.2.1".into(),
            });
            seen.turn.health.ready = Check::Pending("no API server".into());
            seen.turn.serving.units = Some(units(&["systemd-networkd-wait-online.service"]));
        })
    };
    let (record, act) = next_by(&cut_off(700), &trial(), &at_once());
    assert!(matches!(act, Act::Wait(_)), "{act:?}");
    let (record, _) = next_by(&cut_off(1600), &record, &at_once());
    let given_up = record.upgrade.unwrap().attempt.given_up;
    let named = matches!(given_up, Some(Reason::NoApiFromNewSystem { .. }));
    assert!(named, "{given_up:?}");
}

#[test]
fn boot_that_does_not_end_fails_the_trial() {
    let seen = at(600).with(|seen| {
        let units = seen.turn.serving.units.as_mut().unwrap();
        units.starting = Some("raid.service".into());
    });
    let (missing, image) = less(&seen, &at_once()).unwrap();
    assert!(missing.contains("raid.service") && !image, "{missing}");
}
