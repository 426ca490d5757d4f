//! When a node gets a request, and which one.

use provider::engine::{Answer, MarkWrite, NodeWrite, Server, Why};
use provider::names;
use upgrade::report::Answer as NodeAnswer;

use crate::scene::*;

#[test]
fn a_node_at_rest_is_asked_with_id_image_and_version() {
    let scene = scene();
    let decision = scene.decide();
    let expected = NodeWrite::Request {
        id: scene.id().parse().unwrap(),
        image: image('b').parse().unwrap(),
        version: NEW.into(),
    };
    assert_eq!(decision.node, Some(expected));
    assert!(
        matches!(decision.mark, Some(MarkWrite::On(mark)) if mark.skip_is_ours && mark.since == NOW)
    );
}

/// An answer would cause a new decision; silence causes none.
#[test]
fn who_has_asked_a_node_looks_again_right_behind_its_deadline() {
    assert_eq!(scene().decide().again, Some(301));
}

#[test]
fn a_request_that_stands_is_not_written_again() {
    let decision = scene().asked().decide();
    assert_eq!((decision.node, decision.mark), (None, None));
    assert!(matches!(decision.answer, Answer::Working(_)));
}

#[test]
fn foreign_skip_remediation_annotation_is_not_claimed() {
    let mut scene = scene();
    scene.machine.skips_remediation = true;
    assert!(matches!(scene.decide().mark, Some(MarkWrite::On(mark)) if !mark.skip_is_ours));
}

#[test]
fn request_id_differs_exactly_when_the_wish_differs() {
    let base = scene();
    let mut others = Vec::from([scene(), scene(), scene(), scene()]);
    others[0].machine.uid = "another".into();
    others[1].machine.retry = Some("1".into());
    others[2].wanted.version = "v1.36.4".into();
    others[3].wanted.image = Ok(image('c').parse().unwrap());
    assert_eq!(base.id(), scene().id());
    for other in others {
        assert_ne!(base.id(), other.id());
    }
}

#[test]
fn new_catalogue_image_is_requested_after_the_old_one_failed() {
    let mut scene = scene().asked().answered(NodeAnswer::Failed, "Failed");
    assert!(failed(&scene.decide()).is_some());
    scene.wanted.image = Ok(image('c').parse().unwrap());
    assert!(requests(&scene.decide()));
}

#[test]
fn a_new_value_of_the_retry_annotation_asks_again() {
    let mut scene = scene().asked().answered(NodeAnswer::Failed, "Failed");
    scene.machine.retry = Some("again".into());
    assert!(requests(&scene.decide()));
}

#[test]
fn a_node_that_works_on_another_request_is_let_finish() {
    let scene = scene().answered_to("by-hand", NodeAnswer::InProgress, "Trial");
    let decision = scene.decide();
    assert_eq!(held(&decision), "OtherRequest");
    assert!(decision.node.is_none());
}

#[test]
fn manual_pending_request_is_kept_and_our_old_one_is_replaced() {
    let mut scene = scene();
    (scene.node().requested, scene.node().id) = (true, Some("by-hand".into()));
    assert_eq!(held(&scene.decide()), "OtherRequest");
    scene.node().id = Some("capi-0123".into());
    assert!(requests(&scene.decide()));
}

#[test]
fn a_worker_never_goes_ahead_of_the_control_plane() {
    let mut scene = scene();
    scene.control_plane.oldest = oldest(OLD);
    let decision = scene.decide();
    assert_eq!(held(&decision), "AheadOfControlPlane");
    assert!(decision.node.is_none() && decision.mark.is_none());
}

#[test]
fn ahead_of_control_plane_names_the_oldest_member() {
    let mut scene = scene();
    scene.control_plane.oldest = oldest(OLD);
    let said = scene.decide().answer.message();
    let place = format!("the control plane's {OLD} (Node cp-old, Machine m-cp-old)");
    assert!(said.contains(&place), "{said}");
    scene.control_plane.oldest = Some(Server::somewhere(OLD.parse().unwrap()));
    let said = scene.decide().answer.message();
    assert!(said.contains("(reported by its API server)"), "{said}");
}

#[test]
fn a_control_plane_whose_version_is_not_known_holds_its_workers() {
    let mut scene = scene();
    scene.control_plane.oldest = None;
    assert_eq!(held(&scene.decide()), "ControlPlaneUnknown");
}

#[test]
fn control_plane_steps_one_minor_and_does_not_wait_for_itself() {
    let mut scene = scene().of_control_plane(Some(OLD));
    scene.control_plane.oldest = oldest(OLD);
    assert!(requests(&scene.decide()));
    scene.node().kubelet = "v1.34.9".into();
    assert_eq!(held(&scene.decide()), "StepTooLarge");
}

