//! Names on the management side: annotations and conditions of Machines and InfraMachines, objects, settings.
//!
//! What is on a Node is in [`upgrade::names`]; nothing of it is spelled again here.

/// The API group of Cluster API's core.
pub const CORE_GROUP: &str = "cluster.x-k8s.io";
/// The API group of Cluster API's own control planes.
pub const CONTROL_PLANE_GROUP: &str = "controlplane.cluster.x-k8s.io";
/// The version of the core group that is read. Served by v1.11 and later.
pub const CORE_VERSION: &str = "v1beta2";
/// The version that v1.13 and later serve ExtensionConfigs in.
pub const RUNTIME_GROUP: &str = "runtime.cluster.x-k8s.io";

/// On Machine, InfraMachine and bootstrap config while core updates in place. Core's own; read, never written.
pub const UPDATE_IN_PROGRESS: &str =
    "in-place-updates.internal.cluster.x-k8s.io/update-in-progress";
/// Hooks that core still has to call for a Machine. Core's own; read, never written.
pub const PENDING_HOOKS: &str = "runtime.cluster.x-k8s.io/pending-hooks";
/// The value of [`PENDING_HOOKS`] that means us.
pub const UPDATE_MACHINE: &str = "UpdateMachine";
/// Keeps a MachineHealthCheck off a Machine.
pub const SKIP_REMEDIATION: &str = "cluster.x-k8s.io/skip-remediation";
/// Pauses an object for all controllers.
pub const PAUSED: &str = "cluster.x-k8s.io/paused";
/// The cluster that an object belongs to.
pub const CLUSTER_LABEL: &str = "cluster.x-k8s.io/cluster-name";
/// On the Machines of a control plane.
pub const CONTROL_PLANE_LABEL: &str = "cluster.x-k8s.io/control-plane";
/// The MachineDeployment that a Machine belongs to.
pub const DEPLOYMENT_LABEL: &str = "cluster.x-k8s.io/deployment-name";

/// Asks for an upgrade in place by annotation, on a Machine. (The same key on a Node is the agent's answer.)
pub const ASK: &str = upgrade::names::ANSWER;
/// Ours, on a Machine while its node works: the id, since when, and whether [`SKIP_REMEDIATION`] is ours.
pub const MARK: &str = "careen.dev/upgrading";
/// An operator's, on a Machine: any new value asks again after a failure.
pub const RETRY: &str = "careen.dev/retry";
/// An operator's, on a Machine: no other Machine waits for it, and nothing new is asked of its
/// node. A node cannot write it.
pub const LEAVE_OUT: &str = "careen.dev/leave-out";
/// An operator's, on Cluster, MachineDeployment or KubeadmControlPlane: `true` holds a rollout that cannot be done in place, `false` lets it replace.
pub const NEVER_REPLACE: &str = "careen.dev/never-replace";
/// A label of a Machine whose node has another stateroot than the usual one.
pub const STATEROOT_LABEL: &str = "careen.dev/stateroot";

/// The condition on an InfraMachine.
pub const CONDITION: &str = "InplaceUpgrade";
/// The condition on an InfraMachine that its owner writes, and the annotation flow while it works.
pub const READY: &str = "Ready";
/// The reason of [`READY`] while it is our doing; nobody else's is ever lifted.
pub const READY_REASON: &str = "InplaceUpgrading";

/// Key of a kubeconfig in its Secret.
pub const KUBECONFIG_KEY: &str = "value";
/// Suffix of a kubeconfig's Secret, behind the Cluster's name.
pub const KUBECONFIG_SUFFIX: &str = "-kubeconfig";

/// Who writes, for server-side bookkeeping.
pub const MANAGER: &str = "careen-provider";
/// The Secret with the certificate that we make ourselves.
pub const TLS_SECRET: &str = "careen-provider-tls";
/// Key in a hook's settings: never replace, as [`NEVER_REPLACE`].
pub const SETTING_NEVER_REPLACE: &str = "neverReplace";
/// Key in a hook's settings: `JSONPatch` (default) or `JSONMergePatch`.
pub const SETTING_PATCH_TYPE: &str = "patchType";
/// Key in a hook's settings: fields of an InfraMachine's spec that name an image, comma-separated.
pub const SETTING_IMAGE_FIELDS: &str = "imageFields";
