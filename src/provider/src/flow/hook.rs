//! The road of the hooks: what core wants of a Machine it says when it calls, and has written before.

use std::time::Duration;

use super::Worker;
use crate::engine::{Answer, Machine, Mark, MarkWrite, Told};
use crate::hands::{HandError, settings_of_extension};
use crate::world::now;

impl Worker {
    pub(super) async fn by_hook(&self, machine: &Machine) -> Result<Answer, HandError> {
        let told = self.told(machine).await?;
        let foreseen = self.world.decide_for(machine, told.as_ref(), now());
        if foreseen.mark == Some(MarkWrite::Off) {
            // The mark is what brings us back here, should we die in between.
            let heard = self.report(machine, &foreseen.answer).await;
            self.heard_of_the_end(machine, heard).await?;
        }
        let answer = self.act(machine, told.as_ref(), None).await?;
        // Where it could not be told it is with the next look.
        let _ = self.report(machine, &answer).await;
        if let (Answer::Held(why), None) = (&answer, self.world.told(machine)) {
            // Core comes back for it, but not to us.
            let pause = Duration::from_secs(why.retry_after().into());
            self.world.queue.add_after(machine.key(), pause);
        }
        Ok(answer)
    }

    /// What core wants of it. Core says so to whichever of us it calls, and only the leader asks nodes: where another was called, the leader
    /// looks at what core has written before it calls, and calls about.
    async fn told(&self, machine: &Machine) -> Result<Option<Told>, HandError> {
        match self.world.told(machine) {
            None if self.leads() && machine.is_called_for() => self.written(machine).await,
            told => Ok(told),
        }
    }

    /// Core calls us by our ExtensionConfig, whose settings say how an image is named; without one it calls somebody else, or nobody.
    async fn written(&self, machine: &Machine) -> Result<Option<Told>, HandError> {
        let infra = match self.infra.of(machine).await {
            Err(HandError::Missing | HandError::Refused(_)) => return Ok(None),
            read => read?,
        };
        let settings = settings_of_extension(self.client.clone(), &self.extension).await?;
        let version = machine.version.clone().unwrap_or_default();
        Ok(settings.map(|settings| self.told_by(&infra, version, &settings)))
    }

    /// An InfraMachine that refuses, or is not there, does so again, and keeps no mark on. One that cannot be told now is told later:
    /// the mark stays to bring us back for that, but no health check is kept off meanwhile.
    pub(super) async fn heard_of_the_end(
        &self,
        machine: &Machine,
        heard: Result<(), HandError>,
    ) -> Result<(), HandError> {
        match (&heard, &machine.mark) {
            (Ok(()) | Err(HandError::Refused(_) | HandError::Missing), _) => return Ok(()),
            (Err(HandError::Away(_)), Some(mark)) if mark.skip_is_ours => {
                let let_go = Mark {
                    skip_is_ours: false,
                    ..mark.clone()
                };
                self.mark(machine, &MarkWrite::On(let_go)).await?;
            }
            (Err(HandError::Away(_) | HandError::Conflict | HandError::Follows), _) => {}
        }
        heard
    }
}
