//! Why an upgrade does not proceed: one typed reason, one text for all places.
//!
//! The condition, the annotation, the event, the log and the command line all show [`Reason`]'s
//! `Display`. Decisions depend on the variant, never on the text.
//!
//! This file lists each reason with its meaning, its advice and its text, in the order in which an
//! upgrade may meet them. It is one table, because the record names every reason by one `code`. The
//! code is the variant's name, and in small letters the anchor of its section in the runbook
//! (`page`). Other files say which form a row has (`table`), what several reasons advise
//! (`advice`), what follows from a reason (`disposition`), which reasons are waits (`wait`), their
//! names elsewhere (`code`), how the text of other programs is inserted (`complaint`), how many
//! names are listed (`few`), and how values are formatted (`words`).

mod advice;
mod code;
mod complaint;
mod disposition;
mod few;
mod page;
mod remedy;
mod table;
mod told;
mod wait;
mod words;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::cause::Cause;
use crate::image::STAGE_PROTOCOL;
use crate::names;
use crate::typo::between;
use crate::version::Version;

pub use advice::{Advice, Then};
pub use complaint::{LONGEST, complaint, cut};
pub use few::few;
pub use page::runbook;
pub use remedy::Disposition;
pub use table::Row;
use table::reasons;
pub use wait::Wait;
pub use words::bare;
use words::{
    after_a_check, bytes_or_inodes, found_instead, how_it_ended, in_brackets, made_before,
    place_in_file, resume, said_of_stage, sentence, span, unreached, wider_change, withdrawn,
};

