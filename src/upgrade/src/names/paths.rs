//! Paths on the node.

use super::row::{Kind, Name, row};

/// The folder of the record, below the physical root.
pub const STATE_DIR: &str = "ostree/careen";
/// The two copies of the record, in [`STATE_DIR`].
pub const RECORD_FILES: &str = "ostree/careen/record.{a,b}";
/// Checksums of a deployed commit's critical files, in [`STATE_DIR`].
pub const CRITICAL_FILES: &str = "ostree/careen/manifest-<commit>.json";
/// The kubelet's state from before the first trial, in [`STATE_DIR`].
pub const SNAPSHOT_FOLDERS: &str = "ostree/careen/snapshot-<id>";
/// The ledger of manifests of one raise of a control plane, in [`STATE_DIR`].
pub const CONTROL_FOLDERS: &str = "ostree/careen/control-<id>";
/// The state of /etc when a commit was deployed, in [`STATE_DIR`].
pub const ETC_NOTES: &str = "ostree/careen/etc-<commit>";
/// By which container policy skopeo accepted the image of a commit, in [`STATE_DIR`].
pub const VERDICT_NOTES: &str = "ostree/careen/vouched-<commit>";
/// Marks content on the disk that may not have a ref yet, in [`STATE_DIR`].
pub const UNFINISHED: &str = "ostree/careen/unfinished";
/// The agent's note in a trial of how far it has come, in [`STATE_DIR`].
pub const TRIAL_NOTE: &str = "ostree/careen/trial.json";
/// The agent's note of the last words and watchdog resets from before a trial, in [`STATE_DIR`].
pub const EVIDENCE_NOTE: &str = "ostree/careen/evidence.json";
/// The agent's note of the settings that the old system had when a trial was armed, in
/// [`STATE_DIR`].
pub const SETTINGS_NOTE: &str = "ostree/careen/settings.json";
/// The agent's note of the volumes that a drain waits for, in [`STATE_DIR`].
pub const VOLUMES_NOTE: &str = "ostree/careen/volumes.json";
/// The deadman's note of the boot that it ended, in [`STATE_DIR`].
pub const DEADMAN_NOTE: &str = "ostree/careen/ended-by-deadman";
/// For how many seconds the initramfs of the next trial waits for its devices, in [`STATE_DIR`].
/// Absent at the default.
pub const INITRAMFS_NOTE: &str = "ostree/careen/initramfs-seconds";
/// Checks that a trial must pass; also below /usr/lib.
pub const REQUIRED_CHECKS: &str = "/etc/careen/required.d";
/// Checks whose results are reported only; also below /usr/lib.
pub const WANTED_CHECKS: &str = "/etc/careen/wanted.d";
/// Hooks that must succeed before a node is taken from its users; also below /usr/lib.
pub const PRE_HOOKS: &str = "/etc/careen/pre.d";
/// Hooks that run before the node is given back; also below /usr/lib.
pub const POST_HOOKS: &str = "/etc/careen/post.d";
/// Lists of files to save before a trial; also below /usr/lib.
pub const SNAPSHOT_LISTS: &str = "/etc/careen/snapshot.d";
/// Progress files and other state of this boot.
pub const RUN_DIR: &str = "/run/careen";
/// The running agent locks this file while it runs, in [`RUN_DIR`].
pub const AGENT_LOCK: &str = "/run/careen/agent.lock";
/// A raise of the control plane and its kubeadm lock this file while they run, in [`RUN_DIR`].
pub const CONTROL_LOCK: &str = "/run/careen/control.lock";
/// Created once the trial of a boot is over for good, in [`RUN_DIR`]; systemd's `%b` is the boot's
/// id.
pub const PASSED_MARK: &str = "/run/careen/passed-<boot>";
/// Created once a time service has set the clock of this boot, in [`RUN_DIR`].
pub const CLOCK_MARK: &str = "/run/careen/clock-set";
/// The node's policy.
pub const POLICY_FILE: &str = "/etc/careen/policy.toml";
/// The last valid policy, in [`STATE_DIR`].
pub const LAST_POLICY: &str = "ostree/careen/policy.toml";
/// The rules of time zones.
pub const ZONES: &str = "/usr/share/zoneinfo";
/// What an image states about itself, below its root.
pub const IMAGE_INFO: &str = "usr/lib/careen/image.json";
/// The container images that an image carries, below its root.
pub const CARRIED_IMAGES: &str = "usr/lib/careen/images";
/// GRUB's environment block, below the physical root's /boot.
pub const GRUBENV: &str = "boot/grub/grubenv";
/// Agents that a DaemonSet's pod has installed; [`crate::launch`] chooses which of them runs.
pub const AGENTS_DIR: &str = "/var/lib/careen/agents";
/// Careen's units for an image without any.
pub const POD_UNITS: &str = "/etc/careen/units";
/// Gives [`POD_UNITS`] to systemd if the image has no Careen units.
pub const POD_GENERATOR: &str = "/etc/systemd/system-generators/careen";
/// Where an archive is unpacked while it is read. Not below /var/lib/careen, which may be
/// accessible only to root: skopeo runs unprivileged.
pub const UNPACKED: &str = "/var/cache/careen";
/// The manifests, credentials and certificates of a kubeadm node.
pub const KUBERNETES: &str = "/etc/kubernetes";
/// What all deployments of a control-plane node have there. It is mounted over each one's own
/// folder.
pub const SHARED_KUBERNETES: &str = "/var/lib/careen/kubernetes";
/// Snapshots of etcd, one file for each upgrade. Only root can read them.
pub const ETCD_SNAPSHOTS: &str = "/var/lib/careen/etcd";
/// The static pods that the kubelet runs.
pub const MANIFESTS: &str = "/etc/kubernetes/manifests";
/// The kubelet's credential.
pub const KUBELET_CONF: &str = "/etc/kubernetes/kubelet.conf";

