//! Whether an image is looked at, or the answer is known before.

use super::*;

#[test]
fn an_image_that_may_be_asked_for_is_looked_at() {
    let Response::Look(look) = asks(&image('b'), &quiet()) else {
        panic!()
    };
    assert_eq!(look.target.commit, Some(digest('b')));
    assert!(!look.kept);
}

#[test]
fn what_is_kept_is_looked_at_where_it_lies() {
    let kept = Deployment {
        pinned: true,
        kept: true,
        ..deployment('b')
    };
    let seen = quiet().with(|seen| seen.machine.deployments = vec![held('a'), kept]);
    let Response::Look(look) = asks("kept: q1", &seen) else {
        panic!()
    };
    assert_eq!((look.target.commit, look.kept), (Some(digest('b')), true));
    assert_eq!(refused(asks("kept: q1", &quiet())), "NothingKept");
}

#[test]
fn the_image_that_runs_is_answered_at_once() {
    let Response::Answer(plan) = asks(&image('a'), &quiet()) else {
        panic!()
    };
    assert_eq!((plan.code, plan.commit), (None, Some(digest('a'))));
}

#[test]
fn a_request_that_would_be_refused_is_not_looked_at() {
    let loader = Err(Reason::LoaderUnfit { detail: "x".into() });
    let unfit = quiet().with(|seen| seen.machine.loader = loader);
    assert_eq!(refused(asks(&image('b'), &unfit)), "LoaderUnfit");
    let policy = Policy {
        remotes: vec!["ours".into()],
        ..Policy::default()
    };
    let read = Ok(Record::default());
    let told = respond(&image('b'), &read, &quiet(), &Ok(policy));
    assert_eq!(refused(told), "RemoteNotAllowed");
    let policy = Policy {
        branches: vec!["site/*".into()],
        rollback: false,
        ..Policy::default()
    };
    let policy = Ok(policy);
    let told = respond(&image('b'), &read, &quiet(), &policy);
    assert_eq!(refused(told), "BranchNotAllowed");
    let told = respond("kept: q1", &read, &quiet(), &policy);
    assert_eq!(refused(told), "RollbackOff");
    let registry = format!("docker://r.example.com/os@sha256:{}", digest('e'));
    let told = respond(&registry, &read, &quiet(), &policy);
    assert_eq!(refused(told), "RemoteNotAllowed");
    let broken = Broken::from(Reason::BadPolicy {
        file: "policy.toml".into(),
        line: 1,
        column: 1,
        detail: "x".into(),
    });
    let told = respond(&image('b'), &read, &quiet(), &Err(broken));
    assert_eq!(refused(told), "BadPolicy");
}

#[test]
fn a_node_that_is_kept_out_says_so_to_a_plan_too() {
    let kept_out = quiet().with(|seen| seen.node.opted_out = Some("holds the only GPU".into()));
    assert_eq!(refused(asks(&image('b'), &kept_out)), "OptedOut");
}

#[test]
fn a_node_whose_kubelet_is_owed_its_state_says_so_to_a_plan_too() {
    let owing = quiet().with(|seen| seen.machine.restored = Err(owed()));
    assert_eq!(refused(asks(&image('b'), &owing)), "StateOwed");
}

#[test]
fn plan_is_refused_when_a_check_is_untrusted() {
    let amiss = quiet().with(|seen| seen.machine.checks = Err(untrusted()));
    assert_eq!(refused(asks(&image('b'), &amiss)), "CheckUntrusted");
}

#[test]
fn plan_is_refused_when_local_changes_would_be_lost() {
    let changed = vec!["layered packages (requested): vim".to_owned()];
    let amiss = quiet().with(|seen| seen.machine.local_changes = changed);
    assert_eq!(refused(asks(&image('b'), &amiss)), "LocalChanges");
}

#[test]
fn plan_is_refused_without_the_required_watchdog() {
    let found = "none".into();
    let bare = quiet().with(|seen| seen.machine.watchdog = Err(Reason::NoWatchdog { found }));
    let policy = Policy {
        require_watchdog: true,
        ..Policy::default()
    };
    let told = respond(&image('b'), &Ok(Record::default()), &bare, &Ok(policy));
    assert_eq!(refused(told), "NoWatchdog");
}

#[test]
fn nonsense_is_answered_and_the_answer_is_known_for_its_own() {
    for asked in ["docker://x", "", "ostree:a:b a/b", &"x".repeat(100_000)] {
        let Response::Answer(plan) = asks(asked, &quiet()) else {
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
        let told = respond(&image('c'), &read, &quiet(), &Ok(Policy::default()));
        match told {
            Response::Answer(plan) => {
                assert_eq!((plan.code.as_deref(), open), (Some("Busy"), true))
            }
            Response::Look(_) => assert!(!open, "{phase:?}"),
        }
    }
}

#[test]
fn a_record_that_cannot_be_read_is_the_answer() {
    let read = Err(Reason::RecordDamaged { detail: "x".into() });
    let told = respond(&image('b'), &read, &quiet(), &Ok(Policy::default()));
    assert_eq!(refused(told), "RecordDamaged");
}
