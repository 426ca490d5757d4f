//! MachineDeployments.

use std::sync::Arc;

use super::super::group::{Group, GroupKind};
use super::super::key::Key;
use super::super::state::State;
use super::super::store::Machines;
use super::facts::DeploymentFacts;

impl State {
    fn of_deployment(&self, deployment: &Key, cluster: &str) -> Vec<Key> {
        let group = Group {
            cluster: Key::new(Arc::clone(&deployment.namespace), cluster),
            kind: GroupKind::Deployment(deployment.name.to_string()),
        };
        let members = self.by_group.get(&group);
        members.into_iter().flatten().cloned().collect()
    }
}

impl Machines {
    /// Replaces all MachineDeployments. Returns the Machines that may belong to them.
    pub fn replace_deployments(&self, all: Vec<(Key, DeploymentFacts)>) -> Vec<Key> {
        self.write(|state| {
            state.owners.deployments = all.into_iter().collect();
            state.owners.deployments_synced = true;
            state.machines.keys().cloned().collect()
        })
    }

    /// Stores a MachineDeployment. Returns its Machines if it changed.
    pub fn put_deployment(&self, (key, facts): (Key, DeploymentFacts)) -> Vec<Key> {
        self.write(|state| {
            let old = state.owners.deployments.insert(key.clone(), facts.clone());
            if old.as_ref() == Some(&facts) {
                return Vec::new();
            }
            state.of_deployment(&key, &facts.cluster)
        })
    }

    /// Removes a MachineDeployment.
    pub fn remove_deployment(&self, key: &Key) -> Vec<Key> {
        self.write(|state| {
            let old = state.owners.deployments.remove(key);
            old.map_or_else(Vec::new, |old| state.of_deployment(key, &old.cluster))
        })
    }

    /// A MachineDeployment.
    #[must_use]
    pub fn deployment(&self, key: &Key) -> Option<DeploymentFacts> {
        self.read(|state| state.owners.deployments.get(key).cloned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Machine;

    fn machine(name: &str) -> Machine {
        Machine {
            namespace: "t".into(),
            name: name.into(),
            cluster: "c".into(),
            deployment: Some("w".into()),
            ..Machine::default()
        }
    }

    #[test]
    fn a_deployment_that_is_paused_has_its_machines_looked_at() {
        let machines = Machines::default();
        machines.replace(vec![machine("m")]);
        let facts = DeploymentFacts {
            cluster: "c".into(),
            ..DeploymentFacts::default()
        };
        let key = Key::new("t", "w");
        machines.replace_deployments(vec![(key.clone(), facts.clone())]);
        let woken = machines.put_deployment((key.clone(), facts.clone()));
        assert!(woken.is_empty(), "nothing has changed");
        let paused = DeploymentFacts {
            paused: true,
            looks_paused: None,
            ..facts
        };
        assert_eq!(machines.put_deployment((key, paused)), [Key::new("t", "m")]);
    }
}
