//! An image in which nobody would judge a trial, or end it, is refused before anything is touched.
#![allow(clippy::unwrap_used, clippy::panic)]

mod scene;

use scene::*;
use upgrade::*;

/// The verdict on an image of which a trial would lack this.
fn verdict(lacks: &[&str], change: impl FnOnce(&mut ImageFacts), policy: Policy) -> Phase {
    let mut found = facts('b');
    found.lacks = lacks.iter().map(|&what| what.to_owned()).collect();
    change(&mut found);
    let step = Step::Verify {
        commit: digest('b'),
    };
    let seen = asked()
        .with(|seen| seen.turn.finished = finished(step, Outcome::Done(Effect::Verified(found))));
    phase_of(&next_with(&seen, &upgrade_in(Phase::Fetched), &Ok(policy)).0)
}

fn refused(phase: Phase) -> Reason {
    match phase {
        Phase::Reverting { reason } => reason,
        other => panic!("not refused: {other:?}"),
    }
}

#[test]
fn image_without_agent_or_deadman_is_refused_with_what_it_lacks() {
    let lacks = ["careen-agent.service", "careen-deadman.timer (not enabled)"];
    let reason = refused(verdict(&lacks, |_| (), Policy::default()));
    assert_eq!(reason.code(), "NoAgent");
    let text = reason.to_string();
    assert!(lacks.iter().all(|what| text.contains(what)), "{text}");
    assert!(
        !reason.blames_image(),
        "the node's own /etc may be what is in the way"
    );
}

#[test]
fn no_policy_setting_permits_an_image_without_its_deadman() {
    let policy = Policy {
        unguarded: true,
        downgrade: true,
        ..Policy::default()
    };
    let unguarded = |found: &mut ImageFacts| found.info.as_mut().unwrap().stage = None;
    let reason = refused(verdict(&["careen-deadman.timer"], unguarded, policy));
    assert!(matches!(reason, Reason::NoAgent { .. }), "{reason}");
}

#[test]
fn image_facts_without_lacks_verify_as_before() {
    assert_eq!(verdict(&[], |_| (), Policy::default()), Phase::Verified);
    let older = serde_json::to_value(facts('b')).unwrap();
    assert!(older.get("lacks").is_none(), "{older}");
    let read: ImageFacts = serde_json::from_value(older).unwrap();
    assert_eq!(read, facts('b'));
}
