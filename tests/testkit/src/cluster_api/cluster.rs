//! A Cluster of Cluster API whose workload API server is the one that holds it.
//!
//! One API server has both roles: Cluster API reaches it through `<cluster>-kubeconfig` like any
//! other. The cluster's secrets contain the control plane's own certificates. So the API server
//! accepts what the real kubeadm bootstrap and control plane managers issue from them.

use std::fs;

use anyhow::{Result, ensure};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use k8s_openapi::jiff::Timestamp;
use kube::Client;
use kube::api::{DeleteParams, DynamicObject, GroupVersionKind, Patch, PatchParams};
use serde_json::{Value, json};

use super::infrastructure::{GROUP, VERSION};
use super::{objects, probe};
use crate::control_plane::ControlPlane;

const BOOTSTRAP: &str = "bootstrap.cluster.x-k8s.io";
const CONTROL_PLANE: &str = "controlplane.cluster.x-k8s.io";
const CAREEN: &str = "infrastructure.cluster.x-k8s.io";
const RIG_CONTROL_PLANE: &str = "controlplane.rig.careen.dev";

/// A Cluster. Its name is also the name of its namespace.
pub struct Cluster {
    /// The administrator of the API server.
    pub client: Client,
    /// Name and namespace.
    pub name: String,
}

/// The limits of a rollout.
#[derive(Clone, Copy, Debug)]
pub struct Rolling {
    /// How many machines above the requested number.
    pub max_surge: u32,
    /// How many may be unavailable; a KubeadmControlPlane has no such setting.
    pub max_unavailable: u32,
}

impl Cluster {
    /// Creates the Cluster with a simulated control plane in this version, for tests of workers.
    ///
    /// # Errors
    ///
    /// Fails when the API server refuses.
    pub async fn with_workers(plane: &ControlPlane, name: &str, version: &str) -> Result<Self> {
        let this = Self::prepare(plane, name).await?;
        this.apply_cluster(plane, RIG_CONTROL_PLANE, "RigControlPlane")
            .await?;
        this.control_plane_reaches(version).await?;
        Ok(this)
    }

    /// The same on prepared hosts, which careen-provider's infrastructure provider gives. They reach
    /// the API server at `server`.
    ///
    /// # Errors
    ///
    /// Fails when the API server refuses.
    pub async fn on_prepared_hosts(
        plane: &ControlPlane,
        server: &str,
        (name, version): (&str, &str),
    ) -> Result<Self> {
        let this = Self::with_secrets(plane, name).await?;
        let object = json!({
            "apiVersion": format!("{CAREEN}/v1alpha1"), "kind": "CareenCluster", "metadata": this.named(name),
            "spec": { "controlPlaneEndpoint": { "host": server, "port": plane.api_port() } },
        });
        objects::apply(&this.client, &object).await?;
        let control_plane = (RIG_CONTROL_PLANE, "RigControlPlane");
        let endpoint = json!({ "host": server, "port": plane.api_port() });
        this.apply_cluster_of(endpoint, control_plane, (CAREEN, "CareenCluster"))
            .await?;
        this.control_plane_reaches(version).await?;
        Ok(this)
    }

    /// Sets the version of the simulated control plane. Workers may not be newer, and kubeadm joins
    /// only nodes of its own minor.
    ///
    /// # Errors
    ///
    /// Fails when the API server refuses.
    pub async fn control_plane_reaches(&self, version: &str) -> Result<()> {
        let object = json!({
            "apiVersion": format!("{RIG_CONTROL_PLANE}/{VERSION}"), "kind": "RigControlPlane",
            "metadata": self.named(&self.name), "spec": { "version": version },
        });
        objects::apply(&self.client, &object).await?;
        let status = json!({
            "version": version, "externalManagedControlPlane": true,
            "initialization": { "controlPlaneInitialized": true },
            "conditions": [true_now("Available"), true_now("Ready")],
        });
        self.set_status(RIG_CONTROL_PLANE, "RigControlPlane", status)
            .await
    }

