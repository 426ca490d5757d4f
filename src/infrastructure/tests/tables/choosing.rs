//! The choice of a host.

use infrastructure::{Act, Expression, Operator, Phase, Refused, Selector, Unfit, Why};

use crate::scene::{IMAGE, NOW, OTHER, Scene, claim, host};

/// Why the only host is not chosen.
fn unfit(change: impl FnOnce(&mut Scene)) -> Option<Unfit> {
    let scene = Scene::new().with(change);
    match scene.decide().why {
        Why::NoHost { refused } => {
            assert_eq!(refused.hosts, scene.hosts.len());
            refused.counts.into_keys().next()
        }
        other => {
            assert_eq!(other, Why::Moving);
            None
        }
    }
}

fn chosen(scene: &Scene) -> String {
    match scene.decide().act {
        Some(Act::SetHost(host)) => host.name,
        other => panic!("{other:?}"),
    }
}

#[test]
fn host_is_refused_for_the_first_reason_of_the_table() {
    assert_eq!(unfit(|_| {}), None);
    assert_eq!(
        unfit(|s| s.machine.host_name = Some("i".into())),
        Some(Unfit::OtherName)
    );
    assert_eq!(unfit(|s| s.machine.host_name = Some("h".into())), None);
    assert_eq!(
        unfit(|s| {
            s.machine
                .selector
                .match_labels
                .insert("a".into(), "b".into());
        }),
        Some(Unfit::OtherLabels)
    );
    assert_eq!(
        unfit(|s| s.machine.owner.as_mut().unwrap().failure_domain = Some("d".into())),
        Some(Unfit::OtherDomain)
    );
    assert_eq!(
        unfit(|s| {
            s.machine.owner.as_mut().unwrap().failure_domain = Some("d".into());
            s.hosts[0].failure_domain = Some("d".into());
        }),
        None
    );
    // A machine of a pool may be in any of its domains.
    let of_pool = |domain: &str| {
        unfit(|s| {
            s.machine.owner.as_mut().unwrap().domains = vec!["d".into(), "e".into()];
            s.hosts[0].failure_domain = Some(domain.into());
        })
    };
    assert_eq!(of_pool("e"), None);
    assert_eq!(of_pool("f"), Some(Unfit::OtherDomain));
    assert_eq!(
        unfit(|s| s.hosts[0].claim = Some(claim(OTHER))),
        Some(Unfit::Claimed)
    );
    assert_eq!(
        unfit(|s| s.hosts[0].reserved_for = Some("c".into())),
        Some(Unfit::Reserved)
    );
    assert_eq!(
        unfit(|s| {
            s.hosts[0].reserved_for = Some("c".into());
            s.machine.owner.as_mut().unwrap().control_plane = true;
        }),
        None
    );
    assert_eq!(
        unfit(|s| {
            s.hosts[0].reserved_for = Some("other".into());
            s.machine.owner.as_mut().unwrap().control_plane = true;
        }),
        Some(Unfit::Reserved)
    );
    assert_eq!(
        unfit(|s| s.machine.tried = vec!["h".into()]),
        Some(Unfit::Tried)
    );
    assert_eq!(
        unfit(|s| s.hosts[0].approved = false),
        Some(Unfit::Unapproved)
    );
    assert_eq!(unfit(|s| s.hosts[0].cordoned = true), Some(Unfit::Cordoned));
    assert_eq!(unfit(|s| s.hosts[0].deleting = true), Some(Unfit::Cordoned));
    assert_eq!(unfit(|s| s.hosts[0].heard = NOW - 180), Some(Unfit::Silent));
    assert_eq!(unfit(|s| s.hosts[0].renewed = false), Some(Unfit::Silent));
    assert_eq!(
        unfit(|s| s.image = Err("none".into())),
        Some(Unfit::NoImage)
    );
    assert_eq!(
        unfit(|s| {
            s.hosts[0].loader_fit = false;
            s.hosts[0].image = Some("other".into());
        }),
        Some(Unfit::LoaderUnfit)
    );
    assert_eq!(
        unfit(|s| s.hosts[0].loader_fit = false),
        None,
        "it runs the image already"
    );
}

#[test]
fn only_an_available_host_is_clean() {
    for phase in Phase::ALL {
        let expected = (phase != Phase::Available).then_some(Unfit::NotClean);
        assert_eq!(unfit(|s| s.hosts[0].phase = phase), expected, "{phase:?}");
    }
}

