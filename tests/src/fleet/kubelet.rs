//! What a kubelet reports about a host: its Node, a heartbeat, and the static pods of a control
//! plane.

use std::time::Duration;

use anyhow::Result;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Node, Pod};
use k8s_openapi::jiff::Timestamp;
use kube::Client;
use kube::api::{Api, DeleteParams, Patch, PatchParams};
use serde_json::{Value, json};
use testkit::cluster_api::objects;

/// The default of kubelet is 10 s. The controller manager gives up on a Node after 50 s without a
/// heartbeat.
pub const HEARTBEAT: Duration = Duration::from_secs(10);

/// The static pods of a control plane that Cluster API checks.
pub const COMPONENTS: [&str; 3] = [
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
];

/// The conditions of a healthy node.
pub const HEALTHY: [(&str, &str); 4] = [
    ("Ready", "True"),
    ("MemoryPressure", "False"),
    ("DiskPressure", "False"),
    ("PIDPressure", "False"),
];

/// The kubelet of one host.
#[derive(Clone)]
pub struct Kubelet {
    /// The administrator. The tests do not check what it writes here.
    pub admin: Client,
    /// The Node's name.
    pub name: String,
    /// Whether the node runs a control plane.
    pub control_plane: bool,
}

impl Kubelet {
    /// Registers the Node, or adds what became known about it later.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn register(&self, provider_id: Option<&str>) -> Result<()> {
        let role = "node-role.kubernetes.io/control-plane";
        let (labels, taints) = if self.control_plane {
            (
                json!({ role: "" }),
                json!([{ "key": role, "effect": "NoSchedule" }]),
            )
        } else {
            (json!({}), Value::Null)
        };
        let node = json!({
            "apiVersion": "v1", "kind": "Node",
            "metadata": { "name": self.name, "labels": labels },
            "spec": { "providerID": provider_id, "taints": taints },
        });
        objects::apply(&self.admin, &node).await?;
        Ok(())
    }

    /// Reports a boot and its version, and that the Node is Ready.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn says(&self, boot: &str, version: &str) -> Result<()> {
        let info = json!({
            "architecture": "amd64", "bootID": boot, "containerRuntimeVersion": "containerd://2", "kernelVersion": "6.12",
            "kubeProxyVersion": "", "kubeletVersion": version, "machineID": "m", "operatingSystem": "linux",
            "osImage": "test", "systemUUID": "s",
        });
        let conditions = HEALTHY.map(|(word, status)| {
            json!({ "type": word, "status": status, "reason": "Kubelet", "message": "" })
        });
        let status = json!({ "status": { "nodeInfo": info, "conditions": conditions } });
        self.nodes()
            .patch_status(
                &self.name,
                &PatchParams::default(),
                &Patch::Strategic(status),
            )
            .await?;
        if self.control_plane {
            for component in COMPONENTS {
                self.static_pod(component, version).await?;
            }
        }
        self.beat().await
    }

    /// Reports the shutdown of the node, as a kubelet with a shutdown lock does.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn says_it_goes_down(&self) -> Result<()> {
        let ready = json!({
            "type": "Ready", "status": "False", "reason": "KubeletNotReady", "message": "node is shutting down",
        });
        let status = Patch::Strategic(json!({ "status": { "conditions": [ready] } }));
        self.nodes()
            .patch_status(&self.name, &PatchParams::default(), &status)
            .await?;
        Ok(())
    }

    /// Renews the lease.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn beat(&self) -> Result<()> {
        let now = format!("{:.6}", Timestamp::now());
        let lease = json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": { "name": self.name, "namespace": "kube-node-lease" },
            "spec": { "holderIdentity": self.name, "leaseDurationSeconds": 40, "renewTime": now },
        });
        objects::apply(&self.admin, &lease).await?;
        Ok(())
    }

    /// Removes everything that it has registered.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn forget(&self) -> Result<()> {
        let now = DeleteParams::default().grace_period(0);
        for component in COMPONENTS.iter().filter(|_| self.control_plane) {
            gone(self.pods().delete(&self.pod(component), &now).await)?;
        }
        let leases: Api<Lease> = Api::namespaced(self.admin.clone(), "kube-node-lease");
        gone(leases.delete(&self.name, &now).await)?;
        gone(self.nodes().delete(&self.name, &now).await)
    }

    /// A mirror pod, as the kubelet shows a static pod. Its image gives its version.
    async fn static_pod(&self, component: &str, version: &str) -> Result<()> {
        let name = self.pod(component);
        let image = format!("registry.k8s.io/{component}:{version}");
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {
                "name": name, "namespace": "kube-system",
                "labels": { "component": component, "tier": "control-plane" },
                "annotations": { "kubernetes.io/config.mirror": "0", "kubernetes.io/config.source": "file" },
            },
            "spec": {
                "nodeName": self.name, "hostNetwork": true, "enableServiceLinks": false,
                "containers": [{ "name": component, "image": image }],
            },
        });
        objects::apply(&self.admin, &pod).await?;
        let ready = json!({ "type": "Ready", "status": "True" });
        let status = json!({ "status": { "phase": "Running", "conditions": [ready] } });
        self.pods()
            .patch_status(&name, &PatchParams::default(), &Patch::Merge(status))
            .await?;
        Ok(())
    }

    fn pod(&self, component: &str) -> String {
        format!("{component}-{}", self.name)
    }

    fn nodes(&self) -> Api<Node> {
        Api::all(self.admin.clone())
    }

    fn pods(&self) -> Api<Pod> {
        Api::namespaced(self.admin.clone(), "kube-system")
    }
}

/// An object that does not exist counts as removed.
fn gone<T>(deleted: kube::Result<T>) -> Result<()> {
    match deleted {
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        Err(error) => Err(error.into()),
        Ok(_) => Ok(()),
    }
}
