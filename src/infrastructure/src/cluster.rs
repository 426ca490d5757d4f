//! The decision on a CareenCluster.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::host::Host;
use crate::selector::Selector;

/// The address of a control plane.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Endpoint {
    /// A name or an address.
    #[serde(default)]
    #[schemars(length(max = 512))]
    pub host: String,
    /// A port.
    #[serde(default)]
    #[schemars(range(min = 0, max = 65535))]
    pub port: i32,
}

impl Endpoint {
    /// Whether both parts are there.
    #[must_use]
    pub fn is_known(&self) -> bool {
        !self.host.is_empty() && self.port > 0
    }
}

/// A host whose address is the control plane's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct EndpointFrom {
    /// The CareenHost.
    #[schemars(length(min = 1, max = 63))]
    pub host: String,
    /// A port.
    #[serde(default = "api_port")]
    #[schemars(range(min = 1, max = 65535))]
    pub port: i32,
}

/// The port of kubeadm's API servers.
const fn api_port() -> i32 {
    6443
}

/// A failure domain, as the contract of Cluster API has it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Domain {
    /// Its name.
    #[schemars(length(min = 1, max = 256))]
    pub name: String,
    /// Machines of the control plane may be in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control_plane: Option<bool>,
    /// More about it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 32, "additionalProperties" = {"type": "string", "maxLength": 256}))]
    pub attributes: BTreeMap<String, String>,
}

/// A CareenCluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cluster {
    /// The name of the Cluster that owns it.
    pub owner: Option<String>,
    /// Another program manages it. We write nothing.
    pub managed_elsewhere: bool,
    /// It or its Cluster is paused, and what is.
    pub paused: Option<String>,
    /// It is deleted.
    pub deleting: bool,
    /// It has our finalizer.
    pub finalizer: bool,
    /// Its endpoint.
    pub endpoint: Option<Endpoint>,
    /// The host whose address is its endpoint.
    pub endpoint_from: Option<EndpointFrom>,
    /// The endpoint of the Cluster, which another provider may have set.
    pub owners_endpoint: Option<Endpoint>,
    /// The failure domains that a person names.
    pub domains: Vec<Domain>,
    /// The hosts whose failure domains count, if no person names them.
    pub domain_selector: Option<Selector>,
    /// It was said to be provisioned.
    pub provisioned: bool,
    /// The failure domains that it says.
    pub shown: Vec<Domain>,
}

/// All input of one decision on a cluster.
pub struct ClusterFacts<'a> {
    /// The cluster, read from the API server.
    pub cluster: &'a Cluster,
    /// All hosts of the namespace.
    pub hosts: &'a [&'a Host],
    /// The failure domains of its Machines.
    pub used_domains: &'a [String],
    /// How many CareenMachines it has.
    pub machines: usize,
}

/// A write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClusterAct {
    /// Add our finalizer.
    AddFinalizer,
    /// Remove it.
    RemoveFinalizer,
    /// Keep this host for the control plane.
    Reserve(String),
    /// Keep this host no more.
    Unreserve(String),
    /// Write the endpoint into the spec.
    SetEndpoint(Endpoint),
    /// Say that it is provisioned, with these failure domains.
    Show(Vec<Domain>),
}

/// What a cluster waits for.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Error)]
#[allow(missing_docs)]
pub enum ClusterWhy {
    #[error("the infrastructure is provisioned. No action is needed.")]
    Provisioned,
    #[error("careen-provider is about to write the next step. No action is needed.")]
    Moving,
    #[error(
        "no Cluster owns this CareenCluster yet. No action is needed, unless nothing creates one."
    )]
    NoOwner,
    #[error("another program manages this CareenCluster. No action is needed.")]
    ManagedElsewhere,
    #[error("{what} is paused. Remove the pause to continue.")]
    Paused { what: String },
    #[error(
        "the address of the control plane is not known. Set spec.controlPlaneEndpoint or spec.controlPlaneEndpointFrom."
    )]
    EndpointUnknown,
    #[error(
        "host {host} does not exist, or has no address. Check that it is registered, or change spec.controlPlaneEndpointFrom."
    )]
    EndpointHostMissing { host: String },
    #[error("host {host} belongs to another cluster. Change spec.controlPlaneEndpointFrom.")]
    EndpointHostTaken { host: String },
    #[error("{machines} CareenMachines are not gone yet. No action is needed.")]
    MachinesLeft { machines: usize },
    #[error(
        "{hosts} hosts of the cluster are not fenced yet. No action is needed, unless one is off."
    )]
    HostsLeft { hosts: usize },
    #[error("the infrastructure is gone. No action is needed.")]
    Gone,
}

/// What to write to a cluster, and what it waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterDecision {
    /// The write, if one is due.
    pub act: Option<ClusterAct>,
    /// What it waits for.
    pub why: ClusterWhy,
}

const fn write(act: ClusterAct) -> ClusterDecision {
    ClusterDecision {
        act: Some(act),
        why: ClusterWhy::Moving,
    }
}

