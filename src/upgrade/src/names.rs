//! Every name that two parts must agree on, in one place: who writes it, who reads it, which values it takes.
//!
//! `docs/names.md` is rendered from [`TABLE`] and checked for drift. Nothing here may lie in the
//! `node.cluster.x-k8s.io` domain: Cluster API owns it and would overwrite us.

/// What kind of thing a name names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An annotation on the Node.
    Annotation,
    /// A label on the Node.
    Label,
    /// A condition type on the Node.
    Condition,
    /// A systemd unit.
    Unit,
    /// A path on the node.
    Path,
    /// An argument on the kernel command line.
    KernelArgument,
    /// A ref in the node's OSTree repository.
    Ref,
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
/// In place of an image: the old deployment that the last upgrade has kept on this node.
pub const KEPT_IMAGE: &str = "kept:";
/// The requester's own id for the request.
pub const UPGRADE_ID: &str = "careen.dev/upgrade-id";
/// While present nothing new is begun; the value is the reason.
pub const PAUSED: &str = "careen.dev/paused";
/// For how long the new system must be healthy before it is blessed. Safe in a requester's hand, for the policy's own time counts
/// where that is longer.
pub const SOAK: &str = "careen.dev/soak-seconds";
/// While present every request is refused; the value is the reason.
pub const OPT_OUT: &str = "careen.dev/opt-out";
/// An image to try dry: see [`crate::plan::Question`].
pub const PLAN: &str = "careen.dev/plan";
/// What an upgrade to it would do: see [`crate::plan::Plan`]. It goes when [`PLAN`] goes.
pub const PLAN_RESULT: &str = "careen.dev/plan-result";
/// The last upgrades of this node: see [`crate::history`].
pub const HISTORY: &str = "careen.dev/history";
/// The answer.
pub const ANSWER: &str = "controlplane.cluster.x-k8s.io/inplace-upgrade";
/// Why an upgrade failed: one sentence for a person.
pub const FAILURE_REASON: &str = "controlplane.cluster.x-k8s.io/failure-reason";
/// The state of the upgrade as JSON.
pub const STATUS: &str = "careen.dev/status";
/// Marks our own cordon with the upgrade's id; a cordon without it is never lifted.
pub const CORDONED_BY: &str = "careen.dev/cordoned-by";
/// Marks our own [`EXCLUDED`] with the upgrade's id; one without it is never taken away.
pub const EXCLUDED_BY: &str = "careen.dev/excluded-by";
/// Kubernetes' own label: load balancers leave the node out.
pub const EXCLUDED: &str = "node.kubernetes.io/exclude-from-external-load-balancers";

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
/// Checks the new system's kubelet and container runtime before they start.
pub const CHECK_UNIT: &str = "careen-check.service";
/// Calls the deadman.
pub const DEADMAN_UNIT: &str = "careen-deadman.service";
/// Reboots a trial whose userspace does not come up.
pub const FALLBACK_UNIT: &str = "careen-fallback.service";
/// Holds boot-complete.target back until there is a verdict.
pub const GATE_UNIT: &str = "careen-gate.service";
/// Checks, in the initramfs, the system that is about to be entered.
pub const GUARD_UNIT: &str = "careen-guard.service";
/// Checks it again when its root is prepared.
pub const VERIFY_UNIT: &str = "careen-verify.service";
/// Reboots a trial that hangs in the initramfs.
pub const INITRD_DEADMAN_TIMER: &str = "careen-initrd-deadman.timer";
/// What that timer starts.
pub const INITRD_DEADMAN_UNIT: &str = "careen-initrd-deadman.service";
/// One run of careen-deploy; transient.
pub const DEPLOY_UNITS: &str = "careen-deploy-<id>-<verb>.service";
/// The run of careen-deploy that looks for a plan. There is one at a time, whatever is asked.
pub const PLAN_UNIT: &str = "careen-deploy-dry-plan.service";
/// The kubelet.
pub const KUBELET_UNIT: &str = "kubelet.service";
/// The container runtime.
pub const RUNTIME_UNIT: &str = "containerd.service";

