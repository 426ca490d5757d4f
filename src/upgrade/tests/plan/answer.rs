//! What an image that was looked at changes, and whether it would be refused.

use super::*;

#[test]
fn a_good_image_is_told_with_what_changes_and_no_reason() {
    let plan = answered(found(), Rehearsed::default());
    assert_eq!((plan.code, plan.reason), (None, None));
    let kubelet = plan.kubelet.unwrap();
    assert_eq!(kubelet.from.as_deref(), Some("v1.35.4"));
    assert_eq!(kubelet.to.as_deref(), Some("v1.36.3"));
    assert_eq!(plan.kernel.unwrap().to.as_deref(), Some("6.12"));
    let places: Vec<_> = plan.room.iter().map(|room| room.place.as_str()).collect();
    assert_eq!(places, ["/", "/boot"]);
}

#[test]
fn plan_refuses_a_guardless_image_or_reports_it_as_unguarded() {
    let mut bare = found();
    bare.facts.info.as_mut().unwrap().stage = None;
    let plan = answered(bare.clone(), Rehearsed::default());
    assert_eq!(plan.code.as_deref(), Some("NoStage"));
    let policy = Policy {
        unguarded: true,
        ..Policy::default()
    };
    let plan = answered_by(&policy, bare, Rehearsed::default());
    assert_eq!((plan.code, plan.unguarded), (None, true));
    let guarded = answered_by(&policy, found(), Rehearsed::default());
    assert!(!guarded.unguarded);
}

#[test]
fn plan_refuses_an_image_without_an_agent() {
    let mut bare = found();
    bare.facts.lacks = Box::new(["careen-agent.service".into()]);
    let plan = answered(bare, Rehearsed::default());
    assert_eq!(plan.code.as_deref(), Some("NoAgent"));
    assert!(plan.reason.unwrap().contains("careen-agent.service"));
}

#[test]
fn plan_of_a_refused_image_gives_the_reason_and_the_changes() {
    let mut unfit = found();
    unfit.facts.info.as_mut().unwrap().kubernetes = "v1.37.0".parse().unwrap();
    let plan = answered(unfit, Rehearsed::default());
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
        answered(full, Rehearsed::default()).code.as_deref(),
        Some("NoRoom")
    );
    let etc = Found {
        etc_refusal: Some(Reason::EtcMerge { detail: "x".into() }),
        ..found()
    };
    assert_eq!(
        answered(etc, Rehearsed::default()).code.as_deref(),
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
        accounts: vec!["u".repeat(4000); 100],
        ..found()
    };
    let pods = Rehearsed {
        moving: vec!["p".repeat(300); 500],
        blocked: vec![
            Blocked {
                pod: "p".repeat(300),
                by: "b".repeat(300),
            };
            500
        ],
        returning: vec!["r".repeat(300); 500],
        settings: vec!["s".repeat(300); 500],
        refusal: None,
        control_plane: vec!["c".repeat(300); 500],
    };
    let paused = quiet().with(|seen| seen.node.paused = Some("\u{1}".repeat(100_000).into()));
    let plan = answered_on(&paused, &Policy::default(), many, pods);
    let length = serde_json::to_string(&plan).unwrap().len();
    assert!(length <= BYTES, "{length}");
    assert!(!plan.packages.is_empty());
    assert_eq!(plan.packages.len() + plan.packages_left_out as usize, 1000);
    assert!(plan.packages[0].bytes.unsigned_abs() >= 499);
    assert!(plan.etc_conflicts_left_out > 0 && plan.moving_left_out > 0);
    assert_eq!((plan.accounts.len(), plan.accounts_left_out), (15, 85));
    assert_eq!((plan.blocked.len(), plan.blocked_left_out), (15, 485));
    assert_eq!((plan.returning.len(), plan.returning_left_out), (15, 485));
    assert_eq!(plan.control_plane_left_out, 485);
}

#[test]
fn plan_names_the_pods_that_the_cordon_does_not_keep_off() {
    let pods = Rehearsed {
        moving: vec!["shop/web".into()],
        returning: vec!["shop/web".into()],
        ..Rehearsed::default()
    };
    let plan = answered(found(), pods);
    assert_eq!(plan.returning, ["shop/web"]);
    assert_eq!(plan.code, None, "that is in nobody's way");
    let none = serde_json::to_value(answered(found(), Rehearsed::default())).unwrap();
    for key in ["returning", "returningLeftOut", "blockedLeftOut"] {
        assert!(none.get(key).is_none(), "{key} is quiet");
    }
}

#[test]
fn few_packages_are_all_told() {
    let few = Found {
        packages: (0..20).map(package).collect(),
        ..found()
    };
    let plan = answered(few, Rehearsed::default());
    assert_eq!((plan.packages.len(), plan.packages_left_out), (20, 0));
}

#[test]
fn plan_for_the_running_image_reports_no_changes() {
    let mut found = found();
    found.facts = facts('a');
    found.fetch_bytes = Some(7);
    let pods = Rehearsed {
        moving: vec!["web/one".into()],
        ..Rehearsed::default()
    };
    let plan = answered(found, pods);
    assert_eq!((plan.code, plan.fetch_bytes), (None, Some(7)));
    assert!(plan.moving.is_empty() && plan.room.is_empty());
}

/// What is answered about image `b` where it has failed here before.
fn after_a_failure(asked: &str) -> Plan {
    let Response::Look(look) = asks("ostree:careen:os q1", &quiet()) else {
        panic!()
    };
    let mut record = upgrade_in(Phase::Failed {
        reason: Reason::Unhealthy {
            check: "the container runtime".into(),
            detail: "no answer".into(),
            seconds: 600,
            cause: Cause::Image,
        },
    });
    // It ends here, and is remembered.
    record = next(&quiet(), &record).0;
    let case = Case {
        asked,
        look: &look,
        record: &record,
        seen: &quiet(),
        policy: &Policy::default(),
    };
    answer(&case, found(), Rehearsed::default())
}

#[test]
fn a_failure_that_is_remembered_is_told_whoever_asks() {
    for asked in ["ostree:careen:os u1", "ostree:careen:os u2"] {
        let before = after_a_failure(asked).failed_before.unwrap();
        assert_eq!(before.code, "Unhealthy");
        let reason = before.reason.unwrap();
        assert!(reason.contains("the container runtime"), "{reason}");
    }
    let code = after_a_failure("ostree:careen:os u2").code;
    assert_eq!(code, None, "another id asks again, and is taken");
    assert_eq!(answered(found(), Rehearsed::default()).failed_before, None);
}

#[test]
fn plan_refuses_a_remembered_bad_image_unless_asked_by_a_new_id() {
    let asked = "ostree:careen:os q1";
    let Response::Look(look) = asks(asked, &quiet()) else {
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
        answer(&case, found(), Rehearsed::default()).code
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

#[test]
fn kubelet_settings_are_listed_and_refused_by_policy() {
    let settings = vec!["maxPods is 42 and would be unset".to_owned()];
    let dropped = Rehearsed {
        settings: settings.clone(),
        ..Rehearsed::default()
    };
    let plan = answered(found(), dropped.clone());
    assert_eq!((plan.settings, plan.code), (settings, None));
    let detail = "maxPods".to_owned();
    let refused = Rehearsed {
        refusal: Some(Reason::KubeletSettings { detail }),
        ..dropped
    };
    let plan = answered(found(), refused);
    assert_eq!(plan.code.as_deref(), Some("KubeletSettings"));
}
