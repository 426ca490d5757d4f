//! The objects of Cluster API on a real API server, for tests that play the role of its managers.
//! The definitions here accept any content. The managers' own definitions, with their webhooks, are
//! in the `cluster_api` tests.

mod agent;
pub mod definitions;
mod history;
mod members;
mod trust;
mod waits;

use anyhow::Result;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{Node, Secret};
use kube::Client;
use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::config::Kubeconfig;
use provider::rights::{self, Ours};
use provider::{manifests, names};
use serde_json::{Value, json};
use testkit::cluster_api::account::kubeconfig_of;
use testkit::cluster_api::objects;

use crate::cluster::plane;
use crate::fleet::images::{FIRST, LATEST};
use crate::wire::Wire;
use definitions::INFRA_GROUP;
pub use history::History;

/// One namespace with a Cluster of the same name. The Cluster's workload API server is the same
/// server, reached through a wire.
pub struct Management {
    /// The administrator.
    pub admin: Client,
    /// The namespace.
    pub space: String,
    /// The wire to the Cluster's API server.
    pub wire: Wire,
}

impl Management {
    /// Creates everything that a provider needs, and no Machine yet.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn new(space: &str) -> Result<Self> {
        let admin = plane().await?.client().await?;
        definitions::install_all(&admin).await?;
        let namespace =
            json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": space } });
        objects::apply(&admin, &namespace).await?;
        let this = Self {
            wire: Wire::to(plane().await?.api_port()).await?,
            admin,
            space: space.to_owned(),
        };
        this.rights().await?;
        this.extension_config().await?;
        this.cluster(space, &this.wire).await?;
        Ok(this)
    }

    /// All scenes share one ServiceAccount, but each scene has its own Lease, Secret and
    /// ExtensionConfig.
    async fn rights(&self) -> Result<()> {
        let ours = Ours {
            lease: &self.space,
            secret: &certificate(&self.space),
            extension_config: &self.space,
        };
        let rights = rights::for_ours(manifests::NAMESPACE, &self.space, &ours);
        objects::apply_all(&self.admin, &rights).await
    }

    /// Creates another Cluster, reached through this wire.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn cluster(&self, name: &str, wire: &Wire) -> Result<()> {
        let account = format!("{name}-workload");
        self.allow(&account, &["get", "list", "watch", "patch"])
            .await?;
        self.give_kubeconfig(name, &account, wire).await?;
        self.apply(&json!({
            "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": { "name": name },
            "spec": { "controlPlaneRef": { "apiGroup": names::CONTROL_PLANE_GROUP, "kind": "KubeadmControlPlane", "name": "owner" } },
        }))
        .await
    }

    /// Creates a ServiceAccount with these verbs on Nodes, as the kubeconfig of a workload cluster
    /// would grant them.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn allow(&self, account: &str, verbs: &[&str]) -> Result<()> {
        let role = format!("{}-{account}", self.space);
        let rbac = "rbac.authorization.k8s.io";
        self.apply(&json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": account } }))
            .await?;
        let objects = [
            json!({
                "apiVersion": format!("{rbac}/v1"), "kind": "ClusterRole", "metadata": { "name": role },
                "rules": [
                    { "apiGroups": [""], "resources": ["nodes"], "verbs": verbs },
                    { "apiGroups": [""], "resources": ["pods"], "verbs": ["list", "watch"] },
                ],
            }),
            json!({
                "apiVersion": format!("{rbac}/v1"), "kind": "ClusterRoleBinding", "metadata": { "name": role },
                "roleRef": { "apiGroup": rbac, "kind": "ClusterRole", "name": role },
                "subjects": [{ "kind": "ServiceAccount", "name": account, "namespace": self.space }],
            }),
        ];
        objects::apply_all(&self.admin, &objects).await
    }

    /// Writes the kubeconfig Secret of a Cluster, with a token of this account.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn give_kubeconfig(&self, cluster: &str, account: &str, wire: &Wire) -> Result<()> {
        let content = self.kubeconfig(account, wire).await?;
        let value = ByteString(serde_json::to_vec(&content)?);
        let name = format!("{cluster}{}", names::KUBECONFIG_SUFFIX);
        self.apply(&json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": { "name": name }, "data": { names::KUBECONFIG_KEY: value },
        }))
        .await
    }

    /// A kubeconfig with a token of this account.
    ///
    /// # Errors
    /// When the account does not exist.
    pub async fn kubeconfig(&self, account: &str, wire: &Wire) -> Result<Kubeconfig> {
        let plane = plane().await?;
        let mut content = kubeconfig_of(plane, &self.admin, (&self.space, account)).await?;
        for cluster in content
            .clusters
            .iter_mut()
            .filter_map(|one| one.cluster.as_mut())
        {
            cluster.server = Some(format!("https://127.0.0.1:{}", wire.port));
        }
        Ok(content)
    }

    /// Applies an object in the namespace.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn apply(&self, object: &Value) -> Result<()> {
        let mut object = object.clone();
        object["metadata"]["namespace"] = json!(self.space);
        objects::apply(&self.admin, &object).await.map(drop)
    }

    /// Merges a change into an object of the namespace.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn change(&self, kind: &str, name: &str, change: Value) -> Result<()> {
        let api = self.api(kind)?;
        api.patch(name, &PatchParams::default(), &Patch::Merge(change))
            .await?;
        Ok(())
    }

    /// An object of the namespace.
    ///
    /// # Errors
    /// When it does not exist.
    pub async fn get(&self, kind: &str, name: &str) -> Result<DynamicObject> {
        Ok(self.api(kind)?.get(name).await?)
    }

    fn api(&self, kind: &str) -> Result<Api<DynamicObject>> {
        let kind = objects::kind(&format!("{}/v1beta2", group_of(kind)), kind)?;
        Ok(objects::api(&self.admin, &kind, Some(&self.space)))
    }

    /// Creates an owner of Machines, by its kind.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn owner(&self, kind: &str, name: &str) -> Result<()> {
        let group = group_of(kind);
        self.apply(&json!({
            "apiVersion": format!("{group}/v1beta2"), "kind": kind, "metadata": { "name": name },
            "spec": { "clusterName": self.space, "replicas": 1 },
        }))
        .await
    }

    /// Deletes an object of the namespace.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn delete(&self, kind: &str, name: &str) -> Result<()> {
        self.api(kind)?
            .delete(name, &DeleteParams::default())
            .await?;
        Ok(())
    }

    /// Nodes.
    #[must_use]
    pub fn nodes(&self) -> Api<Node> {
        Api::all(self.admin.clone())
    }

    /// Secrets of a namespace.
    #[must_use]
    pub fn secrets(&self, namespace: &str) -> Api<Secret> {
        Api::namespaced(self.admin.clone(), namespace)
    }

    /// Creates a Machine of a Cluster, with its InfraMachine and its Node, in the first version and
    /// with these labels.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn machine(&self, cluster: &str, name: &str, labels: Value) -> Result<()> {
        self.node(name).await?;
        self.apply(&json!({
            "apiVersion": format!("{INFRA_GROUP}/v1beta2"), "kind": "HostMachine", "metadata": { "name": name }, "spec": {},
        }))
        .await?;
        self.apply(&json!({
            "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine",
            "metadata": { "name": name, "labels": labels, "finalizers": ["careen.dev/test"] },
            "spec": {
                "clusterName": cluster, "version": FIRST.version, "providerID": format!("test://{name}"),
                "infrastructureRef": { "apiGroup": INFRA_GROUP, "kind": "HostMachine", "name": name },
            },
            "status": { "nodeRef": { "name": name } },
        }))
        .await
    }

    async fn node(&self, name: &str) -> Result<()> {
        let node = json!({ "metadata": { "name": name }, "spec": { "providerID": format!("test://{name}") } });
        let params = PostParams::default();
        self.nodes()
            .create(&params, &serde_json::from_value(node)?)
            .await?;
        let status = json!({
            "status": {
                "nodeInfo": {
                    "architecture": "amd64", "bootID": "b", "containerRuntimeVersion": "c", "kernelVersion": "k", "kubeProxyVersion": "",
                    "kubeletVersion": FIRST.version, "machineID": "m", "operatingSystem": "linux", "osImage": "o", "systemUUID": "s",
                },
                "conditions": [{ "type": "Ready", "status": "True", "reason": "Test", "message": "" }],
            },
        });
        let (how, status) = (PatchParams::default(), Patch::Strategic(status));
        self.nodes().patch_status(name, &how, &status).await?;
        Ok(())
    }

    /// Changes the Machine's version and requests it by annotation.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn ask(&self, name: &str) -> Result<()> {
        self.wants(name, json!({ names::ASK: "" })).await
    }

    /// Changes the Machine's version and marks the Machine as core does before it calls the hook.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn update(&self, name: &str) -> Result<()> {
        let marks =
            json!({ names::UPDATE_IN_PROGRESS: "", names::PENDING_HOOKS: names::UPDATE_MACHINE });
        self.wants(name, marks).await
    }

    async fn wants(&self, name: &str, annotations: Value) -> Result<()> {
        let change = json!({ "metadata": { "annotations": annotations }, "spec": { "version": LATEST.version } });
        self.change("Machine", name, change).await
    }
}

fn group_of(kind: &str) -> &'static str {
    match kind {
        "HostMachine" => INFRA_GROUP,
        "KubeadmControlPlane" => names::CONTROL_PLANE_GROUP,
        _ => names::CORE_GROUP,
    }
}

/// The name of the Secret with the certificate of a scene's replicas.
#[must_use]
pub fn certificate(space: &str) -> String {
    format!("{space}-tls")
}
