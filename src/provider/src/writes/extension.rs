//! The settings of the provider's ExtensionConfig. Core sends them with each call. The provider
//! reads them itself where it cannot trust the caller.

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
    let kind = GroupVersionKind::gvk(names::RUNTIME_GROUP, names::CORE_VERSION, "ExtensionConfig");
    let api: Api<DynamicObject> = Api::all_with(client, &ApiResource::from_gvk(&kind));
    let object = match limited(api.get(name)).await {
        Err(WriteError::Missing) => return Ok(None),
        read => read?,
    };
    let settings = object.data.pointer("/spec/settings").cloned();
    let unreadable =
        |error| WriteError::Refused(format!("settings of ExtensionConfig {name}: {error}"));
    settings.map_or_else(
        || Ok(Some(BTreeMap::new())),
        |settings| serde_json::from_value(settings).map_err(unreadable),
    )
}
