//! What a question for a plan is answered with.
#![allow(clippy::unwrap_used, clippy::panic)]

mod scene;

use std::collections::BTreeSet;

use scene::*;
use upgrade::plan::*;
use upgrade::*;

fn image(letter: char) -> String {
    format!("ostree:careen:os@{} q1", digest(letter))
}

fn asks(asked: &str, seen: &Observation) -> Turn {
    turn(asked, &Ok(Record::default()), seen, &Ok(Policy::default()))
}

fn refused(turn: Turn) -> String {
    match turn {
        Turn::Answer(plan) => plan.code.unwrap(),
        Turn::Look(look) => panic!("{look:?}"),
    }
}

fn found() -> Found {
    Found {
        facts: facts('b'),
        kernel: Some("6.1".into()),
        packages: vec![],
        fetch_bytes: None,
        etc_conflicts: vec![],
        etc_refusal: None,
        kept_goes: false,
    }
}

fn package(number: usize) -> Package {
    Package {
        name: format!("package-{number}"),
        change: Change {
            from: Some("1.0".into()),
            to: Some("2.0".into()),
        },
        bytes: i64::try_from(number).unwrap() - 500,
    }
}

/// The answer about image `b`.
fn answered(found: Found, pods: Pods) -> Plan {
    answered_by(&Policy::default(), found, pods)
}

fn answered_by(policy: &Policy, found: Found, pods: Pods) -> Plan {
    answered_on(&quiet(), policy, found, pods)
}

fn answered_on(seen: &Observation, policy: &Policy, found: Found, pods: Pods) -> Plan {
    let asked = image('b');
    let Turn::Look(look) = asks(&asked, seen) else {
        panic!()
    };
    let case = Case {
        asked: &asked,
        look: &look,
        record: &Record::default(),
        seen,
        policy,
    };
    answer(&case, found, pods)
}

#[test]
fn an_image_that_may_be_asked_for_is_looked_at() {
    let Turn::Look(look) = asks(&image('b'), &quiet()) else {
        panic!()
    };
    assert_eq!(look.target.commit, Some(digest('b')));
    assert!(!look.kept);
}

#[test]
fn what_is_kept_is_looked_at_where_it_lies() {
    let kept = Deployment {
        pinned: true,
        ..deployment('b')
    };
    let seen = Observation {
        deployments: vec![deployment('a'), kept],
        ..quiet()
    };
    let Turn::Look(look) = asks("kept: q1", &seen) else {
        panic!()
    };
    assert_eq!((look.target.commit, look.kept), (Some(digest('b')), true));
    assert_eq!(refused(asks("kept: q1", &quiet())), "NothingKept");
}

#[test]
fn the_image_that_runs_is_answered_at_once() {
    let Turn::Answer(plan) = asks(&image('a'), &quiet()) else {
        panic!()
    };
    assert_eq!((plan.code, plan.commit), (None, Some(digest('a'))));
}

#[test]
fn a_request_that_would_be_refused_is_not_looked_at() {
    let loader = Err(Reason::LoaderUnfit { detail: "x".into() });
    let unfit = Observation { loader, ..quiet() };
    assert_eq!(refused(asks(&image('b'), &unfit)), "LoaderUnfit");
    let policy = Policy {
        remotes: vec!["ours".into()],
        ..Policy::default()
    };
    let read = Ok(Record::default());
    let told = turn(&image('b'), &read, &quiet(), &Ok(policy));
    assert_eq!(refused(told), "RemoteNotAllowed");
    let broken = Broken::from(Reason::BadPolicy {
        file: "policy.toml".into(),
        line: 1,
        column: 1,
        detail: "x".into(),
    });
    let told = turn(&image('b'), &read, &quiet(), &Err(broken));
    assert_eq!(refused(told), "BadPolicy");
}

#[test]
fn a_node_that_is_kept_out_says_so_to_a_plan_too() {
    let kept_out = Observation {
        opted_out: Some("holds the only GPU".into()),
        ..quiet()
    };
    assert_eq!(refused(asks(&image('b'), &kept_out)), "OptedOut");
}

