//! A kubelet.conf that contains a token instead of a certificate.
//!
//! The API server checks a bootstrap token on each request, and an administrator can revoke it. Its
//! user is not a node, so the test gives it the right to impersonate one, and the kubeconfig sets
//! the impersonation.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use k8s_openapi::api::authentication::v1::SelfSubjectReview;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use kube::api::{Api, DeleteParams, PostParams};
use serde_json::{Value, json};

use crate::cluster::{PATIENCE, client, plane};
use crate::node::{TestNode, replace};

/// The file in which the kubelet keeps its token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In kubelet.conf itself.
    Inline,
    /// In a file that kubelet.conf names.
    File,
}

/// A token that the API server knows.
pub struct Token {
    id: String,
}

impl Token {
    fn text(&self) -> String {
        format!("{}.0123456789abcdef", self.id)
    }
}

impl TestNode {
    /// Allows every holder of one of its tokens to act as this Node.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn allow_tokens(&self) -> Result<()> {
        let named = json!({ "name": format!("act-as-{}", self.name) });
        let may = |resource: &str, name: String| json!({ "apiGroups": [""], "verbs": ["impersonate"], "resources": [resource], "resourceNames": [name] });
        let user = format!("system:node:{}", self.name);
        let rules = [may("users", user), may("groups", "system:nodes".to_owned())];
        let role = json!({ "metadata": named, "rules": rules });
        let roles: Api<ClusterRole> = Api::all(self.admin.clone());
        roles
            .create(&PostParams::default(), &serde_json::from_value(role)?)
            .await?;
        let api = "rbac.authorization.k8s.io";
        let binding = json!({
            "metadata": named,
            "roleRef": { "apiGroup": api, "kind": "ClusterRole", "name": named["name"] },
            "subjects": [{ "apiGroup": api, "kind": "Group", "name": self.group() }],
        });
        let bindings: Api<ClusterRoleBinding> = Api::all(self.admin.clone());
        bindings
            .create(&PostParams::default(), &serde_json::from_value(binding)?)
            .await?;
        Ok(())
    }

    fn group(&self) -> String {
        format!("system:bootstrappers:{}", self.name)
    }

    fn secrets(&self) -> Api<Secret> {
        Api::namespaced(self.admin.clone(), "kube-system")
    }

    /// A new token, identified by six lower-case letters or digits.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn new_token(&self, id: &str) -> Result<Token> {
        let token = Token { id: id.to_owned() };
        let secret = json!({
            "metadata": { "name": format!("bootstrap-token-{id}") },
            "type": "bootstrap.kubernetes.io/token",
            "stringData": {
                "token-id": id, "token-secret": "0123456789abcdef", "usage-bootstrap-authentication": "true",
                "auth-extra-groups": self.group(),
            },
        });
        self.secrets()
            .create(&PostParams::default(), &serde_json::from_value(secret)?)
            .await?;
        Ok(token)
    }

    /// Replaces the token in kubelet.conf, or the file that kubelet.conf names.
    ///
    /// # Errors
    /// When the file is not writable.
    pub async fn give_token(&self, token: &Token, place: Place) -> Result<()> {
        let file = self.folder.path().join("token");
        let user = match place {
            Place::Inline => json!({ "token": token.text() }),
            Place::File => json!({ "tokenFile": file }),
        };
        if place == Place::File {
            // With a newline at its end, as most tools write a file.
            replace(&file, format!("{}\n", token.text()).as_bytes())?;
        }
        let content = self.kubeconfig_for(user).await?;
        let same = std::fs::read(&self.kubeconfig).is_ok_and(|written| written == content);
        if same {
            return Ok(());
        }
        replace(&self.kubeconfig, &content)
    }

    async fn kubeconfig_for(&self, mut user: Value) -> Result<Vec<u8>> {
        let made = plane()
            .await?
            .node_kubeconfig(&self.name, Duration::from_secs(60))?;
        let mut content: Value = serde_json::from_slice(&std::fs::read(made)?)?;
        content["clusters"][0]["cluster"]["server"] =
            json!(format!("https://127.0.0.1:{}", self.wire.port));
        user["as"] = json!(format!("system:node:{}", self.name));
        user["as-groups"] = json!(["system:nodes"]);
        content["users"][0]["user"] = user;
        Ok(serde_json::to_vec(&content)?)
    }

    /// Revokes a token and waits until the API server, which caches it for ten seconds, rejects it.
    ///
    /// # Errors
    /// When the server still accepts it.
    pub async fn take_back(&self, token: &Token) -> Result<()> {
        let old = self.folder.path().join("taken-back.conf");
        let content = self
            .kubeconfig_for(json!({ "token": token.text() }))
            .await?;
        std::fs::write(&old, content)?;
        let name = format!("bootstrap-token-{}", token.id);
        self.secrets()
            .delete(&name, &DeleteParams::default())
            .await?;
        let reviews: Api<SelfSubjectReview> = Api::all(client(&old).await?);
        let refused = async {
            let review = SelfSubjectReview::default();
            loop {
                match reviews.create(&PostParams::default(), &review).await {
                    Ok(_) => tokio::time::sleep(Duration::from_millis(250)).await,
                    Err(kube::Error::Api(status)) if status.code == 401 => return Ok(()),
                    Err(error) => bail!("{error}"),
                }
            }
        };
        tokio::time::timeout(PATIENCE, refused)
            .await
            .context("a token that was taken back is still accepted")?
    }
}
