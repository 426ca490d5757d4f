//! What packaging/monitoring installs between the agents and Prometheus: the rights, and the role
//! of kube-rbac-proxy.
//!
//! The real program takes minutes to build, so only `make monitoring` builds it and checks that
//! this replacement matches it. The replacement uses the shipped arguments and sends the same
//! requests in the same order. (v0.21.0: pkg/filters/path.go, pkg/filters/auth.go,
//! pkg/authn/delegating.go.) The API server that answers is real, and so are the accounts and
//! tokens in the requests.

use std::path::PathBuf;

use anyhow::{Context, Result};
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenReview, UserInfo};
use k8s_openapi::api::authorization::v1::SubjectAccessReview;
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::api::{Api, PostParams};
use kube::config::KubeConfigOptions;
use kube::{Client, Config};
use serde_json::{Value, json};
use testkit::cluster_api::account::kubeconfig_of;
use testkit::cluster_api::{documents, objects};
use testkit::programs;

use crate::cluster::plane;

/// An account: namespace and name.
pub type Account<'a> = (&'a str, &'a str);

/// The Prometheus account that the manifests allow to read.
pub const SCRAPER: Account<'_> = ("monitoring", "prometheus-k8s");

/// The account of the proxies.
pub const PROXY: Account<'_> = ("careen-metrics", "careen-agent-proxy");

/// The path of a shipped file.
#[must_use]
pub fn shipped(file: &str) -> PathBuf {
    let packaging = programs::home().join("../packaging");
    packaging.join("monitoring").join(file)
}

/// The DaemonSet of the proxies.
///
/// # Errors
/// When no DaemonSet is shipped.
pub fn daemonset() -> Result<Value> {
    let mut all = documents(&shipped("agent-proxy.yaml"))?.into_iter();
    let found = all.find(|object| object["kind"] == "DaemonSet");
    found.context("no DaemonSet is shipped")
}

/// Applies the shipped objects except the DaemonSet, which would create pods on the Nodes of all
/// tests. Also creates the Prometheus account.
///
/// # Errors
/// When the API server refuses.
pub async fn install(admin: &Client) -> Result<()> {
    account(admin, SCRAPER).await?;
    for object in documents(&shipped("agent-proxy.yaml"))? {
        if object["kind"] != "DaemonSet" {
            objects::apply(admin, &object).await?;
        }
    }
    Ok(())
}

/// Creates an account, and its namespace if it does not exist.
///
/// # Errors
/// When the API server refuses.
pub async fn account(admin: &Client, (space, name): Account<'_>) -> Result<()> {
    let namespace =
        json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": space } });
    let account = json!({
        "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": name, "namespace": space },
    });
    objects::apply(admin, &namespace).await?;
    objects::apply(admin, &account).await.map(drop)
}

/// A token of an account for these audiences. Without audiences, the token is for the API server.
///
/// # Errors
/// When the account does not exist.
pub async fn token(
    admin: &Client,
    (space, name): Account<'_>,
    audiences: &[&str],
) -> Result<String> {
    let accounts: Api<ServiceAccount> = Api::namespaced(admin.clone(), space);
    let spec = json!({ "audiences": audiences, "expirationSeconds": 3600 });
    let request: TokenRequest = serde_json::from_value(json!({ "spec": spec }))?;
    let answer = accounts
        .create_token_request(name, &PostParams::default(), &request)
        .await?;
    Ok(answer.status.context("no token")?.token)
}

/// One proxy, with only the rights of its account.
pub struct Proxy {
    api: Client,
    audience: String,
    path: String,
}

impl Proxy {
    /// A proxy with the arguments of the shipped DaemonSet.
    ///
    /// # Errors
    /// When an argument is missing, or the account of the proxies does not exist.
    pub async fn new(admin: &Client) -> Result<Self> {
        let content = kubeconfig_of(plane().await?, admin, PROXY).await?;
        let config = Config::from_custom_kubeconfig(content, &KubeConfigOptions::default()).await?;
        Ok(Self {
            api: Client::try_from(config)?,
            audience: argument("--auth-token-audiences")?,
            path: argument("--allow-paths")?,
        })
    }

    /// The audience that tokens must have.
    #[must_use]
    pub fn audience(&self) -> &str {
        &self.audience
    }

    /// The status with which the proxy refuses a request, or nothing if it forwards the request to
    /// the agent.
    ///
    /// # Errors
    /// When the API server does not answer the proxy.
    pub async fn refusal(&self, token: &str, verb: &str, path: &str) -> Result<Option<u16>> {
        if path != self.path {
            return Ok(Some(404));
        }
        if token.is_empty() {
            return Ok(Some(401));
        }
        let Some(user) = self.user(token).await? else {
            return Ok(Some(401));
        };
        let may = self.may(&user, verb, path).await?;
        Ok((!may).then_some(403))
    }

    /// The user of the token, if the token is for this proxy.
    async fn user(&self, token: &str) -> Result<Option<UserInfo>> {
        let reviews: Api<TokenReview> = Api::all(self.api.clone());
        let spec = json!({ "token": token, "audiences": [self.audience] });
        let review = serde_json::from_value(json!({ "spec": spec }))?;
        let answer = reviews.create(&PostParams::default(), &review).await?;
        let status = answer.status.context("no answer")?;
        let meant = status.audiences.unwrap_or_default();
        let holds = status.authenticated == Some(true) && meant.contains(&self.audience);
        Ok(status.user.filter(|_| holds))
    }

    async fn may(&self, user: &UserInfo, verb: &str, path: &str) -> Result<bool> {
        let reviews: Api<SubjectAccessReview> = Api::all(self.api.clone());
        let spec = json!({
            "user": user.username, "uid": user.uid, "groups": user.groups,
            "nonResourceAttributes": { "verb": verb, "path": path },
        });
        let review = serde_json::from_value(json!({ "spec": spec }))?;
        let answer = reviews.create(&PostParams::default(), &review).await?;
        Ok(answer.status.context("no answer")?.allowed)
    }
}

/// The value of an argument of the shipped container.
fn argument(name: &str) -> Result<String> {
    let daemonset = daemonset()?;
    let container = &daemonset["spec"]["template"]["spec"]["containers"][0];
    let words = container["args"].as_array().context("no args")?;
    let mut words = words.iter().filter_map(Value::as_str);
    let found = words.find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
    Ok(found.with_context(|| format!("no {name}"))?.to_owned())
}
