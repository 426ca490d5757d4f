//! From a Cluster's kubeconfig Secret to a client. The Secret is read anew before each try, so a rotated one is taken up.

use std::time::Duration;

use k8s_openapi::api::core::v1::Secret;
use kube::api::Api;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use thiserror::Error;
use upgrade::Version;

use crate::machines::Key;
use crate::names;
use crate::watch::{self, WatchError, limited};

/// Why a workload cluster cannot be reached.
#[derive(Debug, Error)]
pub enum ConnectError {
    /// The Secret cannot be read.
    #[error("Secret {name}: {error}")]
    Secret {
        /// Its name.
        name: String,
        /// Why.
        error: WatchError,
    },
    /// The Secret holds no usable kubeconfig.
    #[error("Secret {name} holds no usable kubeconfig: {detail}")]
    Kubeconfig {
        /// Its name.
        name: String,
        /// Why.
        detail: String,
    },
}

/// What the Secret holds.
///
/// # Errors
/// When there is none, or nothing in it.
pub async fn kubeconfig(management: &Client, cluster: &Key) -> Result<Vec<u8>, ConnectError> {
    let name = format!("{}{}", cluster.name, names::KUBECONFIG_SUFFIX);
    let secrets: Api<Secret> = Api::namespaced(management.clone(), &cluster.namespace);
    let secret = limited(secrets.get(&name)).await;
    let secret = secret.map_err(|error| ConnectError::Secret {
        name: name.clone(),
        error,
    })?;
    let value = secret
        .data
        .and_then(|mut data| data.remove(names::KUBECONFIG_KEY));
    let missing = || ConnectError::Kubeconfig {
        detail: format!("no key {:?}", names::KUBECONFIG_KEY),
        name,
    };
    Ok(value.ok_or_else(missing)?.0)
}

/// A client for what the Secret holds.
///
/// # Errors
/// When it is no kubeconfig, or one that would have us run or read something here: it comes from whoever may write Secrets.
pub async fn client(cluster: &Key, kubeconfig: &[u8]) -> Result<Client, ConnectError> {
    let bad = |detail: String| ConnectError::Kubeconfig {
        name: format!("{}{}", cluster.name, names::KUBECONFIG_SUFFIX),
        detail,
    };
    let text = std::str::from_utf8(kubeconfig).map_err(|error| bad(error.to_string()))?;
    let parsed = Kubeconfig::from_yaml(text).map_err(|error| bad(watch::chain(&error)))?;
    if let Some(what) = reaches_out(&parsed) {
        return Err(bad(format!(
            "{what} is not let in; put the data itself there"
        )));
    }
    let config = Config::from_custom_kubeconfig(parsed, &KubeConfigOptions::default()).await;
    let mut config = config.map_err(|error| bad(watch::chain(&error)))?;
    config.connect_timeout = Some(Duration::from_secs(5));
    // The server ends each watch well before.
    config.read_timeout = Some(Duration::from_secs(180));
    Client::try_from(config).map_err(|error| bad(watch::chain(&error)))
}

/// What in a kubeconfig would run a program or read a file of ours.
fn reaches_out(config: &Kubeconfig) -> Option<&'static str> {
    let users = config
        .auth_infos
        .iter()
        .filter_map(|named| named.auth_info.as_ref());
    let clusters = config
        .clusters
        .iter()
        .filter_map(|named| named.cluster.as_ref());
    for user in users {
        if user.exec.is_some() || user.auth_provider.is_some() {
            return Some("an exec or auth-provider plug-in");
        }
        if user.token_file.is_some()
            || user.client_certificate.is_some()
            || user.client_key.is_some()
        {
            return Some("a file name for a credential");
        }
    }
    clusters
        .filter(|cluster| cluster.certificate_authority.is_some())
        .map(|_| "a file name for a certificate authority")
        .next()
}

/// The server's version, if it says one that we understand.
///
/// # Errors
/// When it does not answer at all: then nothing else would be answered either.
pub async fn version(client: &Client) -> Result<Option<Version>, WatchError> {
    let asked = tokio::time::timeout(watch::ANSWER, client.apiserver_version()).await;
    match asked {
        Err(_) => Err(WatchError::Away(format!(
            "no answer within {:?}",
            watch::ANSWER
        ))),
        Ok(Ok(info)) => Ok(info.git_version.parse().ok()),
        // It answers, though not this.
        Ok(Err(kube::Error::Api(status))) if status.code != 401 => Ok(None),
        Ok(Err(error)) => Err(error.into()),
    }
}
