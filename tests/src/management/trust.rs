//! The ExtensionConfig, and the certificate authorities that core trusts when it calls a hook.
//! (Core copies them from the Secret that the replicas share. No core runs here.)

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::core::v1::Secret;
use provider::names;
use serde_json::json;
use testkit::cluster_api::objects;

use super::{History, Management, certificate};
use crate::caller::bundle_of;
use crate::replica::Replica;

/// The line that ends a certificate.
const END: &str = "-----END CERTIFICATE-----\n";

impl Management {
    /// Applies the ExtensionConfig as a release ships it: without a bundle.
    pub(super) async fn extension_config(&self) -> Result<()> {
        let object = json!({
            "apiVersion": format!("{}/{}", names::RUNTIME_GROUP, names::CORE_VERSION), "kind": "ExtensionConfig",
            "metadata": { "name": self.space }, "spec": { "clientConfig": { "url": "https://127.0.0.1:1" } },
        });
        objects::apply(&self.admin, &object).await.map(drop)
    }

    /// The bundle that core would trust, in base64.
    ///
    /// # Errors
    /// When it does not exist.
    pub async fn bundle(&self) -> Result<String> {
        let secrets = self.secrets(provider::manifests::NAMESPACE);
        let bundle = bundle_of(&secrets.get(&certificate(&self.space)).await?);
        ensure!(!bundle.is_empty(), "no bundle");
        Ok(bundle)
    }

    /// All bundles from now on, including the current one.
    ///
    /// # Errors
    /// When the Secret does not exist.
    pub async fn bundles(&self) -> Result<History> {
        let secrets = self.secrets(provider::manifests::NAMESPACE);
        History::of::<Secret>(secrets, &certificate(&self.space), bundle_of).await
    }

    /// Waits until the current bundle makes a replica trusted, and returns the bundle.
    ///
    /// # Errors
    /// When that does not happen.
    pub async fn until_trusted(&self, replica: &Replica) -> Result<String> {
        let look = || async {
            let bundle = self.bundle().await?;
            let answer = replica.call(&bundle, "Discovery", json!({})).await?;
            ensure!(answer["status"] == "Success", "{answer}");
            Ok(bundle)
        };
        self.until("core trusts a replica", look).await
    }

    /// Only the newest authority in the Secret that the replicas share, in base64.
    ///
    /// # Errors
    /// When there is none.
    pub async fn newest_authority(&self) -> Result<String> {
        let secrets = self.secrets(provider::manifests::NAMESPACE);
        let secret = secrets.get(&certificate(&self.space)).await?;
        let all = secret.data.and_then(|mut data| data.remove("ca.crt"));
        let all = String::from_utf8(all.context("no authority")?.0)?;
        let newest = all.split_inclusive(END).next().context("an empty one")?;
        // A ByteString is base64 in JSON.
        let encoded = serde_json::to_value(k8s_openapi::ByteString(newest.as_bytes().to_vec()))?;
        Ok(encoded.as_str().unwrap_or_default().to_owned())
    }
}
