//! The first step for each reason, by its code. A test compares the list with `docs/reasons.md`,
//! which has all codes.

/// How to continue after the first step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// Repeat the request.
    Retry,
    /// Request something else.
    Another,
    /// Either of the two.
    Either,
    /// No request is needed.
    Nothing,
}

/// The advice for a reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Advice {
    /// The first step.
    pub first: &'static str,
    /// The step after it.
    pub then: Then,
}

/// For a code that only a newer agent knows.
pub const UNKNOWN: Advice = advice(
    "this version of kubectl careen does not know that reason: read the page of reasons in the docs of the agent's version",
    Then::Retry,
);

/// For an upgrade that succeeded, after which the previous system runs again.
pub const OVERTAKEN: Advice = advice(
    "the new system is still the default (`ostree admin status` on the node shows it), so reboot into it; if the node boots the former system \
     once more, the new one's kernel or boot entry is damaged (see `journalctl -b` and the console): ask for another image",
    Then::Nothing,
);

const LOOK_AT_TRIAL: Advice = advice(
    "read the trial's journal with `journalctl -b -1` on the node (it needs /var/log/journal), and fix what the sentence above blames; only an image to blame is remembered and not tried again unasked",
    Then::Either,
);
const LOOK_AT_DRAIN: Advice = advice(
    "the node was uncordoned and has not rebooted: fix the problem with the pod or the budget named above",
    Then::Retry,
);
const LOOK_AT_REQUEST: Advice = advice("correct what the sentence above names", Then::Another);
const LOOK_AT_IMAGE: Advice = advice(
    "build or choose an image that has what the sentence above names",
    Then::Another,
);
const LOOK_AT_REMOTE: Advice = advice(
    "check the remote named above: its url and keys under /etc/ostree/remotes.d on the node; for a container image also the \
     credentials and mirrors in /etc/containers and registry.signed-by in /etc/careen/policy.toml",
    Then::Retry,
);
const LOOK_AT_DISK: Advice = advice(
    "check the node's disk: `df -h / /boot`, `journalctl -u careen-agent` and `journalctl -k`",
    Then::Retry,
);
const LOOK_AT_POLICY: Advice = advice(
    "correct /etc/careen/policy.toml on the node, or ask for an image that it allows",
    Then::Either,
);
const LOOK_AT_VERSIONS: Advice = advice(
    "upgrade in the order of the version skew policy: first the control plane, then the nodes",
    Then::Either,
);
const LOOK_AT_SERVER: Advice = advice("check that the node reaches the API server", Then::Retry);
const LOOK_AT_NODE: Advice = advice(
    "check the node: `careen-agent record` prints what it was doing, `ostree admin status` lists its systems; fix what the sentence above names",
    Then::Retry,
);
const NOTHING: Advice = advice(
    "no action is needed: the request was withdrawn",
    Then::Nothing,
);
const BY_HAND: Advice = advice(
    "let the node boot by itself: the agent starts a trial, nobody chooses it in the boot menu",
    Then::Retry,
);

/// The advice for the reason with this code.
#[must_use]
pub fn of(code: &str) -> Option<Advice> {
    let found = ADVICE.iter().find(|(known, _)| *known == code);
    found.map(|(_, advice)| *advice)
}

const fn advice(first: &'static str, then: Then) -> Advice {
    Advice { first, then }
}

