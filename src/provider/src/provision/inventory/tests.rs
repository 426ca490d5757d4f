//! What the inventory counts.
#![allow(clippy::unwrap_used)]

use serde_json::json;

use super::super::facts;
use super::super::wire::Lease;
use super::{Inventory, key};
use crate::kinds::{CareenHost, CareenMachine};
use crate::watch::News;

const NOW: i64 = 10_000;

/// A machine that these hosts failed. On those of the second list the image failed.
fn failed(space: &str, name: &str, hosts: [&[&str]; 2], at: i64) -> CareenMachine {
    let tried = json!({ "image": "a", "at": at, "hosts": hosts[0], "byImage": hosts[1] });
    let machine = json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1alpha1",
        "kind": "CareenMachine",
        "metadata": {
            "namespace": space, "name": name,
            "annotations": { "careen.dev/tried": tried.to_string() },
        },
        "spec": {},
    });
    serde_json::from_value(machine).unwrap()
}

fn failures(machines: Vec<CareenMachine>) -> usize {
    let inventory = Inventory::default();
    inventory.machines(News::All(machines));
    let found = inventory.failures("ns", NOW - 3600, &facts::Tried::default());
    assert!(found.iter().all(|(image, _)| image == "a"));
    found.len()
}

#[test]
fn host_that_fails_three_machines_is_one_failure_of_the_image() {
    let by = |name: &str, hosts: &[&str]| failed("ns", name, [hosts, hosts], NOW);
    let one = ["m1", "m2", "m3"].map(|name| by(name, &["h1"]));
    assert_eq!(failures(one.to_vec()), 1);
    let three = vec![by("m1", &["h1", "h2"]), by("m2", &["h3"])];
    assert_eq!(failures(three), 3);
}

/// The next host is chosen right after the third failure.
#[test]
fn failure_that_the_watch_does_not_show_yet_counts() {
    let inventory = Inventory::default();
    let old = failed("ns", "m", [&["h1", "h2"], &["h1", "h2"]], NOW);
    inventory.machines(News::All(vec![old]));
    let all: &[&str] = &["h1", "h2", "h3"];
    let own = facts::tried(&failed("ns", "m", [all, all], NOW));
    assert_eq!(inventory.failures("ns", NOW - 3600, &own).len(), 3);
}

#[test]
fn silent_hosts_and_other_tenants_say_nothing_of_an_image() {
    let hosts: [&[&str]; 2] = [&["h1", "h2"], &["h2"]];
    assert_eq!(failures(vec![failed("ns", "m", hosts, NOW)]), 1);
    assert_eq!(failures(vec![failed("other", "m", hosts, NOW)]), 0);
    assert_eq!(failures(vec![failed("ns", "m", hosts, NOW - 3601)]), 0);
}

fn on_host(name: &str, host: &str) -> CareenMachine {
    let machine = json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1alpha1",
        "kind": "CareenMachine", "metadata": { "namespace": "ns", "name": name },
        "spec": { "hostRef": { "name": host, "claim": "00000000000000aa", "since": 1 } },
    });
    serde_json::from_value(machine).unwrap()
}

/// The host of a machine that nobody has any more is looked at again, also after a gap.
#[test]
fn host_of_a_machine_that_goes_or_leaves_it_is_news() {
    let inventory = Inventory::default();
    let hosts = |news| {
        let news = inventory.machines(news).into_iter();
        let named = news.filter_map(|one| one.host.map(|host| host.name.to_string()));
        named.collect::<Vec<_>>()
    };
    let both = vec![on_host("m1", "h1"), on_host("m2", "h2")];
    assert!(hosts(News::All(both)).is_empty());
    assert!(hosts(News::Changed(on_host("m1", "h1"))).is_empty());
    assert_eq!(hosts(News::Changed(on_host("m1", "h3"))), ["h1"]);
    assert_eq!(hosts(News::Gone(on_host("m1", "h3"))), ["h3"]);
    assert_eq!(hosts(News::All(Vec::new())), ["h2"], "removed in a gap");
    assert!(inventory.which(|_, _| true).is_empty());
    let again = inventory.machines(News::Changed(on_host("m2", "h2")));
    assert_eq!(again[0].machine, key(&on_host("m2", "h2")));
}

#[test]
fn clock_that_is_set_makes_no_host_silent() {
    let inventory = Inventory::default();
    let host: CareenHost = serde_json::from_value(json!({
        "apiVersion": "careen.dev/v1alpha1", "kind": "CareenHost",
        "metadata": { "namespace": "ns", "name": "h" }, "spec": { "registration": "r" },
    }))
    .unwrap();
    let lease: Lease = serde_json::from_value(json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": { "namespace": "ns", "name": "careen-host-h" },
        "spec": { "renewTime": "2026-01-01T00:00:00.000000Z" },
    }))
    .unwrap();
    let (_, seen) = inventory.hosts(News::All(vec![host]), NOW).remove(0);
    inventory.leases(News::Changed(lease), NOW);
    inventory.clock_was_set(3600);
    let after = NOW + 3600 + 10;
    assert_eq!(inventory.with_lease("ns", seen).silent(after), 10);
    let silent = inventory.look("ns", |hosts| hosts[0].silent(after));
    assert_eq!(silent, 10);
}
