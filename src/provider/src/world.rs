//! All that is watched, in one place, and the decision on one Machine put together from it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::catalogue::{Catalogues, For, choose};
use crate::clusters::{ClusterState, Clusters};
use crate::engine::{
    ControlPlane, Decision, Facts, Machine, NodeFacts, NodeView, Road, Told, Turns, Wanted, decide,
};
use crate::events::{Events, Happened};
use crate::machines::{Group, GroupKind, Key, Machines};
use crate::metrics::Metrics;
use crate::queue::Queue;
use crate::settings::Settings;

/// How long a hook's word waits for the watch to show its Machine in progress: the call may be faster than the watch.
const FRESH: Duration = Duration::from_secs(20);

/// What core said of a Machine, when, and whether the watch has shown it in progress since.
#[derive(Clone)]
struct Heard {
    told: Told,
    at: Instant,
    seen: bool,
}

/// Everything that is known.
pub struct World {
    /// The management side.
    pub machines: Machines,
    /// The workload clusters.
    pub clusters: Clusters,
    /// The images.
    pub catalogues: Catalogues,
    /// Machines to look at.
    pub queue: Queue<Key>,
    /// What operators set.
    pub settings: Settings,
    /// What is counted.
    pub metrics: Metrics,
    told: Mutex<HashMap<Key, Heard>>,
    unwritten: Mutex<HashMap<Key, String>>,
    events: Option<Events>,
}

impl World {
    /// Puts it together.
    #[must_use]
    pub fn new(
        machines: Machines,
        clusters: Clusters,
        queue: Queue<Key>,
        settings: Settings,
    ) -> Self {
        Self {
            machines,
            clusters,
            catalogues: Catalogues::default(),
            queue,
            settings,
            metrics: Metrics::default(),
            told: Mutex::default(),
            unwritten: Mutex::default(),
            events: None,
        }
    }

    /// Has Events published through this.
    #[must_use]
    pub fn with_events(self, events: Events) -> Self {
        Self {
            events: Some(events),
            ..self
        }
    }

    /// Says something about an object to whoever looks at it.
    pub fn happened(&self, happened: Happened) {
        if let Some(events) = &self.events {
            events.tell(happened);
        }
    }

    /// Whether everything was listed once: before that, what is not seen may still be there.
    #[must_use]
    pub fn synced(&self) -> bool {
        self.machines.synced() && self.catalogues.synced()
    }

    /// Remembers what a Machine should be. Lost when we restart; then core says it again.
    pub fn tell(&self, key: &Key, told: Told) {
        let mut all = self.all_told();
        let seen = all.get(key).is_some_and(|heard| heard.seen);
        let at = Instant::now();
        all.insert(key.clone(), Heard { told, at, seen });
    }

    /// Takes note of how the watch shows a Machine: one that was called for and is so no more is not wanted any more, and what was
    /// said long before it came to be called for was said of something else.
    pub fn saw(&self, machine: &Machine) {
        let (mut all, key) = (self.all_told(), machine.key());
        let Some(heard) = all.get_mut(&key) else {
            return;
        };
        let stale = !heard.seen && heard.at.elapsed() >= FRESH;
        if stale || (heard.seen && !machine.is_called_for()) {
            all.remove(&key);
        } else {
            heard.seen = machine.is_called_for();
        }
    }

    /// Forgets it.
    pub fn forget(&self, key: &Key) {
        self.all_told().remove(key);
        self.all_unwritten().remove(key);
        self.queue.forget(key);
    }

    /// Remembers that what was due of a Machine could not be written, and why; or that it could.
    pub fn wrote(&self, key: &Key, failure: Option<String>) {
        let mut all = self.all_unwritten();
        match failure {
            Some(why) => all.insert(key.clone(), why),
            None => all.remove(key),
        };
    }

    /// Why what is due of a Machine could not be written when that was tried last.
    #[must_use]
    pub fn unwritten(&self, key: &Key) -> Option<String> {
        self.all_unwritten().get(key).cloned()
    }

    fn all_unwritten(&self) -> std::sync::MutexGuard<'_, HashMap<Key, String>> {
        self.unwritten
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn all_told(&self) -> std::sync::MutexGuard<'_, HashMap<Key, Heard>> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was said of a Machine, as long as it counts: core marks a Machine before it calls, and others may call too.
    #[must_use]
    pub fn told(&self, machine: &Machine) -> Option<Told> {
        let heard = self.all_told().get(&machine.key()).cloned();
        heard
            .filter(|_| machine.is_called_for())
            .map(|heard| heard.told)
    }

