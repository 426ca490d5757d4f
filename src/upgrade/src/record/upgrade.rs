//! One upgrade. Its types keep together what belongs together: a phase has its boot or its reason,
//! a retry has its step. They do not rule out each state that no upgrade can be in: the rules of
//! `decide` make the phase and the other fields agree.

use serde_json::{Map, Value};

use super::attempt::{ApiSeen, Attempt, Redo, Rehearsal};
use super::control::Control;
use super::custody::Custody;
use super::reached::Reached;
use super::retry::Retry;
use super::signatures::Signatures;
use crate::bill::Bill;
use crate::id::{Digest, UpgradeId};
use crate::image::{Deployment, ImageFacts, ImageInfo};
use crate::phase::{Class, Phase};
use crate::reason::Reason;
use crate::serving::Serving;
use crate::step::{Step, StepKind};
use crate::target::{RawRequest, Target, Wanted};
use crate::version::Version;

/// One upgrade. On the disk it has the flat form that the file `wire.rs` defines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upgrade {
    /// The id, repeated in every answer.
    pub id: UpgradeId,
    /// The request as it was when the agent accepted it.
    pub request: RawRequest,
    /// The image; pinned from `Fetched` on.
    pub target: Target,
    /// The image is the system that this node has kept, so nothing is fetched.
    pub kept: bool,
    /// The phase that the upgrade has reached.
    pub phase: Phase,
    /// The step that was begun and whose outcome is not known yet.
    pub intent: Option<Step>,
    /// The system that ran when the agent accepted the request.
    pub from: Deployment,
    /// The Kubernetes version of that system.
    pub from_version: Option<Version>,
    /// What the commit contains.
    pub facts: Option<ImageFacts>,
    /// What the policy required of signatures when the deployment began.
    pub signatures: Option<Signatures>,
    /// The new deployment, once it exists.
    pub to: Option<Deployment>,
    /// The rehearsal of the drain.
    pub rehearsal: Rehearsal,
    /// How the node served before its first drain, or the first one since its users had it back.
    pub served: Serving,
    /// How the new system differs from that, in sentences; for display only.
    pub differs: Vec<String>,
    /// Who has the node.
    pub custody: Custody,
    /// The current trial, armed or running, or the last one.
    pub attempt: Attempt,
    /// What was repeated before the next trial.
    pub redo: Redo,
    /// Which system has reached the API server.
    pub api: ApiSeen,
    /// The control plane of this node; `None` on a worker.
    pub control: Option<Control>,
    /// The Node was paused when the agent last saw it. A restarted agent sees the Node only later.
    pub paused: bool,
    /// Why the upgrade waits although nothing failed.
    pub waits: Option<Reason>,
    /// The step that failed last, and when it may be retried.
    pub retry: Option<Retry>,
    /// What is no longer needed was removed from the disk.
    pub cleaned: bool,
    /// The upgrade has ended and is counted.
    pub closed: bool,
    /// When phases were reached, by the wall clock; for display only.
    pub reached: Vec<Reached>,
    /// What the upgrade cost the node's users; for display only.
    pub bill: Bill,
    /// Fields of a newer version, unknown to this one.
    pub unknown: Map<String, Value>,
}

impl Upgrade {
    /// An upgrade that was just accepted.
    #[must_use]
    pub fn new(id: UpgradeId, request: RawRequest, target: Target, from: Deployment) -> Self {
        Self {
            id,
            request,
            target,
            kept: false,
            phase: Phase::Accepted,
            intent: None,
            from,
            from_version: None,
            facts: None,
            signatures: None,
            to: None,
            rehearsal: Rehearsal::Due,
            served: Serving::default(),
            differs: Vec::new(),
            custody: Custody::Users { hooks_due: false },
            attempt: Attempt::none(),
            redo: Redo::default(),
            api: ApiSeen::default(),
            control: None,
            paused: false,
            waits: None,
            retry: None,
            cleaned: false,
            closed: false,
            reached: Vec::new(),
            bill: Bill::default(),
            unknown: Map::new(),
        }
    }

