//! The known state of one workload cluster.

mod servers;
mod versions;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, PoisonError, RwLock};

use kube::Client;
use requests::{NodeFacts, StaticPod};
use upgrade::Version;

use super::pulse::Pulse;
use super::size::Size;
use crate::engine::clean;
use crate::machines::{Key, Machines};
use crate::watch::is_older;
use servers::{Pods, served_by, servers};

/// How many Nodes and how many static pods of a cluster are kept. Kubernetes supports 5,000 Nodes;
/// a server that lies may show any number.
pub(super) const MOST: usize = 20_000;

/// How many static pods of one node count. A control plane of kubeadm has four.
pub(super) const PODS_OF_ONE: usize = 16;

/// How many bytes a cluster's Nodes may take, and its static pods. A Node at rest takes some 900,
/// one that works 1,500, one that lies up to 8,000.
pub(super) const BYTES: usize = 32 << 20;

/// One workload cluster as last seen.
#[derive(Default)]
pub struct ClusterState {
    state: RwLock<State>,
    pulse: Arc<Pulse>,
    suspected: tokio::sync::Notify,
}

#[derive(Default)]
struct State {
    link: Option<Link>,
    away: Option<Arc<str>>,
    seen: i64,
    nodes: HashMap<String, Arc<NodeFacts>>,
    /// The bytes that the Nodes take.
    bytes: usize,
    audience: Option<Audience>,
    control_plane: HashSet<String>,
    /// The Nodes that are marked as those that no machine has.
    marked: HashSet<String>,
    pods: Pods,
    doubted: Arc<tokio::sync::Notify>,
}

/// Where to report which Nodes of this cluster work.
struct Audience {
    cluster: Key,
    machines: Machines,
}

/// A connection to a workload cluster.
#[derive(Clone)]
pub struct Link {
    /// A client with the rights of the cluster's kubeconfig.
    pub client: Client,
    /// The version that the server last reported, if it reported one.
    pub server: Option<Version>,
}

impl State {
    fn put(&mut self, node: NodeFacts) {
        self.works(&node.name, node.in_flight());
        keep(&mut self.control_plane, &node.name, node.control_plane);
        self.bytes += node.size();
        let before = self.nodes.insert(node.name.clone(), Arc::new(node));
        self.bytes -= before.map_or(0, |before| before.size());
    }

    /// Whether there is room for a Node, which replaces a Node of the same name.
    fn has_room(&self, node: &NodeFacts) -> bool {
        let known = self.nodes.get(&node.name);
        let others = self.bytes - known.map_or(0, |known| known.size());
        (known.is_some() || self.nodes.len() < MOST) && others + node.size() <= BYTES
    }

    /// Updates a known Node, unless the update is older. Returns whether anything relevant changed.
    fn follow(&mut self, known: &NodeFacts, node: NodeFacts) -> bool {
        if node.uid == known.uid && is_older(&node.resource_version, &known.resource_version) {
            return false;
        }
        let same = NodeFacts {
            resource_version: node.resource_version.clone(),
            ..known.clone()
        } == node;
        if !self.has_room(&node) {
            // It has grown, like all that grew before it. No honest cluster does that.
            self.remove(&node.name);
            return true;
        }
        self.doubt_if(served_by(known) != served_by(&node));
        self.put(node);
        !same
    }

    fn remove(&mut self, node: &str) {
        self.works(node, false);
        self.marked.remove(node);
        let gone = self.nodes.remove(node);
        self.bytes -= gone.map_or(0, |gone| gone.size());
        let served = self.control_plane.remove(node);
        self.doubt_if(served);
    }

    /// Reports a change. A Node that is not known does not work.
    fn works(&self, node: &str, works: bool) {
        let worked = self.nodes.get(node).is_some_and(|node| node.in_flight());
        if let Some(audience) = self.audience.as_ref().filter(|_| worked != works) {
            audience.machines.node_works(&audience.cluster, node, works);
        }
    }

