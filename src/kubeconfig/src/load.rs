//! From a kubeconfig to kube's settings. kube's own way there asks the environment for a proxy and fails where it does not understand it, so what it
//! does is done here with its public parts (kube-client 5.0, config/file_loader.rs).

use http::Uri;
use kube::Config;
use kube::config::{
    AuthInfo, Cluster, Context, ExecAuthCluster, InClusterError, Kubeconfig, KubeconfigError,
};
use thiserror::Error;

use crate::address::BadProxy;
use crate::decide::{Variables, decide};

/// Why there is no way to an API server.
#[derive(Debug, Error)]
pub enum Error {
    /// The kubeconfig cannot be used.
    #[error(transparent)]
    Kubeconfig(#[from] KubeconfigError),
    /// What should be a proxy is none.
    #[error(transparent)]
    Proxy(#[from] BadProxy),
    /// There is neither a kubeconfig nor a pod's account.
    #[error("{kubeconfig}; and in a pod we are not: {pod}")]
    Nowhere {
        /// What is wrong with the kubeconfig.
        kubeconfig: KubeconfigError,
        /// Why this is no pod.
        pod: InClusterError,
    },
}

/// Settings of a kubeconfig in a context, or in its current one.
///
/// # Errors
/// When it cannot be used, or what should be a proxy is none.
pub fn config(
    content: Kubeconfig,
    context: Option<&str>,
    variables: &Variables,
) -> Result<Config, Error> {
    let (context, cluster) = chosen(&content, context)?;
    let described = ExecAuthCluster::try_from(&cluster)?;
    let mut config = Config::new(server(&cluster)?);
    config.auth_info = user(content, &context, &described);
    if let Some(namespace) = context.namespace {
        config.default_namespace = namespace;
    }
    let authority = described.certificate_authority_data.as_deref();
    config.root_cert = authority.map(certificates).transpose()?;
    config.accept_invalid_certs = cluster.insecure_skip_tls_verify.unwrap_or(false);
    config.disable_compression = cluster.disable_compression.unwrap_or(false);
    config.tls_server_name = cluster.tls_server_name;
    led(config, cluster.proxy_url.as_deref(), variables)
}

/// As kubectl finds it: `KUBECONFIG`, or `~/.kube/config`, or a pod's account.
///
/// # Errors
/// As [`config`], and when there is none of them.
pub fn inferred(variables: &Variables) -> Result<Config, Error> {
    let read = Kubeconfig::read().map_err(Error::Kubeconfig);
    match read.and_then(|content| config(content, None, variables)) {
        Err(Error::Kubeconfig(kubeconfig)) => match Config::incluster() {
            Ok(config) => led(config, None, variables),
            Err(pod) => Err(Error::Nowhere { kubeconfig, pod }),
        },
        other => other,
    }
}

fn led(mut config: Config, proxy: Option<&str>, variables: &Variables) -> Result<Config, Error> {
    config.proxy_url = decide(&config.cluster_url, proxy, variables)?;
    if config.proxy_url.is_some() {
        config.cluster_url = with_port(config.cluster_url)?;
    }
    Ok(config)
}

/// Of a server that names no port, kube's tunnel asks for 443, also without TLS (hyper-util 0.1, client/legacy/connect/proxy/tunnel.rs).
fn with_port(server: Uri) -> Result<Uri, KubeconfigError> {
    let plain = server.scheme_str() == Some("http") && server.port().is_none();
    match server.host() {
        Some(host) if plain => {
            let path = server.path_and_query().map_or("/", |path| path.as_str());
            let whole = format!("http://{host}:80{path}");
            whole.parse().map_err(KubeconfigError::ParseClusterUrl)
        }
        _ => Ok(server),
    }
}

fn chosen(content: &Kubeconfig, name: Option<&str>) -> Result<(Context, Cluster), KubeconfigError> {
    let name = name.or(content.current_context.as_deref());
    let name = name.ok_or(KubeconfigError::CurrentContextNotSet)?;
    let context = content.contexts.iter().find(|named| named.name == name);
    let context = context
        .and_then(|named| named.context.clone())
        .ok_or_else(|| KubeconfigError::LoadContext(name.to_owned()))?;
    let clusters = &content.clusters;
    let cluster = clusters.iter().find(|named| named.name == context.cluster);
    let cluster = cluster
        .and_then(|named| named.cluster.clone())
        .ok_or_else(|| KubeconfigError::LoadClusterOfContext(context.cluster.clone()))?;
    Ok((context, cluster))
}

fn server(cluster: &Cluster) -> Result<Uri, KubeconfigError> {
    let server = cluster.server.as_deref();
    let server = server.ok_or(KubeconfigError::MissingClusterUrl)?;
    server.parse().map_err(KubeconfigError::ParseClusterUrl)
}

/// As in client-go, a context without a user, or with one that is not there, is nobody's.
fn user(content: Kubeconfig, context: &Context, cluster: &ExecAuthCluster) -> AuthInfo {
    let named = content
        .auth_infos
        .into_iter()
        .find(|named| Some(&named.name) == context.user.as_ref());
    let mut user = named.and_then(|named| named.auth_info).unwrap_or_default();
    if let Some(exec) = &mut user.exec
        && exec.provide_cluster_info
    {
        exec.cluster = Some(cluster.clone());
    }
    user
}

fn certificates(text: &[u8]) -> Result<Vec<Vec<u8>>, KubeconfigError> {
    let parts = pem::parse_many(text).map_err(KubeconfigError::ParseCertificates)?;
    let certificates = parts.into_iter().filter(|part| part.tag() == "CERTIFICATE");
    Ok(certificates.map(pem::Pem::into_contents).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// A certificate as far as anybody looks here.
    const AUTHORITY: &str =
        "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCkFBQUEKLS0tLS1FTkQgQ0VSVElGSUNBVEUtLS0tLQo=";

    fn kubeconfig(cluster: Value, user: Value) -> Kubeconfig {
        let content = json!({
            "current-context": "here",
            "contexts": [
                { "name": "here", "context": { "cluster": "c", "user": "u", "namespace": "own" } },
                { "name": "there", "context": { "cluster": "d", "user": "nobody" } },
            ],
            "clusters": [
                { "name": "c", "cluster": cluster },
                { "name": "d", "cluster": { "server": "https://d.example.org", "proxy-url": "http://p" } },
            ],
            "users": [{ "name": "u", "user": user }],
        });
        serde_json::from_value(content).unwrap()
    }

    /// But for the proxy, which kube takes from the environment by itself.
    fn shown(mut config: Config) -> String {
        config.proxy_url = None;
        format!("{config:?}")
    }

    #[test]
    fn all_but_the_proxy_is_what_kube_itself_makes_of_a_kubeconfig() {
        let clusters = [
            json!({ "server": "https://a.example.org:6443", "certificate-authority-data": AUTHORITY,
                "tls-server-name": "b", "disable-compression": true }),
            json!({ "server": "http://a.example.org", "insecure-skip-tls-verify": true }),
        ];
        let exec = json!({ "apiVersion": "client.authentication.k8s.io/v1", "command": "log-in",
            "provideClusterInfo": true });
        let users = [
            json!({ "token": "x", "as": "somebody" }),
            json!({ "exec": exec }),
        ];
        for (cluster, user) in clusters.into_iter().zip(users) {
            let content = kubeconfig(cluster, user);
            let own = config(content.clone(), None, &Variables::default()).unwrap();
            assert_eq!(shown(own), shown(Config::try_from(content).unwrap()));
        }
    }

    #[test]
    fn another_context_has_a_cluster_and_a_proxy_of_its_own() {
        let content = kubeconfig(json!({ "server": "https://a.example.org" }), json!({}));
        let there = config(content.clone(), Some("there"), &Variables::default()).unwrap();
        assert_eq!(there.cluster_url, "https://d.example.org/");
        assert_eq!(there.proxy_url.unwrap(), "http://p:80/");
        let nowhere = config(content, Some("nowhere"), &Variables::default()).unwrap_err();
        assert!(nowhere.to_string().contains("nowhere"), "{nowhere}");
    }

    #[test]
    fn a_server_without_tls_is_asked_for_at_its_own_port() {
        let cluster = json!({ "server": "http://a.example.org/below", "proxy-url": "http://p" });
        let content = kubeconfig(cluster, json!({}));
        let led = config(content, None, &Variables::default()).unwrap();
        assert_eq!(led.cluster_url, "http://a.example.org:80/below");
    }

    #[test]
    fn a_proxy_that_is_none_is_told_from_a_kubeconfig_that_cannot_be_read() {
        let cluster = json!({ "server": "https://a.example.org", "proxy-url": "proxy:3128" });
        let content = kubeconfig(cluster, json!({}));
        let why = config(content, None, &Variables::default()).unwrap_err();
        assert!(matches!(why, Error::Proxy(_)), "{why}");
        let why = config(Kubeconfig::default(), None, &Variables::default()).unwrap_err();
        assert!(matches!(why, Error::Kubeconfig(_)), "{why}");
    }
}
