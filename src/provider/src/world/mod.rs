//! All watched state in one place, and the decision on one Machine that is derived from it.

mod around;
mod counted;
mod ended;
mod heard;
mod hurt;
mod misses;
mod near;
mod unasked;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use requests::NodeFacts;

use crate::catalogue::{Catalogues, For, choose};
use crate::clusters::Clusters;
use crate::engine::{
    Answer, Decision, Desired, Facts, Instruction, Machine, NodeView, Road, Turns, Why, decide,
    leftover,
};
use crate::events::{Events, Happened};
use crate::machines::{Key, Machines};
use crate::metrics::Metrics;
use crate::queue::Queue;
use crate::settings::Settings;
use counted::Counted;
use heard::Heard;
use near::Near;
use unasked::Unasked;
use upgrade::Target;

/// A decision and the Node that it is based on. The provider writes only to that Node, in the state
/// in which it was seen.
pub struct Judged {
    /// The decision.
    pub decision: Decision,
    /// The Node, if it was visible.
    pub node: Option<Arc<NodeFacts>>,
}

/// All watched state.
pub struct World {
    /// The management cluster.
    pub machines: Machines,
    /// The workload clusters.
    pub clusters: Clusters,
    /// The image catalogues.
    pub catalogues: Catalogues,
    /// Machines to process.
    pub queue: Queue<Key>,
    /// The operator's settings.
    pub settings: Settings,
    /// The metrics.
    pub metrics: Metrics,
    heard: Heard,
    counted: Counted,
    unasked: Unasked,
    near: Near,
    unwritten: Mutex<HashMap<Key, String>>,
    events: Option<Events>,
}

