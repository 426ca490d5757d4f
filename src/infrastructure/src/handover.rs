//! When a token is put where a host looks for one, and when it is removed. A host asks for each next
//! token with the one before. One that was away for longer than a token lives has none that is good.

use crate::host_facts::{HostAct, HostFacts};

/// A host renews its token at half of its life, which is 24 h. So the token of a host that is
/// silent for this time may have run out, and one that was handed over this long ago is renewed.
const HALF_LIFE: i64 = 12 * 3600;

/// What is due.
pub fn handover(facts: &HostFacts<'_>) -> Option<HostAct> {
    facts.host.handover.as_ref()?;
    let is_good = facts.handed_over.is_some_and(|age| age < HALF_LIFE);
    match is_awaited(facts) {
        true if !is_good && is_settled(facts) => Some(HostAct::HandOver),
        false if facts.handed_over.is_some() => Some(HostAct::EndHandover),
        true | false => None,
    }
}

/// After how many seconds that can change without an event.
pub fn again(facts: &HostFacts<'_>) -> Option<u64> {
    facts.host.handover.as_ref()?;
    let left = match (silence(facts), facts.handed_over) {
        (Some(silence), _) if silence < HALF_LIFE => HALF_LIFE - silence,
        (_, Some(age)) => HALF_LIFE - age,
        (_, None) => facts.policy.alive - facts.leads_for,
    };
    u64::try_from(left.max(1)).ok()
}

/// Whether the host may need a token to come back.
fn is_awaited(facts: &HostFacts<'_>) -> bool {
    silence(facts).is_none_or(|seconds| seconds >= HALF_LIFE)
}

/// After an outage the hosts that have a token are heard first. Their tokens are left alone.
fn is_settled(facts: &HostFacts<'_>) -> bool {
    facts.renewed_at.is_none() || facts.leads_for >= facts.policy.alive
}

/// For how many seconds the host is silent. Nothing, if it was never heard. careen-provider counts
/// from its own start at most, so the time in the Lease counts too, unless the host is heard now.
fn silence(facts: &HostFacts<'_>) -> Option<i64> {
    let (host, now) = (facts.host, facts.now);
    let seen = host.silent(now);
    let said = now.saturating_sub(facts.renewed_at?);
    match host.is_alive(now, facts.policy.alive) {
        true => Some(seen),
        false => Some(seen.max(said)),
    }
}
