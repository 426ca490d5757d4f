//! A decision carried out: the mark before the request, everything else before the mark goes.

use std::sync::Arc;
use std::time::Duration;

use requests::NodeFacts;
use tracing::info;

use super::{Worker, lock};
use crate::engine::{Answer, Machine, MarkWrite, NodeWrite, Told};
use crate::hands::infra::InfraMachine;
use crate::hands::{self, HandError};
use crate::machines::Group;
use crate::world::{Judged, now};

impl Worker {
    /// Decides on a Machine and carries it out. An InfraMachine that is given hears of a request before the Node does.
    pub(super) async fn act(
        &self,
        machine: &Machine,
        told: Option<&Told>,
        infra: Option<&mut InfraMachine>,
    ) -> Result<Answer, HandError> {
        let judged = self.world.judge(machine, told, now());
        if !asks(&judged) {
            return self.perform(machine, judged, None).await;
        }
        if infra.is_none() {
            self.vouch(machine, told).await?;
        }
        // Who takes a turn must see the turns that others take, so within a group one at a time decides and writes.
        // Two replicas would each see only their own: what their watches show of the other's is behind. So the one that leads asks.
        let group = self.group(&machine.group());
        let _turn = group.lock().await;
        if !self.leads() {
            return Err(HandError::Follows);
        }
        let machine = self.unchanged(machine)?;
        let judged = self.world.judge(&machine, told, now());
        self.perform(&machine, judged, infra).await
    }

    /// The Machine as it is now, if it says what it said before: whoever waited for a turn may have waited long, and the Machine been
    /// paused, changed or deleted meanwhile.
    fn unchanged(&self, before: &Machine) -> Result<Arc<Machine>, HandError> {
        let now = self.world.machines.get(&before.key());
        let now = now.ok_or(HandError::Missing)?;
        let same = Machine {
            resource_version: now.resource_version.clone(),
            ..before.clone()
        } == *now;
        same.then_some(now).ok_or(HandError::Conflict)
    }

    fn group(&self, group: &Group) -> Arc<tokio::sync::Mutex<()>> {
        Arc::clone(lock(&self.turns).entry(group.clone()).or_default())
    }

    async fn perform(
        &self,
        machine: &Machine,
        Judged { decision, node }: Judged,
        infra: Option<&mut InfraMachine>,
    ) -> Result<Answer, HandError> {
        if let Some(write @ MarkWrite::On(_)) = &decision.mark {
            self.mark(machine, write).await?;
        }
        if let (Some(infra), Some(NodeWrite::Request { .. })) = (infra, &decision.node) {
            self.announce(machine, infra, &decision.answer).await?;
        }
        if let Some(write) = &decision.node {
            let node = node.as_deref().ok_or(HandError::Missing)?;
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

    /// What an InfraMachine refuses now it would refuse at the end, so its node does not begin, and health checks are not kept off.
    async fn announce(
        &self,
        machine: &Machine,
        infra: &mut InfraMachine,
        answer: &Answer,
    ) -> Result<(), HandError> {
        let told = self.tell(machine, infra, answer, true).await;
        let marked = self.world.machines.get(&machine.key());
        if let (Err(HandError::Refused(_)), Some(marked)) = (&told, marked) {
            self.mark(&marked, &MarkWrite::Off).await?;
        }
        told
    }

    pub(super) async fn mark(&self, machine: &Machine, write: &MarkWrite) -> Result<(), HandError> {
        let after = hands::mark(self.client.clone(), machine, write).await?;
        self.world.machines.renew(crate::machines::parse(after));
        Ok(())
    }

    /// Onto the Node that was decided on: what is known of it by now may be of another one, or hold somebody else's word.
    async fn write_node(
        &self,
        machine: &Machine,
        node: &NodeFacts,
        write: &NodeWrite,
    ) -> Result<(), HandError> {
        let cluster = self.world.clusters.get(&machine.cluster_key());
        let link = cluster
            .link()
            .map_err(|why| HandError::Away(why.to_string()))?;
        let written = hands::write_node(link.client, node, write).await;
        if matches!(written, Err(HandError::Away(_))) {
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

const fn asks(judged: &Judged) -> bool {
    matches!(judged.decision.node, Some(NodeWrite::Request { .. }))
}
