//! What a pool says of itself: its conditions, and an Event when an upgrade does not continue.

use infrastructure::{Member, PoolWhy, Word};
use kube::{Resource, ResourceExt};
use serde_json::json;

use super::super::conditions::conditions;
use super::super::work::Provision;
use super::known::Read;
use crate::events::Happened;
use crate::kinds::CareenMachinePool;
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
        let word = |holds: bool| if holds { Word::True } else { Word::False };
        let joined = members.iter().all(|one| one.provider_id.is_some());
        let is_paused = matches!(why, PoolWhy::Paused { .. });
        let is_going = matches!(why, PoolWhy::Leaving { .. } | PoolWhy::NoOwner);
        let said = [
            ("Ready", word(joined && !is_going && !is_paused)),
            ("UpToDate", word(*why == PoolWhy::Settled)),
            ("Paused", word(is_paused)),
        ];
        let message = why.to_string();
        let new = conditions(&before, &said, (why.code(), &message));
        if new == before {
            return Ok(());
        }
        if why.holds() {
            self.world
                .happened(event(&read.object, why.code(), message));
        }
        let change = json!({ "conditions": new });
        write::change_status(&self.client, &read.object, change)
            .await
            .map(drop)
    }
}

fn event(pool: &CareenMachinePool, code: &str, note: String) -> Happened {
    Happened {
        api_version: CareenMachinePool::api_version(&()).into_owned(),
        kind: CareenMachinePool::kind(&()).into_owned(),
        namespace: pool.namespace().unwrap_or_default(),
        name: pool.name_any(),
        uid: pool.uid().unwrap_or_default(),
        reason: code.to_owned(),
        note,
    }
}
