//! What a pool says of itself: its conditions, and an Event when an upgrade does not continue.

use infrastructure::{Member, PoolWhy};
use kube::ResourceExt;
use serde_json::{Value, json};

use super::super::conditions::conditions;
use super::super::template::capacity_change;
use super::super::work::Provision;
use super::known::Read;
use crate::catalogue::Condition;
use crate::events::Happened;
use crate::kinds::{CareenMachinePool, OtherChanges};
use crate::writes::{WriteError, provision as write};

impl Provision {
    pub(super) async fn report_pool(
        &self,
        read: &Read,
        members: &[Member],
        why: &PoolWhy,
    ) -> Result<(), WriteError> {
        if matches!(why, PoolWhy::Gone) {
            return Ok(());
        }
        let before = read.object.status.clone().unwrap_or_default().conditions;
        let joined = members.iter().all(|one| one.provider_id.is_some());
        let is_paused = matches!(why, PoolWhy::Paused { .. });
        let is_going = matches!(why, PoolWhy::Leaving { .. } | PoolWhy::NoOwner);
        let said = [
            ("Ready", (joined && !is_going && !is_paused).into()),
            ("UpToDate", (*why == PoolWhy::Settled).into()),
            ("Paused", is_paused.into()),
        ];
        let message = why.to_string();
        let new = conditions(&before, &said, (why.code(), &message));
        let new = with_template(&new, &read.object, members);
        let capacity = self.capacity_change(read);
        if new == before && capacity.is_none() {
            return Ok(());
        }
        if why.holds() && new != before {
            let event = Happened::to(&read.object, why.code(), message);
            self.world.happened(event);
        }
        let mut change = capacity.unwrap_or_else(|| json!({}));
        change["conditions"] = json!(new);
        write::change_status(&self.client, &read.object, change).await
    }

    /// What the cluster autoscaler reads while the pool has no machine.
    fn capacity_change(&self, read: &Read) -> Option<Value> {
        let (pool, status) = (&read.object, read.object.status.clone().unwrap_or_default());
        let space = pool.namespace().unwrap_or_default();
        let new = self.capacity_of(&space, &pool.spec.request.template);
        capacity_change((&status.capacity, &status.node_info), &new)
    }
}

/// Says whether all machines are as the pool would make them now.
fn with_template(
    before: &[Condition],
    pool: &CareenMachinePool,
    members: &[Member],
) -> Vec<Condition> {
    let old = members.iter().filter(|one| one.changed && !one.leaving);
    let old = old.count();
    let (code, message) = match pool.spec.request.other_changes {
        OtherChanges::Keep => (
            "Kept",
            format!(
                "{old} machines have older bootstrap data, or another hostSelector, hostName, minimum or release. Delete their Machines, or set otherChanges: Replace."
            ),
        ),
        OtherChanges::Replace => (
            "Replacing",
            format!(
                "{old} machines have older bootstrap data, or another hostSelector, hostName, minimum or release. No action is needed: they are replaced."
            ),
        ),
    };
    let word = [("TemplateUpToDate", (old == 0).into())];
    conditions(before, &word, (code, &message))
}