const ADVICE: &[(&str, Advice)] = &[
    ("BadRequest", LOOK_AT_REQUEST),
    ("BadPolicy", LOOK_AT_POLICY),
    (
        "LoaderUnfit",
        advice(
            "fix the boot loader problem named above, as the runbook describes",
            Then::Retry,
        ),
    ),
    ("RemoteNotAllowed", LOOK_AT_POLICY),
    ("BranchNotAllowed", LOOK_AT_POLICY),
    ("UnknownRemote", LOOK_AT_REMOTE),
    (
        "RememberedBad",
        advice(
            "the reason in brackets is why the image failed on this node before; `careen-agent record` on the node lists it under `bad`. \
             Ask for a fixed image; to ask for this one again tries it once more",
            Then::Either,
        ),
    ),
    (
        "NothingKept",
        advice(
            "ask for the former image by its commit, which `kubectl careen history -o wide` shows",
            Then::Another,
        ),
    ),
    ("RollbackOff", LOOK_AT_POLICY),
    (
        "ControlPlane",
        advice(
            "remove the request, and upgrade this node the way you did before Careen",
            Then::Nothing,
        ),
    ),
    (
        "NoWatchdog",
        advice(
            "load the driver of the machine's watchdog, or remove require-watchdog from /etc/careen/policy.toml; \
             `careen-agent doctor` shows what it found",
            Then::Retry,
        ),
    ),
    (
        "StateOwed",
        advice(
            "fix the cause named above, drain the node and reboot it (or run `systemctl start careen-restore` while its kubelet is stopped); \
             to discard the saved state instead, see the page about operating a node in the docs",
            Then::Retry,
        ),
    ),
    (
        "CheckUntrusted",
        advice(
            "make the check named above executable (chmod a+x), and root the only one who may write it and the folders on the way to it (chown root:root, chmod go-w), or remove the check",
            Then::Retry,
        ),
    ),
    (
        "KubeletSettings",
        advice(
            "write the patch named above to the node's patches, or set local-settings = \"drop\" below [kubeadm] in /etc/careen/policy.toml; \
             where the ConfigMap kubelet-config was changed on purpose, change the node's file to match",
            Then::Retry,
        ),
    ),
    (
        "BadPatches",
        advice(
            "correct the patch named above, or make root the only one who may write it (chown root:root, chmod go-w)",
            Then::Retry,
        ),
    ),
    (
        "LocalChanges",
        advice(
            "build the packages and other changes named above into the image; where the node may lose them, \
             set local-changes = \"drop\" in /etc/careen/policy.toml",
            Then::Retry,
        ),
    ),
    (
        "Paused",
        advice(
            "`kubectl careen resume` lets the node continue, `kubectl careen cancel` withdraws the request",
            Then::Nothing,
        ),
    ),
    (
        "Busy",
        advice(
            "ask for the plan again when the upgrade has ended",
            Then::Nothing,
        ),
    ),
    ("NoSuchRef", LOOK_AT_REQUEST),
    ("NoSuchCommit", LOOK_AT_REQUEST),
    ("NoSuchImage", LOOK_AT_REQUEST),
    ("NotEncapsulated", LOOK_AT_IMAGE),
    ("RemoteAway", LOOK_AT_REMOTE),
    ("Unsigned", LOOK_AT_REMOTE),
    ("WrongSignature", LOOK_AT_REMOTE),
    ("VerificationOff", LOOK_AT_REMOTE),
    ("NoKernel", LOOK_AT_IMAGE),
    ("NoImageInfo", LOOK_AT_IMAGE),
    ("NoStage", LOOK_AT_IMAGE),
    (
        "NoAgent",
        advice(
            "in the image, install the package and run `systemctl preset-all` before you commit it; on the node, run `systemctl unmask` or \
             `systemctl enable` for the units named above that are masked or disabled there; for an image without Careen, install the DaemonSet",
            Then::Either,
        ),
    ),
    ("WrongArchitecture", LOOK_AT_IMAGE),
    ("VersionMismatch", LOOK_AT_REQUEST),
    (
        "Downgrade",
        advice(
            "to go back to the kept system (usually the one before), run `kubectl careen rollback --again`; for any other older image, set downgrade = true in /etc/careen/policy.toml",
            Then::Either,
        ),
    ),
    (
        "OlderImage",
        advice(
            "choose an image that was made later; to go back to the kept system (usually the one before), run `kubectl careen rollback --again`",
            Then::Another,
        ),
    ),
    (
        "BranchChange",
        advice(
            "choose an image of the branch that the node runs; if the node should change its branch, set branch-change in its policy and ask again",
            Then::Another,
        ),
    ),
    ("NewerThanApiServer", LOOK_AT_VERSIONS),
    ("SkewTooLarge", LOOK_AT_VERSIONS),
    ("Damaged", LOOK_AT_DISK),
    ("NoRoom", LOOK_AT_DISK),
    (
        "LockHeld",
        advice(
            "stop the program named above, or let it end; `ostree admin status` on the node shows what it changed",
            Then::Retry,
        ),
    ),
    ("DeployFailed", LOOK_AT_DISK),
    (
        "EtcMerge",
        advice(
            "move the file named above out of /etc on the node, or stop the program that writes it",
            Then::Retry,
        ),
    ),
    (
        "AccountTaken",
        advice(
            "give the node's account named above another id, or build the image with another one",
            Then::Retry,
        ),
    ),
    ("DeployDied", LOOK_AT_DISK),
    ("BudgetBlocks", LOOK_AT_DRAIN),
    ("DrainDeadline", LOOK_AT_DRAIN),
    ("DrainRefused", LOOK_AT_DRAIN),
    ("ApiAway", LOOK_AT_SERVER),
    (
        "ApiRefused",
        advice(
            "let the node's own credential make the request named above: look for an admission webhook or policy that matches it, and at the authorizers Node and RBAC",
            Then::Retry,
        ),
    ),
    ("Withdrawn", NOTHING),
    ("SnapshotFailed", LOOK_AT_DISK),
    ("ArmFailed", LOOK_AT_DISK),
    ("TargetVanished", LOOK_AT_NODE),
    (
        "RebootRefused",
        advice(
            "stop the program that delays the reboot; `systemd-inhibit --list` on the node names it",
            Then::Retry,
        ),
    ),
    (
        "StageRefused",
        advice(
            "find out whether the disk is damaged or files were changed: `journalctl -k` and `ostree fsck` on the node, and the console of \
             that boot (the guard in the initramfs writes no journal); only an image to blame is remembered and not tried again unasked",
            Then::Either,
        ),
    ),
    (
        "NoVerdict",
        advice(
            "`journalctl --list-boots` on the node shows whether the trial got as far as a journal; if it did not, only the console has its messages \
             (kernel, driver, initramfs). The image is remembered only if something shows that it hung or crashed: ask for the same one again after a power cut or a reset from outside, otherwise for a fixed one",
            Then::Either,
        ),
    ),
    ("Unhealthy", LOOK_AT_TRIAL),
    ("ServesLess", LOOK_AT_TRIAL),
    (
        "KubeadmFailed",
        advice(
            "fix what kubeadm reports: `journalctl -u careen-kubeadm` on the node has its output",
            Then::Retry,
        ),
    ),
    ("UserCheck", LOOK_AT_TRIAL),
    ("ApiAwayInTrial", LOOK_AT_SERVER),
    ("NoApiFromNewSystem", LOOK_AT_TRIAL),
    ("UnguardedBoot", BY_HAND),
    ("RecordNewer", LOOK_AT_NODE),
    ("RecordDamaged", LOOK_AT_NODE),
    (
        "RecordUnwritten",
        advice(
            "make room on the node's root file system or fix its disk: `df -h /sysroot`, `journalctl -k`; the agent then continues by itself",
            Then::Nothing,
        ),
    ),
    (
        "MachineUnseen",
        advice(
            "check /boot and the root file system of the node: `ostree admin status`, `ls /boot/loader`, `journalctl -k`; once they can be read, the agent continues by itself",
            Then::Nothing,
        ),
    ),
    ("UnknownSystem", LOOK_AT_NODE),
    ("ForeignDefault", LOOK_AT_NODE),
    (
        "OptedOut",
        advice(
            "leave the node alone, or remove what the sentence above names: careen.dev/opt-out on the Node, or opt-out in its policy file",
            Then::Retry,
        ),
    ),
    (
        "WindowClosed",
        advice(
            "no action is needed, unless the hours in the node's policy file are never long enough: the upgrade begins when they have room",
            Then::Nothing,
        ),
    ),
    (
        "Soaking",
        advice(
            "no action is needed: the new system becomes the default when its time is over",
            Then::Nothing,
        ),
    ),
    (
        "HookFailed",
        advice(
            "fix what the hook reports, or the hook: it is in /etc/careen/pre.d or /usr/lib/careen/pre.d on the node",
            Then::Retry,
        ),
    ),
    (
        "Unheard",
        advice(
            "`journalctl -b -1 -u careen-agent` on the node (it needs /var/log/journal) has the newer version's own sentence: do what that says",
            Then::Either,
        ),
    ),
];

#[cfg(test)]
mod tests;
