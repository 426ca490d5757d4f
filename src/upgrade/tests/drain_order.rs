//! In which order pods leave a node.
#![allow(clippy::unwrap_used)]

use upgrade::SinceBoot;
use upgrade::drain_order::{Group, Turn, place};

const fn at(seconds: u64) -> SinceBoot {
    SinceBoot(seconds * 1000)
}

/// Databases after all others, but for what is critical.
fn order() -> Vec<Group> {
    let databases = Group {
        namespaces: vec!["databases".to_owned()],
        priority: None,
        seconds: 120,
    };
    let critical = Group {
        namespaces: vec![],
        priority: Some(1000),
        seconds: 0,
    };
    vec![databases, critical]
}

#[test]
fn ungrouped_pod_leaves_first_and_overlap_takes_the_later_group() {
    let order = order();
    assert_eq!(place(&order, "shop", 0), 0);
    assert_eq!(place(&order, "databases", 0), 1);
    assert_eq!(place(&order, "shop", 1000), 2);
    assert_eq!(place(&order, "databases", 2000), 2);
    assert_eq!(place(&[], "databases", 2000), 0, "without an order");
}

#[test]
fn a_group_with_namespaces_and_a_priority_wants_both() {
    let both = [Group {
        namespaces: vec!["shop".to_owned()],
        priority: Some(5),
        seconds: 0,
    }];
    assert_eq!(place(&both, "shop", 5), 1);
    assert_eq!((place(&both, "shop", 4), place(&both, "bank", 5)), (0, 0));
}

#[test]
fn a_groups_turn_comes_when_all_before_it_are_gone() {
    let (order, mut turn) = (order(), Turn::default());
    turn.go_on(&order, &[0, 1, 2], at(1));
    assert!(turn.has_come_for(0) && !turn.has_come_for(1));
    turn.go_on(&order, &[1, 2], at(60));
    assert!(turn.has_come_for(1) && !turn.has_come_for(2));
    turn.go_on(&order, &[2], at(61));
    assert!(turn.has_come_for(2));
}

#[test]
fn a_group_is_waited_for_no_longer_than_its_time_and_asked_on() {
    let (order, mut turn) = (order(), Turn::default());
    turn.go_on(&order, &[1, 2], at(60));
    turn.go_on(&order, &[1, 2], at(179));
    assert!(!turn.has_come_for(2));
    turn.go_on(&order, &[1, 2], at(180));
    assert!(turn.has_come_for(2) && turn.has_come_for(1));
}

#[test]
fn groups_of_which_there_are_no_pods_hold_nobody_up() {
    let mut turn = Turn::default();
    turn.go_on(&order(), &[2], at(0));
    assert!(turn.has_come_for(2));
}

#[test]
fn ungrouped_pods_hold_the_next_group_until_the_drain_deadline() {
    let mut turn = Turn::default();
    turn.go_on(&order(), &[0, 1], at(100_000));
    assert!(!turn.has_come_for(1));
}