const fn wait(why: ClusterWhy) -> ClusterDecision {
    ClusterDecision { act: None, why }
}

/// What to write to a cluster now, and what it waits for.
#[must_use]
pub fn decide_cluster(facts: &ClusterFacts<'_>) -> ClusterDecision {
    let cluster = facts.cluster;
    if cluster.managed_elsewhere {
        return wait(ClusterWhy::ManagedElsewhere);
    }
    if let Some(what) = &cluster.paused {
        let what = what.clone();
        return wait(ClusterWhy::Paused { what });
    }
    if cluster.deleting {
        return leave(facts);
    }
    let Some(owner) = &cluster.owner else {
        return wait(ClusterWhy::NoOwner);
    };
    if !cluster.finalizer {
        return write(ClusterAct::AddFinalizer);
    }
    if let Some(decision) = endpoint(facts, owner) {
        return decision;
    }
    let domains = domains(facts);
    if cluster.provisioned && cluster.shown == domains {
        return wait(ClusterWhy::Provisioned);
    }
    write(ClusterAct::Show(domains))
}

/// Cluster API has deleted the Machines before. Hosts whose machine was removed by force may still
/// run.
fn leave(facts: &ClusterFacts<'_>) -> ClusterDecision {
    let cluster = facts.cluster;
    if !cluster.finalizer {
        return wait(ClusterWhy::Gone);
    }
    if facts.machines > 0 {
        let machines = facts.machines;
        return wait(ClusterWhy::MachinesLeft { machines });
    }
    let owner = cluster.owner.as_deref();
    let runs = |host: &&&Host| {
        host.claim.as_ref().is_some_and(|claim| {
            Some(claim.cluster.as_str()) == owner && !claim.lost && !host.is_fenced(&claim.id)
        })
    };
    let hosts = facts.hosts.iter().filter(runs).count();
    if hosts > 0 {
        return wait(ClusterWhy::HostsLeft { hosts });
    }
    let reserved = |host: &&&Host| owner.is_some() && host.reserved_for.as_deref() == owner;
    facts.hosts.iter().find(reserved).map_or_else(
        || ClusterDecision {
            act: Some(ClusterAct::RemoveFinalizer),
            why: ClusterWhy::Gone,
        },
        |host| write(ClusterAct::Unreserve(host.name.clone())),
    )
}

/// Nothing, once the endpoint is known.
fn endpoint(facts: &ClusterFacts<'_>, owner: &str) -> Option<ClusterDecision> {
    let cluster = facts.cluster;
    if cluster.endpoint.as_ref().is_some_and(Endpoint::is_known) {
        return None;
    }
    let Some(from) = &cluster.endpoint_from else {
        let theirs = cluster.owners_endpoint.as_ref();
        let known = theirs.is_some_and(Endpoint::is_known);
        return (!known).then(|| wait(ClusterWhy::EndpointUnknown));
    };
    let host = facts.hosts.iter().find(|host| host.name == from.host);
    let missing = || {
        let host = from.host.clone();
        wait(ClusterWhy::EndpointHostMissing { host })
    };
    let Some((host, address)) = host.and_then(|host| Some((host, host.address.clone()?))) else {
        return Some(missing());
    };
    if host.reserved_for.as_deref() == Some(owner) {
        let port = from.port;
        return Some(write(ClusterAct::SetEndpoint(Endpoint {
            host: address,
            port,
        })));
    }
    if host.reserved_for.is_some() || host.claim.is_some() || !host.approved {
        let host = from.host.clone();
        return Some(wait(ClusterWhy::EndpointHostTaken { host }));
    }
    Some(write(ClusterAct::Reserve(host.name.clone())))
}

/// The domains that a person names, or those of the selected hosts. A domain that a Machine is in
/// stays, even if its last host is gone.
fn domains(facts: &ClusterFacts<'_>) -> Vec<Domain> {
    let cluster = facts.cluster;
    if !cluster.domains.is_empty() {
        return cluster.domains.clone();
    }
    let Some(selector) = &cluster.domain_selector else {
        return Vec::new();
    };
    let hosts = facts.hosts.iter();
    let selected = hosts.filter(|host| host.approved && selector.matches(&host.labels));
    let mut names: Vec<&String> = selected
        .filter_map(|host| host.failure_domain.as_ref())
        .collect();
    let shown = cluster.shown.iter().map(|domain| &domain.name);
    names.extend(shown.filter(|name| facts.used_domains.contains(name)));
    names.sort_unstable();
    names.dedup();
    // The contract allows 100.
    names.truncate(100);
    let domain = |name: &String| Domain {
        name: name.clone(),
        control_plane: Some(true),
        attributes: BTreeMap::new(),
    };
    names.into_iter().map(domain).collect()
}

life::codes! { ClusterWhy::code:
    Provisioned Moving NoOwner ManagedElsewhere Paused EndpointUnknown EndpointHostMissing
    EndpointHostTaken MachinesLeft HostsLeft Gone
}
