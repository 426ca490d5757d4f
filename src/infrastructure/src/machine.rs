//! The decision on one machine: at most one write, and what the machine waits for.

use crate::choose::{choose, claim_on, id_of};
use crate::claim::{Claim, HostRef, Wanted};
use crate::decision::{Act, Decision, Failed};
use crate::facts::{Data, Facts, Held, Node, Owner, OwnerCluster};
use crate::give_back::{give_back, give_back_if_possible};
use crate::host::Host;
use crate::leave::leave;
use crate::why::{Class, Why};
use life::{Phase, Reason};

/// What a host that needs the bootstrap data writes into `status.step`.
pub const AWAITS_DATA: &str = "AwaitData";

/// What to write for a machine now, and what it waits for.
#[must_use]
pub fn decide(facts: &Facts<'_>) -> Decision {
    let machine = facts.machine;
    if let Some(what) = &machine.paused {
        let what = what.clone();
        return Decision::wait(Why::Paused { what });
    }
    if machine.deleting {
        return leave(facts);
    }
    // The finalizer comes after the owner: Cluster API sets the owner at the same time.
    let Some(owner) = &machine.owner else {
        return Decision::wait(Why::NoOwner);
    };
    let Some(cluster) = facts.cluster else {
        return Decision::wait(Why::NoCluster);
    };
    if !machine.finalizer {
        return Decision::write(Act::AddFinalizer);
    }
    let Some(host) = &machine.host else {
        return start(facts, owner, cluster);
    };
    match facts.host {
        Some(there) => on_host(facts, owner, cluster, host, there),
        None if host.committed => Decision::wait(Why::HostGone {
            host: host.name.clone(),
        }),
        None => Decision::write(Act::ClearHost { tried: None }),
    }
}

fn start(facts: &Facts<'_>, owner: &Owner, cluster: &OwnerCluster) -> Decision {
    if !cluster.provisioned {
        return Decision::wait(Why::InfrastructureNotReady);
    }
    if !owner.has_data {
        return Decision::wait(Why::NoData);
    }
    match choose(facts, owner) {
        Ok(choice) => Decision::write(Act::SetHost(choice.host)),
        Err(why) => Decision::look_again(why),
    }
}

fn on_host(
    facts: &Facts<'_>,
    owner: &Owner,
    cluster: &OwnerCluster,
    host: &HostRef,
    there: &Host,
) -> Decision {
    match &there.claim {
        None => put_claim(facts, owner, cluster, host, there),
        Some(claim) if claim.id != host.claim => taken(host, claim),
        // Only a committed machine gives data. We have read the machine before it was committed, or a
        // restored API server has lost the commitment.
        Some(claim) if claim.bootstrap_hash.is_some() && !host.committed => {
            Decision::write(Act::Commit)
        }
        Some(claim) if claim.wanted == Wanted::Released => released(host, there),
        Some(claim) if facts.machine.provisioned => running(facts, claim),
        Some(claim) => progress(facts, host, claim, there),
    }
}

/// The host has no claim: it was not written yet, or a restored API server has lost it. A machine
/// that is not committed can take another host, if this one is not free any more.
fn put_claim(
    facts: &Facts<'_>,
    owner: &Owner,
    cluster: &OwnerCluster,
    host: &HostRef,
    there: &Host,
) -> Decision {
    let was_here = host.committed || there.observes(&host.claim);
    let is_free = there.phase == Phase::Available && !there.deleting && !there.cordoned;
    if there.is_fenced(&host.claim) {
        let why = Why::HostReleased {
            host: host.name.clone(),
        };
        return fall_back(host, why);
    }
    if !was_here && !is_free {
        return Decision::write(Act::ClearHost { tried: None });
    }
    match (facts.image)(there.architecture.as_deref()) {
        Ok(image) => Decision::write(Act::PutClaim(claim(facts, owner, cluster, host, image))),
        Err(reason) => {
            let name = host.name.clone();
            fall_back(host, Why::HostFailed { host: name, reason })
        }
    }
}

