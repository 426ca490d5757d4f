//! Signs that the node is about to go, which hold an upgrade.

use super::*;

#[test]
fn sign_that_the_node_is_about_to_go_holds_and_is_named() {
    let none = pairs(&[]);
    for taint in [
        "ToBeDeletedByClusterAutoscaler",
        "karpenter.sh/disrupted",
        "karpenter.sh/disruption",
        "aws-node-termination-handler/spot-itn",
        "aws-node-termination-handler/rebalance-recommendation",
        "cloud.google.com/impending-node-termination",
        "medik8s.io/remediation",
        "medik8s.io/fence-agents-remediation",
        "remediation.medik8s.io/fence-agents-remediation",
        "medik8s.io/drain",
        "node.kubernetes.io/out-of-service",
    ] {
        let keys = Keys::of(&none, &none, &pairs(&[(taint, "")]));
        let said = keys.pause.unwrap().reason().to_string();
        assert!(said.contains(&format!("taint {taint}")), "{said}");
        assert!(said.contains("do not remove the taint"), "{said}");
    }
    for annotation in [
        ("node.machine.sapcloud.io/trigger-deletion-by-mcm", "true"),
        (
            "weave.works/kured-reboot-in-progress",
            "2026-11-29T04:00:00Z",
        ),
        ("kured.dev/kured-reboot-in-progress", "2026-11-29T04:00:00Z"),
    ] {
        let pause = Keys::read(&pairs(&[annotation]), &none).pause;
        assert!(matches!(pause, Some(Pause::Leaves(_))), "{annotation:?}");
    }
    let gke = |value| pairs(&[("cloud.google.com/active-node-maintenance", value)]);
    let said = Keys::read(&none, &gke("ONGOING")).pause.unwrap().why();
    assert!(said.contains("active-node-maintenance=ONGOING"), "{said}");
    assert_eq!(Keys::read(&none, &gke("PENDING")).pause, None);
    let mcm = Keys::read(&none, &none).with_conditions([["Terminating", "True", ""]]);
    let said = mcm.pause.unwrap().reason().to_string();
    assert!(said.contains("condition Terminating"), "{said}");
    let deleted = Keys::read(&none, &none).with_deletion(Some("2026-11-29T04:00:00Z"));
    let said = deleted.pause.unwrap().reason().to_string();
    assert!(
        said.contains("deletionTimestamp 2026-11-29T04:00:00Z"),
        "{said}"
    );
}

#[test]
fn maintenance_that_another_has_declared_holds() {
    let none = pairs(&[]);
    let pause = |condition| Keys::read(&none, &none).with_conditions([condition]).pause;
    let kind = names::MAINTENANCE_IN_PROGRESS;
    let said = pause([kind, "True", "AdminRequested"]).unwrap().why();
    assert!(said.contains("condition MaintenanceInProgress"), "{said}");
    for other in [
        [kind, "True", names::LIFECYCLE_REASON],
        [kind, "False", "AdminRequested"],
        [names::MAINTENANCE_PLANNED, "True", "AdminRequested"],
        [names::DRAINED, "True", "AdminRequested"],
    ] {
        assert_eq!(pause(other), None, "{other:?}");
    }
}

#[test]
fn candidate_for_deletion_does_not_hold() {
    let none = pairs(&[]);
    for taint in [
        "DeletionCandidateOfClusterAutoscaler",
        "node.kubernetes.io/unschedulable",
        "node.cluster.x-k8s.io/outdated-revision",
    ] {
        let keys = Keys::of(&none, &none, &pairs(&[(taint, "1")]));
        assert_eq!(keys.pause, None, "{taint}");
    }
    assert_eq!(Keys::read(&none, &none).with_deletion(None).pause, None);
}

#[test]
fn node_that_is_about_to_go_is_not_drained() {
    let none = pairs(&[]);
    let taints = pairs(&[("karpenter.sh/disrupted", "")]);
    let pause = Keys::of(&none, &none, &taints).pause;
    let seen = quiet().with(|seen| {
        seen.node.request = Asked::This(pinned('b'));
        seen.node.paused.clone_from(&pause);
    });
    let deployed = upgrade_in(Phase::Deployed);
    assert_eq!(next(&seen, &deployed).1, Act::Wait(None));
    assert_eq!(next(&seen, &Record::default()).1, Act::Wait(None));
}