#[test]
fn control_plane_is_held_if_a_kubelet_would_lag_over_3_minors() {
    let mut scene = scene().of_control_plane(Some(OLD));
    scene.oldest_kubelet = "v1.33.9".parse().ok();
    assert!(requests(&scene.decide()));
    scene.oldest_kubelet = "v1.32.9".parse().ok();
    let decision = scene.decide();
    assert_eq!(held(&decision), "WorkersBehind");
    assert!(decision.node.is_none() && decision.mark.is_none());
    let said = decision.answer.message();
    let names = ["Node old ", "Machine m-old ", names::LEAVE_OUT];
    assert!(names.iter().all(|name| said.contains(name)), "{said}");
}

#[test]
fn a_worker_may_skip_minors_up_to_the_policy() {
    let mut scene = scene();
    scene.node().kubelet = "v1.33.0".into();
    assert!(requests(&scene.decide()));
    scene.node().kubelet = "v1.32.0".into();
    assert_eq!(held(&scene.decide()), "StepTooLarge");
}

#[test]
fn node_is_asked_only_in_turn_and_a_working_node_keeps_its_turn() {
    let mut scene = scene();
    scene.working = 1;
    assert_eq!(held(&scene.decide()), "NotItsTurn");
    scene.allowed = 2;
    assert!(requests(&scene.decide()));
    (scene.allowed, scene.working) = (1, 5);
    let scene = scene.asked().answered(NodeAnswer::InProgress, "Trial");
    assert!(matches!(scene.decide().answer, Answer::Working(_)));
}

#[test]
fn turn_kept_message_names_the_keeper_and_how_to_proceed() {
    let mut scene = scene();
    (scene.working, scene.keeper) = (1, Some(other("m-slow")));
    let decision = scene.decide();
    assert_eq!(held(&decision), "TurnKept");
    let said = decision.answer.message();
    let names = ["Node node-of-m-slow ", "Machine m-slow ", names::LEAVE_OUT];
    assert!(names.iter().all(|name| said.contains(name)), "{said}");
    scene.allowed = 2;
    assert!(requests(&scene.decide()));
}

#[test]
fn left_out_machine_gets_no_new_request_and_finishes_its_work() {
    let mut scene = scene();
    scene.machine.left_out = true;
    assert_eq!(held(&scene.decide()), "LeftOut");
    let mut scene = scene.asked().answered(NodeAnswer::InProgress, "Trial");
    scene.machine.left_out = true;
    assert!(matches!(scene.decide().answer, Answer::Working(_)));
}

#[test]
fn failure_holds_new_machines_but_not_the_failed_one() {
    let mut next = scene();
    next.failed = 1;
    let decision = next.decide();
    assert_eq!(held(&decision), "OthersFailed");
    let said = decision.answer.message();
    assert!(said.contains("Machine m-failed "), "{said}");
    next.allowed = 2;
    assert!(requests(&next.decide()));
    let mut failed = scene().asked().answered(NodeAnswer::Failed, "Failed");
    failed.failed = 1;
    failed.wanted.image = Ok(image('c').parse().unwrap());
    assert!(
        requests(&failed.decide()),
        "or those that failed would wait for each other"
    );
}

#[test]
fn asked_node_keeps_its_turn_despite_an_old_withdrawal_answer() {
    let node = |scene: Scene| scene.node.unwrap().in_flight();
    assert!(node(scene().asked().withdrawn()));
    assert!(!node(
        scene().asked().answered(NodeAnswer::Failed, "Failed")
    ));
    assert!(!node(scene().withdrawn()), "nothing stands there");
}

#[test]
fn a_paused_node_is_left_alone_with_its_own_reason() {
    let mut scene = scene();
    scene.node().paused = Some("disk is being\u{7} replaced".into());
    assert!(
        matches!(scene.decide().answer, Answer::Held(Why::NodePaused { reason, .. }) if reason == "disk is being  replaced")
    );
}

#[test]
fn without_an_image_for_the_version_it_holds() {
    let mut scene = scene();
    scene.wanted.image = Err(Why::NoImage {
        version: NEW.into(),
        machine: "Machine m".into(),
    });
    assert_eq!(held(&scene.decide()), "NoImage");
}

#[test]
fn a_node_with_another_provider_id_is_not_the_machines() {
    let mut scene = scene();
    scene.node().provider_id = Some("site://other".into());
    let decision = scene.decide();
    assert_eq!(held(&decision), "NodeMismatch");
    assert!(decision.node.is_none());
}

#[test]
fn a_version_that_cannot_be_read_is_named_and_nothing_is_asked() {
    let mut scene = scene();
    scene.wanted.version = "1.36; rm -rf /".into();
    assert_eq!(held(&scene.decide()), "BadVersion");
}

#[test]
fn while_core_has_not_said_what_it_wants_nothing_is_touched() {
    let mut scene = scene().asked().answered(NodeAnswer::InProgress, "Trial");
    scene.road = Asked::Untold;
    let decision = scene.decide();
    assert_eq!(
        (decision.answer, decision.node, decision.mark),
        (Answer::Untold, None, None)
    );
}