impl World {
    /// Assembles the state.
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
            heard: Heard::default(),
            counted: Counted::default(),
            unasked: Unasked::default(),
            near: Near::default(),
            unwritten: Mutex::default(),
            events: None,
        }
    }

    /// Publishes Events through this queue.
    #[must_use]
    pub fn with_events(self, events: Events) -> Self {
        Self {
            events: Some(events),
            ..self
        }
    }

    /// Also shows prepared hosts in the metrics.
    #[must_use]
    pub fn with_hosts(self) -> Self {
        Self {
            metrics: self.metrics.with_hosts(),
            ..self
        }
    }

    /// Publishes an Event about an object.
    pub fn happened(&self, happened: Happened) {
        if let Some(events) = &self.events {
            events.tell(happened);
        }
    }

    /// Whether everything was listed once. Before that, an object that is not seen may still exist.
    #[must_use]
    pub fn synced(&self) -> bool {
        self.machines.synced() && self.catalogues.synced()
    }

    /// Records the desired state of a Machine.
    pub fn tell(&self, key: &Key, told: Instruction) {
        self.heard.tell(key, told);
    }

    /// Records how the watch shows a Machine.
    pub fn saw(&self, machine: &Machine) {
        self.heard.saw(machine);
    }

    /// Forgets what was recorded of a Machine.
    pub fn forget(&self, key: &Key) {
        self.heard.forget(key);
        self.counted.forget(key);
        self.unasked.forget(key);
        self.all_unwritten().remove(key);
        self.queue.forget(key);
    }

    /// Records why the last write for a Machine failed, or that it succeeded.
    pub fn wrote(&self, key: &Key, failure: Option<String>) {
        let mut all = self.all_unwritten();
        match failure {
            Some(why) => all.insert(key.clone(), why),
            None => all.remove(key),
        };
    }

    /// Why the last write for a Machine failed.
    #[must_use]
    pub fn unwritten(&self, key: &Key) -> Option<String> {
        self.all_unwritten().get(key).cloned()
    }

    fn all_unwritten(&self) -> MutexGuard<'_, HashMap<Key, String>> {
        self.unwritten
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// What core said of a Machine, while it is valid.
    #[must_use]
    pub fn told(&self, machine: &Machine) -> Option<Instruction> {
        self.heard.of(machine)
    }

    /// Whether a hook was called for the Machine a moment ago. The replica that was called then
    /// does the writing.
    #[must_use]
    pub fn was_told_lately(&self, key: &Key) -> bool {
        self.heard.lately(key)
    }

    /// The decision on a Machine, with what core last said of it.
    #[must_use]
    pub fn decide(&self, machine: &Machine, now: i64) -> Decision {
        self.decide_for(machine, self.told(machine).as_ref(), now)
    }

    /// The decision on a Machine with this desired state.
    #[must_use]
    pub fn decide_for(&self, machine: &Machine, told: Option<&Instruction>, now: i64) -> Decision {
        self.judge(machine, told, now).decision
    }

    /// Like [`Self::decide_for`], for a caller that carries the decision out.
    #[must_use]
    pub fn judge(&self, machine: &Machine, told: Option<&Instruction>, now: i64) -> Judged {
        let cluster = self.clusters.get(&machine.cluster_key());
        let away = cluster.link().err();
        let node = machine.node.as_ref().and_then(|name| cluster.node(name));
        let view = view(away.as_deref(), node.as_deref());
        let wanted = told.map(|told| self.wanted(machine, told, node.as_deref()));
        let road = match (&wanted, machine.in_progress) {
            (Some(wanted), _) => Road::Desired(wanted),
            (None, true) => Road::Untold,
            (None, false) => Road::None,
        };
        let group = machine.group();
        let (name, paused) = (group.to_string(), self.paused(machine));
        let decision = decide(&Facts {
            now,
            seen: cluster.seen_since().max(self.machines.seen_since()),
            heard: cluster.heard().unwrap_or(now),
            machine,
            road,
            paused: paused.as_deref(),
            node: view,
            control_plane: self.control_plane(machine, &cluster),
            oldest_kubelet: &|| self.oldest_kubelet(&group.cluster, &cluster),
            turns: Turns {
                hurt: &|| self.hurt(&group, &machine.key(), &cluster),
                working: &|| self.working(machine, &group, &cluster, now),
                failed: &|| self.failed(machine, &group, &cluster),
                allowed: self.allowed(&group),
                group: &name,
            },
            policy: &self.settings.policy,
        });
        if let Answer::Held(why) = &decision.answer {
            self.doubt(&group.cluster, &cluster, why);
        }
        Judged { decision, node }
    }

    /// The answer for a Machine that nobody requests, that has no mark, and whose InfraMachine
    /// still reports progress. Returns nothing as long as the answer is unknown.
    #[must_use]
    pub fn leftover(&self, machine: &Machine) -> Option<Answer> {
        let cluster = self.clusters.get(&machine.cluster_key());
        let away = cluster.link().err();
        let node = machine.node.as_ref().and_then(|name| cluster.node(name));
        leftover(machine, view(away.as_deref(), node.as_deref()))
    }

    fn wanted(&self, machine: &Machine, told: &Instruction, node: Option<&NodeFacts>) -> Desired {
        let image = match &told.image {
            Ok(Some(image)) => Ok(image.clone()),
            Ok(None) => self.catalogued(machine, &told.version, node),
            Err(why) => Err(why.clone()),
        };
        Desired {
            version: told.version.clone(),
            image,
        }
    }

    fn catalogued(
        &self,
        machine: &Machine,
        version: &str,
        node: Option<&NodeFacts>,
    ) -> Result<Target, Why> {
        let name = format!("Machine {}", machine.name);
        let wanted = For {
            name: &name,
            version,
            labels: &machine.labels,
            architecture: node
                .map(|node| node.architecture.as_str())
                .filter(|text| !text.is_empty()),
        };
        self.catalogues.look(|all| choose(all, wanted))
    }
}

/// What is visible of a Node. `away` says why its cluster is not visible.
const fn view<'a>(away: Option<&'a str>, node: Option<&'a NodeFacts>) -> NodeView<'a> {
    match (away, node) {
        (Some(why), _) => NodeView::Away(why),
        (None, None) => NodeView::Missing,
        (None, Some(node)) => NodeView::Seen(node),
    }
}