fn claim(
    facts: &Facts<'_>,
    owner: &Owner,
    cluster: &OwnerCluster,
    host: &HostRef,
    image: String,
) -> Claim {
    Claim {
        cluster: cluster.name.clone(),
        image: Some(image),
        version: Some(owner.version.clone()),
        ..claim_on(facts.machine, host)
    }
}

/// A machine that may choose again does. The others say why they cannot go on.
fn fall_back(host: &HostRef, why: Why) -> Decision {
    if host.committed {
        return Decision::wait(why);
    }
    let failed = why.class() == Class::NextHost;
    let tried = failed.then(|| Failed {
        host: host.name.clone(),
        by_image: matches!(&why, Why::HostFailed { reason, .. } if is_of_the_image(reason)),
    });
    Decision::because(Act::ClearHost { tried }, why)
}

/// Whether a host says that it could not run the image. All else that a host says, or its silence,
/// says nothing about the image.
fn is_of_the_image(reason: &str) -> bool {
    let detail = String::new();
    reason == Reason::ImageFailed { detail }.code()
}

fn taken(host: &HostRef, found: &Claim) -> Decision {
    if !host.committed {
        return Decision::write(Act::ClearHost { tried: None });
    }
    Decision::wait(Why::HostTaken {
        host: host.name.clone(),
        claim: host.claim.clone(),
        found: found.id.clone(),
    })
}

/// The claim says that the host should leave. Before the commitment that is our own order after a
/// failure.
fn released(host: &HostRef, there: &Host) -> Decision {
    let why = if host.committed {
        Why::HostReleased {
            host: host.name.clone(),
        }
    } else {
        Why::HostFailed {
            host: host.name.clone(),
            reason: there.reason.clone().unwrap_or_default(),
        }
    };
    fall_back(host, why)
}

/// Nothing is left to do for a machine that is provisioned, but to remove data that a power cut
/// left.
fn running(facts: &Facts<'_>, claim: &Claim) -> Decision {
    if let Held::Data { claim: of, .. } = facts.held
        && *of == claim.id
    {
        return Decision::write(Act::RemoveData);
    }
    let why = node_conflict(facts).unwrap_or(Why::Running);
    Decision::wait(why)
}

fn node_conflict(facts: &Facts<'_>) -> Option<Why> {
    match facts.node {
        Node::Other { name, provider_id } => Some(Why::NodeNameTaken {
            node: name.clone(),
            found: provider_id.clone(),
        }),
        Node::NoCluster
        | Node::Away(_)
        | Node::Missing { .. }
        | Node::Ready
        | Node::NotReady { .. } => None,
    }
}

/// Whether the host does not answer its claim. It was alive when it was chosen. The silence counts
/// from the claim, and from the moment in which careen-provider leads with all lists complete: before,
/// nobody could hear it.
fn is_deaf(facts: &Facts<'_>, host: &HostRef, there: &Host) -> bool {
    let silent = there.silent(facts.now).min(facts.now - host.since);
    silent.min(facts.leads_for) >= facts.policy.alive
}

fn progress(facts: &Facts<'_>, host: &HostRef, claim: &Claim, there: &Host) -> Decision {
    let name = || host.name.clone();
    let waited = facts.now - host.since;
    let late = waited > facts.machine.join_seconds;
    if had_joined(facts, host, claim, there) {
        return Decision::write(Act::SetProvisioned);
    }
    if !there.observes(&claim.id) {
        if !host.committed && (late || is_deaf(facts, host, there)) {
            let silent = Why::HostFailed {
                host: name(),
                reason: "it does not answer".to_owned(),
            };
            return give_back(facts, silent);
        }
        return Decision::look_again(Why::Unobserved { host: name() });
    }
    if late && there.phase != Phase::Joined {
        let seconds = facts.machine.join_seconds;
        let why = Why::JoinLate {
            host: name(),
            seconds,
        };
        return give_back_if_possible(facts, host, why);
    }
    match there.phase {
        Phase::Joined => joined(facts, host),
        Phase::Joining => joining(facts, host, claim, there),
        Phase::Failed | Phase::Quarantined => failed(facts, host, there),
        // It leaves although nobody has told it to.
        Phase::Fencing | Phase::Cleaning | Phase::Registered => failed(facts, host, there),
        Phase::Available | Phase::Imaging => Decision::look_again(Why::Imaging {
            host: name(),
            image: claim.image.clone().unwrap_or_default(),
        }),
    }
}

