//! Every name that two parts must agree on, in one place: who writes it, who reads it, which values it takes.
//!
//! `docs/names.md` is rendered from [`TABLE`] and checked for drift. Nothing here may lie in the
//! `node.cluster.x-k8s.io` domain: Cluster API owns it and would overwrite us.

/// What kind of thing a name names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An annotation on the Node.
    Annotation,
    /// A condition type on the Node.
    Condition,
    /// A systemd unit.
    Unit,
    /// A path on the node.
    Path,
    /// An argument on the kernel command line.
    KernelArgument,
}

/// One row of the reference table.
#[derive(Clone, Copy, Debug)]
pub struct Name {
    /// The name itself.
    pub name: &'static str,
    /// What it names.
    pub kind: Kind,
    /// Who alone writes it.
    pub writer: &'static str,
    /// Who reads it.
    pub reader: &'static str,
    /// The accepted values, for a person.
    pub values: &'static str,
}

/// Asks for an upgrade while it is `Scheduled`; removed means withdrawn (honoured until the node is armed).
pub const REQUEST: &str = "infrastructure.cluster.x-k8s.io/inplace-upgrade";
/// The one value of [`REQUEST`] that asks for an upgrade.
pub const REQUEST_SCHEDULED: &str = "Scheduled";
/// The image that is asked for.
pub const IMAGE: &str = "careen.dev/image";
/// The Kubernetes version that the image must carry.
pub const KUBERNETES_VERSION: &str = "careen.dev/kubernetes-version";
/// The requester's own id for the request.
pub const UPGRADE_ID: &str = "careen.dev/upgrade-id";
/// While present nothing new is begun; the value is the reason.
pub const PAUSED: &str = "careen.dev/paused";
/// The answer.
pub const ANSWER: &str = "controlplane.cluster.x-k8s.io/inplace-upgrade";
/// Why an upgrade failed: one sentence for a person.
pub const FAILURE_REASON: &str = "controlplane.cluster.x-k8s.io/failure-reason";
/// The state of the upgrade as JSON.
pub const STATUS: &str = "careen.dev/status";
/// Marks our own cordon with the upgrade's id; a cordon without it is never lifted.
pub const CORDONED_BY: &str = "careen.dev/cordoned-by";

/// The Node condition that says whether an upgrade is under way.
pub const CONDITION: &str = "CareenUpgrading";

/// The agent's unit.
pub const AGENT_UNIT: &str = "careen-agent.service";
/// Puts the kubelet's state back in the old system.
pub const RESTORE_UNIT: &str = "careen-restore.service";
/// Runs `kubeadm upgrade node` on a trial before the kubelet starts.
pub const KUBEADM_UNIT: &str = "careen-kubeadm.service";
/// Reboots a trial that reaches no verdict.
pub const DEADMAN_TIMER: &str = "careen-deadman.timer";
/// The kubelet.
pub const KUBELET_UNIT: &str = "kubelet.service";
/// The container runtime.
pub const RUNTIME_UNIT: &str = "containerd.service";

/// The folder of the record, below the physical root.
pub const STATE_DIR: &str = "ostree/careen";
/// Progress files and other state of this boot.
pub const RUN_DIR: &str = "/run/careen";
/// The node's policy.
pub const POLICY_FILE: &str = "/etc/careen/policy.toml";
/// What an image says of itself, below its root.
pub const IMAGE_INFO: &str = "usr/lib/careen/image.json";
/// GRUB's environment block, below the physical root's /boot.
pub const GRUBENV: &str = "boot/grub/grubenv";
/// The kubelet's credential.
pub const KUBELET_CONF: &str = "/etc/kubernetes/kubelet.conf";
/// The ref that holds a fetched commit against pruning.
pub const TARGET_REF: &str = "careen/target";

/// On the kernel command line of a trial, and only there.
pub const TRIAL_ARGUMENT: &str = "careen.trial=1";

/// Rows of the table, in the order in which they are documented.
pub const TABLE: &[Name] = &[
    row(
        REQUEST,
        Kind::Annotation,
        "requester",
        "agent",
        "`Scheduled`; removed = withdrawn",
    ),
    row(
        IMAGE,
        Kind::Annotation,
        "requester",
        "agent",
        "`ostree:<remote>:<ref>[@<commit>]`",
    ),
    row(
        KUBERNETES_VERSION,
        Kind::Annotation,
        "requester",
        "agent",
        "`vX.Y.Z`, optional",
    ),
    row(
        UPGRADE_ID,
        Kind::Annotation,
        "requester",
        "agent",
        "1 to 63 of `a-z A-Z 0-9 . _ -`, optional",
    ),
    row(PAUSED, Kind::Annotation, "requester", "agent", "a reason"),
    row(
        ANSWER,
        Kind::Annotation,
        "agent",
        "requester",
        "`InProgress`, then `Upgraded` or `Failed`",
    ),
    row(
        FAILURE_REASON,
        Kind::Annotation,
        "agent",
        "requester",
        "one sentence",
    ),
    row(
        STATUS,
        Kind::Annotation,
        "agent",
        "requester",
        "JSON: id, phase, step, percent, reason, …",
    ),
    row(
        CORDONED_BY,
        Kind::Annotation,
        "agent",
        "agent",
        "the upgrade's id",
    ),
    row(
        CONDITION,
        Kind::Condition,
        "agent",
        "anybody",
        "`True` while an upgrade is under way",
    ),
    row(AGENT_UNIT, Kind::Unit, "image", "systemd", ""),
    row(RESTORE_UNIT, Kind::Unit, "image", "systemd", ""),
    row(KUBEADM_UNIT, Kind::Unit, "image", "systemd", ""),
    row(DEADMAN_TIMER, Kind::Unit, "image", "systemd", ""),
    row(
        STATE_DIR,
        Kind::Path,
        "agent, stage, careen-deploy",
        "the same",
        "below the physical root",
    ),
    row(RUN_DIR, Kind::Path, "agent", "agent", ""),
    row(POLICY_FILE, Kind::Path, "operator", "agent", "TOML"),
    row(
        IMAGE_INFO,
        Kind::Path,
        "image",
        "careen-deploy",
        "JSON, below the image's root",
    ),
    row(GRUBENV, Kind::Path, "agent, GRUB", "GRUB", "`next_entry`"),
    row(
        TRIAL_ARGUMENT,
        Kind::KernelArgument,
        "careen-grub",
        "agent, stage, units",
        "",
    ),
];

const fn row(
    name: &'static str,
    kind: Kind,
    writer: &'static str,
    reader: &'static str,
    values: &'static str,
) -> Name {
    Name {
        name,
        kind,
        writer,
        reader,
        values,
    }
}

/// Renders the reference table as Markdown.
#[must_use]
pub fn table() -> String {
    let mut text =
        String::from("| name | kind | writer | reader | values |\n|---|---|---|---|---|\n");
    for row in TABLE {
        text += &format!(
            "| `{}` | {:?} | {} | {} | {} |\n",
            row.name, row.kind, row.writer, row.reader, row.values
        );
    }
    text
}
