//! A MachinePool of a Cluster on prepared hosts.

use anyhow::Result;
use kube::api::{DynamicObject, GroupVersionKind};
use serde_json::{Value, json};

use super::cluster::Cluster;
use super::objects;

const BOOTSTRAP: &str = "bootstrap.cluster.x-k8s.io";
const CAREEN: &str = "infrastructure.cluster.x-k8s.io";

impl Cluster {
    /// Creates a MachinePool on the hosts that fit this template, with its bootstrap configuration
    /// and its CareenMachinePool.
    ///
    /// # Errors
    ///
    /// Fails when the API server refuses.
    pub async fn pool_on_hosts(
        &self,
        name: &str,
        (replicas, version): (u32, &str),
        template: Value,
    ) -> Result<DynamicObject> {
        let metadata = json!({ "name": name, "namespace": self.name });
        let node = json!({ "nodeRegistration": { "name": "{{ ds.meta_data.local_hostname }}" } });
        let config = json!({
            "apiVersion": format!("{BOOTSTRAP}/v1beta2"), "kind": "KubeadmConfig", "metadata": metadata,
            "spec": { "joinConfiguration": node },
        });
        objects::apply(&self.client, &config).await?;
        let hosts = json!({
            "apiVersion": format!("{CAREEN}/v1alpha1"), "kind": "CareenMachinePool", "metadata": metadata,
            "spec": { "template": template },
        });
        objects::apply(&self.client, &hosts).await?;
        let reference =
            |group: &str, kind: &str| json!({ "apiGroup": group, "kind": kind, "name": name });
        let object = json!({
            "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachinePool", "metadata": metadata,
            "spec": {
                "clusterName": self.name, "replicas": replicas,
                "template": { "spec": {
                    "clusterName": self.name, "version": version,
                    "bootstrap": { "configRef": reference(BOOTSTRAP, "KubeadmConfig") },
                    "infrastructureRef": reference(CAREEN, "CareenMachinePool"),
                } },
            },
        });
        objects::apply(&self.client, &object).await
    }

    /// Requests another number of machines of a MachinePool.
    ///
    /// # Errors
    ///
    /// Fails when the API server refuses.
    pub async fn scale_pool(&self, name: &str, replicas: u32) -> Result<()> {
        let change = json!({ "spec": { "replicas": replicas } });
        self.change_pool(name, change).await
    }

    /// Changes a MachinePool with a merge patch.
    ///
    /// # Errors
    ///
    /// Fails when the API server refuses.
    pub async fn change_pool(&self, name: &str, change: Value) -> Result<()> {
        let kind = GroupVersionKind::gvk("cluster.x-k8s.io", "v1beta2", "MachinePool");
        self.change(&kind, name, change).await
    }
}
