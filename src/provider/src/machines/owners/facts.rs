//! What matters of the owners of Machines.

/// The relevant facts of a Cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClusterFacts {
    /// The Cluster is paused.
    pub paused: bool,
    /// A key on it that looks like a pause, in words.
    pub looks_paused: Option<String>,
    /// The value of [`crate::names::NEVER_REPLACE`].
    pub never_replace: Option<String>,
    /// The name of the object that owns its control plane's Machines; empty if there is none.
    pub control_plane: String,
}

/// The relevant facts of a MachineDeployment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeploymentFacts {
    /// Its UID.
    pub uid: String,
    /// Its Cluster's name.
    pub cluster: String,
    /// How many of its Machines may be unavailable at once.
    pub max_unavailable: usize,
    /// Its template has [`crate::names::ASK`]: it puts the annotation on each of its Machines, and
    /// puts it back.
    pub asks: bool,
    /// The MachineDeployment is paused.
    pub paused: bool,
    /// A key on it that looks like a pause, in words.
    pub looks_paused: Option<String>,
    /// The value of [`crate::names::NEVER_REPLACE`].
    pub never_replace: Option<String>,
}

/// The relevant facts of a KubeadmControlPlane.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ControlPlaneFacts {
    /// Its template has [`crate::names::ASK`]: it puts the annotation on each of its Machines, and
    /// puts it back.
    pub asks: bool,
    /// The control plane is paused.
    pub paused: bool,
    /// A key on it that looks like a pause, in words.
    pub looks_paused: Option<String>,
    /// The value of [`crate::names::NEVER_REPLACE`].
    pub never_replace: Option<String>,
}
