//! A machine that is deleted. Cluster API has drained its node, and deletes the Node once our
//! finalizer is gone. So the finalizer stays until the old kubelet cannot come back.

use crate::choose::claim_on;
use crate::claim::{Claim, HostRef, Wanted};
use crate::decision::{Act, Decision};
use crate::facts::{Facts, Held, Node};
use crate::give_back::may_have_nodes;
use crate::host::Host;
use crate::lost::lost;
use crate::why::Why;

pub fn leave(facts: &Facts<'_>) -> Decision {
    let machine = facts.machine;
    if !machine.finalizer {
        return Decision::wait(Why::Released);
    }
    let Some(host) = &machine.host else {
        return Decision::because(Act::RemoveFinalizer, Why::Released);
    };
    let Some(there) = facts.host else {
        return give_up_without_object(facts, host);
    };
    if there.is_fenced(&host.claim) {
        return gone(facts, host);
    }
    match &there.claim {
        // The claim comes back as an order to leave: without it the host would go on.
        None => Decision::write(Act::PutClaim(order(facts, host))),
        Some(claim) if claim.id != host.claim => taken(facts, host, there, claim),
        Some(claim) if claim.wanted == Wanted::Joined => Decision::write(Act::Release),
        Some(claim) => fenced_or_lost(facts, host, there, claim),
    }
}

fn gone(facts: &Facts<'_>, host: &HostRef) -> Decision {
    if holds_data_of(facts, host) {
        return Decision::write(Act::RemoveData);
    }
    Decision::because(Act::RemoveFinalizer, Why::Released)
}

fn holds_data_of(facts: &Facts<'_>, host: &HostRef) -> bool {
    matches!(facts.held, Held::Data { claim, .. } if *claim == host.claim)
}

fn order(facts: &Facts<'_>, host: &HostRef) -> Claim {
    let cluster = facts.cluster.map(|one| one.name.clone());
    Claim {
        cluster: cluster.unwrap_or_default(),
        wanted: Wanted::Released,
        ..claim_on(facts.machine, host)
    }
}

/// Another machine's claim is there because it was written first, or because somebody removed ours.
/// Only a person knows then whether our node still runs.
fn taken(facts: &Facts<'_>, host: &HostRef, there: &Host, found: &Claim) -> Decision {
    if there.is_forced(&host.claim) || was_never_there(facts, host, there) {
        return Decision::because(Act::RemoveFinalizer, Why::Released);
    }
    Decision::look_again(Why::HostTaken {
        host: host.name.clone(),
        claim: host.claim.clone(),
        found: found.id.clone(),
    })
}

/// Whether the host never had our claim. A restored API server may have lost both the commitment
/// and what the host said, but it has not lost the Node.
fn was_never_there(facts: &Facts<'_>, host: &HostRef, there: &Host) -> bool {
    let has_no_node = match facts.node {
        Node::Missing { visible } => *visible >= facts.policy.visible,
        Node::Other { .. } => true,
        Node::Away(_) => !may_have_nodes(facts),
        Node::NoCluster | Node::Ready | Node::NotReady { .. } => false,
    };
    !host.committed && !there.observes(&host.claim) && has_no_node
}

fn fenced_or_lost(facts: &Facts<'_>, host: &HostRef, there: &Host, claim: &Claim) -> Decision {
    if holds_data_of(facts, host) {
        return Decision::write(Act::RemoveData);
    }
    if claim.lost {
        return gone(facts, host);
    }
    // A word that the host is off says nothing about one that answers. It may be an old word.
    if there.is_alive(facts.now, facts.policy.alive) {
        return Decision::look_again(Why::Fencing {
            host: host.name.clone(),
        });
    }
    if there.is_forced(&claim.id) {
        return Decision::write(Act::GiveUp);
    }
    match lost(facts, &host.name, &claim.id, Some(there)) {
        Ok(()) => Decision::write(Act::GiveUp),
        Err(why) => Decision::look_again(why),
    }
}

/// Somebody removed the CareenHost with its finalizer. The computer may still run.
fn give_up_without_object(facts: &Facts<'_>, host: &HostRef) -> Decision {
    match lost(facts, &host.name, &host.claim, None) {
        Ok(()) => Decision::because(Act::RemoveFinalizer, Why::Released),
        Err(why) => Decision::look_again(why),
    }
}
