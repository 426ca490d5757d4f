//! systemd units.

use super::row::{Kind, Name, row, unit};

/// The agent's unit.
pub const AGENT_UNIT: &str = "careen-agent.service";
/// Restores the kubelet's state in the old system.
pub const RESTORE_UNIT: &str = "careen-restore.service";
/// Writes back manifests that a power cut took while the control plane was raised.
pub const REPAIR_UNIT: &str = "careen-repair.service";
/// Runs `kubeadm upgrade node`: in a trial before the kubelet starts; later if the API server was
/// unreachable then.
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
/// Checks, in the initramfs, the system that is about to start.
pub const GUARD_UNIT: &str = "careen-guard.service";
/// Checks it again once its root is prepared.
pub const VERIFY_UNIT: &str = "careen-verify.service";
/// Reboots a trial that hangs in the initramfs.
pub const INITRD_DEADMAN_TIMER: &str = "careen-initrd-deadman.timer";
/// The unit that this timer starts.
pub const INITRD_DEADMAN_UNIT: &str = "careen-initrd-deadman.service";
/// Mounts the /etc/kubernetes that all deployments of a control-plane node share.
pub const KUBERNETES_MOUNT: &str = "etc-kubernetes.mount";
/// One run of careen-deploy; transient.
pub const DEPLOY_UNITS: &str = "careen-deploy-<id>-<verb>.service";
/// The run of careen-deploy for a plan. There is only one at a time, whatever the question.
pub const PLAN_UNIT: &str = "careen-deploy-dry-plan.service";
/// The kubelet.
pub const KUBELET_UNIT: &str = "kubelet.service";
/// The container runtime.
pub const RUNTIME_UNIT: &str = "containerd.service";

/// Their rows of the table.
pub(super) const ROWS: &[Name] = &[
    unit(AGENT_UNIT, ""),
    unit(RESTORE_UNIT, "before the kubelet"),
    unit(
        REPAIR_UNIT,
        "before the kubelet, once a control plane was raised",
    ),
    unit(CHECK_UNIT, "before the kubelet, on a trial"),
    unit(
        KUBEADM_UNIT,
        "before the kubelet, on a trial, or started by the agent when it is due",
    ),
    unit(GATE_UNIT, "before boot-complete.target, on a trial"),
    unit(FALLBACK_UNIT, "when a trial boots into emergency or rescue"),
    unit(DEADMAN_TIMER, "on a trial"),
    unit(DEADMAN_UNIT, "on a trial"),
    unit(GUARD_UNIT, "in the initramfs, on a trial"),
    unit(VERIFY_UNIT, "in the initramfs, on a trial"),
    unit(INITRD_DEADMAN_TIMER, "in the initramfs, on a trial"),
    unit(INITRD_DEADMAN_UNIT, "in the initramfs, on a trial"),
    row(
        KUBERNETES_MOUNT,
        Kind::Unit,
        "careen-agent doctor --fix",
        "systemd",
        "before the kubelet, on a control-plane node",
    ),
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
        "transient, for a plan",
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
];