reasons! {
    // Refused before anything changes.
    /// An annotation does not have its accepted form.
    #[advice(LOOK_AT_REQUEST)]
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
    #[advice(LOOK_AT_POLICY)]
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
    #[advice("fix the boot loader problem named above, as the runbook describes", Retry)]
    #[error(
        "this node's boot loader cannot be trusted with a trial boot: {}. Fix it and ask again with a new careen.dev/upgrade-id.",
        bare(.detail)
    )]
    LoaderUnfit { detail: String },
    /// The policy does not allow this remote.
    #[advice(LOOK_AT_POLICY)]
    #[error(
        "careen.dev/image names remote {remote:?}, but the policy says {allowed}. Use an allowed remote, or allow this one in the policy, and ask again."
    )]
    RemoteNotAllowed { remote: String, allowed: String },
    /// The policy does not allow this image's branch.
    #[advice(LOOK_AT_POLICY)]
    #[error(
        "careen.dev/image resolves to {found}, but the policy says {allowed}. Ask for an image of an allowed branch, or allow this branch in the policy, and ask again with a new careen.dev/upgrade-id."
    )]
    BranchNotAllowed { found: String, allowed: String },
    /// The node has no such remote.
    #[advice(LOOK_AT_REMOTE)]
    #[error(
        "remote {remote:?} is not configured on this node. Use one that `ostree remote list` shows (in careen.dev/image, or in the policy's registry.signed-by), or add this one under /etc/ostree/remotes.d."
    )]
    UnknownRemote { remote: String },
    /// This image failed before, and nobody has asked for it again.
    #[advice(
        "the reason in brackets is why the image failed on this node before; `careen-agent record` on the node lists it under `bad`. \
         Ask for a fixed image; to ask for this one again tries it once more",
        Either
    )]
    #[error(
        "image {digest} failed on this node before ({before}). Ask for a fixed image, or ask again with a new careen.dev/upgrade-id to try this one once more."
    )]
    RememberedBad { digest: String, before: String },
    /// The node keeps no former system.
    #[advice(
        "ask for the former image by its commit, which `kubectl careen history -o wide` shows",
        Another
    )]
    #[error(
        "careen.dev/image is \"kept:\", but this node keeps no earlier system: no upgrade has succeeded yet, or the kept system was removed to make room on /boot. Ask for an image instead."
    )]
    NothingKept,
    /// The policy does not allow requests to go back.
    #[advice(LOOK_AT_POLICY)]
    #[error(
        "careen.dev/image is \"kept:\", but the policy says rollback = false. Ask for an image instead, or set rollback = true in the policy, and ask again with a new careen.dev/upgrade-id."
    )]
    RollbackOff,
    /// The policy does not enable upgrades of a control plane.
    #[advice(
        "set enabled = true in [control-plane] of /etc/careen/policy.toml, or remove the request and upgrade this node the way you did before Careen",
        Retry
    )]
    #[error(
        "this node runs a control plane, and the policy does not enable its upgrade: {}. Set enabled = true in [control-plane] of the policy, or remove the request and upgrade this node another way.",
        bare(.sign)
    )]
    ControlPlane { sign: String },
    /// Each deployment of this control plane has an /etc/kubernetes of its own, so a fallback would
    /// start older manifests.
    #[advice(
        "run `careen-agent doctor --fix` on the node, which moves /etc/kubernetes to a folder that all deployments share",
        Retry
    )]
    #[error(
        "the deployments of this control-plane node do not share one /etc/kubernetes, so a system that falls back would start older manifests: {}. Run `careen-agent doctor --fix` on the node, and ask again with a new careen.dev/upgrade-id.",
        bare(.detail)
    )]
    KubernetesNotShared { detail: String },
    /// A survey of the control plane has found something that somebody must change.
    #[advice(
        "fix what the sentence above names; `careen-control survey` on the node shows all findings",
        Retry
    )]
    #[error("this control plane cannot be upgraded now ({finding}): {} Ask again with a new careen.dev/upgrade-id.", sentence(.detail))]
    ControlPlaneUnfit { finding: String, detail: String },
    /// The policy requires a watchdog, and the node has no reliable one.
    #[advice(
        "load the driver of the machine's watchdog, or remove require-watchdog from /etc/careen/policy.toml; \
         `careen-agent doctor` shows what it found",
        Retry
    )]
    #[error(
        "the policy says require-watchdog = true, but this node has no hardware watchdog that keeps running across a reboot: found {}. Load its driver, boot with watchdog.stop_on_reboot=0, and ask again with a new careen.dev/upgrade-id.",
        bare(.found)
    )]
    NoWatchdog { found: String },
    /// The changes that the last trial made to the kubelet's state are not undone yet.
    #[advice(
        "fix the cause named above, drain the node and reboot it (or run `systemctl start careen-restore` while its kubelet is stopped); \
         to discard the saved state instead, see the page about operating a node in the docs",
        Retry
    )]
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
    #[advice(
        "make the check named above executable (chmod a+x), and root the only one who may write it and the folders on the way to it (chown root:root, chmod go-w), or remove the check",
        Retry
    )]
    #[error(
        "required check {name} cannot run during a trial: {}. Fix that (chown root:root, chmod go-w, chmod a+x) or remove the check, and ask again with a new careen.dev/upgrade-id.",
        bare(.detail)
    )]
    CheckUntrusted { name: String, detail: String },

    /// The settings of the node's kubelet would be undone.
    #[advice(
        "write the patch named above to the node's patches, or set local-settings = \"drop\" below [kubeadm] in /etc/careen/policy.toml; \
         where the ConfigMap kubelet-config was changed on purpose, change the node's file to match",
        Retry
    )]
    #[error(
        "kubeadm upgrade node would undo settings of this node's kubelet: {}. Keep them with a patch, or set kubeadm.local-settings = \"drop\" in the policy, and ask again with a new careen.dev/upgrade-id.",
        bare(.detail)
    )]
    KubeletSettings { detail: String },
    /// The node's patches cannot be given to kubeadm.
    #[advice(
        "correct the patch named above, or make root the only one who may write it (chown root:root, chmod go-w)",
        Retry
    )]
    #[error(
        "kubeadm upgrade node cannot take this node's patches: {}. Fix that, and ask again with a new careen.dev/upgrade-id.",
        bare(.detail)
    )]
    BadPatches { detail: String },
    /// The kubelet of the image does not start on cgroup v1, which this node runs.
    #[advice(
        "boot the node with cgroup v2 (without systemd.unified_cgroup_hierarchy=0), or set failCgroupV1: false in the kubelet's configuration",
        Retry
    )]
    #[error(
        "careen.dev/image carries kubelet {kubelet}, which does not start on cgroup v1, and this node runs cgroup v1. Boot the node with cgroup v2, or set failCgroupV1: false in the kubelet's configuration, and ask again with a new careen.dev/upgrade-id."
    )]
    OldCgroups { kubelet: Version },
    /// A required check fails on the old system, before anything has changed.
    #[advice(
        "nothing has changed on the node: fix what the check named above reports, or the check itself in /etc/careen/required.d",
        Retry
    )]
    #[error(
        "required check {check} fails on this system already, before anything has changed: {}. Fix what it reports, correct the check, or set health.rehearse = \"warn\" in the policy, and ask again if the upgrade fails.",
        bare(.detail)
    )]
    UnhealthyBefore { check: String, detail: String },
    /// The new image would not have what a person has changed in the running deployment.
    #[advice(
        "build the packages and other changes named above into the image; where the node may lose them, \
         set local-changes = \"drop\" in /etc/careen/policy.toml",
        Retry
    )]
    #[error(
        "the running system has changes that are in no image: {}. Build them into the image, or set local-changes = \"drop\" in the policy, and ask again with a new careen.dev/upgrade-id.",
        bare(.detail)
    )]
    LocalChanges { detail: String },

    // Waiting.
    /// The requester has paused the Node.
    #[advice(
        "`kubectl careen resume` lets the node continue, `kubectl careen cancel` withdraws the request",
        Nothing
    )]
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
    #[advice("ask for the plan again when the upgrade has ended", Nothing)]
    #[error(
        "an upgrade is under way on this node: {phase}. Ask for the plan again when it has ended."
    )]
    Busy { phase: String },

    // Fetching.
    /// The remote does not have the ref, or does not give this node access: libostree has one error
    /// code for 403 and 404.
    #[advice(LOOK_AT_REQUEST)]
    #[error(
        "careen.dev/image names ref {reference:?}, which remote {remote:?} does not have or does not show to this node. Use one that `ostree remote refs {remote}` lists."
    )]
    NoSuchRef { remote: String, reference: String },
    /// The remote does not have the commit on this ref.
    #[advice(LOOK_AT_REQUEST)]
    #[error(
        "careen.dev/image asks for commit {commit}, which remote {remote:?} does not have on that ref or does not show to this node. Use one that `ostree remote refs --revision {remote}` lists, or an ancestor of it that was not pruned."
    )]
    NoSuchCommit { remote: String, commit: String },
    /// The container image does not exist.
    #[advice(LOOK_AT_REQUEST)]
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
    #[advice(LOOK_AT_IMAGE)]
    #[error(
        "careen.dev/image names {image}, which cannot be deployed: {}. Use an image that careen-image or `ostree container encapsulate` made.",
        bare(.detail)
    )]
    NotEncapsulated { image: String, detail: String },
    /// The remote does not answer.
    #[advice(LOOK_AT_REMOTE)]
    #[error(
        "cannot fetch careen.dev/image from remote {remote:?}: {}. Check its url under /etc/ostree/remotes.d (for a registry: its credentials and /etc/containers/registries.conf), and ask again if the upgrade fails.",
        bare(.detail)
    )]
    RemoteAway { remote: String, detail: String },
    /// The commit has no signature.
    #[advice(LOOK_AT_REMOTE)]
    #[error(
        "careen.dev/image resolves to {commit} on remote {remote:?}, which has no signature that this node verifies. Sign the commit with a key of the remote's keyring (for a registry: of the one in the policy's registry.signed-by, or as /etc/containers/policy.json demands)."
    )]
    Unsigned { remote: String, commit: String },
    /// The commit is not signed by a key that the node trusts.
    #[advice(LOOK_AT_REMOTE)]
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
    #[advice(LOOK_AT_REMOTE)]
    #[error(
        "remote {remote:?} has gpg-verify=false, but the policy requires signed images. Set gpg-verify=true and gpgkeypath for the remote, or unsigned = true in the policy, and ask again."
    )]
    VerificationOff { remote: String },

    // Verifying.
    /// The image has no kernel with an initramfs.
    #[advice(LOOK_AT_IMAGE)]
    #[error(
        "image {commit} has no kernel with an initramfs, or has more than one. Build an image with exactly one /usr/lib/modules/<version> that has a vmlinuz and an initramfs.img."
    )]
    NoKernel { commit: String },
    /// The image has no image.json.
    #[advice(LOOK_AT_IMAGE)]
    #[error(
        "image {commit} has no usable /usr/lib/careen/image.json, so its Kubernetes version is unknown: {}. Build an image with that file: JSON with format, kubernetes and architecture.",
        bare(.detail)
    )]
    NoImageInfo { commit: String, detail: String },
    /// The initramfs does not contain our stage.
    #[advice(LOOK_AT_IMAGE)]
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
    #[advice(
        "in the image, install the package and run `systemctl preset-all` before you commit it; on the node, run `systemctl unmask` or \
         `systemctl enable` for the units named above that are masked or disabled there; for an image without Careen, install the DaemonSet",
        Either
    )]
    #[error(
        "image {commit} cannot be tried on this node, because nothing would evaluate the trial or time it out: {}. Use an image that has all of Careen's programs and enables its units, or install Careen by a DaemonSet and use an image without any of them.",
        bare(.lacks)
    )]
    NoAgent { commit: String, lacks: String },
    /// The image is for another machine.
    #[advice(LOOK_AT_IMAGE)]
    #[error(
        "image {commit} says \"architecture\": {image:?} in /usr/lib/careen/image.json, but this machine is {machine:?}. Ask for the image of this architecture."
    )]
    WrongArchitecture {
        commit: String,
        image: String,
        machine: String,
    },
    /// The image contains another version than the one requested.
    #[advice(LOOK_AT_REQUEST)]
    #[error(
        "careen.dev/kubernetes-version is {wanted}, but the image carries {carried}. Correct or remove the annotation, or ask for an image with that version."
    )]
    VersionMismatch { wanted: Version, carried: Version },
    /// The image contains an older Kubernetes than the node runs.
    #[advice(
        "to go back to the kept system (usually the one before), run `kubectl careen rollback --again`; for any other older image, set downgrade = true in /etc/careen/policy.toml",
        Either
    )]
    #[error(
        "careen.dev/image carries {to}, older than this node's {from}. Ask for that version or newer, for \"kept:\" to go back, or set downgrade = true in the policy."
    )]
    Downgrade { from: Version, to: Version },
    /// The image was made before the running one.
    #[advice(
        "choose an image that was made later; to go back to the kept system (usually the one before), run `kubectl careen rollback --again`",
        Another
    )]
    #[error(
        "careen.dev/image resolves to commit {commit}, made {} before {running}, which runs here. Ask for a newer image, for \"kept:\" to go back, or set downgrade = true in the policy.", span(*.seconds)
    )]
    OlderImage {
        commit: String,
        running: String,
        seconds: u64,
    },
    /// The policy does not let the node go to this other branch.
    #[advice(
        "choose an image of the branch that the node runs; if the node should change its branch, set branch-change in its policy and ask again",
        Another
    )]
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
    #[advice(LOOK_AT_VERSIONS)]
    #[error(
        "careen.dev/image carries kubelet {kubelet}, newer than the API server's {server}. Upgrade the control plane first, then ask again."
    )]
    NewerThanApiServer { kubelet: Version, server: Version },
    /// The kubelet would be too old for the API server.
    #[advice(LOOK_AT_VERSIONS)]
    #[error(
        "careen.dev/image carries kubelet {kubelet}, more than {allowed} minor versions older than the API server's {server} (the policy's skew = {allowed}). Ask for an image with a newer Kubernetes."
    )]
    SkewTooLarge {
        kubelet: Version,
        server: Version,
        allowed: u32,
    },
    /// The commit's objects are damaged on this node.
    #[advice(LOOK_AT_DISK)]
    #[error(
        "commit {commit} is damaged on this node's disk: {}. Check the disk (`journalctl -k`), and ask again if the upgrade fails.",
        bare(.detail)
    )]
    Damaged { commit: String, detail: String },
    /// A file system does not have enough room.
    #[advice(LOOK_AT_DISK)]
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
    #[advice(
        "stop the program named above, or let it end; `ostree admin status` on the node shows what it changed",
        Retry
    )]
    #[error(
        "the OSTree sysroot has been locked for more than {seconds} s: held by {}. Let that program end or stop it, and ask again if the upgrade fails.",
        bare(.holder)
    )]
    LockHeld { holder: String, seconds: u64 },
    /// A libostree operation failed.
    #[advice(LOOK_AT_DISK)]
    #[error(
        "{verb} failed: {}. Fix the cause (`journalctl -u 'careen-deploy-*'` on the node may say more), and ask again.",
        bare(.detail)
    )]
    DeployFailed { verb: String, detail: String },
    /// A file in /etc cannot be merged into the new system.
    #[advice(
        "move the file named above out of /etc on the node, or stop the program that writes it",
        Retry
    )]
    #[error(
        "/etc cannot be merged into the new system: {}. Move the file away or stop the program that writes it, and ask again.",
        bare(.detail)
    )]
    EtcMerge { detail: String },
    /// The new image adds a user, group or range of ids that this node has given to another name.
    #[advice(
        "give the node's account named above another id, or build the image with another one",
        Retry
    )]
    #[error(
        "the accounts of the new image and of this node conflict: {}. Change the node's account, and ask again.",
        bare(.detail)
    )]
    AccountTaken { detail: String },
    /// careen-deploy, or the agent's own task of a step, ended without a verdict: it was killed, or
    /// it crashed.
    #[advice(LOOK_AT_DISK)]
    #[error(
        "{verb} ended without a result: {}. Check whether it was killed or crashed (`journalctl -k` and `journalctl -u careen-agent -u 'careen-deploy-*'` on the node), and ask again if the upgrade fails.",
        bare(.detail)
    )]
    DeployDied { verb: String, detail: String },

    // Draining.
    /// A PodDisruptionBudget did not allow an eviction in time.
    #[advice(LOOK_AT_DRAIN)]
    #[error(
        "PodDisruptionBudget {pdb} does not allow evicting pod {pod} (waited {seconds} s). Make the application healthy or the budget wider, and ask again if the upgrade fails."
    )]
    BudgetBlocks {
        pdb: String,
        pod: String,
        seconds: u64,
    },
    /// Pods were still on the node at the deadline.
    #[advice(LOOK_AT_DRAIN)]
    #[error(
        "pods were still on the node at the drain's deadline of {seconds} s: {}. Let them end, delete them or give the drain more time in the policy, and ask again.",
        bare(.pods)
    )]
    DrainDeadline { pods: String, seconds: u64 },
    /// The API server rejects an operation that the drain needs.
    #[advice(LOOK_AT_DRAIN)]
    #[error(
        "this node could not be cordoned, drained or uncordoned as needed: {}. Fix the cause (for example a webhook, a policy or a missing right), and ask again if the upgrade fails.",
        bare(.detail)
    )]
    DrainRefused { detail: String },
    /// The machine has joined its cluster again under another name since it was taken from its
    /// users.
    #[advice(
        "uncordon or delete the former Node by hand, because this machine's credential no longer reaches it; then ask again on the present Node",
        Retry
    )]
    #[error(
        "this machine has joined its cluster under another name since it was cordoned: it was Node {was} and is Node {is}, and its credential no longer reaches {was}, which stays cordoned. Delete {was} or uncordon it by hand, and ask again."
    )]
    NodeRenamed { was: String, is: String },
    /// The API server does not answer.
    #[advice(LOOK_AT_SERVER)]
    #[error(
        "the agent cannot work with the API server: {}. Check the server and the network path to it, and ask again if the upgrade fails.",
        bare(.detail)
    )]
    ApiAway { detail: String },
    /// The API server refuses a request that is no part of the drain itself.
    #[advice(
        "let the node's own credential make the request named above: look for an admission webhook or policy that matches it, and at the authorizers Node and RBAC",
        Retry
    )]
    #[error(
        "the API server refuses to let the agent {request}: {}. Fix the cause (for example a webhook, a policy or a missing right), and ask again if the upgrade fails.",
        bare(.detail)
    )]
    ApiRefused { request: String, detail: String },
    /// The requester withdrew the request, or replaced it by another one. Older agents read both
    /// as the first.
    #[advice("no action is needed: the request was withdrawn", Nothing)]
    #[error("{}", withdrawn(.replaced_by))]
    Withdrawn {
        /// What the other request asks for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        replaced_by: Option<String>,
    },

    // Arming.
    /// The kubelet's state could not be saved.
    #[advice(LOOK_AT_DISK)]
    #[error(
        "the kubelet's state could not be saved: {}. Fix that or make room below /sysroot, and ask again if the upgrade fails.",
        bare(.detail)
    )]
    SnapshotFailed { detail: String },
    /// The one-shot entry could not be written.
    #[advice(LOOK_AT_DISK)]
    #[error(
        "the one-shot boot entry could not be written or cleared: {}. Make /boot writable, and ask again if the upgrade fails.",
        bare(.detail)
    )]
    ArmFailed { detail: String },
    /// The new deployment is not where the boot loader would find it.
    #[advice(LOOK_AT_NODE)]
    #[error(
        "deployment {commit} is no longer in the boot menu. Keep other updaters off this node, and ask again."
    )]
    TargetVanished { commit: String },
    /// logind refused to reboot.
    #[advice(
        "stop the program that delays the reboot; `systemd-inhibit --list` on the node names it",
        Retry
    )]
    #[error(
        "the reboot was refused or did not happen: {}. Stop what delays it (`systemd-inhibit --list` and `systemctl list-jobs` on the node), and ask again if the upgrade fails.",
        bare(.detail)
    )]
    RebootRefused { detail: String },

    // The trial.
    /// The stage in the initramfs refused the new system.
    #[advice(
        "find out whether the disk is damaged or files were changed: `journalctl -k` and `ostree fsck` on the node, and the console of \
         that boot (the guard in the initramfs writes no journal); only an image to blame is remembered and not tried again unasked",
        Either
    )]
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
    #[advice(
        "`journalctl --list-boots` on the node shows whether the trial got as far as a journal; if it did not, only the console has its messages \
         (kernel, driver, initramfs). The image is remembered only if something shows that it hung or crashed: ask for the same one again after a power cut or a reset from outside, otherwise for a fixed one",
        Either
    )]
    #[error(
        "{tries} trial boots of {commit} ended without a verdict ({}), and the old system is back. Check `journalctl --list-boots` and the console; ask again after a power cut or a reset from outside, otherwise ask for a fixed image.",
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
    #[advice(LOOK_AT_TRIAL)]
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
    #[advice(LOOK_AT_TRIAL)]
    #[error(
        "the new system serves less than the old one did, after {seconds} s: {}. {}, or add an exception to the policy's [serving]; the trial's journal is in `journalctl -b -1` of the old system.",
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
    #[advice(
        "fix what kubeadm reports: `journalctl -u careen-kubeadm` on the node has its output",
        Retry
    )]
    #[error(
        "kubeadm upgrade node has not succeeded: {}. Fix what kubeadm names, and ask again if the upgrade fails.",
        bare(.detail)
    )]
    KubeadmFailed { detail: String },
    /// An operator's check failed.
    #[advice(LOOK_AT_TRIAL)]
    #[error("required check {name} failed: {}. {}", bare(.detail), after_a_check(*.cause))]
    UserCheck {
        name: String,
        detail: String,
        #[serde(default, skip_serializing_if = "Cause::is_image")]
        cause: Cause,
    },
    /// The API server was away at the end of the trial. Nothing shows that the image is the cause.
    #[advice(LOOK_AT_SERVER)]
    #[error(
        "the trial could not be evaluated after {seconds} s: {}. Check the server, the Node and the network, and ask again if the upgrade fails.",
        unreached(.seen)
    )]
    ApiAwayInTrial {
        seconds: u64,
        /// What the trial saw of the server and of the way to it. Empty in records of older
        /// versions.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        seen: String,
    },
    /// The old system reaches the API server, and the new one does not.
    #[advice(LOOK_AT_TRIAL)]
    #[error(
        "the new system did not reach the API server, and the cause is in the new system{}. Look there for a lost network driver, a renamed device, a broken network configuration or a wrong clock, and ask for a fixed image.",
        in_brackets(.seen)
    )]
    NoApiFromNewSystem {
        /// What the new system lacked. Empty in records of older versions.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        seen: String,
    },
    /// The new system was booted by hand, without the guard.
    #[advice(
        "let the node boot by itself: the agent starts a trial, nobody chooses it in the boot menu",
        Retry
    )]
    #[error(
        "the new system was booted without its guard, so it is not evaluated: it was picked in the boot menu, or the guard could not write. Leave the boot menu alone during an upgrade, and ask again if the upgrade fails."
    )]
    UnguardedBoot,

    // A person must act.
    /// The record was written by a newer version.
    #[advice(LOOK_AT_NODE)]
    #[error(
        "the record has format {format}, but this version reads up to {known}. Boot or install the newer version."
    )]
    RecordNewer { format: u32, known: u32 },
    /// The record on the disk cannot be read; the detail says what to do.
    #[advice(LOOK_AT_NODE)]
    #[error(
        "the record cannot be read: {}. Read the runbook first, then check the node's disk.",
        bare(.detail)
    )]
    RecordDamaged { detail: String },
    /// The record cannot be written to the disk. Only the Node shows this reason.
    #[advice(
        "make room on the node's root file system or fix its disk: `df -h /sysroot`, `journalctl -k`; the agent then continues by itself",
        Nothing
    )]
    #[error(
        "the record cannot be written, so no upgrade begins or continues: {}. Make room below /sysroot or fix its disk; the agent then continues by itself.",
        bare(.detail)
    )]
    RecordUnwritten { detail: String },
    /// The running system, or the next one to boot, cannot be determined. Only the Node shows this
    /// reason: the agent does not decide on incomplete data.
    #[advice(
        "check /boot and the root file system of the node: `ostree admin status`, `ls /boot/loader`, `journalctl -k`; once they can be read, the agent continues by itself",
        Nothing
    )]
    #[error(
        "cannot read this machine's boot state, so no upgrade begins or continues: {}. Fix that; the agent then continues by itself.",
        bare(.detail)
    )]
    MachineUnseen { detail: String },
    /// Neither the old nor the new system runs.
    #[advice(LOOK_AT_NODE)]
    #[error(
        "the running deployment {booted} is neither the old nor the new system of this upgrade. Make the system that should stay the default, boot it, and ask again with a new careen.dev/upgrade-id."
    )]
    UnknownSystem { booted: String },
    /// The image does not have what a trial on a control plane needs.
    #[advice(LOOK_AT_IMAGE)]
    #[error(
        "commit {commit} lacks what a control-plane node needs: its image.json does not say control = 1. Build it with careen-control and careen-repair.service, and ask for that image."
    )]
    ControlNotCarried { commit: String },
    /// careen-control could not do its part.
    #[advice(
        "run `careen-control survey` on the node, and fix what it names",
        Retry
    )]
    #[error(
        "careen-control {verb} failed: {}. Run `careen-control survey` on the node if trying again does not help.",
        bare(.detail)
    )]
    ControlFailed { verb: String, detail: String },
    /// The new version's kubeadm has not raised the control plane of this node.
    #[advice(
        "read kubeadm.log in the newest /sysroot/ostree/careen/control-* on the node, and fix what it names",
        Retry
    )]
    #[error(
        "kubeadm did not bring this node's control plane to the new version: {}. Read kubeadm.log on the node and fix the cause; old and new static pods may run together until then.",
        bare(.detail)
    )]
    RaiseFailed { detail: String },
    /// The default is not what it should be.
    #[advice(LOOK_AT_NODE)]
    #[error(
        "the default deployment is not the one that this upgrade needs, or is not running: it is {}. Make the system that should stay the default (`{variable}={generator} ostree admin set-default <index>`, without the variable where grub-mkconfig writes the menu), boot it, and ask again with a new careen.dev/upgrade-id.",
        bare(.default),
        variable = names::GENERATOR_VARIABLE,
        generator = names::GENERATOR
    )]
    ForeignDefault { default: String },

    /// This node's part of the control plane is unhealthy after its upgrade.
    #[advice(
        "remove no member of etcd, delete none of its data, and upgrade no other member; look at the static pods of this node with `crictl ps -a` and at etcd's log, \
         and follow the runbook; when the member is healthy, ask again",
        Retry
    )]
    #[error(
        "this member of the control plane is unhealthy, so its upgrade has halted: {}. Do not remove a member of etcd or its data. Fix this node and ask again; no other member is upgraded until then.",
        bare(.detail)
    )]
    ControlPlaneHurt { detail: String },

    // The operator's own rules.
    /// The node is opted out of all upgrades.
    #[advice(
        "leave the node alone, or remove what the sentence above names: careen.dev/opt-out on the Node, or opt-out in its policy file",
        Retry
    )]
    #[error(
        "this node takes no upgrade: {by} says {why:?}. Remove that if upgrades are wanted, and ask again with a new careen.dev/upgrade-id."
    )]
    OptedOut { by: String, why: String },
    /// The maintenance window is closed.
    #[advice(
        "no action is needed, unless the hours in the node's policy file are never long enough: the upgrade begins when they have room",
        Nothing
    )]
    #[error(
        "waiting for the maintenance window: {}. No action is needed, unless the window is too short, or its time zone or the time is unknown.",
        bare(.opens)
    )]
    WindowClosed { opens: String },
    /// The new system is healthy, and the operator or the requester wants to watch it longer.
    #[advice(
        "no action is needed: the new system becomes the default when its time is over",
        Nothing
    )]
    #[error(
        "the new system is healthy, and is watched for {seconds} s before it becomes the default. No action is needed."
    )]
    Soaking { seconds: u64 },
    /// Something about the control plane can end by itself, such as a turn of another member.
    #[advice(
        "wait; if it does not end, fix what the sentence above names",
        Nothing
    )]
    #[error("the upgrade waits for the control plane ({finding}): {} No action is needed if that ends by itself.", sentence(.detail))]
    ControlPlaneWaits { finding: String, detail: String },
    /// A hook failed.
    #[advice(
        "fix what the hook reports, or the hook: it is in /etc/careen/pre.d or /usr/lib/careen/pre.d on the node",
        Retry
    )]
    #[error(
        "hook {hook} failed: {}. Fix the hook or what it reports, and ask again if the upgrade fails.",
        bare(.detail)
    )]
    HookFailed { hook: String, detail: String },

    // Only read, never created.
    /// A newer version wrote a reason that this version does not know. The old system reads what a
    /// trial wrote, and must be able to finish the upgrade with it.
    #[advice(
        "`journalctl -b -1 -u careen-agent` on the node (it needs /var/log/journal) has the newer version's own sentence: do what that says",
        Either
    )]
    #[serde(other)]
    #[error(
        "the newer version of Careen gave up for a reason that this version does not know. Read the previous boot's journal (`journalctl -b -1 -u careen-agent` on the node) and do what it says."
    )]
    Unheard,
}
