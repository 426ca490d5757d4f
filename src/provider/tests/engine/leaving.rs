//! Cancelled, withdrawn, paused, deleted: the provider withdraws its request, and removes what it
//! put on the Machine.

use provider::engine::{Answer, MarkWrite, NodeWrite, Why};
use upgrade::report::Answer as NodeAnswer;

use crate::scene::*;

/// Seconds after which a request is no longer in transit.
const LANDED: i64 = 90;

type Way = (&'static str, fn(&mut Scene));

fn cancelled_ways() -> [Way; 3] {
    [
        ("withdrawn", |scene| scene.road = Asked::No),
        ("deleted", |scene| scene.machine.deleting = true),
        ("paused", |scene| scene.paused = Some("Cluster c")),
    ]
}

#[test]
fn cancel_withdraws_a_request_before_trial_and_keeps_the_mark() {
    for (way, leave) in cancelled_ways() {
        for scene in [
            scene().asked(),
            scene().asked().answered(NodeAnswer::InProgress, "Fetched"),
        ] {
            let mut scene = scene;
            leave(&mut scene);
            let decision = scene.decide();
            assert_eq!(
                (decision.node, decision.mark),
                (Some(NodeWrite::Withdraw), None),
                "{way}"
            );
        }
    }
}

#[test]
fn once_the_node_rests_the_mark_goes_whatever_the_end() {
    for (way, leave) in cancelled_ways() {
        for (answer, phase) in [
            (NodeAnswer::Failed, "Failed"),
            (NodeAnswer::Upgraded, "Upgraded"),
        ] {
            let mut scene = scene().asked().answered(answer, phase);
            leave(&mut scene);
            let decision = scene.decide();
            assert_eq!(
                (decision.node, decision.mark),
                (None, Some(MarkWrite::Off)),
                "{way} {phase}"
            );
        }
    }
}

#[test]
fn cancelled_node_in_trial_keeps_its_mark_while_it_works() {
    for (way, leave) in cancelled_ways() {
        let scene = scene().asked().answered(NodeAnswer::InProgress, "Trial");
        let mut scene = scene.taken_back();
        leave(&mut scene);
        let decision = scene.decide();
        assert_eq!((decision.node, decision.mark), (None, None), "{way}");
    }
}

#[test]
fn cancelled_machine_without_a_node_regains_its_health_check() {
    for (way, leave) in cancelled_ways() {
        let mut scene = scene().asked();
        leave(&mut scene);
        scene.node = None;
        assert_eq!(scene.decide().mark, Some(MarkWrite::Off), "{way}");
    }
}

#[test]
fn cancel_during_an_outage_withdraws_when_the_cluster_returns() {
    for (way, leave) in cancelled_ways() {
        let mut scene = scene().asked();
        leave(&mut scene);
        scene.away = Some("no route");
        let frozen = scene.decide();
        assert_eq!((frozen.node, frozen.mark), (None, None), "{way}");
        scene.away = None;
        assert_eq!(scene.decide().node, Some(NodeWrite::Withdraw), "{way}");
    }
}

/// The provider reported "done", and core believed it.
#[test]
fn node_cordoned_right_after_done_still_counts_as_upgraded() {
    let mut scene = scene().upgraded();
    scene.road = Asked::No;
    for (ready, cordoned) in [(true, true), (false, false)] {
        let node = scene.node.as_mut().unwrap();
        (node.ready, node.cordoned) = (ready, cordoned);
        assert_eq!(scene.decide().answer, Answer::Done);
    }
    scene.node.as_mut().unwrap().kubelet = "v1.0.0".into();
    assert_eq!(scene.decide().answer, Answer::Cancelled(Why::Withdrawn));
}

/// Core removes its annotations because of the provider's "done". The replica that reported it may
/// have died before it told the InfraMachine.
#[test]
fn node_upgraded_before_the_withdrawal_is_reported_as_done() {
    let mut scene = scene().upgraded();
    scene.road = Asked::No;
    let decision = scene.decide();
    assert_eq!(
        (decision.answer, decision.node, decision.mark),
        (Answer::Done, None, Some(MarkWrite::Off))
    );
    scene.node().kubelet = OLD.into();
    let lie = scene.decide();
    assert_eq!(
        (lie.answer, lie.mark),
        (Answer::Cancelled(Why::Withdrawn), Some(MarkWrite::Off)),
        "the agent's word alone is not believed here either"
    );
}

#[test]
fn somebody_elses_request_is_never_taken_back() {
    let mut scene = scene().asked();
    scene.node().id = Some("by-hand".into());
    scene.road = Asked::No;
    scene.now = NOW + LANDED;
    let decision = scene.decide();
    assert_eq!((decision.node, decision.mark), (None, Some(MarkWrite::Off)));
}

#[test]
fn nothing_is_taken_back_on_a_node_of_another_machine() {
    for (way, leave) in cancelled_ways() {
        let mut scene = scene().asked();
        leave(&mut scene);
        scene.node().provider_id = Some("site://other".into());
        scene.now = NOW + LANDED;
        let decision = scene.decide();
        assert_eq!(
            (decision.node, decision.mark),
            (None, Some(MarkWrite::Off)),
            "{way}"
        );
    }
}

/// One replica writes the mark and dies while its request is in transit. Another one cancels
/// meanwhile.
#[test]
fn request_landing_after_a_cancel_finds_the_mark_and_withdraws() {
    for (way, leave) in cancelled_ways() {
        let mut scene = scene().asked().taken_back();
        leave(&mut scene);
        scene.now = NOW + LANDED - 1;
        let decision = scene.decide();
        assert_eq!((decision.node, decision.mark), (None, None), "{way}");
        assert_eq!(decision.again, Some(2), "{way}: looked at when it is late");
        let landed = scene.asked();
        assert_eq!(landed.decide().node, Some(NodeWrite::Withdraw), "{way}");
        let mut late = landed.taken_back();
        late.now = NOW + LANDED;
        assert_eq!(late.decide().mark, Some(MarkWrite::Off), "{way}");
    }
}

/// Another replica's clock may be ahead, or this clock may have been set back since. Neither ends
/// the time in which a request may arrive.
#[test]
fn a_mark_of_a_moment_that_is_yet_to_come_is_a_young_one() {
    for (way, leave) in cancelled_ways() {
        let mut scene = scene().asked().taken_back();
        leave(&mut scene);
        for ahead in [1, LANDED] {
            scene.now = NOW - ahead;
            let decision = scene.decide();
            assert_eq!((decision.node, decision.mark), (None, None), "{way}");
            let again = u64::try_from(ahead + LANDED + 1).ok();
            assert_eq!(decision.again, again, "{way}: then it is late");
        }
    }
}

#[test]
fn mark_of_the_far_future_is_renewed_and_expires() {
    for (way, leave) in cancelled_ways() {
        let mut scene = scene().asked().taken_back();
        leave(&mut scene);
        scene.now = NOW - LANDED - 1;
        let decision = scene.decide();
        assert_eq!(decision.again, Some(91), "{way}");
        scene.carry_out(&decision);
        assert!(scene.machine.skips_remediation, "{way}");
        assert_eq!(scene.decide().mark, None, "{way}: written once");
        scene.now += LANDED;
        assert_eq!(scene.decide().mark, Some(MarkWrite::Off), "{way}");
    }
}

/// Otherwise nobody would restore its health check before that future time.
#[test]
fn mark_dated_in_the_future_expires_one_limit_from_now() {
    let asked = scene().asked().answered(NodeAnswer::InProgress, "Fetched");
    let mut untold = scene().asked().answered(NodeAnswer::InProgress, "Fetched");
    untold.road = Asked::Untold;
    for mut scene in [asked, untold] {
        scene.machine.mark.as_mut().unwrap().since = i64::MAX;
        let decision = scene.decide();
        scene.carry_out(&decision);
        assert_eq!(scene.decide().mark, None, "written once");
        scene.now += 7200;
        let decision = scene.decide();
        scene.carry_out(&decision);
        assert!(!scene.machine.skips_remediation);
    }
}

#[test]
fn held_machine_keeps_its_mark_while_its_request_may_land() {
    let mut scene = scene().asked().taken_back();
    scene.wanted.image = Err(Why::NoImage {
        version: NEW.into(),
        machine: "Machine m".into(),
    });
    assert_eq!(scene.decide().mark, None);
    scene.now = NOW + LANDED;
    assert_eq!(scene.decide().mark, Some(MarkWrite::Off));
}

/// Withdrawn, requested again, and withdrawn again before the agent has looked.
#[test]
fn old_withdrawal_answer_does_not_apply_to_a_renewed_request() {
    for (way, leave) in cancelled_ways() {
        let mut scene = scene().asked().withdrawn();
        leave(&mut scene);
        let decision = scene.decide();
        assert_eq!(
            (decision.node, decision.mark),
            (Some(NodeWrite::Withdraw), None),
            "{way}"
        );
    }
}

/// The replica that wrote the mark for a new image died before it wrote the request. The Node still
/// has the old one.
#[test]
fn cancel_withdraws_any_request_that_has_our_prefix() {
    for (way, leave) in cancelled_ways() {
        for (answer, expected) in [
            (None, Some(NodeWrite::Withdraw)),
            (Some("capi-earlier"), Some(NodeWrite::Withdraw)),
        ] {
            let mut scene = scene().asked();
            scene.node().id = Some("capi-earlier".into());
            if let Some(id) = answer {
                scene = scene.answered_to(id, NodeAnswer::InProgress, "Fetched");
            }
            scene.now = NOW + LANDED;
            leave(&mut scene);
            let decision = scene.decide();
            assert_eq!((decision.node, decision.mark), (expected, None), "{way}");
        }
        let scene = scene().asked().taken_back();
        let mut works = scene.answered_to("capi-earlier", NodeAnswer::InProgress, "Trial");
        works.now = NOW + LANDED;
        leave(&mut works);
        assert_eq!(works.decide().mark, None, "{way}: it goes on to its end");
    }
}

#[test]
fn cancelled_node_that_never_ends_regains_its_health_check() {
    for (way, leave) in cancelled_ways() {
        let scene = scene().asked().answered(NodeAnswer::InProgress, "Trial");
        let mut scene = scene.taken_back();
        leave(&mut scene);
        scene.now = NOW + 7200;
        let decision = scene.decide();
        scene.carry_out(&decision);
        assert!(!scene.machine.skips_remediation, "{way}");
        assert!(scene.machine.mark.is_some(), "{way}: its end is waited for");
    }
}

/// The successor hears of a Machine only when core calls for it. Core may be gone, or may no longer
/// know the provider.
#[test]
fn idle_node_regains_its_health_check_when_core_is_silent() {
    let gone = || {
        let mut scene = scene().asked();
        scene.node = None;
        scene
    };
    let others = || {
        let mut scene = scene().asked().answered(NodeAnswer::InProgress, "Trial");
        scene.node().provider_id = Some("site://other".into());
        scene
    };
    let ended = |answer| scene().asked().answered(answer, "Upgraded");
    for mut scene in [
        ended(NodeAnswer::Upgraded),
        ended(NodeAnswer::Failed),
        gone(),
        others(),
    ] {
        scene.road = Asked::Untold;
        // Its mark is old, and the provider is new.
        (scene.now, scene.seen) = (NOW + 10_000, NOW + 9_900);
        let early = scene.decide();
        assert_eq!((early.mark.clone(), early.again), (None, Some(201)));
        scene.now = NOW + 10_200;
        let late = scene.decide();
        scene.carry_out(&late);
        assert_eq!((late.answer, late.node), (Answer::Untold, None));
        assert!(!scene.machine.skips_remediation);
        assert!(scene.machine.mark.is_some(), "core may come back");
        assert_eq!(scene.decide().mark, None, "written once");
    }
}

#[test]
fn working_node_stays_protected_to_its_limit_if_core_is_silent() {
    let mut scene = scene().asked().answered(NodeAnswer::InProgress, "Trial");
    scene.road = Asked::Untold;
    scene.now = NOW + 7199;
    let decision = scene.decide();
    assert_eq!((decision.mark, decision.again), (None, Some(2)));
    scene.now = NOW + 7200;
    let decision = scene.decide();
    scene.carry_out(&decision);
    assert!(!scene.machine.skips_remediation && scene.machine.mark.is_some());
    scene.road = Asked::Yes;
    scene.node().reached.push(NOW.unsigned_abs() + 7200);
    let decision = scene.decide();
    scene.carry_out(&decision);
    assert!(scene.machine.skips_remediation, "and when core is back");
}

#[test]
fn a_machine_that_nobody_asks_about_is_left_alone() {
    let mut scene = scene();
    scene.road = Asked::No;
    let decision = scene.decide();
    assert_eq!(
        (decision.answer, decision.node, decision.mark),
        (Answer::Idle, None, None)
    );
}

#[test]
fn machine_is_asked_again_despite_an_old_withdrawal_answer() {
    let scene = scene().withdrawn();
    assert!(requests(&scene.decide()));
    let stands = scene.asked();
    assert!(
        matches!(stands.decide().answer, Answer::Working(_)),
        "until the agent looks"
    );
}

#[test]
fn a_damaged_mark_comes_off() {
    let mut scene = scene();
    scene.road = Asked::No;
    scene.machine.mark = Some(provider::engine::Mark {
        skip_is_ours: true,
        ..Default::default()
    });
    assert_eq!(scene.decide().mark, Some(MarkWrite::Off));
}
