//! What a rule decides: changes of the record, and what follows.

use super::decision::Act;
use crate::bill::Bill;
use crate::id::{BootId, Digest, Moment};
use crate::image::{Deployment, ImageFacts};
use crate::observe::TrialEnd;
use crate::phase::Phase;
use crate::reason::Reason;
use crate::record::{Control, Custody, Retry, Upgrade};
use crate::record::{Reached, Signatures};
use crate::serving::Serving;
use crate::step::Step;
use crate::target::{RawRequest, Target};

/// One change of the record. `write.rs` says which fields each of them changes.
#[derive(Debug)]
pub(super) enum Change {
    /// The record as a whole.
    Whole(Whole),

    /// The phase that is reached.
    Phase(Phase),
    /// The upgrade ends or turns back, as the disposition of the reason says.
    GiveUp(Reason),
    /// The step that is about to begin, or nothing where the outcome of the last one is known.
    Intent(Option<Step>),
    /// The step that is tried again, if any.
    Retry(Option<Retry>),
    /// What the upgrade waits for, if anything.
    Waits(Option<Reason>),
    /// Whether the Node is paused.
    Paused(bool),

    /// The commit that the image resolves to.
    Commit(Digest),
    /// The image in other words.
    Target(Target),
    /// What the image is.
    Facts(ImageFacts),
    /// What the policy asks of signatures as the deployment begins.
    Signatures(Signatures),
    /// The new deployment.
    Deployed(Deployment),
    /// The deployment is being made again.
    DeployAgain,
    /// That counts, since the node is drained.
    CountDeployment,
    /// The rehearsal of the drain has run, and found this in its way.
    Rehearsed(Option<Reason>),
    /// How the node served before the drain.
    Served(Serving),
    /// The node is drained again, which counts.
    CountDrain,
    /// Who has the node.
    Custody(Custody),
    /// What the upgrade has done to the control plane of the node.
    Control(Control),

    /// The old system has reached the API server.
    OldReached,
    /// It has done so since a trial that ended without the server.
    OldCompared,
    /// A trial ended without the API server: the old system must reach it once more.
    Unreached,
    /// The new system has reached the API server, in this boot.
    NewReached(BootId),

    /// Whether the kubelet's state is saved for the next trial.
    Saved(bool),
    /// A trial is armed, with this deadline.
    Arm(u64),
    /// The trial that was armed did not happen, so it does not count.
    Uncount,
    /// The guard has let this boot through.
    Guarded(BootId),
    /// The new system runs, in this boot.
    Enter(BootId),
    /// The trial is given up, without blaming the new system.
    GiveUpTrial(Reason),
    /// The deadman is asked for patience until then.
    Hold(Moment),
    /// Since when the new system is healthy without a break.
    WellSince(Option<Moment>),
    /// How the new system differs from the old one. It decides nothing.
    Differs(Vec<String>),
    /// `kubeadm upgrade node` must run before the node is given back.
    KubeadmDue,
    /// It has written the new kubelet's configuration, in this boot.
    Configured(BootId),
    /// Somebody else has made the new system the default.
    DefaultMoved,
    /// The old system is about to be made the default again, in this boot.
    Reinstate(BootId),
    /// The old system is the default, and Careen is about to change that.
    DefaultKept,
    /// What ended a trial without a verdict, as something else shows.
    EndedBy(TrialEnd),
    /// The old system is back from a trial without a verdict, and the next trial begins.
    NextTrial,
    /// What is no longer needed is gone from the disk.
    Cleaned,

    /// Which of the watches over the downtime run, and what they show.
    Bill(Bill),
    /// So many seconds of the phase were spent waiting for the operator.
    Waited(u64),
    /// A phase is reached.
    Reached(Reached),
}

/// One change of the record as a whole.
#[derive(Debug)]
pub(super) enum Whole {
    /// Nobody asks for anything: the next request is a new one, also for an image that failed.
    NothingAsked,
    /// This request is refused before anything is touched.
    Refuse(Box<RawRequest>, Reason),
    /// This upgrade begins.
    Begin(Box<Upgrade>),
    /// The upgrade has ended: it is counted, and the request is answered.
    Close,
}

/// What a rule decides.
#[derive(Debug)]
pub(super) struct Move {
    /// What is written, in this order.
    pub(super) changes: Vec<Change>,
    /// What is done then; nothing where another rule says that, of the record as it is then.
    pub(super) act: Option<Act>,
    /// Whether no wait may outlast the operator's hours, in this move and in those that follow.
    pub(super) within_the_hours: bool,
}

impl Move {
    pub(super) const fn act(act: Act) -> Self {
        Self {
            changes: Vec::new(),
            act: Some(act),
            within_the_hours: false,
        }
    }

    pub(super) const fn begin(step: Step) -> Self {
        Self::act(Act::Begin(step))
    }

    /// Until something changes.
    pub(super) const fn wait() -> Self {
        Self::act(Act::Wait(None))
    }

    /// With this written, the guards and the table again.
    pub(super) fn look(changes: impl IntoIterator<Item = Change>) -> Self {
        Self {
            changes: changes.into_iter().collect(),
            act: None,
            within_the_hours: false,
        }
    }

    /// The request ends for this reason, and the way back begins.
    pub(super) fn give_up(reason: Reason) -> Self {
        Self::look([Change::GiveUp(reason)])
    }

    /// The same, with this written first.
    #[must_use]
    pub(super) fn after(mut self, first: impl IntoIterator<Item = Change>) -> Self {
        self.changes.splice(0..0, first);
        self
    }

    /// The same, and no wait outlasts the operator's hours.
    #[must_use]
    pub(super) const fn within_the_hours(mut self) -> Self {
        self.within_the_hours = true;
        self
    }
}

impl From<Act> for Move {
    fn from(act: Act) -> Self {
        Self::act(act)
    }
}
