//! Extended resources, huge pages and capacity.

use super::*;

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
fn resource_whose_pod_is_gone_does_not_blame_the_image() {
    let (missing, image) = fails(|now| {
        now.pods.clear();
        now.resources.remove("nvidia.com/gpu");
    });
    assert!(missing.contains("nvidia.com/gpu") && !image, "{missing}");
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
