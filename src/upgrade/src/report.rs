//! What Careen reports on the Node: one source for annotations, condition, log and command line.

pub mod hindered;
mod lifecycle;
mod percent;
mod status;

pub use lifecycle::Lifecycle;
use percent::percent;
pub use status::{Cause, ControlPlane, Status};

pub use crate::answer::Answer;
use crate::history::Past;
use crate::id::BootId;
use crate::image::Deployment;
use crate::keys::{Pause, Stray};
use crate::observe::{Asked, Observation};
use crate::phase::{Class, Phase};
use crate::reason::{Reason, complaint, cut};
use crate::record::{Record, RecordRead, Refused, Upgrade};
use crate::step::{Step, StepKind};

/// The message about an image that the policy let through without a guard, if nothing else is to
/// report.
pub const UNGUARDED: &str = "the new system does not have a guard in its initramfs, as the policy allows (unguarded = true): a hang there needs a person";

/// The whole answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The short answer; `None` while the node's first request waits.
    pub answer: Option<Answer>,
    /// Why the upgrade failed, or what blocks it now.
    pub reason: Option<Reason>,
    /// Why the agent does not accept the current request yet. The answer stays: it belongs to an
    /// older request.
    pub waits: Option<Reason>,
    /// The details.
    pub status: Status,
    /// How far the node is from its users.
    pub lifecycle: Lifecycle,
    /// The last upgrades, the latest first; `None` if they cannot be read.
    pub past: Option<Vec<Past>>,
}

impl Report {
    /// The state at this moment as one code and one sentence.
    #[must_use]
    pub fn now(&self) -> Option<&Reason> {
        self.waits.as_ref().or(self.reason.as_ref())
    }

    /// How the new system differs from the old one, in one sentence.
    #[must_use]
    pub fn differs(&self) -> Option<String> {
        let differs = &self.status.differs;
        let told = || cut(&format!("the upgrade passed, but {}", differs.join("; ")));
        (!differs.is_empty()).then(told)
    }

    /// The same without a cause of the way back that repeats the reason word for word.
    fn without_repeats(mut self) -> Self {
        let reason = self.status.reason.clone();
        let differs = |cause: &Cause| Some(&cause.reason) != reason.as_ref();
        self.status.reverts_for = self.status.reverts_for.filter(differs);
        self
    }

    /// The keys on the Node that resemble Careen's, and those without their request, in one
    /// sentence.
    #[must_use]
    pub fn unknown(&self) -> Option<String> {
        let keys = &self.status.unknown_keys;
        let told = || {
            format!(
                "the Node has keys that are perhaps a mistake: {}",
                keys.join(", ")
            )
        };
        (!keys.is_empty()).then(told)
    }
}

/// The progress of careen-deploy or of the drain in the current step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Doing {
    /// 0 to 100 within the step.
    pub percent: u8,
    /// What is in progress, for display.
    pub text: String,
}

/// What a report includes besides the record. It is known even if the machine's state cannot be
/// read.
#[derive(Clone, Copy, Debug)]
pub struct Moment<'a> {
    /// The boot that reports.
    pub boot: Option<&'a BootId>,
    /// The deployment that runs.
    pub booted: Option<&'a Deployment>,
    /// The requester's annotations.
    pub request: &'a Asked,
    /// Why nothing new begins.
    pub paused: Option<&'a Pause>,
    /// The keys on the Node that resemble Careen's.
    pub strays: &'a [Stray],
    /// The step in progress.
    pub running: Option<&'a Step>,
}

impl<'a> From<&'a Observation> for Moment<'a> {
    fn from(seen: &'a Observation) -> Self {
        Self {
            boot: Some(&seen.turn.boot),
            booted: Some(&seen.machine.booted),
            request: &seen.node.request,
            paused: seen.node.paused.as_ref(),
            strays: &seen.node.strays,
            running: seen.turn.running.as_ref(),
        }
    }
}

/// The report for the Node. `None` if there never was a request or a key that resembles one.
#[must_use]
pub fn report<'a>(
    read: &RecordRead,
    seen: impl Into<Moment<'a>>,
    doing: Option<&Doing>,
) -> Option<Report> {
    repeating(read, seen.into(), doing).map(Report::without_repeats)
}

