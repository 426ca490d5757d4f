//! Control planes: a member whose upgrade has halted, the others, and an API server that is away
//! with its only node.

use provider::engine::{Answer, Mark, MarkWrite, Why};
use provider::names;
use upgrade::report::{Answer as NodeAnswer, ControlPlane};

use crate::scene::*;

/// A member whose agent has answered the provider's request with "halted". Its node is cordoned.
fn hurt() -> Scene {
    let mut scene = scene()
        .of_control_plane(Some(NEW))
        .asked()
        .answered(NodeAnswer::Failed, "Halted");
    let status = scene.node().reply.status.as_mut().unwrap();
    status.code = Some("ControlPlaneHurt".into());
    status.control_plane = Some(ControlPlane {
        locked: true,
        ..ControlPlane::default()
    });
    scene.node().cordoned = true;
    scene
}

#[test]
fn hurt_member_says_so_and_keeps_its_mark_without_a_limit() {
    for later in [0, 7200, 1_000_000] {
        let mut scene = hurt();
        scene.now = NOW + later;
        let decision = scene.decide();
        assert_eq!(decision.answer.code(), "ControlPlaneHurt");
        assert!(matches!(decision.answer, Answer::Failed(_)));
        assert_eq!((decision.node, decision.mark), (None, None), "{later}");
    }
}

#[test]
fn halted_worker_and_failed_member_regain_their_health_check() {
    let mut worker = hurt();
    worker.machine.control_plane = false;
    let mut failed = hurt();
    let status = failed.node().reply.status.as_mut().unwrap();
    (status.phase, status.control_plane) = ("Failed".into(), None);
    for scene in [worker, failed] {
        assert_eq!(scene.decide().mark, Some(MarkWrite::Off));
    }
}

/// The agent, too, takes that as the sign that a person has looked.
#[test]
fn hurt_member_that_a_person_uncordons_loses_its_mark() {
    let mut scene = hurt();
    scene.node().cordoned = false;
    assert_eq!(scene.decide().mark, Some(MarkWrite::Off));
}

#[test]
fn member_hurt_after_its_time_is_protected_again() {
    let mut scene = hurt();
    scene.machine.skips_remediation = false;
    scene.machine.mark = scene.machine.mark.take().map(|mark| Mark {
        skip_is_ours: false,
        ..mark
    });
    let decision = scene.decide();
    assert!(matches!(decision.mark, Some(MarkWrite::On(mark)) if mark.skip_is_ours));
}

#[test]
fn hurt_member_stays_protected_in_whatever_way_it_is_left() {
    let ways: [fn(&mut Scene); 5] = [
        |scene| scene.road = Asked::No,
        |scene| scene.road = Asked::Untold,
        |scene| scene.paused = Some("Cluster c"),
        |scene| scene.machine.left_out = true,
        |scene| scene.wanted.image = Err(Why::NoNode),
    ];
    for (number, leave) in ways.into_iter().enumerate() {
        let mut scene = hurt();
        scene.now = NOW + 1_000_000;
        leave(&mut scene);
        assert_eq!(scene.decide().mark, None, "way {number}");
    }
    let mut deleted = hurt();
    deleted.machine.deleting = true;
    assert_eq!(deleted.decide().mark, Some(MarkWrite::Off));
}

#[test]
fn hurt_member_is_asked_again_after_a_retry_and_stays_protected() {
    let mut scene = hurt();
    scene.machine.retry = Some("1".into());
    assert!(requests(&scene.decide()));
    let node = scene.node().clone();
    let mut scene = scene.asked();
    let asked = scene.node.replace(node).unwrap();
    (scene.node().id, scene.node().requested) = (asked.id, true);
    scene.now = NOW + 300;
    let decision = scene.decide();
    assert_eq!(held(&decision), "NoAnswer");
    assert_eq!(decision.mark, None, "its agent is silent");
}

#[test]
fn no_member_is_asked_while_another_one_is_hurt() {
    let mut next = scene().of_control_plane(Some(NEW));
    next.hurt = Some(other("m-hurt"));
    // It is marked as well.
    next.working = 1;
    let decision = next.decide();
    assert_eq!(held(&decision), "ControlPlaneHurt");
    assert_eq!((decision.node, decision.mark), (None, None));
    let said = decision.answer.message();
    let names = ["Node node-of-m-hurt ", "Machine m-hurt ", names::RETRY];
    assert!(names.iter().all(|name| said.contains(name)), "{said}");
    (next.hurt, next.working) = (None, 0);
    assert!(requests(&next.decide()));
}

#[test]
fn only_member_in_its_upgrade_explains_its_absent_api_server() {
    let away = |members: usize, asked: bool| {
        let mut scene = scene().of_control_plane(Some(NEW));
        if asked {
            scene = scene.asked();
        }
        scene.control_plane.members = members;
        scene.away = Some("connection refused");
        let decision = scene.decide();
        assert_eq!(held(&decision), "ApiAway");
        assert_eq!((decision.node, decision.mark), (None, None));
        decision.answer.message()
    };
    let said = away(1, true);
    assert!(said.contains("only control-plane node, n,"), "{said}");
    for said in [away(1, false), away(3, true)] {
        assert!(said.contains("Check that server"), "{said}");
    }
}
