//! What an agent writes to its Node, what core sends when it calls for a Machine, and the
//! revocation of a credential.

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::authentication::v1::SelfSubjectReview;
use k8s_openapi::api::core::v1::{Node, ServiceAccount};
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config, ResourceExt};
use serde_json::{Value, json};
use upgrade::names;

use super::{History, Management};
use crate::caller::update_call;
use crate::fleet::images::LATEST;

impl Management {
    /// Reports that the agent works on this request. Its node is cordoned.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn agent_works(&self, node: &str, id: &str, phase: &str) -> Result<()> {
        let status = json!({ "id": id, "phase": phase, "percent": 60, "tries": 1, "reached": [] });
        self.answer(node, "InProgress", &status, true).await
    }

    /// Reports that the agent has failed for this reason. Its node is uncordoned.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn agent_fails(&self, node: &str, id: &str, code: &str) -> Result<()> {
        let status = json!({ "id": id, "phase": "Failed", "percent": 60, "code": code, "tries": 1, "reached": [] });
        self.answer(node, "Failed", &status, false).await
    }

    /// Reports that the upgrade of a member of the control plane has halted. Its node stays cordoned
    /// and keeps the lock.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn agent_halts(&self, node: &str, id: &str) -> Result<()> {
        let status = json!({
            "id": id, "phase": "Halted", "percent": 100, "code": "ControlPlaneHurt", "reason": "its etcd is away",
            "tries": 1, "reached": [], "controlPlane": { "locked": true },
        });
        self.answer(node, "Failed", &status, true).await
    }

    /// Reports that the agent has upgraded its node to the requested version. The node is
    /// uncordoned.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn agent_upgrades(&self, node: &str, id: &str) -> Result<()> {
        let version = json!({ "status": { "nodeInfo": { "kubeletVersion": LATEST.version } } });
        let (how, version) = (PatchParams::default(), Patch::Strategic(version));
        self.nodes().patch_status(node, &how, &version).await?;
        let status =
            json!({ "id": id, "phase": "Upgraded", "percent": 100, "tries": 1, "reached": [] });
        self.answer(node, "Upgraded", &status, false).await
    }

    async fn answer(&self, node: &str, word: &str, status: &Value, cordoned: bool) -> Result<()> {
        let annotations = json!({ names::ANSWER: word, names::STATUS: status.to_string() });
        let change = json!({ "metadata": { "annotations": annotations }, "spec": { "unschedulable": cordoned } });
        let how = PatchParams::default();
        self.nodes()
            .patch(node, &how, &Patch::Merge(change))
            .await?;
        Ok(())
    }

    /// The request ids of the Node from now on.
    ///
    /// # Errors
    /// When the Node does not exist.
    pub async fn requests_of(&self, node: &str) -> Result<History> {
        let id = |node: &Node| {
            let id = node.annotations().get(names::UPGRADE_ID);
            id.cloned().unwrap_or_default()
        };
        History::of(self.nodes(), node, id).await
    }

    /// What core sends when it calls UpdateMachine for a Machine of this scene.
    #[must_use]
    pub fn update_call(&self, machine: &str) -> Value {
        update_call((&self.space, machine), "HostMachine", LATEST.version)
    }

    /// The kubeconfig in the kubeconfig Secret of a Cluster.
    ///
    /// # Errors
    /// When the Secret does not exist.
    pub async fn kubeconfig_in_use(&self, cluster: &str) -> Result<Kubeconfig> {
        let name = format!("{cluster}{}", provider::names::KUBECONFIG_SUFFIX);
        let secret = self.secrets(&self.space).get(&name).await?;
        let data = secret.data.context("an empty Secret")?;
        let value = data
            .get(provider::names::KUBECONFIG_KEY)
            .context("no kubeconfig")?;
        Ok(serde_json::from_slice(&value.0)?)
    }

    /// Deletes an account, and waits until the API server, which caches a token for seconds,
    /// rejects its token.
    ///
    /// # Errors
    /// When the server still accepts it.
    pub async fn take_back(&self, account: &str, token: Kubeconfig) -> Result<()> {
        let config = Config::from_custom_kubeconfig(token, &KubeConfigOptions::default()).await?;
        let reviews: Api<SelfSubjectReview> = Api::all(Client::try_from(config)?);
        let accounts: Api<ServiceAccount> = Api::namespaced(self.admin.clone(), &self.space);
        accounts.delete(account, &DeleteParams::default()).await?;
        let refused = || async {
            let (how, review) = (PostParams::default(), SelfSubjectReview::default());
            let answer = reviews.create(&how, &review).await;
            let refused = matches!(&answer, Err(kube::Error::Api(status)) if status.code == 401);
            ensure!(refused, "accepted yet: {}", answer.is_ok());
            Ok(())
        };
        self.until("the old credential refused", refused).await
    }
}
