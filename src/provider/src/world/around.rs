//! The context of a Machine: who is paused, how many of its group work, and the versions of its
//! cluster.

use std::sync::Arc;

use super::World;
use super::unasked::Look;
use crate::clusters::ClusterState;
use crate::engine::{ControlPlane, Kubelet, Machine, Other, Others, Server, Why, skew};
use crate::events::Happened;
use crate::machines::{Group, GroupKind, Key};

/// How many working Machines are searched for one that keeps its turn. A group may have thousands.
const LOOKED_AT: usize = 50;

/// What is paused. `own` says whether an object is paused, and which key on it looks like a pause.
fn stopped(own: (bool, Option<&str>), name: impl Fn() -> String) -> Option<String> {
    match own {
        (true, _) => Some(name()),
        (false, Some(key)) => Some(format!("{}, whose {key} looks like a pause,", name())),
        (false, None) => None,
    }
}

impl World {
    /// The Machine is being deleted, or it or an owner is paused.
    #[must_use]
    pub fn is_stopped(&self, machine: &Machine) -> bool {
        machine.deleting || self.paused(machine).is_some()
    }

    pub(super) fn paused(&self, machine: &Machine) -> Option<String> {
        let own = (machine.paused, machine.looks_paused.as_deref());
        if let Some(what) = stopped(own, || format!("Machine {}", machine.name)) {
            return Some(what);
        }
        let cluster = machine.cluster_key();
        let facts = self.machines.cluster(&cluster);
        if let Some(what) = facts.and_then(|facts| {
            let own = (facts.paused, facts.looks_paused.as_deref());
            stopped(own, || format!("Cluster {}", cluster.name))
        }) {
            return Some(what);
        }
        if machine.control_plane {
            let (owner, facts) = self.machines.owner_of_control_plane(&cluster)?;
            let own = (facts.paused, facts.looks_paused.as_deref());
            return stopped(own, || format!("KubeadmControlPlane {}", owner.name));
        }
        let deployment = self.deployment(machine)?;
        let facts = self.machines.deployment(&deployment)?;
        let own = (facts.paused, facts.looks_paused.as_deref());
        stopped(own, || format!("MachineDeployment {}", deployment.name))
    }

    /// Whether the owner's template has the requesting annotation. The owner puts it back on the
    /// Machine whenever somebody removes it there.
    #[must_use]
    pub fn asks_by_template(&self, machine: &Machine) -> bool {
        if machine.control_plane {
            let owner = self.machines.owner_of_control_plane(&machine.cluster_key());
            return owner.is_some_and(|(_, facts)| facts.asks);
        }
        let deployment = self.deployment(machine);
        let facts = deployment.and_then(|key| self.machines.deployment(&key));
        facts.is_some_and(|facts| facts.asks)
    }

    fn deployment(&self, machine: &Machine) -> Option<Key> {
        let name = machine.deployment.as_deref()?;
        Some(Key::new(machine.namespace.as_str(), name))
    }

    pub(super) fn control_plane(&self, machine: &Machine, cluster: &ClusterState) -> ControlPlane {
        let pods = machine.node.as_ref().map(|node| cluster.pods_of(node));
        let members = self.machines.control_plane_of(&machine.cluster_key());
        ControlPlane {
            oldest: oldest(cluster, &members),
            members: members.len(),
            pods: pods.unwrap_or_default(),
        }
    }

    /// The oldest server of the cluster's API. A member that is left out counts too: its server
    /// answers kubelets all the same.
    #[must_use]
    pub fn oldest(&self, key: &Key, cluster: &ClusterState) -> Option<Server> {
        oldest(cluster, &self.machines.control_plane_of(key))
    }

    /// If only the version reported by the API server holds the Machine, asks the server again. Its
    /// report may predate the control plane's upgrade, and a control plane without visible Nodes
    /// does not show the upgrade.
    pub fn doubt(&self, key: &Key, cluster: &ClusterState, why: &Why) {
        if let Why::AheadOfControlPlane { wanted, .. } = why {
            let machines = self.machines.control_plane_of(key);
            let nodes = ControlPlane {
                oldest: cluster.oldest_node(nodes_of(&machines)),
                ..ControlPlane::default()
            };
            let held_by_nodes = nodes.oldest.is_some() && skew(&key.name, wanted, &nodes).is_err();
            if !held_by_nodes {
                cluster.doubt();
            }
        }
        if let Why::ControlPlaneUnknown { .. } = why {
            cluster.doubt();
        }
    }

    /// How many nodes are cordoned while they work for the provider.
    #[must_use]
    pub fn cordoned(&self) -> u32 {
        let marked = self.machines.all();
        let nodes = marked
            .iter()
            .filter(|machine| machine.mark.is_some())
            .filter_map(|machine| {
                let cluster = self.clusters.get(&machine.cluster_key());
                cluster.node(machine.node.as_deref()?)
            });
        u32::try_from(nodes.filter(|node| node.cordoned).count()).unwrap_or(u32::MAX)
    }

