//! A plan request as it is on the Node, and, after a line of `%%`, what careen-deploy has found in
//! its image.

use upgrade::plan::{
    BYTES, Case, Found, Look, Plan, Question, Rehearsed, Response, answer, answers, respond,
};
use upgrade::{Malformed, Observation, Policy, Reason, Record, names};

use crate::brain::quiet;

const SEPARATOR: &[u8] = b"\n%%\n";

/// Every request has an answer that identifies the request and that the Node accepts, or an image
/// to inspect. The findings for that image, of any size, are cut to an answer that the Node
/// accepts.
pub fn check(input: &[u8]) {
    let (asked, found) = split(input);
    let asked = String::from_utf8_lossy(asked);
    match asked.parse::<Question>() {
        Ok(question) => assert_eq!(question.to_string(), asked),
        Err(bad) => refused(&asked, bad),
    }
    let Some(seen) = quiet() else { return };
    match respond(
        &asked,
        &Ok(Record::default()),
        &seen,
        &Ok(Policy::default()),
    ) {
        Response::Answer(plan) => {
            // An invalid image, or one that is not for this node, is refused by name.
            let runs_already = plan.commit.as_ref() == Some(&seen.machine.booted.digest);
            assert!(runs_already || (plan.code.is_some() && plan.reason.is_some()));
            fits(&plan, &asked);
        }
        Response::Look(look) => {
            assert!(asked.parse::<Question>().is_ok());
            if let Some(found) = found.and_then(|found| serde_json::from_slice(found).ok()) {
                looked_at(&asked, &look, &seen, found);
            }
        }
    }
}

fn split(input: &[u8]) -> (&[u8], Option<&[u8]>) {
    let at = input
        .windows(SEPARATOR.len())
        .position(|window| window == SEPARATOR);
    at.map_or((input, None), |at| {
        (&input[..at], Some(&input[at + SEPARATOR.len()..]))
    })
}

/// The refusal names the annotation, or the request's own id.
fn refused(asked: &str, bad: Malformed) {
    assert!(
        matches!(bad.field, names::PLAN | names::UPGRADE_ID),
        "{}",
        bad.field
    );
    let first = bad.value.split('…').next().unwrap_or_default();
    assert!(asked.contains(first) && !bad.accepted.is_empty());
    let text = Reason::from(bad).to_string();
    assert!(text.contains(". Use "), "{text}");
}

fn looked_at(asked: &str, look: &Look, seen: &Observation, found: Found) {
    let (record, policy) = (Record::default(), Policy::default());
    let case = Case {
        asked,
        look,
        record: &record,
        seen,
        policy: &policy,
    };
    let packages = found.packages.len();
    let plan = answer(&case, found, Rehearsed::default());
    fits(&plan, asked);
    if plan.commit.as_ref() != Some(&seen.machine.booted.digest) {
        let told = plan.packages.len() + usize::try_from(plan.packages_left_out).unwrap_or(0);
        assert_eq!(told, packages, "packages that nobody hears of");
    }
}

/// The requester recognizes the answer, it can be read again, and the Node accepts it.
fn fits(plan: &Plan, asked: &str) {
    assert!(answers(plan, asked), "{:?} for {asked:?}", plan.asked);
    let text = serde_json::to_string(plan).unwrap_or_default();
    assert!((2..=BYTES).contains(&text.len()), "{} bytes", text.len());
    assert_eq!(serde_json::from_str(&text).ok().as_ref(), Some(plan));
}
