//! Signs on a Node that another program is about to remove the node, or repairs or maintains it. An
//! upgrade that begins then would be cut off in the middle, and its cordon would delay that program.
//!
//! `DeletionCandidateOfClusterAutoscaler` is no such sign: cluster-autoscaler sets this taint on
//! every node that it could do without, for as long as that is so, and the shield for it
//! (`neighbours.cluster-autoscaler`) ends the candidacy.

use std::fmt;

use super::place::{Pairs, Place};
use crate::names;
use crate::reason::Reason;

/// The taints and annotations, each with the program that sets it.
const SIGNS: [(Place, &str, &str); 16] = [
    // kubernetes/autoscaler, cluster-autoscaler/utils/taints, `ToBeDeletedTaint`.
    (
        Place::Taint,
        "ToBeDeletedByClusterAutoscaler",
        "cluster-autoscaler",
    ),
    // sigs.k8s.io/karpenter, pkg/apis/v1/taints.go; the second is of its versions before 1.0.
    (Place::Taint, "karpenter.sh/disrupted", "Karpenter"),
    (Place::Taint, "karpenter.sh/disruption", "Karpenter"),
    // aws/aws-node-termination-handler, pkg/node/node.go.
    (
        Place::Taint,
        "aws-node-termination-handler/spot-itn",
        "aws-node-termination-handler",
    ),
    (
        Place::Taint,
        "aws-node-termination-handler/scheduled-maintenance",
        "aws-node-termination-handler",
    ),
    (
        Place::Taint,
        "aws-node-termination-handler/asg-lifecycle-termination",
        "aws-node-termination-handler",
    ),
    (
        Place::Taint,
        "aws-node-termination-handler/rebalance-recommendation",
        "aws-node-termination-handler",
    ),
    // cloud.google.com/kubernetes-engine/docs/concepts/spot-vms.
    (
        Place::Taint,
        "cloud.google.com/impending-node-termination",
        "Google Kubernetes Engine",
    ),
    // medik8s/self-node-remediation.
    (Place::Taint, "medik8s.io/remediation", "medik8s"),
    // medik8s/fence-agents-remediation, api/v1alpha1, `FARNoExecuteTaintKey` and its successor.
    (
        Place::Taint,
        "medik8s.io/fence-agents-remediation",
        "fence-agents-remediation",
    ),
    (
        Place::Taint,
        "remediation.medik8s.io/fence-agents-remediation",
        "fence-agents-remediation",
    ),
    // medik8s/node-maintenance-operator, controllers/taint.go. `kubevirt.io/drain` is no such sign:
    // KubeVirt tells people to set it before a drain of their own, which this upgrade may be.
    (
        Place::Taint,
        "medik8s.io/drain",
        "node-maintenance-operator",
    ),
    // k8s.io/api/core/v1/well_known_taints.go, `TaintNodeOutOfService`.
    (
        Place::Taint,
        "node.kubernetes.io/out-of-service",
        "the person who declared the node out of service",
    ),
    // gardener/machine-controller-manager.
    (
        Place::Annotation,
        "node.machine.sapcloud.io/trigger-deletion-by-mcm",
        "machine-controller-manager",
    ),
    // kubereboot/kured, cmd/kured/main.go, `KuredRebootInProgressAnnotation`: from before its cordon
    // to after its uncordon, with `--annotate-nodes`. Its next version has the second.
    (
        Place::Annotation,
        "weave.works/kured-reboot-in-progress",
        "kured",
    ),
    (
        Place::Annotation,
        "kured.dev/kured-reboot-in-progress",
        "kured",
    ),
];

/// The labels, each with the only value that is a sign.
const LABELS: [(&str, &str, &str); 1] = [
    // cloud.google.com/kubernetes-engine/docs/concepts/handle-disruption-gpu-tpu: the workloads
    // are being stopped.
    (
        "cloud.google.com/active-node-maintenance",
        "ONGOING",
        "Google Kubernetes Engine",
    ),
];

/// The condition that says so while it is `True` (gardener/machine-controller-manager,
/// pkg/util/provider/machineutils, `NodeTerminationCondition`).
pub const TERMINATING: &str = "Terminating";

/// A sign that the node is about to go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leaving {
    /// The sign, for example `taint karpenter.sh/disrupted`.
    sign: String,
    /// Whose it is.
    by: &'static str,
}

impl Leaving {
    /// The first of these signs on the Node.
    pub(super) fn of(annotations: &Pairs, labels: &Pairs, taints: &Pairs) -> Option<Self> {
        let there = |place: Place, key: &str| match place {
            Place::Annotation => annotations.get(key).is_some_and(|value| value != "false"),
            Place::Taint => taints.contains_key(key),
            Place::Label => false,
        };
        let mut signs = SIGNS.iter();
        let found = signs.find(|(place, key, _)| there(*place, key));
        let found = found.map(|(place, key, by)| (format!("{} {key}", place.words().0), *by));
        let (sign, by) = found.or_else(|| label(labels))?;
        Some(Self { sign, by })
    }

    /// A condition that says so by its type, its status and its reason. Of those of KEP-5683 only
    /// `MaintenanceInProgress` of another does: `MaintenancePlanned` may be days ahead or mean this
    /// very upgrade, and `Drained` may be the work of the person who asks for it.
    pub(super) fn by_condition([kind, status, reason]: [&str; 3]) -> Option<Self> {
        let by = match kind {
            TERMINATING => "machine-controller-manager",
            names::MAINTENANCE_IN_PROGRESS if reason != names::LIFECYCLE_REASON => {
                "the program or person who set it"
            }
            _ => return None,
        };
        let sign = format!("condition {kind}");
        (status == "True").then_some(Self { sign, by })
    }

    /// The Node is being deleted, and a finalizer keeps it.
    pub(super) fn deleted(since: &str) -> Self {
        Self {
            sign: format!("deletionTimestamp {since}"),
            by: "the program whose finalizer keeps the Node",
        }
    }

    /// The reason for a request on this Node.
    pub(super) fn reason(&self) -> Reason {
        Reason::Paused {
            why: self.to_string(),
            by: None,
            advice: Some(self.advice()),
        }
    }

    /// What ends the pause.
    #[must_use]
    pub fn advice(&self) -> String {
        let (sign, by) = (&self.sign, self.by);
        format!("let {by} finish, or stop its work there; do not remove the {sign} by hand")
    }
}

fn label(labels: &Pairs) -> Option<(String, &'static str)> {
    let is = |(key, value, _): &&(&str, &str, &str)| {
        labels.get(*key).is_some_and(|found| found == value)
    };
    let (key, value, by) = LABELS.iter().find(is)?;
    Some((format!("label {key}={value}"), by))
}

impl fmt::Display for Leaving {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (sign, by) = (&self.sign, self.by);
        write!(
            f,
            "this node is about to be removed, or is repaired or maintained: {sign}, by {by}"
        )
    }
}
