//! Findings after the end of an upgrade, and for a node without one.

use upgrade::reason::Then;

use super::advice;
use super::case::{Case, Finding, Weight};
use crate::standing::Standing;

/// Why it failed.
pub(super) fn verdict(case: &Case<'_>) -> Option<Finding> {
    if !case.standing.is_bad() {
        return None;
    }
    let reason = case.node.reason().unwrap_or("the agent gave no reason");
    let code = case.node.reply.code();
    let what = match code {
        Some(code) => format!("{code}: {reason}"),
        None => reason.to_owned(),
    };
    let advice = match case.is_overtaken() {
        true => advice::OVERTAKEN,
        false => code.and_then(advice::of).unwrap_or(advice::UNKNOWN),
    };
    let so = match afterwards(case, advice.then) {
        Some(then) => format!("{}; then {then}", advice.first),
        None => advice.first.to_owned(),
    };
    let weight = Weight::Bad;
    Some(Finding {
        weight,
        what,
        so: Some(so),
    })
}

/// How to repeat the request, for a node whose request may have been withdrawn.
fn afterwards(case: &Case<'_>, then: Then) -> Option<String> {
    let name = &case.node.name;
    let retry = format!("`kubectl careen retry {name}`");
    let another = format!("`kubectl careen upgrade {name} --image …`");
    let ask = match (then, &case.node.asked) {
        (Then::Nothing, _) => return None,
        (Then::Another, _) | (_, None) => another,
        (Then::Retry, Some(_)) => retry,
        (Then::Either, Some(_)) => format!("{another} or {retry}"),
    };
    if case.standing == Standing::Halted {
        return Some(format!("`kubectl uncordon {name}` and {ask}"));
    }
    Some(ask)
}

/// The finding that there is nothing to report.
pub(super) fn nothing(case: &Case<'_>) -> Option<Finding> {
    let name = &case.node.name;
    let (what, so) = match case.standing {
        Standing::Idle => (
            "this Node has no request, and none was ever answered".to_owned(),
            Some(format!(
                "`kubectl careen upgrade {name} --image …` asks for one"
            )),
        ),
        Standing::Upgraded => {
            let image = case.node.image().unwrap_or("the image that was asked for");
            (
                format!("{image} is proven and the default; the old system is kept"),
                None,
            )
        }
        Standing::Asked
        | Standing::Held
        | Standing::Working
        | Standing::Failed
        | Standing::Refused
        | Standing::Halted => return None,
    };
    Some(Finding {
        weight: Weight::Note,
        what,
        so,
    })
}

/// A system that passed its trial and differs from the former one.
pub(super) fn differs(case: &Case<'_>) -> Option<Finding> {
    let status = case.node.reply.status.as_ref()?;
    let differs = &status.differs;
    (!differs.is_empty()).then(|| Finding {
        weight: Weight::Note,
        what: format!(
            "the new system differs from the former one: {}",
            differs.join("; ")
        ),
        so: Some(
            "if that is not intended, fix the image; the policy's [serving] can make the trial fail for it"
                .to_owned(),
        ),
    })
}
