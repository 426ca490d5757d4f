//! The topology controller makes a Cluster from the ClusterClass.

use anyhow::{Context, Result, ensure};
use hosts_tests::IMAGE;
use kube::api::{DynamicObject, ListParams, Patch, PatchParams};
use serde_json::{Value, json};
use testkit::cluster_api::objects;

use super::{CORE, ENDPOINT, OURS, Scene};
use crate::{CLUSTER, PATIENCE};

impl Scene {
    /// The Cluster, once the topology controller has made all of it.
    async fn reconciled(&self) -> Result<DynamicObject> {
        let ask = || async {
            let cluster = self.get(CORE, "Cluster", CLUSTER).await?;
            let all = cluster.data["status"]["conditions"].as_array();
            let said = all.into_iter().flatten();
            let mut said = said.filter(|one| one["type"] == "TopologyReconciled");
            let said = said.next().context("no condition")?;
            let generation = cluster.metadata.generation;
            let is_new = said["observedGeneration"].as_i64() == generation;
            ensure!(is_new && said["status"] == "True", "{said}");
            Ok(cluster)
        };
        objects::until("the topology is reconciled", PATIENCE, ask).await
    }

    /// The one object of a kind whose name the topology controller made up.
    async fn only(&self, version: &str, kind: &str) -> Result<DynamicObject> {
        let of = objects::kind(version, kind)?;
        let api = objects::api(&self.management.client, &of, Some(CLUSTER));
        let mut all = api.list(&ListParams::default()).await?.items;
        ensure!(all.len() == 1, "{} {kind}", all.len());
        all.pop().context("none")
    }

    /// The CareenMachineTemplate of the workers.
    async fn workers_template(&self) -> Result<Value> {
        let deployment = self.only(CORE, "MachineDeployment").await?;
        let name = &deployment.data["spec"]["template"]["spec"]["infrastructureRef"]["name"];
        let name = name.as_str().context("no template")?;
        let template = self.get(OURS, "CareenMachineTemplate", name).await?;
        Ok(template.data["spec"]["template"]["spec"].clone())
    }

    async fn change_cluster(&self, change: Value) -> Result<()> {
        let of = objects::kind(CORE, "Cluster")?;
        let api = objects::api(&self.management.client, &of, Some(CLUSTER));
        let (how, patch) = (
            PatchParams::default(),
            Patch::<()>::Json(serde_json::from_value(change)?),
        );
        api.patch(CLUSTER, &how, &patch).await?;
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cluster_class_makes_a_cluster_and_changes_it() -> Result<()> {
    let scene = Scene::start().await?;
    let labels = [
        ENDPOINT,
        ("CONTROL_PLANE_HOST_LABELS", "role: control"),
        ("WORKER_HOST_LABELS", "role: worker"),
    ];
    scene.apply(&scene.generate("topology", &labels)?).await?;
    scene.reconciled().await?;
    let ours = scene.only(OURS, "CareenCluster").await?.data["spec"].clone();
    let endpoint = json!({ "host": ENDPOINT.1, "port": 6443 });
    ensure!(ours["controlPlaneEndpoint"] == endpoint, "{ours}");
    let domains = json!({ "matchLabels": { "role": "control" } });
    ensure!(ours["failureDomainSelector"] == domains, "{ours}");
    let before = scene.workers_template().await?;
    let wanted = json!({ "matchLabels": { "role": "worker" } });
    ensure!(before["hostSelector"] == wanted, "{before}");
    ensure!(before.get("osImage").is_none(), "{before}");
    scene.only(CORE, "MachineHealthCheck").await?;

    let image = json!({ "name": "osImage", "value": IMAGE });
    let pool = json!([{ "class": "workers", "name": "pool", "replicas": 1 }]);
    let change = json!([
        { "op": "add", "path": "/spec/topology/variables/-", "value": image },
        { "op": "add", "path": "/spec/topology/workers/machinePools", "value": pool },
    ]);
    scene.change_cluster(change).await?;
    scene.reconciled().await?;
    let after = scene.workers_template().await?;
    ensure!(after["osImage"] == IMAGE, "{after}");
    let pool = scene.only(OURS, "CareenMachinePool").await?.data["spec"]["template"].clone();
    ensure!(
        pool["osImage"] == IMAGE && pool["hostSelector"] == wanted,
        "{pool}"
    );
    scene.remove(CLUSTER).await
}