    /// The oldest kubelet of a Cluster. Only Nodes of its Machines count, without those that a
    /// person left out. A node reports its version itself, and a Node without a Machine cannot be
    /// found from here.
    #[must_use]
    pub fn oldest_kubelet(&self, key: &Key, cluster: &ClusterState) -> Option<Kubelet> {
        let machines = self.machines.all_of(key);
        let counted = machines.iter().filter(|machine| !machine.left_out);
        let kubelets = counted.filter_map(|machine| {
            let node = cluster.node(machine.node.as_deref()?)?;
            let version = node.kubelet.parse().ok()?;
            machine.owns(&node).then(|| Kubelet {
                version,
                node: node.name.clone(),
                machine: machine.name.clone(),
            })
        });
        kubelets.min_by(|one, other| {
            let order = one.version.cmp(&other.version);
            // Of several equal ones, always the same one is named.
            order.then_with(|| one.machine.cmp(&other.machine))
        })
    }

    /// The other Machines of the group that work. A marked Machine works, even if its node reports
    /// the end: it is not available before the provider sees that. A node that works on an unknown
    /// request counts for a limited time, because it may lie. A group may have thousands of working
    /// Machines, so they are checked one by one only where it matters.
    pub(super) fn working(
        &self,
        machine: &Machine,
        group: &Group,
        cluster: &ClusterState,
        now: i64,
    ) -> Others {
        let (key, allowed) = (machine.key(), self.allowed(group));
        let all = self.machines.others_at_work(group, &key);
        if all < allowed && !by_annotation(machine) {
            return Others {
                count: all,
                one: None,
            };
        }
        let mut others = Others {
            count: self.machines.others_marked(group, &key),
            one: None,
        };
        for other in self.machines.others_unasked(group, &key) {
            if others.count < allowed && self.counts_unasked(&other, now) {
                others.count += 1;
                others.one.get_or_insert_with(|| Other::of(&other));
            }
        }
        if others.one.is_none() && others.count >= allowed {
            others.one = self.keeper(group, &key, cluster, now);
        }
        others
    }

    /// A marked Machine that keeps its turn for longer than an upgrade takes.
    fn keeper(&self, group: &Group, but: &Key, cluster: &ClusterState, now: i64) -> Option<Other> {
        let limit = self.settings.policy.upgrade_seconds;
        let marked = self.machines.some_marked(group, but, LOOKED_AT);
        let mut keepers = marked.iter().filter(|other| {
            let node = other.node.as_deref().and_then(|node| cluster.node(node));
            other.keeps_its_turn(node.as_deref(), now, limit)
        });
        keepers.next().map(|other| Other::of(other))
    }

    /// Whether the others wait for a Machine whose node works on an unknown request. In a control
    /// plane they always do, because two members must never be away at once.
    fn counts_unasked(&self, machine: &Machine, now: i64) -> bool {
        if machine.control_plane {
            return true;
        }
        let limit = self.settings.policy.upgrade_seconds;
        match self.unasked.look(machine.key(), now, limit) {
            Look::Within => true,
            Look::Over { is_news } => {
                if is_news {
                    self.say_stalled(machine, limit);
                }
                false
            }
        }
    }

    fn say_stalled(&self, machine: &Machine, limit: i64) {
        let why = Why::StalledElsewhere {
            node: machine.node.clone().unwrap_or_default(),
            seconds: limit,
        };
        tracing::warn!(machine = %machine.key(), "{why}");
        self.happened(Happened::to_machine(machine, &why));
    }

    /// The other Machines that were requested by annotation, failed, and stay failed. Core counts
    /// its own failures.
    pub(super) fn failed(
        &self,
        machine: &Machine,
        group: &Group,
        cluster: &ClusterState,
    ) -> Others {
        if !by_annotation(machine) {
            return Others::default();
        }
        let members = self.machines.in_group(group);
        let has_failed = |other: &&Arc<Machine>| {
            let node = other.node.as_deref().and_then(|node| cluster.node(node));
            node.is_some_and(|node| node.has_failed())
        };
        let mut failed = members
            .iter()
            .filter(|other| other.name != machine.name && by_annotation(other) && !other.left_out)
            .filter(has_failed);
        let one = failed.next().map(|one| Other::of(one));
        Others {
            count: usize::from(one.is_some()) + failed.count(),
            one,
        }
    }

    /// One at a time unless configured otherwise. Core has its own budget; this limit applies to
    /// both flows.
    pub(super) fn allowed(&self, group: &Group) -> usize {
        match &group.kind {
            GroupKind::ControlPlane | GroupKind::Alone(_) => 1,
            GroupKind::Deployment(name) => {
                let key = Key::new(Arc::clone(&group.cluster.namespace), name.as_str());
                let facts = self.machines.deployment(&key);
                facts.map_or(1, |facts| facts.max_unavailable.max(1))
            }
        }
    }
}

/// The upgrade was requested by annotation: only the provider counts the Machine as unavailable.
const fn by_annotation(machine: &Machine) -> bool {
    machine.asked && !machine.in_progress && !machine.deleting
}

fn oldest(cluster: &ClusterState, members: &[Arc<Machine>]) -> Option<Server> {
    let server = cluster.oldest(nodes_of(members))?;
    let node = server.node.as_deref();
    let mut of_it = members
        .iter()
        .filter(|member| node.is_some() && member.node.as_deref() == node);
    let machine = of_it.next().map(|member| member.name.clone());
    Some(Server { machine, ..server })
}

fn nodes_of(machines: &[Arc<Machine>]) -> impl Iterator<Item = &str> {
    machines
        .iter()
        .filter_map(|machine| machine.node.as_deref())
}
