//! The caBundle of our ExtensionConfig: whom core trusts when it calls us. Without it core does not even discover us.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube::Client;
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::json;
use tokio::sync::watch;
use tracing::{info, warn};

use crate::hands::{HandError, limited};
use crate::names;

/// How often it is looked at, besides whenever our authority changes: somebody may have applied it anew, without a bundle.
const LOOK: Duration = Duration::from_secs(10);

/// Keeps the bundle right for ever.
pub async fn keep_ca_bundle(
    client: Client,
    name: String,
    mut authorities: watch::Receiver<Option<String>>,
) {
    let kind = GroupVersionKind::gvk(names::RUNTIME_GROUP, names::CORE_VERSION, "ExtensionConfig");
    let api: Api<DynamicObject> = Api::all_with(client, &ApiResource::from_gvk(&kind));
    let mut told = false;
    loop {
        let wanted = authorities.borrow_and_update().clone();
        if let Some(wanted) = wanted {
            match once(&api, &name, &wanted).await {
                Ok(changed) => {
                    told = false;
                    if changed {
                        info!(%name, "the ExtensionConfig's caBundle is ours now");
                    }
                }
                // One line, not one each time.
                Err(error) if !std::mem::replace(&mut told, true) => {
                    warn!(%name, "ExtensionConfig: {error}")
                }
                Err(_) => {}
            }
        }
        tokio::select! {
            () = tokio::time::sleep(LOOK) => {}
            changed = authorities.changed() => if changed.is_err() { return },
        }
    }
}

async fn once(api: &Api<DynamicObject>, name: &str, wanted: &str) -> Result<bool, HandError> {
    let object = limited(api.get(name)).await?;
    let wanted = STANDARD.encode(wanted);
    let found = object
        .data
        .pointer("/spec/clientConfig/caBundle")
        .and_then(|value| value.as_str());
    if found == Some(wanted.as_str()) {
        return Ok(false);
    }
    let body = json!({ "spec": { "clientConfig": { "caBundle": wanted } } });
    let params = PatchParams {
        field_manager: Some(names::MANAGER.to_owned()),
        ..PatchParams::default()
    };
    limited(api.patch(name, &params, &Patch::Merge(body))).await?;
    Ok(true)
}
