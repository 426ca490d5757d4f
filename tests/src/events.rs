//! Events, as `kubectl describe` shows them.

use anyhow::Result;
use k8s_openapi::api::events::v1::Event;
use kube::Client;
use kube::api::{Api, ListParams};

/// The notes of all Events of a namespace about the object of this name, with this reason.
///
/// # Errors
/// When the API server does not answer.
pub async fn notes(
    client: &Client,
    namespace: &str,
    (name, reason): (&str, &str),
) -> Result<Vec<String>> {
    let api: Api<Event> = Api::namespaced(client.clone(), namespace);
    let all = api.list(&ListParams::default()).await?;
    let about = |event: &Event| {
        let named = event.regarding.as_ref().and_then(|one| one.name.as_deref());
        named == Some(name) && event.reason.as_deref() == Some(reason)
    };
    let found = all.items.into_iter().filter(about);
    Ok(found.filter_map(|event| event.note).collect())
}
