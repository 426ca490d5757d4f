//! Carries out a decision: the mark precedes the request, and every other write precedes the mark's
//! removal.

use std::sync::Arc;
use std::time::Duration;

use requests::NodeFacts;
use tracing::info;

use super::{Worker, lock};
use crate::clock::now;
use crate::engine::{Answer, Instruction, Machine, MarkWrite, NodeWrite};
use crate::machines::Group;
use crate::world::Judged;
use crate::writes::infra::InfraMachine;
use crate::writes::{self, WriteError};

impl Worker {
    /// Decides on a Machine and carries the decision out. If an InfraMachine is given, it is
    /// updated before the request is written to the Node.
    pub(super) async fn act(
        &self,
        machine: &Machine,
        told: Option<&Instruction>,
        infra: Option<&mut InfraMachine>,
    ) -> Result<Answer, WriteError> {
        let judged = self.world.judge(machine, told, now());
        if !asks(&judged) {
            return self.perform(machine, judged, None).await;
        }
        // A Machine that takes a turn must see the turns that others take. So within a group one
        // task at a time decides and writes. Two replicas would each see only their own turns,
        // because their watches lag. So only the leader sends requests.
        let group = self.group(&machine.group());
        let _turn = group.lock().await;
        if !self.leads() {
            return Err(WriteError::Follows);
        }
        let machine = self.unchanged(machine)?;
        let judged = self.world.judge(&machine, told, now());
        self.perform(&machine, judged, infra).await
    }

    /// The Machine as it is now, if it is unchanged. A task may have waited long for its turn, and
    /// the Machine may have been paused, changed or deleted meanwhile.
    fn unchanged(&self, before: &Machine) -> Result<Arc<Machine>, WriteError> {
        let now = self.world.machines.get(&before.key());
        let now = now.ok_or(WriteError::Missing)?;
        let same = Machine {
            resource_version: now.resource_version.clone(),
            ..before.clone()
        } == *now;
        same.then_some(now).ok_or(WriteError::Conflict)
    }

    fn group(&self, group: &Group) -> Arc<tokio::sync::Mutex<()>> {
        Arc::clone(lock(&self.turns).entry(group.clone()).or_default())
    }

    async fn perform(
        &self,
        machine: &Machine,
        Judged { decision, node }: Judged,
        infra: Option<&mut InfraMachine>,
    ) -> Result<Answer, WriteError> {
        if let Some(write @ MarkWrite::On(_)) = &decision.mark {
            self.mark(machine, write).await?;
        }
        if let (Some(infra), Some(NodeWrite::Request { .. })) = (infra, &decision.node) {
            self.announce(machine, infra, &decision.answer).await?;
        }
        if let Some(write) = &decision.node {
            let node = node.as_deref().ok_or(WriteError::Missing)?;
            self.write_node(machine, node, write).await?;
        }
        if let Some(write @ MarkWrite::Off) = &decision.mark {
            self.mark(machine, write).await?;
            self.world.metrics.finished(decision.answer.class());
            self.world.ended(machine, node.as_deref());
        }
        if let Some(seconds) = decision.again {
            self.world
                .queue
                .add_after(machine.key(), Duration::from_secs(seconds));
        }
        Ok(decision.answer)
    }

    /// If the InfraMachine rejects a write now, it would reject it at the end too. In that case the
    /// node does not start, and health checks stay on.
    async fn announce(
        &self,
        machine: &Machine,
        infra: &mut InfraMachine,
        answer: &Answer,
    ) -> Result<(), WriteError> {
        let told = self.tell(machine, infra, answer, true).await;
        let marked = self.world.machines.get(&machine.key());
        if let (Err(WriteError::Refused(_)), Some(marked)) = (&told, marked) {
            self.mark(&marked, &MarkWrite::Off).await?;
        }
        told
    }

    pub(super) async fn mark(
        &self,
        machine: &Machine,
        write: &MarkWrite,
    ) -> Result<(), WriteError> {
        let after = writes::mark(self.client.clone(), machine, write).await?;
        self.world.machines.renew(crate::machines::parse(after));
        Ok(())
    }

    /// Writes to the Node of the decision. The current state may show another Node, or contain
    /// another writer's change.
    async fn write_node(
        &self,
        machine: &Machine,
        node: &NodeFacts,
        write: &NodeWrite,
    ) -> Result<(), WriteError> {
        let cluster = self.world.clusters.get(&machine.cluster_key());
        let link = cluster
            .link()
            .map_err(|why| WriteError::Away(why.to_string()))?;
        let written = writes::write_node(link.client, node, write).await;
        if matches!(written, Err(WriteError::Away(_))) {
            cluster.suspect();
        }
        cluster.renew(written?);
        let name = node.name.as_str();
        match write {
            NodeWrite::Request { id, image, version } => {
                info!(machine = %machine.key(), node = name, %id, %image, version, "asked");
            }
            NodeWrite::Withdraw => info!(machine = %machine.key(), node = name, "withdrawn"),
        }
        Ok(())
    }
}

pub(super) const fn asks(judged: &Judged) -> bool {
    matches!(judged.decision.node, Some(NodeWrite::Request { .. }))
}
