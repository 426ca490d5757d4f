//! Names on a Node: annotations, a label and a condition.

use super::row::{Kind, Name, row};

/// Requests an upgrade while it is `Scheduled`. Removing it withdraws the request, until the node
/// is armed.
pub const REQUEST: &str = "infrastructure.cluster.x-k8s.io/inplace-upgrade";
/// [`REQUEST`] without its domain.
pub const REQUEST_NAME: &str = "inplace-upgrade";
/// The only value of [`REQUEST`] that requests an upgrade.
pub const REQUEST_SCHEDULED: &str = "Scheduled";
/// The requested image.
pub const IMAGE: &str = "careen.dev/image";
/// The Kubernetes version that the image must contain.
pub const KUBERNETES_VERSION: &str = "careen.dev/kubernetes-version";
/// Instead of an image: the old deployment that the last upgrade kept on this node.
pub const KEPT_IMAGE: &str = "kept:";
/// The requester's own id for the request.
pub const UPGRADE_ID: &str = "careen.dev/upgrade-id";
/// While it is present, nothing new begins; the value is the reason.
pub const PAUSED: &str = "careen.dev/paused";
/// How long the new system must be healthy before it is blessed. A requester can only lengthen the
/// time: the policy's own time applies if it is longer.
pub const SOAK: &str = "careen.dev/soak-seconds";
/// While it is present, every request is refused; the value is the reason.
pub const OPT_OUT: &str = "careen.dev/opt-out";
/// An image for a dry run: see [`crate::plan::Question`].
pub const PLAN: &str = "careen.dev/plan";
/// What an upgrade to it would do: see [`crate::plan::Plan`]. The agent removes it with [`PLAN`].
pub const PLAN_RESULT: &str = "careen.dev/plan-result";
/// The last upgrades of this node: see [`crate::history`].
pub const HISTORY: &str = "careen.dev/history";
/// The answer.
pub const ANSWER: &str = "controlplane.cluster.x-k8s.io/inplace-upgrade";
/// Why an upgrade failed: one sentence for display.
pub const FAILURE_REASON: &str = "controlplane.cluster.x-k8s.io/failure-reason";
/// The state of the upgrade as JSON.
pub const STATUS: &str = "careen.dev/status";
/// Marks our own cordon with the upgrade's id. Careen never removes a cordon without this mark.
pub const CORDONED_BY: &str = "careen.dev/cordoned-by";
/// Marks our own [`EXCLUDED`] with the upgrade's id. Careen never removes one without this mark.
pub const EXCLUDED_BY: &str = "careen.dev/excluded-by";
/// Kubernetes' own label: load balancers exclude the node.
pub const EXCLUDED: &str = "node.kubernetes.io/exclude-from-external-load-balancers";
/// cluster-autoscaler does not remove the node (its `ScaleDownDisabledKey`; only the
/// value `true` counts).
pub const SCALE_DOWN_REFUSED: &str = "cluster-autoscaler.kubernetes.io/scale-down-disabled";
/// Marks our own [`SCALE_DOWN_REFUSED`] with the upgrade's id.
pub const SCALE_DOWN_REFUSED_BY: &str = "careen.dev/scale-down-disabled-by";
/// Karpenter does not disrupt the node on its own (`DoNotDisruptAnnotationKey` in its
/// `pkg/apis/v1/labels.go`).
pub const DISRUPTION_REFUSED: &str = "karpenter.sh/do-not-disrupt";
/// Marks our own [`DISRUPTION_REFUSED`] with the upgrade's id.
pub const DISRUPTION_REFUSED_BY: &str = "careen.dev/do-not-disrupt-by";
/// The remediators of medik8s leave the node alone (`ExcludeFromRemediation` in its
/// `common/pkg/labels`).
pub const REMEDIATION_REFUSED: &str = "remediation.medik8s.io/exclude-from-remediation";
/// Marks our own [`REMEDIATION_REFUSED`] with the upgrade's id.
pub const REMEDIATION_REFUSED_BY: &str = "careen.dev/exclude-from-remediation-by";
/// The Node condition that says whether an upgrade is under way.
pub const CONDITION: &str = "CareenUpgrading";

/// The node is expected to undergo maintenance. This and the next three are the conditions of
/// KEP-5683 that an administrator writes.
pub const MAINTENANCE_PLANNED: &str = "MaintenancePlanned";
/// The node undergoes maintenance.
pub const MAINTENANCE_IN_PROGRESS: &str = "MaintenanceInProgress";
/// The node is being drained.
pub const DRAIN_IN_PROGRESS: &str = "DrainInProgress";
/// The drain has reached what it was to reach.
pub const DRAINED: &str = "Drained";
/// These conditions.
pub const LIFECYCLE: [&str; 4] = [
    MAINTENANCE_PLANNED,
    DRAIN_IN_PROGRESS,
    DRAINED,
    MAINTENANCE_IN_PROGRESS,
];
/// The reason in those that are ours. Careen changes none with another reason.
pub const LIFECYCLE_REASON: &str = "CareenUpgrade";

/// Their rows of the table.
pub(super) const ROWS: &[Name] = &[
    row(
        REQUEST,
        Kind::Annotation,
        "requester",
        "agent",
        "`Scheduled`; its removal withdraws the request",
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
        "a reason; while it exists nothing new begins",
    ),
    row(OPT_OUT, Kind::Annotation, "requester", "agent", "a reason"),
    row(
        PLAN,
        Kind::Annotation,
        "requester",
        "agent",
        "an image or `kept:`; optional after a space: an id of the question",
    ),
    row(
        PLAN_RESULT,
        Kind::Annotation,
        "agent",
        "requester",
        "JSON, at most 16 KiB: what that upgrade would do",
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
        SCALE_DOWN_REFUSED,
        Kind::Annotation,
        "agent, others",
        "cluster-autoscaler, agent",
        "ours is `true`",
    ),
    row(
        SCALE_DOWN_REFUSED_BY,
        Kind::Annotation,
        "agent",
        "agent",
        "the upgrade's id; then ` was ` and the value that comes back, if there was one",
    ),
    row(
        DISRUPTION_REFUSED,
        Kind::Annotation,
        "agent, others",
        "Karpenter, agent",
        "ours is `true`",
    ),
    row(
        DISRUPTION_REFUSED_BY,
        Kind::Annotation,
        "agent",
        "agent",
        "the upgrade's id; then ` was ` and the value that comes back, if there was one",
    ),
    row(
        REMEDIATION_REFUSED,
        Kind::Label,
        "agent, others",
        "medik8s, agent",
        "any; ours is `true`",
    ),
    row(
        REMEDIATION_REFUSED_BY,
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
    lifecycle(
        MAINTENANCE_PLANNED,
        "`True` from the request to the end of the drain",
    ),
    lifecycle(
        DRAIN_IN_PROGRESS,
        "`True` from the cordon to the end of the drain",
    ),
    lifecycle(
        DRAINED,
        "`True` from the end of the drain until the node is given back",
    ),
    lifecycle(MAINTENANCE_IN_PROGRESS, "as `Drained`"),
];

const fn lifecycle(name: &'static str, values: &'static str) -> Name {
    row(name, Kind::Condition, "agent, others", "anybody", values)
}
