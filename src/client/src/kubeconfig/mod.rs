//! A kubeconfig as client-go reads it: kube's settings, with the proxy to the API server.
//!
//! kube finds a proxy by itself, but compares `NO_PROXY` with the proxy's own address instead of
//! the server's. It also rejects a whole kubeconfig for one superfluous comma in it (kube-client
//! 5.0, config/file_loader.rs and no_proxy.rs). So this module uses kube's public parts to do the
//! same, and never lets kube read the environment.

mod address;
mod error;
mod exceptions;
mod file;
mod proxy;

use http::Uri;
use kube::Config;
use kube::config::{AuthInfo, Cluster, Context, ExecAuthCluster, Kubeconfig, KubeconfigError};

pub use address::BadProxy;
pub use error::{Error, cause};
pub use file::read;
pub use proxy::Variables;
use proxy::decide;

/// The settings of a kubeconfig, for this context or its current one.
///
/// # Errors
/// If the kubeconfig or its proxy cannot be used.
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

/// The settings as kubectl finds them: `KUBECONFIG`, `~/.kube/config`, or a pod's ServiceAccount.
///
/// # Errors
/// As [`config`], or if there is none of them.
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

/// kube's tunnel uses port 443 for a server without a port, even without TLS (hyper-util 0.1,
/// client/legacy/connect/proxy/tunnel.rs).
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

/// As in client-go, a context without a user, or with a missing user, is anonymous.
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

    /// A certificate that is valid enough for these tests.
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

    /// The settings without the proxy, which kube itself takes from the environment.
    fn shown(mut config: Config) -> String {
        config.proxy_url = None;
        format!("{config:?}")
    }

    #[test]
    fn the_settings_but_the_proxy_are_those_of_kube_itself() {
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
    fn another_context_has_its_own_cluster_and_proxy() {
        let content = kubeconfig(json!({ "server": "https://a.example.org" }), json!({}));
        let there = config(content.clone(), Some("there"), &Variables::default()).unwrap();
        assert_eq!(there.cluster_url, "https://d.example.org/");
        assert_eq!(there.proxy_url.unwrap(), "http://p:80/");
        let nowhere = config(content, Some("nowhere"), &Variables::default()).unwrap_err();
        assert!(nowhere.to_string().contains("nowhere"), "{nowhere}");
    }

    #[test]
    fn a_server_without_tls_keeps_its_port_behind_a_proxy() {
        let cluster = json!({ "server": "http://a.example.org/below", "proxy-url": "http://p" });
        let content = kubeconfig(cluster, json!({}));
        let led = config(content, None, &Variables::default()).unwrap();
        assert_eq!(led.cluster_url, "http://a.example.org:80/below");
    }

    #[test]
    fn a_bad_proxy_is_told_from_an_unreadable_kubeconfig() {
        let cluster = json!({ "server": "https://a.example.org", "proxy-url": "proxy:3128" });
        let content = kubeconfig(cluster, json!({}));
        let why = config(content, None, &Variables::default()).unwrap_err();
        assert!(matches!(why, Error::Proxy(_)), "{why}");
        let why = config(Kubeconfig::default(), None, &Variables::default()).unwrap_err();
        assert!(matches!(why, Error::Kubeconfig(_)), "{why}");
    }
}
