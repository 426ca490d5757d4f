//! A trial is compared with the node as it was before the drain: its Node and its pods here, its
//! units in `units`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod scene;
#[path = "serving/units.rs"]
mod units;

use scene::*;
use upgrade::policy::Demand;
use upgrade::serving::{Down, NodePod, Offer, Owner, Unready};
use upgrade::*;

fn pod(name: &str, uid: &str, containers: &str) -> NodePod {
    NodePod {
        owner: Owner {
            kind: "DaemonSet".into(),
            namespace: "kube-system".into(),
            name: name.into(),
        },
        uid: uid.into(),
        revision: "r1".into(),
        containers: containers.into(),
        unready: None,
        ready_seconds: None,
    }
}

fn unready(why: &str, pulls: bool) -> Option<Unready> {
    let why = why.to_owned();
    let broken = false;
    Some(Unready { why, pulls, broken })
}

/// A node with a network plugin and two GPUs.
fn offer(containers: &str) -> Offer {
    let text = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
    let resources = [
        ("cpu", "4"),
        ("memory", "16Gi"),
        ("pods", "110"),
        ("nvidia.com/gpu", "2"),
        ("hugepages-2Mi", "1Gi"),
    ];
    let addresses = [("InternalIP", "10.0.0.7"), ("InternalIP", "fd00::7")];
    let conditions = [("DiskPressure", "False"), ("KernelDeadlock", "False")];
    Offer {
        conditions: conditions.map(text).into(),
        addresses: addresses.map(text).into(),
        resources: resources.map(text).into(),
        taints: None,
        drivers: None,
        handlers: None,
        features: None,
        devices: None,
        labels: None,
        services: std::collections::BTreeSet::new(),
        pods: vec![pod("cni", "p1", containers)],
    }
}

fn units(down: &[&str]) -> serving::Units {
    let down = down.iter().map(|name| Down {
        name: (*name).to_owned(),
        why: "exit-code, exit status 217".into(),
        cause: Cause::Image,
    });
    serving::Units {
        down: down.collect(),
        ..serving::Units::default()
    }
}

/// A trial of an upgrade that noted the node before its drain.
fn trial() -> Record {
    upgrade_in_with(Phase::Trial { boot: boot(2) }, |up| {
        up.served = Serving {
            node: Some(offer("c1")),
            units: Some(units(&["old.service"])),
            ..Serving::default()
        };
    })
}

fn upgrade_in_with(phase: Phase, change: impl FnOnce(&mut Upgrade)) -> Record {
    let mut record = upgrade_in(phase);
    change(record.upgrade.as_mut().unwrap());
    record
}

/// All other checks pass, and the node serves as before.
fn at(seconds: u64) -> Observation {
    on_trial().with(|seen| {
        seen.turn.now = SinceBoot(0).plus_seconds(seconds);
        seen.turn.health = healthy();
        seen.turn.serving = Serving {
            node: Some(offer("c2")),
            units: Some(units(&["old.service"])),
            ..Serving::default()
        };
    })
}

fn now(change: impl FnOnce(&mut Offer)) -> Observation {
    at(620).with(|seen| change(seen.turn.serving.node.as_mut().unwrap()))
}

/// What is missing and whether the image is to blame; `None` if the trial passes.
fn less(seen: &Observation, policy: &Policy) -> Option<(String, bool)> {
    let (record, _) = next_by(seen, &trial(), policy);
    match phase_of(&record) {
        Phase::Healthy { .. } => None,
        Phase::Reverting {
            reason: Reason::ServesLess { missing, cause, .. },
        } => Some((missing, cause.is_image())),
        other => panic!("{other:?}"),
    }
}

fn next_by(seen: &Observation, record: &Record, policy: &Policy) -> (Record, Act) {
    next_with(seen, record, &Ok(policy.clone()))
}

fn fails(change: impl FnOnce(&mut Offer)) -> (String, bool) {
    less(&now(change), &at_once()).expect("the trial passes")
}

fn passes(change: impl FnOnce(&mut Offer)) -> Vec<String> {
    let (record, _) = next_by(&now(change), &trial(), &at_once());
    assert!(matches!(phase_of(&record), Phase::Healthy { .. }));
    record.upgrade.unwrap().differs
}

