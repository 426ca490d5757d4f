//! What an agent writes to its Node, what core says when it calls for a Machine, and a credential that is taken back.

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
    /// The agent works on this request; its node is cordoned.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn agent_works(&self, node: &str, id: &str, phase: &str) -> Result<()> {
        let status = json!({ "id": id, "phase": phase, "percent": 60, "tries": 1, "reached": [] });
        self.answer(node, "InProgress", &status, true).await
    }

    /// The agent has failed for this reason; its node is uncordoned.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn agent_fails(&self, node: &str, id: &str, code: &str) -> Result<()> {
        let status = json!({ "id": id, "phase": "Failed", "percent": 60, "code": code, "tries": 1, "reached": [] });
        self.answer(node, "Failed", &status, false).await
    }

    /// The agent has upgraded its node to the version that is asked for; it is uncordoned.
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

    /// The ids that the Node is asked with from now on.
    ///
    /// # Errors
    /// When there is no such Node.
    pub async fn requests_of(&self, node: &str) -> Result<History> {
        let id = |node: &Node| {
            let id = node.annotations().get(names::UPGRADE_ID);
            id.cloned().unwrap_or_default()
        };
        History::of(self.nodes(), node, id).await
    }

    /// What core sends when it calls UpdateMachine for a Machine of ours.
    #[must_use]
    pub fn update_call(&self, machine: &str) -> Value {
        update_call((&self.space, machine), "HostMachine", LATEST.version)
    }

    /// What the kubeconfig Secret of a Cluster holds.
    ///
    /// # Errors
    /// When there is none.
    pub async fn kubeconfig_in_use(&self, cluster: &str) -> Result<Kubeconfig> {
        let name = format!("{cluster}{}", provider::names::KUBECONFIG_SUFFIX);
        let secret = self.secrets(&self.space).get(&name).await?;
        let data = secret.data.context("an empty Secret")?;
        let value = data
            .get(provider::names::KUBECONFIG_KEY)
            .context("no kubeconfig")?;
        Ok(serde_json::from_slice(&value.0)?)
    }

    /// Takes an account away, and waits until the API server, which remembers a token for seconds, refuses this one of it.
    ///
    /// # Errors
    /// When it is accepted all the same.
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
