//! Names on the management side: annotations and conditions of Machines and InfraMachines, objects,
//! settings.
//!
//! Names on a Node are in [`upgrade::names`] and are not repeated here.

/// The namespace of a release.
pub const NAMESPACE: &str = "careen-system";
/// The API group of Cluster API's core.
pub const CORE_GROUP: &str = "cluster.x-k8s.io";
/// The API group of Cluster API's own control planes.
pub const CONTROL_PLANE_GROUP: &str = "controlplane.cluster.x-k8s.io";
/// The version of the core group that the provider reads. Cluster API v1.11 and later serve it.
pub const CORE_VERSION: &str = "v1beta2";
/// The API group of ExtensionConfigs. Cluster API v1.13 and later serve them in [`CORE_VERSION`].
pub const RUNTIME_GROUP: &str = "runtime.cluster.x-k8s.io";

/// Set by core on Machine, InfraMachine and bootstrap config while it updates in place. The
/// provider only reads it.
pub const UPDATE_IN_PROGRESS: &str =
    "in-place-updates.internal.cluster.x-k8s.io/update-in-progress";
/// The hooks that core still has to call for a Machine. Core writes it; the provider only reads it.
pub const PENDING_HOOKS: &str = "runtime.cluster.x-k8s.io/pending-hooks";
/// The value of [`PENDING_HOOKS`] that names the provider's hook.
pub const UPDATE_MACHINE: &str = "UpdateMachine";
/// Keeps a MachineHealthCheck off a Machine.
pub const SKIP_REMEDIATION: &str = "cluster.x-k8s.io/skip-remediation";
/// Pauses an object for all controllers.
pub const PAUSED: &str = "cluster.x-k8s.io/paused";
/// The Cluster that an object belongs to.
pub const CLUSTER_LABEL: &str = "cluster.x-k8s.io/cluster-name";
/// Present on the Machines of a control plane.
pub const CONTROL_PLANE_LABEL: &str = "cluster.x-k8s.io/control-plane";
/// The MachineDeployment that a Machine belongs to.
pub const DEPLOYMENT_LABEL: &str = "cluster.x-k8s.io/deployment-name";
/// The MachinePool that a Machine and its InfraMachine belong to.
pub const POOL_LABEL: &str = "cluster.x-k8s.io/pool-name";
/// Of several Machines, the one that is to go first.
pub const DELETE_MACHINE: &str = "cluster.x-k8s.io/delete-machine";
/// On a MachinePool: the least replicas that the cluster autoscaler leaves it.
pub const AUTOSCALER_LEAST: &str = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size";

/// Requests an in-place upgrade, on a Machine. (The same key on a Node is the agent's answer.)
pub const ASK: &str = upgrade::names::ANSWER;
/// Beside [`ASK`] on a Machine of a pool: the version that the pool wants. Core writes the kubelet's
/// own version into such a Machine (Cluster API, machinepool_controller_phases.go).
pub const POOL_VERSION: &str = "careen.dev/pool-version";
/// The provider's mark on a Machine while its node works: the id, the start time, and whether the
/// provider added [`SKIP_REMEDIATION`].
pub const MARK: &str = "careen.dev/upgrading";
/// Set by an operator on a Machine: each new value retries after a failure.
pub const RETRY: &str = "careen.dev/retry";
/// Set by an operator on a Machine: no other Machine waits for it, and its node gets no new
/// request. A node cannot write it.
pub const LEAVE_OUT: &str = "careen.dev/leave-out";
/// Set by an operator on a Cluster, MachineDeployment or KubeadmControlPlane. `true` holds a
/// rollout that cannot be done in place; `false` lets it replace Machines.
pub const NEVER_REPLACE: &str = "careen.dev/never-replace";
/// A label on a Machine whose node has a stateroot other than the default.
pub const STATEROOT_LABEL: &str = "careen.dev/stateroot";

/// The provider's condition on an InfraMachine.
pub const CONDITION: &str = "InplaceUpgrade";
/// The Ready condition of an InfraMachine. Its owner writes it, and the annotation flow does while
/// it works.
pub const READY: &str = "Ready";
/// The reason of [`READY`] that the provider sets. The provider never lifts a condition with
/// another reason.
pub const READY_REASON: &str = "InplaceUpgrading";

/// The key of a kubeconfig in its Secret.
pub const KUBECONFIG_KEY: &str = "value";
/// The suffix of the Secret's name, after the Cluster's name.
pub const KUBECONFIG_SUFFIX: &str = "-kubeconfig";

/// On the ExtensionConfig: the Secret, as `namespace/name`, whose `ca.crt` core writes into the
/// caBundle and trusts. Source: reconcileCABundle in Cluster API 1.13 and 1.14.
pub const CA_FROM_SECRET: &str = "runtime.cluster.x-k8s.io/inject-ca-from-secret";

/// The field manager of the provider's writes.
pub const MANAGER: &str = "careen-provider";
/// The Secret with the certificate that the provider generates.
pub const TLS_SECRET: &str = "careen-provider-tls";
/// A key in a hook's settings: never replace, like [`NEVER_REPLACE`].
pub const SETTING_NEVER_REPLACE: &str = "neverReplace";
/// A key in a hook's settings: `JSONPatch` (default) or `JSONMergePatch`.
pub const SETTING_PATCH_TYPE: &str = "patchType";
/// A key in a hook's settings: fields of an InfraMachine's spec that name an image,
/// comma-separated.
pub const SETTING_IMAGE_FIELDS: &str = "imageFields";
