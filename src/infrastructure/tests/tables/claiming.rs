//! A machine that has no host yet, or is not committed to it.

use infrastructure::{Act, Failed, Node, Phase, Wanted};

use crate::scene::{ID, NOW, OTHER, Scene, check, claim, host, named};

/// The machine has its host for so many seconds.
fn since(seconds: i64, scene: Scene) -> Scene {
    scene.with(|s| s.machine.host.as_mut().unwrap().since = NOW - seconds)
}

#[test]
fn machine_without_a_host_follows_the_table() {
    let new = Scene::new;
    check(vec![
        ("chosen", new(), "SetHost", "Moving"),
        (
            "paused",
            new().with(|s| s.machine.paused = Some("Cluster c".into())),
            "-",
            "Paused",
        ),
        (
            "no owner",
            new().with(|s| s.machine.owner = None),
            "-",
            "NoOwner",
        ),
        (
            "no owner and no finalizer",
            new().with(|s| {
                s.machine.owner = None;
                s.machine.finalizer = false;
            }),
            "-",
            "NoOwner",
        ),
        (
            "no cluster",
            new().with(|s| s.cluster = None),
            "-",
            "NoCluster",
        ),
        (
            "no finalizer",
            new().with(|s| s.machine.finalizer = false),
            "AddFinalizer",
            "Moving",
        ),
        (
            "no infrastructure",
            new().with(|s| s.cluster.as_mut().unwrap().provisioned = false),
            "-",
            "InfrastructureNotReady",
        ),
        (
            "no data",
            new().with(|s| s.machine.owner.as_mut().unwrap().has_data = false),
            "-",
            "NoData",
        ),
        ("no host", new().with(|s| s.hosts.clear()), "-", "NoHost"),
        (
            "a bad image",
            new().with(|s| s.failures = 3),
            "-",
            "ImageFailing",
        ),
        (
            "a bad image, not often enough",
            new().with(|s| s.failures = 2),
            "SetHost",
            "Moving",
        ),
    ]);
}

#[test]
fn machine_that_names_a_host_follows_the_table() {
    check(vec![
        ("no claim yet", Scene::named(), "PutClaim", "Moving"),
        (
            "no claim, and the host is not free",
            Scene::named().with(|s| s.host_mut().phase = Phase::Registered),
            "ClearHost",
            "Moving",
        ),
        (
            "no claim, and the host is cordoned",
            Scene::named().with(|s| s.host_mut().cordoned = true),
            "ClearHost",
            "Moving",
        ),
        (
            "no claim, and the host is deleted",
            Scene::named().with(|s| s.host_mut().deleting = true),
            "ClearHost",
            "Moving",
        ),
        (
            "no claim, and no image any more",
            Scene::named().with(|s| s.image = Err("none".into())),
            "ClearHost",
            "HostFailed",
        ),
        (
            "the host is gone",
            Scene::named().with(|s| s.host = None),
            "ClearHost",
            "Moving",
        ),
        (
            "the host is another's",
            Scene::named().with(|s| s.host_mut().claim = Some(claim(OTHER))),
            "ClearHost",
            "Moving",
        ),
        (
            "the claim was released",
            Scene::claimed().with(|s| s.claim_mut().wanted = Wanted::Released),
            "ClearHost",
            "HostFailed",
        ),
        (
            "failed, but its data were given",
            Scene::at(Phase::Failed).with(|s| s.claim_mut().bootstrap_hash = Some("f".into())),
            "Commit",
            "Moving",
        ),
        (
            "the claim has ended",
            Scene::named().with(|s| s.host_mut().observed = Some(ID.into())),
            "ClearHost",
            "HostReleased",
        ),
        ("not taken up", Scene::claimed(), "-", "Unobserved"),
        (
            "not taken up by a silent host",
            since(500, Scene::claimed().silent(500)),
            "Release",
            "HostFailed",
        ),
        (
            "claimed a moment ago, and silent before",
            since(179, Scene::claimed().silent(500)),
            "-",
            "Unobserved",
        ),
        (
            "silent to a leader that has just begun",
            since(500, Scene::claimed().silent(500)).with(|s| s.leads_for = 179),
            "-",
            "Unobserved",
        ),
        (
            "heard by the leader before and not yet by this one",
            since(500, Scene::claimed().silent(20)).with(|s| s.host_mut().renewed = false),
            "-",
            "Unobserved",
        ),
        (
            "not taken up in time",
            since(2000, Scene::claimed()),
            "Release",
            "HostFailed",
        ),
        ("taken up", Scene::at(Phase::Available), "-", "Imaging"),
        ("imaging", Scene::at(Phase::Imaging), "-", "Imaging"),
        ("failed", Scene::at(Phase::Failed), "Release", "HostFailed"),
        (
            "quarantined",
            Scene::at(Phase::Quarantined),
            "Release",
            "HostFailed",
        ),
        (
            "leaves by itself",
            Scene::at(Phase::Cleaning),
            "Release",
            "HostFailed",
        ),
        (
            "not in time",
            Scene::at(Phase::Imaging).with(|s| s.machine.host.as_mut().unwrap().since = NOW - 2000),
            "Release",
            "JoinLate",
        ),
    ]);
}

