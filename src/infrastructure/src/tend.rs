//! The decision on one host: whether it is let in, whether its claim has an owner, and when the
//! claim goes.

use crate::claim::{Claim, Wanted};
use crate::handover;
use crate::host::Host;
use crate::host_decision::{HostDecision, SOON, SWEEP, because, look_again, wait, write};
use crate::host_facts::{Holder, HostAct, HostFacts};
use crate::host_why::HostWhy;
use crate::orphan::orphan;
use life::Phase;

/// What to write to a host now, and what it waits for.
#[must_use]
pub fn tend(facts: &HostFacts<'_>) -> HostDecision {
    let host = facts.host;
    if host.deleting {
        return deleted(facts);
    }
    if !host.approved {
        return admit(facts);
    }
    if !host.finalizer {
        return write(HostAct::AddFinalizer);
    }
    if !facts.has_account {
        return write(HostAct::MakeAccount);
    }
    if let Some(act) = handover::handover(facts) {
        return write(act);
    }
    match &host.claim {
        Some(claim) if claim.wanted == Wanted::Released => leaving(facts, claim),
        Some(claim) => claimed(facts, claim),
        None => unclaimed(facts),
    }
}

/// A host that a machine has is held by our finalizer. A person's word lets it go at once if it does
/// not answer. Without a machine the word is the order to leave that nobody else gives. While the
/// host is held it may need a token to come back.
fn deleted(facts: &HostFacts<'_>) -> HostDecision {
    let host = facts.host;
    if !host.finalizer {
        return wait(HostWhy::Leaving);
    }
    let Some(claim) = &host.claim else {
        return gone(facts);
    };
    let nobody = facts.holder == Holder::Nobody;
    let forced = host.is_forced(&claim.id);
    let alive = host.is_alive(facts.now, facts.policy.alive);
    let released = claim.wanted == Wanted::Released;
    let left = released && (host.is_fenced(&claim.id) || claim.lost);
    if forced && !alive || left && nobody {
        return gone(facts);
    }
    let id = || claim.id.clone();
    match (nobody && !released, forced && !facts.paused) {
        (true, true) => because(HostAct::Release, HostWhy::Orphan { claim: id() }),
        (true, false) => held(facts, HostWhy::Orphan { claim: id() }),
        (false, _) => held(facts, HostWhy::DeletedInUse { claim: id() }),
    }
}

fn held(facts: &HostFacts<'_>, why: HostWhy) -> HostDecision {
    match handover::handover(facts) {
        Some(act) if facts.has_account => because(act, why),
        Some(_) | None => look_again(why),
    }
}

/// The Secret with its token is in another namespace, so it does not go with the host.
const fn gone(facts: &HostFacts<'_>) -> HostDecision {
    match facts.handed_over {
        Some(_) => write(HostAct::EndHandover),
        None => write(HostAct::RemoveFinalizer),
    }
}

fn admit(facts: &HostFacts<'_>) -> HostDecision {
    let host = facts.host;
    let Some(registration) = facts.registration else {
        return wait(HostWhy::NoRegistration {
            registration: host.registration.clone(),
        });
    };
    if !registration.auto_approve {
        return wait(HostWhy::Unapproved);
    }
    if !host.name.starts_with(&registration.name_prefix) {
        return wait(HostWhy::OtherPrefix {
            prefix: registration.name_prefix.clone(),
        });
    }
    if registration.approved >= registration.max_hosts {
        let most = registration.max_hosts;
        return look_again(HostWhy::RegistrationFull { most });
    }
    write(HostAct::Approve)
}

/// The claim goes when the host is available again, and no machine waits for its fence.
fn leaving(facts: &HostFacts<'_>, claim: &Claim) -> HostDecision {
    let host = facts.host;
    let clean = host.phase == Phase::Available && host.observes(&claim.id);
    match facts.holder {
        // A host that serves another claim has never taken up this one.
        Holder::Nobody if clean || host.serves_another(&claim.id) => {
            write(HostAct::RemoveClaim { cordon: claim.lost })
        }
        Holder::Nobody | Holder::Machine | Holder::Unread => look_again(HostWhy::Leaving),
    }
}

fn claimed(facts: &HostFacts<'_>, claim: &Claim) -> HostDecision {
    match facts.holder {
        Holder::Machine | Holder::Unread => in_use(facts),
        // `clusterctl move` makes the hosts before their machines, and removes the machines before
        // their hosts.
        Holder::Nobody if facts.paused => look_again(HostWhy::NotJudged),
        Holder::Nobody if was_never_used(facts.host, claim) => write(HostAct::Release),
        Holder::Nobody => orphan(facts, &claim.id, HostAct::Release),
    }
}

fn in_use(facts: &HostFacts<'_>) -> HostDecision {
    if facts.host.orphan_seen.is_some() && facts.holder == Holder::Machine {
        return write(HostAct::UnmarkOrphan);
    }
    if is_old_word(facts) {
        return write(HostAct::ForgetWord);
    }
    // A renewal of the Lease, after which a word is old, is no event.
    let again = match facts.host.forced {
        Some(_) => SOON,
        None => SWEEP,
    };
    HostDecision {
        again: Some(again),
        ..wait(HostWhy::InUse)
    }
}

/// Whether the host has answered after a person said that it is off. Else that word would count
/// months later, when only the link of the host is down.
fn is_old_word(facts: &HostFacts<'_>) -> bool {
    let host = facts.host;
    host.renewed && facts.word_since.is_some_and(|since| host.heard > since)
}

/// The host had no data under this claim: a leader wrote the claim after the machine had taken
/// another host. Nothing runs on it that could be lost.
fn was_never_used(host: &Host, claim: &Claim) -> bool {
    let joined = matches!(host.phase, Phase::Joined | Phase::Joining);
    claim.bootstrap_hash.is_none() && !joined
}

/// A host may say that it has joined by a claim that it does not have: the API server was restored.
/// If a machine has that claim, its decision puts the claim back.
fn unclaimed(facts: &HostFacts<'_>) -> HostDecision {
    let host = facts.host;
    let joined = host
        .observed
        .clone()
        .filter(|_| host.phase == Phase::Joined);
    let Some(id) = joined else {
        let again = handover::again(facts);
        return HostDecision {
            again,
            ..wait(HostWhy::Free)
        };
    };
    match facts.holder {
        Holder::Machine | Holder::Unread => in_use(facts),
        Holder::Nobody => {
            let order = Claim {
                id: id.clone(),
                wanted: Wanted::Released,
                join_seconds: crate::claim::join_seconds(),
                ..Claim::default()
            };
            orphan(facts, &id, HostAct::PutOrder(order))
        }
    }
}