#[test]
fn node_that_serves_as_before_is_blessed_without_a_word() {
    assert_eq!(passes(|_| {}), Vec::<String>::new());
}

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
fn taint_that_stays_after_the_boot_fails_the_trial() {
    let taint = "node.cilium.io/agent-not-ready";
    let mut record = trial();
    let less = |record: &Record| {
        let seen = now(|now| now.taints = Some([taint.to_owned()].into()));
        phase_of(&next_by(&seen, record, &at_once()).0)
    };
    assert!(
        matches!(less(&record), Phase::Healthy { .. }),
        "an older note"
    );
    let served = &mut record.upgrade.as_mut().unwrap().served;
    served.node.as_mut().unwrap().taints = Some(std::collections::BTreeSet::new());
    let phase = format!("{:?}", less(&record));
    assert!(phase.contains(taint), "{phase}");
}

#[test]
fn csi_driver_that_is_gone_fails_the_trial_without_blame() {
    let drivers = |names: &[&str]| Some(names.iter().map(ToString::to_string).collect());
    let mut record = trial();
    let served = &mut record.upgrade.as_mut().unwrap().served;
    served.node.as_mut().unwrap().drivers = drivers(&["disk.example", "nfs.example"]);
    let phase = |names: Option<std::collections::BTreeSet<String>>, policy: &Policy| {
        let seen = now(|now| now.drivers = names);
        phase_of(&next_by(&seen, &record, policy).0)
    };
    let strict = at_once();
    let Phase::Reverting {
        reason: Reason::ServesLess { missing, cause, .. },
    } = phase(drivers(&["nfs.example"]), &strict)
    else {
        panic!("it passes");
    };
    assert!(
        missing.starts_with("CSI driver disk.example was registered"),
        "{missing}"
    );
    assert_eq!(cause, Cause::Unclear);
    let healthy = |phase: Phase| matches!(phase, Phase::Healthy { .. });
    let more = drivers(&["disk.example", "new.example", "nfs.example"]);
    assert!(healthy(phase(more, &strict)));
    assert!(healthy(phase(None, &strict)), "the server does not tell");
    let mut policy = at_once();
    policy.serving.except = vec!["driver:disk.*".to_owned()];
    assert!(healthy(phase(drivers(&["nfs.example"]), &policy)));
    policy.serving.except.clear();
    policy.serving.drivers = Demand::Warn;
    assert!(healthy(phase(drivers(&[]), &policy)));
}

#[test]
fn runtime_handler_that_is_gone_fails_the_trial_without_blame() {
    let handlers = |names: &[&str]| Some(names.iter().map(ToString::to_string).collect());
    let mut record = trial();
    let served = &mut record.upgrade.as_mut().unwrap().served;
    served.node.as_mut().unwrap().handlers = handlers(&["kata", "runc"]);
    let phase = |names: Option<std::collections::BTreeSet<String>>, policy: &Policy| {
        let seen = now(|now| now.handlers = names);
        phase_of(&next_by(&seen, &record, policy).0)
    };
    let Phase::Reverting {
        reason: Reason::ServesLess { missing, cause, .. },
    } = phase(handlers(&["runc"]), &at_once())
    else {
        panic!("it passes");
    };
    assert!(missing.contains("handler kata"), "{missing}");
    assert_eq!(cause, Cause::Unclear);
    let healthy = |phase: Phase| matches!(phase, Phase::Healthy { .. });
    let more = handlers(&["kata", "nvidia", "runc"]);
    assert!(healthy(phase(more, &at_once())));
    assert!(healthy(phase(None, &at_once())), "the runtime tells none");
    let mut policy = at_once();
    policy.serving.except = vec!["handler:kata".to_owned()];
    assert!(healthy(phase(handlers(&["runc"]), &policy)));
}

