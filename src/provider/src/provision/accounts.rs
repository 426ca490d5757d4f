//! The identity of a host: a ServiceAccount, a Role that names what is its own, its Secret and its
//! Lease. All belong to the CareenHost, so that they go with it and its access ends at once.

use std::fmt::Debug;

use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Secret, ServiceAccount};
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use kube::api::{Api, PostParams};
use kube::core::NamespaceResourceScope;
use kube::{Client, Resource, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::clock::now;
use crate::kinds::CareenHost;
use crate::kinds::policies::{OF_A_HOST, REGISTRATIONS};
use crate::rights;
use crate::writes::{WriteError, limited, provision as write};

/// How long a token of a host lives, in seconds. The host asks for the next one itself.
const TOKEN_SECONDS: i64 = 86_400;

/// The key of the token in the Secret.
const TOKEN_KEY: &str = "token";

/// The label of the objects of a host, with its name.
pub const HOST_LABEL: &str = "careen.dev/host";

/// The name of the account, Role, Secret and Lease of a host.
#[must_use]
pub fn name(host: &str) -> String {
    format!("{OF_A_HOST}{host}")
}

fn owned(host: &CareenHost, mut object: Value) -> Value {
    object["metadata"]["labels"] = json!({ HOST_LABEL: host.name_any() });
    object["metadata"]["ownerReferences"] = json!([{
        "apiVersion": CareenHost::api_version(&()),
        "kind": CareenHost::kind(&()),
        "name": host.name_any(),
        "uid": host.uid(),
    }]);
    object
}

/// Makes what is missing of the identity. The Lease comes last: it shows that the rest is there.
///
/// # Errors
/// See [`WriteError`].
pub async fn make(client: &Client, host: &CareenHost) -> Result<(), WriteError> {
    let space = host.namespace().unwrap_or_default();
    let name = name(&host.name_any());
    let metadata = json!({ "name": name, "namespace": space });
    let plain = |version: &str, kind: &str| {
        owned(
            host,
            json!({ "apiVersion": version, "kind": kind, "metadata": metadata }),
        )
    };
    let [role, binding] = rights::host_role(&space, &host.name_any());
    let (role, binding) = (owned(host, role), owned(host, binding));
    let account = plain("v1", "ServiceAccount");
    none_of_another::<ServiceAccount>(client, host).await?;
    write::apply::<ServiceAccount>(client, &space, &name, &account).await?;
    write::apply::<Role>(client, &space, &name, &role).await?;
    write::apply::<RoleBinding>(client, &space, &name, &binding).await?;
    // These have content that is not ours, or not always.
    keep::<Secret>(client, host, plain("v1", "Secret")).await?;
    let mut lease = plain("coordination.k8s.io/v1", "Lease");
    lease["spec"] = json!({});
    keep::<Lease>(client, host, lease).await
}

/// Makes an object that is missing. One that is there keeps its content, and gets its owner and its
/// label back.
async fn keep<K>(client: &Client, host: &CareenHost, object: Value) -> Result<(), WriteError>
where
    K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>
        + Clone
        + Debug
        + DeserializeOwned
        + Serialize,
{
    let Some(there) = none_of_another::<K>(client, host).await? else {
        let space = host.namespace().unwrap_or_default();
        return write::make(client, &space, &typed::<K>(object)?).await;
    };
    if is_its(&there, host) && there.labels().contains_key(HOST_LABEL) {
        return Ok(());
    }
    let metadata = &object["metadata"];
    let change = json!({ "metadata": {
        "labels": metadata["labels"], "ownerReferences": metadata["ownerReferences"],
    } });
    write::change(client, &there, change).await.map(drop)
}

/// The object of a host, if it is there. That of an older host of the same name is about to go, and
/// its tokens with it, so this host waits for that.
async fn none_of_another<K>(client: &Client, host: &CareenHost) -> Result<Option<K>, WriteError>
where
    K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>
        + Clone
        + Debug
        + DeserializeOwned,
{
    let space = host.namespace().unwrap_or_default();
    let all: Api<K> = Api::namespaced(client.clone(), &space);
    let there = write::read(&all, &name(&host.name_any())).await?;
    let of_a_host = |there: &K| {
        let kind = CareenHost::kind(&());
        there
            .owner_references()
            .iter()
            .any(|owner| *owner.kind == *kind)
    };
    match there {
        Some(there) if of_a_host(&there) && !is_its(&there, host) => Err(WriteError::Conflict),
        other => Ok(other),
    }
}

fn is_its(object: &impl ResourceExt, host: &CareenHost) -> bool {
    let mut owners = object.owner_references().iter();
    owners.any(|owner| Some(&owner.uid) == host.uid().as_ref())
}

fn typed<K: serde::de::DeserializeOwned>(object: Value) -> Result<K, WriteError> {
    serde_json::from_value(object).map_err(|error| WriteError::Refused(error.to_string()))
}

/// Whether the whole identity is there.
///
/// # Errors
/// See [`WriteError`].
pub async fn exists(client: &Client, host: &CareenHost) -> Result<bool, WriteError> {
    let space = host.namespace().unwrap_or_default();
    let leases: Api<Lease> = Api::namespaced(client.clone(), &space);
    let found = write::read(&leases, &name(&host.name_any())).await?;
    // That of an older host of the same name is about to go.
    Ok(found.is_some_and(|lease| is_its(&lease, host)))
}

/// For how many seconds a token is where the host looks for one.
///
/// # Errors
/// See [`WriteError`].
pub async fn handed_over(client: &Client, secret: &str) -> Result<Option<i64>, WriteError> {
    let secrets: Api<Secret> = Api::namespaced(client.clone(), REGISTRATIONS);
    let found = write::read(&secrets, secret).await?;
    let made = found.map(|secret| secret.metadata.creation_timestamp);
    Ok(made.map(|made| made.map_or(i64::MAX, |made| now() - made.0.as_second())))
}

/// Asks for a token, and puts it where only the host knows to look. An older one goes.
///
/// # Errors
/// See [`WriteError`].
pub async fn hand_over(client: &Client, host: &CareenHost, secret: &str) -> Result<(), WriteError> {
    let space = host.namespace().unwrap_or_default();
    let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), &space);
    let request = typed::<TokenRequest>(
        json!({ "spec": { "audiences": [], "expirationSeconds": TOKEN_SECONDS } }),
    )?;
    let account = name(&host.name_any());
    let params = PostParams::default();
    let answer = limited(accounts.create_token_request(&account, &params, &request)).await?;
    let token = answer.status.map(|status| status.token).unwrap_or_default();
    let object = json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": { "name": secret, "namespace": REGISTRATIONS },
        "stringData": { TOKEN_KEY: token },
    });
    end_handover(client, secret).await?;
    write::make(client, REGISTRATIONS, &typed::<Secret>(object)?).await
}

/// Removes the token from where the host looks for one.
///
/// # Errors
/// See [`WriteError`].
pub async fn end_handover(client: &Client, secret: &str) -> Result<(), WriteError> {
    write::remove::<Secret>(client, REGISTRATIONS, secret).await
}
