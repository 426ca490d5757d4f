//! A decision carried out: the mark before the request, everything else before the mark goes.

use std::sync::Arc;
use std::time::Duration;

use tracing::info;

use super::{Worker, lock};
use crate::engine::{Answer, Decision, Machine, MarkWrite, NodeWrite, Told};
use crate::hands::infra::InfraMachine;
use crate::hands::{self, HandError};
use crate::machines::Group;
use crate::world::now;

impl Worker {
    /// Decides on a Machine and carries it out. An InfraMachine that is given hears of a request before the Node does.
    pub(super) async fn act(
        &self,
        machine: &Machine,
        told: Option<&Told>,
        infra: Option<&mut InfraMachine>,
    ) -> Result<Answer, HandError> {
        let decision = self.world.decide_for(machine, told, now());
        if !matches!(decision.node, Some(NodeWrite::Request { .. })) {
            return self.perform(machine, decision, None).await;
        }
        // Who takes a turn must see the turns that others take, so within a group one at a time decides and writes.
        let group = self.group(&machine.group());
        let _turn = group.lock().await;
        let decision = self.world.decide_for(machine, told, now());
        self.perform(machine, decision, infra).await
    }

    fn group(&self, group: &Group) -> Arc<tokio::sync::Mutex<()>> {
        Arc::clone(lock(&self.turns).entry(group.clone()).or_default())
    }

    async fn perform(
        &self,
        machine: &Machine,
        decision: Decision,
        infra: Option<&mut InfraMachine>,
    ) -> Result<Answer, HandError> {
        if let Some(write @ MarkWrite::On(_)) = &decision.mark {
            self.mark(machine, write).await?;
        }
        if let (Some(infra), Some(NodeWrite::Request { .. })) = (infra, &decision.node) {
            self.announce(machine, infra, &decision.answer).await?;
        }
        if let Some(write) = &decision.node {
            self.write_node(machine, write).await?;
        }
        if let Some(write @ MarkWrite::Off) = &decision.mark {
            self.mark(machine, write).await?;
            self.world.metrics.finished(decision.answer.class());
        }
        if let Some(seconds) = decision.again {
            self.world
                .queue
                .add_after(machine.key(), Duration::from_secs(seconds));
        }
        Ok(decision.answer)
    }

    /// What an InfraMachine refuses now it would refuse at the end, so its node does not begin, and health checks are not kept off.
    async fn announce(
        &self,
        machine: &Machine,
        infra: &mut InfraMachine,
        answer: &Answer,
    ) -> Result<(), HandError> {
        let told = self.tell(machine, infra, answer).await;
        let marked = self.world.machines.get(&machine.key());
        if let (Err(HandError::Refused(_)), Some(marked)) = (&told, marked) {
            self.mark(&marked, &MarkWrite::Off).await?;
        }
        told
    }

    async fn mark(&self, machine: &Machine, write: &MarkWrite) -> Result<(), HandError> {
        let after = hands::mark(self.client.clone(), machine, write).await?;
        self.world.machines.put(crate::machines::parse(after));
        Ok(())
    }

    async fn write_node(&self, machine: &Machine, write: &NodeWrite) -> Result<(), HandError> {
        let cluster = self.world.clusters.get(&machine.cluster_key());
        let link = cluster
            .link()
            .map_err(|why| HandError::Away(why.to_string()))?;
        let name = machine.node.as_deref().ok_or(HandError::Missing)?;
        let node = cluster.node(name).ok_or(HandError::Missing)?;
        let written = hands::write_node(link.client, &node, write).await;
        if matches!(written, Err(HandError::Away(_))) {
            cluster.suspect();
        }
        cluster.put(written?);
        match write {
            NodeWrite::Request { id, image, version } => {
                info!(machine = %machine.key(), node = name, %id, %image, version, "asked");
            }
            NodeWrite::Withdraw => info!(machine = %machine.key(), node = name, "withdrawn"),
        }
        Ok(())
    }
}