/// The same report, in which the cause of the way back may repeat the reason.
fn repeating(read: &RecordRead, seen: Moment<'_>, doing: Option<&Doing>) -> Option<Report> {
    let record = match read {
        Err(reason) => return Some(unreadable(reason, seen)),
        Ok(record) => record,
    };
    let waits = waiting(record, seen);
    let answered = match record {
        Record {
            refused: Some(refused),
            ..
        } => Some(refusal(refused, record.upgrade.as_ref(), seen)),
        Record {
            upgrade: Some(up), ..
        } => Some(progress(up, seen, doing)),
        Record {
            upgrade: None,
            refused: None,
            ..
        } => (waits.is_some() || !seen.strays.is_empty()).then(|| first(seen)),
    };
    let mut report = answered?;
    report.status.paused = seen.paused.map(|pause| complaint(&pause.why()));
    report.status.unknown_keys = seen.strays.iter().map(Stray::told).collect();
    report.past = Some(record.past.clone());
    report.waits = waits;
    Some(report)
}

/// Why the agent does not accept a request while no upgrade is under way.
fn waiting(record: &Record, seen: Moment<'_>) -> Option<Reason> {
    let idle = record.upgrade.as_ref().is_none_or(|up| up.phase.is_end());
    let open = record.unanswered(seen.request).filter(|_| idle);
    pause(seen).filter(|_| open.is_some())
}

fn pause(seen: Moment<'_>) -> Option<Reason> {
    seen.paused.map(Pause::reason)
}

/// The report [`IDLE`] for a Node that still shows something obsolete: a request that was withdrawn
/// before it was accepted, or a key. The history on the Node stays.
#[must_use]
pub fn idle<'a>(seen: impl Into<Moment<'a>>) -> Report {
    first(seen.into())
}

/// The phase of a node that has never had a request.
pub const IDLE: &str = "Idle";

/// The report of a node that has never answered a request.
fn first(seen: Moment<'_>) -> Report {
    let status = Status {
        phase: IDLE.to_owned(),
        boot: seen.boot.cloned(),
        ..Status::default()
    };
    Report {
        status,
        ..Report::default()
    }
}

fn unreadable(reason: &Reason, seen: Moment<'_>) -> Report {
    let status = Status {
        phase: "Halted".to_owned(),
        ..Status::default()
    };
    failed(status, reason, seen)
}

fn refusal(refused: &Refused, former: Option<&Upgrade>, seen: Moment<'_>) -> Report {
    let status = Status {
        id: refused.id.clone(),
        phase: "Refused".to_owned(),
        ..Status::default()
    };
    let mut report = failed(status, &refused.reason, seen);
    if let Some(halted) = former.and_then(still_halted) {
        // A refusal changes nothing on the node, so the node still needs a person.
        "Halted".clone_into(&mut report.status.phase);
        report.status.reason = report.status.reason.map(|refused| {
            cut(&format!(
                "{refused}; and the node was halted before: {halted}"
            ))
        });
    }
    report
}

/// Why an upgrade left the node halted, if the node was not given back since.
fn still_halted(up: &Upgrade) -> Option<&Reason> {
    if let Phase::Halted { reason } = &up.phase
        && !up.custody.is_given_back()
    {
        Some(reason)
    } else {
        None
    }
}

fn failed(mut status: Status, reason: &Reason, seen: Moment<'_>) -> Report {
    status.boot = seen.boot.cloned();
    status.percent = 100;
    with_reason(Answer::Failed, status, Some(reason.clone()))
}

fn with_reason(answer: Answer, mut status: Status, reason: Option<Reason>) -> Report {
    status.code = reason.as_ref().map(Reason::code);
    status.reason = reason.as_ref().map(Reason::told);
    Report {
        answer: Some(answer),
        reason,
        status,
        ..Report::default()
    }
}