#[test]
fn handler_that_stays_without_its_features_fails_the_trial() {
    let names = |names: &[&str]| Some(names.iter().map(ToString::to_string).collect());
    let mut record = trial();
    let served = &mut record.upgrade.as_mut().unwrap().served;
    let before = served.node.as_mut().unwrap();
    before.handlers = names(&["kata"]);
    before.features = names(&["kata/userNamespaces", "userNamespaces"]);
    let missing = |handlers: &[&str], features: Option<&[&str]>, policy: &Policy| {
        let seen = now(|now| {
            now.handlers = names(handlers);
            now.features = features.and_then(names);
        });
        match phase_of(&next_by(&seen, &record, policy).0) {
            Phase::Reverting {
                reason: Reason::ServesLess { missing, cause, .. },
            } => Some((missing, cause)),
            _ => None,
        }
    };
    let lost = Some(&["kata/userNamespaces"][..]);
    let (told, cause) = missing(&["kata"], lost, &at_once()).unwrap();
    assert!(told.contains("had feature userNamespaces before"), "{told}");
    assert_eq!(cause, Cause::Unclear);
    let kept = Some(&["kata/userNamespaces", "userNamespaces"][..]);
    assert_eq!(missing(&["kata"], kept, &at_once()), None);
    assert_eq!(missing(&["kata"], None, &at_once()), None, "it tells none");
    let (told, _) = missing(&[], Some(&["userNamespaces"]), &at_once()).unwrap();
    assert!(!told.contains("feature"), "the handler is gone: {told}");
    let mut policy = at_once();
    policy.serving.except = vec!["feature:userNamespaces".to_owned()];
    policy.validate().unwrap();
    assert_eq!(missing(&["kata"], lost, &policy), None);
}

#[test]
fn what_the_new_kernel_lacks_for_pods_fails_the_trial() {
    let names = |names: &[&str]| Some(names.iter().map(ToString::to_string).collect());
    let mut record = trial();
    let all = ["apparmor", "cgroup/misc", "cgroup/pids"];
    record.upgrade.as_mut().unwrap().served.system = names(&all);
    let next = |has: &[&str], policy: &Policy| {
        let seen = at(620).with(|seen| seen.turn.serving.system = names(has));
        next_by(&seen, &record, policy).0
    };
    let differs = |has: &[&str]| next(has, &at_once()).upgrade.unwrap().differs;
    assert_eq!(differs(&all), [""; 0]);
    let told = differs(&["apparmor", "cgroup/pids", "selinux"]);
    assert!(told[0].contains("cgroup controller misc"), "{told:?}");
    let fails = |has: &[&str], policy: &Policy| match phase_of(&next(has, policy)) {
        Phase::Reverting {
            reason: Reason::ServesLess { missing, cause, .. },
        } => Some((missing, cause)),
        _ => None,
    };
    let (told, cause) = fails(&["cgroup/pids"], &at_once()).unwrap();
    assert!(told.contains("AppArmor"), "{told}");
    assert_eq!(cause, Cause::Unclear);
    assert!(fails(&["apparmor"], &at_once()).is_some());
    let mut policy = at_once();
    policy.serving.except = vec!["system:apparmor".into(), "system:cgroup/*".into()];
    policy.validate().unwrap();
    assert_eq!(fails(&[], &policy), None);
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
fn label_that_is_gone_warns_and_can_be_required() {
    let keys = |keys: &[&str]| Some(keys.iter().map(ToString::to_string).collect());
    let mut record = trial();
    let served = &mut record.upgrade.as_mut().unwrap().served;
    let all = [
        "a.example/gpu",
        "b.example/1",
        "b.example/2",
        "b.example/3",
        "b.example/4",
    ];
    let all = [&all[..], &["b.example/5", "kubernetes.io/os"]].concat();
    served.node.as_mut().unwrap().labels = keys(&all);
    let next = |is: &[&str], policy: &Policy| {
        let seen = now(|now| now.labels = keys(is));
        next_by(&seen, &record, policy).0
    };
    let differs = |is: &[&str]| next(is, &at_once()).upgrade.unwrap().differs;
    assert_eq!(differs(&all), [""; 0]);
    let told = differs(&["kubernetes.io/os", "new.example/key"]);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("a.example/gpu, b.example/1"), "{told:?}");
    assert!(told[0].contains("b.example/4 and 1 more among"), "{told:?}");
    let mut policy = at_once();
    policy.serving.labels = Demand::Require;
    let fails = |policy: &Policy| {
        let phase = phase_of(&next(&["kubernetes.io/os"], policy));
        matches!(phase, Phase::Reverting { .. })
    };
    assert!(fails(&policy));
    policy.serving.except = vec!["label:a.example/gpu".into(), "label:b.example/*".into()];
    policy.validate().unwrap();
    assert!(!fails(&policy));
}

