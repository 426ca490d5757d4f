//! The only module that writes claims, hosts, machines and clusters of the infrastructure provider.
//! Each write states the version that the decision is based on.

use std::fmt::Debug;

use client::patch_by;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams, Preconditions};
use kube::core::NamespaceResourceScope;
use kube::{Client, Resource, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::error::{WriteError, limited};
use crate::kinds::FINALIZER;
use crate::names;

/// An object of a namespace.
pub trait Object:
    Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Clone + Debug + DeserializeOwned
{
}

impl<K> Object for K where
    K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>
        + Clone
        + Debug
        + DeserializeOwned
{
}

/// Merges a change into an object, if nobody has changed it since it was read.
///
/// # Errors
/// See [`WriteError`].
pub async fn change<K: Object>(client: &Client, read: &K, change: Value) -> Result<(), WriteError> {
    changed(client, read, change).await.map(drop)
}

/// Does the same, and returns the object as it is then.
///
/// # Errors
/// See [`WriteError`].
pub async fn changed<K: Object>(client: &Client, read: &K, change: Value) -> Result<K, WriteError> {
    let body = Patch::Merge(onto(read, change));
    let api = api(client, read);
    limited(api.patch(&read.name_any(), &patch_by(names::MANAGER), &body)).await
}

/// Merges a change into the status of an object, if nobody has changed the object since it was
/// read.
///
/// # Errors
/// See [`WriteError`].
pub async fn change_status<K: Object>(
    client: &Client,
    read: &K,
    status: Value,
) -> Result<(), WriteError> {
    let body = Patch::Merge(onto(read, json!({ "status": status })));
    let api = api(client, read);
    limited(api.patch_status(&read.name_any(), &patch_by(names::MANAGER), &body))
        .await
        .map(drop)
}

fn api<K: Object>(client: &Client, read: &K) -> Api<K> {
    Api::namespaced(client.clone(), &read.namespace().unwrap_or_default())
}

/// The UID too: an object that was deleted and made again is another one.
fn onto(read: &impl ResourceExt, mut change: Value) -> Value {
    change["metadata"]["resourceVersion"] = json!(read.resource_version());
    change["metadata"]["uid"] = json!(read.uid());
    change
}

/// Adds or removes our finalizer.
///
/// # Errors
/// See [`WriteError`].
pub async fn finalizer<K: Object>(
    client: &Client,
    read: &K,
    there: bool,
) -> Result<(), WriteError> {
    let mut all: Vec<&str> = read.finalizers().iter().map(String::as_str).collect();
    all.retain(|other| *other != FINALIZER);
    all.extend(there.then_some(FINALIZER));
    change(client, read, json!({ "metadata": { "finalizers": all } })).await
}

/// Makes an object, if none of its name exists. One that exists stays as it is.
///
/// # Errors
/// See [`WriteError`].
pub async fn make<K>(client: &Client, namespace: &str, object: &K) -> Result<(), WriteError>
where
    K: Object + Serialize,
{
    let api: Api<K> = Api::namespaced(client.clone(), namespace);
    let params = PostParams {
        field_manager: Some(names::MANAGER.to_owned()),
        ..PostParams::default()
    };
    match limited(api.create(&params, object)).await {
        Ok(_) | Err(WriteError::Conflict) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Makes an object as this says it, whatever it was.
///
/// # Errors
/// See [`WriteError`].
pub async fn apply<K: Object>(
    client: &Client,
    namespace: &str,
    name: &str,
    object: &Value,
) -> Result<(), WriteError> {
    let api: Api<K> = Api::namespaced(client.clone(), namespace);
    let params = PatchParams::apply(names::MANAGER).force();
    limited(api.patch(name, &params, &Patch::Apply(object)))
        .await
        .map(drop)
}

/// Removes an object. One that is gone is removed.
///
/// # Errors
/// See [`WriteError`].
pub async fn remove<K: Object>(
    client: &Client,
    namespace: &str,
    name: &str,
) -> Result<(), WriteError> {
    let api: Api<K> = Api::namespaced(client.clone(), namespace);
    gone(limited(api.delete(name, &DeleteParams::default())).await)
}

/// Annotates a Machine, if nobody has changed it since it was read.
///
/// # Errors
/// See [`WriteError`].
pub async fn annotate_machine(
    client: &Client,
    read: &impl ResourceExt,
    annotations: Value,
) -> Result<(), WriteError> {
    let change = json!({ "metadata": { "annotations": annotations } });
    let body = Patch::Merge(onto(read, change));
    let params = patch_by(names::MANAGER);
    let all = machines(client, read);
    limited(all.patch(&read.name_any(), &params, &body))
        .await
        .map(drop)
}

/// Deletes a Machine, if it is still the one that was read.
///
/// # Errors
/// See [`WriteError`].
pub async fn delete_machine(client: &Client, read: &impl ResourceExt) -> Result<(), WriteError> {
    let all = machines(client, read);
    gone(limited(all.delete(&read.name_any(), &only(read))).await)
}

fn machines(client: &Client, read: &impl ResourceExt) -> Api<crate::api::Machine> {
    let space = read.namespace().unwrap_or_default();
    Api::namespaced_with(client.clone(), &space, &crate::api::core("Machine"))
}

/// Deletes an object, if it is still the one that was read.
///
/// # Errors
/// See [`WriteError`].
pub async fn delete<K: Object>(client: &Client, read: &K) -> Result<(), WriteError> {
    gone(limited(api(client, read).delete(&read.name_any(), &only(read))).await)
}

/// The UID alone: a machine that is to go goes, whatever has changed on it.
fn only(read: &impl ResourceExt) -> DeleteParams {
    let preconditions = Preconditions {
        uid: read.uid(),
        resource_version: None,
    };
    DeleteParams {
        preconditions: Some(preconditions),
        ..DeleteParams::default()
    }
}

fn gone<T>(deleted: Result<T, WriteError>) -> Result<(), WriteError> {
    match deleted {
        Ok(_) | Err(WriteError::Missing) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Lists objects with a label from the API server, not from a cache.
///
/// # Errors
/// See [`WriteError`].
pub async fn list<K>(api: &Api<K>, labels: &str) -> Result<Vec<K>, WriteError>
where
    K: Clone + Debug + DeserializeOwned,
{
    let params = ListParams::default().labels(labels);
    Ok(limited(api.list(&params)).await?.items)
}

/// Reads an object from the API server, not from a cache. Nothing, if there is none.
///
/// # Errors
/// See [`WriteError`].
pub async fn read<K>(api: &Api<K>, name: &str) -> Result<Option<K>, WriteError>
where
    K: Clone + Debug + DeserializeOwned,
{
    match limited(api.get(name)).await {
        Ok(object) => Ok(Some(object)),
        Err(WriteError::Missing) => Ok(None),
        Err(error) => Err(error),
    }
}