fn progress(up: &Upgrade, seen: Moment<'_>, doing: Option<&Doing>) -> Report {
    let step = seen
        .running
        .or(up.intent.as_ref())
        .filter(|_| !up.phase.is_end());
    let within = doing.filter(|_| seen.running.is_some());
    let status = Status {
        id: Some(up.id.clone()),
        phase: up.phase.name().to_owned(),
        step: step.map(|step| step.name().to_owned()),
        doing: within
            .map(|doing| cut(&doing.text))
            .or_else(|| leaves(up, step)),
        percent: percent(&up.phase, within.map_or(0, |doing| doing.percent)),
        from: Some(up.from.digest.clone()),
        to: up.target.commit.clone(),
        to_version: up
            .facts
            .as_ref()
            .and_then(|facts| facts.info.as_ref())
            .map(|i| i.kubernetes.clone()),
        boot: seen.boot.cloned(),
        tries: up.attempt.tries,
        unguarded: is_unguarded(up),
        default_moved: up.attempt.default.is_moved(),
        reverts_for: reverts_for(up).map(Cause::from),
        differs: up.differs.clone(),
        control_plane: up.control.as_ref().map(status::ControlPlane::from),
        reached: up.reached.clone(),
        waiting_since: up.bill.waiting.since.as_ref().map(|since| since.wall),
        ..Status::default()
    };
    let (answer, reason) = match up.phase.class() {
        Class::Upgraded => match overtaken(up, seen) {
            Some(reason) => (Answer::Failed, Some(reason)),
            None => (Answer::Upgraded, None),
        },
        Class::Failed { reason } | Class::Halted { reason } => {
            (Answer::Failed, Some(reason.clone()))
        }
        Class::Reverting { reason } => {
            // A trial under an older version may leave a retry of kubeadm, which does not block the
            // way back.
            let stands = up
                .retry
                .as_ref()
                .filter(|retry| !retry.is_of(StepKind::Kubeadm));
            let stands = stands.map_or(reason, |retry| &retry.reason);
            (Answer::InProgress, Some(stands.clone()))
        }
        Class::Preparing | Class::Trying { .. } | Class::Blessed => {
            (Answer::InProgress, hindrance(up, seen))
        }
    };
    Report {
        lifecycle: Lifecycle::from(up),
        ..with_reason(answer, status, reason)
    }
}

/// The last message before a reboot: from then on, nobody writes to the Node for minutes.
fn leaves(up: &Upgrade, step: Option<&Step>) -> Option<String> {
    step.filter(|step| matches!(step, Step::Reboot { .. }))?;
    let to = match up.phase.class() {
        Class::Trying { .. } if matches!(up.phase, Phase::Armed { .. }) => {
            "away, in its trial: the node boots the new system once"
        }
        Class::Preparing
        | Class::Trying { .. }
        | Class::Blessed
        | Class::Reverting { .. }
        | Class::Upgraded
        | Class::Failed { .. }
        | Class::Halted { .. } => "away: the node reboots to leave the trial",
    };
    Some(to.to_owned())
}

/// Whether the policy let the image through without a guard. An image that was refused was never
/// deployed.
fn is_unguarded(up: &Upgrade) -> bool {
    let is_let_through = match up.phase.class() {
        Class::Preparing => !up.phase.is_before_the_verification(),
        Class::Reverting { .. } | Class::Failed { .. } | Class::Halted { .. } => up.to.is_some(),
        Class::Trying { .. } | Class::Blessed | Class::Upgraded => true,
    };
    is_let_through && !up.has_guard()
}

const fn reverts_for(up: &Upgrade) -> Option<&Reason> {
    if let Phase::Reverting { reason } = &up.phase {
        Some(reason)
    } else {
        None
    }
}

/// A node that was upgraded but runs its former system again: the boot loader could not start the
/// new one, or a person picked the old one. Reported while it is so; the record does not change.
fn overtaken(up: &Upgrade, seen: Moment<'_>) -> Option<Reason> {
    let runs = seen.booted.filter(|booted| booted.same(&up.from))?;
    let new = up.to.as_ref().filter(|new| !new.same(runs))?;
    Some(Reason::ForeignDefault {
        default: new.digest.short().to_owned(),
    })
}

/// What blocks the upgrade now, although it has not failed.
fn hindrance(up: &Upgrade, seen: Moment<'_>) -> Option<Reason> {
    // The current step finishes; no other step begins until the trial is armed.
    let pause = pause(seen).filter(|_| up.phase.can_be_withdrawn());
    let retry = up.retry.as_ref().map(|retry| &retry.reason);
    let drain = up
        .rehearsal
        .blocked()
        .filter(|_| up.phase.is_before_the_drain());
    let waits = up.waits.as_ref().or(retry);
    pause.or_else(|| waits.or(up.attempt.given_up.as_ref()).or(drain).cloned())
}
