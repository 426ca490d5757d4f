//! Asks the readiness probes of the static pods.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result};
use http::Request;
use k8s_openapi::api::core::v1::{Container, HTTPGetAction, Probe};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::{Client, Config};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::pods::Shown;

/// The pods of which a probe is known, and whether they are ready.
pub type Ready = BTreeMap<String, bool>;

/// The pause between two rounds.
const PAUSE: Duration = Duration::from_secs(2);

/// Asks all pods at the same time, again and again.
pub async fn keep(shown: watch::Receiver<Vec<Shown>>, tell: watch::Sender<Ready>) {
    loop {
        let pods = shown.borrow().clone();
        let mut asked: JoinSet<_> = pods.into_iter().map(ask).collect();
        let mut ready = Ready::new();
        while let Some(answer) = asked.join_next().await {
            ready.extend(answer);
        }
        tell.send_replace(ready);
        tokio::time::sleep(PAUSE).await;
    }
}

/// A running pod without a probe is ready.
async fn ask(shown: Shown) -> (String, bool) {
    let container = shown.manifest.container();
    let probe = container.and_then(|container| container.readiness_probe.as_ref());
    let ready = match (container, probe) {
        (Some(container), Some(probe)) if shown.runs => passes(container, probe).await,
        _ => shown.runs,
    };
    (shown.name, ready)
}

async fn passes(container: &Container, probe: &Probe) -> bool {
    let seconds = probe.timeout_seconds.unwrap_or(1).unsigned_abs();
    let limit = Duration::from_secs(seconds.into());
    let Some(get) = &probe.http_get else {
        return true;
    };
    matches!(timeout(limit, answer(container, get)).await, Ok(Ok(_)))
}

/// As a kubelet does, it takes any certificate, and any answer below 400.
async fn answer(container: &Container, get: &HTTPGetAction) -> Result<String> {
    let scheme = get.scheme.as_deref().unwrap_or("HTTP").to_lowercase();
    let host = get.host.as_deref().unwrap_or("127.0.0.1");
    let port = port(container, &get.port).context("a probe of an unknown port")?;
    let mut config = Config::new(format!("{scheme}://{host}:{port}").parse()?);
    config.accept_invalid_certs = true;
    config.default_retry = false;
    let path = get.path.as_deref().unwrap_or("/");
    let request = Request::get(path).body(Vec::new())?;
    Ok(Client::try_from(config)?.request_text(request).await?)
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
