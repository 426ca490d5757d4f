//! Two real API servers and their objects: one contains the Machines with their related objects,
//! the other their Nodes.

use anyhow::{Context, Result};
use careen_tests::management::definitions;
use futures::{StreamExt, TryStreamExt, stream};
use kube::Client;
use kube::api::{Api, DynamicObject, Patch, PatchParams, PostParams};
use provider::names;
use serde_json::{Value, json};
use testkit::cluster_api::{infrastructure, install_definitions, objects};
use testkit::control_plane::ControlPlane;
use testkit::programs;

use crate::credential;
use crate::machines::{self, PER_DEPLOYMENT, SPACE};
use crate::server::{Server, folder};

/// The number of concurrent writes.
const AT_ONCE: usize = 16;

/// Both clusters.
pub struct Scene {
    /// The management cluster with all components: its controller manager aggregates the provider's
    /// rights.
    pub management: ControlPlane,
    /// Its administrator.
    pub admin: Client,
    /// The workload cluster.
    pub workload: Server,
}

impl Scene {
    /// New clusters with the definitions and the objects of the provider's release, and without
    /// Machines.
    pub async fn start() -> Result<Self> {
        let management = ControlPlane::start(&folder("management")?).await?;
        let admin = management.client().await?;
        definitions::install_on(&admin).await?;
        let file = programs::home().join("cluster-api/infrastructure.yaml");
        let text = std::fs::read_to_string(&file)
            .with_context(|| format!("cannot read {}", file.display()))?;
        let mut rig: Vec<Value> = serde_saphyr::from_multiple(&text)?;
        rig.retain(|definition| !definition.is_null());
        install_definitions(&admin, &rig).await?;
        let space =
            json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": SPACE } });
        objects::apply(&admin, &space).await?;
        Ok(Self {
            management,
            admin,
            workload: Server::start().await?,
        })
    }

    /// The InfraMachines of the namespace.
    pub fn infra_machines(&self) -> Api<DynamicObject> {
        objects::api(&self.admin, &infrastructure::machine_kind(), Some(SPACE))
    }

    /// Kinds of Cluster API's core in the namespace.
    fn core(&self, kind: &str) -> Result<Api<DynamicObject>> {
        let kind = objects::kind("cluster.x-k8s.io/v1beta2", kind)?;
        Ok(objects::api(&self.admin, &kind, Some(SPACE)))
    }

    /// Creates this many Machines. The Nodes come before the Cluster, so that the provider lists
    /// all of them at once, as after a restart. That takes more memory than single watch events.
    pub async fn fill(&self, count: usize) -> Result<()> {
        eprintln!("{count} nodes: writing them");
        let nodes = objects::kind("v1", "Node")?;
        let nodes = objects::api(&self.workload.admin, &nodes, None);
        create_all(&nodes, (0..count).map(machines::node)).await?;
        let secret = credential::secret(&self.workload).await?;
        let cluster = json!({
            "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": { "name": SPACE, "namespace": SPACE },
            "spec": { "controlPlaneRef": { "apiGroup": names::CONTROL_PLANE_GROUP, "kind": "KubeadmControlPlane", "name": "owner" } },
        });
        objects::apply_all(&self.admin, &[secret, cluster]).await?;
        let first_of_each = (0..count).step_by(PER_DEPLOYMENT);
        let deployments = self.core("MachineDeployment")?;
        create_all(&deployments, first_of_each.map(machines::deployment)).await?;
        let infra = self.infra_machines();
        create_all(&infra, (0..count).map(machines::infra_machine)).await?;
        let said = (0..count).map(|number| say_provisioned(&infra, number));
        side_by_side(said).await?;
        create_all(&self.core("Machine")?, (0..count).map(with_node)).await
    }
}

/// A Machine with a known Node. Status is not a subresource here.
fn with_node(number: usize) -> Value {
    let mut machine = machines::machine(number);
    machine["status"] = json!({ "nodeRef": { "name": machines::name(number) } });
    machine
}

async fn create_all(api: &Api<DynamicObject>, all: impl Iterator<Item = Value>) -> Result<()> {
    side_by_side(all.map(|object| create(api, object))).await
}

async fn create(api: &Api<DynamicObject>, object: Value) -> Result<()> {
    let object = serde_json::from_value(object)?;
    api.create(&PostParams::default(), &object).await?;
    Ok(())
}

async fn say_provisioned(api: &Api<DynamicObject>, number: usize) -> Result<()> {
    let status = Patch::Merge(machines::infra_status());
    let name = machines::name(number);
    api.patch_status(&name, &PatchParams::default(), &status)
        .await?;
    Ok(())
}

async fn side_by_side<F: Future<Output = Result<()>>>(all: impl Iterator<Item = F>) -> Result<()> {
    stream::iter(all)
        .buffer_unordered(AT_ONCE)
        .try_for_each(|()| async { Ok(()) })
        .await
}
