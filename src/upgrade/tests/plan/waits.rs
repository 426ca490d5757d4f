//! What an upgrade would wait for.

use upgrade::window::LastBegin;

use super::*;

#[test]
fn a_plan_tells_what_is_left_of_the_hours_while_they_are_open() {
    let left = |hours: &str| {
        let mut policy = Policy::default();
        policy.window.open.push(hours.parse().unwrap());
        answered_by(&policy, found(), Rehearsed::default()).window_seconds
    };
    // It is Friday, 08:00.
    assert_eq!(left("Fri 07:00-09:30"), Some(5400));
    assert_eq!(left("Fri 22:00-23:00"), None);
    let plan = answered(found(), Rehearsed::default());
    assert_eq!(plan.window_seconds, None);
}

#[test]
fn a_plan_tells_when_the_hours_open_that_are_closed() {
    let opens = |hours: &str| {
        let mut policy = Policy::default();
        policy.window.open.push(hours.parse().unwrap());
        let plan = answered_by(&policy, found(), Rehearsed::default());
        assert_eq!(plan.code, None, "an upgrade would wait, not be refused");
        plan.opens
    };
    // It is Friday, 08:00.
    assert_eq!(opens("Fri 22:00-23:00").as_deref(), Some("Fri 22:00 UTC"));
    assert_eq!(opens("Fri 07:00-07:30").as_deref(), Some("Fri 07:00 UTC"));
    assert_eq!(opens("Fri 07:00-09:30"), None);
    assert_eq!(answered(found(), Rehearsed::default()).opens, None);
}

#[test]
fn plan_says_when_a_window_that_is_too_short_opens_again() {
    let told = |hours: &[&str], minutes| {
        let mut policy = Policy::default();
        policy.window.open = hours.iter().map(|text| text.parse().unwrap()).collect();
        policy.window.last_begin = LastBegin::Minutes(minutes);
        let plan = answered_by(&policy, found(), Rehearsed::default());
        assert_eq!(plan.code, None, "an upgrade would wait, not be refused");
        (plan.window_seconds, plan.opens, plan.too_short)
    };
    // It is Friday, 08:00.
    let daily = &["daily 07:00-08:10"];
    assert_eq!(told(daily, 10), (Some(600), None, None));
    let tomorrow = Some("Sat 07:00 UTC".to_owned());
    assert_eq!(told(daily, 11), (Some(600), tomorrow, None));
    let (left, opens, too_short) = told(daily, 71);
    assert_eq!((left, opens), (Some(600), None));
    assert!(
        too_short
            .unwrap()
            .contains("never open for more than 70 min")
    );
    let closed = told(&["Fri 09:00-09:10", "Fri 22:00-23:00"], 30);
    assert_eq!(closed, (None, Some("Fri 22:00 UTC".to_owned()), None));
}

#[test]
fn plan_of_an_unset_clock_says_so_and_tells_no_hours() {
    let unset = quiet().with(|seen| seen.turn.clock_set = false);
    let told = |hours: &[&str], trusted| {
        let mut policy = Policy::default();
        policy.window.open = hours.iter().map(|text| text.parse().unwrap()).collect();
        policy.window.trust_clock = trusted;
        let plan = answered_on(&unset, &policy, found(), Rehearsed::default());
        assert_eq!(plan.code, None, "an upgrade would wait, not be refused");
        (plan.clock_unset.is_some(), plan.window_seconds, plan.opens)
    };
    // It is Friday, 08:00, if the clock is right.
    assert_eq!(told(&["Fri 07:00-09:30"], false), (true, None, None));
    assert_eq!(told(&["Fri 22:00-23:00"], false), (true, None, None));
    assert_eq!(told(&["Fri 07:00-09:30"], true), (false, Some(5400), None));
    assert_eq!(told(&[], false), (false, None, None));
}

#[test]
fn plan_of_a_paused_node_gives_the_pause_reason_and_the_changes() {
    let paused = quiet().with(|seen| seen.node.paused = Some("an audit".into()));
    let policy = Policy::default();
    let plan = answered_on(&paused, &policy, found(), Rehearsed::default());
    assert_eq!(
        (plan.code, plan.paused.as_deref()),
        (None, Some("an audit"))
    );
    assert!(plan.kubelet.is_some());
    assert_eq!(answered(found(), Rehearsed::default()).paused, None);
}