    /// Whether a hook was called for it a moment ago: then whoever was called does the writing.
    #[must_use]
    pub fn was_told_lately(&self, key: &Key) -> bool {
        self.all_told()
            .get(key)
            .is_some_and(|heard| heard.at.elapsed() < FRESH)
    }

    /// The decision on a Machine, with what was last said of it.
    #[must_use]
    pub fn decide(&self, machine: &Machine, now: i64) -> Decision {
        self.decide_for(machine, self.told(machine).as_ref(), now)
    }

    /// The decision on a Machine that should be this.
    #[must_use]
    pub fn decide_for(&self, machine: &Machine, told: Option<&Told>, now: i64) -> Decision {
        let cluster = self.clusters.get(&machine.cluster_key());
        let away = cluster.link().err();
        let node = machine.node.as_ref().and_then(|name| cluster.node(name));
        let view = match (&away, &node) {
            (Some(why), _) => NodeView::Away(why),
            (None, None) => NodeView::Missing,
            (None, Some(node)) => NodeView::Seen(node),
        };
        let wanted = told.map(|told| self.wanted(machine, told, node.as_deref()));
        let road = match (&wanted, machine.in_progress) {
            (Some(wanted), _) => Road::Wanted(wanted),
            (None, true) => Road::Untold,
            (None, false) => Road::None,
        };
        let group = machine.group();
        let (name, paused) = (group.to_string(), self.paused(machine));
        decide(&Facts {
            now,
            machine,
            road,
            paused: paused.as_deref(),
            node: view,
            control_plane: self.control_plane(machine, &cluster),
            turns: Turns {
                working: &|| self.working(machine, &group, &cluster),
                allowed: self.allowed(&group),
                group: &name,
            },
            policy: &self.settings.policy,
        })
    }

    fn wanted(&self, machine: &Machine, told: &Told, node: Option<&NodeFacts>) -> Wanted {
        let image = told.image.clone().map_or_else(
            || {
                let name = format!("Machine {}", machine.name);
                let wanted = For {
                    name: &name,
                    version: &told.version,
                    labels: &machine.labels,
                    architecture: node
                        .map(|node| node.architecture.as_str())
                        .filter(|text| !text.is_empty()),
                };
                self.catalogues.look(|all| choose(all, wanted))
            },
            Ok,
        );
        Wanted {
            version: told.version.clone(),
            image,
        }
    }

    fn paused(&self, machine: &Machine) -> Option<String> {
        if machine.paused {
            return Some(format!("Machine {}", machine.name));
        }
        let cluster = machine.cluster_key();
        if self
            .machines
            .cluster(&cluster)
            .is_some_and(|facts| facts.paused)
        {
            return Some(format!("Cluster {}", cluster.name));
        }
        if machine.control_plane {
            let (owner, facts) = self.machines.owner_of_control_plane(&cluster)?;
            return facts
                .paused
                .then(|| format!("KubeadmControlPlane {}", owner.name));
        }
        let deployment = self.deployment(machine)?;
        let paused = self
            .machines
            .deployment(&deployment)
            .is_some_and(|facts| facts.paused);
        paused.then(|| format!("MachineDeployment {}", deployment.name))
    }

    fn deployment(&self, machine: &Machine) -> Option<Key> {
        let name = machine.deployment.as_deref()?;
        Some(Key::new(machine.namespace.as_str(), name))
    }

    fn control_plane(&self, machine: &Machine, cluster: &ClusterState) -> ControlPlane {
        let pods = machine.node.as_ref().map(|node| cluster.pods_of(node));
        ControlPlane {
            oldest: self.oldest(&machine.cluster_key(), cluster),
            pods: pods.unwrap_or_default(),
        }
    }

    /// The oldest version that may serve the cluster's API.
    #[must_use]
    pub fn oldest(&self, key: &Key, cluster: &ClusterState) -> Option<upgrade::Version> {
        let machines = self.machines.control_plane_of(key);
        cluster.oldest(
            machines
                .iter()
                .filter_map(|machine| machine.node.as_deref()),
        )
    }

    /// How many nodes are cordoned while they work for us.
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

    /// How many others of the group work.
    fn working(&self, machine: &Machine, group: &Group, cluster: &ClusterState) -> usize {
        cluster.in_flight(|nodes| self.machines.others_of(group, &machine.name, nodes))
    }

    /// One at a time where nobody says more. Core has a budget of its own; this one holds for both roads.
    fn allowed(&self, group: &Group) -> usize {
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

/// Seconds since 1970.
#[must_use]
pub fn now() -> i64 {
    k8s_openapi::jiff::Timestamp::now().as_second()
}
