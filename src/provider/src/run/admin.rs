//! `/healthz`, `/readyz` and `/metrics`, over plain HTTP: they contain nothing secret.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Request, Response, StatusCode, header};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::sync::watch;
use upgrade::Phase;

use super::rivals;
use crate::lease::{Lead, Rival};
use crate::tls::Current;
use crate::world::World;

/// The content type of the metrics. Prometheus 3 rejects metrics without one.
const METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// What is shown. Clones share it.
#[derive(Clone)]
pub struct Shown {
    /// What the provider knows.
    pub world: Arc<World>,
    /// The certificate.
    pub current: Arc<Current>,
    /// Whether this process leads.
    pub leads: watch::Receiver<Lead>,
    /// The provider that core calls instead.
    pub rival: watch::Receiver<Rival>,
    /// The ExtensionConfig that leads there.
    pub extension_config: String,
}

/// Serves for ever.
pub async fn serve(listener: TcpListener, shown: Shown) {
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let shown = shown.clone();
        tokio::spawn(async move {
            let service = service_fn(move |request: Request<Incoming>| {
                let response = answer(request.uri().path(), &shown);
                async move { Ok::<_, Infallible>(response) }
            });
            let mut builder = http1::Builder::new();
            builder
                .timer(TokioTimer::new())
                .header_read_timeout(Duration::from_secs(10));
            let _ = builder
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}

fn answer(path: &str, shown: &Shown) -> Response<Full<Bytes>> {
    let mut kind = "text/plain; charset=utf-8";
    let (status, text) = match path {
        "/healthz" => (StatusCode::OK, "ok\n".to_owned()),
        "/readyz" => readiness(shown),
        "/metrics" => {
            measure(&shown.world, shown.leads.borrow().holds());
            kind = METRICS;
            (StatusCode::OK, shown.world.metrics.text())
        }
        _ => (StatusCode::NOT_FOUND, "not found\n".to_owned()),
    };
    let mut response = Response::new(Full::from(text));
    *response.status_mut() = status;
    let kind = HeaderValue::from_static(kind);
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

/// Ready to be called: the certificate is present and the state is synced. A workload cluster that
/// is not visible does not make the provider unready; the hook's answer reports it.
fn readiness(shown: &Shown) -> (StatusCode, String) {
    if let Some(namespace) = &*shown.rival.borrow() {
        let sentence = rivals::sentence(&shown.extension_config, namespace);
        return (StatusCode::SERVICE_UNAVAILABLE, sentence + "\n");
    }
    match (shown.current.is_there(), shown.world.synced()) {
        (false, _) => (
            StatusCode::SERVICE_UNAVAILABLE,
            "there is no certificate yet\n".to_owned(),
        ),
        (_, false) => (
            StatusCode::SERVICE_UNAVAILABLE,
            "the first lists are not complete yet\n".to_owned(),
        ),
        (true, true) => (StatusCode::OK, "ok\n".to_owned()),
    }
}

fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn measure(world: &World, leads: bool) {
    let gauges = world.metrics.gauges();
    let (all, away) = world.clusters.away();
    gauges.clusters.set(count(all));
    gauges.away.set(count(away));
    gauges.nodes.set(count(world.clusters.nodes()));
    gauges.queue.set(count(world.queue.depth()));
    gauges.leader.set(i64::from(leads));
    let mut phases = HashMap::new();
    for machine in world
        .machines
        .all()
        .iter()
        .filter(|machine| machine.mark.is_some())
    {
        let cluster = world.clusters.get(&machine.cluster_key());
        let node = machine.node.as_ref().and_then(|name| cluster.node(name));
        let phase = node
            .as_ref()
            .and_then(|node| node.reply.status.as_ref())
            .map_or("Scheduled", |status| label(&status.phase));
        *phases.entry(phase).or_insert(0) += 1;
    }
    gauges.cordoned.set(world.cordoned().into());
    gauges.phases.clear();
    for (phase, number) in phases {
        gauges
            .phases
            .get_or_create(&vec![("phase", phase.to_owned())])
            .set(number);
    }
}

/// A node may write anything as its phase, so labels use only known values. The last two are for a
/// Node whose request has no upgrade yet.
fn label(phase: &str) -> &'static str {
    let mut known = Phase::NAMES.into_iter().chain(["Idle", "Refused"]);
    known.find(|name| *name == phase).unwrap_or("Other")
}