#[test]
fn a_node_without_the_watchdog_that_its_policy_demands_says_so_to_a_plan_too() {
    let found = "none".into();
    let bare = Observation {
        watchdog: Err(Reason::NoWatchdog { found }),
        ..quiet()
    };
    let policy = Policy {
        require_watchdog: true,
        ..Policy::default()
    };
    let told = turn(&image('b'), &Ok(Record::default()), &bare, &Ok(policy));
    assert_eq!(refused(told), "NoWatchdog");
}

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

#[test]
fn nonsense_is_answered_and_the_answer_is_known_for_its_own() {
    for asked in ["docker://x", "", "ostree:a:b a/b", &"x".repeat(100_000)] {
        let Turn::Answer(plan) = asks(asked, &quiet()) else {
            panic!("{asked}")
        };
        assert_eq!(plan.code.as_deref(), Some("BadRequest"));
        assert!(answers(&plan, asked));
        assert!(serde_json::to_string(&plan).unwrap().len() < BYTES);
    }
}

#[test]
fn an_upgrade_under_way_comes_first() {
    for phase in phases() {
        let open = !phase.is_end();
        let read = Ok(upgrade_in(phase.clone()));
        let told = turn(&image('c'), &read, &quiet(), &Ok(Policy::default()));
        match told {
            Turn::Answer(plan) => assert_eq!((plan.code.as_deref(), open), (Some("Busy"), true)),
            Turn::Look(_) => assert!(!open, "{phase:?}"),
        }
    }
}

#[test]
fn a_record_that_cannot_be_read_is_the_answer() {
    let read = Err(Reason::RecordDamaged { detail: "x".into() });
    let told = turn(&image('b'), &read, &quiet(), &Ok(Policy::default()));
    assert_eq!(refused(told), "RecordDamaged");
}

#[test]
fn a_good_image_is_told_with_what_changes_and_no_reason() {
    let plan = answered(found(), Pods::default());
    assert_eq!((plan.code, plan.reason), (None, None));
    let kubelet = plan.kubelet.unwrap();
    assert_eq!(kubelet.from.as_deref(), Some("v1.35.4"));
    assert_eq!(kubelet.to.as_deref(), Some("v1.36.3"));
    assert_eq!(plan.kernel.unwrap().to.as_deref(), Some("6.12"));
    let places: Vec<_> = plan.room.iter().map(|room| room.place.as_str()).collect();
    assert_eq!(places, ["/", "/boot"]);
}

#[test]
fn an_image_that_would_be_refused_is_told_with_the_reason_and_all_the_same_with_what_changes() {
    let mut unfit = found();
    unfit.facts.info.as_mut().unwrap().kubernetes = "v1.37.0".parse().unwrap();
    let plan = answered(unfit, Pods::default());
    assert_eq!(plan.code.as_deref(), Some("NewerThanApiServer"));
    assert!(plan.kubelet.is_some());
    let full = Found {
        facts: ImageFacts {
            boot: Room { need: 2, free: 1 },
            ..facts('b')
        },
        ..found()
    };
    assert_eq!(
        answered(full, Pods::default()).code.as_deref(),
        Some("NoRoom")
    );
    let etc = Found {
        etc_refusal: Some(Reason::EtcMerge { detail: "x".into() }),
        ..found()
    };
    assert_eq!(
        answered(etc, Pods::default()).code.as_deref(),
        Some("EtcMerge")
    );
}

#[test]
fn an_answer_fits_and_leaves_out_the_smallest_changes_first() {
    let many = Found {
        packages: (0..1000).map(package).collect(),
        etc_conflicts: (0..100)
            .map(|number| format!("/etc/{number}\"{}", "x".repeat(4000)))
            .collect(),
        ..found()
    };
    let pods = Pods {
        moving: vec!["p".repeat(300); 500],
        blocked: vec![
            Blocked {
                pod: "p".repeat(300),
                by: "b".repeat(300),
            };
            500
        ],
    };
    let paused = Observation {
        paused: Some("\u{1}".repeat(100_000)),
        ..quiet()
    };
    let plan = answered_on(&paused, &Policy::default(), many, pods);
    let length = serde_json::to_string(&plan).unwrap().len();
    assert!(length <= BYTES, "{length}");
    assert!(!plan.packages.is_empty());
    assert_eq!(plan.packages.len() + plan.packages_left_out as usize, 1000);
    assert!(plan.packages[0].bytes.unsigned_abs() >= 499);
    assert!(plan.etc_conflicts_left_out > 0 && plan.moving_left_out > 0);
}

