//! What every rule asks about the moment, derived once from the observation and the policy.

use super::decision::Act;
use crate::id::{Moment, SinceBoot};
use crate::observe::{Api, Asked, Membership, Observation, OneShot};
use crate::policy::{Policy, PolicyRead};
use crate::reason::Reason;
use crate::record::Upgrade;
use crate::step::{Outcome, Step, skew};
use crate::window::Door;

/// For how many seconds an agent that has just started waits for the API server where it asks the
/// server and does not need it. Cleaning up takes tens of seconds, in which no pod could come back
/// under our cordon. After the arming no withdrawal is heard, and a reboot ends the pods that came
/// back since somebody removed the cordon.
const CONNECTING: u64 = 90;

/// The pause after a step whose tries no upgrade counts, in seconds.
const PAUSE: u64 = 60;

/// After this many seconds the wall clock is read again: somebody may have set it.
const LOOK_AGAIN: u64 = 3600;

/// Which of the two systems of an upgrade runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum System {
    /// The one that ran when the request was taken.
    Old,
    /// The one that was asked for.
    New,
    /// Neither.
    Other,
}

/// This moment.
pub(super) struct Situation<'a> {
    /// What is seen.
    pub(super) seen: &'a Observation,
    /// The policy file as it was read: a new request needs one that holds.
    pub(super) read: &'a PolicyRead,
    /// The last policy that held: what is under way goes on with it.
    pub(super) policy: &'a Policy,
    /// Whether this machine is a node of a cluster. Nobody uses one that is not.
    pub(super) joined: bool,
    /// Whether the API server is reached.
    pub(super) reached: bool,
    /// Whether a one-shot entry is set.
    pub(super) armed: bool,
}

impl<'a> Situation<'a> {
    pub(super) fn of(seen: &'a Observation, read: &'a PolicyRead, policy: &'a Policy) -> Self {
        Self {
            seen,
            read,
            policy,
            joined: match seen.node.membership {
                Membership::Joined => true,
                Membership::Unjoined => false,
            },
            reached: matches!(seen.node.api, Api::Reached { .. }),
            armed: seen.machine.one_shot == OneShot::Set,
        }
    }

    /// Which system of this upgrade runs.
    pub(super) fn system(&self, up: &Upgrade) -> System {
        if up
            .to
            .as_ref()
            .is_some_and(|to| to.same(&self.seen.machine.booted))
        {
            System::New
        } else if up.from.same(&self.seen.machine.booted) {
            System::Old
        } else {
            System::Other
        }
    }

    /// This moment of this boot.
    pub(super) fn moment(&self) -> Moment {
        Moment {
            boot: self.seen.turn.boot.clone(),
            at: self.seen.turn.now,
        }
    }

    /// Whether a moment is of this boot and still to come.
    pub(super) fn is_ahead(&self, moment: &Moment) -> bool {
        moment.boot == self.seen.turn.boot && self.seen.turn.now < moment.at
    }

    /// The wait of an agent that has just started for the API server. It counts from the agent's
    /// start, since restoring the kubelet's state runs before that and may take minutes.
    pub(super) fn connecting(&self) -> Option<Act> {
        let until = self.seen.turn.started.plus_seconds(CONNECTING);
        (self.seen.turn.now < until).then_some(Act::Wait(Some(until)))
    }

    /// The same while the Node was not seen yet: the request may be withdrawn, or the Node paused.
    pub(super) fn unheard(&self) -> Option<Act> {
        self.connecting()
            .filter(|_| self.seen.node.request == Asked::Unknown)
    }

    /// The pause before the next try of the step that failed, if it is not over.
    pub(super) fn backoff(&self, up: &Upgrade) -> Option<Act> {
        let due = &up.retry.as_ref()?.due;
        self.is_ahead(due).then_some(Act::Wait(Some(due.at)))
    }

    /// The pause when this step, whose tries no upgrade counts, has just failed.
    pub(super) fn pause_after_failure(&self, step: &Step) -> Option<Act> {
        let finished = self.seen.turn.finished.as_ref()?;
        let failed = matches!(finished.outcome, Outcome::Failed(_));
        self.pause_after(step).filter(|_| failed)
    }

    /// The pause when this step has just ended, in whatever way.
    pub(super) fn pause_after(&self, step: &Step) -> Option<Act> {
        let finished = self.seen.turn.finished.as_ref()?;
        let this = finished.step.kind() == step.kind();
        this.then(|| self.wait_seconds(PAUSE))
    }

    /// A wait of this many seconds.
    pub(super) fn wait_seconds(&self, seconds: u64) -> Act {
        Act::Wait(Some(self.seen.turn.now.plus_seconds(seconds)))
    }

    /// Whether the upgrade took a node that is none any more. Its trial proves nothing of a node.
    pub(super) fn has_left(&self, up: &Upgrade) -> bool {
        !self.joined && up.custody.taken().is_some()
    }

    /// The skew against the API server as it is now; nothing while its version is not known. On a
    /// control plane the server is raised to the image's version first, and the survey looks at the
    /// one of this node. A host without a cluster has no server to fit: its claim says the version.
    pub(super) fn skew(&self, up: &Upgrade) -> Option<Result<(), Reason>> {
        if !self.joined {
            return Some(Ok(()));
        }
        let Api::Reached {
            version: Some(server),
            ..
        } = &self.seen.node.api
        else {
            return None;
        };
        let kubelet = &up.facts.as_ref()?.info.as_ref()?.kubernetes;
        let is_raised = up.control.is_some() && server.is_older_than(kubelet);
        let server = if is_raised { kubelet } else { server };
        Some(skew(kubelet, server, self.policy.skew))
    }

    /// Whether the operator's hours mean nothing, since the clock was not set in this boot.
    pub(super) fn lacks_the_time(&self) -> bool {
        self.policy.window.lacks_the_time(self.seen.turn.clock_set)
    }

    /// The operator's hours.
    pub(super) fn door(&self) -> Door {
        let turn = &self.seen.turn;
        self.policy.window.by_the_clock(turn.wall, turn.clock_set)
    }

    /// No wait outlasts the operator's hours unnoticed.
    pub(super) fn wake_when_the_hours_end(&self, act: Act) -> Act {
        match (act, self.door()) {
            (Act::Wait(until), Door::Open { until: Some(end) }) => {
                let end = self.wake_at(end);
                Act::Wait(Some(until.map_or(end, |until| until.min(end))))
            }
            (act, _) => act,
        }
    }

    /// When a moment of the wall clock comes, as far as this boot's clock can tell.
    pub(super) fn wake_at(&self, moment: u64) -> SinceBoot {
        let left = moment.saturating_sub(self.seen.turn.wall);
        self.seen.turn.now.plus_seconds(left.clamp(1, LOOK_AGAIN))
    }
}
