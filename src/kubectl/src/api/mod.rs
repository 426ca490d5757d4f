//! The API server: what we ask of it. Nothing is decided here.

mod clean;
mod objects;

use std::future::Future;
use std::path::Path;
use std::time::Duration;

use client::chain;
use client::kubeconfig::{self, Variables};
use k8s_openapi::api::policy::v1 as policy;
use kube::Client;
use kube::api::{Api, ListParams, Patch, PatchParams};
use kube::config::Kubeconfig;
use kube::core::ApiResource;
use serde_json::Value;

pub use clean::Cleaned;
pub use objects::{Budget, BudgetSpec, BudgetStatus, Node, Pod};

use crate::failure::Failure;

/// How long the answer to one request may take; a watch alone has no such limit.
const ANSWER: Duration = Duration::from_secs(30);

/// How long a connection may be silent. A watch is ended by the server and begun anew before that; a longer silence is a dead link.
const SILENCE: Duration = Duration::from_secs(75);

/// So many objects are asked for at once: a Node takes some ten kilobytes, and a slow line has [`ANSWER`] for each request.
const PAGE: u32 = 500;

/// The most Nodes that are listed. Kubernetes is made for 5,000; a server that gives pages without
/// end would fill our memory.
const MOST: usize = 50_000;

/// Who we are in a Node's managedFields.
pub const MANAGER: &str = "kubectl-careen";

/// Whether a write is made or only tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Write {
    /// Made.
    Real,
    /// The server checks it and keeps nothing.
    Dry,
}

/// The API server with a person's credential.
#[derive(Clone)]
pub struct Cluster {
    client: Client,
}

impl Cluster {
    /// As kubectl finds it: the given kubeconfig, or `KUBECONFIG`, or `~/.kube/config`; in a pod, its account. Through the proxy, if any, that kubectl
    /// would take.
    ///
    /// # Errors
    /// When there is none or it cannot be used.
    pub fn connect(file: Option<&Path>, context: Option<&str>) -> Result<Self, Failure> {
        let unusable = |error: &dyn std::error::Error| {
            Failure::Unreachable(format!("the kubeconfig cannot be used: {}", chain(error)))
        };
        let variables = Variables::of_process();
        let read = match (file, context) {
            (None, None) => None,
            (Some(file), _) => Some(Kubeconfig::read_from(file)),
            (None, Some(_)) => Some(Kubeconfig::read()),
        };
        let config = match read.transpose().map_err(|error| unusable(&error))? {
            Some(content) => kubeconfig::config(content, context, &variables),
            None => kubeconfig::inferred(&variables),
        };
        let mut config = config.map_err(|error| match &error {
            // It may be a variable, and then the kubeconfig is well.
            kubeconfig::Error::Proxy(bad) => Failure::Unreachable(bad.to_string()),
            kubeconfig::Error::Kubeconfig(_) | kubeconfig::Error::Nowhere { .. } => {
                unusable(&error)
            }
        })?;
        config.read_timeout = Some(SILENCE);
        config.reset_reader_on_write = true;
        let client = Client::try_from(config).map_err(|error| unusable(&error))?;
        Ok(Self { client })
    }

    /// With a client that is there already.
    #[must_use]
    pub const fn with(client: Client) -> Self {
        Self { client }
    }

    /// The API of Nodes.
    #[must_use]
    pub fn nodes(&self) -> Api<Node> {
        client::nodes(self.client.clone())
    }

    /// The Nodes that a label selector selects, all without one.
    ///
    /// # Errors
    /// [`Failure::Usage`] when it is no selector; see [`Failure`].
    pub async fn list(&self, selector: Option<&str>) -> Result<Vec<Node>, Failure> {
        let mut params = ListParams::default().limit(PAGE);
        params.label_selector = selector.map(str::to_owned);
        let mut all = Vec::new();
        loop {
            let listed = limited(self.nodes().list(&params)).await;
            let page = listed.map_err(|failure| of_selector(failure, selector))?;
            all.extend(page.items);
            if all.len() > MOST {
                let why = format!("it lists more than {MOST} Nodes; choose some by --selector");
                return Err(Failure::Unwell(why));
            }
            params.continue_token = page.metadata.continue_.filter(|token| !token.is_empty());
            if params.continue_token.is_none() {
                return Ok(all);
            }
        }
    }

    /// Some Nodes; so many at most.
    ///
    /// # Errors
    /// See [`Failure`].
    pub async fn some(&self, limit: u32) -> Result<Vec<Node>, Failure> {
        let params = ListParams::default().limit(limit);
        Ok(limited(self.nodes().list(&params)).await?.items)
    }

    /// One Node.
    ///
    /// # Errors
    /// See [`Failure`].
    pub async fn node(&self, name: &str) -> Result<Node, Failure> {
        limited(self.nodes().get(name)).await
    }

    /// Changes annotations of a Node.
    ///
    /// # Errors
    /// [`Failure::Conflict`] when the change names a resourceVersion that is not the present one any more.
    pub async fn change(&self, name: &str, change: &Value, write: Write) -> Result<Node, Failure> {
        let params = PatchParams {
            dry_run: write == Write::Dry,
            ..client::patch_by(MANAGER)
        };
        limited(self.nodes().patch(name, &params, &Patch::Merge(change))).await
    }

    /// The pods of a Node.
    ///
    /// # Errors
    /// See [`Failure`].
    pub async fn pods_on(&self, node: &str) -> Result<Vec<Pod>, Failure> {
        let pods: Api<Pod> = client::pods(self.client.clone());
        let there = ListParams::default().fields(&format!("spec.nodeName={node}"));
        Ok(limited(pods.list(&there)).await?.items)
    }

    /// All PodDisruptionBudgets.
    ///
    /// # Errors
    /// See [`Failure`].
    pub async fn budgets(&self) -> Result<Vec<Budget>, Failure> {
        let resource = ApiResource::erase::<policy::PodDisruptionBudget>(&());
        let budgets: Api<Budget> = Api::all_with(self.client.clone(), &resource);
        Ok(limited(budgets.list(&ListParams::default())).await?.items)
    }
}

/// Of a list there is nothing that the server could refuse but the selector.
fn of_selector(failure: Failure, selector: Option<&str>) -> Failure {
    match (failure, selector) {
        (Failure::Refused(why), Some(selector)) => {
            Failure::Usage(format!("--selector {selector:?}: {why}"))
        }
        (other, _) => other,
    }
}

async fn limited<T>(request: impl Future<Output = kube::Result<T>>) -> Result<T, Failure> {
    match tokio::time::timeout(ANSWER, request).await {
        Ok(answer) => Ok(answer?),
        Err(_) => Err(Failure::Unreachable(format!(
            "no answer in {} s",
            ANSWER.as_secs()
        ))),
    }
}
