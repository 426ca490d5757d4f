//! What a machine of a template will have at least. The cluster autoscaler scales from zero by that
//! (Cluster API, proposal of opt-in autoscaling from zero).

use std::collections::BTreeMap;

use crate::choose::has_minimum;
use crate::host::Host;
use crate::quantity::amount;
use crate::selector::Selector;

/// What a template asks of its hosts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wished {
    /// The labels.
    pub selector: Selector,
    /// This host or none.
    pub host_name: Option<String>,
    /// What the host must have at least.
    pub minimum: BTreeMap<String, String>,
}

/// What each machine of the template has at least.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expected {
    /// The least amount of each resource that all hosts have.
    pub capacity: BTreeMap<String, String>,
    /// The architecture, if all hosts have the same one.
    pub architecture: Option<String>,
}

/// The least of the hosts that a machine of this template can get, used ones included. Nothing
/// without such a host.
#[must_use]
pub fn expected(wished: &Wished, hosts: &[&Host]) -> Option<Expected> {
    let fits = |host: &&&Host| {
        let is_named = wished
            .host_name
            .as_ref()
            .is_none_or(|name| *name == host.name);
        let is_in = host.approved && !host.deleting;
        is_named
            && is_in
            && wished.selector.matches(&host.labels)
            && has_minimum(&wished.minimum, host).is_ok()
    };
    let all: Vec<&Host> = hosts.iter().filter(fits).copied().collect();
    let (first, others) = all.split_first()?;
    let mut capacity = first.capacity.clone();
    for host in others {
        capacity.retain(|resource, least| match host.capacity.get(resource) {
            Some(theirs) => {
                lower(least, theirs);
                true
            }
            None => false,
        });
    }
    capacity.retain(|_, text| amount(text).is_ok());
    let architecture = first.architecture.clone();
    let same = others.iter().all(|host| host.architecture == architecture);
    Some(Expected {
        capacity,
        architecture: architecture.filter(|_| same),
    })
}

/// Keeps the smaller one. One that cannot be read counts as the smallest.
fn lower(least: &mut String, theirs: &str) {
    let smaller = match (amount(least), amount(theirs)) {
        (Ok(least), Ok(theirs)) => theirs < least,
        (Ok(_), Err(_)) => true,
        (Err(_), Ok(_) | Err(_)) => false,
    };
    if smaller {
        theirs.clone_into(least);
    }
}
