//! Why an upgrade does not proceed: one typed reason, one text for all places.
//!
//! The condition, the annotation, the event, the log and the command line all show [`Reason`]'s
//! `Display`. Decisions depend on the variant, never on the text.
//!
//! This file lists each reason with its text, in the order in which an upgrade may meet them. It is
//! one table, because the record names every reason by one `code`. Other files say what follows
//! from a reason (`disposition`), which reasons are waits (`wait`), their names elsewhere (`code`),
//! how the text of other programs is inserted (`complaint`), how many names are listed (`few`), and
//! how values are formatted (`words`).

mod code;
mod complaint;
mod disposition;
mod few;
mod page;
mod remedy;
mod told;
mod wait;
mod words;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::cause::Cause;
use crate::image::STAGE_PROTOCOL;
use crate::names;
use crate::version::Version;
use crate::wrong::between;

pub use complaint::{LONGEST, complaint, cut};
pub use few::few;
pub use page::runbook;
pub use remedy::Disposition;
pub use wait::Wait;
pub use words::bare;
use words::{
    after_a_check, bytes_or_inodes, found_instead, how_it_ended, made_before, place_in_file,
    resume, said_of_stage, span, wider_change, withdrawn,
};

/// Why a request was refused, a step failed or a trial was aborted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Error)]
#[serde(tag = "code")]
// The message names each field.
#[allow(missing_docs)]
pub enum Reason {
    // Refused before anything changes.
    /// An annotation does not have its accepted form.
    #[error("{field} is {value:?}, which is not valid{}. Use {}.", between(": ", .wrong, ""), bare(.accepted))]
    BadRequest {
        field: String,
        value: String,
        accepted: String,
        /// The part of the value that is wrong, and the rule that it breaks.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        wrong: Option<String>,
    },
    /// The policy file does not parse, has a value out of range, or is writable by users other than
    /// root. A line of 0 means the whole file.
    #[error(
        "{file}{}: {}. Correct it and ask again with a new careen.dev/upgrade-id.",
        place_in_file(*line, *column),
        bare(.detail)
    )]
    BadPolicy {
        file: String,
        line: usize,
        column: usize,
        detail: String,
    },
    /// The boot loader cannot boot an entry only once.
    #[error(
        "this node's boot loader cannot be trusted with a trial boot: {}. Fix it and ask again with a new careen.dev/upgrade-id.",
        bare(.detail)
    )]
    LoaderUnfit { detail: String },
    /// The policy does not allow this remote.
    #[error(
        "careen.dev/image names remote {remote:?}, but the policy says {allowed}. Use an allowed remote, or allow this one in the policy, and ask again."
    )]
    RemoteNotAllowed { remote: String, allowed: String },
    /// The policy does not allow this image's branch.
    #[error(
        "careen.dev/image resolves to {found}, but the policy says {allowed}. Ask for an image of an allowed branch, or allow this branch in the policy, and ask again with a new careen.dev/upgrade-id."
    )]
    BranchNotAllowed { found: String, allowed: String },
    /// The node has no such remote.
    #[error(
        "remote {remote:?} is not configured on this node. Use one that `ostree remote list` shows (in careen.dev/image, or in the policy's registry.signed-by), or add this one under /etc/ostree/remotes.d."
    )]
    UnknownRemote { remote: String },
    /// This image failed before, and nobody has asked for it again.
    #[error(
        "image {digest} failed on this node before ({before}). Ask for a fixed image, or ask again with a new careen.dev/upgrade-id to try this one once more."
    )]
    RememberedBad { digest: String, before: String },
    /// The node keeps no former system.
    #[error(
        "careen.dev/image is \"kept:\", but this node keeps no earlier system: no upgrade has succeeded yet, or the kept system was removed to make room on /boot. Ask for an image instead."
    )]
    NothingKept,
    /// The policy does not allow requests to go back.
    #[error(
        "careen.dev/image is \"kept:\", but the policy says rollback = false. Ask for an image instead, or set rollback = true in the policy, and ask again with a new careen.dev/upgrade-id."
    )]
    RollbackOff,
    /// Control planes are not supported yet.
    #[error(
        "this node runs a control plane, which this version does not upgrade in place: {}. Remove the request and upgrade this node another way.",
        bare(.sign)
    )]
    ControlPlane { sign: String },
    /// The policy requires a watchdog, and the node has no reliable one.
    #[error(
        "the policy says require-watchdog = true, but this node has no hardware watchdog that keeps running across a reboot: found {}. Load its driver, boot with watchdog.stop_on_reboot=0, and ask again with a new careen.dev/upgrade-id.",
        bare(.found)
    )]
    NoWatchdog { found: String },
    /// The changes that the last trial made to the kubelet's state are not undone yet.
    #[error(
        "the kubelet's state from before the trial of upgrade {id} is not restored yet: {}. The saved state is in {kept}. Fix the cause, drain the node, reboot it (or stop the kubelet, run `systemctl start {unit}`, start the kubelet), and ask again with a new careen.dev/upgrade-id.",
        bare(.detail),
        unit = names::RESTORE_UNIT
    )]
    StateOwed {
        id: String,
        detail: String,
        kept: String,
    },
    /// A required check cannot run, so a trial would fail.
    #[error(
        "required check {name} cannot run during a trial: {}. Fix that (chown root:root, chmod go-w, chmod a+x) or remove the check, and ask again with a new careen.dev/upgrade-id.",
        bare(.detail)
    )]
    CheckUntrusted { name: String, detail: String },

    /// The settings of the node's kubelet would be undone.
    #[error(
        "kubeadm upgrade node would undo settings of this node's kubelet: {}. Keep them with a patch, or set kubeadm.local-settings = \"drop\" in the policy, and ask again with a new careen.dev/upgrade-id.",
        bare(.detail)
    )]
    KubeletSettings { detail: String },
    /// The node's patches cannot be given to kubeadm.
    #[error(
        "kubeadm upgrade node cannot take this node's patches: {}. Fix that, and ask again with a new careen.dev/upgrade-id.",
        bare(.detail)
    )]
    BadPatches { detail: String },
    /// The new image would not have what a person has changed in the running deployment.
    #[error(
        "the running system has changes that are in no image: {}. Build them into the image, or set local-changes = \"drop\" in the policy, and ask again with a new careen.dev/upgrade-id.",
        bare(.detail)
    )]
    LocalChanges { detail: String },

    // Waiting.
    /// The requester has paused the Node.
    #[error("paused: {}. {}; until then nothing new begins.", bare(.why), resume(.by, .advice))]
    Paused {
        why: String,
        /// What to remove, if not the annotation itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
        /// What to do, if there is nothing to remove.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        advice: Option<String>,
    },
    /// A plan was requested while an upgrade is under way.
    #[error(
        "an upgrade is under way on this node: {phase}. Ask for the plan again when it has ended."
    )]
    Busy { phase: String },

    // Fetching.
    /// The remote does not have the ref, or does not give this node access: libostree has one error
    /// code for 403 and 404.
    #[error(
        "careen.dev/image names ref {reference:?}, which remote {remote:?} does not have or does not show to this node. Use one that `ostree remote refs {remote}` lists."
    )]
    NoSuchRef { remote: String, reference: String },
    /// The remote does not have the commit on this ref.
    #[error(
        "careen.dev/image asks for commit {commit}, which remote {remote:?} does not have on that ref or does not show to this node. Use one that `ostree remote refs --revision {remote}` lists, or an ancestor of it that was not pruned."
    )]
    NoSuchCommit { remote: String, commit: String },
    /// The container image does not exist.
    #[error(
        "careen.dev/image names {image}, which does not exist{}. Use the digest of an image that exists, as `skopeo inspect --format {{{{.Digest}}}}` shows it.",
        found_instead(.found)
    )]
    NoSuchImage {
        image: String,
        #[serde(default)]
        found: Option<String>,
    },
    /// A container image that is not an OSTree commit.
    #[error(
        "careen.dev/image names {image}, which cannot be deployed: {}. Use an image that careen-image or `ostree container encapsulate` made.",
        bare(.detail)
    )]
    NotEncapsulated { image: String, detail: String },
    /// The remote does not answer.
    #[error(
        "cannot fetch careen.dev/image from remote {remote:?}: {}. Check its url under /etc/ostree/remotes.d (for a registry: its credentials and /etc/containers/registries.conf), and ask again if the upgrade fails.",
        bare(.detail)
    )]
    RemoteAway { remote: String, detail: String },
    /// The commit has no signature.
    #[error(
        "careen.dev/image resolves to {commit} on remote {remote:?}, which has no signature that this node verifies. Sign the commit with a key of the remote's keyring (for a registry: of the one in the policy's registry.signed-by, or as /etc/containers/policy.json demands)."
    )]
    Unsigned { remote: String, commit: String },
    /// The commit is not signed by a key that the node trusts.
    #[error(
        "careen.dev/image resolves to {commit} on remote {remote:?}, whose signature could not be verified with a trusted key: {}. Find out who published it; sign it with a trusted key, or bring the new public key to the node, and ask again.",
        bare(.detail)
    )]
    WrongSignature {
        remote: String,
        commit: String,
        detail: String,
    },
    /// The remote's configuration disables signature verification, and the policy requires
    /// signatures.
    #[error(
        "remote {remote:?} has gpg-verify=false, but the policy requires signed images. Set gpg-verify=true and gpgkeypath for the remote, or unsigned = true in the policy, and ask again."
    )]
    VerificationOff { remote: String },

    // Verifying.
    /// The image has no kernel with an initramfs.
    #[error(
        "image {commit} has no kernel with an initramfs, or has more than one. Build an image with exactly one /usr/lib/modules/<version> that has a vmlinuz and an initramfs.img."
    )]
    NoKernel { commit: String },
    /// The image has no image.json.
    #[error(
        "image {commit} has no usable /usr/lib/careen/image.json, so its Kubernetes version is unknown: {}. Build an image with that file: JSON with format, kubernetes and architecture.",
        bare(.detail)
    )]
    NoImageInfo { commit: String, detail: String },
    /// The initramfs does not contain our stage.
    #[error(
        "image {commit} has {} in /usr/lib/careen/image.json, so its initramfs has no guard that this version knows. Build an image with \"stage\": {} and that guard, or set unguarded = true in the policy.",
        said_of_stage(.found),
        STAGE_PROTOCOL
    )]
    NoStage {
        commit: String,
        #[serde(default)]
        found: Option<u32>,
    },
    /// Nothing would judge or end a trial of the image.
    #[error(
        "image {commit} cannot be tried on this node, because nothing would evaluate the trial or time it out: {}. Use an image with all of Careen's programs and its units enabled together with this node's /etc, or one without any of them on a node that has Careen from a DaemonSet.",
        bare(.lacks)
    )]
    NoAgent { commit: String, lacks: String },
    /// The image is for another machine.
    #[error(
        "image {commit} says \"architecture\": {image:?} in /usr/lib/careen/image.json, but this machine is {machine:?}. Ask for the image of this architecture."
    )]
    WrongArchitecture {
        commit: String,
        image: String,
        machine: String,
    },
    /// The image contains another version than the one requested.
    #[error(
        "careen.dev/kubernetes-version is {wanted}, but the image carries {carried}. Correct or remove the annotation, or ask for an image with that version."
    )]
    VersionMismatch { wanted: Version, carried: Version },
    /// The image contains an older Kubernetes than the node runs.
    #[error(
        "careen.dev/image carries {to}, older than this node's {from}. Ask for that version or newer, for \"kept:\" to go back, or set downgrade = true in the policy."
    )]
    Downgrade { from: Version, to: Version },
    /// The image was made before the running one.
    #[error(
        "careen.dev/image resolves to commit {commit}, made {} before {running}, which runs here. Ask for a newer image, for \"kept:\" to go back, or set downgrade = true in the policy.", span(*.seconds)
    )]
    OlderImage {
        commit: String,
        running: String,
        seconds: u64,
    },
    /// The policy does not let the node go to this other branch.
    #[error(
        "careen.dev/image resolves to commit {commit} of branch {branch:?}{}, but this node runs branch {running:?}, and the policy says branch-change = {policy:?}. Ask for a newer image of this node's branch, for \"kept:\" to go back, or set branch-change = {} in the policy, and ask again with a new careen.dev/upgrade-id.",
        made_before(*.seconds),
        wider_change(*.seconds)
    )]
    BranchChange {
        commit: String,
        branch: String,
        running: String,
        policy: String,
        /// By how much it was made before the running one, if it was.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seconds: Option<u64>,
    },
    /// The kubelet would be newer than the API server.
    #[error(
        "careen.dev/image carries kubelet {kubelet}, newer than the API server's {server}. Upgrade the control plane first, then ask again."
    )]
    NewerThanApiServer { kubelet: Version, server: Version },
    /// The kubelet would be too old for the API server.
    #[error(
        "careen.dev/image carries kubelet {kubelet}, more than {allowed} minor versions older than the API server's {server} (the policy's skew = {allowed}). Ask for an image with a newer Kubernetes."
    )]
    SkewTooLarge {
        kubelet: Version,
        server: Version,
        allowed: u32,
    },
    /// The commit's objects are damaged on this node.
    #[error(
        "commit {commit} is damaged on this node's disk: {}. Check the disk (`journalctl -k`), and ask again if the upgrade fails.",
        bare(.detail)
    )]
    Damaged { commit: String, detail: String },
    /// A file system does not have enough room.
    #[error(
        "not enough room on {place}: {free} {} free, {need} are needed. Make room and ask again.",
        bytes_or_inodes(*.inodes)
    )]
    NoRoom {
        place: String,
        need: u64,
        free: u64,
        /// Whether the numbers are inodes: every file and folder takes one.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        inodes: bool,
    },

    // Deploying and clean-up.
    /// Another program holds the sysroot lock.
    #[error(
        "the OSTree sysroot has been locked for more than {seconds} s: held by {}. Let that program end or stop it, and ask again if the upgrade fails.",
        bare(.holder)
    )]
    LockHeld { holder: String, seconds: u64 },
    /// A libostree operation failed.
    #[error(
        "{verb} failed: {}. Fix the cause (`journalctl -u 'careen-deploy-*'` on the node may say more), and ask again.",
        bare(.detail)
    )]
    DeployFailed { verb: String, detail: String },
    /// A file in /etc cannot be merged into the new system.
    #[error(
        "/etc cannot be merged into the new system: {}. Move the file away or stop the program that writes it, and ask again.",
        bare(.detail)
    )]
    EtcMerge { detail: String },
    /// The new image adds a user, group or range of ids that this node has given to another name.
    #[error(
        "the accounts of the new image and of this node do not go together: {}. Change the node's account, and ask again.",
        bare(.detail)
    )]
    AccountTaken { detail: String },
    /// careen-deploy ended without a verdict: it was killed, or it crashed.
    #[error(
        "{verb} ended without a result: {}. Check whether it was killed or crashed (`journalctl -k` and `journalctl -u 'careen-deploy-*'` on the node), and ask again if the upgrade fails.",
        bare(.detail)
    )]
    DeployDied { verb: String, detail: String },

    // Draining.
    /// A PodDisruptionBudget did not allow an eviction in time.
    #[error(
        "PodDisruptionBudget {pdb} does not allow evicting pod {pod} (waited {seconds} s). Make the application healthy or the budget wider, and ask again if the upgrade fails."
    )]
    BudgetBlocks {
        pdb: String,
        pod: String,
        seconds: u64,
    },
    /// Pods were still on the node at the deadline.
    #[error(
        "pods were still on the node at the drain's deadline of {seconds} s: {}. Let them end, delete them or give the drain more time in the policy, and ask again.",
        bare(.pods)
    )]
    DrainDeadline { pods: String, seconds: u64 },
    /// The API server rejects an operation that the drain needs.
    #[error(
        "this node could not be cordoned, drained or uncordoned as needed: {}. Fix the cause (for example a webhook, a policy or a missing right), and ask again if the upgrade fails.",
        bare(.detail)
    )]
    DrainRefused { detail: String },
    /// The API server does not answer.
    #[error(
        "the agent cannot work with the API server: {}. Check the server and the network path to it, and ask again if the upgrade fails.",
        bare(.detail)
    )]
    ApiAway { detail: String },
    /// The API server refuses a request that is no part of the drain itself.
    #[error(
        "the API server refuses to let the agent {request}: {}. Fix the cause (for example a webhook, a policy or a missing right), and ask again if the upgrade fails.",
        bare(.detail)
    )]
    ApiRefused { request: String, detail: String },
    /// The requester withdrew the request, or replaced it by another one. Older agents read both
    /// as the first.
    #[error("{}", withdrawn(.replaced_by))]
    Withdrawn {
        /// What the other request asks for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        replaced_by: Option<String>,
    },

    // Arming.
    /// The kubelet's state could not be saved.
    #[error(
        "the kubelet's state could not be saved: {}. Fix that or make room below /sysroot, and ask again if the upgrade fails.",
        bare(.detail)
    )]
    SnapshotFailed { detail: String },
    /// The one-shot entry could not be written.
    #[error(
        "the one-shot boot entry could not be written or cleared: {}. Make /boot writable, and ask again if the upgrade fails.",
        bare(.detail)
    )]
    ArmFailed { detail: String },
    /// The new deployment is not where the boot loader would find it.
    #[error(
        "deployment {commit} is no longer in the boot menu. Keep other updaters off this node, and ask again."
    )]
    TargetVanished { commit: String },
    /// logind refused to reboot.
    #[error(
        "the reboot was refused or did not happen: {}. Stop what delays it (`systemd-inhibit --list` and `systemctl list-jobs` on the node), and ask again if the upgrade fails.",
        bare(.detail)
    )]
    RebootRefused { detail: String },

    // The trial.
    /// The stage in the initramfs refused the new system.
    #[error(
        "the guard in the initramfs refused the new system: {}. Find out whether the disk is damaged or files were changed (`journalctl -k` and `ostree fsck` on the node), then ask again.",
        bare(.detail)
    )]
    StageRefused {
        detail: String,
        #[serde(default, skip_serializing_if = "Cause::is_image")]
        cause: Cause,
    },
    /// The trial ended without a verdict.
    #[error(
        "{tries} trial boots of {commit} ended without a verdict ({}), and the old system is back. Check `journalctl --list-boots` and the console; ask again after a power cut or a reset from outside, else for a fixed image.",
        how_it_ended(.seen)
    )]
    NoVerdict {
        commit: String,
        tries: u32,
        /// How far the last trial had come, and what ended it. Empty in records of older versions.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        seen: String,
        #[serde(default, skip_serializing_if = "Cause::is_image")]
        cause: Cause,
    },
    /// A check did not pass before the deadline.
    #[error(
        "the new system is not healthy after {seconds} s: {check}: {}. {}; the trial's journal is in `journalctl -b -1` of the old system.",
        bare(.detail),
        .cause.advice()
    )]
    Unhealthy {
        check: String,
        detail: String,
        seconds: u64,
        #[serde(default, skip_serializing_if = "Cause::is_image")]
        cause: Cause,
    },
    /// The node serves less under the new system than under the old one.
    #[error(
        "the new system serves less than the old one did, after {seconds} s: {}. {}, or except it in the policy's [serving]; the trial's journal is in `journalctl -b -1` of the old system.",
        bare(.missing),
        .cause.advice()
    )]
    ServesLess {
        missing: String,
        seconds: u64,
        #[serde(default, skip_serializing_if = "Cause::is_image")]
        cause: Cause,
    },
    /// `kubeadm upgrade node` did not succeed in the new system.
    #[error(
        "kubeadm upgrade node has not succeeded: {}. Fix what kubeadm names, and ask again if the upgrade fails.",
        bare(.detail)
    )]
    KubeadmFailed { detail: String },
    /// An operator's check failed.
    #[error("required check {name} failed: {}. {}", bare(.detail), after_a_check(*.cause))]
    UserCheck {
        name: String,
        detail: String,
        #[serde(default, skip_serializing_if = "Cause::is_image")]
        cause: Cause,
    },
    /// The API server was unreachable for the whole trial.
    #[error(
        "the trial could not be evaluated: for {seconds} s the new system did not reach the API server, or the server did not have this Node. Check the server, the Node and the network, and ask again if the upgrade fails."
    )]
    ApiAwayInTrial { seconds: u64 },
    /// The old system reaches the API server, and the new one does not.
    #[error(
        "the new system did not reach the API server, and the cause is in the new system. Look there for a lost network driver, a broken network configuration or a wrong clock, and ask for a fixed image."
    )]
    NoApiFromNewSystem,
    /// The new system was booted by hand, without the guard.
    #[error(
        "the new system was booted without its guard, so it is not evaluated: it was picked in the boot menu, or the guard could not write. Leave the boot menu alone during an upgrade, and ask again if the upgrade fails."
    )]
    UnguardedBoot,

    // A person must act.
    /// The record was written by a newer version.
    #[error(
        "the record has format {format}, but this version reads up to {known}. Boot or install the newer version."
    )]
    RecordNewer { format: u32, known: u32 },
    /// The record on the disk cannot be read; the detail says what to do.
    #[error(
        "the record cannot be read: {}. Check the node's disk, and read the runbook first.",
        bare(.detail)
    )]
    RecordDamaged { detail: String },
    /// The record cannot be written to the disk. Only the Node shows this reason.
    #[error(
        "the record cannot be written, so no upgrade begins or continues: {}. Make room below /sysroot or fix its disk; the agent then continues by itself.",
        bare(.detail)
    )]
    RecordUnwritten { detail: String },
    /// The running system, or the next one to boot, cannot be determined. Only the Node shows this
    /// reason: the agent does not decide on incomplete data.
    #[error(
        "cannot read this machine's boot state, so no upgrade begins or continues: {}. Fix that; the agent then continues by itself.",
        bare(.detail)
    )]
    MachineUnseen { detail: String },
    /// Neither the old nor the new system runs.
    #[error(
        "the running deployment {booted} is neither the old nor the new system of this upgrade. Make the system that should stay the default, boot it, and ask again with a new careen.dev/upgrade-id."
    )]
    UnknownSystem { booted: String },
    /// The default is not what it should be.
    #[error(
        "the default deployment and the running one are not what this upgrade needs: the default is {}. Make the system that should stay the default (`{variable}={generator} ostree admin set-default <index>`, without the variable where grub-mkconfig writes the menu), boot it, and ask again with a new careen.dev/upgrade-id.",
        bare(.default),
        variable = names::GENERATOR_VARIABLE,
        generator = names::GENERATOR
    )]
    ForeignDefault { default: String },

    // The operator's own rules.
    /// The node is opted out of all upgrades.
    #[error(
        "this node takes no upgrade: {by} says {why:?}. Remove that if upgrades are wanted, and ask again with a new careen.dev/upgrade-id."
    )]
    OptedOut { by: String, why: String },
    /// The maintenance window is closed.
    #[error(
        "waiting for the maintenance window: {}. No action is needed, unless the window is too short, or its time zone or the time is unknown.",
        bare(.opens)
    )]
    WindowClosed { opens: String },
    /// The new system is healthy, and the operator or the requester wants to watch it longer.
    #[error(
        "the new system is healthy, and is watched for {seconds} s before it becomes the default. No action is needed."
    )]
    Soaking { seconds: u64 },
    /// A hook failed.
    #[error(
        "hook {hook} failed: {}. Fix the hook or what it reports, and ask again if the upgrade fails.",
        bare(.detail)
    )]
    HookFailed { hook: String, detail: String },

    // Only read, never created.
    /// A newer version wrote a reason that this version does not know. The old system reads what a
    /// trial wrote, and must be able to finish the upgrade with it.
    #[serde(other)]
    #[error(
        "the newer version of Careen gave up for a reason that this version does not know. Read the previous boot's journal (`journalctl -b -1 -u careen-agent` on the node) and do what it says."
    )]
    Unheard,
}
