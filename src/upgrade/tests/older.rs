//! An image that was made before the one that runs: refused, for its signature holds as long as its holes do.
#![allow(clippy::unwrap_used, clippy::panic)]

mod scene;

use scene::*;
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
