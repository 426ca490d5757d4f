//! The key pair that the provider generates, in a Secret that all replicas share.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::Client;
use kube::api::{Api, ObjectMeta, PostParams};
use tracing::{info, warn};

use super::current::Current;
use super::error::{TlsError, unusable};
use super::pair::{Due, Pair, due, make};
use crate::clock::now;
use crate::writes::{WriteError, limited};

/// How often the Secret is checked: another replica may have renewed it, or somebody may have
/// deleted it.
const LOOK: Duration = Duration::from_secs(10);

/// The pause after a failed try.
const AGAIN: Duration = Duration::from_secs(1);

/// Where the pair is stored and what it is for.
#[derive(Clone, Debug)]
pub struct Own {
    /// The Secret's namespace.
    pub namespace: String,
    /// The Secret's name.
    pub name: String,
    /// The names and addresses under which the provider is called.
    pub names: Vec<String>,
}

/// Creates, loads and renews the pair, for ever.
pub async fn follow(client: Client, own: Own, current: Arc<Current>) {
    let secrets: Api<Secret> = Api::namespaced(client, &own.namespace);
    let mut known = None;
    loop {
        match once(&secrets, &own).await {
            Ok(pair) if known.as_ref() == Some(&pair) => tokio::time::sleep(LOOK).await,
            Ok(pair) => match current.set(pair.certificate.as_bytes(), pair.key.as_bytes()) {
                Ok(()) => {
                    info!(ends = pair.terms.ends, "a new certificate is in use");
                    known = Some(pair);
                }
                Err(error) => pause(&error).await,
            },
            Err(error) => pause(&error).await,
        }
    }
}

async fn pause(error: &TlsError) {
    warn!("{error}");
    tokio::time::sleep(AGAIN).await;
}

/// The pair in the Secret, created or renewed if due. A second replica uses what the first one
/// wrote.
async fn once(secrets: &Api<Secret>, own: &Own) -> Result<Pair, TlsError> {
    let failed = |error| TlsError::Secret {
        name: own.name.clone(),
        error,
    };
    let (found, version) = match limited(secrets.get(&own.name)).await {
        Ok(secret) => (read(&secret), secret.metadata.resource_version),
        Err(WriteError::Missing) => (None, None),
        Err(error) => return Err(failed(error)),
    };
    if let Some(pair) = &found
        && due(&pair.terms, &own.names, now()) == Due::Nothing
    {
        return Ok(pair.clone());
    }
    let fresh = make(found.as_ref(), &own.names, now())?;
    let secret = write(&fresh, own, version.clone())?;
    let params = PostParams::default();
    let written = if version.is_some() {
        limited(secrets.replace(&own.name, &params, &secret)).await
    } else {
        limited(secrets.create(&params, &secret)).await
    };
    written.map(|_| fresh).map_err(failed)
}

fn read(secret: &Secret) -> Option<Pair> {
    let data = secret.data.as_ref()?;
    let text = |key: &str| String::from_utf8(data.get(key)?.0.clone()).ok();
    Some(Pair {
        authorities: text("ca.crt")?,
        authority_key: text("ca.key")?,
        certificate: text("tls.crt")?,
        key: text("tls.key")?,
        terms: serde_json::from_str(&text("terms.json")?).ok()?,
    })
}

fn write(pair: &Pair, own: &Own, version: Option<String>) -> Result<Secret, TlsError> {
    let terms = serde_json::to_string(&pair.terms).map_err(|error| unusable("the terms", error))?;
    let data: BTreeMap<String, ByteString> = [
        // Core reads this key.
        ("ca.crt", &pair.authorities),
        ("ca.key", &pair.authority_key),
        ("tls.crt", &pair.certificate),
        ("tls.key", &pair.key),
        ("terms.json", &terms),
    ]
    .into_iter()
    .map(|(key, value)| (key.to_owned(), ByteString(value.as_bytes().to_vec())))
    .collect();
    Ok(Secret {
        metadata: ObjectMeta {
            name: Some(own.name.clone()),
            resource_version: version,
            ..ObjectMeta::default()
        },
        data: Some(data),
        ..Secret::default()
    })
}
