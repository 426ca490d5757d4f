//! One upgrade as the rules read it: a few values, in which what no upgrade can be is not written.
//!
//! The record on the disk is flat ([`crate::record::Upgrade`]), as every released agent reads and
//! writes it. [`wire`] converts between the two.

mod attempt;
mod custody;
mod retry;
mod wire;

use serde_json::{Map, Value};

pub(crate) use attempt::{ApiSeen, Attempt, Kubeadm, NewDefault, Redo, Rehearsal};
pub(crate) use custody::{Custody, Taken};
pub(crate) use retry::Retry;

use crate::bill::Bill;
use crate::id::{Digest, UpgradeId};
use crate::image::{Deployment, ImageFacts};
use crate::phase::Phase;
use crate::reason::Reason;
use crate::record::{Reached, Signatures};
use crate::step::{Step, StepKind};
use crate::target::{RawRequest, Target, Wanted};
use crate::version::Version;

/// One upgrade.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Upgrade {
    /// Repeated in every answer.
    pub(crate) id: UpgradeId,
    /// The request as it was when it was taken.
    pub(crate) request: RawRequest,
    /// The image; pinned from `Fetched` on.
    pub(crate) target: Target,
    /// The image is the system that this node has kept: nothing is fetched.
    pub(crate) kept: bool,
    /// How far the upgrade is.
    pub(crate) phase: Phase,
    /// The step that was begun and whose outcome is not known yet.
    pub(crate) intent: Option<Step>,
    /// The system that ran when the request was taken.
    pub(crate) from: Deployment,
    /// The Kubernetes version of that system.
    pub(crate) from_version: Option<Version>,
    /// What the image is.
    pub(crate) facts: Option<ImageFacts>,
    /// What the policy asked of signatures when the deployment began.
    pub(crate) signatures: Option<Signatures>,
    /// The new deployment, once it exists.
    pub(crate) to: Option<Deployment>,
    /// The rehearsal of the drain.
    pub(crate) rehearsal: Rehearsal,
    /// Who has the node.
    pub(crate) custody: Custody,
    /// The trial that is armed, runs or ran last.
    pub(crate) attempt: Attempt,
    /// What was done again on the way to the next trial.
    pub(crate) redo: Redo,
    /// Who has reached the API server.
    pub(crate) api: ApiSeen,
    /// The Node was paused when it was last seen. An agent that was restarted sees the Node later.
    pub(crate) paused: bool,
    /// Why nothing begins at the moment, though nothing failed.
    pub(crate) waits: Option<Reason>,
    /// The step that failed last, and when it may be tried again.
    pub(crate) retry: Option<Retry>,
    /// What is no longer needed is gone from the disk.
    pub(crate) cleaned: bool,
    /// The end is reached and counted.
    pub(crate) closed: bool,
    /// When phases were reached, by the wall clock: for display only.
    pub(crate) reached: Vec<Reached>,
    /// What the upgrade costs the node's users: for display only.
    pub(crate) bill: Bill,
    /// What a newer version wrote and this one does not know.
    pub(crate) unknown: Map<String, Value>,
}

impl Upgrade {
    /// Whether it has ended and was counted, so that another one may begin.
    pub(crate) const fn is_over(&self) -> bool {
        self.phase.is_end() && self.closed
    }

    /// Whether any of what takes the node from its users may have happened without being undone.
    pub(crate) fn is_taken(&self) -> bool {
        self.phase == Phase::Drained || self.custody.is_taken()
    }

    /// Whether Careen itself has begun to make the new system the default: the intent is written
    /// before that, and what fails is tried again.
    pub(crate) fn is_being_blessed(&self) -> bool {
        let intended = matches!(self.intent, Some(Step::Bless { .. }));
        let tried = self.retry.as_ref();
        intended || tried.is_some_and(|retry| retry.is_of(StepKind::Bless))
    }

    /// Whether the old system has reached the API server in this upgrade. A released agent did not
    /// note it, but it drained the node, and no drain ends without the server.
    pub(crate) fn old_has_reached_api(&self) -> bool {
        let taken = self.custody.taken();
        let drained = taken.is_some_and(|taken| taken.drain_begun.is_some());
        self.api.from_old || self.api.compared || drained
    }

    /// What was asked for. After an arming the target no longer says where the image came from.
    pub(crate) fn wanted(&self) -> Wanted {
        if self.kept {
            return Wanted::Kept;
        }
        let asked = self.request.parse().map(|request| request.wanted);
        asked.unwrap_or_else(|_| Wanted::Image(self.target.clone()))
    }

    /// The commit that is booted, once it is known.
    pub(crate) const fn commit(&self) -> Option<&Digest> {
        self.target.commit.as_ref()
    }

    /// The same, short, for people.
    pub(crate) fn short_commit(&self) -> String {
        self.commit()
            .map_or_else(String::new, |commit| commit.short().to_owned())
    }
}

#[cfg(test)]
mod tests;
