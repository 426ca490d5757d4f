//! What is known of a pool, read from the API server.

use std::collections::HashSet;

use infrastructure::{Member, Pool};
use kube::ResourceExt;
use kube::api::Api;

use super::super::work::Provision;
use super::super::{facts, pauses, wire};
use super::known::{Read, Wanted};
use super::label::pool_label;
use super::members::shown;
use crate::kinds::{CareenMachine, CareenMachinePool, OtherChanges};
use crate::machines::Key;
use crate::names;
use crate::writes::{WriteError, provision as write};

impl Provision {
    pub(super) async fn read_pool(&self, key: &Key) -> Result<Option<Read>, WriteError> {
        let space = &*key.namespace;
        let Some(object) = self.read::<CareenMachinePool>(space, &key.name).await? else {
            return Ok(None);
        };
        let name = facts::owner_of(&object.metadata, "MachinePool");
        let owner: Option<wire::MachinePool> =
            self.read_core(space, "MachinePool", name.clone()).await?;
        let of_owner = owner.as_ref().map(|owner| owner.spec.cluster_name.clone());
        let cluster = facts::cluster_of(&object.metadata).or(of_owner);
        let cluster = self.read_core(space, "Cluster", cluster).await?;
        let mut read = Read {
            object,
            owner,
            cluster,
            ours: Vec::new(),
            machines: Vec::new(),
        };
        if let Some(name) = name {
            self.read_members(space, &name, &mut read).await?;
        }
        Ok(Some(read))
    }

    /// Machines first: each was made after its CareenMachine. So one without a CareenMachine is left
    /// over, and not new.
    async fn read_members(
        &self,
        space: &str,
        owner: &str,
        read: &mut Read,
    ) -> Result<(), WriteError> {
        let label = format!("{}={}", names::POOL_LABEL, pool_label(owner));
        read.machines = write::list(&self.core(space, "Machine"), &label).await?;
        let is_of_it = |one: &wire::Machine| {
            facts::owner_of(&one.metadata, "MachinePool").as_deref() == Some(owner)
        };
        read.machines.retain(is_of_it);
        let ours: Api<CareenMachine> = Api::namespaced(self.client.clone(), space);
        read.ours = write::list(&ours, &label).await?;
        let pool = read.object.name_any();
        read.ours
            .retain(|one| facts::pool_of(&one.metadata).as_ref() == Some(&pool));
        Ok(())
    }
}

/// The facts of one decision.
pub(super) fn facts_of(
    read: &Read,
    members: &[(Member, Option<Wanted>)],
    batch: usize,
) -> (Pool, Vec<Member>) {
    let (object, cluster) = (&read.object, read.cluster.as_ref());
    let number = |count: i32| usize::try_from(count).unwrap_or(0);
    let owner = read.owner.as_ref();
    let of_owner = owner.and_then(|owner| pauses::hold(&owner.metadata, "MachinePool", false));
    let paused = pauses::hold(&object.metadata, "CareenMachinePool", false)
        .or_else(|| cluster.and_then(pauses::paused_cluster))
        .or(of_owner);
    let known: HashSet<String> = read.ours.iter().map(ResourceExt::name_any).collect();
    let left_over = read.machines.iter().filter(|one| {
        !known.contains(&one.name_any()) && one.metadata.deletion_timestamp.is_none()
    });
    let mut problems = members
        .iter()
        .filter_map(|(_, wanted)| wanted.as_ref()?.image.as_ref().err());
    let pool = Pool {
        deleting: object.metadata.deletion_timestamp.is_some(),
        finalizer: facts::has_finalizer(&object.metadata),
        wanted: owner.map(|owner| owner.spec.replicas.map_or_else(|| least(owner), number)),
        paused,
        batch,
        replace: object.spec.request.other_changes == OtherChanges::Replace,
        max_unavailable: number(object.spec.request.max_unavailable),
        provider_ids: object.spec.provider_id_list.clone(),
        dangling: left_over.map(ResourceExt::name_any).collect(),
        no_image: problems.next().cloned(),
        shown: shown(&object.status.clone().unwrap_or_default()),
    };
    (pool, members.iter().map(|(one, _)| one.clone()).collect())
}

/// Core sets the replicas of a MachinePool that has none: to the least of the cluster autoscaler, or
/// to 1 (core/webhooks/machinepool.go). So it does not matter which of the two comes first.
fn least(owner: &wire::MachinePool) -> usize {
    let least = owner.annotations().get(names::AUTOSCALER_LEAST);
    least.and_then(|least| least.parse().ok()).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn pool_without_replicas_has_the_autoscalers_least() {
        let pool = |annotations: serde_json::Value| -> wire::MachinePool {
            serde_json::from_value(json!({
                "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachinePool",
                "metadata": { "name": "w", "annotations": annotations }, "spec": {},
            }))
            .unwrap()
        };
        assert_eq!(least(&pool(json!({}))), 1);
        assert_eq!(least(&pool(json!({ names::AUTOSCALER_LEAST: "3" }))), 3);
        assert_eq!(least(&pool(json!({ names::AUTOSCALER_LEAST: "0" }))), 0);
        assert_eq!(least(&pool(json!({ names::AUTOSCALER_LEAST: "x" }))), 1);
    }
}
