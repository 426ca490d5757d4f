//! Access to the API server. It makes no decisions.

mod clean;
mod objects;

use std::future::Future;
use std::path::Path;
use std::time::Duration;

use client::chain;
use client::kubeconfig::{self, Variables};
use k8s_openapi::api::coordination::v1 as coordination;
use k8s_openapi::api::policy::v1 as policy;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, Preconditions};
use kube::config::Kubeconfig;
use kube::core::ApiResource;
use kube::{Client, Config};
use serde_json::Value;
use upgrade::control_plane::{LOCK, LOCK_NAMESPACE};

pub use clean::Cleaned;
pub use objects::{Budget, BudgetSpec, BudgetStatus, Lease, LeaseSpec, Node, Pod};

use crate::failure::Failure;

/// The timeout of one request. Only a watch has none.
const ANSWER: Duration = Duration::from_secs(30);

/// How long a connection may be silent. The server ends a watch, and the client restarts it, before
/// that time. A longer silence means a dead link.
const SILENCE: Duration = Duration::from_secs(75);

/// The page size of a list. A Node takes some ten kilobytes, and on a slow link each request has
/// [`ANSWER`] to finish.
pub(crate) const PAGE: u32 = 500;

/// The maximum number of Nodes in a list. Kubernetes supports 5,000. A server that sends endless
/// pages would exhaust the memory.
pub(crate) const MOST: usize = 50_000;

/// The field manager in a Node's managedFields.
pub const MANAGER: &str = "kubectl-careen";

/// Whether a write is a dry run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Write {
    /// A real write.
    Real,
    /// A dry run: the server validates the write and stores nothing.
    Dry,
}

/// The API server, with the user's credential.
#[derive(Clone)]
pub struct Cluster {
    client: Client,
}

impl Cluster {
    /// Connects as kubectl does: with the given kubeconfig, `KUBECONFIG`, `~/.kube/config`, or in a
    /// pod its ServiceAccount. Uses the proxy that kubectl would use, if any.
    ///
    /// # Errors
    /// If there is no configuration or it cannot be used.
    pub fn connect(file: Option<&Path>, context: Option<&str>) -> Result<Self, Failure> {
        let mut config = config(file, context)?;
        config.read_timeout = Some(SILENCE);
        config.reset_reader_on_write = true;
        let client = Client::try_from(config).map_err(|error| unusable(&error))?;
        Ok(Self { client })
    }

    /// Uses an existing client.
    #[must_use]
    pub const fn with(client: Client) -> Self {
        Self { client }
    }

    pub(crate) const fn client(&self) -> &Client {
        &self.client
    }

    /// The API of Nodes.
    #[must_use]
    pub fn nodes(&self) -> Api<Node> {
        client::nodes(self.client.clone())
    }

    /// The Nodes that match a label selector, or all without one.
    ///
    /// # Errors
    /// [`Failure::Usage`] if the selector is invalid; see [`Failure`].
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

    /// At most this many Nodes.
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
    /// [`Failure::Conflict`] if the change names a resourceVersion that is no longer current.
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

    /// The Lease of the control plane's lock, if there is one.
    ///
    /// # Errors
    /// See [`Failure`].
    pub async fn lock(&self) -> Result<Option<Lease>, Failure> {
        limited(self.leases().get_opt(LOCK)).await
    }

    /// Removes the Lease of the lock with this UID, in this version.
    ///
    /// # Errors
    /// [`Failure::Conflict`] if it has changed since, [`Failure::Missing`] if it is gone.
    pub async fn unlock(&self, uid: &str, version: &str) -> Result<(), Failure> {
        let exactly = DeleteParams {
            preconditions: Some(Preconditions {
                uid: Some(uid.to_owned()),
                resource_version: Some(version.to_owned()),
            }),
            ..DeleteParams::default()
        };
        limited(self.leases().delete(LOCK, &exactly)).await?;
        Ok(())
    }

    fn leases(&self) -> Api<Lease> {
        let resource = ApiResource::erase::<coordination::Lease>(&());
        Api::namespaced_with(self.client.clone(), LOCK_NAMESPACE, &resource)
    }
}

/// The configuration that kubectl would use.
pub(crate) fn config(file: Option<&Path>, context: Option<&str>) -> Result<Config, Failure> {
    let variables = Variables::of_process();
    let read = match (file, context) {
        (None, None) => None,
        (Some(file), _) => Some(Kubeconfig::read_from(file)),
        (None, Some(_)) => Some(Kubeconfig::read()),
    };
    let read = read.transpose().map_err(kubeconfig::Error::from);
    let config = match read.map_err(|error| unusable(&error))? {
        Some(content) => kubeconfig::config(content, context, &variables),
        None => kubeconfig::inferred(&variables),
    };
    config.map_err(|error| match &error {
        // The proxy may come from an environment variable, so the kubeconfig may be correct.
        kubeconfig::Error::Proxy(bad) => Failure::Unreachable(bad.to_string()),
        kubeconfig::Error::Kubeconfig(_) | kubeconfig::Error::Nowhere { .. } => unusable(&error),
    })
}

fn unusable(error: &dyn std::error::Error) -> Failure {
    Failure::Unreachable(format!(
        "cannot use the kubeconfig: {}. Name another one with --kubeconfig or KUBECONFIG",
        chain(error)
    ))
}

/// The selector is the only part of a list request that the server could reject.
fn of_selector(failure: Failure, selector: Option<&str>) -> Failure {
    match (failure, selector) {
        (Failure::Refused(why), Some(selector)) => {
            Failure::Usage(format!("--selector {selector:?}: {why}"))
        }
        (other, _) => other,
    }
}

pub(crate) async fn limited<T>(
    request: impl Future<Output = kube::Result<T>>,
) -> Result<T, Failure> {
    client::in_time(ANSWER, request).await
}
