//! The fields of Cluster API's objects that the infrastructure provider reads.

use infrastructure::Endpoint;
use kube::core::Object;
use serde::{Deserialize, Serialize};

/// A Machine.
pub type Machine = Object<MachineSpec, MachineStatus>;
/// A Cluster.
pub type Cluster = Object<ClusterSpec, ClusterStatus>;
/// A MachinePool.
pub type MachinePool = Object<MachinePoolSpec, Option<kube::core::NotUsed>>;
/// The Lease of a host.
pub type Lease = Object<LeaseSpec, Option<kube::core::NotUsed>>;

/// The desired state of a Machine.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct MachineSpec {
    /// Its Cluster.
    pub cluster_name: String,
    /// Its version.
    pub version: String,
    /// Its failure domain.
    pub failure_domain: Option<String>,
    /// The failure domains of its pool. It may be in any of them.
    #[serde(skip)]
    pub domains_of_pool: Vec<String>,
    /// Its bootstrap data.
    pub bootstrap: Bootstrap,
}

/// The desired state of a MachinePool.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct MachinePoolSpec {
    /// Its Cluster.
    pub cluster_name: String,
    /// How many machines it wants.
    pub replicas: Option<i32>,
    /// Its failure domains.
    pub failure_domains: Vec<String>,
    /// What its machines are.
    pub template: MachineTemplate,
}

/// What the machines of a MachinePool are.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct MachineTemplate {
    /// The desired state of each.
    pub spec: MachineSpec,
}

/// Where the bootstrap data are.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Bootstrap {
    /// The Secret.
    pub data_secret_name: Option<String>,
}

/// The observed state of a Machine.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct MachineStatus {
    /// Its Node.
    pub node_ref: Option<crate::api::Named>,
}

/// The desired state of a Cluster.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ClusterSpec {
    /// It is paused.
    pub paused: bool,
    /// The address of its control plane.
    pub control_plane_endpoint: Option<Endpoint>,
    /// Its CareenCluster.
    pub infrastructure_ref: crate::api::Reference,
}

/// The observed state of a Cluster.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct ClusterStatus {
    /// What was provisioned.
    pub initialization: Provisioned,
}

/// What was provisioned of a Cluster.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Provisioned {
    /// Its infrastructure.
    pub infrastructure_provisioned: bool,
    /// Its control plane: Cluster API has reached its API server once.
    pub control_plane_initialized: bool,
}

/// The part of a Lease that the host renews.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct LeaseSpec {
    /// When it was renewed, by the clock of the host.
    pub renew_time: Option<String>,
}
