//! What a requester may ask for, by the branches that the policy names.
#![allow(clippy::unwrap_used, clippy::panic)]

mod scene;

use scene::*;
use upgrade::plan::{Case, Found, Rehearsed, Response, answer, respond};
use upgrade::*;

const REGISTRY: &str = "docker://r.example.com/os@sha256:";

fn only(patterns: &[&str]) -> PolicyRead {
    let mut policy = Policy {
        branches: patterns.iter().map(|&pattern| pattern.into()).collect(),
        ..Policy::default()
    };
    policy.registry.allowed.push("r.example.com".into());
    Ok(policy)
}

fn asking_for(image: &str) -> Observation {
    let kept = Deployment {
        pinned: true,
        kept: true,
        ..deployment('b')
    };
    quiet().with(|seen| {
        seen.node.request = Asked::This(raw(image));
        seen.machine.deployments = vec![held('a'), kept];
    })
}

fn of(branches: &[&str]) -> ImageFacts {
    ImageFacts {
        branches: branches.iter().map(|&branch| branch.into()).collect(),
        ..facts('b')
    }
}

/// Asks for an image whose commit says that it is of these branches, up to the end of its
/// verification.
fn verified(image: &str, branches: &[&str], policy: &PolicyRead) -> Phase {
    let (mut record, mut act) = next_with(&asking_for(image), &Record::default(), policy);
    loop {
        let Act::Begin(step) = act else {
            return record.upgrade.map_or_else(
                || Phase::Failed {
                    reason: record.refused.clone().unwrap().reason,
                },
                |up| up.phase,
            );
        };
        let effect = match &step {
            Step::Fetch { .. } => Effect::Fetched {
                commit: digest('b'),
            },
            Step::Verify { .. } => Effect::Verified(of(branches)),
            _ => return phase_of(&record),
        };
        let seen = asking_for(image)
            .with(|seen| seen.turn.finished = finished(step, Outcome::Done(effect)));
        (record, act) = next_with(&seen, &record, policy);
    }
}

fn refusal(phase: Phase) -> Option<String> {
    match phase {
        Phase::Verified => None,
        Phase::Failed { reason } | Phase::Reverting { reason } => {
            assert_eq!(reason.code(), "BranchNotAllowed");
            Some(reason.to_string())
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_branch_that_no_pattern_allows_is_refused_before_a_fetch() {
    let policy = only(&["site/stable", "lab/*"]);
    for (image, taken) in [
        ("ostree:careen:site/stable", true),
        ("ostree:careen:lab/x", true),
        ("ostree:careen:debug/x", false),
        ("ostree:careen:lab/x/y", false),
    ] {
        let (record, act) = next_with(&asking_for(image), &Record::default(), &policy);
        assert_eq!(begun(&act), taken.then_some("Fetch"), "{image}");
        let refused = record.refused.map(|refused| refused.reason.code());
        assert_eq!(refused.is_some(), !taken, "{image}");
        assert!(refused.is_none_or(|code| code == "BranchNotAllowed"));
    }
}

#[test]
fn an_image_is_held_to_the_branches_that_its_commit_names() {
    let registry = format!("{REGISTRY}{}", digest('e'));
    let policy = only(&["site/*"]);
    for image in ["ostree:careen:site/stable", registry.as_str()] {
        let told = |branches: &[&str]| refusal(verified(image, branches, &policy));
        assert_eq!(told(&["site/stable"]), None);
        assert_eq!(told(&["debug/x", "site/stable"]), None);
        let other = told(&["debug/x"]).unwrap();
        assert!(
            other.contains("debug/x") && other.contains("site/*"),
            "{other}"
        );
        let unsaid = told(&[]).unwrap();
        assert!(unsaid.contains("ostree.ref-binding"), "{unsaid}");
    }
}

#[test]
fn without_patterns_every_branch_is_allowed() {
    for branches in [&[][..], &["debug/x"]] {
        let phase = verified("ostree:careen:debug/x", branches, &only(&[]));
        assert_eq!(phase, Phase::Verified);
    }
}

#[test]
fn kept_system_must_match_the_branches_its_commit_names() {
    let policy = only(&["site/*"]);
    let told = |branches: &[&str]| refusal(verified("kept:", branches, &policy));
    assert_eq!(told(&["site/stable"]), None);
    assert_eq!(told(&[]), None);
    assert!(told(&["debug/x"]).is_some());
}

#[test]
fn a_plan_tells_what_the_upgrade_would_end_with() {
    let policy = only(&["site/*"]).unwrap();
    let asked = format!("{REGISTRY}{}", digest('e'));
    let (seen, record) = (quiet(), Record::default());
    let told = respond(&asked, &Ok(record.clone()), &seen, &Ok(policy.clone()));
    let Response::Look(look) = told else {
        panic!("{told:?}")
    };
    let case = Case {
        asked: &asked,
        look: &look,
        record: &record,
        seen: &seen,
        policy: &policy,
    };
    let found = |branches| Found {
        facts: of(branches),
        kernel: None,
        packages: vec![],
        fetch_bytes: None,
        etc_conflicts: vec![],
        accounts: vec![],
        etc_refusal: None,
        kept_goes: false,
    };
    let code = |branches| answer(&case, found(branches), Rehearsed::default()).code;
    assert_eq!(code(&["site/stable"]), None);
    assert_eq!(code(&["debug/x"]).as_deref(), Some("BranchNotAllowed"));
}
