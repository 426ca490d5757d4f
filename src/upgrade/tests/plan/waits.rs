//! What an upgrade would wait for.

use super::*;

#[test]
fn a_plan_tells_what_is_left_of_the_hours_while_they_are_open() {
    let left = |hours: &str| {
        let mut policy = Policy::default();
        policy.window.open.push(hours.parse().unwrap());
        answered_by(&policy, found(), Pods::default()).window_seconds
    };
    // It is Friday, 08:00.
    assert_eq!(left("Fri 07:00-09:30"), Some(5400));
    assert_eq!(left("Fri 22:00-23:00"), None);
    let plan = answered(found(), Pods::default());
    assert_eq!(plan.window_seconds, None);
}

#[test]
fn a_plan_tells_when_the_hours_open_that_are_closed() {
    let opens = |hours: &str| {
        let mut policy = Policy::default();
        policy.window.open.push(hours.parse().unwrap());
        let plan = answered_by(&policy, found(), Pods::default());
        assert_eq!(plan.code, None, "an upgrade would wait, not be refused");
        plan.opens
    };
    // It is Friday, 08:00.
    assert_eq!(opens("Fri 22:00-23:00").as_deref(), Some("Fri 22:00 UTC"));
    assert_eq!(opens("Fri 07:00-07:30").as_deref(), Some("Fri 07:00 UTC"));
    assert_eq!(opens("Fri 07:00-09:30"), None);
    assert_eq!(answered(found(), Pods::default()).opens, None);
}

#[test]
fn a_plan_of_a_paused_node_tells_why_it_is_and_all_the_same_what_changes() {
    let paused = Observation {
        paused: Some("an audit".into()),
        ..quiet()
    };
    let policy = Policy::default();
    let plan = answered_on(&paused, &policy, found(), Pods::default());
    assert_eq!(
        (plan.code, plan.paused.as_deref()),
        (None, Some("an audit"))
    );
    assert!(plan.kubelet.is_some());
    assert_eq!(answered(found(), Pods::default()).paused, None);
}
