//! A machine that is deleted.

use infrastructure::{Act, Held, Node, Phase, Wanted};

use crate::scene::{ID, OTHER, Scene, check, claim};

fn data(scene: &mut Scene) {
    scene.held = Held::Data {
        claim: ID.to_owned(),
        hash: "f".to_owned(),
    };
}

#[test]
fn finalizer_goes_when_the_host_is_fenced() {
    let deleted = Scene::deleted;
    let fenced = |phase| Scene::released().with(|s| s.host_mut().phase = phase);
    check(vec![
        (
            "paused",
            deleted().with(|s| s.machine.paused = Some("Cluster c".into())),
            "-",
            "Paused",
        ),
        (
            "no finalizer",
            deleted().with(|s| s.machine.finalizer = false),
            "-",
            "Released",
        ),
        (
            "no host",
            deleted().with(|s| s.machine.host = None),
            "RemoveFinalizer",
            "Released",
        ),
        (
            "no owner any more",
            deleted().with(|s| s.machine.owner = None),
            "Release",
            "Moving",
        ),
        ("joined", deleted(), "Release", "Moving"),
        ("released", Scene::released(), "-", "Fencing"),
        ("fencing", fenced(Phase::Fencing), "-", "Fencing"),
        ("failed", fenced(Phase::Failed), "-", "Fencing"),
        (
            "cleaning",
            fenced(Phase::Cleaning),
            "RemoveFinalizer",
            "Released",
        ),
        (
            "available",
            fenced(Phase::Available),
            "RemoveFinalizer",
            "Released",
        ),
        (
            "quarantined",
            fenced(Phase::Quarantined),
            "RemoveFinalizer",
            "Released",
        ),
        (
            "cleaning, data left",
            fenced(Phase::Cleaning).with(data),
            "RemoveData",
            "Moving",
        ),
        (
            "released, data left",
            Scene::released().with(data),
            "RemoveData",
            "Moving",
        ),
        (
            "cleaning after another claim",
            fenced(Phase::Cleaning).with(|s| s.host_mut().observed = Some(OTHER.into())),
            "-",
            "Fencing",
        ),
        (
            "available and not taken up",
            fenced(Phase::Available).with(|s| s.host_mut().observed = None),
            "-",
            "Fencing",
        ),
        (
            "the claim is gone",
            deleted().with(|s| s.host_mut().claim = None),
            "PutClaim",
            "Moving",
        ),
        (
            "the claim was removed after the cleaning",
            fenced(Phase::Available).with(|s| s.host_mut().claim = None),
            "RemoveFinalizer",
            "Released",
        ),
        (
            "another's claim",
            deleted().with(|s| s.host_mut().claim = Some(claim(OTHER))),
            "-",
            "HostTaken",
        ),
        (
            "another's claim, and a person's word",
            deleted().with(|s| {
                s.host_mut().claim = Some(claim(OTHER));
                s.host_mut().forced = Some(ID.into());
            }),
            "RemoveFinalizer",
            "Released",
        ),
    ]);
}

/// Not even a claim that was never committed: a restored API server may have lost the commitment.
#[test]
fn machine_that_only_named_a_host_waits_for_its_answer_too() {
    let named = || Scene::named().with(|s| s.machine.deleting = true);
    check(vec![
        ("no claim yet", named(), "PutClaim", "Moving"),
        (
            "claimed",
            named().with(|s| s.host_mut().claim = Some(claim(ID))),
            "Release",
            "Moving",
        ),
        (
            "host gone, no Node",
            named().with(|s| s.host = None),
            "RemoveFinalizer",
            "Released",
        ),
        (
            "host gone, Node Ready",
            named().with(|s| {
                s.host = None;
                s.node = Node::Ready;
            }),
            "-",
            "LinkDown",
        ),
    ]);
}

/// Two machines named the host at once. The other's claim was written first.
#[test]
fn uncommitted_machine_lets_go_of_a_host_that_another_won() {
    let won = || {
        Scene::named().with(|s| {
            s.machine.deleting = true;
            s.host_mut().claim = Some(claim(OTHER));
            s.host_mut().observed = Some(OTHER.into());
            s.host_mut().phase = Phase::Joined;
        })
    };
    let node = |node: Node| won().with(|s| s.node = node);
    let away = || node(Node::Away("refused".into()));
    let (gone, waits) = (("RemoveFinalizer", "Released"), ("-", "HostTaken"));
    let rows = [
        ("no Node", won(), gone),
        (
            "the other's Node",
            node(Node::Other {
                name: "h".into(),
                provider_id: "x".into(),
            }),
            gone,
        ),
        (
            "the first control plane",
            away().with(|s| s.cluster.as_mut().unwrap().initialized = false),
            gone,
        ),
        // A restored API server has lost the commitment.
        ("its Node is Ready", node(Node::Ready), waits),
        (
            "its Node is not Ready",
            node(Node::NotReady { seconds: 9000 }),
            waits,
        ),
        ("no Node yet", node(Node::Missing { visible: 119 }), waits),
        ("the cluster is away", away(), waits),
        ("the cluster is gone", node(Node::NoCluster), waits),
        (
            "the host says that it has the claim",
            won().with(|s| s.host_mut().observed = Some(ID.into())),
            waits,
        ),
        (
            "committed",
            won().with(|s| s.machine.host.as_mut().unwrap().committed = true),
            waits,
        ),
    ];
    let row = |(name, scene, (act, why))| (name, scene, act, why);
    check(rows.into_iter().map(row).collect());
}

#[test]
fn claim_that_is_put_back_on_deletion_is_an_order_to_leave() {
    let scene = Scene::deleted().with(|s| s.host_mut().claim = None);
    let Some(Act::PutClaim(put)) = scene.decide().act else {
        panic!("no claim");
    };
    assert_eq!((put.id.as_str(), put.wanted), (ID, Wanted::Released));
}
