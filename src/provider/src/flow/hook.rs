//! The hook flow: core states in its calls what it wants of a Machine, and writes it to the objects
//! before.

use std::time::Duration;

use tracing::debug;

use super::perform::asks;
use super::{Worker, lock};
use crate::clock::now;
use crate::engine::{Answer, Instruction, Machine, Mark, MarkWrite};
use crate::writes::{WriteError, settings_of_extension};

impl Worker {
    pub(super) async fn by_hook(&self, machine: &Machine) -> Result<Answer, WriteError> {
        let told = self.told(machine).await?;
        let foreseen = self.world.decide_for(machine, told.as_ref(), now());
        if foreseen.mark == Some(MarkWrite::Off) {
            // The mark makes the provider return here if it dies in between.
            let heard = self.report(machine, &foreseen.answer).await;
            self.heard_of_the_end(machine, heard).await?;
        }
        let answer = self.act(machine, told.as_ref(), None).await?;
        // If this report fails, the next look repeats it.
        let _ = self.report(machine, &answer).await;
        if let (Answer::Held(why), None) = (&answer, self.world.told(machine)) {
            // Core calls again, but perhaps another replica.
            let pause = Duration::from_secs(why.retry_after().into());
            self.world.queue.add_after(machine.key(), pause);
        }
        Ok(answer)
    }

    /// What core wants of the Machine. Core tells only the replica that it calls, and only the
    /// leader sends requests to nodes. If core called another replica, or somebody else made the
    /// last call, the leader reads what core has written before its call.
    async fn told(&self, machine: &Machine) -> Result<Option<Instruction>, WriteError> {
        if let Some(told) = self.world.told(machine)
            && self.is_vouched_for(machine, &told).await?
        {
            return Ok(Some(told));
        }
        match self.leads() && machine.is_called_for() {
            true => self.written(machine).await,
            false => Ok(None),
        }
    }

    /// Whether the call names what the InfraMachine names. The InfraMachine is read once for each
    /// call that differs from the one before, and again before a request to the node.
    async fn is_vouched_for(
        &self,
        machine: &Machine,
        told: &Instruction,
    ) -> Result<bool, WriteError> {
        let key = machine.key();
        let known = lock(&self.vouched).get(&key) == Some(told);
        if known && !asks(&self.world.judge(machine, Some(told), now())) {
            return Ok(true);
        }
        let vouched = self.vouch(machine, told).await;
        if let Err(WriteError::Refused(why)) = vouched {
            lock(&self.vouched).remove(&key);
            // Any pod may call without end, so this is no warning.
            debug!(machine = %key, "{why}; careen-provider goes by the InfraMachine");
            return Ok(false);
        }
        vouched?;
        lock(&self.vouched).insert(key, told.clone());
        Ok(true)
    }

    /// Core calls the provider through its ExtensionConfig, whose settings say which fields name an
    /// image. Without an ExtensionConfig, core does not call this provider.
    async fn written(&self, machine: &Machine) -> Result<Option<Instruction>, WriteError> {
        let infra = match self.infra_of(machine).await {
            Err(WriteError::Missing | WriteError::Refused(_)) => return Ok(None),
            read => read?,
        };
        let settings = settings_of_extension(self.client.clone(), &self.extension).await?;
        let version = machine.version.clone().unwrap_or_default();
        Ok(settings.map(|settings| self.told_by(&infra, version, &settings)))
    }

    /// An InfraMachine that rejects the write, or is missing, will do so again, so the mark does
    /// not wait for it. If it only cannot be written now, the mark stays to repeat the report
    /// later, but health checks apply meanwhile.
    pub(super) async fn heard_of_the_end(
        &self,
        machine: &Machine,
        heard: Result<(), WriteError>,
    ) -> Result<(), WriteError> {
        match (&heard, &machine.mark) {
            (Ok(()) | Err(WriteError::Refused(_) | WriteError::Missing), _) => return Ok(()),
            (Err(WriteError::Away(_)), Some(mark)) if mark.skip_is_ours => {
                let let_go = Mark {
                    skip_is_ours: false,
                    ..mark.clone()
                };
                self.mark(machine, &MarkWrite::On(let_go)).await?;
            }
            (Err(WriteError::Away(_) | WriteError::Conflict | WriteError::Follows), _) => {}
        }
        heard
    }
}
