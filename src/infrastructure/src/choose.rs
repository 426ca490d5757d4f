//! The choice of a host.

use std::collections::{BTreeMap, HashSet};

use crate::claim::{Claim, HostRef, provider_id};
use crate::facts::{Facts, Machine, Owner};
use crate::host::Host;
use crate::quantity::amount;
use crate::unfit::{Refused, Unfit};
use crate::why::Why;
use life::Phase;

/// A host for a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// What the machine says from now on.
    pub host: HostRef,
    /// The image that the host gets.
    pub image: String,
}

/// Chooses a host. One that runs the image already comes first.
///
/// # Errors
/// [`Why::NoHost`] with the counts, or [`Why::ImageFailing`].
pub fn choose(facts: &Facts<'_>, owner: &Owner) -> Result<Choice, Why> {
    let mut refused = Refused {
        hosts: facts.hosts.len(),
        ..Refused::default()
    };
    let names = hostnames(facts);
    let mut best: Option<(&Host, String)> = None;
    for host in in_turn(facts.hosts, facts.new_id) {
        match fits(facts, owner, host, &names) {
            Ok(image) => {
                let runs_it = host.image.as_deref() == Some(&image);
                if runs_it || best.is_none() {
                    best = Some((host, image));
                }
                if runs_it {
                    break;
                }
            }
            Err(unfit) => *refused.counts.entry(unfit).or_default() += 1,
        }
    }
    let Some((host, image)) = best else {
        return Err(Why::NoHost { refused });
    };
    let failures = (facts.failed_with)(&image);
    if failures >= facts.policy.image_failures {
        let hosts = failures;
        return Err(Why::ImageFailing { image, hosts });
    }
    let host = HostRef {
        name: host.name.clone(),
        claim: facts.new_id.to_owned(),
        since: facts.now,
        committed: false,
    };
    Ok(Choice { host, image })
}

/// The hosts, from one that the random id of the claim picks. Machines that choose at the same
/// moment would all take the first host otherwise, and all but one of them would choose again.
fn in_turn<'a>(hosts: &[&'a Host], id: &str) -> impl Iterator<Item = &'a Host> {
    let number = u64::from_str_radix(id, 16).unwrap_or(0);
    let many = u64::try_from(hosts.len()).unwrap_or(u64::MAX).max(1);
    let first = usize::try_from(number % many).unwrap_or(0);
    let (before, after) = hosts.split_at(first);
    after.iter().chain(before).copied()
}

/// The image that the host would get, or why it cannot be chosen.
fn fits(
    facts: &Facts<'_>,
    owner: &Owner,
    host: &Host,
    names: &HashSet<&str>,
) -> Result<String, Unfit> {
    let machine = facts.machine;
    asked_for(machine, owner, host)?;
    is_free(facts, owner, host)?;
    refuse_if(names.contains(host.hostname.as_str()), Unfit::SameHostname)?;
    has_minimum(&machine.minimum, host)?;
    let image = (facts.image)(host.architecture.as_deref()).map_err(|_| Unfit::NoImage)?;
    if host.image.as_deref() != Some(&image) && !host.loader_fit {
        return Err(Unfit::LoaderUnfit);
    }
    Ok(image)
}

fn refuse_if(condition: bool, unfit: Unfit) -> Result<(), Unfit> {
    if condition { Err(unfit) } else { Ok(()) }
}

fn asked_for(machine: &Machine, owner: &Owner, host: &Host) -> Result<(), Unfit> {
    let name = machine.host_name.as_deref();
    refuse_if(name.is_some_and(|name| name != host.name), Unfit::OtherName)?;
    refuse_if(!machine.selector.matches(&host.labels), Unfit::OtherLabels)?;
    // The contract: "MUST be placed" in the failure domain of the Machine.
    let domain = owner.failure_domain.as_ref();
    let other = domain.is_some_and(|domain| host.failure_domain.as_ref() != Some(domain));
    let elsewhere = |domain: &String| host.failure_domain.as_ref() != Some(domain);
    let outside = !owner.domains.is_empty() && owner.domains.iter().all(elsewhere);
    refuse_if(other || outside, Unfit::OtherDomain)
}

fn is_free(facts: &Facts<'_>, owner: &Owner, host: &Host) -> Result<(), Unfit> {
    let cluster = facts.cluster.map(|cluster| cluster.name.as_str());
    let mine = owner.control_plane && host.reserved_for.as_deref() == cluster;
    refuse_if(host.claim.is_some(), Unfit::Claimed)?;
    refuse_if(host.reserved_for.is_some() && !mine, Unfit::Reserved)?;
    refuse_if(facts.machine.tried.contains(&host.name), Unfit::Tried)?;
    refuse_if(!host.approved, Unfit::Unapproved)?;
    refuse_if(host.cordoned || host.deleting, Unfit::Cordoned)?;
    refuse_if(host.phase != Phase::Available, Unfit::NotClean)?;
    refuse_if(!host.is_alive(facts.now, facts.policy.alive), Unfit::Silent)
}

/// The host names of the cluster's hosts. A kubelet registers by its host name.
fn hostnames<'a>(facts: &Facts<'a>) -> HashSet<&'a str> {
    let cluster = facts.cluster.map(|cluster| cluster.name.as_str());
    let of_it = |host: &&&Host| {
        let claim = host.claim.as_ref().map(|claim| claim.cluster.as_str());
        claim.is_some() && claim == cluster
    };
    let hosts = facts.hosts.iter().filter(of_it);
    hosts.map(|host| host.hostname.as_str()).collect()
}

/// Whether the host has this much at least.
pub(crate) fn has_minimum(wanted: &BTreeMap<String, String>, host: &Host) -> Result<(), Unfit> {
    for (resource, minimum) in wanted {
        let capacity = host.capacity.get(resource).map_or("0", String::as_str);
        match (amount(minimum), amount(capacity)) {
            (Ok(minimum), Ok(capacity)) => refuse_if(capacity < minimum, Unfit::TooSmall)?,
            (Err(_), _) | (_, Err(_)) => return Err(Unfit::UnreadableCapacity),
        }
    }
    Ok(())
}

/// The provider id of a machine on its host.
pub(crate) fn id_of(machine: &Machine, host: &HostRef) -> String {
    provider_id(&machine.namespace, &host.name, &host.claim)
}

/// What a claim of the machine on its host always says.
pub(crate) fn claim_on(machine: &Machine, host: &HostRef) -> Claim {
    Claim {
        id: host.claim.clone(),
        machine: machine.name.clone(),
        provider_id: id_of(machine, host),
        release: machine.release,
        join_seconds: machine.join_seconds,
        ..Claim::default()
    }
}
