//! The provider's ExtensionConfig: its settings, and whom it leads to. Core sends the settings with
//! each call. The provider reads them itself where it cannot trust the caller.

use std::collections::BTreeMap;

use kube::Client;
use kube::api::{Api, DynamicObject};
use kube::core::{ApiResource, GroupVersionKind};

use super::error::{WriteError, limited};
use crate::names;

/// The settings, or nothing if there is no ExtensionConfig of this name.
///
/// # Errors
/// See [`WriteError`].
pub async fn settings(
    client: Client,
    name: &str,
) -> Result<Option<BTreeMap<String, String>>, WriteError> {
    let Some(object) = read(client, name).await? else {
        return Ok(None);
    };
    let settings = object.data.pointer("/spec/settings").cloned();
    let unreadable =
        |error| WriteError::Refused(format!("settings of ExtensionConfig {name}: {error}"));
    settings.map_or_else(
        || Ok(Some(BTreeMap::new())),
        |settings| serde_json::from_value(settings).map_err(unreadable),
    )
}

/// The namespace of the Service that core calls, or nothing if it calls a URL, or there is no
/// ExtensionConfig of this name.
///
/// # Errors
/// See [`WriteError`].
pub async fn namespace(client: Client, name: &str) -> Result<Option<String>, WriteError> {
    let object = read(client, name).await?;
    let namespace = object
        .as_ref()
        .and_then(|object| object.data.pointer("/spec/clientConfig/service/namespace"));
    Ok(namespace
        .and_then(|namespace| namespace.as_str())
        .map(str::to_owned))
}

async fn read(client: Client, name: &str) -> Result<Option<DynamicObject>, WriteError> {
    let kind = GroupVersionKind::gvk(names::RUNTIME_GROUP, names::CORE_VERSION, "ExtensionConfig");
    let api: Api<DynamicObject> = Api::all_with(client, &ApiResource::from_gvk(&kind));
    match limited(api.get(name)).await {
        Err(WriteError::Missing) => Ok(None),
        read => read.map(Some),
    }
}
