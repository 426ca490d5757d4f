//! Access to prepared hosts.

use std::path::Path;

use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::api::{Api, ListParams, Patch, PostParams};
use kube::core::{ApiResource, GroupVersionKind, Object};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::api::{Cleaned, Cluster, MANAGER, MOST, PAGE, config, limited};
use crate::failure::Failure;

/// The namespace of the accounts of registrations. careen-provider makes it.
const REGISTRATIONS: &str = "careen-registrations";

/// A CareenHost.
pub type Host = Cleaned<Object<HostSpec, HostStatus>>;

/// What is wanted of a host.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct HostSpec {
    /// It is let in.
    pub approved: bool,
    /// It is not chosen.
    pub cordoned: bool,
    /// Its failure domain.
    pub failure_domain: Option<String>,
    /// Its claim.
    pub claim: Option<HostClaim>,
}

/// The claim on a host.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct HostClaim {
    /// Its id.
    pub id: String,
    /// The Machine.
    pub machine: String,
    /// The Cluster.
    pub cluster: String,
}

/// What a host says of itself.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct HostStatus {
    /// Its phase.
    pub phase: String,
    /// The version of its image.
    pub image_version: String,
    /// Why it does not go on.
    pub reason: String,
    /// The sentence of the reason.
    pub message: String,
}

/// Where the API server of a kubeconfig is.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// Its URL.
    pub server: String,
    /// Its authorities, as DER.
    pub authorities: Vec<Vec<u8>>,
}

impl Endpoint {
    /// Reads it from the kubeconfig that [`Cluster::connect`] uses.
    ///
    /// # Errors
    /// As [`Cluster::connect`].
    pub fn of(file: Option<&Path>, context: Option<&str>) -> Result<Self, Failure> {
        let config = config(file, context)?;
        Ok(Self {
            server: config
                .cluster_url
                .to_string()
                .trim_end_matches('/')
                .to_owned(),
            authorities: config.root_cert.unwrap_or_default(),
        })
    }
}

impl Cluster {
    /// The namespace of the context.
    #[must_use]
    pub fn namespace(&self) -> &str {
        self.client().default_namespace()
    }

    fn hosts(&self, namespace: &str) -> Api<Host> {
        let kind = GroupVersionKind::gvk("careen.dev", "v1alpha1", "CareenHost");
        let resource = ApiResource::from_gvk(&kind);
        Api::namespaced_with(self.client().clone(), namespace, &resource)
    }

    /// All hosts of a namespace.
    ///
    /// # Errors
    /// See [`Failure`].
    pub async fn list_hosts(&self, namespace: &str) -> Result<Vec<Host>, Failure> {
        let mut params = ListParams::default().limit(PAGE);
        let mut all = Vec::new();
        loop {
            let page = limited(self.hosts(namespace).list(&params)).await?;
            all.extend(page.items);
            if all.len() > MOST {
                let why = format!("it lists more than {MOST} CareenHosts; use kubectl get");
                return Err(Failure::Unwell(why));
            }
            params.continue_token = page.metadata.continue_.filter(|token| !token.is_empty());
            if params.continue_token.is_none() {
                return Ok(all);
            }
        }
    }

    /// One host.
    ///
    /// # Errors
    /// See [`Failure`].
    pub async fn host(&self, namespace: &str, name: &str) -> Result<Host, Failure> {
        limited(self.hosts(namespace).get(name)).await
    }

    /// Merges a change into a host.
    ///
    /// # Errors
    /// See [`Failure`].
    pub async fn change_host(
        &self,
        namespace: &str,
        name: &str,
        change: &Value,
    ) -> Result<Host, Failure> {
        let params = client::patch_by(MANAGER);
        let hosts = self.hosts(namespace);
        limited(hosts.patch(name, &params, &Patch::Merge(change))).await
    }

    /// Asks for a token of a registration that lives so many seconds.
    ///
    /// # Errors
    /// [`Failure::Missing`] if the registration has no account.
    pub async fn registration_token(
        &self,
        namespace: &str,
        registration: &str,
        seconds: u64,
    ) -> Result<String, Failure> {
        let ours = |error: &dyn std::error::Error| Failure::Unwell(error.to_string());
        let accounts: Api<ServiceAccount> = Api::namespaced(self.client().clone(), REGISTRATIONS);
        let request = json!({ "spec": { "audiences": [], "expirationSeconds": seconds } });
        let request: TokenRequest = serde_json::from_value(request).map_err(|why| ours(&why))?;
        let account = format!("{namespace}.{registration}");
        let params = PostParams::default();
        let answer = limited(accounts.create_token_request(&account, &params, &request)).await?;
        let status = answer.status;
        let token = status.map(|status| status.token);
        token.ok_or_else(|| Failure::Unwell("the answer has no token".to_owned()))
    }
}
