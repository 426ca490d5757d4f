//! A machine whose host wants the bootstrap data, and then has them.

use infrastructure::{AWAITS_DATA, Act, Data, Held, Node, Phase, Wanted};

use crate::scene::{ID, NOW, OTHER, Scene, check, claim};

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
