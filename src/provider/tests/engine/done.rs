//! "Done" is reported only once everything is verified.

use provider::engine::{Answer, MarkWrite};
use requests::StaticPod;
use upgrade::report::{Answer as NodeAnswer, ControlPlane};

use crate::scene::*;

#[test]
fn done_when_all_of_it_is_seen_and_said_again_as_often_as_asked() {
    let scene = scene().upgraded();
    let decision = scene.decide();
    assert_eq!(
        (&decision.answer, decision.mark),
        (&Answer::Done, Some(MarkWrite::Off))
    );
    let mut later = scene;
    later.machine.mark = None;
    let decision = later.decide();
    assert_eq!(
        (decision.answer, decision.mark, decision.node),
        (Answer::Done, None, None)
    );
}

#[test]
fn not_done_by_an_answer_to_another_request() {
    let mut scene = scene()
        .asked()
        .answered_to("capi-earlier", NodeAnswer::Upgraded, "Upgraded");
    scene.node().kubelet = NEW.into();
    assert!(matches!(scene.decide().answer, Answer::Working(_)));
}

#[test]
fn not_done_by_an_answer_without_an_id() {
    let mut scene = scene().asked().answered(NodeAnswer::Upgraded, "Upgraded");
    scene.node().reply.status.as_mut().unwrap().id = None;
    scene.node().kubelet = NEW.into();
    assert!(matches!(scene.decide().answer, Answer::Working(_)));
}

#[test]
fn not_done_until_the_kubelet_says_the_very_same_version() {
    for other in [OLD, "v1.36.3+careen.1", "1.36.3", ""] {
        let mut scene = scene().upgraded();
        scene.node().kubelet = other.into();
        assert_eq!(held(&scene.decide()), "Unverified", "{other}");
    }
}

#[test]
fn not_done_while_the_node_is_not_ready_or_cordoned() {
    let mut unready = scene().upgraded();
    unready.node().ready = false;
    assert_eq!(held(&unready.decide()), "Unverified");
    let mut cordoned = scene().upgraded();
    cordoned.node().cordoned = true;
    assert_eq!(held(&cordoned.decide()), "Unverified");
}

#[test]
fn control_plane_is_done_only_with_ready_updated_static_pods() {
    assert_eq!(
        held(&scene().of_control_plane(Some(OLD)).upgraded().decide()),
        "Unverified"
    );
    let done = scene().of_control_plane(Some(NEW)).upgraded();
    assert_eq!(done.decide().answer, Answer::Done);
    let mut missing = scene().of_control_plane(Some(NEW)).upgraded();
    missing.control_plane.pods.pop();
    assert_eq!(held(&missing.decide()), "Unverified");
    let mut unready = scene().of_control_plane(Some(NEW)).upgraded();
    unready.control_plane.pods[0].ready = false;
    assert_eq!(held(&unready.decide()), "Unverified");
}

#[test]
fn control_plane_is_done_only_with_a_ready_etcd_and_no_lock() {
    let mut scene = scene().of_control_plane(Some(NEW)).upgraded();
    scene.control_plane.pods.push(StaticPod {
        component: "etcd".into(),
        version: Some("3.6.8-0".into()),
        ready: false,
    });
    assert_eq!(held(&scene.decide()), "Unverified");
    scene.control_plane.pods[3].ready = true;
    assert_eq!(scene.decide().answer, Answer::Done);
    let status = scene.node().reply.status.as_mut().unwrap();
    status.control_plane = Some(ControlPlane {
        locked: true,
        ..ControlPlane::default()
    });
    assert_eq!(held(&scene.decide()), "Unverified");
}

#[test]
fn agents_answer_counts_when_static_pods_are_pinned_by_digest() {
    assert_eq!(
        scene().of_control_plane(None).upgraded().decide().answer,
        Answer::Done
    );
}

#[test]
fn node_that_copies_a_neighbours_answer_is_not_done() {
    let mut neighbour = scene();
    neighbour.machine.uid = "uid-neighbour".into();
    let mut scene = scene()
        .asked()
        .answered_to(&neighbour.id(), NodeAnswer::Upgraded, "Upgraded");
    scene.node().kubelet = NEW.into();
    assert_ne!(scene.decide().answer, Answer::Done);
}

#[test]
fn every_answer_but_done_asks_core_to_come_again() {
    let scenes = [
        scene(),
        scene().asked(),
        scene().asked().answered(NodeAnswer::InProgress, "Blessed"),
        scene().asked().answered(NodeAnswer::Failed, "Failed"),
        scene().of_control_plane(Some(OLD)).upgraded(),
    ];
    for scene in scenes {
        let answer = scene.decide().answer;
        assert_ne!(answer, Answer::Done);
        assert!((1..=30).contains(&answer.retry_after()), "{answer:?}");
    }
}

#[test]
fn messages_change_rarely_and_hold_no_clock() {
    let message = |percent: u8, now: i64| {
        let mut scene = scene().asked().answered(NodeAnswer::InProgress, "Trial");
        scene.node().reply.status.as_mut().unwrap().percent = percent;
        scene.now = now;
        scene.decide().answer.message()
    };
    assert_eq!(message(60, NOW), "Trial, 60 %");
    assert_eq!(message(60, NOW), message(69, NOW + 100));
    assert_eq!(
        message(100, NOW),
        "Trial, 90 %",
        "100 is for what is verified"
    );
}
