//! A machine that is not deleted.

use infrastructure::{AWAITS_DATA, Act, Data, Failed, Held, Node, Phase, Wanted};

use crate::scene::{ID, NOW, OTHER, Scene, check, claim, host, named};

fn asks(scene: &mut Scene) {
    scene.host_mut().step = Some(AWAITS_DATA.to_owned());
    scene.data = Data::Hash("f".to_owned());
}

fn held(scene: &mut Scene, claim: &str, hash: &str) {
    scene.held = Held::Data {
        claim: claim.to_owned(),
        hash: hash.to_owned(),
    };
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
            Scene::claimed().silent(500),
            "Release",
            "HostFailed",
        ),
        (
            "not taken up in time",
            Scene::claimed().with(|s| s.machine.host.as_mut().unwrap().since = NOW - 2000),
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
            Scene::claimed()
                .silent(500)
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
fn machine_whose_host_wants_the_data_follows_the_table() {
    let at = |change: fn(&mut Scene)| Scene::at(Phase::Joining).with(asks).with(change);
    let kept = |change: fn(&mut Scene)| Scene::committed(Phase::Joining).with(asks).with(change);
    let taken = || Node::Other {
        name: "h".into(),
        provider_id: "careen://ns/h/1".into(),
    };
    check(vec![
        ("before the commitment", at(|_| {}), "Commit", "Moving"),
        ("no data", at(|s| s.data = Data::Missing), "-", "NoData"),
        (
            "bad data",
            at(|s| s.data = Data::Bad("ignition".into())),
            "-",
            "BadData",
        ),
        (
            "the name of the Node is taken",
            at(|s| {
                s.node = Node::Other {
                    name: "h".into(),
                    provider_id: "x".into(),
                }
            }),
            "Release",
            "NodeNameTaken",
        ),
        ("committed", kept(|_| {}), "CopyData", "Moving"),
        (
            "another claim's data are there",
            kept(|s| held(s, OTHER, "f")),
            "CopyData",
            "Moving",
        ),
        (
            "older data are there",
            kept(|s| held(s, ID, "e")),
            "CopyData",
            "Moving",
        ),
        ("copied", kept(|s| held(s, ID, "f")), "TellData", "Moving"),
        (
            "told",
            kept(|s| {
                held(s, ID, "f");
                s.claim_mut().bootstrap_hash = Some("f".into());
            }),
            "-",
            "Joining",
        ),
        (
            "rotated before their use",
            kept(|s| {
                held(s, ID, "e");
                s.claim_mut().bootstrap_hash = Some("e".into());
            }),
            "CopyData",
            "Moving",
        ),
        (
            "rotated after their use",
            kept(|s| {
                held(s, ID, "e");
                s.claim_mut().bootstrap_hash = Some("e".into());
                s.host_mut().step = Some("Join".into());
            }),
            "-",
            "Joining",
        ),
        (
            "committed, and the name is taken",
            kept(|s| {
                s.node = Node::Other {
                    name: "h".into(),
                    provider_id: "x".into(),
                }
            }),
            "-",
            "NodeNameTaken",
        ),
    ]);
    let scene = Scene::at(Phase::Joining)
        .with(asks)
        .with(|s| s.node = taken());
    assert_eq!(scene.decide().act, Some(Act::Release));
}

#[test]
fn committed_machine_keeps_its_host_whatever_happens() {
    let committed = Scene::committed;
    check(vec![
        (
            "the host is gone",
            committed(Phase::Joined).with(|s| s.host = None),
            "-",
            "HostGone",
        ),
        (
            "the claim is gone",
            committed(Phase::Joined).with(|s| s.host_mut().claim = None),
            "PutClaim",
            "Moving",
        ),
        (
            "the claim has ended",
            committed(Phase::Available).with(|s| s.host_mut().claim = None),
            "-",
            "HostReleased",
        ),
        (
            "the claim is another's",
            committed(Phase::Joined).with(|s| s.host_mut().claim = Some(claim(OTHER))),
            "-",
            "HostTaken",
        ),
        (
            "released by a person",
            committed(Phase::Joined).with(|s| s.claim_mut().wanted = Wanted::Released),
            "-",
            "HostReleased",
        ),
        (
            "not taken up",
            committed(Phase::Joined)
                .with(|s| s.host_mut().observed = None)
                .silent(5000),
            "-",
            "Unobserved",
        ),
        ("failed", committed(Phase::Failed), "-", "JoinFailed"),
        (
            "late",
            committed(Phase::Joining).with(|s| s.machine.host.as_mut().unwrap().since = NOW - 2000),
            "-",
            "JoinLate",
        ),
    ]);
}

#[test]
fn machine_whose_host_has_joined_follows_the_table() {
    let joined = || Scene::committed(Phase::Joined);
    check(vec![
        (
            "restored before the commitment",
            Scene::at(Phase::Joined),
            "Commit",
            "Moving",
        ),
        (
            "data left",
            joined().with(|s| held(s, ID, "f")),
            "RemoveData",
            "Moving",
        ),
        (
            "data of another claim",
            joined().with(|s| held(s, OTHER, "f")),
            "SetProviderId",
            "Moving",
        ),
        ("no provider id", joined(), "SetProviderId", "Moving"),
        (
            "name taken",
            joined().with(|s| {
                s.node = Node::Other {
                    name: "h".into(),
                    provider_id: "x".into(),
                }
            }),
            "-",
            "NodeNameTaken",
        ),
        (
            "not provisioned",
            joined().with(|s| s.machine.provider_id = Some("x".into())),
            "SetProvisioned",
            "Moving",
        ),
        (
            "the workload API is away",
            joined().with(|s| {
                s.node = Node::Away("x".into());
                s.machine.provider_id = Some("x".into());
            }),
            "SetProvisioned",
            "Moving",
        ),
        ("provisioned", Scene::running(), "-", "Running"),
        (
            "provisioned, data left",
            Scene::running().with(|s| held(s, ID, "f")),
            "RemoveData",
            "Moving",
        ),
        (
            "provisioned, silent",
            Scene::running().silent(5000),
            "-",
            "Running",
        ),
        (
            "provisioned, another image wanted",
            Scene::running().with(|s| s.image = Ok("ostree:site:os@2".into())),
            "-",
            "Running",
        ),
    ]);
}

/// `clusterctl move` drops status: what the host said, and that the machine was provisioned.
#[test]
fn moved_machine_that_had_joined_is_provisioned_again() {
    let moved = || {
        Scene::running().with(|s| {
            s.machine.provisioned = false;
            s.host_mut().observed = None;
            s.host_mut().phase = Phase::Registered;
        })
    };
    check(vec![
        ("moved", moved(), "SetProvisioned", "Moving"),
        ("silent", moved().silent(5000), "SetProvisioned", "Moving"),
        (
            "not joined before",
            moved().with(|s| s.machine.provider_id = None),
            "-",
            "Unobserved",
        ),
        (
            "not committed",
            moved().with(|s| s.machine.host.as_mut().unwrap().committed = false),
            "Commit",
            "Moving",
        ),
        (
            "without the data",
            moved().with(|s| s.host_mut().claim.as_mut().unwrap().bootstrap_hash = None),
            "-",
            "Unobserved",
        ),
        (
            "heard of another claim",
            moved().with(|s| s.host_mut().observed = Some(OTHER.to_owned())),
            "-",
            "Unobserved",
        ),
        (
            "told to leave",
            moved().with(|s| s.host_mut().claim.as_mut().unwrap().wanted = Wanted::Released),
            "-",
            "HostReleased",
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
