//! What to do first about each reason, by its code. A test holds the list against `docs/reasons.md`, which has them all.

/// How to go on when that is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// Ask for the same again.
    Retry,
    /// Ask for something else.
    Another,
    /// The one or the other.
    Either,
    /// There is nothing to ask for.
    Nothing,
}

/// What to do about a reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Advice {
    /// First.
    pub first: &'static str,
    /// And then.
    pub then: Then,
}

/// Where the code is of a newer agent than this program.
pub const UNKNOWN: Advice = advice(
    "this version of kubectl careen does not know that reason: the docs of the agent's version do, on their page of reasons",
    Then::Retry,
);

/// Where an upgrade had ended well, and the system from before runs again.
pub const OVERTAKEN: Advice = advice(
    "`ostree admin status` on the node: the new system is still the default, so reboot into it; where the node comes up in the former one once \
     more, the new one's kernel or boot entry is damaged (`journalctl -b` and the console say more): ask for another image",
    Then::Nothing,
);

const LOOK_AT_TRIAL: Advice = advice(
    "on the node, `journalctl -b -1` has the words of the trial, where /var/log/journal is kept; the image is remembered and not tried again unasked: mend the image or the node",
    Then::Either,
);
const LOOK_AT_DRAIN: Advice = advice(
    "the node was uncordoned and has not rebooted: see to the pod or the budget that is named",
    Then::Retry,
);
const LOOK_AT_REQUEST: Advice = advice("correct what the sentence names", Then::Another);
const LOOK_AT_IMAGE: Advice = advice(
    "build or choose an image that has what the sentence names",
    Then::Another,
);
const LOOK_AT_REMOTE: Advice = advice(
    "see to the remote that is named: its url and keys under /etc/ostree/remotes.d on the node; for a container image: \
     credentials and mirrors in /etc/containers, registry.signed-by in /etc/careen/policy.toml",
    Then::Retry,
);
const LOOK_AT_DISK: Advice = advice(
    "see to the node's disk: `df -h / /boot`, `journalctl -u careen-agent` and the kernel's log",
    Then::Retry,
);
const LOOK_AT_POLICY: Advice = advice(
    "mend /etc/careen/policy.toml on the node, or ask for what it allows",
    Then::Either,
);
const LOOK_AT_VERSIONS: Advice = advice(
    "upgrade in the order of the skew policy: control plane first, then the nodes",
    Then::Either,
);
const LOOK_AT_SERVER: Advice = advice("see that the node reaches the API server", Then::Retry);
const LOOK_AT_NODE: Advice = advice(
    "look at the node first: `careen-agent record` prints what it was doing, `ostree admin status` its systems; mend what the sentence names",
    Then::Retry,
);
const NOTHING: Advice = advice("nothing is wrong: it was taken back", Then::Nothing);
const BY_HAND: Advice = advice(
    "let the node boot by itself: a trial is armed by the agent, never chosen from the menu",
    Then::Retry,
);