/// The folder of careen-host, in [`STATE_DIR`]. A machine with this folder is a prepared host.
pub const HOST_DIR: &str = "host";
/// The image that careen-host asks for before the host joins, in [`RUN_DIR`].
pub const HOST_REQUEST: &str = "host-request";
/// Since when careen-host reaches its management cluster in this boot, and when it last did, in
/// [`RUN_DIR`].
pub const HOST_REACHED: &str = "host-reached";

/// Their rows of the table.
pub(super) const ROWS: &[Name] = &[
    row(
        HOST_DIR,
        Kind::Path,
        "careen-host",
        "agent, careen-host",
        "below the physical root; only on a prepared host",
    ),
    row(
        HOST_REQUEST,
        Kind::Path,
        "careen-host",
        "agent",
        "JSON: the fields of a request",
    ),
    row(
        HOST_REACHED,
        Kind::Path,
        "careen-host",
        "agent",
        "milliseconds since the boot: when the management cluster first answered, and when it last did",
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
        CRITICAL_FILES,
        Kind::Path,
        "careen-deploy",
        "stage",
        "JSON, below the physical root",
    ),
    row(
        TRIAL_NOTE,
        Kind::Path,
        "agent",
        "agent",
        "JSON, below the physical root; boot, seconds and open check of a trial",
    ),
    row(
        EVIDENCE_NOTE,
        Kind::Path,
        "agent",
        "agent",
        "JSON, below the physical root; what showed a crash before a trial, and does not count",
    ),
    row(
        SETTINGS_NOTE,
        Kind::Path,
        "agent",
        "agent",
        "JSON, below the physical root; sysctls and watchdog before a trial, until the blessing",
    ),
    row(
        VOLUMES_NOTE,
        Kind::Path,
        "agent",
        "agent",
        "JSON, below the physical root; the volumes that a drain waits for, until they are detached",
    ),
    row(
        DEADMAN_NOTE,
        Kind::Path,
        "stage",
        "agent",
        "the boot's id, below the physical root",
    ),
    row(
        CLOCK_MARK,
        Kind::Path,
        "agent",
        "agent",
        "empty; there once a time service has set the clock in this boot",
    ),
    row(
        INITRAMFS_NOTE,
        Kind::Path,
        "agent",
        "careen-grub, careen-deploy",
        "a number, below the physical root",
    ),
    row(
        SNAPSHOT_FOLDERS,
        Kind::Path,
        "agent",
        "stage",
        "below the physical root",
    ),
    row(
        CONTROL_FOLDERS,
        Kind::Path,
        "careen-control",
        "careen-control, stage",
        "below the physical root; manifests before, expected and last, while a control plane is raised",
    ),
    row(
        ETC_NOTES,
        Kind::Path,
        "careen-deploy",
        "agent",
        "a checksum, below the physical root",
    ),
    row(
        VERDICT_NOTES,
        Kind::Path,
        "careen-deploy",
        "careen-deploy",
        "a checksum of the container policy that accepted the image, below the physical root",
    ),
    row(
        UNFINISHED,
        Kind::Path,
        "careen-deploy",
        "careen-deploy",
        "empty, below the physical root; while a fetch of an image's layers is unfinished",
    ),
    row(
        RUN_DIR,
        Kind::Path,
        "agent, careen-deploy, stage",
        "agent, stage",
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
        CONTROL_LOCK,
        Kind::Path,
        "careen-control",
        "careen-control, stage",
        "locked while a raise or its kubeadm runs",
    ),
    row(
        PASSED_MARK,
        Kind::Path,
        "stage",
        "stage, systemd",
        "empty; this boot's trial is over",
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
        "programs whose failure is only reported",
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
        "programs that run before the node is uncordoned",
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
        "agent, careen-installer, careen-deploy",
        "programs, and which of them is wanted and which is proven",
    ),
    row(
        POD_UNITS,
        Kind::Path,
        "careen-installer",
        "the generator, careen-deploy",
        "units, for an image without them",
    ),
    row(
        POD_GENERATOR,
        Kind::Path,
        "careen-installer",
        "systemd, careen-deploy",
        "a generator",
    ),
    row(
        UNPACKED,
        Kind::Path,
        "skopeo; careen-deploy empties it",
        "skopeo",
        "an archive, while skopeo reads it",
    ),
    row(
        SHARED_KUBERNETES,
        Kind::Path,
        "careen-agent doctor --fix",
        "systemd, kubelet",
        "/etc/kubernetes of all deployments of a control-plane node",
    ),
    row(
        MANIFESTS,
        Kind::Path,
        "kubeadm, careen-control, stage",
        "kubelet, careen-control, stage",
        "static pods",
    ),
    row(
        ETCD_SNAPSHOTS,
        Kind::Path,
        "careen-control save",
        "a person",
        "snapshots of etcd, which contain all Secrets",
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
        CARRIED_IMAGES,
        Kind::Path,
        "image",
        "careen-control",
        "archives of container images, below the image's root",
    ),
    row(
        GRUBENV,
        Kind::Path,
        "agent, stage, GRUB",
        "GRUB, agent, stage",
        "`next_entry`",
    ),
];
