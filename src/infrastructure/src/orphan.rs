//! A host whose claim no machine has: it is named after two looks, and released by a person's word or
//! by the operator's choice.

use crate::facts::Node;
use crate::host_decision::{EVICT_AGAIN, HostDecision, because, look_again, look_at_pods};
use crate::host_facts::{HostAct, HostFacts, PodsLeft};
use crate::host_why::HostWhy;

/// Two looks with a pause, then a name. Then a person's word releases it. The release without a
/// person is the operator's choice, and drains the node first.
pub fn orphan(facts: &HostFacts<'_>, id: &str, release: HostAct) -> HostDecision {
    let (host, policy) = (facts.host, facts.policy);
    let claim = || id.to_owned();
    if facts.paused || facts.leads_for < policy.settle {
        return look_again(HostWhy::NotJudged);
    }
    let first = host.orphan_seen.as_ref().filter(|(of, _)| of == id);
    let Some((_, at)) = first else {
        return because(
            HostAct::MarkOrphan(claim()),
            HostWhy::MayBeOrphan { claim: claim() },
        );
    };
    if facts.now - at < policy.orphan_looks {
        return look_again(HostWhy::MayBeOrphan { claim: claim() });
    }
    if host.orphan.as_deref() != Some(id) || !host.cordoned {
        let why = HostWhy::Orphan { claim: claim() };
        return because(HostAct::NameOrphan(claim()), why);
    }
    // A person has looked at the host. That is more than the brake asks for.
    if host.is_forced(id) {
        return because(release, HostWhy::Orphan { claim: claim() });
    }
    if !policy.release_orphans {
        return look_again(HostWhy::Orphan { claim: claim() });
    }
    let (orphans, of) = facts.orphans;
    if orphans > 2.max(of * policy.brake_percent / 100) {
        return look_again(HostWhy::ManyOrphans { orphans, of });
    }
    if let Some(what) = facts.left_alone {
        let (claim, what) = (claim(), what.to_owned());
        return look_again(HostWhy::OrphanPaused { claim, what });
    }
    drained(facts, id, release)
}

/// Nobody else drains the node of an orphan: core drains the nodes of Machines only. One that is
/// dead has no kubelet to end its pods, as in the rule for lost hosts.
fn drained(facts: &HostFacts<'_>, id: &str, release: HostAct) -> HostDecision {
    let (claim, policy) = (id.to_owned(), facts.policy);
    let left = |release| {
        because(
            release,
            HostWhy::Orphan {
                claim: claim.clone(),
            },
        )
    };
    match facts.node {
        Some(Node::NoCluster | Node::Other { .. }) => left(release),
        Some(Node::Missing { visible }) if *visible >= policy.visible => left(release),
        Some(Node::NotReady { seconds }) if *seconds >= policy.lost => left(release),
        Some(Node::Away(detail)) => {
            let detail = detail.clone();
            look_again(HostWhy::OrphanAway { claim, detail })
        }
        Some(Node::Missing { .. }) | None => look_again(HostWhy::NotJudged),
        Some(Node::Ready | Node::NotReady { .. }) => match facts.pods {
            Some(pods) if pods.ago >= EVICT_AGAIN => drain(claim),
            Some(pods) if pods.left == 0 => left(release),
            Some(pods) => look_at_pods(not_left(claim, pods)),
            None => drain(claim),
        },
    }
}

const fn drain(claim: String) -> HostDecision {
    because(HostAct::Drain, HostWhy::OrphanDraining { claim })
}

fn not_left(claim: String, pods: &PodsLeft) -> HostWhy {
    match pods.held.clone() {
        Some(by) => HostWhy::OrphanHeld { claim, by },
        None => HostWhy::OrphanDraining { claim },
    }
}