    /// Creates the Cluster with a KubeadmControlPlane of three machines.
    ///
    /// Its etcd is external, because the nodes have no etcd pods whose health the manager could
    /// check.
    ///
    /// # Errors
    ///
    /// Fails when the API server refuses.
    pub async fn with_control_plane(
        plane: &ControlPlane,
        name: &str,
        version: &str,
        max_surge: u32,
    ) -> Result<Self> {
        let this = Self::prepare(plane, name).await?;
        this.template(name, json!({})).await?;
        let etcd = json!({
            "endpoints": ["https://127.0.0.1:2379"],
            "caFile": "/etc/kubernetes/pki/etcd/ca.crt",
            "certFile": "/etc/kubernetes/pki/apiserver-etcd-client.crt",
            "keyFile": "/etc/kubernetes/pki/apiserver-etcd-client.key",
        });
        let object = json!({
            "apiVersion": format!("{CONTROL_PLANE}/v1beta2"), "kind": "KubeadmControlPlane",
            "metadata": this.named(name),
            "spec": {
                "replicas": 3, "version": version,
                "rollout": { "strategy": { "type": "RollingUpdate", "rollingUpdate": { "maxSurge": max_surge } } },
                "machineTemplate": { "spec": { "infrastructureRef": machine_template(name) } },
                "kubeadmConfigSpec": { "clusterConfiguration": { "etcd": { "external": etcd } } },
            },
        });
        objects::apply(&this.client, &object).await?;
        this.apply_cluster(plane, CONTROL_PLANE, "KubeadmControlPlane")
            .await?;
        Ok(this)
    }

    /// Creates a MachineDeployment with its own templates, all with the same name.
    ///
    /// # Errors
    ///
    /// Fails when the API server refuses.
    pub async fn deployment(
        &self,
        name: &str,
        (replicas, version): (u32, &str),
        rolling: Rolling,
    ) -> Result<DynamicObject> {
        self.template(name, json!({})).await?;
        let join = json!({ "nodeRegistration": { "criSocket": "unix:///run/containerd/containerd.sock" } });
        let config = json!({
            "apiVersion": format!("{BOOTSTRAP}/v1beta2"), "kind": "KubeadmConfigTemplate", "metadata": self.named(name),
            "spec": { "template": { "spec": { "joinConfiguration": join } } },
        });
        objects::apply(&self.client, &config).await?;
        let reference =
            json!({ "apiGroup": BOOTSTRAP, "kind": "KubeadmConfigTemplate", "name": name });
        let (max_surge, max_unavailable) = (rolling.max_surge, rolling.max_unavailable);
        let object = json!({
            "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineDeployment", "metadata": self.named(name),
            "spec": {
                "clusterName": self.name, "replicas": replicas, "selector": {},
                "rollout": { "strategy": {
                    "type": "RollingUpdate",
                    "rollingUpdate": { "maxSurge": max_surge, "maxUnavailable": max_unavailable },
                } },
                "template": { "spec": {
                    "clusterName": self.name, "version": version,
                    "bootstrap": { "configRef": reference }, "infrastructureRef": machine_template(name),
                } },
            },
        });
        objects::apply(&self.client, &object).await
    }

    /// Creates a MachineDeployment on prepared hosts. The CareenMachineTemplate has its name.
    ///
    /// # Errors
    ///
    /// Fails when the API server refuses.
    pub async fn deployment_on_hosts(
        &self,
        name: &str,
        (replicas, version): (u32, &str),
    ) -> Result<DynamicObject> {
        let node = json!({ "nodeRegistration": { "name": "{{ ds.meta_data.local_hostname }}" } });
        let config = json!({
            "apiVersion": format!("{BOOTSTRAP}/v1beta2"), "kind": "KubeadmConfigTemplate", "metadata": self.named(name),
            "spec": { "template": { "spec": { "joinConfiguration": node } } },
        });
        objects::apply(&self.client, &config).await?;
        let bootstrap =
            json!({ "apiGroup": BOOTSTRAP, "kind": "KubeadmConfigTemplate", "name": name });
        let hosts = json!({ "apiGroup": CAREEN, "kind": "CareenMachineTemplate", "name": name });
        let object = json!({
            "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineDeployment", "metadata": self.named(name),
            "spec": {
                "clusterName": self.name, "replicas": replicas, "selector": {},
                "template": { "spec": {
                    "clusterName": self.name, "version": version,
                    "bootstrap": { "configRef": bootstrap }, "infrastructureRef": hosts,
                } },
            },
        });
        objects::apply(&self.client, &object).await
    }