    fn say_all(&self) {
        if let Some(Audience { cluster, machines }) = &self.audience {
            let working = self.nodes.values().filter(|node| node.in_flight());
            machines.nodes_work(cluster, working.map(|node| node.name.as_str()));
        }
    }
}

fn keep(set: &mut HashSet<String>, name: &str, belongs: bool) {
    if belongs {
        set.insert(name.to_owned());
    } else {
        set.remove(name);
    }
}

impl ClusterState {
    fn read<T>(&self, look: impl FnOnce(&State) -> T) -> T {
        look(&self.state.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn write<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        act(&mut self.state.write().unwrap_or_else(PoisonError::into_inner))
    }

    /// From now on, reports to the Machines of this Cluster which Nodes work.
    pub(super) fn tell(&self, cluster: Key, machines: Machines) {
        self.write(|state| {
            state.audience = Some(Audience { cluster, machines });
            state.say_all();
        });
    }

    /// Stops the maintenance of this state. Nothing is known of its Nodes after that.
    pub(super) fn leave(&self) {
        self.write(|state| {
            if let Some(Audience { cluster, machines }) = state.audience.take() {
                machines.nodes_work(&cluster, std::iter::empty());
            }
        });
    }

    /// The connection, or why there is none.
    ///
    /// # Errors
    /// A message, if the cluster is not visible.
    pub fn link(&self) -> Result<Link, Arc<str>> {
        self.read(|state| match (&state.away, &state.link) {
            (Some(away), _) => Err(Arc::clone(away)),
            (None, Some(link)) => Ok(link.clone()),
            (None, None) => Err("not connected yet".into()),
        })
    }

    /// The cluster is visible, with these Nodes. Returns the names of all Nodes, old and new.
    pub fn live(&self, link: Link, nodes: Vec<NodeFacts>, now: i64) -> Vec<String> {
        self.write(|state| {
            if state.link.is_none() || state.away.is_some() {
                state.seen = now;
            }
            let mut names: Vec<String> = state.nodes.drain().map(|(name, _)| name).collect();
            state.bytes = 0;
            state.control_plane.clear();
            let audience = state.audience.take();
            nodes.into_iter().for_each(|node| state.put(node));
            state.audience = audience;
            state.say_all();
            names.extend(state.nodes.keys().cloned());
            state.link = Some(link);
            state.away = None;
            names
        })
    }

    /// Since when the cluster is visible without a break.
    #[must_use]
    pub fn seen_since(&self) -> i64 {
        self.read(|state| state.seen).max(self.pulse.since())
    }

    /// When its API server was last heard; nothing if nobody listens.
    #[must_use]
    pub fn heard(&self) -> Option<i64> {
        self.pulse.last()
    }

    pub(super) const fn pulse(&self) -> &Arc<Pulse> {
        &self.pulse
    }

    /// The cluster is not visible. The known state is kept for display, but no decision uses it.
    /// Returns whether this is new.
    pub fn away(&self, why: &str) -> bool {
        // The text may be the server's own.
        let why = clean(why);
        self.write(|state| {
            let news = state.away.as_deref() != Some(why.as_str());
            state.away = Some(why.into());
            news
        })
    }

    /// A request got no answer. The connection is retried at once, which shows whether the cluster
    /// is visible.
    pub fn suspect(&self) {
        self.suspected.notify_one();
    }

    pub(super) async fn until_suspected(&self) {
        self.suspected.notified().await;
    }

    /// One Node is new or changed. An older state is ignored, because the answers to the provider's
    /// writes arrive before the watch. Returns whether anything relevant changed.
    pub fn put(&self, node: NodeFacts) -> bool {
        self.write(|state| match state.nodes.get(&node.name).cloned() {
            Some(known) => state.follow(&known, node),
            None if state.has_room(&node) => {
                state.doubt_if(served_by(&node).is_some());
                state.put(node);
                true
            }
            None => false,
        })
    }

    /// Takes the answer to a write. It may arrive after the Node is gone, or after another Node has
    /// its name. Such a Node must not be stored, because no watch event would ever update it.
    pub fn renew(&self, node: NodeFacts) {
        self.write(|state| {
            let known = state.nodes.get(&node.name).cloned();
            if let Some(known) = known.filter(|known| known.uid == node.uid) {
                state.follow(&known, node);
            }
        });
    }

    /// One Node is gone.
    pub fn remove(&self, node: &str) {
        self.write(|state| state.remove(node));
    }

    /// A Node.
    #[must_use]
    pub fn node(&self, name: &str) -> Option<Arc<NodeFacts>> {
        self.read(|state| state.nodes.get(name).cloned())
    }

    /// The first Node that this is true of.
    #[must_use]
    pub fn find(&self, is: impl Fn(&NodeFacts) -> bool) -> Option<Arc<NodeFacts>> {
        self.read(|state| state.nodes.values().find(|node| is(node)).cloned())
    }

    /// The Nodes that are marked as those that no machine has, of those that are kept.
    pub fn replace_marks(&self, mut names: Vec<String>) {
        self.write(|state| {
            names.retain(|name| state.nodes.contains_key(name));
            state.marked = names.into_iter().collect();
        });
    }

    /// A Node is marked as one that no machine has, or is not any more. One that is not kept needs
    /// no mark.
    pub fn mark(&self, node: &str, there: bool) {
        self.write(|state| {
            keep(
                &mut state.marked,
                node,
                there && state.nodes.contains_key(node),
            )
        });
    }

    /// Whether a Node is marked as one that no machine has.
    #[must_use]
    pub fn is_marked(&self, node: &str) -> bool {
        self.read(|state| state.marked.contains(node))
    }

    /// All Nodes that this is true of.
    #[must_use]
    pub fn which(&self, is: impl Fn(&NodeFacts) -> bool) -> Vec<Arc<NodeFacts>> {
        self.read(|state| {
            state
                .nodes
                .values()
                .filter(|node| is(node))
                .cloned()
                .collect()
        })
    }

    /// How many Nodes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.read(|state| state.nodes.len())
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Replaces all static pods: pod name, Node name, pod.
    pub fn replace_pods(&self, all: Vec<(String, String, StaticPod)>) {
        let map = all.into_iter().map(|(name, node, pod)| (name, (node, pod)));
        let all: Pods = map.collect();
        self.write(|state| {
            // At the first list, the server was asked only a moment ago.
            let news = servers(&state.pods) != servers(&all);
            state.doubt_if(news && !state.pods.is_empty());
            state.pods = all;
        });
    }

    /// One static pod is new or changed.
    pub fn put_pod(&self, (name, node, pod): (String, String, StaticPod)) {
        self.write(|state| {
            // Each has a size limit, so a limit on their number is enough.
            let of_this = state.pods.values().filter(|(other, _)| *other == node);
            let has_room = state.pods.len() < MOST && of_this.count() < PODS_OF_ONE;
            if has_room || state.pods.contains_key(&name) {
                let known = state.pods.get(&name).map(|(_, known)| known);
                state.doubt_if(pod.serves() && known != Some(&pod));
                state.pods.insert(name, (node, pod));
            }
        });
    }

    /// One static pod is gone.
    pub fn remove_pod(&self, name: &str) {
        self.write(|state| {
            let gone = state.pods.remove(name);
            state.doubt_if(gone.is_some_and(|(_, pod)| pod.serves()));
        });
    }

    /// The static pods of a Node.
    #[must_use]
    pub fn pods_of(&self, node: &str) -> Vec<StaticPod> {
        self.read(|state| {
            let here = state.pods.values().filter(|(name, _)| name == node);
            here.map(|(_, pod)| pod.clone()).collect()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link() -> Link {
        let config = kube::Config::new("http://127.0.0.1:1".parse().unwrap());
        Link {
            client: Client::try_from(config).unwrap(),
            server: None,
        }
    }

    #[tokio::test]
    async fn cluster_is_seen_since_its_last_absence_despite_a_relist() {
        let state = ClusterState::default();
        state.live(link(), Vec::new(), 1000);
        state.live(link(), Vec::new(), 2000);
        assert_eq!(state.seen_since(), 1000);
        state.away("connection refused");
        state.live(link(), Vec::new(), 3000);
        assert_eq!(state.seen_since(), 3000);
    }

    #[test]
    fn of_nodes_without_end_no_more_are_kept_than_there_is_room_for() {
        let state = ClusterState::default();
        let node = |number: usize| NodeFacts {
            name: number.to_string(),
            ..NodeFacts::default()
        };
        let kept = (0..MOST + 10).filter(|number| state.put(node(*number)));
        assert_eq!(kept.count(), MOST);
        assert_eq!(state.len(), MOST);
        let ready = NodeFacts {
            ready: true,
            ..node(0)
        };
        assert!(
            state.put(ready),
            "one that is known is followed all the same"
        );
    }

    /// The largest Node that the parser accepts takes 8 KB.
    #[test]
    fn of_nodes_that_grow_no_more_are_kept_than_there_is_room_for() {
        let state = ClusterState::default();
        let node = |number: usize, length: usize| NodeFacts {
            name: number.to_string(),
            failure: Some("x".repeat(length)),
            ..NodeFacts::default()
        };
        let all = 0..MOST / 2;
        assert!(all.clone().all(|number| state.put(node(number, 0))));
        for number in all.clone() {
            state.put(node(number, 8_000));
        }
        let bytes = state.read(|state| {
            let counted: usize = state.nodes.values().map(|node| node.size()).sum();
            assert_eq!(state.bytes, counted);
            counted
        });
        assert!(bytes <= BYTES && !state.is_empty(), "{bytes}");
        all.for_each(|number| state.remove(&number.to_string()));
        assert_eq!(state.read(|state| state.bytes), 0);
    }

    #[test]
    fn mirror_pods_of_one_node_take_no_room_of_another() {
        let state = ClusterState::default();
        let pod = |name: String, node: &str| {
            let pod = StaticPod {
                component: "kube-apiserver".to_owned(),
                version: None,
                ready: true,
            };
            (name, node.to_owned(), pod)
        };
        for number in 0..MOST + 10 {
            state.put_pod(pod(format!("lie-{number}"), "worker"));
        }
        assert_eq!(state.pods_of("worker").len(), PODS_OF_ONE);
        state.put_pod(pod("kube-apiserver-first".to_owned(), "first"));
        assert_eq!(state.pods_of("first").len(), 1);
    }

    #[test]
    fn what_a_write_answers_late_brings_no_node_back_that_is_gone() {
        let state = ClusterState::default();
        let node = |uid: &str, version: &str| NodeFacts {
            name: "n".into(),
            uid: uid.into(),
            resource_version: version.into(),
            ..NodeFacts::default()
        };
        state.put(node("first", "1"));
        state.renew(node("first", "2"));
        let kept = state.node("n");
        assert_eq!(kept.as_deref(), Some(&node("first", "2")));
        state.remove("n");
        state.renew(node("first", "3"));
        assert_eq!(state.node("n"), None);
        state.put(node("second", "5"));
        state.renew(node("first", "3"));
        let kept = state.node("n");
        assert_eq!(kept.as_deref(), Some(&node("second", "5")));
    }

    #[test]
    fn what_a_server_says_on_leaving_is_kept_short_and_on_one_line() {
        let state = ClusterState::default();
        state.away(&format!("no\nfurther {}", "x".repeat(1 << 20)));
        let why = state.link().err().unwrap_or_default();
        assert!(why.len() < 1000 && !why.contains('\n'), "{}", why.len());
    }
}
