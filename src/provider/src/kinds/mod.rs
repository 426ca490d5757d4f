//! The kinds of the infrastructure provider, as the API server knows them. The contract of Cluster
//! API v1beta2 asks for their names, labels and fields. Nothing of them is part of a release yet.

mod cluster;
mod host;
mod machine;
pub mod policies;
mod pool;
mod registration;

use std::collections::BTreeMap;

use kube::CustomResourceExt;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

pub use cluster::{
    CareenCluster, CareenClusterSpec, CareenClusterStatus, CareenClusterTemplate,
    CareenClusterTemplateSpec, ClusterRequest, HostCounts,
};
pub use host::{Agent, CareenHost, CareenHostSpec, CareenHostStatus, HostCondition};
pub use machine::{
    Address, CareenMachine, CareenMachineSpec, CareenMachineStatus, CareenMachineTemplate,
    CareenMachineTemplateSpec, CareenMachineTemplateStatus, MachineRequest, NodeInfo, ShownHost,
};
pub use pool::{
    CareenMachinePool, CareenMachinePoolSpec, CareenMachinePoolStatus, CareenMachinePoolTemplate,
    CareenMachinePoolTemplateSpec, PoolRequest,
};
pub use registration::{HostRegistration, HostRegistrationSpec, HostRegistrationStatus};

/// The group of the kinds that Cluster API reads. Core's own role covers it.
pub const GROUP: &str = "infrastructure.cluster.x-k8s.io";
/// The group of the hosts. Core has no rights there.
pub const HOSTS: &str = "careen.dev";
/// The version of all kinds.
pub const VERSION: &str = "v1alpha1";

/// The finalizer of our objects.
pub const FINALIZER: &str = "careen.dev/host";
/// On a CareenHost: a person's word that the computer of the claim with this id is off.
pub const FORCE_RELEASE: &str = "careen.dev/force-release";
/// On a CareenHost, at the first look at an orphan: the id of the claim, and the time.
pub const ORPHAN_SEEN: &str = "careen.dev/orphan-seen";
/// On a CareenHost, at the second look: the id of the claim.
pub const ORPHAN: &str = "careen.dev/orphan";
/// On a CareenCluster: a person's word that its silent hosts are off.
pub const BRAKE_OFF: &str = "careen.dev/brake-off";
/// On a CareenMachine: the hosts that failed it, and with which image.
pub const TRIED: &str = "careen.dev/tried";
/// On a CareenCluster: another program manages it. Core reads it as an annotation too
/// (util/annotations in Cluster API), although the contract's text says label.
pub const MANAGED_BY: &str = "cluster.x-k8s.io/managed-by";

/// The label of a CRD that implements the contract, and the versions that do.
const CONTRACT: &str = "cluster.x-k8s.io/v1beta2";
/// clusterctl moves the objects of a CRD with this label.
const MOVE: &str = "clusterctl.cluster.x-k8s.io/move";

/// Labels and annotations of what is made from a template.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct TemplateMetadata {
    /// The labels.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// The annotations.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
}

/// What Cluster API waits for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct Initialization {
    /// The infrastructure is there. It never becomes false again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provisioned: Option<bool>,
}

/// A kind and the labels of its CRD.
type Labelled = (Value, &'static [(&'static str, &'static str)]);

/// The CRDs.
///
/// # Errors
/// Never: they are made of strings and maps.
pub fn definitions() -> Result<Vec<Value>, serde_json::Error> {
    const INFRA: &[(&str, &str)] = &[(CONTRACT, VERSION)];
    const HOST: &[(&str, &str)] = &[(MOVE, "")];
    let all: [Labelled; 8] = [
        (serde_json::to_value(CareenCluster::crd())?, INFRA),
        (serde_json::to_value(CareenClusterTemplate::crd())?, INFRA),
        (serde_json::to_value(CareenMachine::crd())?, INFRA),
        (serde_json::to_value(CareenMachineTemplate::crd())?, INFRA),
        (serde_json::to_value(CareenMachinePool::crd())?, INFRA),
        (
            serde_json::to_value(CareenMachinePoolTemplate::crd())?,
            INFRA,
        ),
        (serde_json::to_value(CareenHost::crd())?, HOST),
        (serde_json::to_value(HostRegistration::crd())?, HOST),
    ];
    Ok(all.into_iter().map(labelled).collect())
}

fn labelled((mut definition, labels): Labelled) -> Value {
    for (key, value) in labels {
        definition["metadata"]["labels"][key] = json!(value);
    }
    definition
}
