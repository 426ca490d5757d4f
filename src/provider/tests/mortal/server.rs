//! An HTTP server for the objects, as far as the provider needs it.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::small::{Refused, Small};

type Body = UnsyncBoxBody<Bytes, Infallible>;

/// Serves for the lifetime of the test's runtime. Returns the port.
pub async fn serve(small: Arc<Small>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let small = Arc::clone(&small);
            tokio::spawn(async move {
                let service = service_fn(move |request| {
                    let small = Arc::clone(&small);
                    async move { Ok::<_, Infallible>(respond(small, request).await) }
                });
                let connection = http1::Builder::new();
                let _ = connection
                    .serve_connection(TokioIo::new(stream), service)
                    .await;
            });
        }
    });
    port
}

/// The object that a path below an API's version names.
struct Named {
    plural: String,
    name: Option<String>,
    status: bool,
}

fn named(path: &str) -> Option<Named> {
    let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    let below = match parts[..] {
        ["api", _, ref below @ ..] | ["apis", _, _, ref below @ ..] => below,
        _ => return None,
    };
    let below = match below {
        ["namespaces", _, below @ ..] => below,
        below => below,
    };
    let (plural, rest) = below.split_first()?;
    Some(Named {
        plural: (*plural).to_owned(),
        name: rest.first().map(|name| (*name).to_owned()),
        status: rest.get(1) == Some(&"status"),
    })
}

async fn respond(small: Arc<Small>, request: Request<Incoming>) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let path = parts.uri.path();
    if path == "/version" {
        return reply(200, &version(&small.release()));
    }
    if let Some(known) = fixed(path) {
        return reply(200, &known);
    }
    let Some(named) = named(path) else {
        return failure(404);
    };
    if parts.method == Method::GET {
        let query = parts.uri.query().unwrap_or_default();
        return read(small, named, query);
    }
    let body = body.collect().await.unwrap().to_bytes();
    let body: Value = serde_json::from_slice(&body).unwrap();
    match (&parts.method, named.plural.as_str()) {
        (&Method::PATCH, _) => write(&small, &named, body).await,
        (_, "leases") => hold(&small, body),
        // Events.
        _ => reply(201, &body),
    }
}

fn version(release: &str) -> Value {
    json!({
        "major": "", "minor": "", "gitVersion": release, "gitCommit": "", "gitTreeState": "", "buildDate": "",
        "goVersion": "", "compiler": "", "platform": "",
    })
}

fn fixed(path: &str) -> Option<Value> {
    const GROUP: &str = "infrastructure.cluster.x-k8s.io";
    let version = json!({ "groupVersion": format!("{GROUP}/v1beta2"), "version": "v1beta2" });
    let resource = |name: &str| {
        json!({
            "name": name, "singularName": "hostmachine", "namespaced": true, "kind": "HostMachine",
            "verbs": ["get", "list", "watch", "patch"],
        })
    };
    match path {
        "/apis" => Some(json!({
            "kind": "APIGroupList", "apiVersion": "v1",
            "groups": [{ "name": GROUP, "versions": [version], "preferredVersion": version }],
        })),
        "/apis/infrastructure.cluster.x-k8s.io/v1beta2" => Some(json!({
            "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": format!("{GROUP}/v1beta2"),
            "resources": [resource("hostmachines"), resource("hostmachines/status")],
        })),
        _ => None,
    }
}

fn read(small: Arc<Small>, named: Named, query: &str) -> Response<Body> {
    if let Some(name) = &named.name {
        let found = small.get(&named.plural, name);
        return found.map_or_else(|| failure(404), |object| reply(200, &object));
    }
    let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    if !query.contains("watch=true") {
        return reply(200, &small.list(&named.plural));
    }
    small.is_watched_for(&named.plural);
    let from = pairs.find(|(key, _)| *key == "resourceVersion");
    let from: u64 = from.and_then(|(_, value)| value.parse().ok()).unwrap_or(0);
    let begin = (small, named.plural, from);
    let events = futures::stream::unfold(begin, |(small, plural, from)| async move {
        let (version, line) = small.next(&plural, from).await;
        tokio::time::sleep(small.lag()).await;
        let frame = Ok::<_, Infallible>(Frame::data(Bytes::from(line)));
        Some((frame, (small, plural, version)))
    });
    Response::new(StreamBody::new(events).boxed_unsync())
}

/// A Lease is created or replaced as a whole.
fn hold(small: &Small, body: Value) -> Response<Body> {
    small
        .replace("leases", body)
        .map_or_else(|_| failure(409), |kept| reply(201, &kept))
}

async fn write(small: &Small, named: &Named, patch: Value) -> Response<Body> {
    if small.is_dead() {
        // The sender no longer exists.
        std::future::pending::<()>().await;
    }
    let name = named.name.as_deref().unwrap_or_default();
    let written = small.patch(&named.plural, name, named.status, patch);
    match written {
        Err(Refused::Missing) => failure(404),
        Err(Refused::Conflict) => failure(409),
        Ok(object) => {
            if small.count() {
                std::future::pending::<()>().await;
            }
            if named.plural == "machines" && small.meddles() {
                // Time for the watches to deliver it.
                tokio::time::sleep(Duration::from_millis(500)).await;
            }
            reply(200, &object)
        }
    }
}

fn reply(status: u16, content: &Value) -> Response<Body> {
    let body = Full::from(content.to_string()).boxed_unsync();
    let response = Response::builder().status(status);
    let response = response.header("content-type", "application/json");
    response.body(body).unwrap()
}

fn failure(status: u16) -> Response<Body> {
    let content = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": status, "message": "refused",
        "reason": if status == 409 { "Conflict" } else { "NotFound" },
    });
    reply(status, &content)
}