#[test]
fn driver_that_offers_no_device_any_more_fails_the_trial() {
    let devices = |names: &[&str]| Some(names.iter().map(ToString::to_string).collect());
    let mut record = trial();
    let served = &mut record.upgrade.as_mut().unwrap().served;
    served.node.as_mut().unwrap().devices = devices(&["gpu.example", "nic.example"]);
    let phase = |names: Option<std::collections::BTreeSet<String>>, policy: &Policy| {
        let seen = now(|now| now.devices = names);
        phase_of(&next_by(&seen, &record, policy).0)
    };
    let Phase::Reverting {
        reason: Reason::ServesLess { missing, cause, .. },
    } = phase(devices(&["nic.example"]), &at_once())
    else {
        panic!("it passes");
    };
    assert!(missing.contains("driver gpu.example offered"), "{missing}");
    assert_eq!(cause, Cause::Unclear);
    let healthy = |phase: Phase| matches!(phase, Phase::Healthy { .. });
    assert!(healthy(phase(None, &at_once())), "the server tells none");
    let mut policy = at_once();
    policy.serving.except = vec!["device:gpu.*".to_owned()];
    assert!(healthy(phase(devices(&["nic.example"]), &policy)));
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
fn resource_whose_pod_is_gone_does_not_blame_the_image() {
    let (missing, image) = fails(|now| {
        now.pods.clear();
        now.resources.remove("nvidia.com/gpu");
    });
    assert!(missing.contains("nvidia.com/gpu") && !image, "{missing}");
}

#[test]
fn conditions_that_careen_writes_are_not_compared() {
    let mut record = trial();
    let served = &mut record.upgrade.as_mut().unwrap().served;
    let conditions = &mut served.node.as_mut().unwrap().conditions;
    conditions.insert(upgrade::names::LIFECYCLE[0].into(), "True".into());
    let (record, _) = next_by(&at(620), &record, &at_once());
    assert_eq!(record.upgrade.unwrap().differs, Vec::<String>::new());
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

#[test]
fn device_plugin_that_has_not_registered_blames_no_image() {
    let zero = fails(|now| drop(now.resources.insert("nvidia.com/gpu".into(), "0".into())));
    let absent = fails(|now| drop(now.resources.remove("nvidia.com/gpu")));
    for (missing, image) in [zero, absent] {
        assert!(missing.contains("nvidia.com/gpu") && !image, "{missing}");
    }
}

#[test]
fn resource_that_was_zero_before_the_drain_is_not_missed() {
    let mut record = trial();
    let served = &mut record.upgrade.as_mut().unwrap().served;
    let resources = &mut served.node.as_mut().unwrap().resources;
    resources.insert("nvidia.com/gpu".into(), "0".into());
    let seen = now(|now| drop(now.resources.remove("nvidia.com/gpu")));
    let (record, _) = next_by(&seen, &record, &at_once());
    assert!(matches!(phase_of(&record), Phase::Healthy { .. }));
}

#[test]
fn lost_device_or_huge_page_fails_the_trial() {
    let (missing, image) = fails(|now| drop(now.resources.remove("hugepages-2Mi")));
    assert!(missing.contains("hugepages-2Mi") && image, "{missing}");
    let (missing, image) =
        fails(|now| drop(now.resources.insert("hugepages-2Mi".into(), "0".into())));
    assert!(
        missing.contains("hugepages-2Mi") && !image,
        "somebody may have reserved them by hand: {missing}"
    );
    let (missing, image) =
        fails(|now| drop(now.resources.insert("nvidia.com/gpu".into(), "1".into())));
    assert!(
        missing.contains("was 2 before the drain and is 1") && !image,
        "one card of two may be broken: {missing}"
    );
}

#[test]
fn smaller_capacity_is_told_but_not_a_little_less_memory() {
    let set = |name: &str, value: &str| {
        let (name, value) = (name.to_owned(), value.to_owned());
        passes(|now| drop(now.resources.insert(name, value)))
    };
    assert_eq!(set("memory", "15900Mi"), Vec::<String>::new());
    assert_eq!(set("memory", "8Gi").len(), 1);
    assert_eq!(set("cpu", "2").len(), 1);
    assert_eq!(set("pods", "250"), Vec::<String>::new());
}

#[test]
fn condition_that_keeps_pods_off_fails_the_trial() {
    let set = |kind: &'static str| {
        move |now: &mut Offer| drop(now.conditions.insert(kind.into(), "True".into()))
    };
    let (missing, image) = fails(set("DiskPressure"));
    assert!(missing.contains("DiskPressure") && !image, "{missing}");
    let (missing, _) = fails(set("NetworkUnavailable"));
    assert!(missing.contains("NetworkUnavailable"), "{missing}");
    assert_eq!(passes(set("KernelDeadlock")).len(), 1, "of another program");
}

#[test]
fn lost_address_family_fails_and_another_address_is_told() {
    let (missing, image) = fails(|now| drop(now.addresses.pop()));
    assert!(missing.contains("internal IPv6 address"), "{missing}");
    assert!(!image, "a router may be late");
    let told = passes(|now| now.addresses[0].1 = "10.0.0.8".into());
    assert!(told[0].contains("10.0.0.7"), "{told:?}");
}

#[test]
fn differences_are_awaited_until_the_deadline() {
    let seen = now(|now| now.pods[0].unready = unready("ContainerCreating", false));
    let early = seen.clone().with(|seen| seen.turn.now = SinceBoot(619_000));
    let (record, act) = next_by(&early, &trial(), &at_once());
    assert_eq!(phase_of(&record), Phase::Trial { boot: boot(2) });
    assert_eq!(act, Act::Wait(Some(SinceBoot(620_000))));
    assert!(less(&seen, &at_once()).is_some());
}

#[test]
fn node_that_was_not_looked_at_yet_is_waited_for() {
    let unseen = at(60).with(|seen| seen.turn.serving = Serving::default());
    let (record, act) = next_by(&unseen, &trial(), &at_once());
    assert_eq!(phase_of(&record), Phase::Trial { boot: boot(2) });
    assert_eq!(act, Act::Wait(Some(SinceBoot(600_000))));
    let late = unseen.with(|seen| seen.turn.now = SinceBoot(600_000));
    let (_, image) = less(&late, &at_once()).unwrap();
    assert!(!image, "nothing is known, so nothing is blamed");
}

#[test]
fn record_without_a_note_is_compared_with_nothing() {
    let record = upgrade_in(Phase::Trial { boot: boot(2) });
    let seen = now(|now| now.pods[0].unready = unready("ContainerCreating", false));
    let (record, _) = next_by(&seen, &record, &at_once());
    assert!(matches!(phase_of(&record), Phase::Healthy { .. }));
}

#[test]
fn policy_says_what_warns_and_what_is_ignored() {
    let seen = now(|now| drop(now.resources.remove("nvidia.com/gpu")));
    let by = |change: fn(&mut Policy)| {
        let mut policy = at_once();
        change(&mut policy);
        let (record, _) = next_by(&seen, &trial(), &policy);
        let up = record.upgrade.unwrap();
        matches!(up.phase, Phase::Healthy { .. }).then_some(up.differs.len())
    };
    assert_eq!(by(|_| {}), None);
    assert_eq!(
        by(|policy| policy.serving.resources = Demand::Warn),
        Some(1)
    );
    assert_eq!(by(|policy| policy.serving.resources = Demand::Off), Some(0));
    assert_eq!(
        by(|policy| policy.serving.except = vec!["resource:nvidia.com/*".into()]),
        Some(0)
    );
}

#[test]
fn except_names_one_kind_and_one_thing() {
    for good in [
        "pod:kube-system/cni",
        "unit:*",
        "address:10.0.0.7",
        "taint:example.com/*",
    ] {
        let mut policy = at_once();
        policy.serving.except = vec![good.into()];
        assert_eq!(policy.validate(), Ok(()), "{good}");
    }
    for bad in ["", "cni", "pod:", "pods:kube-system/cni"] {
        let mut policy = at_once();
        policy.serving.except = vec![bad.into()];
        let outside = policy.validate().unwrap_err();
        assert_eq!(outside.field, "serving.except", "{bad}");
        assert!(outside.accepted.contains("pod:<namespace>/<name>"));
    }
}

#[test]
fn soak_begins_again_when_the_node_serves_less() {
    let mut policy = at_once();
    policy.health.soak_seconds = 3600;
    let (record, _) = next_by(&at(60), &trial(), &policy);
    assert!(
        record
            .upgrade
            .as_ref()
            .unwrap()
            .attempt
            .well_since
            .is_some()
    );
    let less = at(90).with(|seen| {
        let now = seen.turn.serving.node.as_mut().unwrap();
        now.pods[0].unready = unready("container cni: Error", false);
    });
    let (record, _) = next_by(&less, &record, &policy);
    assert_eq!(record.upgrade.unwrap().attempt.well_since, None);
}

#[test]
fn only_a_difference_of_the_image_is_remembered() {
    let reason = |cause| Reason::ServesLess {
        missing: "x".into(),
        seconds: 600,
        cause,
    };
    assert!(reason(Cause::Image).blames_image());
    for cause in [Cause::Node, Cause::Neighbour, Cause::Unclear] {
        assert!(!reason(cause).blames_image());
    }
}

#[test]
fn first_drain_notes_how_the_node_serves() {
    let serving = Serving {
        node: Some(offer("c1")),
        ..Serving::default()
    };
    let drained = |serving: &Serving| Finished {
        step: Step::Drain { spent_seconds: 0 },
        outcome: Outcome::Done(Effect::Drained {
            serving: serving.clone(),
        }),
    };
    let seen = asked().with(|seen| seen.turn.finished = Some(drained(&serving)));
    let (record, _) = next_by(&seen, &upgrade_in(Phase::Deployed), &at_once());
    assert_eq!(record.upgrade.as_ref().unwrap().served, serving);
    // Another drain finds a node that is cordoned.
    let later = Serving::default();
    let mut again = record;
    again.upgrade.as_mut().unwrap().phase = Phase::Deployed;
    let seen = asked().with(|seen| seen.turn.finished = Some(drained(&later)));
    let (record, _) = next_by(&seen, &again, &at_once());
    assert_eq!(record.upgrade.unwrap().served, serving);
}

#[test]
fn what_a_pre_hook_stops_is_compared() {
    let serving = |active: &[&str]| Serving {
        units: Some(serving::Units {
            active: Some(active.iter().map(|name| (*name).to_owned()).collect()),
            ..units(&[])
        }),
        ..Serving::default()
    };
    let ended = |step: Step, effect: Effect, record: &Record| {
        let outcome = Outcome::Done(effect);
        let seen = asked().with(|seen| seen.turn.finished = Some(Finished { step, outcome }));
        next_by(&seen, record, &at_once()).0
    };
    let before = Effect::Prepared {
        serving: serving(&["srv-data.mount", "x.service"]),
    };
    let record = ended(Step::PreHooks, before, &upgrade_in(Phase::Deployed));
    let after = Effect::Drained {
        serving: Serving {
            node: Some(offer("c1")),
            ..serving(&["x.service"])
        },
    };
    let record = ended(Step::Drain { spent_seconds: 0 }, after, &record);
    let served = record.upgrade.unwrap().served;
    assert_eq!(served.node, Some(offer("c1")));
    let active = served.units.unwrap().active.unwrap();
    assert!(active.contains("srv-data.mount"), "{active:?}");
}

#[test]
fn what_serves_in_one_look_of_the_note_is_compared() {
    let names = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect());
    let moment = Offer {
        drivers: names(&["csi.example"]),
        handlers: names(&[]),
        taints: names(&["cni.example/starts"]),
        ..Offer::default()
    };
    let other = Offer {
        drivers: names(&[]),
        handlers: names(&["kata"]),
        taints: names(&[]),
        services: ["IPv4".to_owned()].into(),
        ..offer("c1")
    };
    for noted in [
        moment.clone().joined(other.clone()),
        other.joined(moment.clone()),
    ] {
        assert_eq!(noted.drivers, names(&["csi.example"]));
        assert_eq!(noted.handlers, names(&["kata"]));
        assert_eq!(noted.taints, names(&[]));
        assert_eq!(noted.services.len(), 1);
        assert_eq!(noted.pods, offer("c1").pods);
        assert_eq!(noted.resources, offer("c1").resources);
    }
    let untold = Offer::default().joined(moment);
    assert_eq!(untold.drivers, names(&["csi.example"]));
}

