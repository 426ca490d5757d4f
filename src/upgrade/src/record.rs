//! What is remembered across reboots: one document, written before each effect and after it.
//!
//! How it gets to the disk (two generations, checksum, fsync) is `host::journal`'s business. The OLD system reads what a
//! trial wrote, so unknown fields are kept and the format is raised only once a new system is blessed.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::bill::Bill;
use crate::history::Past;
use crate::id::{BootId, Digest, Moment, UpgradeId};
use crate::image::{Deployment, ImageFacts, ImageInfo};
use crate::observe::Asked;
use crate::phase::{Class, Phase};
use crate::policy::Policy;
use crate::reason::Reason;
use crate::step::Step;
use crate::tally::Tally;
use crate::target::{RawRequest, Target, Wanted};
use crate::version::Version;

/// The newest format that this code reads and writes.
pub const FORMAT: u32 = 1;

/// What [`Step::name`] calls the blessing.
const BLESS: &str = "Bless";

/// How many bad images are remembered; older ones go first.
const BAD_IMAGES: usize = 32;

/// The record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The format it is written in.
    pub format: u32,
    /// The oldest format whose readers may act on it.
    pub min_reader: u32,
    /// Rises by one with each write.
    pub generation: u64,
    /// The upgrade under way, or the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upgrade: Option<Upgrade>,
    /// The last request, when it was refused before it became an upgrade.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<Refused>,
    /// The request that is answered already, while its annotations still stand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spent: Option<RawRequest>,
    /// How many requests were answered on this node.
    #[serde(default)]
    pub answered: u64,
    /// Images that failed here.
    #[serde(default)]
    pub bad: Vec<BadImage>,
    /// How they ended.
    #[serde(default, skip_serializing_if = "Tally::is_blank")]
    pub tally: Tally,
    /// The last of them, the latest first: for display, and for how many minutes of the hours the next drain wants.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub past: Vec<Past>,
    /// What a newer version wrote and this one does not know.
    #[serde(flatten)]
    pub unknown: Map<String, Value>,
}

impl Default for Record {
    fn default() -> Self {
        Self {
            format: FORMAT,
            min_reader: 1,
            generation: 0,
            upgrade: None,
            refused: None,
            spent: None,
            answered: 0,
            bad: Vec::new(),
            tally: Tally::default(),
            past: Vec::new(),
            unknown: Map::new(),
        }
    }
}

/// A request that was refused before anything was touched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    /// The requester's id, as far as it can be repeated.
    pub id: Option<UpgradeId>,
    /// Why.
    pub reason: Reason,
}

/// An image that failed here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BadImage {
    /// Its commit.
    pub digest: Digest,
    /// The code of the reason.
    pub because: String,
    /// The request that it failed for.
    pub id: UpgradeId,
    /// Its request was withdrawn since, so the next one is a person asking again.
    #[serde(default)]
    pub asked_again: bool,
}