/// The folder of the record, below the physical root.
pub const STATE_DIR: &str = "ostree/careen";
/// The two copies of the record, in [`STATE_DIR`].
pub const RECORD_FILES: &str = "ostree/careen/record.{a,b}";
/// Checksums of a deployed commit's critical files, in [`STATE_DIR`].
pub const MANIFEST_FILES: &str = "ostree/careen/manifest-<commit>.json";
/// The kubelet's state as it was before the first trial, in [`STATE_DIR`].
pub const SNAPSHOT_FOLDERS: &str = "ostree/careen/snapshot-<id>";
/// How /etc was when a commit was deployed, in [`STATE_DIR`].
pub const ETC_NOTES: &str = "ostree/careen/etc-<commit>";
/// Checks that a trial must pass; also below /usr/lib.
pub const REQUIRED_CHECKS: &str = "/etc/careen/required.d";
/// Checks that are told of and decide nothing; also below /usr/lib.
pub const WANTED_CHECKS: &str = "/etc/careen/wanted.d";
/// Hooks that must succeed before a node is taken from its users; also below /usr/lib.
pub const PRE_HOOKS: &str = "/etc/careen/pre.d";
/// Hooks that are run before it is given back; also below /usr/lib.
pub const POST_HOOKS: &str = "/etc/careen/post.d";
/// Lists of files that are saved before a trial; also below /usr/lib.
pub const SNAPSHOT_LISTS: &str = "/etc/careen/snapshot.d";
/// Progress files and other state of this boot.
pub const RUN_DIR: &str = "/run/careen";
/// Locked by the agent that runs, for as long as it does, in [`RUN_DIR`].
pub const AGENT_LOCK: &str = "/run/careen/agent.lock";
/// The node's policy.
pub const POLICY_FILE: &str = "/etc/careen/policy.toml";
/// The last policy that held, in [`STATE_DIR`].
pub const LAST_POLICY: &str = "ostree/careen/policy.toml";
/// Rules of time zones.
pub const ZONES: &str = "/usr/share/zoneinfo";
/// What an image says of itself, below its root.
pub const IMAGE_INFO: &str = "usr/lib/careen/image.json";
/// GRUB's environment block, below the physical root's /boot.
pub const GRUBENV: &str = "boot/grub/grubenv";
/// Agents that a DaemonSet's pod has installed; [`crate::launch`] says which of them runs.
pub const AGENTS_DIR: &str = "/var/lib/careen/agents";
/// Careen's units for an image that has none of them.
pub const POD_UNITS: &str = "/etc/careen/units";
/// Gives [`POD_UNITS`] to systemd where the image has no units of ours.
pub const POD_GENERATOR: &str = "/etc/systemd/system-generators/careen";
/// Our generator of grub.cfg, where an image has it.
pub const GENERATOR: &str = "/usr/libexec/careen/careen-grub";
/// In the environment of libostree: the generator that it runs in place of grub-mkconfig.
pub const GENERATOR_VARIABLE: &str = "OSTREE_GRUB2_EXEC";
/// The kubelet's credential.
pub const KUBELET_CONF: &str = "/etc/kubernetes/kubelet.conf";
/// The ref that holds a fetched commit against pruning.
pub const TARGET_REF: &str = "careen/target";
/// The ref that holds what was fetched of a commit for a plan, while it is looked at.
pub const PLAN_REF: &str = "careen/plan";
/// Refs that hold the layers of container images that deployments come from: `<these>/<manifest digest>/<commit>`. libostree's tools for
/// containers keep what lies below `ostree/container/baseimage`, and leave it to who made it.
pub const IMAGE_REFS: &str = "ostree/container/baseimage/careen";

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
        "`ostree:<remote>:<ref>[@<commit>]`, `docker://<host>/<name>@sha256:<digest>[@<commit>]`, `oci-archive:<path>@sha256:<digest>[@<commit>]`, `oci:<path>@sha256:<digest>[@<commit>]`, or `kept:`",
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
    row(
        SOAK,
        Kind::Annotation,
        "requester",
        "agent",
        "0 to 86400, optional",
    ),
    row(
        PAUSED,
        Kind::Annotation,
        "requester",
        "agent",
        "a reason; while it is there nothing new is begun",
    ),
    row(OPT_OUT, Kind::Annotation, "requester", "agent", "a reason"),
    row(
        PLAN,
        Kind::Annotation,
        "requester",
        "agent",
        "an image or `kept:`, and after a space an id of the question, optional",
    ),
    row(
        PLAN_RESULT,
        Kind::Annotation,
        "agent",
        "requester",
        "JSON, at most 16 KiB: what an upgrade to it would do",
    ),
    row(
        HISTORY,
        Kind::Annotation,
        "agent",
        "requester",
        "JSON, at most 4 KiB: the last 10 upgrades, the latest first",
    ),
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
        EXCLUDED_BY,
        Kind::Annotation,
        "agent",
        "agent",
        "the upgrade's id",
    ),
    row(
        EXCLUDED,
        Kind::Label,
        "agent, others",
        "load balancers, agent",
        "any; ours is `true`",
    ),
    row(
        CONDITION,
        Kind::Condition,
        "agent",
        "anybody",
        "`True` while an upgrade is under way",
    ),
    unit(AGENT_UNIT, ""),
    unit(RESTORE_UNIT, "before the kubelet"),
    unit(CHECK_UNIT, "before the kubelet, on a trial"),
    unit(KUBEADM_UNIT, "before the kubelet, on a trial"),
    unit(GATE_UNIT, "before boot-complete.target, on a trial"),
    unit(
        FALLBACK_UNIT,
        "when a trial comes up in emergency or rescue",
    ),
    unit(DEADMAN_TIMER, "on a trial"),
    unit(DEADMAN_UNIT, "on a trial"),
    unit(GUARD_UNIT, "in the initramfs, on a trial"),
    unit(VERIFY_UNIT, "in the initramfs, on a trial"),
    unit(INITRD_DEADMAN_TIMER, "in the initramfs, on a trial"),
    unit(INITRD_DEADMAN_UNIT, "in the initramfs, on a trial"),
    row(
        DEPLOY_UNITS,
        Kind::Unit,
        "agent",
        "systemd, agent",
        "transient, one for each run",
    ),
    row(
        PLAN_UNIT,
        Kind::Unit,
        "agent",
        "systemd, agent",
        "transient, looks for a plan",
    ),
    row(
        KUBELET_UNIT,
        Kind::Unit,
        "distribution",
        "agent, systemd",
        "",
    ),
    row(
        RUNTIME_UNIT,
        Kind::Unit,
        "distribution",
        "agent, systemd",
        "",
    ),
    row(
        STATE_DIR,
        Kind::Path,
        "agent, stage, careen-deploy",
        "the same",
        "below the physical root",
    ),
    row(
        RECORD_FILES,
        Kind::Path,
        "agent, stage",
        "agent, stage",
        "JSON and its checksum, below the physical root",
    ),
    row(
        MANIFEST_FILES,
        Kind::Path,
        "careen-deploy",
        "stage",
        "JSON, below the physical root",
    ),
    row(
        SNAPSHOT_FOLDERS,
        Kind::Path,
        "agent",
        "stage",
        "below the physical root",
    ),
    row(
        ETC_NOTES,
        Kind::Path,
        "careen-deploy",
        "agent",
        "a checksum, below the physical root",
    ),
    row(
        RUN_DIR,
        Kind::Path,
        "agent, careen-deploy",
        "agent",
        "state of this boot",
    ),
    row(
        AGENT_LOCK,
        Kind::Path,
        "agent",
        "agent",
        "locked while it runs; a second one waits",
    ),
    row(
        REQUIRED_CHECKS,
        Kind::Path,
        "operator; image below /usr/lib",
        "agent",
        "programs that must succeed",
    ),
    row(
        WANTED_CHECKS,
        Kind::Path,
        "operator; image below /usr/lib",
        "agent",
        "programs that are told of",
    ),
    row(
        PRE_HOOKS,
        Kind::Path,
        "operator; image below /usr/lib",
        "agent",
        "programs that must succeed before the drain",
    ),
    row(
        POST_HOOKS,
        Kind::Path,
        "operator; image below /usr/lib",
        "agent",
        "programs that are run before the node is given back",
    ),
    row(
        SNAPSHOT_LISTS,
        Kind::Path,
        "operator; image below /usr/lib",
        "agent",
        "lists of paths",
    ),
    row(
        AGENTS_DIR,
        Kind::Path,
        "careen-installer; agent counts its starts",
        "agent, careen-installer",
        "programs, and which of them are wanted and proven",
    ),
    row(
        POD_UNITS,
        Kind::Path,
        "careen-installer",
        "the generator",
        "units for an image without them",
    ),
    row(
        POD_GENERATOR,
        Kind::Path,
        "careen-installer",
        "systemd",
        "a generator",
    ),
    row(KUBELET_CONF, Kind::Path, "kubeadm", "agent", "kubeconfig"),
    row(POLICY_FILE, Kind::Path, "operator", "agent", "TOML"),
    row(
        LAST_POLICY,
        Kind::Path,
        "agent",
        "agent",
        "TOML, below the physical root",
    ),
    row(ZONES, Kind::Path, "image", "agent", "TZif"),
    row(
        IMAGE_INFO,
        Kind::Path,
        "image",
        "careen-deploy",
        "JSON, below the image's root",
    ),
    row(
        GRUBENV,
        Kind::Path,
        "agent, stage, GRUB",
        "GRUB, agent, stage",
        "`next_entry`",
    ),
    row(
        TARGET_REF,
        Kind::Ref,
        "careen-deploy",
        "careen-deploy",
        "the commit that is asked for",
    ),
    row(
        PLAN_REF,
        Kind::Ref,
        "careen-deploy",
        "careen-deploy",
        "what is looked at for a plan",
    ),
    row(
        IMAGE_REFS,
        Kind::Ref,
        "careen-deploy",
        "careen-deploy, tools for container images",
        "below it, for each container image here, its manifest's digest and its commit",
    ),
    row(
        TRIAL_ARGUMENT,
        Kind::KernelArgument,
        "careen-grub",
        "agent, stage, units",
        "",
    ),
];

const fn unit(name: &'static str, when: &'static str) -> Name {
    row(name, Kind::Unit, "image", "systemd", when)
}

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
