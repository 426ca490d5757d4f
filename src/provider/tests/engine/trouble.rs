//! Nodes that fail, lie, hang or cannot be seen.

use provider::engine::{Answer, MarkWrite, Why};
use upgrade::report::Answer as NodeAnswer;

use crate::scene::*;

#[test]
fn a_failed_node_is_shown_with_the_agents_reason_and_its_health_check_comes_back() {
    let mut scene = scene().asked().answered(NodeAnswer::Failed, "Failed");
    scene.node().failure = Some("required check disk failed: no /dev/sdb".into());
    scene.node().status.as_mut().unwrap().code = Some("UserCheck".into());
    let decision = scene.decide();
    assert_eq!(
        decision.answer.message(),
        "failed: required check disk failed: no /dev/sdb"
    );
    assert_eq!(
        (decision.answer.code().as_str(), decision.mark),
        ("UserCheck", Some(MarkWrite::Off))
    );
    assert!(decision.node.is_none(), "nobody asks again unasked");
}

#[test]
fn a_hostile_reason_becomes_one_short_line() {
    let mut scene = scene().asked().answered(NodeAnswer::Failed, "Failed");
    scene.node().failure = Some(format!("a\nb\u{1b}[31m{}", "x".repeat(100_000)));
    scene.node().status.as_mut().unwrap().code = Some("<script>".into());
    let answer = scene.decide().answer;
    assert!(answer.message().chars().count() < 500 && !answer.message().contains(['\n', '\u{1b}']));
    assert_eq!(answer.code(), "Failed");
}

#[test]
fn while_the_api_server_is_away_nothing_is_judged_written_or_lifted() {
    for scene in [
        scene().asked(),
        scene().upgraded(),
        scene().asked().answered(NodeAnswer::Failed, "Failed"),
    ] {
        let mut scene = scene;
        scene.away = Some("connection refused");
        let decision = scene.decide();
        assert_eq!(held(&decision), "ApiAway");
        assert_eq!((decision.node, decision.mark), (None, None));
    }
}

#[test]
fn a_paused_node_that_was_asked_is_waited_for_and_not_called_silent() {
    let mut scene = scene().asked();
    scene.node().paused = Some("an audit".to_owned());
    scene.now = NOW + 300;
    let Answer::Working(progress) = scene.decide().answer else {
        panic!("not waited for")
    };
    assert_eq!(progress.reason.as_deref(), Some("paused: an audit"));
}

#[test]
fn a_node_that_does_not_answer_becomes_a_reason_at_the_deadline_and_goes_on_when_it_does() {
    let mut scene = scene().asked();
    scene.now = NOW + 299;
    let decision = scene.decide();
    assert!(matches!(decision.answer, Answer::Working(_)));
    assert_eq!(
        decision.again,
        Some(2),
        "looked at again just behind the deadline"
    );
    scene.now = NOW + 300;
    assert_eq!(held(&scene.decide()), "NoAnswer");
    let scene = scene.answered(NodeAnswer::InProgress, "Fetched");
    assert!(matches!(scene.decide().answer, Answer::Working(_)));
}

#[test]
fn an_upgrade_that_does_not_end_becomes_a_reason() {
    let mut scene = scene().asked().answered(NodeAnswer::InProgress, "Trial");
    scene.now = NOW + 7200;
    assert!(
        matches!(scene.decide().answer, Answer::Held(Why::Stalled { phase, .. }) if phase == "Trial")
    );
}

#[test]
fn an_agent_that_does_not_name_the_request_is_named_itself() {
    let mut unreadable = scene().asked();
    unreadable.node().unreadable = true;
    assert_eq!(held(&unreadable.decide()), "AgentUnfit");
    let mut nameless = scene().asked();
    nameless.node().answer = Some(NodeAnswer::InProgress);
    assert_eq!(held(&nameless.decide()), "AgentUnfit");
}

#[test]
fn a_node_that_is_gone_gives_the_machine_back_to_its_health_check() {
    let mut scene = scene().asked();
    scene.node = None;
    let decision = scene.decide();
    assert_eq!(
        (held(&decision).as_str(), decision.mark),
        ("NodeMissing", Some(MarkWrite::Off))
    );
    scene.machine.node = None;
    assert_eq!(held(&scene.decide()), "NoNode");
}

#[test]
fn a_mark_stays_while_a_held_node_works_on() {
    let mut scene = scene().asked().answered(NodeAnswer::InProgress, "Trial");
    scene.wanted.image = Err(Why::NoImage {
        version: NEW.into(),
        machine: "Machine m".into(),
    });
    let decision = scene.decide();
    assert_eq!((held(&decision).as_str(), decision.mark), ("NoImage", None));
}

#[test]
fn what_stands_in_the_way_on_the_node_is_in_the_message() {
    let mut scene = scene().asked().answered(NodeAnswer::InProgress, "Deployed");
    scene.node().status.as_mut().unwrap().reason =
        Some("drain: PodDisruptionBudget web does not allow evicting".into());
    assert_eq!(
        scene.decide().answer.message(),
        "Deployed, 40 %: drain: PodDisruptionBudget web does not allow evicting"
    );
}

#[test]
fn what_is_counted_is_of_a_closed_list_whatever_a_node_calls_its_reason() {
    let mut scene = scene().asked().answered(NodeAnswer::Failed, "Failed");
    scene.node().status.as_mut().unwrap().code = Some("MadeUpByTheNode".into());
    let answer = scene.decide().answer;
    assert_eq!(
        (answer.code().as_str(), answer.class()),
        ("MadeUpByTheNode", "Failed")
    );
}
