//! Findings about the node apart from its upgrade.

use requests::PhaseName;

use super::case::{Case, Finding, Weight};
use crate::duration;
use crate::standing::Standing;
use crate::view::Ready;

/// Cluster API requests its upgrades.
pub(super) fn owned(case: &Case<'_>) -> Option<Finding> {
    let machine = case.node.machine.as_ref()?;
    Some(Finding {
        weight: Weight::Note,
        what: format!("it belongs to Machine {machine}: Cluster API asks for its upgrades"),
        so: Some(
            "change the version there (see the page about Cluster API in the docs)".to_owned(),
        ),
    })
}

/// Its kubelet is silent or not ready.
pub(super) fn away(case: &Case<'_>) -> Option<Finding> {
    let (word, since) = match &case.node.ready {
        Ready::Yes => return None,
        Ready::No(since) => ("is not Ready", since),
        Ready::Unknown(since) => ("has not reported", since),
    };
    let since = since.map(|at| format!(" since {}", duration::moment(duration::seconds(at))));
    let what = format!("its kubelet {word}{}", since.unwrap_or_default());
    if case.standing == Standing::Working && reboots(case.node.reply.phase()) {
        let what = format!("{what}: the node reboots, which is part of an upgrade");
        let so = "a trial without a verdict goes back to the old system by itself; if the node does not return, check its console";
        return Some(Finding {
            weight: Weight::Held,
            what,
            so: Some(so.to_owned()),
        });
    }
    let so = "check the machine's power, console and network, and its kubelet".to_owned();
    Some(Finding {
        weight: Weight::Bad,
        what,
        so: Some(so),
    })
}

const fn reboots(phase: PhaseName) -> bool {
    matches!(
        phase,
        PhaseName::Armed | PhaseName::Trial | PhaseName::Healthy | PhaseName::Reverting
    )
}

/// The node is cordoned, and by whom.
pub(super) fn cordon(case: &Case<'_>) -> Option<Finding> {
    let node = case.node;
    if !node.cordoned {
        return None;
    }
    let uncordon = format!("`kubectl uncordon {}`", node.name);
    Some(match &node.cordoned_by {
        Some(mark) if is_of_the_answer(case, mark) => ours(case.standing),
        Some(mark) => former(case.standing, mark, &uncordon),
        None => Finding {
            weight: Weight::Note,
            what: "cordoned by something other than Careen: an upgrade keeps that cordon"
                .to_owned(),
            so: Some(format!("run {uncordon} if it is not wanted")),
        },
    })
}

/// Whether the mark on a cordon names the upgrade of the current answer. An unreadable record names
/// none.
fn is_of_the_answer(case: &Case<'_>, mark: &str) -> bool {
    case.node.reply.id().is_none_or(|id| id == mark)
}

fn ours(standing: Standing) -> Finding {
    let (weight, what) = match standing {
        Standing::Working => (
            Weight::Note,
            "cordoned by this upgrade, which removes the cordon at its end",
        ),
        // The reason's advice says how to lift it.
        Standing::Halted => (
            Weight::Held,
            "cordoned by this upgrade, until the node is fixed",
        ),
        Standing::Idle
        | Standing::Asked
        | Standing::Held
        | Standing::Upgraded
        | Standing::Failed
        | Standing::Refused => (
            Weight::Held,
            "cordoned by an upgrade that has not removed the cordon yet",
        ),
    };
    Finding {
        weight,
        what: what.to_owned(),
        so: None,
    }
}

/// A halted upgrade leaves its cordon until the agent accepts the next request (the brain's
/// `accept.rs`). So a refused request may answer while the cordon is still there. An upgrade in
/// progress has removed the cordon, or found that it does not belong to a halted one.
fn former(standing: Standing, mark: &str, uncordon: &str) -> Finding {
    let (weight, what, so) = if standing == Standing::Working {
        (
            Weight::Note,
            "which is not the one under way: that one keeps the cordon",
            format!("run {uncordon} if it is not wanted"),
        )
    } else {
        (
            Weight::Held,
            "which left the cordon until the node is fixed",
            format!("the next accepted request removes it, as {uncordon} does"),
        )
    };
    Finding {
        weight,
        what: format!("cordoned by upgrade {mark}, {what}"),
        so: Some(so),
    }
}

/// The node runs another version than its last upgrade installed.
pub(super) fn other_version(case: &Case<'_>) -> Option<Finding> {
    let upgraded = case.standing == Standing::Upgraded;
    let status = case.node.reply.status.as_ref().filter(|_| upgraded)?;
    let brought = status.to_version.as_ref()?.to_string();
    if brought == case.node.kubelet {
        return None;
    }
    Some(Finding {
        weight: Weight::Held,
        what: format!(
            "its kubelet is {}, though the upgrade brought {brought}: another system was booted or deployed since",
            case.node.kubelet
        ),
        so: Some("`ostree admin status` on the node lists its systems".to_owned()),
    })
}

/// Its status cannot be parsed.
pub(super) fn garbled(case: &Case<'_>) -> Option<Finding> {
    let what =
        "careen.dev/status cannot be read: no agent that this version knows wrote it".to_owned();
    case.node.reply.unreadable.then_some(Finding {
        weight: Weight::Bad,
        what,
        so: None,
    })
}
