//! Clusters.

use super::super::key::Key;
use super::super::store::Machines;
use super::facts::ClusterFacts;

impl Machines {
    /// Replaces all Clusters. Returns the Machines whose Cluster changed.
    pub fn replace_clusters(&self, all: Vec<(Key, ClusterFacts)>) -> Vec<Key> {
        self.write(|state| {
            state.owners.clusters = all.into_iter().collect();
            state.owners.clusters_synced = true;
            state.machines.keys().cloned().collect()
        })
    }

    /// Stores a Cluster. Returns its Machines if it changed.
    pub fn put_cluster(&self, (key, facts): (Key, ClusterFacts)) -> Vec<Key> {
        self.write(|state| {
            let old = state.owners.clusters.insert(key.clone(), facts.clone());
            if old.as_ref() == Some(&facts) {
                return Vec::new();
            }
            state.of_cluster(&key)
        })
    }

    /// Removes a Cluster.
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
