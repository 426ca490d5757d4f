//! The templates for clusterctl, with clusterctl itself and the real managers.

mod accepted;
mod class;
mod package;
mod single;

use anyhow::{Context, Result, ensure};
use kube::Client;
use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams};
use serde_json::Value;
use testkit::cluster_api::cluster::Cluster;
use testkit::cluster_api::clusterctl::{Clusterctl, PROVIDER};
use testkit::cluster_api::{Manager, objects};

use crate::management::Management;
use crate::{CLUSTER, PATIENCE, VERSION};

const CORE: &str = "cluster.x-k8s.io/v1beta2";
const OURS: &str = "infrastructure.cluster.x-k8s.io/v1alpha1";

const ENDPOINT: (&str, &str) = ("CONTROL_PLANE_ENDPOINT_HOST", "10.0.0.10");

/// A management cluster, and clusterctl.
struct Scene {
    management: Management,
    clusterctl: Clusterctl,
    _folder: tempfile::TempDir,
}

impl Scene {
    async fn start() -> Result<Self> {
        let management = Management::start(&Manager::ALL).await?;
        let folder = tempfile::tempdir()?;
        let clusterctl = Clusterctl::with_release(folder.path())?;
        Cluster::with_secrets(&management.plane, CLUSTER).await?;
        Ok(Self {
            management,
            clusterctl,
            _folder: folder,
        })
    }

    /// What `clusterctl generate cluster` prints.
    fn generate(&self, flavour: &str, variables: &[(&str, &str)]) -> Result<Vec<Value>> {
        self.generate_named(CLUSTER, flavour, variables)
    }

    fn generate_named(
        &self,
        name: &str,
        flavour: &str,
        variables: &[(&str, &str)],
    ) -> Result<Vec<Value>> {
        let kubeconfig = self.management.plane.admin_kubeconfig();
        let kubeconfig = kubeconfig.to_str().context("a path that is no text")?;
        let line = [
            ["generate", "cluster", name],
            ["--kubeconfig", kubeconfig, "--infrastructure"],
            [PROVIDER, "--flavor", flavour],
            ["--target-namespace", CLUSTER, "--kubernetes-version"],
            [VERSION, "--worker-machine-count", "1"],
        ];
        let line = line.concat();
        let text = self.clusterctl.run(&line, variables)?;
        documents(&text)
    }

    /// Applies objects as they are, and accepts no field that the API server does not know.
    async fn apply(&self, objects: &[Value]) -> Result<()> {
        for object in objects {
            apply_strictly(&self.management.client, object).await?;
        }
        Ok(())
    }

    async fn get(&self, version: &str, kind: &str, name: &str) -> Result<DynamicObject> {
        let kind = objects::kind(version, kind)?;
        let api = objects::api(&self.management.client, &kind, Some(CLUSTER));
        Ok(api.get(name).await?)
    }

    /// Deletes a Cluster, and waits until Cluster API has removed all of it.
    async fn remove(&self, name: &str) -> Result<()> {
        let of = objects::kind(CORE, "Cluster")?;
        let all = objects::api(&self.management.client, &of, Some(CLUSTER));
        all.delete(name, &DeleteParams::default()).await?;
        let ask = || async {
            ensure!(all.get_opt(name).await?.is_none(), "it is there");
            Ok(())
        };
        objects::until("the Cluster is gone", PATIENCE, ask).await
    }
}

fn documents(text: &str) -> Result<Vec<Value>> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("cluster.yaml");
    std::fs::write(&file, text)?;
    testkit::cluster_api::documents(&file)
}

async fn apply_strictly(client: &Client, object: &Value) -> Result<()> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
    let (kind, name) = (text("/kind").context("no kind")?, text("/metadata/name"));
    let name = name.context("no name")?;
    ensure!(text("/metadata/namespace") == Some(CLUSTER), "{object}");
    let of = objects::kind(text("/apiVersion").context("no apiVersion")?, kind)?;
    let api = objects::api(client, &of, Some(CLUSTER));
    let how = PatchParams::apply("an-operator").validation_strict();
    let applied = api.patch(name, &how, &Patch::Apply(object)).await;
    applied.map(drop).with_context(|| format!("{kind} {name}"))
}
