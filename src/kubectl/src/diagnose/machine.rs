//! What is to be said of the node beside its upgrade.

use super::{Case, Finding, Weight};
use crate::span;
use crate::stage::Stage;
use crate::standing::Standing;
use crate::view::Ready;

/// Somebody else asks for its upgrades.
pub(super) fn owned(case: &Case<'_>) -> Option<Finding> {
    let machine = case.node.machine.as_ref()?;
    Some(Finding {
        weight: Weight::Note,
        what: format!("it belongs to Machine {machine}: Cluster API asks for its upgrades"),
        so: Some("change the version there (docs/cluster-api.md)".to_owned()),
    })
}

/// Its kubelet is silent or not well.
pub(super) fn away(case: &Case<'_>) -> Option<Finding> {
    let (word, since) = match &case.node.ready {
        Ready::Yes => return None,
        Ready::No(since) => ("is not Ready", since),
        Ready::Unknown(since) => ("has not been heard of", since),
    };
    let since = since.map(|at| format!(" since {}", span::moment(span::seconds(at))));
    let what = format!("its kubelet {word}{}", since.unwrap_or_default());
    if case.standing == Standing::Working && reboots(case.node.stage()) {
        let what = format!("{what}: it reboots, which is part of an upgrade");
        let so = "a trial that nobody judges goes back to the old system by itself; if it never returns, look at its console";
        return Some(Finding {
            weight: Weight::Held,
            what,
            so: Some(so.to_owned()),
        });
    }
    let so = "look at the machine's power, console and network, and at its kubelet".to_owned();
    Some(Finding {
        weight: Weight::Bad,
        what,
        so: Some(so),
    })
}

const fn reboots(stage: Stage) -> bool {
    matches!(
        stage,
        Stage::Armed | Stage::Trial | Stage::Healthy | Stage::Reverting
    )
}

/// No pods come to it, and who wants that.
pub(super) fn cordon(case: &Case<'_>) -> Option<Finding> {
    let node = case.node;
    if !node.cordoned {
        return None;
    }
    let name = &node.name;
    let current = node.status.as_ref().and_then(|status| status.id.as_ref());
    let ours = node
        .cordoned_by
        .as_deref()
        .is_some_and(|mark| current.is_some_and(|id| id.as_str() == mark) || current.is_none());
    let (weight, what, so) = match (ours, case.standing) {
        (true, Standing::Working) => (
            Weight::Note,
            "cordoned by this upgrade, which lifts it at its end",
            None,
        ),
        // How to lift it is said with the reason.
        (true, Standing::Halted) => (
            Weight::Held,
            "cordoned by this upgrade, and left so for whoever mends the node",
            None,
        ),
        (true, _) => (
            Weight::Held,
            "cordoned by an upgrade that has not lifted it yet",
            None,
        ),
        (false, _) => (
            Weight::Note,
            "cordoned by somebody else: an upgrade leaves that as it is",
            Some(format!("`kubectl uncordon {name}` if nobody wants it so")),
        ),
    };
    Some(Finding {
        weight,
        what: what.to_owned(),
        so,
    })
}

/// It runs another version than its last upgrade brought.
pub(super) fn other_version(case: &Case<'_>) -> Option<Finding> {
    let status = case
        .node
        .status
        .as_ref()
        .filter(|_| case.standing == Standing::Upgraded)?;
    let brought = status.to_version.as_ref()?.to_string();
    if brought == case.node.kubelet {
        return None;
    }
    Some(Finding {
        weight: Weight::Held,
        what: format!(
            "its kubelet is {}, though the upgrade brought {brought}: somebody booted or deployed another system since",
            case.node.kubelet
        ),
        so: Some("`ostree admin status` on the node names its systems".to_owned()),
    })
}

/// Its status cannot be read.
pub(super) fn garbled(case: &Case<'_>) -> Option<Finding> {
    let what =
        "careen.dev/status is there and cannot be read: not by an agent that this version knows"
            .to_owned();
    case.node.garbled.then_some(Finding {
        weight: Weight::Bad,
        what,
        so: None,
    })
}
