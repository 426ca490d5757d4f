//! The kinds of the infrastructure provider, as the API server knows them. The contract of Cluster
//! API v1beta2 asks for their names, labels and fields. Nothing of them is part of a release yet.

mod cluster;
mod host;
mod keys;
mod machine;
mod parts;
pub mod policies;
mod pool;
mod registration;

use kube::CustomResourceExt;
use serde_json::{Value, json};

pub use cluster::{
    CareenCluster, CareenClusterSpec, CareenClusterStatus, CareenClusterTemplate,
    CareenClusterTemplateSpec, ClusterRequest, HostCounts,
};
pub use host::{Agent, CareenHost, CareenHostSpec, CareenHostStatus, HostCondition};
pub use keys::{
    BOOTSTRAP, BRAKE_OFF, FINALIZER, FORCE_RELEASE, GROUP, HOSTS, MANAGED_BY, ORPHAN, ORPHAN_SEEN,
    TRIED, UNMANAGED, VERSION,
};
pub use machine::{
    Address, CareenMachine, CareenMachineSpec, CareenMachineStatus, CareenMachineTemplate,
    CareenMachineTemplateSpec, CareenMachineTemplateStatus, MachineRequest, NodeInfo, ShownHost,
};
pub use parts::{Initialization, TemplateMetadata};
pub use pool::{
    CareenMachinePool, CareenMachinePoolSpec, CareenMachinePoolStatus, CareenMachinePoolTemplate,
    CareenMachinePoolTemplateSpec, OtherChanges, PoolRequest,
};
pub use registration::{HostRegistration, HostRegistrationSpec, HostRegistrationStatus};

/// The label of a CRD that implements the contract, and the versions that do.
const CONTRACT: &str = "cluster.x-k8s.io/v1beta2";
/// clusterctl moves the objects of a CRD with this label.
const MOVE: &str = "clusterctl.cluster.x-k8s.io/move";

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