#[test]
fn host_with_less_than_the_minimum_is_too_small() {
    let has = |memory: &str| {
        let memory = memory.to_owned();
        unfit(move |s| {
            s.machine.minimum.insert("memory".into(), "32Gi".into());
            s.hosts[0].capacity.insert("memory".into(), memory);
        })
    };
    assert_eq!(has("32Gi"), None);
    assert_eq!(has("33554432Ki"), None);
    assert_eq!(has("31Gi"), Some(Unfit::TooSmall));
    assert_eq!(has("much"), Some(Unfit::UnreadableCapacity));
    assert_eq!(
        unfit(|s| {
            s.machine
                .minimum
                .insert("example.org/card".into(), "1".into());
        }),
        Some(Unfit::TooSmall)
    );
}

#[test]
fn host_with_the_name_of_another_node_is_refused() {
    let twin = |cluster: &str| {
        let cluster = cluster.to_owned();
        unfit(move |s| {
            let mut other = host("i");
            other.hostname = "h".into();
            let mut theirs = claim(OTHER);
            theirs.cluster = cluster;
            other.claim = Some(theirs);
            s.hosts = vec![s.hosts[0].clone(), other];
        })
    };
    assert_eq!(twin("c"), Some(Unfit::Claimed), "the first of both reasons");
    assert_eq!(twin("another"), None);
}

#[test]
fn host_that_runs_the_image_comes_first() {
    let mut scene = Scene::new();
    scene.hosts = vec![host("a"), host("b"), host("c")];
    scene.hosts[0].image = Some("other".into());
    scene.hosts[2].image = Some("other".into());
    assert_eq!(chosen(&scene), "b");
    scene.hosts[1].image = Some("other".into());
    assert_eq!(chosen(&scene), "c", "the one that the id picks");
}

/// Machines that choose at the same moment see the same hosts.
#[test]
fn equal_hosts_are_chosen_by_the_id_of_the_claim() {
    let mut scene = Scene::new();
    scene.hosts = (0..10).map(|number| host(&format!("h{number}"))).collect();
    for number in 0..10 {
        scene.new_id = format!("{:016x}", 1000 + number);
        assert_eq!(chosen(&scene), format!("h{number}"));
    }
    scene.hosts[3].claim = Some(claim(OTHER));
    scene.new_id = format!("{:016x}", 1003);
    assert_eq!(chosen(&scene), "h4", "the next one that fits");
    scene.new_id = format!("{:016x}", 1009);
    scene.hosts[9].cordoned = true;
    assert_eq!(chosen(&scene), "h0", "and on from the first");
}

#[test]
fn reasons_are_counted_and_named() {
    let mut scene = Scene::new();
    scene.hosts = (0..12).map(|number| host(&format!("h{number}"))).collect();
    for host in &mut scene.hosts[..7] {
        host.claim = Some(claim(OTHER));
    }
    for host in &mut scene.hosts[7..] {
        host.phase = Phase::Cleaning;
    }
    let refused = Refused {
        hosts: 12,
        counts: [(Unfit::Claimed, 7), (Unfit::NotClean, 5)].into(),
    };
    assert_eq!(refused.to_string(), "12 hosts: 7 claimed, 5 not clean");
    assert_eq!(scene.decide().why, Why::NoHost { refused });
}

#[test]
fn selector_holds_as_everywhere_in_kubernetes() {
    let labels = [("a".to_owned(), "1".to_owned())].into();
    let with = |operator, key: &str, values: &[&str]| Selector {
        match_expressions: vec![Expression {
            key: key.to_owned(),
            operator,
            values: values.iter().map(ToString::to_string).collect(),
        }],
        ..Selector::default()
    };
    for (selector, expected) in [
        (Selector::default(), true),
        (with(Operator::In, "a", &["1", "2"]), true),
        (with(Operator::In, "a", &["2"]), false),
        (with(Operator::In, "b", &["1"]), false),
        (with(Operator::NotIn, "a", &["1"]), false),
        (with(Operator::NotIn, "b", &["1"]), true),
        (with(Operator::Exists, "a", &[]), true),
        (with(Operator::Exists, "b", &[]), false),
        (with(Operator::DoesNotExist, "a", &[]), false),
        (with(Operator::DoesNotExist, "b", &[]), true),
    ] {
        assert_eq!(selector.matches(&labels), expected, "{selector:?}");
    }
}

#[test]
fn image_of_the_host_before_the_claim_is_the_wanted_one() {
    let scene = Scene::new();
    assert_eq!(scene.hosts[0].image.as_deref(), Some(IMAGE));
    assert_eq!(chosen(&scene), "h");
}
