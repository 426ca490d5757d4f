//! The brake: hosts that go silent at once have one cause, and it is not in the hosts.

use crate::claim::Wanted;
use crate::host::Host;
use crate::policy::Policy;

/// Too many hosts are silent at once.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Braked {
    /// How many.
    pub silent: usize,
    /// Of how many.
    pub of: usize,
    /// The failure domain, or nothing for the namespace.
    pub domain: Option<String>,
}

/// So many silent hosts never brake, however few there are.
const ALWAYS_ALLOWED: usize = 2;

/// Whether so many hosts of the namespace, or of this failure domain, are silent that none may be
/// given up. Hosts count while somebody uses them: a host that was given up before, or that nobody
/// has, says nothing about the network.
#[must_use]
pub fn brake(hosts: &[&Host], domain: Option<&str>, now: i64, policy: &Policy) -> Option<Braked> {
    let in_domain = |host: &&Host| domain.is_some() && host.failure_domain.as_deref() == domain;
    let all = hosts.iter().copied();
    let near = all.clone().filter(in_domain);
    of(all, None, now, policy).or_else(|| of(near, domain, now, policy))
}

fn of<'a>(
    hosts: impl Iterator<Item = &'a Host>,
    domain: Option<&str>,
    now: i64,
    policy: &Policy,
) -> Option<Braked> {
    let (mut silent, mut of) = (0, 0);
    for host in hosts.filter(|host| is_used(host)) {
        of += 1;
        silent += usize::from(!host.is_alive(now, policy.alive));
    }
    let allowed = ALWAYS_ALLOWED.max(of * policy.brake_percent / 100);
    (silent > allowed).then(|| Braked {
        silent,
        of,
        domain: domain.map(str::to_owned),
    })
}

/// A machine uses it, or waits for its fence.
fn is_used(host: &Host) -> bool {
    let given_back = |claim: &crate::claim::Claim| {
        claim.wanted == Wanted::Released && (claim.lost || host.is_fenced(&claim.id))
    };
    host.claim.as_ref().is_some_and(|claim| !given_back(claim))
}
