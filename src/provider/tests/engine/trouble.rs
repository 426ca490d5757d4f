//! Nodes that fail, lie, hang or are not visible.

use provider::engine::{Answer, MarkWrite, Why};
use upgrade::report::{Answer as NodeAnswer, Status};

use crate::scene::*;

#[test]
fn failed_node_shows_its_reason_and_regains_its_health_check() {
    let mut scene = scene().asked().answered(NodeAnswer::Failed, "Failed");
    scene.node().failure = Some("required check disk failed: no /dev/sdb".into());
    scene.node().reply.status.as_mut().unwrap().code = Some("UserCheck".into());
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
    scene.node().reply.status.as_mut().unwrap().code = Some("<script>".into());
    let answer = scene.decide().answer;
    assert!(answer.message().chars().count() < 500 && !answer.message().contains(['\n', '\u{1b}']));
    assert_eq!(answer.code(), "Failed");
}

#[test]
fn engine_decides_nothing_while_the_api_server_is_away() {
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
fn asked_node_that_is_paused_is_waited_for_and_not_silent() {
    let mut scene = scene().asked();
    scene.node().paused = Some("an audit".to_owned());
    scene.now = NOW + 300;
    let Answer::Working(progress) = scene.decide().answer else {
        panic!("not waited for")
    };
    assert_eq!(progress.reason.as_deref(), Some("paused: an audit"));
}

/// An agent may know a sign of a pause that the provider does not.
#[test]
fn asked_node_whose_agent_says_paused_is_not_silent() {
    let status = Status {
        paused: Some("taint example.org/new".to_owned()),
        ..Status::default()
    };
    let mut scene = scene().asked();
    scene.node().reply.status = Some(status);
    scene.now = NOW + 300;
    let decision = scene.decide();
    let Answer::Working(progress) = decision.answer else {
        panic!("not waited for: {:?}", decision.answer)
    };
    let reason = progress.reason.as_deref();
    assert_eq!(reason, Some("paused: taint example.org/new"));
    assert_eq!(decision.mark, None, "its health check stays off");
    scene.node().ready = false;
    assert_eq!(held(&scene.decide()), "NoAnswer", "its status may be old");
}

#[test]
fn unanswering_node_is_held_at_the_deadline_until_it_answers() {
    let mut scene = scene().asked();
    scene.now = NOW + 299;
    let decision = scene.decide();
    assert!(matches!(decision.answer, Answer::Working(_)));
    assert_eq!(
        decision.again,
        Some(2),
        "looked at again just after the deadline"
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

/// A node reports by itself which phases it reached, and when.
#[test]
fn a_node_that_reaches_phases_without_end_is_stalled_in_the_end() {
    let mut scene = scene().asked().answered(NodeAnswer::InProgress, "Trial");
    let mut is_stalled = |hours: i64| {
        scene.now = NOW + hours * 3600;
        let now = u64::try_from(scene.now).unwrap();
        scene.node().reached.push(now);
        matches!(scene.decide().answer, Answer::Held(Why::Stalled { .. }))
    };
    assert!(
        (1..8).all(|hours| !is_stalled(hours)),
        "an upgrade may be slow"
    );
    assert!((8..24).all(is_stalled));
}

#[test]
fn an_agent_that_does_not_name_the_request_is_named_itself() {
    let mut unreadable = scene().asked();
    unreadable.node().reply.unreadable = true;
    assert_eq!(held(&unreadable.decide()), "AgentUnfit");
    let mut nameless = scene().asked();
    nameless.node().reply.answer = Some(NodeAnswer::InProgress);
    assert_eq!(held(&nameless.decide()), "AgentUnfit");
}

#[test]
fn agent_that_ends_without_naming_the_request_is_unfit() {
    for answer in [NodeAnswer::Upgraded, NodeAnswer::Failed] {
        let mut nameless = scene().asked().answered(answer, "Upgraded");
        nameless.node().reply.status.as_mut().unwrap().id = None;
        let mut without_status = nameless.node.clone().unwrap();
        without_status.reply.status = None;
        for node in [nameless.node.clone().unwrap(), without_status] {
            nameless.node = Some(node);
            nameless.now = NOW;
            let early = nameless.decide().answer;
            assert!(
                matches!(early, Answer::Working(_)),
                "it may be one to an earlier request: {early:?}"
            );
            nameless.now = NOW + 300;
            assert_eq!(held(&nameless.decide()), "AgentUnfit", "{answer:?}");
        }
    }
}

#[test]
fn machine_of_a_missing_node_regains_its_health_check() {
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

/// The Machine's Node is created again, for another machine.
#[test]
fn work_of_another_machines_node_keeps_no_mark() {
    let mut scene = scene().asked().answered(NodeAnswer::InProgress, "Trial");
    scene.node().provider_id = Some("site://other".into());
    scene.now = NOW + 90;
    let decision = scene.decide();
    assert_eq!(
        (held(&decision).as_str(), decision.mark),
        ("NodeMismatch", Some(MarkWrite::Off))
    );
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
    scene.node().reply.status.as_mut().unwrap().reason =
        Some("drain: PodDisruptionBudget web does not allow evicting".into());
    assert_eq!(
        scene.decide().answer.message(),
        "Deployed, 40 %: drain: PodDisruptionBudget web does not allow evicting"
    );
}

#[test]
fn failure_class_is_from_a_closed_list_for_any_node_code() {
    let mut scene = scene().asked().answered(NodeAnswer::Failed, "Failed");
    scene.node().reply.status.as_mut().unwrap().code = Some("MadeUpByTheNode".into());
    let answer = scene.decide().answer;
    assert_eq!(
        (answer.code().as_str(), answer.class()),
        ("MadeUpByTheNode", "Failed")
    );
}

/// The Machine once its node's time is over, and when the node continues after all.
fn health_checks_come_back(mut scene: Scene, limit: i64, code: &str) -> Scene {
    scene.now = NOW + limit;
    let late = scene.decide();
    assert_eq!(held(&late), code);
    scene.carry_out(&late);
    assert!(!scene.machine.skips_remediation, "{code}");
    assert!(
        scene.machine.mark.is_some(),
        "{code}: it is still waited for"
    );
    let again = scene.decide();
    assert_eq!(
        (held(&again).as_str(), again.mark),
        (code, None),
        "written once"
    );
    scene
}

#[test]
fn overdue_node_regains_its_health_check_until_it_proceeds() {
    let silent = health_checks_come_back(scene().asked(), 300, "NoAnswer");
    let works = silent.answered(NodeAnswer::InProgress, "Fetched");
    let stuck = scene().asked().answered(NodeAnswer::InProgress, "Trial");
    let mut moves = health_checks_come_back(stuck, 7200, "Stalled");
    moves.node().reached.push(NOW.unsigned_abs() + 7200);
    let unready = || {
        let mut scene = scene().upgraded();
        scene.node().ready = false;
        scene
    };
    let mut is_ready = health_checks_come_back(unready(), 7200, "Unverified");
    is_ready.node().ready = true;
    for mut scene in [works, moves] {
        let decision = scene.decide();
        assert!(matches!(decision.answer, Answer::Working(_)));
        scene.carry_out(&decision);
        assert!(scene.machine.skips_remediation);
    }
    let done = is_ready.decide();
    assert_eq!(
        (done.answer, done.mark),
        (Answer::Done, Some(MarkWrite::Off))
    );
}

#[test]
fn machine_of_a_long_unfit_agent_regains_its_health_check() {
    let mut unreadable = scene().asked();
    unreadable.node().reply.unreadable = true;
    health_checks_come_back(unreadable, 300, "AgentUnfit");
}

#[test]
fn foreign_skip_remediation_annotation_outlives_the_deadline() {
    let mut scene = scene().asked();
    scene.machine.mark.as_mut().unwrap().skip_is_ours = false;
    scene.now = NOW + 300;
    let decision = scene.decide();
    assert_eq!(
        (held(&decision).as_str(), decision.mark),
        ("NoAnswer", None)
    );
}

#[test]
fn time_in_which_an_api_server_was_away_is_held_against_nobody() {
    let mut silent = scene().asked();
    (silent.now, silent.seen) = (NOW + 1000, NOW + 990);
    assert!(matches!(silent.decide().answer, Answer::Working(_)));
    assert_eq!(silent.decide().again, Some(291));
    silent.now = NOW + 1290;
    assert_eq!(held(&silent.decide()), "NoAnswer");
    let mut works = scene().asked().answered(NodeAnswer::InProgress, "Trial");
    (works.now, works.seen) = (NOW + 7200, NOW + 7000);
    assert!(matches!(works.decide().answer, Answer::Working(_)));
    works.now = NOW + 7000 + 7200;
    assert_eq!(held(&works.decide()), "Stalled");
}

/// While its API server hangs, nobody knows whether the node has answered: connections stay open,
/// and nothing arrives.
#[test]
fn node_is_not_silent_or_stalled_before_its_api_server_is_heard() {
    let works = scene().asked().answered(NodeAnswer::InProgress, "Trial");
    for (mut scene, limit, code) in [(scene().asked(), 300, "NoAnswer"), (works, 7200, "Stalled")] {
        (scene.now, scene.heard) = (NOW + limit + 20, Some(NOW + limit - 1));
        let decision = scene.decide();
        assert!(matches!(decision.answer, Answer::Working(_)), "{code}");
        assert_eq!(decision.mark, None, "its health check stays off");
        assert_eq!(decision.again, Some(10), "it is looked for a sign of life");
        scene.heard = Some(NOW + limit);
        assert_eq!(held(&scene.decide()), code);
    }
}

#[test]
fn absence_does_not_restart_the_time_limit_of_a_released_node() {
    for (scene, limit, code) in [
        (scene().asked(), 300, "NoAnswer"),
        (
            scene().asked().answered(NodeAnswer::InProgress, "Trial"),
            7200,
            "Stalled",
        ),
    ] {
        let mut scene = health_checks_come_back(scene, limit, code);
        (scene.now, scene.seen) = (NOW + limit + 60, NOW + limit + 60);
        let decision = scene.decide();
        assert_eq!((held(&decision).as_str(), decision.mark), (code, None));
    }
}

/// The mark was written before the management API became unreachable, and the request only after it
/// was back.
#[test]
fn request_written_long_after_its_mark_is_marked_again() {
    let mut scene = scene().asked().taken_back();
    scene.now = NOW + 300;
    let decision = scene.decide();
    assert!(requests(&decision));
    scene.carry_out(&decision);
    assert!(matches!(&scene.machine.mark, Some(mark) if mark.since == scene.now));
}
