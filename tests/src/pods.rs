//! Pods and budgets of one test, in its own namespace.

use std::time::Duration;

use agent::access::RunningPod;
use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::{
    ConfigMap, Namespace as KubeNamespace, PersistentVolume, PersistentVolumeClaim, Pod,
    ServiceAccount,
};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::api::storage::v1::VolumeAttachment;
use kube::api::{Api, DeleteParams, EvictParams, ListParams, Patch, PatchParams, PostParams};
use kube::runtime::wait::await_condition;
use kube::{Client, ResourceExt};
use serde_json::{Value, json};

use crate::cluster::PATIENCE;
use crate::node::{TestNode, merge};

/// A namespace for pods of one Node.
pub struct Namespace {
    /// Its name.
    pub name: String,
    node: String,
    admin: Client,
}

impl Namespace {
    /// Creates a namespace with the name of the Node.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn new(node: &TestNode) -> Result<Self> {
        let named = json!({ "metadata": { "name": node.name } });
        let spaces: Api<KubeNamespace> = Api::all(node.admin.clone());
        spaces
            .create(&PostParams::default(), &serde_json::from_value(named)?)
            .await?;
        let this = Self {
            name: node.name.clone(),
            node: node.name.clone(),
            admin: node.admin.clone(),
        };
        // The controller creates the account a moment later. Without it, the API server rejects
        // pods.
        let accounts: Api<ServiceAccount> = Api::namespaced(this.admin.clone(), &this.name);
        let there = await_condition(accounts, "default", |account: Option<&ServiceAccount>| {
            account.is_some()
        });
        tokio::time::timeout(PATIENCE, there)
            .await
            .context("no service account")??;
        Ok(this)
    }

    fn pods(&self) -> Api<Pod> {
        Api::namespaced(self.admin(), &self.name)
    }

    /// A client that may do everything.
    #[must_use]
    pub fn admin(&self) -> Client {
        self.admin.clone()
    }

    /// Asks for a dry run of the eviction of this pod, and waits for its answer for a moment.
    pub async fn rehearse_eviction(&self, name: &str) {
        let dry = EvictParams {
            post_options: PostParams {
                dry_run: true,
                ..PostParams::default()
            },
            ..EvictParams::default()
        };
        let asked = async { self.pods().evict(name, &dry).await };
        let _ = tokio::time::timeout(Duration::from_millis(200), asked).await;
    }

    /// Creates a pod on the Node. Its grace period is 0, because no kubelet ends it.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn run(&self, name: &str, more: Value) -> Result<()> {
        let mut pod = json!({
            "metadata": { "name": name, "labels": { "app": name } },
            "spec": {
                "nodeName": self.node, "terminationGracePeriodSeconds": 0,
                "containers": [{ "name": "c", "image": "i" }],
            },
        });
        merge(&mut pod, more);
        self.pods()
            .create(&PostParams::default(), &serde_json::from_value(pod)?)
            .await?;
        let ready = json!({ "type": "Ready", "status": "True" });
        self.set_status(name, json!({ "phase": "Running", "conditions": [ready] }))
            .await
    }

    /// The owner reference of a pod that belongs to a DaemonSet.
    #[must_use]
    pub fn owned_by_a_daemonset() -> Value {
        let owner = json!({ "apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": "u", "controller": true });
        json!({ "metadata": { "ownerReferences": [owner], "finalizers": ["careen.dev/test"] } })
    }

    /// Keeps one pod on the Node as its controller does: a deleted pod has a successor at once,
    /// under the next name. The garbage collector deletes pods whose owner does not exist, so the
    /// owner is an object that no other controller acts on.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn keep_one(&self, name: &str, mut more: Value) -> Result<()> {
        let maps: Api<ConfigMap> = Api::namespaced(self.admin.clone(), &self.name);
        let owner = serde_json::from_value(json!({ "metadata": { "name": name } }))?;
        let owner = maps.create(&PostParams::default(), &owner).await?;
        let owner = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": owner.uid(), "controller": true,
        });
        merge(
            &mut more,
            json!({ "metadata": { "ownerReferences": [owner] } }),
        );
        for number in 0.. {
            let pod = format!("{name}-{number}");
            self.run(&pod, more.clone()).await?;
            while self.pods().get_opt(&pod).await?.is_some() {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
        Ok(())
    }

    /// Creates a claim that is bound to a CSI volume with this handle.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn claim(&self, name: &str, driver: &str, handle: &str) -> Result<()> {
        let size = json!({ "storage": "1Gi" });
        let modes = json!(["ReadWriteOnce"]);
        let volume = format!("{}-{name}", self.name);
        let volumes: Api<PersistentVolume> = Api::all(self.admin.clone());
        let body = json!({
            "metadata": { "name": volume },
            "spec": {
                "capacity": size, "accessModes": modes,
                "claimRef": { "namespace": self.name, "name": name },
                "csi": { "driver": driver, "volumeHandle": handle },
            },
        });
        volumes
            .create(&PostParams::default(), &serde_json::from_value(body)?)
            .await?;
        let claims: Api<PersistentVolumeClaim> = Api::namespaced(self.admin.clone(), &self.name);
        let body = json!({
            "metadata": { "name": name },
            "spec": {
                "volumeName": volume, "storageClassName": "", "accessModes": modes,
                "resources": { "requests": size },
            },
        });
        claims
            .create(&PostParams::default(), &serde_json::from_value(body)?)
            .await?;
        Ok(())
    }

    /// Attaches a volume to the Node, as the attach-detach controller and a driver do. `name` is
    /// the name that Kubernetes gives to the attachment.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn attach(&self, name: &str, driver: &str, volume: &str) -> Result<()> {
        let body = json!({
            "metadata": { "name": name },
            "spec": {
                "attacher": driver, "nodeName": self.node,
                "source": { "persistentVolumeName": volume },
            },
        });
        let attachment = serde_json::from_value(body)?;
        self.attachments()
            .create(&PostParams::default(), &attachment)
            .await?;
        Ok(())
    }

    /// Deletes an attachment, as a driver does that has detached the volume.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn detach(&self, name: &str) -> Result<()> {
        self.attachments()
            .delete(name, &DeleteParams::default())
            .await?;
        Ok(())
    }

    fn attachments(&self) -> Api<VolumeAttachment> {
        Api::all(self.admin.clone())
    }

    /// Deletes the namespace itself. Its pods end after their grace period. Returns when the server
    /// accepts no new objects in it.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn delete(&self) -> Result<()> {
        let spaces: Api<KubeNamespace> = Api::all(self.admin.clone());
        spaces.delete(&self.name, &DeleteParams::default()).await?;
        let closed = async {
            while self.lets_in_something_new().await? {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            Ok(())
        };
        tokio::time::timeout(PATIENCE, closed)
            .await
            .context("the namespace stays open")?
    }

    async fn lets_in_something_new(&self) -> Result<bool> {
        let maps: Api<ConfigMap> = Api::namespaced(self.admin.clone(), &self.name);
        let dry = PostParams {
            dry_run: true,
            ..PostParams::default()
        };
        let probe = serde_json::from_value(json!({ "metadata": { "name": "probe" } }))?;
        match maps.create(&dry, &probe).await {
            Ok(_) => Ok(true),
            Err(kube::Error::Api(status)) if status.code == 403 => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Removes a pod that is being deleted, as its kubelet does when its containers are gone.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn end(&self, name: &str) -> Result<()> {
        let now = DeleteParams::default().grace_period(0);
        self.pods().delete(name, &now).await?;
        Ok(())
    }

    /// A pod of the Node as the container runtime shows it.
    ///
    /// # Errors
    /// When the API server does not have the pod.
    pub async fn running(&self, name: &str, grace: u64) -> Result<RunningPod> {
        let pod = self.pods().get(name).await?;
        Ok(RunningPod {
            namespace: self.name.clone(),
            name: name.to_owned(),
            uid: pod.uid().unwrap_or_default(),
            grace: Some(grace),
        })
    }

    /// Waits until a pod exists.
    ///
    /// # Errors
    /// When it does not come.
    pub async fn until_there(&self, name: &str) -> Result<()> {
        let wait = await_condition(self.pods(), name, |pod: Option<&Pod>| pod.is_some());
        tokio::time::timeout(PATIENCE, wait)
            .await
            .context("nobody creates the pod")??;
        Ok(())
    }

    /// Waits until the deletion of a pod starts.
    ///
    /// # Errors
    /// When the deletion does not start.
    pub async fn until_ending(&self, name: &str) -> Result<()> {
        let ending =
            |pod: Option<&Pod>| pod.is_some_and(|pod| pod.metadata.deletion_timestamp.is_some());
        let wait = await_condition(self.pods(), name, ending);
        tokio::time::timeout(PATIENCE, wait)
            .await
            .context("nobody deletes the pod")??;
        Ok(())
    }

    /// Makes a pod succeed.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn finish(&self, name: &str) -> Result<()> {
        self.set_status(name, json!({ "phase": "Succeeded" })).await
    }

    /// Sets a pod's status, as its kubelet does.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn set_status(&self, name: &str, status: Value) -> Result<()> {
        let body = Patch::Strategic(json!({ "status": status }));
        self.pods()
            .patch_status(name, &PatchParams::default(), &body)
            .await?;
        Ok(())
    }

    /// Creates a budget that requires this many pods of an app. Returns when its controller has
    /// processed it.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn budget(&self, name: &str, app: &str, min_available: u32) -> Result<()> {
        let budgets: Api<PodDisruptionBudget> = Api::namespaced(self.admin.clone(), &self.name);
        let budget = json!({
            "metadata": { "name": name },
            "spec": { "minAvailable": min_available, "selector": { "matchLabels": { "app": app } } },
        });
        budgets
            .create(&PostParams::default(), &serde_json::from_value(budget)?)
            .await?;
        let counted = |budget: Option<&PodDisruptionBudget>| {
            let status = budget.and_then(|budget| budget.status.as_ref());
            status.is_some_and(|status| status.current_healthy > 0)
        };
        let wait = await_condition(budgets, name, counted);
        tokio::time::timeout(PATIENCE, wait)
            .await
            .context("the budget's controller is asleep")??;
        Ok(())
    }

    /// Deletes a budget.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn drop_budget(&self, name: &str) -> Result<()> {
        let budgets: Api<PodDisruptionBudget> = Api::namespaced(self.admin.clone(), &self.name);
        budgets.delete(name, &DeleteParams::default()).await?;
        Ok(())
    }

    /// The names of the existing pods.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn names(&self) -> Result<Vec<String>> {
        let pods = self.pods().list(&ListParams::default()).await?;
        Ok(pods.into_iter().map(|pod| pod.name_any()).collect())
    }
}
