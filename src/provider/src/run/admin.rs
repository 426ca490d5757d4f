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

use crate::lease::Lead;
use crate::tls::Current;
use crate::world::World;

/// The content type of the metrics. Prometheus 3 rejects metrics without one.
const METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Serves for ever.
pub async fn serve(
    listener: TcpListener,
    world: Arc<World>,
    current: Arc<Current>,
    leads: watch::Receiver<Lead>,
) {
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let (world, current, leads) = (Arc::clone(&world), Arc::clone(&current), leads.clone());
        tokio::spawn(async move {
            let service = service_fn(move |request: Request<Incoming>| {
                let response = answer(
                    request.uri().path(),
                    &world,
                    &current,
                    leads.borrow().holds(),
                );
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

fn answer(path: &str, world: &World, current: &Current, leads: bool) -> Response<Full<Bytes>> {
    let mut kind = "text/plain; charset=utf-8";
    let (status, text) = match path {
        "/healthz" => (StatusCode::OK, "ok\n".to_owned()),
        "/readyz" => readiness(world, current),
        "/metrics" => {
            measure(world, leads);
            kind = METRICS;
            (StatusCode::OK, world.metrics.text())
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
fn readiness(world: &World, current: &Current) -> (StatusCode, String) {
    match (current.is_there(), world.synced()) {
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
