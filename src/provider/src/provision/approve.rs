//! How a registration lets in a host.

use kube::ResourceExt;
use kube::api::{Api, ListParams};
use serde_json::json;

use super::facts;
use super::work::Provision;
use crate::kinds::{CareenHost, FINALIZER, HostRegistration};
use crate::writes::{WriteError, limited, provision as write};

impl Provision {
    /// The labels come from the registration, never from the host: it must not choose itself.
    ///
    /// Many hosts may register at once, and what the watch shows is older than the last approval.
    /// So approvals are made one after the other, and each counts at the API server.
    pub(super) async fn approve(
        &self,
        host: &CareenHost,
        source: Option<&HostRegistration>,
    ) -> Result<(), WriteError> {
        let Some(source) = source else {
            return Err(WriteError::Missing);
        };
        let change = json!({
            "metadata": { "labels": source.spec.labels, "finalizers": [FINALIZER] },
            "spec": { "approved": true, "failureDomain": source.spec.failure_domain },
        });
        let _alone = self.approving.lock().await;
        let counted = facts::registration(source, self.approved(host).await?);
        if counted.approved >= counted.max_hosts {
            return Err(WriteError::Conflict);
        }
        write::change(&self.client, host, change).await
    }

    /// How many hosts of the same registration are let in.
    async fn approved(&self, host: &CareenHost) -> Result<usize, WriteError> {
        let space = host.namespace().unwrap_or_default();
        let hosts: Api<CareenHost> = Api::namespaced(self.client.clone(), &space);
        let all = limited(hosts.list(&ListParams::default())).await?;
        let theirs = all
            .iter()
            .filter(|other| other.spec.registration == host.spec.registration);
        Ok(theirs.filter(|other| other.spec.approved).count())
    }
}
