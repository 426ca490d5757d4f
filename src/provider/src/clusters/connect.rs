//! Builds a client from a Cluster's kubeconfig Secret. The provider reads the Secret again before
//! each try, so it uses a rotated credential.

use std::sync::Arc;
use std::time::Duration;

use client::chain;
use client::kubeconfig::{self, Variables};
use k8s_openapi::api::core::v1::Secret;
use kube::api::Api;
use kube::client::ClientBuilder;
use kube::config::Kubeconfig;
use kube::{Client, Config};
use thiserror::Error;
use upgrade::Version;

use super::cap::{Cap, Room};
use super::pulse::Pulse;
use crate::machines::Key;
use crate::names;
use crate::watch::{self, WatchError, limited};

/// Why a workload cluster cannot be reached.
#[derive(Debug, Error)]
pub enum ConnectError {
    /// The Secret cannot be read.
    #[error("cannot read Secret {name}: {error}")]
    Secret {
        /// Its name.
        name: String,
        /// The error.
        error: WatchError,
    },
    /// The Secret contains no usable kubeconfig.
    #[error("Secret {name} holds no usable kubeconfig: {detail}")]
    Kubeconfig {
        /// Its name.
        name: String,
        /// The reason.
        detail: String,
    },
}

/// The content of the Secret.
///
/// # Errors
/// If the Secret is missing or empty.
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

/// A client for the Secret's kubeconfig. Each piece of an answer counts as a sign of life. Long
/// answers take memory from a pool that all clusters share.
///
/// # Errors
/// If the content is not a kubeconfig, or if it would make this process run a program or read a
/// file. Anybody who may write Secrets controls it.
pub async fn client(
    cluster: &Key,
    kubeconfig: &[u8],
    pulse: &Arc<Pulse>,
    room: &Room,
) -> Result<Client, ConnectError> {
    build(cluster, config(cluster, kubeconfig)?, pulse, room)
}

/// The same, for evictions. A 429 names the budget that holds a pod. kube would repeat the request
/// until the time for an answer is over.
///
/// # Errors
/// See [`client`].
pub async fn client_for_evictions(
    cluster: &Key,
    kubeconfig: &[u8],
    pulse: &Arc<Pulse>,
    room: &Room,
) -> Result<Client, ConnectError> {
    let mut config = config(cluster, kubeconfig)?;
    config.default_retry = false;
    build(cluster, config, pulse, room)
}

fn bad(cluster: &Key, detail: String) -> ConnectError {
    ConnectError::Kubeconfig {
        name: format!("{}{}", cluster.name, names::KUBECONFIG_SUFFIX),
        detail,
    }
}

fn config(cluster: &Key, kubeconfig: &[u8]) -> Result<Config, ConnectError> {
    let bad = |detail: String| bad(cluster, detail);
    let text = std::str::from_utf8(kubeconfig).map_err(|error| bad(error.to_string()))?;
    let parsed = Kubeconfig::from_yaml(text).map_err(|error| bad(chain(&error)))?;
    if let Some(what) = reaches_out(&parsed) {
        return Err(bad(format!(
            "{what} is not allowed; put the data itself there"
        )));
    }
    let config = kubeconfig::config(parsed, None, &Variables::of_process());
    let mut config = config.map_err(|error| bad(chain(&error)))?;
    config.connect_timeout = Some(Duration::from_secs(5));
    // The server ends each watch well before this.
    config.read_timeout = Some(Duration::from_secs(180));
    Ok(config)
}

fn build(
    cluster: &Key,
    config: Config,
    pulse: &Arc<Pulse>,
    room: &Room,
) -> Result<Client, ConnectError> {
    let built = ClientBuilder::try_from(config);
    let built = built.map_err(|error| bad(cluster, chain(&error)))?;
    let cap = Cap::new(Arc::clone(pulse), room.clone());
    Ok(built.with_layer(&cap).build())
}

/// The part of a kubeconfig that would run a program or read a local file.
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

/// The server's version, if it reports one in a known form.
///
/// # Errors
/// If it does not answer at all; other requests would not be answered either.
pub async fn version(client: &Client) -> Result<Option<Version>, WatchError> {
    let asked = tokio::time::timeout(watch::ANSWER, client.apiserver_version()).await;
    match asked {
        Err(_) => Err(WatchError::Away(format!(
            "no answer within {:?}",
            watch::ANSWER
        ))),
        Ok(Ok(info)) => Ok(info.git_version.parse().ok()),
        // The server answers, but not this request.
        Ok(Err(kube::Error::Api(status))) if status.code != 401 => Ok(None),
        Ok(Err(error)) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kubeconfig(user: &str, cluster: &str) -> String {
        format!(
            "{{\"apiVersion\": \"v1\", \"kind\": \"Config\", \"current-context\": \"a\", \
             \"clusters\": [{{\"name\": \"a\", \"cluster\": {{\"server\": \"https://127.0.0.1:1\"{cluster}}}}}], \
             \"contexts\": [{{\"name\": \"a\", \"context\": {{\"cluster\": \"a\", \"user\": \"a\"}}}}], \
             \"users\": [{{\"name\": \"a\", \"user\": {{{user}}}}}]}}"
        )
    }

    async fn refused(user: &str, cluster: &str) -> Option<String> {
        let text = kubeconfig(user, cluster);
        let made = client(
            &Key::new("t", "c"),
            text.as_bytes(),
            &Arc::default(),
            &Room::default(),
        )
        .await;
        made.err().map(|error| error.to_string())
    }

    #[tokio::test]
    async fn kubeconfig_with_commands_or_local_files_is_refused() {
        assert_eq!(refused("\"token\": \"x\"", "").await, None);
        let hostile = [
            (
                "\"exec\": {\"apiVersion\": \"client.authentication.k8s.io/v1\", \"command\": \"/bin/true\"}",
                "",
            ),
            (
                "\"tokenFile\": \"/var/run/secrets/kubernetes.io/serviceaccount/token\"",
                "",
            ),
            (
                "\"client-certificate\": \"/etc/passwd\", \"client-key\": \"/etc/passwd\"",
                "",
            ),
            (
                "\"token\": \"x\"",
                ", \"certificate-authority\": \"/etc/passwd\"",
            ),
        ];
        for (user, cluster) in hostile {
            let why = refused(user, cluster).await.expect("it is refused");
            assert!(why.contains("is not allowed"), "{why}");
        }
    }

    #[tokio::test]
    async fn bad_proxy_error_names_the_secret_and_hides_the_password() {
        let proxy = ", \"proxy-url\": \"ftp://me:hidden@proxy\"";
        let why = refused("\"token\": \"x\"", proxy)
            .await
            .expect("it is refused");
        assert!(why.starts_with("Secret c-kubeconfig"), "{why}");
        assert!(why.contains("ftp://...@proxy"), "{why}");
        assert!(!why.contains("hidden"), "{why}");
    }

    #[tokio::test]
    async fn malformed_kubeconfig_error_names_its_secret() {
        for bytes in [b"\xff\xfe".as_slice(), b"", b"secret: [", b"[1, 2]"] {
            let why = client(
                &Key::new("t", "c"),
                bytes,
                &Arc::default(),
                &Room::default(),
            )
            .await
            .err()
            .expect("it is refused");
            assert!(why.to_string().starts_with("Secret c-kubeconfig"), "{why}");
        }
    }
}