/// A restored API server has lost the commitment, and says of the host what it said before.
#[test]
fn late_machine_whose_node_is_there_is_committed() {
    let late = |node: Node| {
        Scene::at(Phase::Imaging).with(|s| {
            s.machine.host.as_mut().unwrap().since = NOW - 2000;
            s.node = node;
        })
    };
    let away = || late(Node::Away("refused".into()));
    let first = |s: &mut Scene| s.cluster.as_mut().unwrap().initialized = false;
    check(vec![
        ("Node Ready", late(Node::Ready), "Commit", "Moving"),
        (
            "Node not Ready",
            late(Node::NotReady { seconds: 9000 }),
            "Commit",
            "Moving",
        ),
        ("the cluster is away", away(), "-", "ClusterAway"),
        (
            "the first control plane has no server yet",
            away().with(first),
            "Release",
            "JoinLate",
        ),
        (
            "careen-provider has just started",
            away().with(first).with(|s| s.leads_for = 119),
            "-",
            "ClusterAway",
        ),
        (
            "another's Node",
            late(Node::Other {
                name: "h".into(),
                provider_id: "x".into(),
            }),
            "Release",
            "JoinLate",
        ),
        (
            "silent, and the claim is not taken up",
            since(500, Scene::claimed().silent(500))
                .with(|s| s.node = Node::NotReady { seconds: 500 }),
            "Commit",
            "Moving",
        ),
        (
            "failed",
            Scene::at(Phase::Failed).with(|s| s.node = Node::Ready),
            "Commit",
            "Moving",
        ),
        (
            "committed then",
            Scene::committed(Phase::Joined).with(|s| {
                s.machine.host.as_mut().unwrap().since = NOW - 2000;
                s.node = Node::Ready;
            }),
            "SetProviderId",
            "Moving",
        ),
    ]);
}

#[test]
fn claim_carries_what_the_host_needs() {
    let Some(Act::PutClaim(put)) = Scene::named().decide().act else {
        panic!("no claim");
    };
    assert_eq!(put, claim(ID));
}

#[test]
fn failed_host_is_not_tried_again() {
    let scene = Scene::claimed().with(|s| s.claim_mut().wanted = Wanted::Released);
    let failed = |by_image: bool| {
        let host = "h".to_owned();
        let tried = Some(Failed { host, by_image });
        Some(Act::ClearHost { tried })
    };
    assert_eq!(scene.decide().act, failed(false));
    let scene = scene.with(|s| s.host_mut().reason = Some("ImageFailed".into()));
    assert_eq!(scene.decide().act, failed(true));
    let scene = Scene::new().with(|s| s.machine.tried = vec!["h".into()]);
    assert_eq!(scene.row(), ("-".to_owned(), "NoHost"));
    let scene = scene.with(|s| s.hosts.push(host("i")));
    let Some(Act::SetHost(chosen)) = scene.decide().act else {
        panic!("none chosen");
    };
    assert_eq!((chosen.name.as_str(), chosen.since), ("i", NOW));
    assert_ne!(chosen, named());
}
