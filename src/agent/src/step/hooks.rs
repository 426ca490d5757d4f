//! The operator's own programs, before the node is cordoned and after it is uncordoned. The agent
//! finds, trusts and runs them as the checks of a trial.

use std::path::{Path, PathBuf};
use std::time::Duration;

use host::programs::of_the_operator;
use tokio::process::Command;
use upgrade::Reason;

use crate::access::{Errand, StepEnd};
use crate::health::output::{self, Run as Ran, late};
use crate::health::programs::{self, Program};
use crate::task::HookPoint;

/// Below these folders of a system. The operator's folder follows the image's.
pub(crate) const HOMES: [&str; 2] = ["usr/lib/careen", "etc/careen"];

/// The folders of hooks.
#[derive(Clone, Debug)]
pub struct Hooks {
    pre: Vec<PathBuf>,
    post: Vec<PathBuf>,
}

impl Hooks {
    /// The folders of the system at this root.
    #[must_use]
    pub fn below(root: &Path) -> Self {
        let folders = |name: &str| HOMES.map(|home| root.join(home).join(name)).to_vec();
        Self {
            pre: folders("pre.d"),
            post: folders("post.d"),
        }
    }

    /// Whether there are any hooks.
    #[must_use]
    pub fn seen(&self) -> upgrade::Hooks {
        upgrade::Hooks {
            pre: programs::are_there(&self.pre),
            post: programs::are_there(&self.post),
        }
    }

    /// Runs the hooks.
    ///
    /// # Errors
    /// [`Reason::HookFailed`] with the first hook that failed. The hooks after it do not run.
    pub async fn perform(&self, point: HookPoint, errand: &Errand) -> Result<StepEnd, Reason> {
        let (folders, outcome) = match point {
            HookPoint::Pre => (&self.pre, ""),
            HookPoint::Post { upgraded: true } => (&self.post, "Upgraded"),
            HookPoint::Post { upgraded: false } => (&self.post, "NotUpgraded"),
        };
        let run = Run {
            id: errand.id.as_ref().map_or("", upgrade::UpgradeId::as_str),
            outcome,
            limit: Duration::from_secs(errand.policy.hooks.seconds),
        };
        errand.unless_cancelled(run.all(folders)).await
    }
}

/// The input of a hook.
struct Run<'a> {
    id: &'a str,
    outcome: &'a str,
    limit: Duration,
}

impl Run<'_> {
    async fn all(&self, folders: &[PathBuf]) -> Result<(), Reason> {
        for (hook, program) in programs::find(folders) {
            let ended = self.one(&program).await;
            ended.map_err(|detail| Reason::HookFailed { hook, detail })?;
        }
        Ok(())
    }

    async fn one(&self, program: &Program) -> Result<(), String> {
        if let Some(fault) = &program.fault {
            return Err(fault.clone());
        }
        let mut command = Command::from(of_the_operator(&program.path));
        command
            .env("CAREEN_UPGRADE_ID", self.id)
            .env("CAREEN_OUTCOME", self.outcome);
        match output::within(self.limit, &mut command).await {
            Ran::Ended(said) if said.output.status.success() => Ok(()),
            Ran::Ended(said) => Err(said.why()),
            Ran::Not(error) => Err(format!("cannot be run: {error}")),
            Ran::Late(written) => Err(format!(
                "{} (hooks.seconds of the policy)",
                late(self.limit.as_secs(), written)
            )),
        }
    }
}

#[cfg(test)]
mod tests;
