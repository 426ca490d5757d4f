//! What the provider reports on an InfraMachine. The report is coarse: phases are in the hook's
//! message and on the Node.

use k8s_openapi::jiff::Timestamp;
use tracing::debug;

use super::{HELD, Worker, lock};
use crate::engine::{Answer, Machine};
use crate::writes::WriteError;
use crate::writes::infra::InfraReport;

/// The current time in the format of conditions: whole seconds.
pub(super) fn time() -> String {
    let now = Timestamp::now();
    Timestamp::from_second(now.as_second())
        .unwrap_or(now)
        .to_string()
}

/// The condition for an answer, or nothing if there is nothing to report.
pub(super) fn condition(answer: &Answer) -> Option<InfraReport> {
    let (status, message) = match answer {
        Answer::Idle | Answer::Untold => return None,
        Answer::Working(_) => (
            "False",
            "the node is being upgraded. See its condition CareenUpgrading.".to_owned(),
        ),
        Answer::Held(_) | Answer::Failed(_) | Answer::Cancelled(_) => ("False", answer.message()),
        Answer::Done => ("True", String::new()),
    };
    Some(InfraReport {
        status,
        reason: answer.code(),
        message,
        unready: false,
        version: None,
    })
}

impl Worker {
    /// Reports on the InfraMachine of a Machine that core updates. Core asks the provider for all
    /// it needs. So an InfraMachine that cannot be written (a missing right, a kind without
    /// conditions) does not stop the upgrade, but is reported.
    pub(super) async fn report(
        &self,
        machine: &Machine,
        answer: &Answer,
    ) -> Result<(), WriteError> {
        let Some(wanted) = condition(answer) else {
            return Ok(());
        };
        let key = machine.key();
        if lock(&self.told).get(&key) == Some(&wanted) {
            return Ok(());
        }
        let told = self.write_condition(machine, &wanted).await;
        match &told {
            Ok(()) => {
                lock(&self.told).insert(key, wanted);
            }
            Err(error) => {
                self.world.metrics.failed("infra");
                if let WriteError::Refused(why) = error {
                    self.say_unwritten(machine, &format!("the InfraMachine: {why}"));
                }
                debug!(machine = %key, "cannot update the InfraMachine: {error}");
            }
        }
        told
    }

    /// Corrects a stale report. Nobody requests the upgrade any more, and no mark is left. A
    /// previous leader may have left a report of progress on the InfraMachine. So each leader
    /// checks it once, and again whenever an upgrade ends.
    pub(super) async fn settle(&self, machine: &Machine) -> Result<Option<Answer>, WriteError> {
        let key = machine.key();
        if lock(&self.settled).contains(&key) {
            return Ok(None);
        }
        let Some(answer) = self.world.leftover(machine) else {
            self.world.queue.add_after(key, HELD);
            return Ok(None);
        };
        match self.settle_as(machine, answer).await {
            Err(error @ (WriteError::Away(_) | WriteError::Conflict | WriteError::Follows)) => {
                Err(error)
            }
            // A retry would be rejected too.
            Err(WriteError::Missing | WriteError::Refused(_)) => {
                lock(&self.settled).insert(key);
                Ok(None)
            }
            Ok(settled) => {
                lock(&self.settled).insert(key);
                Ok(settled)
            }
        }
    }

    async fn settle_as(
        &self,
        machine: &Machine,
        answer: Answer,
    ) -> Result<Option<Answer>, WriteError> {
        if !self.infra_of(machine).await?.is_on_its_way() {
            return Ok(None);
        }
        // The state on the InfraMachine counts, not the last report.
        lock(&self.told).remove(&machine.key());
        self.report(machine, &answer).await?;
        Ok(Some(answer))
    }

    async fn write_condition(
        &self,
        machine: &Machine,
        wanted: &InfraReport,
    ) -> Result<(), WriteError> {
        let mut infra = self.infra_of(machine).await?;
        let with_version = InfraReport {
            // A version field that is in use is kept correct. The provider does not introduce one.
            version: infra
                .version()
                .and(machine.version.clone())
                .filter(|_| wanted.status == "True"),
            ..wanted.clone()
        };
        infra.write(&with_version, &time()).await.map(drop)
    }
}
