//! Hosts that do not answer: the rule, the freeze and the brake.

use infrastructure::{Braked, Host, Node, Phase, Policy, Wanted, brake};

use crate::scene::{ID, NOW, OTHER, Scene, check, claim, host};

fn dead(node: Node) -> Scene {
    Scene::released().silent(700).with(|s| s.node = node)
}

fn braked() -> Option<Braked> {
    Some(Braked {
        silent: 3,
        of: 10,
        domain: None,
    })
}

#[test]
fn silent_host_is_given_up_only_if_its_node_agrees() {
    let old = Node::NotReady { seconds: 700 };
    check(vec![
        ("just silent", dead(old.clone()).silent(200), "-", "Silent"),
        (
            "not quite lost",
            dead(old.clone()).silent(599),
            "-",
            "Silent",
        ),
        ("lost", dead(old.clone()).silent(600), "GiveUp", "Moving"),
        ("Node Ready", dead(Node::Ready), "-", "LinkDown"),
        (
            "Node not Ready for a while",
            dead(Node::NotReady { seconds: 500 }),
            "-",
            "NodeNotReady",
        ),
        (
            "no Node",
            dead(Node::Missing { visible: 200 }),
            "GiveUp",
            "Moving",
        ),
        (
            "no Node yet",
            dead(Node::Missing { visible: 60 }),
            "-",
            "NodeNotReady",
        ),
        (
            "another's Node",
            dead(Node::Other {
                name: "h".into(),
                provider_id: "x".into(),
            }),
            "GiveUp",
            "Moving",
        ),
        ("no Cluster", dead(Node::NoCluster), "GiveUp", "Moving"),
        (
            "careen-provider leads for a while",
            dead(old.clone()).with(|s| s.leads_for = 599),
            "-",
            "Silent",
        ),
        (
            "frozen",
            dead(Node::Away("refused".into())),
            "-",
            "ClusterAway",
        ),
        (
            "brake",
            dead(old.clone()).with(|s| s.brake = braked()),
            "-",
            "Braked",
        ),
        (
            "brake off",
            dead(old.clone()).with(|s| {
                s.brake = braked();
                s.cluster.as_mut().unwrap().brake_off = true;
            }),
            "GiveUp",
            "Moving",
        ),
        ("alive", dead(old.clone()).silent(10), "-", "Fencing"),
        (
            "not released yet",
            Scene::deleted().silent(5000),
            "Release",
            "Moving",
        ),
        (
            "given up",
            dead(old).with(|s| s.claim_mut().lost = true),
            "RemoveFinalizer",
            "Released",
        ),
    ]);
}

#[test]
fn persons_word_gives_up_the_host_of_that_claim_alone() {
    let forced = |id: &str| dead(Node::Ready).with(|s| s.host_mut().forced = Some(id.to_owned()));
    check(vec![
        ("this claim", forced(ID), "GiveUp", "Moving"),
        ("another claim", forced(OTHER), "-", "LinkDown"),
    ]);
}

/// The word may be months old: the host was off, and has come back since.
#[test]
fn word_about_a_host_that_answers_waits_for_its_fence() {
    let forced = |scene: Scene| scene.with(|s| s.host_mut().forced = Some(ID.to_owned()));
    check(vec![
        ("deleted", forced(Scene::deleted()), "Release", "Moving"),
        ("released", forced(Scene::released()), "-", "Fencing"),
        (
            "fenced",
            forced(Scene::released()).with(|s| s.host_mut().phase = Phase::Cleaning),
            "RemoveFinalizer",
            "Released",
        ),
        (
            "silent again",
            forced(Scene::released()).silent(180),
            "GiveUp",
            "Moving",
        ),
    ]);
}

#[test]
fn machine_that_is_not_deleted_loses_no_host() {
    check(vec![(
        "running",
        Scene::running()
            .silent(9000)
            .with(|s| s.node = Node::NotReady { seconds: 9000 }),
        "-",
        "Running",
    )]);
}

/// So many hosts, of which so many are silent, each with a claim.
fn hosts(all: usize, silent: usize) -> Vec<Host> {
    let one = |number: usize| {
        let mut host = host(&format!("h{number}"));
        host.claim = Some(claim(&format!("{number:016x}")));
        host.failure_domain = Some(format!("d{}", number % 2));
        if number < silent {
            host.heard = NOW - 200;
        }
        host
    };
    (0..all).map(one).collect()
}

fn brakes(hosts: &[Host], domain: Option<&str>) -> bool {
    let hosts: Vec<&Host> = hosts.iter().collect();
    brake(&hosts, domain, NOW, &Policy::default()).is_some()
}

#[test]
fn brake_holds_above_a_share_of_the_used_hosts() {
    for (all, silent, holds) in [
        (3, 2, false),
        (3, 3, true),
        (10, 2, false),
        (10, 3, true),
        (100, 20, false),
        (100, 21, true),
        (0, 0, false),
    ] {
        assert_eq!(
            brakes(&hosts(all, silent), None),
            holds,
            "{silent} of {all}"
        );
    }
}

#[test]
fn brake_looks_at_a_failure_domain_by_itself() {
    let mut all = hosts(100, 0);
    for host in all
        .iter_mut()
        .filter(|host| host.failure_domain.as_deref() == Some("d1"))
        .take(11)
    {
        host.heard = NOW - 200;
    }
    assert!(!brakes(&all, None));
    assert!(!brakes(&all, Some("d0")));
    assert!(brakes(&all, Some("d1")));
}

#[test]
fn hosts_that_nobody_uses_do_not_count_for_the_brake() {
    let mut all = hosts(10, 3);
    assert!(brakes(&all, None));
    all[0].claim = None;
    assert!(!brakes(&all, None));
    let mut all = hosts(10, 3);
    let given_up = all[0].claim.as_mut().unwrap();
    (given_up.wanted, given_up.lost) = (Wanted::Released, true);
    assert!(!brakes(&all, None));
}

/// After a start no renewal was seen, so nothing is known of the hosts.
#[test]
fn brake_holds_until_renewals_were_seen() {
    let mut all = hosts(10, 0);
    for host in &mut all {
        host.renewed = false;
    }
    assert!(brakes(&all, None));
}
