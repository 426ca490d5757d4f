//! Carries out what was decided on a machine.

use infrastructure::{Act, Failed};
use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt;
use serde_json::{Value, json};

use super::super::work::Provision;
use super::super::{accounts, facts};
use super::read::Read;
use crate::clock::now;
use crate::kinds::{BOOTSTRAP, TRIED};
use crate::writes::{WriteError, provision as write};

impl Provision {
    pub(super) async fn perform(&self, read: &Read, act: &Act) -> Result<(), WriteError> {
        let change = match act {
            Act::AddFinalizer | Act::RemoveFinalizer => {
                let there = *act == Act::AddFinalizer;
                return write::finalizer(&self.client, &read.object, there).await;
            }
            Act::SetHost(host) => json!({ "spec": { "hostRef": host } }),
            Act::Commit => json!({ "spec": { "hostRef": { "committed": true } } }),
            Act::ClearHost { tried } => without_host(read, tried.as_ref()),
            Act::SetProviderId(id) => json!({ "spec": { "providerID": id } }),
            Act::SetProvisioned => return self.set_provisioned(read).await,
            Act::PutClaim(claim) => return self.change_claim(read, json!(claim)).await,
            Act::Release => {
                return self
                    .change_claim(read, json!({ "wanted": "Released" }))
                    .await;
            }
            Act::GiveUp => return self.change_claim(read, json!({ "lost": true })).await,
            Act::TellData { hash } => {
                return self
                    .change_claim(read, json!({ "bootstrapHash": hash }))
                    .await;
            }
            Act::CopyData { .. } | Act::RemoveData => {
                return self.perform_on_secret(read, act).await;
            }
        };
        write::change(&self.client, &read.object, change).await
    }

    async fn change_claim(&self, read: &Read, claim: Value) -> Result<(), WriteError> {
        let Some(host) = &read.host else {
            return Err(WriteError::Missing);
        };
        write::change(&self.client, host, json!({ "spec": { "claim": claim } })).await
    }

    /// Writes the host's own Secret. Its data belong to one claim, and say which.
    async fn perform_on_secret(&self, read: &Read, act: &Act) -> Result<(), WriteError> {
        let Some(named) = &read.machine.host else {
            return Ok(());
        };
        let (space, name) = (&read.machine.namespace, accounts::name(&named.name));
        let Some(secret) = self.read::<Secret>(space, &name).await? else {
            return Err(WriteError::Missing);
        };
        let empty =
            json!({ facts::CLAIM_KEY: null, facts::DATA_KEY: null, facts::FORMAT_KEY: null });
        let source = read
            .bootstrap
            .as_ref()
            .and_then(|secret| secret.data.as_ref());
        let data = match (act, source.and_then(|all| all.get(facts::DATA_KEY))) {
            (Act::CopyData { hash }, Some(data)) if facts::hash(data) == *hash => {
                self.note_data(read).await?;
                let claim = k8s_openapi::ByteString(named.claim.clone().into_bytes());
                json!({ facts::CLAIM_KEY: claim, facts::DATA_KEY: data })
            }
            (Act::CopyData { .. }, Some(_) | None) => return Err(WriteError::Conflict),
            (_, Some(_) | None) => empty,
        };
        write::change(&self.client, &secret, json!({ "data": data })).await
    }

    /// The pool of a machine replaces it when the data are others, if its operator says so. Before
    /// the copy: one that is noted and not made is noted again with it.
    async fn note_data(&self, read: &Read) -> Result<(), WriteError> {
        let source = read.bootstrap.as_ref().map(ResourceExt::name_any);
        let is_noted = read.object.annotations().get(BOOTSTRAP) == source.as_ref();
        if is_noted || facts::pool_of(&read.object.metadata).is_none() {
            return Ok(());
        }
        let note = json!({ "metadata": { "annotations": { BOOTSTRAP: source } } });
        write::change(&self.client, &read.object, note).await
    }

    async fn set_provisioned(&self, read: &Read) -> Result<(), WriteError> {
        let host = read.host.as_ref();
        let status = host
            .and_then(|host| host.status.clone())
            .unwrap_or_default();
        let domain = host.and_then(|host| host.spec.failure_domain.clone());
        let change = json!({
            "initialization": { "provisioned": true },
            "addresses": status.addresses,
            "failureDomain": domain,
        });
        write::change_status(&self.client, &read.object, change).await
    }
}

/// A machine that chooses again, and does not take what has failed it.
fn without_host(read: &Read, failed: Option<&Failed>) -> Value {
    let mut change = json!({ "spec": { "hostRef": null } });
    let Some(failed) = failed else { return change };
    let claim = read.host.as_ref().and_then(|host| host.spec.claim.as_ref());
    let image = claim
        .and_then(|claim| claim.image.clone())
        .unwrap_or_default();
    let mut tried = facts::tried(&read.object);
    if tried.image != image {
        tried = facts::Tried::default();
    }
    tried.hosts.push(failed.host.clone());
    if failed.by_image {
        tried.by_image.push(failed.host.clone());
    }
    let tried = facts::Tried {
        image,
        at: now(),
        ..tried
    };
    let text = serde_json::to_string(&tried).unwrap_or_default();
    change["metadata"]["annotations"] = json!({ TRIED: text });
    change
}