/// One upgrade.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Upgrade {
    /// Echoed in every answer.
    pub id: UpgradeId,
    /// The request as it stood when it was taken.
    pub request: RawRequest,
    /// The image; pinned from `Fetched` on.
    pub target: Target,
    /// The image is the system that this node has kept: nothing is fetched.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub kept: bool,
    /// How far it has come.
    pub phase: Phase,
    /// The step that was begun and whose outcome is not known yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intent: Option<Step>,
    /// The system that ran when the request was taken.
    pub from: Deployment,
    /// The Kubernetes version of that system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_version: Option<Version>,
    /// What the image is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub facts: Option<ImageFacts>,
    /// What the policy asked of signatures when the deployment was begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signatures: Option<Signatures>,
    /// The new deployment, once it is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Deployment>,
    /// Trial boots so far. Counted before control passes to the new system.
    #[serde(default)]
    pub tries: u32,
    /// What stands in the drain's way, found by the rehearsal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning: Option<Reason>,
    /// The rehearsal of the drain has been held.
    #[serde(default)]
    pub rehearsed: bool,
    /// Why nothing is begun at the moment, though nothing failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<Reason>,
    /// The pre-hooks have passed.
    #[serde(default, skip_serializing_if = "is_false")]
    pub prepared: bool,
    /// The node is being taken from its users or was, and they have not got it back since. Written before the first of it is begun, for whoever
    /// is killed in a step remembers no outcome of it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub taken: bool,
    /// The node is being taken from its users or was, and the post-hooks have not been run since.
    #[serde(default, skip_serializing_if = "is_false")]
    pub post_hooks_due: bool,
    /// What our Node was called when it was first taken from its users, while it is not given back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// Since when load balancers are asked to leave the node out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub excluded: Option<Moment>,
    /// When the drain was begun first: an agent that dies in it does not make it longer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drain_begun: Option<Moment>,
    /// The deployment is being made anew because /etc has changed. Until that is done, what lies there may be the former
    /// one, whatever the note about /etc says.
    #[serde(default)]
    pub redeploying: bool,
    /// How often that was begun since the last trial.
    #[serde(default)]
    pub redeployed: u32,
    /// How often the node was drained anew because somebody had taken our cordon off, since the last trial.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub recordoned: u32,
    /// The kubelet's state is saved, once per upgrade.
    #[serde(default)]
    pub snapshot: bool,
    /// Why the last trial was given up without blaming the new system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub given_up: Option<Reason>,
    /// The API server was away during a whole trial, and the old system has reached it since.
    #[serde(default)]
    pub api_reached_from_old: bool,
    /// The old system has reached the API server in this upgrade. Released versions did not write
    /// it: ask [`Self::old_has_reached_api`].
    #[serde(default, skip_serializing_if = "is_false")]
    pub api_seen_from_old: bool,
    /// The boot in which the new system has reached the API server. Written only where the policy
    /// blesses without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_seen_from_new: Option<BootId>,
    /// The Node was paused when it was seen last, and the next step is not begun. An agent that was restarted knows the Node's
    /// annotations only later.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub held: bool,
    /// Our cordon is off again.
    #[serde(default)]
    pub released: bool,
    /// The end is reached and counted.
    #[serde(default)]
    pub closed: bool,
    /// What is not needed any more is gone from the disk.
    #[serde(default)]
    pub cleaned: bool,
    /// Seconds since boot in which the trial must be judged; for whoever watches the agent.
    #[serde(default)]
    pub deadline_seconds: u64,
    /// The agent asks the deadman for patience until then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold: Option<Moment>,
    /// Since when the new system is healthy without a break, where it must be so for a while.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub well_since: Option<Moment>,
    /// Somebody else has made the new system the default during its trial.
    #[serde(default, skip_serializing_if = "is_false")]
    pub default_moved: bool,
    /// The boot in which the old system was to be made the default again. Written before that is begun, once a boot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reinstated: Option<BootId>,
    /// The boot in which the stage let the new system through.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guarded: Option<BootId>,
    /// `kubeadm upgrade node` is to run before the node is given back: it had not succeeded when the new system was found healthy, for the policy
    /// lets it be blessed without an API server; or another boot came in between.
    #[serde(default, skip_serializing_if = "is_false")]
    pub kubeadm_due: bool,
    /// The boot in which it had succeeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub configured: Option<BootId>,
    /// Why the step at hand failed last, and when it may be tried again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<Retry>,
    /// When phases were reached, in wall time: for display alone.
    #[serde(default)]
    pub reached: Vec<Reached>,
    /// What it costs the node's users: for display alone.
    #[serde(default, skip_serializing_if = "Bill::is_blank")]
    pub bill: Bill,
    /// What a newer version wrote and this one does not know.
    #[serde(flatten)]
    pub unknown: Map<String, Value>,
}

/// What a policy asks of signatures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signatures {
    /// Images need none.
    pub unsigned: bool,
    /// The remote whose keyring must have signed the commit in a container image; empty for the
    /// container policy.
    pub signed_by: String,
}

impl From<&Policy> for Signatures {
    fn from(policy: &Policy) -> Self {
        Self {
            unsigned: policy.unsigned,
            signed_by: policy.registry.signed_by.clone(),
        }
    }
}

/// A step that is to be tried again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retry {
    /// The name of the step.
    pub step: String,
    /// Tries so far.
    pub tries: u32,
    /// When the next is due. In another boot it is due at once.
    pub due: Moment,
    /// What went wrong.
    pub reason: Reason,
}

/// When a phase was reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reached {
    /// The phase's name.
    pub phase: String,
    /// Seconds since 1970 by the node's clock.
    pub at: u64,
    /// Seconds in it that were spent waiting for the operator's hours or the end of a pause, without those of a wait that still lasts.
    #[serde(default, skip_serializing_if = "is_none_of_it")]
    pub waited: u64,
}

