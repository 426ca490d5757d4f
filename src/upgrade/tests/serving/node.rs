//! What the Node says of itself: conditions, taints, addresses, labels, drivers, handlers, kernel.

use super::*;

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
fn forwarding_that_the_new_system_turns_off_fails_the_trial() {
    let names = |names: &[&str]| Some(names.iter().map(ToString::to_string).collect());
    let forwards = "sysctl/net.ipv4.ip_forward";
    let others = [
        "mount/nfs",
        "no-packet-filter",
        "sysctl/net.ipv4.conf.all.rp_filter",
    ];
    let mut record = trial();
    let served = &mut record.upgrade.as_mut().unwrap().served;
    served.settings = names(&[&others[..], &[forwards]].concat());
    let next = |has: Option<std::collections::BTreeSet<String>>, policy: &Policy| {
        let seen = at(620).with(|seen| seen.turn.serving.settings = has);
        next_by(&seen, &record, policy).0
    };
    let Phase::Reverting {
        reason: Reason::ServesLess { missing, cause, .. },
    } = phase_of(&next(names(&others), &at_once()))
    else {
        panic!("it passes");
    };
    assert!(missing.contains("net.ipv4.ip_forward was on"), "{missing}");
    assert_eq!(cause, Cause::Unclear);
    let warned = next(names(&[forwards]), &at_once());
    assert!(matches!(phase_of(&warned), Phase::Healthy { .. }));
    let differs = warned.upgrade.unwrap().differs.join("; ");
    for words in ["mount.nfs", "a packet filter runs", "is strict"] {
        assert!(differs.contains(words), "{words}: {differs}");
    }
    let mut policy = at_once();
    policy.serving.except = vec!["system:sysctl/*".into()];
    policy.validate().unwrap();
    for (has, policy) in [(names(&others), &policy), (None, &at_once())] {
        let phase = phase_of(&next(has, policy));
        assert!(matches!(phase, Phase::Healthy { .. }), "{phase:?}");
    }
}

#[test]
fn limits_of_containers_that_shrink_are_told() {
    let limits = |all: &[(&str, u64)]| {
        let all = all.iter().map(|(name, limit)| ((*name).to_owned(), *limit));
        Some(all.collect::<serving::Limits>())
    };
    let (hard, soft) = ("limit/LimitNOFILE", "limit/LimitNOFILESoft");
    let maps = "sysctl/vm.max_map_count";
    let mut record = trial();
    let served = &mut record.upgrade.as_mut().unwrap().served;
    served.limits = limits(&[(hard, u64::MAX), (soft, u64::MAX), (maps, 262_144)]);
    let next = |now: &[(&str, u64)], policy: &Policy| {
        let seen = at(620).with(|seen| seen.turn.serving.limits = limits(now));
        next_by(&seen, &record, policy).0
    };
    let few = [(hard, 524_288), (soft, 1024), (maps, 262_144)];
    let Phase::Reverting {
        reason: Reason::ServesLess { missing, cause, .. },
    } = phase_of(&next(&few, &at_once()))
    else {
        panic!("it passes");
    };
    let told = "containers had LimitNOFILESoft=infinity before the drain and have 1024";
    assert_eq!((missing.as_str(), cause), (told, Cause::Unclear));
    let warned = |now: &[(&str, u64)], policy: &Policy| {
        let next = next(now, policy);
        assert!(matches!(phase_of(&next), Phase::Healthy { .. }));
        next.upgrade.unwrap().differs.join("; ")
    };
    let enough = [(hard, 524_288), (soft, 65_536), (maps, 65_530)];
    let told = warned(&enough, &at_once());
    for words in [
        "LimitNOFILE=infinity before the drain and have 524288",
        "vm.max_map_count was 262144 before the drain and is 65530",
    ] {
        assert!(told.contains(words), "{told}");
    }
    let nearly = [(hard, u64::MAX), (soft, u64::MAX), (maps, 260_000)];
    assert_eq!(warned(&nearly, &at_once()), "");
    assert_eq!(warned(&[], &at_once()), "", "nothing is known");
    let mut policy = at_once();
    policy.serving.except = vec!["system:limit/*".into()];
    policy.validate().unwrap();
    assert_eq!(warned(&few, &policy), "");
}

#[test]
fn file_system_of_volumes_that_is_gone_fails_the_trial() {
    let names = |names: &[&str]| Some(names.iter().map(ToString::to_string).collect());
    let all = ["filesystem/nfs4", "module/rbd", "module/vxlan"];
    let mut record = trial();
    record.upgrade.as_mut().unwrap().served.kernel = names(&all);
    let next = |has: &[&str], policy: &Policy| {
        let seen = at(620).with(|seen| seen.turn.serving.kernel = names(has));
        next_by(&seen, &record, policy).0
    };
    let Phase::Reverting {
        reason: Reason::ServesLess { missing, cause, .. },
    } = phase_of(&next(&all[1..], &at_once()))
    else {
        panic!("it passes");
    };
    assert!(missing.contains("the file system nfs4"), "{missing}");
    assert_eq!(cause, Cause::Unclear);
    let warned = |has: &[&str], policy: &Policy| {
        let next = next(has, policy);
        assert!(matches!(phase_of(&next), Phase::Healthy { .. }));
        next.upgrade.unwrap().differs
    };
    let told = warned(&all[..1], &at_once());
    assert!(told[0].contains("had rbd, vxlan among"), "{told:?}");
    let mut policy = at_once();
    policy.serving.except = vec!["system:filesystem/*".into(), "system:module/rbd".into()];
    policy.validate().unwrap();
    let told = warned(&[], &policy);
    assert!(told[0].contains("had vxlan among"), "{told:?}");
    assert_eq!(warned(&all, &at_once()), [""; 0]);
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
fn conditions_that_careen_writes_are_not_compared() {
    let mut record = trial();
    let served = &mut record.upgrade.as_mut().unwrap().served;
    let conditions = &mut served.node.as_mut().unwrap().conditions;
    conditions.insert(upgrade::names::LIFECYCLE[0].into(), "True".into());
    let (record, _) = next_by(&at(620), &record, &at_once());
    assert_eq!(record.upgrade.unwrap().differs, Vec::<String>::new());
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
