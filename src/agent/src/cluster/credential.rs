//! The kubelet's own credential, read again whenever its files change.
//!
//! The kubelet rotates its client certificate by replacing the target of
//! `kubelet-client-current.pem`; kubelet.conf itself stays. A client built before that uses the old
//! certificate until it expires. So the agent checks all files (one `stat` call each) before each
//! request. The same applies to a token, in kubelet.conf or in a file that it names.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use client::chain;
use client::kubeconfig::{self, Variables};
use kube::config::Kubeconfig;
use kube::{Client, Config};

use super::error::ApiError;

/// How long connecting may take.
const CONNECT: Duration = Duration::from_secs(5);

/// A kubeconfig file and the client built from it.
pub struct Credential {
    path: PathBuf,
    silence: Duration,
    built: Option<Built>,
    /// How often it was read.
    number: u64,
}

struct Built {
    files: Vec<PathBuf>,
    seen: Fingerprint,
    client: Client,
}

/// What changes when a file is replaced: device, inode, modification time and size of each.
type Fingerprint = Vec<Option<(u64, u64, i64, i64, u64)>>;

impl Credential {
    /// Reads nothing yet. `silence` is how long a connection may be silent.
    #[must_use]
    pub fn new(path: &Path, silence: Duration) -> Self {
        Self {
            path: path.to_owned(),
            silence,
            built: None,
            number: 0,
        }
    }

    /// The number of the current credential on the disk. A changed credential has a higher number.
    ///
    /// # Errors
    /// As [`Self::client`].
    pub async fn number(&mut self) -> Result<u64, ApiError> {
        self.client().await?;
        Ok(self.number)
    }

    /// The client for the current credential on the disk.
    ///
    /// # Errors
    /// [`ApiError::Away`] if a file cannot be read or parsed: the kubelet may be writing it.
    pub async fn client(&mut self) -> Result<Client, ApiError> {
        if let Some(built) = &self.built
            && built.seen == fingerprint(&built.files)
        {
            return Ok(built.client.clone());
        }
        let built = self.build().await?;
        self.number += 1;
        Ok(self.built.insert(built).client.clone())
    }

    /// A client for the current credential, with connections of its own.
    ///
    /// # Errors
    /// As [`Self::client`].
    pub async fn apart(&self) -> Result<Client, ApiError> {
        Ok(self.build().await?.client)
    }

    async fn build(&self) -> Result<Built, ApiError> {
        let unusable =
            |why: String| ApiError::Away(format!("cannot use {}: {why}", self.path.display()));
        let away = |what: &dyn std::error::Error| unusable(chain(what));
        // Take the fingerprint before reading, so that the next request notices a write in between.
        let before = fingerprint(std::slice::from_ref(&self.path));
        let read = kubeconfig::read(&self.path);
        let mut content = read.map_err(|error| unusable(kubeconfig::cause(&error)))?;
        let files = files(&content);
        let seen = before.into_iter().chain(fingerprint(&files)).collect();
        take_in_tokens(&mut content).map_err(|error| away(&error))?;
        let config = config(content, self.silence).map_err(|error| away(&error))?;
        let client = Client::try_from(config).map_err(|error| away(&error))?;
        let files = std::iter::once(self.path.clone()).chain(files).collect();
        Ok(Built {
            files,
            seen,
            client,
        })
    }
}

/// The address that this node must reach for the API server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// An address without brackets, or a name.
    pub host: String,
    /// The port.
    pub port: u16,
}

/// The address in a kubeconfig: its proxy, or without one its server.
///
/// # Errors
/// The kubeconfig cannot be used.
pub fn endpoint(path: &Path) -> Result<Endpoint, kubeconfig::Error> {
    let config = config(kubeconfig::read(path)?, Duration::MAX)?;
    let url = config.proxy_url.unwrap_or(config.cluster_url);
    let usual = if url.scheme_str() == Some("http") {
        80
    } else {
        443
    };
    let host = url.host().unwrap_or_default();
    Ok(Endpoint {
        host: host.trim_matches(['[', ']']).to_owned(),
        port: url.port_u16().unwrap_or(usual),
    })
}

/// Only kubelet.conf names a proxy. The agent ignores the environment. A variable that is set for
/// fetching images, or that comes with a new image, must not make the API server unreachable or
/// decide a trial.
fn config(content: Kubeconfig, silence: Duration) -> Result<Config, kubeconfig::Error> {
    let mut config = kubeconfig::config(content, None, &Variables::default())?;
    config.connect_timeout = Some(CONNECT);
    config.read_timeout = Some(silence);
    // kube would retry a 429 on its own, and a disruption budget returns exactly that.
    config.default_retry = false;
    Ok(config)
}

/// Reads tokens from files, as client-go does. kube keeps the newline at the end of a file, and no
/// header may contain one.
fn take_in_tokens(content: &mut Kubeconfig) -> std::io::Result<()> {
    let users = content.auth_infos.iter_mut();
    for user in users.filter_map(|named| named.auth_info.as_mut()) {
        if let (None, Some(file)) = (&user.token, &user.token_file) {
            let text = fs::read_to_string(file)?;
            user.token = Some(text.trim().to_owned().into());
        }
    }
    Ok(())
}

