//! What an operator installs for hosts, a namespace with a Cluster, and hosts that are played.

mod cluster;
mod crowd;
mod faulty;
mod played;
mod running;

pub use cluster::{PATIENCE, client_of, plane};
pub use crowd::Crowd;
pub use faulty::{Fate, Faulty, Request};
pub use played::{IMAGE, Played, status};
pub use running::Running;

use anyhow::{Context, Result};
use infrastructure::Phase;
use kube::api::{Api, DeleteParams, Patch, PatchParams};
use kube::core::NamespaceResourceScope;
use kube::{Client, Resource};
use provider::kinds::{CareenCluster, CareenHost, CareenMachine, FINALIZER};
use serde_json::{Value, json};
use testkit::cluster_api::objects;
use testkit::control_plane::ControlPlane;

/// One namespace.
pub struct Scene {
    /// The administrator.
    pub admin: Client,
    /// The namespace.
    pub space: String,
}

impl Scene {
    /// A namespace with everything that is installed, and nothing in it.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn new(space: &str) -> Result<Self> {
        let admin = plane().await?.client().await?;
        cluster::install(&admin).await?;
        Self::in_namespace(admin, space).await
    }

    /// The same on another control plane than that of all tests.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn on(plane: &ControlPlane, space: &str) -> Result<Self> {
        let admin = plane.client().await?;
        cluster::install_on(&admin).await?;
        Self::in_namespace(admin, space).await
    }

    async fn in_namespace(admin: Client, space: &str) -> Result<Self> {
        let this = Self {
            admin,
            space: space.to_owned(),
        };
        let namespace =
            json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": space } });
        objects::apply(&this.admin, &namespace).await?;
        Ok(this)
    }

    /// Objects of a kind in the namespace, for the administrator.
    #[must_use]
    pub fn all<K>(&self) -> Api<K>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
    {
        Api::namespaced(self.admin.clone(), &self.space)
    }

    /// Applies an object in the namespace.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn apply(&self, object: &Value) -> Result<Value> {
        let mut object = object.clone();
        object["metadata"]["namespace"] = json!(self.space);
        let made = objects::apply(&self.admin, &object).await?;
        Ok(serde_json::to_value(made)?)
    }

    /// Merges a change into an object.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn change<K>(&self, name: &str, change: Value) -> Result<K>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>
            + Clone
            + std::fmt::Debug
            + serde::de::DeserializeOwned,
    {
        let all: Api<K> = self.all();
        let changed = all
            .patch(name, &PatchParams::default(), &Patch::Merge(change))
            .await?;
        Ok(changed)
    }

    /// Makes the Cluster `c` with a CareenCluster, as Cluster API does, and waits until it is
    /// provisioned.
    ///
    /// # Errors
    /// When that does not happen.
    pub async fn cluster(&self) -> Result<()> {
        self.cluster_named("c").await
    }

    /// The same with another name.
    ///
    /// # Errors
    /// When that does not happen.
    pub async fn cluster_named(&self, name: &str) -> Result<()> {
        let reference =
            json!({ "apiGroup": provider::kinds::GROUP, "kind": "CareenCluster", "name": name });
        let cluster = json!({
            "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": { "name": name },
            "spec": { "infrastructureRef": reference },
        });
        let made = self.apply(&cluster).await?;
        let owner = owner("Cluster", name, &made);
        self.apply(&json!({
            "apiVersion": "infrastructure.cluster.x-k8s.io/v1alpha1", "kind": "CareenCluster",
            "metadata": { "name": name, "ownerReferences": [owner], "labels": label(name) },
            "spec": { "controlPlaneEndpoint": { "host": "10.0.0.10", "port": 6443 } },
        }))
        .await?;
        self.until("the CareenCluster is provisioned", || async {
            let ours: CareenCluster = self.all().get(name).await?;
            let status = ours.status.unwrap_or_default();
            let done = status.initialization.and_then(|one| one.provisioned);
            done.filter(|done| *done)
                .context("not provisioned")
                .map(drop)
        })
        .await?;
        let done = json!({ "initialization": { "infrastructureProvisioned": true } });
        let mut cluster = cluster;
        cluster["status"] = done;
        self.apply(&cluster).await.map(drop)
    }

    /// Makes a Machine with its bootstrap data and its CareenMachine.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn machine(&self, name: &str) -> Result<()> {
        self.machine_with(name, &format!("#cloud-config {name}"))
            .await
    }

    /// The same with these bootstrap data.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn machine_with(&self, name: &str, text: &str) -> Result<()> {
        self.machine_of("c", name, text).await
    }

    /// The same in this Cluster.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn machine_of(&self, cluster: &str, name: &str, text: &str) -> Result<()> {
        let data = format!("{name}-data");
        self.apply(&json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": { "name": data },
            "stringData": { "value": text, "format": "cloud-config" },
        }))
        .await?;
        let made = self
            .apply(&json!({
                "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine",
                "metadata": { "name": name, "labels": label(cluster) },
                "spec": { "clusterName": cluster, "version": "v1.36.3", "bootstrap": { "dataSecretName": data } },
            }))
            .await?;
        let owner = owner("Machine", name, &made);
        self.apply(&json!({
            "apiVersion": "infrastructure.cluster.x-k8s.io/v1alpha1", "kind": "CareenMachine",
            "metadata": { "name": name, "ownerReferences": [owner], "labels": label(cluster) },
            "spec": { "osImage": IMAGE },
        }))
        .await
        .map(drop)
    }

    /// A host that is let in and available, without its own account.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn host(&self, name: &str) -> Result<()> {
        self.apply(&json!({
            "apiVersion": "careen.dev/v1alpha1", "kind": "CareenHost", "metadata": { "name": name },
            "spec": { "registration": "rack-a", "approved": true },
        }))
        .await?;
        let mut said = status(Phase::Available, None);
        said["hostname"] = json!(name);
        self.say(name, &said).await
    }

    /// Writes the status of a host.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn say(&self, host: &str, status: &Value) -> Result<()> {
        let hosts: Api<CareenHost> = self.all();
        let body = Patch::Merge(json!({ "status": status }));
        hosts
            .patch_status(host, &PatchParams::default(), &body)
            .await?;
        Ok(())
    }

    /// Deletes a machine, as Cluster API does after the drain.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn delete_machine(&self, name: &str) -> Result<()> {
        let machines: Api<CareenMachine> = self.all();
        machines.delete(name, &DeleteParams::default()).await?;
        Ok(())
    }

    /// Whether a machine still has our finalizer.
    ///
    /// # Errors
    /// When the API server does not answer.
    pub async fn is_held(&self, name: &str) -> Result<bool> {
        let machines: Api<CareenMachine> = self.all();
        let machine = machines.get_opt(name).await?;
        let finalizers = machine.and_then(|machine| machine.metadata.finalizers);
        Ok(finalizers.is_some_and(|all| all.iter().any(|one| one == FINALIZER)))
    }

    /// Waits until this holds.
    ///
    /// # Errors
    /// When it does not.
    pub async fn until<T, F>(&self, what: &str, ask: impl FnMut() -> F) -> Result<T>
    where
        F: Future<Output = Result<T>>,
    {
        objects::until(what, PATIENCE, ask).await
    }
}

fn label(cluster: &str) -> Value {
    json!({ "cluster.x-k8s.io/cluster-name": cluster })
}

fn owner(kind: &str, name: &str, made: &Value) -> Value {
    json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": kind, "name": name,
        "uid": made["metadata"]["uid"], "controller": true,
    })
}
