//! Clusters.

use super::super::key::Key;
use super::super::store::Machines;

/// What matters of a Cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClusterFacts {
    /// Nobody is to work on it.
    pub paused: bool,
    /// Value of [`crate::names::NEVER_REPLACE`].
    pub never_replace: Option<String>,
    /// The name of the object that owns its control plane's Machines; empty where there is none.
    pub control_plane: String,
}

impl Machines {
    /// Takes all Clusters in; returns the Machines whose Cluster has changed.
    pub fn replace_clusters(&self, all: Vec<(Key, ClusterFacts)>) -> Vec<Key> {
        self.write(|state| {
            state.owners.clusters = all.into_iter().collect();
            state.owners.clusters_synced = true;
            state.machines.keys().cloned().collect()
        })
    }

    /// Takes a Cluster in; returns its Machines if it has changed.
    pub fn put_cluster(&self, (key, facts): (Key, ClusterFacts)) -> Vec<Key> {
        self.write(|state| {
            let old = state.owners.clusters.insert(key.clone(), facts.clone());
            if old.as_ref() == Some(&facts) {
                return Vec::new();
            }
            state.of_cluster(&key)
        })
    }

    /// Forgets a Cluster.
    pub fn remove_cluster(&self, key: &Key) -> Vec<Key> {
        self.write(|state| {
            state.owners.clusters.remove(key);
            state.of_cluster(key)
        })
    }

    /// The Clusters.
    #[must_use]
    pub fn clusters(&self) -> Vec<Key> {
        self.read(|state| state.owners.clusters.keys().cloned().collect())
    }

    /// A Cluster.
    #[must_use]
    pub fn cluster(&self, key: &Key) -> Option<ClusterFacts> {
        self.read(|state| state.owners.clusters.get(key).cloned())
    }
}