/// What to do about the reason with this code.
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
            "mend of the boot loader what the sentence names, as the runbook says",
            Then::Retry,
        ),
    ),
    ("RemoteNotAllowed", LOOK_AT_POLICY),
    ("BranchNotAllowed", LOOK_AT_POLICY),
    ("UnknownRemote", LOOK_AT_REMOTE),
    (
        "RememberedBad",
        advice(
            "the reason that stands in brackets is the one by which it failed here before; `careen-agent record` on the node \
             lists the image under `bad`. Ask for a mended one; asking for this one once more tries it again",
            Then::Either,
        ),
    ),
    (
        "NothingKept",
        advice(
            "ask for the former image by its commit; `kubectl careen history -o wide` names it",
            Then::Another,
        ),
    ),
    ("RollbackOff", LOOK_AT_POLICY),
    (
        "ControlPlane",
        advice("upgrade this node as you did before", Then::Nothing),
    ),
    (
        "NoWatchdog",
        advice(
            "load the driver of the machine's watchdog, or take require-watchdog out of /etc/careen/policy.toml; \
             `careen-agent doctor` says what was found",
            Then::Retry,
        ),
    ),
    (
        "StateOwed",
        advice(
            "mend what the sentence says, drain the node and reboot it (or run `systemctl start careen-restore` with its kubelet stopped); \
             how to give the saved state up instead say the docs, on their page of what is done by hand",
            Then::Retry,
        ),
    ),
    (
        "CheckUntrusted",
        advice(
            "have the check that is named be root's alone (chown root:root, chmod go-w), with the folders on the way to it, or take it away",
            Then::Retry,
        ),
    ),
    (
        "Paused",
        advice(
            "`kubectl careen resume` lets it go on, `cancel` gives it up",
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
            "see to what the sentence names: in the image, install the package and run `systemctl preset-all` before it is committed; on the node, \
             `systemctl unmask` or `systemctl enable` what somebody has shut out there; an image without Careen wants the DaemonSet",
            Then::Either,
        ),
    ),
    ("WrongArchitecture", LOOK_AT_IMAGE),
    ("VersionMismatch", LOOK_AT_REQUEST),
    (
        "Downgrade",
        advice(
            "`kubectl careen rollback --again` goes to the system that is kept, as a rule the one before; any other older one wants downgrade = true in /etc/careen/policy.toml",
            Then::Either,
        ),
    ),
    (
        "OlderImage",
        advice(
            "choose an image that was made later; `kubectl careen rollback --again` goes to the system that is kept, as a rule the one before",
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
            "see who works on the sysroot: `ostree admin status` on the node",
            Then::Retry,
        ),
    ),
    ("DeployFailed", LOOK_AT_DISK),
    (
        "EtcMerge",
        advice("see to the file below /etc that is named", Then::Retry),
    ),
    ("DeployDied", LOOK_AT_DISK),
    ("BudgetBlocks", LOOK_AT_DRAIN),
    ("DrainDeadline", LOOK_AT_DRAIN),
    ("DrainRefused", LOOK_AT_DRAIN),
    ("ApiAway", LOOK_AT_SERVER),
    ("Withdrawn", NOTHING),
    ("SnapshotFailed", LOOK_AT_DISK),
    ("ArmFailed", LOOK_AT_DISK),
    ("TargetVanished", LOOK_AT_NODE),
    (
        "RebootRefused",
        advice(
            "`systemd-inhibit --list` on the node names who holds the reboot up",
            Then::Retry,
        ),
    ),
    (
        "StageRefused",
        advice(
            "find out whether the disk is damaged or somebody has changed files: `journalctl -k` and `ostree fsck` on the node, and the console of \
             that boot, for the guard in the initramfs writes no journal; the image is remembered and not tried again unasked",
            Then::Either,
        ),
    ),
    (
        "NoVerdict",
        advice(
            "`journalctl --list-boots` on the node tells whether the trial got as far as a journal; where it did not, the console alone has its words \
             (kernel, driver, initramfs). The image is remembered, and may be sound where the power was cut: ask for the same then, else for a mended one",
            Then::Either,
        ),
    ),
    ("Unhealthy", LOOK_AT_TRIAL),
    (
        "KubeadmFailed",
        advice(
            "`journalctl -u careen-kubeadm` on the node has kubeadm's words",
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
            "make room on the node's root file system or mend its disk: `df -h /sysroot`, `journalctl -k`; the agent goes on by itself",
            Then::Nothing,
        ),
    ),
    (
        "MachineUnseen",
        advice(
            "look at /boot and the root file system of the node: `ostree admin status`, `ls /boot/loader`, `journalctl -k`; the agent goes on by itself",
            Then::Nothing,
        ),
    ),
    ("UnknownSystem", LOOK_AT_NODE),
    ("ForeignDefault", LOOK_AT_NODE),
    (
        "OptedOut",
        advice(
            "leave it alone, or take away what the sentence names: careen.dev/opt-out on the Node, or opt-out in its policy file",
            Then::Retry,
        ),
    ),
    (
        "WindowClosed",
        advice(
            "nothing is wrong, unless its hours are never long enough: it begins when the hours of its policy file have room",
            Then::Nothing,
        ),
    ),
    (
        "Soaking",
        advice(
            "nothing is wrong: it becomes the default when its time is over",
            Then::Nothing,
        ),
    ),
    (
        "HookFailed",
        advice(
            "see to what the hook says; it lies in /etc/careen/pre.d on the node, or in /usr/lib/careen/pre.d",
            Then::Retry,
        ),
    ),
    (
        "Unheard",
        advice(
            "`journalctl -b -1 -u careen-agent` on the node, where /var/log/journal is kept, has the newer version's own sentence: do as that says",
            Then::Either,
        ),
    ),
];

#[cfg(test)]
mod tests;
