//! An image that was made before the one that runs: refused, for its signature holds as long as its
//! holes do.
#![allow(clippy::unwrap_used, clippy::panic)]

mod scene;

use scene::*;
use upgrade::policy::BranchChange;
use upgrade::*;

const DAY: u64 = 86_400;

/// Image `b`, made at this time, on a node whose system was made at that one.
fn made(timestamp: u64, running: Option<u64>) -> ImageFacts {
    ImageFacts {
        timestamp,
        running,
        ..facts('b')
    }
}

fn verdict_on(facts: ImageFacts, mut record: Record, policy: Policy) -> Phase {
    let step = Step::Verify {
        commit: digest('b'),
    };
    let seen = asked().with(|seen| {
        seen.node.request = Asked::This(record.upgrade.as_mut().unwrap().request.clone());
        seen.turn.finished = finished(step, Outcome::Done(Effect::Verified(facts)));
    });
    phase_of(&next_with(&seen, &record, &Ok(policy)).0)
}

fn verdict(facts: ImageFacts) -> Phase {
    verdict_on(facts, upgrade_in(Phase::Fetched), Policy::default())
}

/// The sentence of the refusal.
fn refused(facts: ImageFacts) -> String {
    match verdict(facts) {
        Phase::Reverting {
            reason: reason @ Reason::OlderImage { .. },
        } => reason.to_string(),
        other => panic!("not refused: {other:?}"),
    }
}

#[test]
fn older_image_refusal_names_the_age_gap_and_the_setting() {
    let text = refused(made(WALL - 9 * DAY, Some(WALL)));
    for words in ["9 days before", "kept:", "downgrade = true"] {
        assert!(text.contains(words), "{text}");
    }
    let (new, old) = (digest('b'), digest('a'));
    assert!(text.contains(new.short()) && text.contains(old.short()));
}

#[test]
fn age_difference_is_shown_in_the_largest_meaningful_unit() {
    for (seconds, words) in [
        (1, "1 s"),
        (119, "119 s"),
        (120, "2 minutes"),
        (7_200, "2 hours"),
        (47 * 3_600, "47 hours"),
        (2 * DAY, "2 days"),
    ] {
        let text = refused(made(WALL - seconds, Some(WALL)));
        assert!(text.contains(&format!("made {words} before")), "{text}");
    }
}

#[test]
fn one_of_the_same_time_or_a_newer_one_passes() {
    for timestamp in [WALL, WALL + 1, u64::MAX] {
        assert_eq!(verdict(made(timestamp, Some(WALL))), Phase::Verified);
    }
}

#[test]
fn where_one_of_both_does_not_say_when_it_was_made_it_passes() {
    for (timestamp, running) in [(0, Some(WALL)), (1, Some(0)), (1, None)] {
        assert_eq!(verdict(made(timestamp, running)), Phase::Verified);
    }
}

#[test]
fn it_passes_where_the_policy_says_so() {
    let policy = Policy {
        downgrade: true,
        ..Policy::default()
    };
    let phase = verdict_on(made(1, Some(WALL)), upgrade_in(Phase::Fetched), policy);
    assert_eq!(phase, Phase::Verified);
}

#[test]
fn what_this_node_has_kept_passes_for_a_person_asked_for_it() {
    let mut record = upgrade_in(Phase::Fetched);
    record.upgrade.as_mut().unwrap().kept = true;
    let phase = verdict_on(made(1, Some(WALL)), record, Policy::default());
    assert_eq!(phase, Phase::Verified);
}

#[test]
fn what_an_agent_without_this_rule_verified_is_read_and_passes() {
    let mut facts = serde_json::to_value(made(1, Some(WALL))).unwrap();
    facts.as_object_mut().unwrap().remove("running");
    let facts: ImageFacts = serde_json::from_value(facts).unwrap();
    assert_eq!(verdict(facts), Phase::Verified);
}

