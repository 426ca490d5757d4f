//! Whether the components of this node serve, asked as the kubelet asks them.

use std::time::{Duration, Instant};

use http_body_util::BodyExt as _;
use k8s_openapi::api::core::v1::{Container, HTTPGetAction};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::{Client, Config};
use upgrade::Version;
use upgrade::control_plane::Component;
use upgrade::control_plane::raise::Phase;

use super::order::{Failed, In, RaiseOrder, is_same};
use crate::connect::{self, ADMIN, connect_to};
use crate::manifests::{Manifest, Manifests};

/// The pause between two looks.
pub(super) const PAUSE: Duration = Duration::from_secs(1);

/// How long one answer may take. An API server says only after 7 s that its etcd has no quorum.
const PATIENCE: Duration = Duration::from_secs(10);

/// Waits until all components serve, and the API server says that it is this version.
pub(super) async fn wait(order: &RaiseOrder, version: &Version) -> Result<(), Failed> {
    let begun = Instant::now();
    loop {
        match all(order, version).await {
            Ok(()) => return Ok(()),
            Err(_) if begun.elapsed() < order.serving => tokio::time::sleep(PAUSE).await,
            Err(why) => return Err(why).during(Phase::Serving),
        }
    }
}

async fn all(order: &RaiseOrder, version: &Version) -> Result<(), String> {
    let read = Manifests::read(&order.folder);
    if let Some(why) = read.unread.first() {
        return Err(why.clone());
    }
    for (component, manifest) in &read.all {
        let answer = tokio::time::timeout(PATIENCE, probe(manifest)).await;
        let answer = answer.unwrap_or_else(|_| Err("no answer".to_owned()));
        answer.map_err(|why| format!("{component} does not serve: {why}"))?;
    }
    let server = read.all.get(&Component::ApiServer);
    let asked = tokio::time::timeout(PATIENCE, says(order, server)).await;
    let said = asked.unwrap_or_else(|_| Err("no answer".to_owned()));
    let said = said.map_err(|why| format!("kube-apiserver does not say its version: {why}"))?;
    match is_same(&said, version) {
        true => Ok(()),
        false => Err(format!("kube-apiserver is {said}; expected {version}")),
    }
}

/// The version of the own API server, asked at its own address with the administrator's rights.
async fn says(order: &RaiseOrder, server: Option<&Manifest>) -> Result<String, String> {
    let own = server.map(connect::own).transpose()?;
    let client = connect_to(&order.folder, ADMIN, own)?;
    let said = client.apiserver_version().await;
    Ok(said.map_err(|error| client::chain(&error))?.git_version)
}

/// Asks what the manifest says. A component without a probe serves.
async fn probe(manifest: &Manifest) -> Result<(), String> {
    let containers = manifest.pod.spec.as_ref().map(|spec| &spec.containers);
    let Some(container) = containers.and_then(|all| all.first()) else {
        return Ok(());
    };
    let probes = [&container.readiness_probe, &container.liveness_probe];
    let mut probes = probes.into_iter().flatten();
    match probes.find_map(|probe| probe.http_get.as_ref()) {
        None => Ok(()),
        Some(get) => answer(container, get).await,
    }
}

/// As a kubelet does, it takes any certificate, and any answer below 400.
async fn answer(container: &Container, get: &HTTPGetAction) -> Result<(), String> {
    let scheme = get.scheme.as_deref().unwrap_or("HTTP").to_lowercase();
    let host = authority(get.host.as_deref().unwrap_or("127.0.0.1"));
    let port = port(container, &get.port).ok_or("its probe names no port")?;
    let server = format!("{scheme}://{host}:{port}");
    let path = get.path.as_deref().unwrap_or("/");
    let mut config = Config::new(
        server
            .parse()
            .map_err(|error| format!("{server}: {error}"))?,
    );
    config.accept_invalid_certs = true;
    config.default_retry = false;
    let client = Client::try_from(config).map_err(|error| client::chain(&error))?;
    let request = hyper::Request::get(path).body(kube::client::Body::empty());
    let request = request.map_err(|error| error.to_string())?;
    let answer = client.send(request).await;
    let answer = answer.map_err(|error| client::chain(&error))?;
    let status = answer.status();
    // The connection is free for the next look only when all is read.
    let _ = answer.into_body().collect().await;
    match status.is_success() || status.is_redirection() {
        true => Ok(()),
        false => Err(format!("{server}{path} answers {status}")),
    }
}

fn authority(host: &str) -> String {
    match host.contains(':') {
        true => format!("[{host}]"),
        false => host.to_owned(),
    }
}

fn port(container: &Container, port: &IntOrString) -> Option<i32> {
    match port {
        IntOrString::Int(number) => Some(*number),
        IntOrString::String(name) => {
            let mut ports = container.ports.iter().flatten();
            let named = ports.find(|port| port.name.as_ref() == Some(name));
            named.map(|port| port.container_port)
        }
    }
}
