//! The identity of a host: a ServiceAccount, a Role that names what is its own, its Secret and its
//! Lease. All belong to the CareenHost, so that they go with it and its access ends at once.

use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Secret, ServiceAccount};
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use kube::api::{Api, PostParams};
use kube::{Client, Resource, ResourceExt};
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
    write::apply::<ServiceAccount>(client, &space, &name, &account).await?;
    write::apply::<Role>(client, &space, &name, &role).await?;
    write::apply::<RoleBinding>(client, &space, &name, &binding).await?;
    // These have content that is not ours, or not always.
    let secret = typed::<Secret>(plain("v1", "Secret"))?;
    write::make(client, &space, &secret).await?;
    let mut lease = plain("coordination.k8s.io/v1", "Lease");
    lease["spec"] = json!({});
    write::make(client, &space, &typed::<Lease>(lease)?).await
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
    let is_its = |lease: Lease| {
        lease
            .owner_references()
            .iter()
            .any(|owner| Some(&owner.uid) == host.uid().as_ref())
    };
    Ok(found.is_some_and(is_its))
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