/// Whether the host had joined before `clusterctl move`, which drops status: a machine gets its
/// provider id after the join. The host is heard again when a person has brought it a new token, and
/// until then Cluster API must not take the machine for one that never came up.
fn had_joined(facts: &Facts<'_>, host: &HostRef, claim: &Claim, there: &Host) -> bool {
    let had = host.committed && facts.machine.provider_id.is_some();
    had && claim.bootstrap_hash.is_some() && there.observed.is_none()
}

fn failed(facts: &Facts<'_>, host: &HostRef, there: &Host) -> Decision {
    let (name, reason) = (host.name.clone(), there.reason.clone().unwrap_or_default());
    let why = if host.committed {
        Why::JoinFailed { host: name, reason }
    } else {
        Why::HostFailed { host: name, reason }
    };
    give_back_if_possible(facts, host, why)
}

/// The host runs the image and asks for the data. First the machine is committed, then the data are
/// copied, then the host is told of them: it uses none before.
fn joining(facts: &Facts<'_>, host: &HostRef, claim: &Claim, there: &Host) -> Decision {
    let asks = there.step.as_deref() == Some(AWAITS_DATA);
    if claim.bootstrap_hash.is_some() && !asks {
        return Decision::look_again(Why::Joining {
            host: host.name.clone(),
        });
    }
    if let Some(why) = node_conflict(facts).or_else(|| twin(facts, claim, there)) {
        return give_back_if_possible(facts, host, why);
    }
    let hash = match facts.data {
        Data::Unread | Data::Missing => return Decision::look_again(Why::NoData),
        Data::Bad(detail) => {
            let detail = detail.clone();
            return Decision::wait(Why::BadData { detail });
        }
        Data::Hash(hash) => hash.clone(),
    };
    if !host.committed {
        return Decision::write(Act::Commit);
    }
    let held = Held::Data {
        claim: claim.id.clone(),
        hash: hash.clone(),
    };
    if *facts.held != held {
        return Decision::write(Act::CopyData { hash });
    }
    if claim.bootstrap_hash.as_ref() != Some(&hash) {
        return Decision::write(Act::TellData { hash });
    }
    Decision::look_again(Why::Joining {
        host: host.name.clone(),
    })
}

/// Another host of the cluster has the same host name, and goes first: it was told of its data, or its
/// id is lower. Machines that choose at the same moment do not see each other's hosts, and there is no
/// Node before the first one has joined.
fn twin(facts: &Facts<'_>, claim: &Claim, there: &Host) -> Option<Why> {
    let has_its_name = |other: &&&Host| {
        other.name != there.name && !other.hostname.is_empty() && other.hostname == there.hostname
    };
    let goes_first = |other: &&Claim| {
        let is_first = other.bootstrap_hash.is_some() || other.id < claim.id;
        other.cluster == claim.cluster && other.wanted == Wanted::Joined && is_first
    };
    let others = facts.hosts.iter().filter(has_its_name);
    let first = others
        .filter_map(|other| other.claim.as_ref())
        .find(goes_first)?;
    Some(Why::NodeNameTaken {
        node: there.hostname.clone(),
        found: first.provider_id.clone(),
    })
}

fn joined(facts: &Facts<'_>, host: &HostRef) -> Decision {
    // A restored API server may have lost the commitment of a host that has joined since.
    if !host.committed {
        return Decision::write(Act::Commit);
    }
    if let Held::Data { claim, .. } = facts.held
        && *claim == host.claim
    {
        return Decision::write(Act::RemoveData);
    }
    if let Some(why) = node_conflict(facts) {
        return Decision::look_again(why);
    }
    let id = id_of(facts.machine, host);
    if facts.machine.provider_id.is_none() {
        return Decision::write(Act::SetProviderId(id));
    }
    Decision::write(Act::SetProvisioned)
}