#[test]
fn pod_that_was_ready_in_one_look_of_the_note_is_compared() {
    let mut waiting = offer("c0");
    waiting.pods[0].unready = unready("container cni: ContainerCreating", false);
    let ready = offer("c1");
    for noted in [
        ready.clone().joined(waiting.clone()),
        waiting.clone().joined(ready.clone()),
    ] {
        assert_eq!(noted.pods, ready.pods);
    }
    assert_eq!(waiting.clone().joined(waiting.clone()).pods, waiting.pods);
}

#[test]
fn best_of_two_looks_at_resources_and_pressures_is_noted() {
    let with = |gpus: &str, pressure: &str| Offer {
        resources: [("example.com/gpu".to_owned(), gpus.to_owned())].into(),
        conditions: [("DiskPressure".to_owned(), pressure.to_owned())].into(),
        ..Offer::default()
    };
    let (good, bad) = (with("2", "False"), with("0", "True"));
    assert_eq!(good.clone().joined(bad.clone()), good);
    assert_eq!(bad.joined(good.clone()), good);
}

#[test]
fn excepted_taint_is_not_compared() {
    let mut record = trial();
    let before = record.upgrade.as_mut().unwrap().served.node.as_mut();
    before.unwrap().taints = Some([].into());
    let seen = now(|node| node.taints = Some(["example.com/agent-not-ready".to_owned()].into()));
    let mut policy = at_once();
    let fails = |policy: &Policy| {
        let (record, _) = next_by(&seen, &record, policy);
        matches!(phase_of(&record), Phase::Reverting { .. })
    };
    assert!(fails(&policy));
    policy.serving.except = vec!["taint:example.com/*".into()];
    policy.validate().unwrap();
    assert!(!fails(&policy));
}

