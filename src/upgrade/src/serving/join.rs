//! One note of several looks. What serves in one of them serves: a pod that is being replaced, or a
//! driver that registers again, must not be left out of the comparison because of one moment.

use std::collections::{BTreeMap, BTreeSet};

use super::Serving;
use super::compare::KEEPS_PODS_OFF;
use super::offer::{NodePod, Offer};
use super::quantity::value;
use super::units::{Down, Units};

impl Serving {
    /// This note and a later one.
    #[must_use]
    pub fn joined(self, later: Self) -> Self {
        Self {
            node: both(self.node, later.node, Offer::joined),
            units: both(self.units, later.units, Units::joined),
            system: any(self.system, later.system),
            settings: any(self.settings, later.settings),
            limits: later.limits.or(self.limits),
            kernel: any(self.kernel, later.kernel),
            pod_network: self.pod_network || later.pod_network,
            network_refusal: later.network_refusal.or(self.network_refusal),
            no_sandbox: self.no_sandbox || later.no_sandbox,
            boot_seconds: later.boot_seconds.or(self.boot_seconds),
        }
    }
}

impl Units {
    /// What was active in one of them was active. A unit that failed in one of them failed.
    fn joined(self, later: Self) -> Self {
        let is_told = |unit: &Down| later.down.iter().any(|other| other.name == unit.name);
        let mut down = self.down;
        down.retain(|unit| !is_told(unit));
        down.extend(later.down);
        Self {
            starting: self.starting.or(later.starting),
            down,
            active: any(self.active, later.active),
        }
    }
}

impl Offer {
    /// This look and a later one.
    #[must_use]
    pub fn joined(self, later: Self) -> Self {
        Self {
            conditions: conditions(self.conditions, later.conditions),
            addresses: addresses(self.addresses, later.addresses),
            resources: resources(self.resources, later.resources),
            // The node has served without what only one of them shows.
            taints: both(self.taints, later.taints, |one, other| &one & &other),
            drivers: any(self.drivers, later.drivers),
            handlers: any(self.handlers, later.handlers),
            features: any(self.features, later.features),
            devices: any(self.devices, later.devices),
            labels: any(self.labels, later.labels),
            services: &self.services | &later.services,
            pods: pods(self.pods, later.pods),
        }
    }
}

type Names = Option<BTreeSet<String>>;

fn any(one: Names, other: Names) -> Names {
    both(one, other, |one, other| &one | &other)
}

/// Both joined, or the one that is known.
fn both<T>(one: Option<T>, other: Option<T>, join: impl FnOnce(T, T) -> T) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(join(one, other)),
        (one, other) => one.or(other),
    }
}

/// The later status, except that of a pressure: pods were not kept off all the time.
fn conditions(
    one: BTreeMap<String, String>,
    mut later: BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    for (kind, was) in one {
        let is_pressure = KEEPS_PODS_OFF.contains(&kind.as_str());
        if !later.contains_key(&kind) || (is_pressure && was != "True") {
            later.insert(kind, was);
        }
    }
    later
}

fn addresses(
    one: Vec<(String, String)>,
    mut later: Vec<(String, String)>,
) -> Vec<(String, String)> {
    for address in one {
        if !later.contains(&address) {
            later.push(address);
        }
    }
    later
}

/// The larger quantity of each.
fn resources(
    one: BTreeMap<String, String>,
    mut later: BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    for (name, was) in one {
        let is = later.get(&name).map_or("0", String::as_str);
        if value(&was) > value(is) {
            later.insert(name, was);
        }
    }
    later
}

/// The later pods of each owner, unless only the earlier ones were Ready.
fn pods(one: Vec<NodePod>, later: Vec<NodePod>) -> Vec<NodePod> {
    let is_ready = |pod: &NodePod| pod.unready.is_none();
    let serves = |pods: &[NodePod], of: &NodePod| {
        pods.iter()
            .any(|pod| pod.owner == of.owner && is_ready(pod))
    };
    let kept: Vec<_> = (one.into_iter())
        .filter(|pod| is_ready(pod) && !serves(&later, pod))
        .collect();
    let news = later.into_iter().filter(|pod| !serves(&kept, pod));
    let mut all: Vec<_> = news.chain(kept.clone()).collect();
    all.sort_by(|one, other| (&one.owner, &one.uid).cmp(&(&other.owner, &other.uid)));
    all
}