#[test]
fn few_packages_are_all_told() {
    let few = Found {
        packages: (0..20).map(package).collect(),
        ..found()
    };
    let plan = answered(few, Pods::default());
    assert_eq!((plan.packages.len(), plan.packages_left_out), (20, 0));
}

#[test]
fn an_image_that_turns_out_to_be_the_one_that_runs_changes_nothing() {
    let mut found = found();
    found.facts = facts('a');
    found.fetch_bytes = Some(7);
    let pods = Pods {
        moving: vec!["web/one".into()],
        ..Pods::default()
    };
    let plan = answered(found, pods);
    assert_eq!((plan.code, plan.fetch_bytes), (None, Some(7)));
    assert!(plan.moving.is_empty() && plan.room.is_empty());
}

#[test]
fn an_image_that_turns_out_to_be_one_that_failed_here_is_told_as_the_upgrade_would_tell_it() {
    let asked = "ostree:careen:os q1";
    let Turn::Look(look) = asks(asked, &quiet()) else {
        panic!()
    };
    let seen = quiet();
    let case = |record: &Record, asked: &str| {
        let policy = Policy::default();
        let case = Case {
            asked,
            look: &look,
            record,
            seen: &seen,
            policy: &policy,
        };
        answer(&case, found(), Pods::default()).code
    };
    let mut record = Record::default();
    record.remember_bad(upgrade::record::BadImage {
        digest: digest('b'),
        because: "Unhealthy".into(),
        id: "u1".parse().unwrap(),
        asked_again: false,
    });
    let bad = Some("RememberedBad");
    assert_eq!(case(&record, "ostree:careen:os").as_deref(), bad);
    assert_eq!(case(&record, "ostree:careen:os u1").as_deref(), bad);
    // Another id is asking again.
    assert_eq!(case(&record, "ostree:careen:os u2"), None);
}

/// A plan with everything in it. A new field does not compile without a value.
fn full() -> Plan {
    let some = || Some("x".to_owned());
    let change = Some(Change {
        from: some(),
        to: some(),
    });
    Plan {
        asked: image('b'),
        at: WALL,
        code: some(),
        reason: some(),
        commit: Some(digest('b')),
        kubelet: change.clone(),
        kernel: change,
        packages: vec![package(1)],
        packages_left_out: 1,
        fetch_bytes: Some(1),
        etc_conflicts: vec!["/etc/x".to_owned()],
        etc_conflicts_left_out: 1,
        room: vec![PlaceRoom::default()],
        kept_goes: true,
        moving: vec!["shop/web-1".to_owned()],
        moving_left_out: 1,
        blocked: vec![Blocked::default()],
        expected_seconds: Some(1),
        window_seconds: Some(1),
        opens: some(),
        paused: some(),
    }
}

/// The keys in the first column of the page's table.
fn told() -> BTreeSet<String> {
    let page = scene::page::read("plan.md");
    let cells = page.lines().filter_map(|line| line.strip_prefix("| `"));
    let first = cells.filter_map(|row| row.split(" |").next());
    let keys = first.flat_map(|cell| cell.split(','));
    keys.map(|key| key.trim_matches(['`', ' ']).to_owned())
        .collect()
}

#[test]
fn every_key_of_a_plan_is_on_the_page_about_planning_and_no_other() {
    let full = serde_json::to_value(full()).unwrap();
    let there: BTreeSet<_> = full.as_object().unwrap().keys().cloned().collect();
    assert_eq!(there, told());
}
