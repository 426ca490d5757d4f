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

#[test]
fn claim_that_is_put_back_on_deletion_is_an_order_to_leave() {
    let scene = Scene::deleted().with(|s| s.host_mut().claim = None);
    let Some(Act::PutClaim(put)) = scene.decide().act else {
        panic!("no claim");
    };
    assert_eq!((put.id.as_str(), put.wanted), (ID, Wanted::Released));
}