/// A second trial after the old system has run again with these pods, and what the new system
/// shows then.
fn second_trial(between: &[NodePod], then: Vec<NodePod>) -> Phase {
    let mut record = trial();
    let up = record.upgrade.as_mut().unwrap();
    (up.phase, up.attempt.tries) = (Phase::Drained, 1);
    let gone = NodePod {
        owner: Owner {
            kind: String::new(),
            name: "removed".into(),
            ..up.served.node.as_ref().unwrap().pods[0].owner.clone()
        },
        ..pod("removed", "s1", "c9")
    };
    up.served.node.as_mut().unwrap().pods.push(gone);
    let pods = Some(between.to_vec());
    let snapshot = Finished {
        step: Step::Snapshot,
        outcome: Outcome::Done(Effect::Saved { pods }),
    };
    let seen = asked().with(|seen| seen.turn.finished = Some(snapshot));
    let (mut record, _) = next_by(&seen, &record, &at_once());
    record.upgrade.as_mut().unwrap().phase = Phase::Trial { boot: boot(2) };
    let seen = now(|node| node.pods = then);
    phase_of(&next_by(&seen, &record, &at_once()).0)
}

#[test]
fn next_trial_is_compared_with_the_last_boot_of_the_old_system() {
    let between = [pod("cni", "p1", "c3"), pod("new", "p7", "c7")];
    let stale = second_trial(&between, vec![pod("cni", "p1", "c3")]);
    assert!(matches!(stale, Phase::Reverting { .. }), "{stale:?}");
    let runs = second_trial(&between, vec![pod("cni", "p1", "c4")]);
    assert!(matches!(runs, Phase::Healthy { .. }), "{runs:?}");
}

#[test]
fn template_that_failed_on_the_old_system_too_blames_no_image() {
    let broken = NodePod {
        revision: "r2".into(),
        unready: Some(Unready {
            why: "container cni: CreateContainerError".into(),
            pulls: false,
            broken: true,
        }),
        ..pod("cni", "p2", "")
    };
    let Phase::Reverting { reason } =
        second_trial(std::slice::from_ref(&broken), vec![broken.clone()])
    else {
        panic!("it serves less")
    };
    assert!(!reason.blames_image(), "{reason:?}");
}
