//! Nodes that wait for a window, a soak or the end of a pause, for any time. They are not stalled,
//! nor immediately when the wait is over.

use provider::engine::{Answer, Decision, MarkWrite, Why};
use upgrade::reason::Wait;
use upgrade::report::Answer as NodeAnswer;

use crate::scene::*;

const DAY: i64 = 86_400;
const LIMIT: i64 = 7200;

fn at_work() -> Scene {
    scene().asked().answered(NodeAnswer::InProgress, "Deployed")
}

fn waiting_for(wait: Wait) -> Scene {
    let mut scene = at_work();
    scene.node().reply.status.as_mut().unwrap().code = Some(wait.code().to_owned());
    scene
}

fn reached(scene: &mut Scene, at: i64) {
    scene.node().reached.push(at.try_into().unwrap());
}

fn is_stalled(decision: &Decision) -> bool {
    matches!(decision.answer, Answer::Held(Why::Stalled { .. }))
}

#[test]
fn node_waiting_for_a_window_soak_or_pause_is_not_stalled() {
    for wait in [Wait::Window, Wait::Soak, Wait::Pause] {
        let mut scene = waiting_for(wait);
        scene.now = NOW + 3 * DAY;
        assert!(!is_stalled(&scene.decide()), "{wait:?}");
    }
}

#[test]
fn a_node_that_is_held_up_by_anything_else_is() {
    let mut scene = at_work();
    scene.node().reply.status.as_mut().unwrap().code = Some("RemoteAway".to_owned());
    scene.now = NOW + LIMIT;
    assert!(is_stalled(&scene.decide()));
}

#[test]
fn the_time_runs_from_the_last_phase_that_was_reached() {
    let mut scene = at_work();
    reached(&mut scene, NOW + 2 * LIMIT);
    scene.now = NOW + 3 * LIMIT - 1;
    let decision = scene.decide();
    assert!(!is_stalled(&decision));
    assert_eq!(decision.again, Some(2), "looked at just behind the limit");
    scene.now += 1;
    assert!(is_stalled(&scene.decide()));
}

#[test]
fn a_node_whose_clock_runs_ahead_does_not_put_it_off_for_ever() {
    let mut scene = at_work();
    reached(&mut scene, NOW + 100 * DAY);
    scene.now = NOW + LIMIT;
    assert!(is_stalled(&scene.decide()));
}

/// It is still at the phase that it reached before the wait.
#[test]
fn node_has_at_least_half_its_time_limit_left_after_a_wait() {
    let mut scene = waiting_for(Wait::Window);
    reached(&mut scene, NOW);
    while scene.now < NOW + DAY {
        let decision = scene.decide();
        scene.carry_out(&decision);
        scene.now += i64::try_from(decision.again.unwrap()).unwrap();
    }
    scene.node().reply.status.as_mut().unwrap().code = None;
    assert!(!is_stalled(&scene.decide()), "the first moment");
    scene.now += LIMIT / 2 - 60;
    assert!(!is_stalled(&scene.decide()), "an hour later");
    scene.now += LIMIT;
    assert!(is_stalled(&scene.decide()), "but not for ever");
}

#[test]
fn wait_renews_the_mark_hourly_and_keeps_its_skip_ownership() {
    let mut scene = waiting_for(Wait::Soak);
    scene.now = NOW + LIMIT / 2 - 1;
    assert_eq!(scene.decide().mark, None);
    scene.now += 1;
    let decision = scene.decide();
    assert!(
        matches!(&decision.mark, Some(MarkWrite::On(mark)) if mark.since == scene.now && mark.skip_is_ours)
    );
    scene.carry_out(&decision);
    assert_eq!(scene.decide().mark, None);
}