    /// Changes the version, or anything else, of an object of this Cluster with a merge patch.
    ///
    /// # Errors
    ///
    /// Fails when the API server refuses.
    pub async fn change(&self, kind: &GroupVersionKind, name: &str, change: Value) -> Result<()> {
        let api = objects::api(&self.client, kind, Some(&self.name));
        let how = PatchParams::default();
        api.patch(name, &how, &Patch::Merge(change)).await?;
        Ok(())
    }

    /// Requests another version of a MachineDeployment.
    ///
    /// # Errors
    ///
    /// Fails when the API server refuses.
    pub async fn upgrade_deployment(&self, name: &str, version: &str) -> Result<()> {
        let change = json!({ "spec": { "template": { "spec": { "version": version } } } });
        self.change(&deployment_kind(), name, change).await
    }

    /// Requests another number of Machines of a MachineDeployment.
    ///
    /// # Errors
    ///
    /// Fails when the API server refuses.
    pub async fn scale_deployment(&self, name: &str, replicas: u32) -> Result<()> {
        let change = json!({ "spec": { "replicas": replicas } });
        self.change(&deployment_kind(), name, change).await
    }

    /// Creates a MachineHealthCheck for a MachineDeployment. It replaces a Machine whose Node is
    /// not Ready for this many seconds.
    ///
    /// # Errors
    ///
    /// Fails when the API server refuses.
    pub async fn health_check(&self, deployment: &str, seconds: u32) -> Result<()> {
        let bad =
            |status: &str| json!({ "type": "Ready", "status": status, "timeoutSeconds": seconds });
        let object = json!({
            "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineHealthCheck", "metadata": self.named(deployment),
            "spec": {
                "clusterName": self.name,
                "selector": { "matchLabels": { "cluster.x-k8s.io/deployment-name": deployment } },
                "checks": { "unhealthyNodeConditions": [bad("False"), bad("Unknown")] },
            },
        });
        objects::apply(&self.client, &object).await?;
        Ok(())
    }

    /// Requests another version of the KubeadmControlPlane.
    ///
    /// # Errors
    ///
    /// Fails when the API server refuses.
    pub async fn upgrade_control_plane(&self, version: &str) -> Result<()> {
        let change = json!({ "spec": { "version": version } });
        self.change(&control_plane_kind(), &self.name, change).await
    }

    /// Deletes the Cluster and waits until Cluster API has removed all of it.
    ///
    /// # Errors
    ///
    /// Fails when something stays.
    pub async fn remove(&self) -> Result<()> {
        let kind = GroupVersionKind::gvk("cluster.x-k8s.io", "v1beta2", "Cluster");
        let api = objects::api(&self.client, &kind, Some(&self.name));
        api.delete(&self.name, &DeleteParams::default()).await?;
        let ask = || async {
            let left = api.get_opt(&self.name).await?;
            ensure!(left.is_none(), "{:?}", left.map(|cluster| cluster.data));
            Ok(())
        };
        objects::until("the Cluster gone", probe::PATIENCE, ask).await
    }

    /// Creates a RigMachineTemplate.
    ///
    /// # Errors
    ///
    /// Fails when the API server refuses.
    pub async fn template(&self, name: &str, spec: Value) -> Result<()> {
        let object = json!({
            "apiVersion": format!("{GROUP}/{VERSION}"), "kind": "RigMachineTemplate", "metadata": self.named(name),
            "spec": { "template": { "spec": spec } },
        });
        objects::apply(&self.client, &object).await?;
        Ok(())
    }

    /// Namespace, secrets and the RigCluster.
    async fn prepare(plane: &ControlPlane, name: &str) -> Result<Self> {
        let this = Self::with_secrets(plane, name).await?;
        this.rig_cluster(plane).await?;
        Ok(this)
    }

