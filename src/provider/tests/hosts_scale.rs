//! What ten thousand prepared hosts cost this process: the memory of each, without connections.
//! `provider-bench --hosts 10000` measures the whole process.
#![allow(clippy::unwrap_used)]

use kube::ResourceExt;
use provider::kinds::CareenHost;
use provider::provision::Inventory;
use provider::watch::News;
use serde_json::json;

const HOSTS: usize = 10_000;

/// The goal, in KiB.
const GOAL: f64 = 10.0;

fn resident() -> f64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: f64 = statm.split(' ').nth(1).unwrap().parse().unwrap();
    pages * 4.0
}

/// A host that a machine has, with all that a host on a real machine says of itself.
fn host(number: usize) -> CareenHost {
    let name = format!("rack-{:03}-host-{number:05}", number / 40);
    let image = format!("ostree:site:site/stable/x86_64/node@{}", "1".repeat(64));
    let id = format!("{number:016x}");
    serde_json::from_value(json!({
        "apiVersion": "careen.dev/v1alpha1", "kind": "CareenHost",
        "metadata": {
            "name": name, "namespace": "fleet", "uid": format!("8b6f0c1e-0000-4000-8000-{number:012}"),
            "finalizers": ["careen.dev/hosts"],
            "labels": { "site": "north", "rack": format!("rack-{:03}", number / 40), "machine.example.com/model": "r640" },
        },
        "spec": {
            "registration": "north", "handover": format!("{number:032x}"), "approved": true,
            "failureDomain": format!("room-{}", number % 3),
            "claim": {
                "id": id, "machine": format!("workers-5k2xq-{number:05}"), "cluster": "north", "image": image,
                "version": "v1.36.3", "providerID": format!("careen://fleet/{name}/{id}"),
                "bootstrapHash": "2".repeat(64),
            },
        },
        "status": {
            "phase": "Joined", "step": "Wait", "observedClaim": id, "hostname": name,
            "machineID": format!("{number:032x}"), "bootID": format!("0a1b2c3d-0000-4000-8000-{number:012}"),
            "addresses": [{ "type": "InternalIP", "address": format!("10.{}.{}.7", number / 250, number % 250) }],
            "architecture": "amd64", "capacity": { "cpu": "64", "memory": "263842820Ki" },
            "image": image, "imageVersion": "v1.36.3", "loader": "ok", "agent": { "version": "0.4.0" },
        },
    }))
    .unwrap()
}

#[test]
fn host_takes_few_kibibytes_of_memory() {
    let inventory = Inventory::default();
    let before = resident();
    for number in 0..HOSTS {
        let host = host(number);
        let lease = json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": { "name": format!("careen-host-{}", host.name_any()), "namespace": "fleet" },
            "spec": { "renewTime": "2026-11-30T12:00:00.000000Z" },
        });
        inventory.hosts(News::Changed(host), 1);
        inventory.leases(News::Changed(serde_json::from_value(lease).unwrap()), 1);
    }
    let each = (resident() - before) / HOSTS as f64;
    println!("{each:.2} KiB a host");
    assert_eq!(inventory.all_hosts().len(), HOSTS);
    assert!(each <= GOAL, "{each:.2} KiB a host, more than {GOAL}");
}
