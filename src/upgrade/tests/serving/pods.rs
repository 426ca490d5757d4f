//! The pods of DaemonSets and static pods, and whether a new pod can start.

use super::*;

#[test]
fn daemon_pod_that_is_not_ready_again_fails_the_trial() {
    let (missing, image) = fails(|now| {
        now.pods[0].unready = unready("container cni: CrashLoopBackOff", false);
    });
    let told = "DaemonSet pod kube-system/cni was Ready before the drain and is not: \
                container cni: CrashLoopBackOff";
    assert_eq!(missing, told);
    assert!(!image, "it may wait for another machine");
}

#[test]
fn pod_whose_container_cannot_be_started_blames_the_image() {
    let (_, image) = fails(|now| {
        let why = "container cni: RunContainerError".into();
        let (pulls, broken) = (false, true);
        now.pods[0].unready = Some(Unready { why, pulls, broken });
    });
    assert!(image);
    let broken = |now: &mut Offer| {
        let why = "container cni: RunContainerError".into();
        let (pulls, broken) = (false, true);
        now.pods[0].unready = Some(Unready { why, pulls, broken });
    };
    let seen = now(broken).with(|seen| seen.turn.health.causes.runtime = Cause::Node);
    let (_, image) = less(&seen, &at_once()).unwrap();
    assert!(!image, "the runtime's configuration is the node's own");
}

#[test]
fn container_whose_image_is_another_one_now_blames_no_image() {
    let image = |digit: &str, at: &str| {
        let id = ImageId::of(&format!("{at}sha256:{}", digit.repeat(64))).unwrap();
        [("cni".to_owned(), id)].into()
    };
    let blames = |digit, at| {
        let mut record = trial();
        let served = &mut record.upgrade.as_mut().unwrap().served;
        served.node.as_mut().unwrap().pods[0].images = image("a", "x@");
        let seen = now(|now| {
            let why = "container cni: RunContainerError".into();
            let (pulls, broken) = (false, true);
            now.pods[0].unready = Some(Unready { why, pulls, broken });
            now.pods[0].images = image(digit, at);
        });
        let (record, _) = next_by(&seen, &record, &at_once());
        matches!(phase_of(&record), Phase::Reverting { reason } if reason.blames_image())
    };
    assert!(!blames("b", "x@"), "a tag leads to another image now");
    assert!(blames("a", "x@"));
    assert!(blames("b", ""), "two kinds of digests cannot be compared");
}

#[test]
fn ready_from_before_the_boot_does_not_count() {
    let (missing, _) = fails(|now| now.pods = offer("c1").pods);
    assert!(missing.contains("has not reported it since"), "{missing}");
}

#[test]
fn pod_that_waits_for_a_registry_does_not_blame_the_image() {
    let (_, image) = fails(|now| now.pods[0].unready = unready("ImagePullBackOff", true));
    assert!(!image);
    let (_, image) = fails(|now| {
        now.pods = vec![pod("cni", "p2", "")];
        (now.pods[0].revision, now.pods[0].unready) = ("r2".into(), unready("Error", false));
    });
    assert!(!image, "its DaemonSet has another template now");
}

#[test]
fn replaced_pod_of_the_same_daemonset_is_as_good() {
    assert_eq!(
        passes(|now| now.pods = vec![pod("cni", "p2", "")]),
        Vec::<String>::new()
    );
}

#[test]
fn pod_that_was_not_ready_before_the_drain_decides_nothing() {
    let mut record = trial();
    let served = &mut record.upgrade.as_mut().unwrap().served;
    let was = &mut served.node.as_mut().unwrap().pods[0];
    was.unready = unready("container cni: CrashLoopBackOff", false);
    let seen = now(|now| now.pods[0].unready = unready("container cni: CrashLoopBackOff", false));
    let (record, _) = next_by(&seen, &record, &at_once());
    assert!(matches!(phase_of(&record), Phase::Healthy { .. }));
}

#[test]
fn missing_pod_of_a_daemonset_is_awaited_until_the_deadline() {
    let seen =
        |seconds| at(seconds).with(|seen| seen.turn.serving.node.as_mut().unwrap().pods.clear());
    let (record, act) = next_by(&seen(60), &trial(), &at_once());
    assert!(matches!(phase_of(&record), Phase::Trial { .. }));
    assert!(matches!(act, Act::Wait(Some(_))), "{act:?}");
    let (record, _) = next_by(&seen(600), &record, &at_once());
    assert!(matches!(phase_of(&record), Phase::Healthy { .. }));
}

#[test]
fn system_that_can_pull_no_image_fails_the_trial() {
    let names = |names: &[&str]| Some(names.iter().map(ToString::to_string).collect());
    let mut record = trial();
    let served = &mut record.upgrade.as_mut().unwrap().served;
    served.system = names(&["certificates", "resolver"]);
    for (has, expected) in [
        ("certificates", "a resolver"),
        ("resolver", "certificates of"),
    ] {
        let seen = at(620).with(|seen| seen.turn.serving.system = names(&[has]));
        let Phase::Reverting {
            reason: Reason::ServesLess { missing, cause, .. },
        } = phase_of(&next_by(&seen, &record, &at_once()).0)
        else {
            panic!("it passes without {expected}");
        };
        assert!(missing.contains(expected), "{missing}");
        assert_eq!(cause, Cause::Unclear);
    }
}

#[test]
fn kube_proxy_that_is_ready_and_writes_no_rules_fails_the_trial() {
    let families = |names: &[&str]| names.iter().map(ToString::to_string).collect();
    let mut record = trial();
    let served = &mut record.upgrade.as_mut().unwrap().served;
    served.node.as_mut().unwrap().services = families(&["IPv4", "IPv6"]);
    let phase = |names: &[&str], policy: &Policy| {
        let seen = now(|now| now.services = families(names));
        phase_of(&next_by(&seen, &record, policy).0)
    };
    let Phase::Reverting {
        reason: Reason::ServesLess { missing, cause, .. },
    } = phase(&["IPv6"], &at_once())
    else {
        panic!("it passes");
    };
    assert!(missing.contains("the IPv4 rules of services"), "{missing}");
    assert_eq!(cause, Cause::Unclear);
    let healthy = |phase: Phase| matches!(phase, Phase::Healthy { .. });
    assert!(healthy(phase(&["IPv4", "IPv6"], &at_once())));
    let mut policy = at_once();
    policy.serving.except = vec!["proxy:kube-proxy".to_owned()];
    assert!(healthy(phase(&[], &policy)));
}

#[test]
fn daemonset_without_a_pod_on_the_node_is_only_told() {
    let told = passes(|now| now.pods.clear());
    assert_eq!(told.len(), 1);
    assert!(told[0].contains("no such pod is on the node"), "{told:?}");
}

#[test]
fn static_pod_that_is_gone_fails_the_trial() {
    let mut record = trial();
    let served = &mut record.upgrade.as_mut().unwrap().served;
    served.node.as_mut().unwrap().pods[0].owner.kind = String::new();
    let seen = now(|now| now.pods.clear());
    let (record, _) = next_by(&seen, &record, &at_once());
    let phase = phase_of(&record);
    assert!(
        format!("{phase:?}").contains("the kubelet reports no such pod"),
        "{phase:?}"
    );
}