    /// Whether it has ended and is counted, so that another upgrade may begin.
    #[must_use]
    pub const fn is_over(&self) -> bool {
        self.phase.is_end() && self.closed
    }

    /// Whether the node may be partly or fully taken from its users.
    #[must_use]
    pub fn is_taken(&self) -> bool {
        self.phase == Phase::Drained || self.custody.is_taken()
    }

    /// Whether nothing of this upgrade keeps the node from its users, or other members of the
    /// control plane from their turn.
    #[must_use]
    pub fn has_let_go(&self) -> bool {
        self.custody.is_given_back() && !self.holds_the_lock()
    }

    /// Whether this upgrade holds the lock of the control plane, or may hold it.
    #[must_use]
    pub fn holds_the_lock(&self) -> bool {
        self.control.as_ref().is_some_and(Control::holds_the_lock)
    }

    /// Whether Careen itself has begun to make the new system the default. The agent writes the
    /// intent first, and retries the step if it fails.
    #[must_use]
    pub fn is_being_blessed(&self) -> bool {
        let intended = matches!(self.intent, Some(Step::Bless { .. }));
        let tried = self.retry.as_ref();
        intended || tried.is_some_and(|retry| retry.is_of(StepKind::Bless))
    }

    /// Whether the old system has reached the API server in this upgrade. A released agent did not
    /// note it, but it drained the node, and no drain ends without the server.
    #[must_use]
    pub fn old_has_reached_api(&self) -> bool {
        let taken = self.custody.taken();
        let drained = taken.is_some_and(|taken| taken.drain_begun.is_some());
        self.api.from_old || self.api.compared || drained
    }

    /// What was requested. Once a trial is armed, the target no longer says where the image came
    /// from.
    #[must_use]
    pub fn wanted(&self) -> Wanted {
        if self.kept {
            return Wanted::Kept;
        }
        let asked = self.request.parse().map(|request| request.wanted);
        asked.unwrap_or_else(|_| Wanted::Image(self.target.clone()))
    }

    /// The commit to boot, once it is known.
    #[must_use]
    pub const fn commit(&self) -> Option<&Digest> {
        self.target.commit.as_ref()
    }

    /// The same commit, shortened for display.
    #[must_use]
    pub fn short_commit(&self) -> String {
        self.commit()
            .map_or_else(String::new, |commit| commit.short().to_owned())
    }

    /// Whether the next step may arm a trial. An agent that starts after a trial finds the phase in
    /// which the trial ended.
    #[must_use]
    pub fn may_arm_next(&self, booted: &Deployment) -> bool {
        let before_a_trial = match self.phase.class() {
            Class::Preparing => self.phase == Phase::Drained,
            Class::Trying { .. } | Class::Blessed => true,
            Class::Upgraded
            | Class::Reverting { .. }
            | Class::Failed { .. }
            | Class::Halted { .. } => false,
        };
        before_a_trial && self.from.same(booted)
    }

    /// Whether it matters that /etc has changed since the deployment: a trial may be next, or the
    /// node is about to be taken from its users.
    #[must_use]
    pub fn needs_a_still_etc(&self, booted: &Deployment) -> bool {
        let takes_next = self.phase == Phase::Deployed && self.custody.taken().is_none();
        takes_next && self.from.same(booted) || self.may_arm_next(booted)
    }

    /// Whether the record has left the phase `Armed` although the armed trial did not run: no guard
    /// has let it through since. Nobody can say that of an image without a guard.
    #[must_use]
    pub fn is_past_its_arming(&self) -> bool {
        match self.phase.class() {
            Class::Trying { .. } | Class::Blessed | Class::Upgraded => false,
            Class::Preparing
            | Class::Reverting { .. }
            | Class::Failed { .. }
            | Class::Halted { .. } => self.has_guard() && self.attempt.guarded.is_none(),
        }
    }

    /// Whether the image has a guard in its initramfs that this version knows, as far as was found.
    #[must_use]
    pub fn has_guard(&self) -> bool {
        let info = self.facts.as_ref().and_then(|facts| facts.info.as_ref());
        info.is_none_or(ImageInfo::is_guarded)
    }
}
