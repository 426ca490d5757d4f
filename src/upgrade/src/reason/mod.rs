//! Why something is not going on: one typed reason, one text for all places.
//!
//! The condition, the annotation, the event, the log and the command line all show [`Reason`]'s `Display`;
//! decisions are taken on the variant, never on the text.
//!
//! Here is each reason with its words, in the order in which an upgrade may meet them: one table, for the record names them all
//! by one `code`. What follows from them is in `disposition`, which of them are waits in `wait`, what they are called elsewhere in `code`, how other people's
//! words get into them in `complaint`, and how values do in `words`.

mod code;
mod complaint;
mod disposition;
mod wait;
mod words;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::image::STAGE_PROTOCOL;
use crate::names;
use crate::version::Version;

pub use code::runbook;
pub use complaint::{LONGEST, complaint, cut};
pub use disposition::Disposition;
pub use wait::Wait;
use words::{found_instead, held_by, place_in_file, said_of_stage, span};

/// Why a request was refused, a step failed or a trial was given up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Error)]
#[serde(tag = "code")]
// A field is named by the message it stands in.
#[allow(missing_docs)]
pub enum Reason {
    // Refused before anything is touched.
    /// An annotation is not of its accepted form.
    #[error("{field} is {value:?}; accepted is {accepted}")]
    BadRequest {
        field: String,
        value: String,
        accepted: String,
    },
    /// The policy file does not parse, holds a value out of range, or may be written by others than root. A line of 0 is the whole file.
    #[error(
        "{file}{}: {detail}; mend it and ask again with a new careen.dev/upgrade-id",
        place_in_file(*line, *column)
    )]
    BadPolicy {
        file: String,
        line: usize,
        column: usize,
        detail: String,
    },
    /// The boot loader cannot boot an entry just once.
    #[error(
        "this node's boot loader cannot be trusted with a trial boot: {detail}; mend it and ask again with a new careen.dev/upgrade-id"
    )]
    LoaderUnfit { detail: String },
    /// The policy does not let this remote be used.
    #[error(
        "careen.dev/image names remote {remote:?}, but the policy says {allowed}; use one of them or allow it there, and ask again"
    )]
    RemoteNotAllowed { remote: String, allowed: String },
    /// The policy does not let an image of this branch be used.
    #[error(
        "careen.dev/image leads to {found}, but the policy says {allowed}; ask for an image of such a branch, or allow this one there, and ask again with a new careen.dev/upgrade-id"
    )]
    BranchNotAllowed { found: String, allowed: String },
    /// The node has no such remote.
    #[error(
        "careen.dev/image names remote {remote:?}, which is not configured on this node; use one that `ostree remote list` knows, or add it under /etc/ostree/remotes.d"
    )]
    UnknownRemote { remote: String },
    /// This very image failed before and nobody asked for it again.
    #[error(
        "image {digest} failed here before ({before}); ask again with a new careen.dev/upgrade-id"
    )]
    RememberedBad { digest: String, before: String },
    /// No former system lies pinned here.
    #[error(
        "careen.dev/image is \"kept:\", but no former system is kept on this node: the first upgrade keeps one, and one that is short of room on /boot gives it up; ask for an image instead"
    )]
    NothingKept,
    /// The policy does not let a requester go back.
    #[error(
        "careen.dev/image is \"kept:\", but the policy says rollback = false; ask for an image instead, or set rollback = true there, and ask again with a new careen.dev/upgrade-id"
    )]
    RollbackOff,
    /// Control planes are not handled yet.
    #[error(
        "this node runs a control plane ({sign}), which this version does not upgrade in place"
    )]
    ControlPlane { sign: String },
    /// The policy demands a watchdog, and there is none to rely on.
    #[error(
        "the policy says require-watchdog = true, but this node has {found}; accepted is a hardware watchdog that runs on across a reboot (its driver loaded, watchdog.stop_on_reboot=0 on the kernel's command line): mend it and ask again with a new careen.dev/upgrade-id"
    )]
    NoWatchdog { found: String },
    /// What the last trial has changed of the kubelet's state could not be put back yet.
    #[error(
        "the kubelet's state of before the trial of upgrade {id} is not back yet: {detail}; it is kept in {kept}: mend what is said here, drain the node, reboot it (or stop the kubelet, run `systemctl start {unit}`, start the kubelet), and ask again with a new careen.dev/upgrade-id",
        unit = names::RESTORE_UNIT
    )]
    StateOwed {
        id: String,
        detail: String,
        kept: String,
    },
    /// A trial would fail by a check that is not run.
    #[error(
        "required check {name} could be run in no trial: {detail}; mend that (chown root:root, chmod go-w), or take the check away, and ask again with a new careen.dev/upgrade-id"
    )]
    CheckUntrusted { name: String, detail: String },

    // Waiting.
    /// The requester has paused the Node.
    #[error("paused: {why}; nothing new is begun until {} is taken off the Node", held_by(.by))]
    Paused {
        why: String,
        /// What is taken off, where that is not the annotation itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// A plan is asked for while an upgrade is under way.
    #[error(
        "an upgrade is under way on this node ({phase}); ask for the plan again when it has ended"
    )]
    Busy { phase: String },

    // Fetching.
    /// The remote has no such ref, or does not give it to this node: libostree has one code for 403 and 404.
    #[error(
        "careen.dev/image names ref {reference:?}, which remote {remote:?} has not, or keeps from this node; accepted is one that `ostree remote refs {remote}` lists"
    )]
    NoSuchRef { remote: String, reference: String },
    /// The remote has no such commit on the ref.
    #[error(
        "careen.dev/image names commit {commit}, which remote {remote:?} has not on that ref, or keeps from this node; accepted is one that `ostree remote refs --revision {remote}` lists, or one behind it that was not pruned"
    )]
    NoSuchCommit { remote: String, commit: String },
    /// There is no such container image.
    #[error(
        "careen.dev/image names {image}, which is not there{}; accepted is the digest of one that is, as `skopeo inspect --format {{{{.Digest}}}}` tells it", found_instead(.found)
    )]
    NoSuchImage {
        image: String,
        #[serde(default)]
        found: Option<String>,
    },
    /// A container image that is no OSTree commit.
    #[error(
        "careen.dev/image names {image}, which cannot be deployed: {detail}; accepted is one that careen-image or `ostree container encapsulate` has made"
    )]
    NotEncapsulated { image: String, detail: String },
    /// The remote does not answer.
    #[error(
        "careen.dev/image names remote {remote:?}, which does not answer: {detail}; look at its url under /etc/ostree/remotes.d (a registry: at its credentials and /etc/containers/registries.conf)"
    )]
    RemoteAway { remote: String, detail: String },
    /// The commit has no signature.
    #[error(
        "careen.dev/image leads to commit {commit} on remote {remote:?}, which is not signed; accepted is one signed with a key of the remote's keyring (from a registry: of the one that the policy's registry.signed-by names, or as /etc/containers/policy.json demands)"
    )]
    Unsigned { remote: String, commit: String },
    /// The commit's signature is not by a key that the node trusts.
    #[error(
        "careen.dev/image leads to commit {commit} on remote {remote:?}, which has no valid signature by a trusted key: {detail}; accepted is one signed with a key of the remote's keyring (from a registry: as for Unsigned)"
    )]
    WrongSignature {
        remote: String,
        commit: String,
        detail: String,
    },
    /// The remote is configured not to verify signatures and the policy demands them.
    #[error(
        "remote {remote:?} has gpg-verify=false; images must be signed unless the policy sets unsigned = true"
    )]
    VerificationOff { remote: String },

    // Verifying.
    /// No kernel with an initramfs in the image.
    #[error(
        "image {commit} has no kernel with an initramfs, or has a second one; accepted is exactly one /usr/lib/modules/<version> with a vmlinuz, and initramfs.img beside it"
    )]
    NoKernel { commit: String },
    /// No image.json.
    #[error(
        "image {commit} has no readable /usr/lib/careen/image.json, so its Kubernetes version is unknown: {detail}; accepted is JSON with format, kubernetes and architecture"
    )]
    NoImageInfo { commit: String, detail: String },
    /// The initramfs has no stage of ours.
    #[error(
        "image {commit} says {} in /usr/lib/careen/image.json; accepted is \"stage\": {}, an initramfs with a guard that this version knows (or the policy's unguarded = true)",
        said_of_stage(.found),
        STAGE_PROTOCOL
    )]
    NoStage {
        commit: String,
        #[serde(default)]
        found: Option<u32>,
    },
    /// Nobody would judge or end a trial of it.
    #[error(
        "a trial of image {commit} on this node would lack who judges it, or ends it when nobody does: {lacks}; accepted is an image with Careen's programs and with its units, each there and enabled when the node's /etc is merged in, or one without any of them on a node that a DaemonSet has brought Careen to"
    )]
    NoAgent { commit: String, lacks: String },
    /// The image is for another machine.
    #[error(
        "image {commit} says \"architecture\": {image:?} in /usr/lib/careen/image.json; accepted on this machine is {machine:?}"
    )]
    WrongArchitecture {
        commit: String,
        image: String,
        machine: String,
    },
    /// The image carries another version than the request says.
    #[error(
        "careen.dev/kubernetes-version is {wanted}, but the image carries {carried}; accepted is that, or no such annotation"
    )]
    VersionMismatch { wanted: Version, carried: Version },
    /// The image carries an older Kubernetes than the node runs.
    #[error(
        "careen.dev/image carries {to}, older than this node's {from}; accepted is that or newer, or \"kept:\" to go back (or the policy's downgrade = true)"
    )]
    Downgrade { from: Version, to: Version },
    /// The image was made before the one that runs.
    #[error(
        "careen.dev/image leads to commit {commit}, made {} before {running}, which runs here; accepted is a newer one, or \"kept:\" to go back (or the policy's downgrade = true)", span(*.seconds)
    )]
    OlderImage {
        commit: String,
        running: String,
        seconds: u64,
    },
    /// The kubelet would be newer than the API server.
    #[error(
        "careen.dev/image carries kubelet {kubelet}; accepted is none newer than the API server's {server}: upgrade the control plane first"
    )]
    NewerThanApiServer { kubelet: Version, server: Version },
    /// The kubelet would be too old for the API server.
    #[error(
        "careen.dev/image carries kubelet {kubelet}; accepted by the policy's skew = {allowed} is one at most {allowed} minor versions behind the API server's {server}"
    )]
    SkewTooLarge {
        kubelet: Version,
        server: Version,
        allowed: u32,
    },
    /// The commit's objects are damaged on this node.
    #[error("the fetched commit {commit} is damaged on disk: {detail}")]
    Damaged { commit: String, detail: String },
    /// A file system has no room.
    #[error("{place} has {free} bytes free, {need} are needed; make room and ask again")]
    NoRoom { place: String, need: u64, free: u64 },

    // Deploying and clean-up.
    /// Somebody else holds the sysroot lock.
    #[error("the OSTree sysroot is locked by {holder} for more than {seconds} s")]
    LockHeld { holder: String, seconds: u64 },
    /// libostree could not do it.
    #[error("{verb} failed: {detail}")]
    DeployFailed { verb: String, detail: String },
    /// A file in /etc cannot be merged into the new system.
    #[error("/etc cannot be merged into the new system: {detail}")]
    EtcMerge { detail: String },
    /// careen-deploy ended without a verdict, killed or crashed.
    #[error("careen-deploy {verb} ended without an answer: {detail}")]
    DeployDied { verb: String, detail: String },

    // Draining.
    /// A PodDisruptionBudget did not allow an eviction in time.
    #[error(
        "drain: PodDisruptionBudget {pdb} does not allow evicting pod {pod} (waited {seconds} s)"
    )]
    BudgetBlocks {
        pdb: String,
        pod: String,
        seconds: u64,
    },
    /// Pods were still there at the deadline.
    #[error("drain: still there after {seconds} s: {pods}")]
    DrainDeadline { pods: String, seconds: u64 },
    /// The API server refuses what draining needs.
    #[error("drain: the API server refuses: {detail}")]
    DrainRefused { detail: String },
    /// The API server does not answer.
    #[error("the API server does not answer: {detail}")]
    ApiAway { detail: String },
    /// The requester took the request back.
    #[error("withdrawn: the request was removed before the node was armed")]
    Withdrawn,

    // Arming.
    /// The kubelet's state could not be saved.
    #[error("the kubelet's state could not be saved: {detail}")]
    SnapshotFailed { detail: String },
    /// The one-shot could not be written.
    #[error("the one-shot boot entry could not be written: {detail}")]
    ArmFailed { detail: String },
    /// The new deployment lies not where the boot loader would find it.
    #[error("the new deployment {commit} has vanished from the boot menu")]
    TargetVanished { commit: String },
    /// logind refused to reboot.
    #[error("the reboot was refused or did not begin: {detail}")]
    RebootRefused { detail: String },

    // The trial.
    /// The stage in the initramfs refused the new system.
    #[error("the guard in the initramfs refused the new system: {detail}")]
    StageRefused { detail: String },
    /// The trial ended without any verdict.
    #[error(
        "{tries} trial boots of {commit} ended without a verdict (panic, hang or power cut); the old system is back"
    )]
    NoVerdict { commit: String, tries: u32 },
    /// A check did not pass before the deadline.
    #[error("the new system is not healthy after {seconds} s: {check}: {detail}")]
    Unhealthy {
        check: String,
        detail: String,
        seconds: u64,
    },
    /// kubeadm did not upgrade the new system's node.
    #[error("kubeadm upgrade node has not succeeded: {detail}")]
    KubeadmFailed { detail: String },
    /// A user's check failed.
    #[error("required check {name} failed: {detail}")]
    UserCheck { name: String, detail: String },
    /// The API server was away for the whole trial.
    #[error(
        "the API server could not be reached from the new system for {seconds} s, or knew no such Node, so the system could not be judged"
    )]
    ApiAwayInTrial { seconds: u64 },
    /// The old system reaches the API server and the new one does not.
    #[error(
        "the new system does not reach the API server, the old one does: look for a lost driver, network or clock"
    )]
    NoApiFromNewSystem,
    /// The new system was booted by hand, without the guard.
    #[error(
        "the new system was booted from the menu by hand, unguarded; it is not judged that way"
    )]
    UnguardedBoot,

    // A person must look.
    /// The record was written by a newer version.
    #[error(
        "the record is of format {format}, this version reads up to {known}; boot or install the newer version"
    )]
    RecordNewer { format: u32, known: u32 },
    /// What is on the disk of the record cannot be made out; the detail says what to do.
    #[error("the record cannot be read: {detail}")]
    RecordDamaged { detail: String },
    /// The disk does not take the record. It stands on the Node alone, for there is no record to write it to.
    #[error(
        "the record cannot be written, so nothing is begun or ended: {detail}; make room below /sysroot or mend its disk, and the agent goes on by itself"
    )]
    RecordUnwritten { detail: String },
    /// What runs, or what would boot next, cannot be told. It stands on the Node alone: nothing is decided by half a view.
    #[error(
        "this machine cannot be made out, so nothing is begun or ended: {detail}; mend that, and the agent goes on by itself"
    )]
    MachineUnseen { detail: String },
    /// Neither the old nor the new system runs.
    #[error("the booted deployment {booted} is neither the old nor the new system of this upgrade")]
    UnknownSystem { booted: String },
    /// The default is not what it must be.
    #[error(
        "the default deployment is {default}, with which this upgrade cannot go on; make the system that is to stay the default (`{variable}={generator} ostree admin set-default <index>`, without the variable where grub-mkconfig writes the menu), boot it and ask again with a new careen.dev/upgrade-id",
        variable = names::GENERATOR_VARIABLE,
        generator = names::GENERATOR
    )]
    ForeignDefault { default: String },

    // The operator's own rules.
    /// The node takes part in no upgrade.
    #[error(
        "this node takes no upgrade: {by} says {why:?}; take that away and ask again with a new careen.dev/upgrade-id"
    )]
    OptedOut { by: String, why: String },
    /// It is none of the operator's hours.
    #[error("waits for the maintenance window: {opens}")]
    WindowClosed { opens: String },
    /// The new system is well, and the operator or the requester wants to see more of it.
    #[error(
        "the new system is healthy, and is watched for {seconds} s before it becomes the default"
    )]
    Soaking { seconds: u64 },
    /// A hook did not succeed.
    #[error("hook {hook} failed: {detail}")]
    HookFailed { hook: String, detail: String },

    // Read, never given.
    /// A newer version wrote a reason that this one does not know. The old system reads what a trial wrote, and must come to
    /// an end with it all the same.
    #[serde(other)]
    #[error(
        "the newer version of Careen gave up for a reason that this one has no words for; look into the journal of the boot before"
    )]
    Unheard,
}