fn fingerprint(files: &[PathBuf]) -> Fingerprint {
    files.iter().map(|path| stamp(path)).collect()
}

/// The files that a kubeconfig names. A cluster's CA may be renewed, as a user's certificate is.
fn files(content: &Kubeconfig) -> Vec<PathBuf> {
    let clusters = content
        .clusters
        .iter()
        .filter_map(|named| named.cluster.as_ref());
    let authorities = clusters.map(|cluster| &cluster.certificate_authority);
    let users = content
        .auth_infos
        .iter()
        .filter_map(|named| named.auth_info.as_ref());
    let own = users.flat_map(|user| [&user.client_certificate, &user.client_key, &user.token_file]);
    authorities
        .chain(own)
        .flatten()
        .map(PathBuf::from)
        .collect()
}

fn stamp(path: &Path) -> Option<(u64, u64, i64, i64, u64)> {
    let meta = fs::metadata(path).ok()?;
    Some((
        meta.dev(),
        meta.ino(),
        meta.mtime(),
        meta.mtime_nsec(),
        meta.size(),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SILENCE: Duration = Duration::from_secs(100);

    #[test]
    fn every_file_that_a_kubeconfig_names_is_watched() {
        let content = serde_json::json!({
            "clusters": [{ "name": "c", "cluster": { "server": "https://x", "certificate-authority": "/ca.crt" } }],
            "users": [{ "name": "u", "user": {
                "client-certificate": "/own.pem", "client-key": "/own.key", "tokenFile": "/token",
            } }],
        });
        let content: Kubeconfig = serde_json::from_value(content).unwrap();
        let named = ["/ca.crt", "/own.pem", "/own.key", "/token"].map(PathBuf::from);
        assert_eq!(files(&content), named);
    }

    #[test]
    fn a_node_must_get_to_the_proxy_where_there_is_one() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("kubelet.conf");
        let at = |cluster: serde_json::Value| {
            let content = serde_json::json!({
                "current-context": "x",
                "contexts": [{ "name": "x", "context": { "cluster": "c", "user": "u" } }],
                "clusters": [{ "name": "c", "cluster": cluster }],
            });
            std::fs::write(&file, content.to_string()).unwrap();
            let found = endpoint(&file).unwrap();
            (found.host, found.port)
        };
        let server = |server: &str| serde_json::json!({ "server": server });
        assert_eq!(
            at(server("https://x.example.org")),
            ("x.example.org".to_owned(), 443)
        );
        assert_eq!(
            at(server("https://[2001:db8::1]:6443")),
            ("2001:db8::1".to_owned(), 6443)
        );
        let proxied =
            serde_json::json!({ "server": "https://x", "proxy-url": "http://192.0.2.9:3128" });
        assert_eq!(at(proxied), ("192.0.2.9".to_owned(), 3128));
        assert!(endpoint(&folder.path().join("nowhere")).is_err());
    }

    #[test]
    fn the_proxy_that_kubelet_conf_names_leads_to_the_api_server() {
        let content = serde_json::json!({
            "current-context": "x",
            "contexts": [{ "name": "x", "context": { "cluster": "c", "user": "u" } }],
            "clusters": [{ "name": "c", "cluster": { "server": "https://x", "proxy-url": "socks5://site" } }],
        });
        let content: Kubeconfig = serde_json::from_value(content).unwrap();
        let proxy = config(content, SILENCE).unwrap().proxy_url;
        assert_eq!(proxy.unwrap(), "socks5://site:1080/");
    }

    /// A server that counts the connections to it, and answers none.
    struct Server(std::net::TcpListener);

    impl Server {
        fn start() -> Self {
            let socket = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
            socket.set_nonblocking(true).unwrap();
            Self(socket)
        }

        fn kubeconfig(&self) -> String {
            let server = format!("http://{}", self.0.local_addr().unwrap());
            format!(
                "kind: Config\nclusters: [{{name: a, cluster: {{server: '{server}'}}}}]\n\
                 contexts: [{{name: a, context: {{cluster: a, user: a}}}}]\n\
                 current-context: a\nusers: [{{name: a, user: {{token: x}}}}]\n"
            )
        }

        fn connections(&self) -> usize {
            std::iter::from_fn(|| self.0.accept().ok()).count()
        }
    }

    /// As kubeadm moves kubelet.conf of a control plane to the server of its own node.
    #[tokio::test]
    async fn server_that_kubelet_conf_names_now_is_the_one_asked() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kubelet.conf");
        let (shared, own) = (Server::start(), Server::start());
        std::fs::write(&path, shared.kubeconfig()).unwrap();
        let mut credential = Credential::new(&path, Duration::from_secs(60));
        let ask = async |credential: &mut Credential| {
            let client = credential.client().await.unwrap();
            let asked =
                tokio::time::timeout(Duration::from_millis(500), client.apiserver_version());
            assert!(asked.await.is_err(), "nobody answers");
        };
        ask(&mut credential).await;
        assert!(shared.connections() > 0 && own.connections() == 0);
        std::fs::write(folder.path().join("new"), own.kubeconfig()).unwrap();
        std::fs::rename(folder.path().join("new"), &path).unwrap();
        ask(&mut credential).await;
        assert!(own.connections() > 0 && shared.connections() == 0);
        assert_eq!(credential.number().await.unwrap(), 2);
    }
}
