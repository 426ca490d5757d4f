//! What a machine of a template has at least.

use std::collections::BTreeMap;

use infrastructure::{Expected, Host, Selector, Wished, expected};

fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    let own = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    pairs.iter().map(own).collect()
}

fn host(name: &str, capacity: &[(&str, &str)]) -> Host {
    Host {
        name: name.to_owned(),
        approved: true,
        labels: map(&[("site", "north")]),
        capacity: map(capacity),
        architecture: Some("amd64".to_owned()),
        ..Host::default()
    }
}

fn wished(minimum: &[(&str, &str)]) -> Wished {
    Wished {
        selector: Selector {
            match_labels: map(&[("site", "north")]),
            ..Selector::default()
        },
        host_name: None,
        minimum: map(minimum),
    }
}

#[test]
fn template_promises_the_least_of_its_hosts() {
    let big = host(
        "a",
        &[("cpu", "16"), ("memory", "64Gi"), ("example.com/gpu", "1")],
    );
    let small = host("b", &[("cpu", "8"), ("memory", "32000Mi")]);
    let tiny = host("c", &[("cpu", "1"), ("memory", "1Gi")]);
    let found = expected(&wished(&[("cpu", "4")]), &[&big, &small, &tiny]);
    let least = Expected {
        capacity: map(&[("cpu", "8"), ("memory", "32000Mi")]),
        architecture: Some("amd64".to_owned()),
    };
    assert_eq!(found, Some(least));
}

#[test]
fn hosts_that_a_machine_cannot_get_promise_nothing() {
    let of_another_site = Host {
        labels: map(&[("site", "south")]),
        ..host("a", &[("cpu", "16")])
    };
    let not_let_in = Host {
        approved: false,
        ..host("b", &[("cpu", "16")])
    };
    let leaves = Host {
        deleting: true,
        ..host("c", &[("cpu", "16")])
    };
    let none = expected(&wished(&[]), &[&of_another_site, &not_let_in, &leaves]);
    assert_eq!(none, None);
    let named = Wished {
        host_name: Some("d".to_owned()),
        ..wished(&[])
    };
    let (this, other) = (host("d", &[("cpu", "2")]), host("e", &[("cpu", "1")]));
    let found = expected(&named, &[&this, &other]).unwrap();
    assert_eq!(found.capacity, map(&[("cpu", "2")]));
}

#[test]
fn unreadable_capacity_is_not_promised() {
    let good = host("a", &[("cpu", "8")]);
    let lies = host("b", &[("cpu", "many")]);
    let found = expected(&wished(&[]), &[&good, &lies]).unwrap();
    assert_eq!(found.capacity, map(&[]));
    let arm = Host {
        architecture: Some("arm64".to_owned()),
        ..host("c", &[("cpu", "8")])
    };
    let found = expected(&wished(&[]), &[&good, &arm]).unwrap();
    assert_eq!(found.architecture, None, "both may come");
}