/// Image `b` of one branch, on a node whose system is of another one.
fn of_branches(image: &[&str], running: &[&str], timestamp: u64) -> ImageFacts {
    let names = |all: &[&str]| all.iter().map(|&name| name.to_owned()).collect();
    ImageFacts {
        branches: names(image),
        running_branches: names(running),
        ..made(timestamp, Some(WALL))
    }
}

/// The code of the refusal, if there is one.
fn code(facts: ImageFacts, branch_change: BranchChange, downgrade: bool) -> Option<String> {
    let policy = Policy {
        branch_change,
        downgrade,
        ..Policy::default()
    };
    match verdict_on(facts, upgrade_in(Phase::Fetched), policy) {
        Phase::Verified => None,
        Phase::Reverting { reason } => Some(reason.code()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn change_of_branch_is_a_permission_apart_from_a_downgrade() {
    use BranchChange::{Any, Never, Newer};
    let (older, newer) = (WALL - DAY, WALL + DAY);
    let other = |made| of_branches(&["site/stable"], &["site/edge"], made);
    let same = |made| of_branches(&["site/stable", "x"], &["site/edge", "x"], made);
    let unsaid = |made| of_branches(&["site/stable"], &[], made);
    for (facts, change, downgrade, wanted) in [
        (other(newer), Newer, false, None),
        (other(older), Newer, false, Some("BranchChange")),
        (other(older), Newer, true, Some("BranchChange")),
        (other(older), Any, false, None),
        (other(newer), Never, true, Some("BranchChange")),
        (same(older), Any, false, Some("OlderImage")),
        (same(older), Never, true, None),
        (same(newer), Never, false, None),
        (unsaid(older), Any, false, Some("OlderImage")),
        (unsaid(newer), Never, false, None),
    ] {
        let told = code(facts.clone(), change, downgrade);
        assert_eq!(told.as_deref(), wanted, "{change:?} {downgrade} {facts:?}");
    }
}

#[test]
fn change_of_branch_permits_no_older_kubernetes() {
    let mut facts = of_branches(&["site/stable"], &["site/edge"], WALL + DAY);
    facts.info.as_mut().unwrap().kubernetes = "v1.34.0".parse().unwrap();
    let told = code(facts, BranchChange::Any, false);
    assert_eq!(told.as_deref(), Some("Downgrade"));
}

#[test]
fn refused_change_of_branch_names_both_and_the_policy() {
    let facts = of_branches(&["site/stable"], &["site/edge"], WALL - 2 * DAY);
    let text = match verdict(facts) {
        Phase::Reverting { reason } => reason.to_string(),
        other => panic!("{other:?}"),
    };
    for words in [
        "branch \"site/stable\", made 2 days before the running one",
        "runs branch \"site/edge\"",
        "branch-change = \"newer\"",
        "set branch-change = \"any\"",
    ] {
        assert!(text.contains(words), "{text}");
    }
}

#[test]
fn another_build_of_the_same_kubernetes_is_no_downgrade() {
    for (running, image, wanted) in [
        ("v1.36.3+rke2r10", "v1.36.3+rke2r2", Phase::Verified),
        ("v1.36.3+rke2r2", "v1.36.3+rke2r10", Phase::Verified),
        ("v1.36.3+rke2r2", "v1.36.3", Phase::Verified),
        ("v1.36.3-eks-1-30-12", "v1.36.3-eks-1-30-2", Phase::Verified),
        ("v1.36.0-rc.9", "v1.36.0-rc.10", Phase::Verified),
    ] {
        let mut record = upgrade_in(Phase::Fetched);
        record.upgrade.as_mut().unwrap().from_version = Some(running.parse().unwrap());
        let mut facts = made(WALL, Some(WALL));
        facts.info.as_mut().unwrap().kubernetes = image.parse().unwrap();
        let phase = verdict_on(facts, record, Policy::default());
        assert_eq!(phase, wanted, "{running} {image}");
    }
}
