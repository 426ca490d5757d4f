//! A MachinePool on prepared hosts. Cluster API's core is played.

pub mod core;
mod in_place;
mod replacing;
mod rights;
mod scaling;

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use hosts_tests::{IMAGE, Scene, plane};
use kube::api::{Api, DynamicObject, ListParams, Patch, PatchParams};
use kube::{Client, ResourceExt};
use provider::kinds::{CareenMachine, CareenMachinePool, CareenMachinePoolStatus};
use serde_json::{Value, json};
use testkit::cluster_api::objects;

use self::core::{Core, MEMBERS};

/// The version that the pool begins with.
const VERSION: &str = "v1.36.3";

/// A Cluster with the pool `w` and its bootstrap data.
struct Pool {
    scene: Arc<Scene>,
    _core: Core,
}

impl Pool {
    async fn new(scene: Scene, replicas: usize, data: &str) -> Result<Self> {
        scene.cluster().await?;
        let kubeconfig = std::fs::read_to_string(plane().await?.admin_kubeconfig())?;
        let secret = |name: &str, value: &str| {
            json!({
                "apiVersion": "v1", "kind": "Secret", "metadata": { "name": name },
                "stringData": { "value": value, "format": "cloud-config" },
            })
        };
        scene.apply(&secret("c-kubeconfig", &kubeconfig)).await?;
        scene.apply(&secret("w-data", data)).await?;
        let template = json!({ "spec": {
            "clusterName": "c", "version": VERSION, "bootstrap": { "dataSecretName": "w-data" },
            "infrastructureRef": {
                "apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "CareenMachinePool", "name": "w",
            },
        } });
        let label = json!({ "cluster.x-k8s.io/cluster-name": "c" });
        let made = scene
            .apply(&json!({
                "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachinePool",
                "metadata": { "name": "w", "labels": label },
                "spec": { "clusterName": "c", "replicas": replicas, "template": template },
            }))
            .await?;
        let owner = json!({
            "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachinePool", "name": "w",
            "uid": made["metadata"]["uid"], "controller": true,
        });
        scene
            .apply(&json!({
                "apiVersion": "infrastructure.cluster.x-k8s.io/v1alpha1", "kind": "CareenMachinePool",
                "metadata": { "name": "w", "labels": label, "ownerReferences": [owner] },
                "spec": { "template": { "osImage": IMAGE } },
            }))
            .await?;
        let scene = Arc::new(scene);
        let _core = Core::play(&scene);
        Ok(Self { scene, _core })
    }

    fn machine_pools(&self) -> Result<Api<DynamicObject>> {
        let kind = objects::kind("cluster.x-k8s.io/v1beta2", "MachinePool")?;
        Ok(objects::api(
            &self.scene.admin,
            &kind,
            Some(&self.scene.space),
        ))
    }

    /// Changes the spec of the MachinePool.
    async fn wants(&self, spec: Value) -> Result<()> {
        let change = Patch::Merge(json!({ "spec": spec }));
        let how = PatchParams::default();
        self.machine_pools()?.patch("w", &how, &change).await?;
        Ok(())
    }

    async fn members(&self) -> Result<Vec<CareenMachine>> {
        let all: Api<CareenMachine> = self.scene.all();
        let members = all.list(&ListParams::default().labels(MEMBERS)).await?;
        Ok(members.items)
    }

    async fn machines(&self) -> Result<Vec<DynamicObject>> {
        let all = core::machines(&self.scene)?;
        Ok(all.list(&ListParams::default()).await?.items)
    }

    async fn status(&self) -> Result<(Vec<String>, CareenMachinePoolStatus)> {
        let all: Api<CareenMachinePool> = self.scene.all();
        let pool = all.get("w").await?;
        let mut ids = pool.spec.provider_id_list;
        ids.sort();
        Ok((ids, pool.status.unwrap_or_default()))
    }

    /// The reason and the message of a condition that is not true.
    async fn says(&self, condition: &str) -> Result<(String, String)> {
        let (_, status) = self.status().await?;
        let mut all = status.conditions.into_iter();
        let one = all.find(|one| one.kind == condition);
        let one = one.with_context(|| format!("no condition {condition}"))?;
        ensure!(one.status == "False", "{one:?}");
        Ok((one.reason, one.message))
    }

    /// Fails until the pool has this many nodes and no other members. Returns the provider ids.
    async fn settled(&self, wanted: i32) -> Result<Vec<String>> {
        let (ids, status) = self.status().await?;
        let members = self.members().await?;
        let said: Vec<_> = members
            .iter()
            .map(|one| {
                (
                    one.name_any(),
                    one.status.clone().unwrap_or_default().conditions,
                )
            })
            .collect();
        let counts = (status.replicas, status.up_to_date_replicas);
        let is_there = counts == (Some(wanted), Some(wanted)) && ids.len() == said.len();
        ensure!(
            is_there && i32::try_from(ids.len())? == wanted,
            "{ids:?} {status:?} {said:?}"
        );
        ensure!(status.ready == Some(true), "{status:?}");
        let provisioned = status.initialization.and_then(|one| one.provisioned);
        ensure!(provisioned == Some(true));
        let mut own: Vec<_> = members
            .iter()
            .filter_map(|one| one.spec.provider_id.clone())
            .collect();
        own.sort();
        ensure!(own == ids, "{own:?} {ids:?}");
        Ok(ids)
    }

    /// Deletes the MachinePool's infrastructure, as core does when the MachinePool is deleted.
    async fn delete(&self) -> Result<()> {
        let all: Api<CareenMachinePool> = self.scene.all();
        all.delete("w", &kube::api::DeleteParams::default()).await?;
        Ok(())
    }
}

fn admin(pool: &Pool) -> &Client {
    &pool.scene.admin
}
