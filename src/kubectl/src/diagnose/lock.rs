//! Who holds the lock of the control plane, what the holder's Node says, and what not to do.

use requests::PhaseName;
use upgrade::control_plane::{Ending, Holder, News};

use super::Explanation;
use super::case::{Finding, Weight};
use super::facts::Fact;
use crate::duration;
use crate::lock::Seen;
use crate::phase;
use crate::view::{NodeView, Ready};

/// Explains a lock that nobody holds.
#[must_use]
pub fn free() -> Explanation {
    Explanation {
        headline: "the control plane has no lock".to_owned(),
        facts: Vec::new(),
        findings: Vec::new(),
        runbook: None,
    }
}

/// Explains a lock at `now`, in seconds since 1970.
#[must_use]
pub fn explain(seen: &Seen, now: u64) -> Explanation {
    Explanation {
        headline: format!("{} holds the lock of the control plane", seen.lock.holder),
        facts: facts(seen, now),
        findings: vec![warning(seen), state(seen)],
        runbook: None,
    }
}

fn facts(seen: &Seen, now: u64) -> Vec<Fact> {
    let node = seen.node.as_ref();
    let heard = node.and_then(|node| node.heard).map(duration::seconds);
    let ago = |at| duration::ago(at, now);
    let reason = node.and_then(NodeView::reason).map(str::to_owned);
    let facts = [
        ("since", seen.lock.since.map(ago)),
        ("upgrade", upgrade(seen)),
        ("reason", reason.filter(|_| seen.phase().is_some())),
        ("node", readiness(seen, now)),
        ("last message", heard.map(ago)),
    ];
    let known = facts.into_iter();
    known
        .filter_map(|(name, value)| value.map(|value| Fact { name, value }))
        .collect()
}

/// What the Node says about the upgrade that holds the lock.
fn upgrade(seen: &Seen) -> Option<String> {
    let (holder, node) = (seen.lock.upgrade()?, seen.node.as_ref()?);
    match &seen.news {
        News::Gone => None,
        News::Nothing => Some("the Node names none that it has or had".to_owned()),
        News::Going(id) | News::Ended(id) if id != holder.id() => {
            Some(format!("the Node has another one, {id}"))
        }
        News::Going(_) | News::Ended(_) => {
            let phase = seen.phase().unwrap_or("its details cannot be read");
            Some(format!("{phase}: {}", phase::now(node)))
        }
    }
}

fn readiness(seen: &Seen, now: u64) -> Option<String> {
    seen.lock.upgrade()?;
    let Some(node) = &seen.node else {
        return Some("does not exist".to_owned());
    };
    let (word, since) = match &node.ready {
        Ready::Yes => return Some("Ready".to_owned()),
        Ready::No(since) => ("not Ready", since),
        Ready::Unknown(since) => ("not heard of", since),
    };
    let since = since.map(|at| duration::ago(duration::seconds(at), now));
    Some(since.map_or_else(|| word.to_owned(), |since| format!("{word} since {since}")))
}

/// It comes first: a person who unlocks too early can lose the cluster.
fn warning(seen: &Seen) -> Finding {
    let whose = seen.lock.upgrade().map_or_else(
        || "a member of etcd".to_owned(),
        |holder| format!("the member of etcd on {}", holder.node()),
    );
    Finding {
        weight: Weight::Bad,
        what: format!(
            "do not unlock while {whose} is away or unhealthy: the next upgrade takes another member away, and two members away cost the quorum"
        ),
        so: Some("`careen-control survey` on a control-plane node shows all members".to_owned()),
    }
}

fn state(seen: &Seen) -> Finding {
    match (seen.lock.upgrade(), seen.ending()) {
        (None, _) => Finding {
            weight: Weight::Held,
            what: "no upgrade takes this lock over, because its holder is no upgrade of a node"
                .to_owned(),
            so: Some("ask the person who wrote it".to_owned()),
        },
        (Some(holder), Some(ending)) => over(holder, ending),
        (Some(holder), None) => under_way(holder, seen),
    }
}

fn over(holder: &Holder, ending: Ending) -> Finding {
    let says = match ending {
        Ending::NodeGone => "does not exist any more",
        Ending::AnotherUpgrade => "has begun another upgrade",
        Ending::Ended => "says that this upgrade has ended",
    };
    Finding {
        weight: Weight::Note,
        what: format!(
            "the next upgrade takes this lock over by itself: the Node {} {says}",
            holder.node()
        ),
        so: Some("nobody has to unlock".to_owned()),
    }
}

fn under_way(holder: &Holder, seen: &Seen) -> Finding {
    let node = holder.node();
    let phase = seen.node.as_ref().map(|node| node.reply.phase());
    let ready = seen
        .node
        .as_ref()
        .is_some_and(|node| node.ready == Ready::Yes);
    let (weight, what, so) = match &seen.news {
        News::Gone | News::Nothing => (
            Weight::Held,
            format!("{node} does not say that this upgrade is over, and may have just come back"),
            format!(
                "wait until its agent writes; `kubectl careen explain {node}` shows when it last did"
            ),
        ),
        News::Going(_) | News::Ended(_) if phase == Some(PhaseName::Halted) => (
            Weight::Bad,
            format!(
                "the upgrade has halted on {node}: it keeps the lock, so no other upgrade starts on an unhealthy control plane"
            ),
            format!("`kubectl careen explain {node}` says what to do there first"),
        ),
        News::Going(_) | News::Ended(_) if ready => (
            Weight::Held,
            format!("the upgrade is under way on {node}, which releases the lock itself"),
            format!("wait; `kubectl careen status {node} --watch` shows its progress"),
        ),
        News::Going(_) | News::Ended(_) => (
            Weight::Bad,
            format!(
                "the upgrade is under way on {node}, which is not Ready: its member may be away"
            ),
            "wait until the node is back, or repair it; it then releases the lock itself"
                .to_owned(),
        ),
    };
    Finding {
        weight,
        what,
        so: Some(so),
    }
}
