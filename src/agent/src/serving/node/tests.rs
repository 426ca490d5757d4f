use super::*;
use serde_json::json;

#[test]
fn own_conditions_and_taints_of_kubernetes_are_not_compared() {
    let node: Node = serde_json::from_value(json!({
        "metadata": { "name": "n" },
        "status": {
            "conditions": [
                { "type": "Ready", "status": "True" },
                { "type": names::CONDITION, "status": "True" },
                { "type": names::LIFECYCLE[0], "status": "True" },
                { "type": "DiskPressure", "status": "False" },
            ],
            "addresses": [{ "type": "InternalIP", "address": "10.0.0.7" }],
            "allocatable": { "nvidia.com/gpu": "2" },
        },
    }))
    .unwrap();
    let spec = json!({ "taints": [
        { "key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule" },
        { "key": "node.cilium.io/agent-not-ready", "effect": "NoExecute" },
        { "key": "a.example/soft", "effect": "PreferNoSchedule" },
        { "key": OUT_OF_SERVICE, "value": "nodeshutdown", "effect": "NoExecute" },
    ]});
    let spec = serde_json::from_value(spec).unwrap();
    let compared = ["node.cilium.io/agent-not-ready", OUT_OF_SERVICE];
    assert_eq!(taints(spec), BTreeSet::from(compared.map(str::to_owned)));
    let offer = of(node.status.unwrap());
    let conditions = [("DiskPressure".to_owned(), "False".to_owned())];
    assert_eq!(offer.conditions, BTreeMap::from(conditions));
    let addresses = [("InternalIP".to_owned(), "10.0.0.7".to_owned())];
    assert_eq!(offer.addresses, addresses);
    assert_eq!(offer.resources["nvidia.com/gpu"], "2");
}

#[test]
fn labels_that_careen_sets_are_not_compared() {
    let key = "feature.node.kubernetes.io/cpu-cpuid.AVX512F".to_owned();
    let all = OWN_LABELS.map(str::to_owned).into_iter();
    let all = all.chain([key.clone()]).map(|key| (key, String::new()));
    assert_eq!(labels(Some(&all.collect())), BTreeSet::from([key]));
    assert!(labels(None).is_empty());
}

#[test]
fn handlers_of_the_runtime_are_noted_where_it_tells_them() {
    let read = |status: serde_json::Value| of(serde_json::from_value(status).unwrap()).handlers;
    let told = json!({ "runtimeHandlers": [
        { "name": "", "features": { "recursiveReadOnlyMounts": true } },
        { "name": "runc", "features": {} },
        { "name": "kata" },
    ]});
    let names = BTreeSet::from(["kata", "runc"].map(str::to_owned));
    assert_eq!(read(told), Some(names));
    assert_eq!(read(json!({})), None, "containerd 1.7 tells none");
    let plain = json!({ "runtimeHandlers": [{ "name": "" }] });
    assert_eq!(read(plain), Some(BTreeSet::new()));
}

#[test]
fn features_of_the_runtime_are_noted_by_handler() {
    let read = |status: serde_json::Value| of(serde_json::from_value(status).unwrap()).features;
    let told = json!({
        "runtimeHandlers": [
            { "name": "", "features": { "userNamespaces": true } },
            { "name": "kata", "features": {
                "recursiveReadOnlyMounts": true, "userNamespaces": false,
            } },
            { "name": "plain", "features": null },
        ],
        "features": { "supplementalGroupsPolicy": true },
    });
    let names = [
        "kata/recursiveReadOnlyMounts",
        "supplementalGroupsPolicy",
        "userNamespaces",
    ];
    assert_eq!(read(told), Some(BTreeSet::from(names.map(str::to_owned))));
    assert_eq!(read(json!({ "runtimeHandlers": [{ "name": "" }] })), None);
    let none = json!({ "runtimeHandlers": [{ "name": "", "features": {} }] });
    assert_eq!(read(none), Some(BTreeSet::new()));
}

#[test]
fn driver_with_a_slice_without_devices_offers_none() {
    let slice = |driver: &str, devices: serde_json::Value| {
        let slice = json!({ "metadata": { "name": driver }, "spec": {
            "driver": driver, "nodeName": "n", "devices": devices,
            "pool": { "name": "n", "generation": 1, "resourceSliceCount": 1 },
        }});
        serde_json::from_value::<Slice>(slice).unwrap()
    };
    let found = offering(vec![
        slice(
            "gpu.example",
            json!([{ "name": "gpu-0", "attributes": {} }]),
        ),
        slice("gpu.example", json!([{ "name": "gpu-1" }])),
        slice("nic.example", json!([])),
        slice("fpga.example", json!(null)),
    ]);
    assert_eq!(found, BTreeSet::from(["gpu.example".to_owned()]));
}

#[test]
fn csi_node_without_drivers_has_null_in_place_of_a_list() {
    let read = |drivers: serde_json::Value| {
        let node: Drivers = serde_json::from_value(json!({
            "metadata": { "name": "n" }, "spec": { "drivers": drivers },
        }))
        .unwrap();
        names(node.spec.unwrap())
    };
    assert!(read(json!(null)).is_empty());
    let one = json!([{ "name": "csi.example", "nodeID": "n", "topologyKeys": null }]);
    assert_eq!(read(one), BTreeSet::from(["csi.example".to_owned()]));
}

#[test]
fn look_in_a_trial_leaves_no_name_out() {
    let names = || (0..300).map(|number| format!("x{number:04}"));
    let registered = names().map(|name| Driver { name }).collect();
    let drivers = Some(registered);
    assert_eq!(super::names(Registered { drivers }).len(), 300);
    let keys = names().map(|name| (name, String::new())).collect();
    assert_eq!(labels(Some(&keys)).len(), 300);
    let allocatable = names().map(|name| (name, "1".to_owned())).collect();
    let offer = of(Status {
        allocatable,
        ..Status::default()
    });
    assert_eq!(offer.resources.len(), 300);
}