impl Record {
    /// The request that stands and is not answered yet.
    #[must_use]
    pub fn unanswered<'a>(&self, asked: &'a Asked) -> Option<&'a RawRequest> {
        match asked {
            Asked::This(raw) => Some(raw).filter(|raw| self.spent.as_ref() != Some(*raw)),
            Asked::Unknown | Asked::Nothing => None,
        }
    }

    /// Remembers an image that failed, once.
    pub fn remember_bad(&mut self, bad: BadImage) {
        self.bad.retain(|known| known.digest != bad.digest);
        self.bad.push(bad);
        let surplus = self.bad.len().saturating_sub(BAD_IMAGES);
        self.bad.drain(..surplus);
    }
}

impl Upgrade {
    /// An upgrade of which nothing is done yet.
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
            tries: 0,
            warning: None,
            rehearsed: false,
            waits: None,
            prepared: false,
            taken: false,
            post_hooks_due: false,
            node: None,
            excluded: None,
            drain_begun: None,
            redeploying: false,
            redeployed: 0,
            recordoned: 0,
            snapshot: false,
            given_up: None,
            api_reached_from_old: false,
            api_seen_from_old: false,
            api_seen_from_new: None,
            held: false,
            released: false,
            closed: false,
            cleaned: false,
            deadline_seconds: 0,
            hold: None,
            well_since: None,
            default_moved: false,
            reinstated: None,
            guarded: None,
            kubeadm_due: false,
            configured: None,
            retry: None,
            reached: Vec::new(),
            bill: Bill::default(),
            unknown: Map::new(),
        }
    }

    /// Whether a trial may be armed next, so that it matters whether /etc has changed since the deployment. An agent that
    /// starts after a trial finds the phase that the trial was left in.
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

    /// Whether Careen itself has begun to make the new system the default: its intent is written before that, and what fails is tried again.
    #[must_use]
    pub fn is_being_blessed(&self) -> bool {
        let intended = matches!(self.intent, Some(Step::Bless { .. }));
        let tried = self.retry.as_ref().map(|retry| retry.step.as_str());
        intended || tried == Some(BLESS)
    }

    /// Whether the record has moved on from its arming, and the trial that was armed has not run: no guard has let it through since. Of an image
    /// without a guard nobody can say that.
    #[must_use]
    pub fn is_past_its_arming(&self) -> bool {
        match self.phase.class() {
            Class::Trying { .. } | Class::Blessed | Class::Upgraded => false,
            Class::Preparing
            | Class::Reverting { .. }
            | Class::Failed { .. }
            | Class::Halted { .. } => self.has_guard() && self.guarded.is_none(),
        }
    }

    /// Whether the image has a guard in its initramfs that this version knows, as far as was found.
    #[must_use]
    pub fn has_guard(&self) -> bool {
        let info = self.facts.as_ref().and_then(|facts| facts.info.as_ref());
        info.is_none_or(ImageInfo::is_guarded)
    }

    /// Whether anything of what takes the node from its users may have come about, and they have not got it back.
    #[must_use]
    pub const fn is_taken(&self) -> bool {
        // A version that did not know the first mark wrote the others.
        let marked = self.prepared || self.post_hooks_due;
        let begun = marked || self.excluded.is_some() || self.drain_begun.is_some();
        (self.taken || begun) && !self.released
    }

    /// Whether the old system has reached the API server in this upgrade. A released version did
    /// not note it, but it drained the node, and no drain ends without the server.
    #[must_use]
    pub const fn old_has_reached_api(&self) -> bool {
        self.api_seen_from_old || self.api_reached_from_old || self.drain_begun.is_some()
    }

    /// What was asked for. Once a node was armed, the target no longer says where the image came
    /// from.
    #[must_use]
    pub fn wanted(&self) -> Wanted {
        if self.kept {
            return Wanted::Kept;
        }
        let asked = self.request.parse().map(|request| request.wanted);
        asked.unwrap_or_else(|_| Wanted::Image(self.target.clone()))
    }

    /// The commit that is to be booted, once it is known.
    #[must_use]
    pub const fn commit(&self) -> Option<&Digest> {
        self.target.commit.as_ref()
    }
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde asks by reference
const fn is_false(value: &bool) -> bool {
    !*value
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde asks by reference
const fn is_zero(value: &u32) -> bool {
    *value == 0
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde asks by reference
const fn is_none_of_it(seconds: &u64) -> bool {
    *seconds == 0
}
