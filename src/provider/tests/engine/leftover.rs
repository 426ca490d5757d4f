//! Nobody requests the upgrade any more and no mark is left, but the InfraMachine still reports
//! progress.

use provider::engine::{Answer, Why, leftover};
use upgrade::report::Answer as NodeAnswer;

use crate::scene::*;

/// The report after the mark is gone.
fn told(scene: &Scene) -> Option<Answer> {
    leftover(&scene.machine, scene.view())
}

const WITHDRAWN: Option<Answer> = Some(Answer::Cancelled(Why::Withdrawn));

#[test]
fn upgraded_node_has_arrived_even_while_cordoned() {
    let mut scene = scene().upgraded();
    scene.node().cordoned = true;
    assert_eq!(told(&scene), Some(Answer::Done));
}

#[test]
fn a_node_that_has_failed_says_why() {
    let mut scene = scene().asked().answered(NodeAnswer::Failed, "Failed");
    scene.node().failure = Some("the check said no".into());
    let Some(Answer::Failed(why)) = told(&scene) else {
        panic!("{:?}", told(&scene));
    };
    assert_eq!(why.to_string(), "the check said no");
}

#[test]
fn a_node_that_works_for_us_is_waited_for() {
    assert_eq!(told(&scene().asked()), None);
    let works = scene().asked().answered(NodeAnswer::InProgress, "Trial");
    assert_eq!(told(&works), None);
    assert_eq!(told(&works.taken_back()), None, "it is past its return");
}

#[test]
fn a_node_that_cannot_be_seen_is_waited_for() {
    let mut scene = scene().upgraded();
    scene.away = Some("connection refused");
    assert_eq!(told(&scene), None);
}

#[test]
fn where_the_node_has_nothing_to_say_of_it_it_was_withdrawn() {
    assert_eq!(told(&scene()), WITHDRAWN, "it was held");
    assert_eq!(told(&scene().asked().withdrawn().taken_back()), WITHDRAWN);
    let theirs = scene().answered_to("by-hand", NodeAnswer::InProgress, "Trial");
    assert_eq!(told(&theirs), WITHDRAWN);
    let mut gone = scene().asked();
    gone.node = None;
    assert_eq!(told(&gone), WITHDRAWN);
}

#[test]
fn answer_of_another_node_or_to_another_wish_is_ignored() {
    let mut others = scene().upgraded();
    others.node().provider_id = Some("site://other".into());
    assert_eq!(told(&others), WITHDRAWN);
    let mut older = scene().upgraded();
    older.machine.version = Some("v1.36.4".into());
    assert_eq!(told(&older), WITHDRAWN);
}

#[test]
fn the_end_of_the_machine_waits_for_no_node() {
    let mut scene = scene().asked();
    scene.machine.deleting = true;
    scene.away = Some("connection refused");
    assert_eq!(told(&scene), Some(Answer::Cancelled(Why::Deleted)));
}