    /// Its namespace, and in it the Secrets of a Cluster whose control plane runs already.
    ///
    /// # Errors
    ///
    /// Fails when the API server refuses.
    pub async fn with_secrets(plane: &ControlPlane, name: &str) -> Result<Self> {
        let this = Self {
            client: plane.client().await?,
            name: name.to_owned(),
        };
        let namespace =
            json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
        objects::apply(&this.client, &namespace).await?;
        this.secret(
            "kubeconfig",
            json!({ "value": base64(plane, "kubeconfigs/admin.conf")? }),
        )
        .await?;
        let pairs = [
            ("ca", "ca"),
            ("proxy", "front-proxy-ca"),
            ("etcd", "etcd/ca"),
            ("apiserver-etcd-client", "apiserver-etcd-client"),
        ];
        for (purpose, file) in pairs {
            let (certificate, key) = (format!("pki/{file}.crt"), format!("pki/{file}.key"));
            let data =
                json!({ "tls.crt": base64(plane, &certificate)?, "tls.key": base64(plane, &key)? });
            this.secret(purpose, data).await?;
        }
        let accounts = json!({ "tls.crt": base64(plane, "pki/sa.pub")?, "tls.key": base64(plane, "pki/sa.key")? });
        this.secret("sa", accounts).await?;
        Ok(this)
    }

    async fn rig_cluster(&self, plane: &ControlPlane) -> Result<()> {
        let object = json!({
            "apiVersion": format!("{GROUP}/{VERSION}"), "kind": "RigCluster", "metadata": self.named(&self.name),
            "spec": { "controlPlaneEndpoint": { "host": "127.0.0.1", "port": plane.api_port() } },
        });
        objects::apply(&self.client, &object).await?;
        let status =
            json!({ "initialization": { "provisioned": true }, "conditions": [true_now("Ready")] });
        self.set_status(GROUP, "RigCluster", status).await
    }

    async fn apply_cluster(&self, plane: &ControlPlane, group: &str, kind: &str) -> Result<()> {
        let endpoint = json!({ "host": "127.0.0.1", "port": plane.api_port() });
        self.apply_cluster_of(endpoint, (group, kind), (GROUP, "RigCluster"))
            .await
    }

    async fn apply_cluster_of(
        &self,
        endpoint: Value,
        (group, kind): (&str, &str),
        (of_hosts, cluster): (&str, &str),
    ) -> Result<()> {
        let object = json!({
            "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": self.named(&self.name),
            "spec": {
                "controlPlaneEndpoint": endpoint,
                "controlPlaneRef": { "apiGroup": group, "kind": kind, "name": self.name },
                "infrastructureRef": { "apiGroup": of_hosts, "kind": cluster, "name": self.name },
            },
        });
        objects::apply(&self.client, &object).await?;
        Ok(())
    }

    async fn secret(&self, purpose: &str, data: Value) -> Result<()> {
        let mut metadata = self.named(&format!("{}-{purpose}", self.name));
        metadata["labels"] = json!({ "cluster.x-k8s.io/cluster-name": self.name });
        let object = json!({
            "apiVersion": "v1", "kind": "Secret", "type": "cluster.x-k8s.io/secret", "metadata": metadata, "data": data,
        });
        objects::apply(&self.client, &object).await?;
        Ok(())
    }

    async fn set_status(&self, group: &str, kind: &str, status: Value) -> Result<()> {
        let kind = objects::kind(&format!("{group}/{VERSION}"), kind)?;
        let api = objects::api(&self.client, &kind, Some(&self.name));
        let patch = Patch::Merge(json!({ "status": status }));
        api.patch_status(&self.name, &PatchParams::default(), &patch)
            .await?;
        Ok(())
    }

    fn named(&self, name: &str) -> Value {
        json!({ "name": name, "namespace": self.name })
    }
}

/// The kind of a MachineDeployment.
#[must_use]
pub fn deployment_kind() -> GroupVersionKind {
    GroupVersionKind::gvk("cluster.x-k8s.io", "v1beta2", "MachineDeployment")
}

/// The kind of a KubeadmControlPlane.
#[must_use]
pub fn control_plane_kind() -> GroupVersionKind {
    GroupVersionKind::gvk(CONTROL_PLANE, "v1beta2", "KubeadmControlPlane")
}

fn machine_template(name: &str) -> Value {
    json!({ "apiGroup": GROUP, "kind": "RigMachineTemplate", "name": name })
}

fn base64(plane: &ControlPlane, file: &str) -> Result<String> {
    Ok(STANDARD.encode(fs::read(plane.dir().join(file))?))
}

fn true_now(condition: &str) -> Value {
    let now = Timestamp::now().to_string();
    json!({ "type": condition, "status": "True", "reason": condition, "message": "", "lastTransitionTime": now })
}
