//! The caBundle of the provider's ExtensionConfig, which core trusts when it calls the provider.
//! Without it core does not even discover the provider.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use client::patch_by;
use kube::Client;
use kube::api::{Api, DynamicObject, Patch};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};
use tokio::sync::watch;
use tracing::{info, warn};

use super::own::Own;
use crate::hands::{HandError, limited};
use crate::names;

/// How often the bundle is checked, in addition to each change of the authority. Somebody may have
/// applied the object again without a bundle.
const LOOK: Duration = Duration::from_secs(10);

/// An ExtensionConfig, and the source of its bundle.
#[derive(Clone)]
pub struct Bundle {
    /// The ExtensionConfig's name.
    pub name: String,
    /// The Secret that all replicas share, if the provider has its own authority.
    pub own: Option<Own>,
}

/// Maintains the bundle for ever.
pub async fn keep_ca_bundle(
    client: Client,
    bundle: Bundle,
    mut authorities: watch::Receiver<Option<String>>,
) {
    let mut told = false;
    loop {
        let (wanted, name) = (authorities.borrow_and_update().clone(), &bundle.name);
        if let Some(wanted) = wanted {
            match once(&client, &bundle, wanted).await {
                Ok(changed) => {
                    told = false;
                    if changed {
                        info!(%name, "the ExtensionConfig's caBundle is updated");
                    }
                }
                // Warns once, not at each try.
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

async fn once(client: &Client, bundle: &Bundle, known: String) -> Result<bool, HandError> {
    let kind = GroupVersionKind::gvk(names::RUNTIME_GROUP, names::CORE_VERSION, "ExtensionConfig");
    let api: Api<DynamicObject> = Api::all_with(client.clone(), &ApiResource::from_gvk(&kind));
    let object = limited(api.get(&bundle.name)).await?;
    let found = object.data.pointer("/spec/clientConfig/caBundle");
    let stands = |wanted: &str| found.and_then(Value::as_str) == Some(&STANDARD.encode(wanted));
    if stands(&known) {
        return Ok(false);
    }
    // Another replica may have created a newer authority than the one in memory. The Secret is
    // authoritative.
    let wanted = match &bundle.own {
        Some(own) => own.authorities(client).await?,
        None => known,
    };
    if stands(&wanted) {
        return Ok(false);
    }
    let body = json!({
        "metadata": { "resourceVersion": object.metadata.resource_version },
        "spec": { "clientConfig": { "caBundle": STANDARD.encode(wanted) } },
    });
    let params = patch_by(names::MANAGER);
    limited(api.patch(&bundle.name, &params, &Patch::Merge(body))).await?;
    Ok(true)
}
