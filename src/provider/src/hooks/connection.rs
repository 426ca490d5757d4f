//! One connection: its handshake, its calls, and its end if it is silent.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::Watcher;
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;
use tracing::debug;

use super::hook::Hook;
use super::http_response::HttpResponse;
use super::idle::Calls;
use super::limits::Limits;
use super::refusal::Refusal;
use super::route::{answer, hook_of};
use crate::clock;
use crate::world::World;

/// State that all connections share.
pub(super) struct Server {
    world: Arc<World>,
    limits: Limits,
    bodies: Semaphore,
}

/// Serves one connection until it ends or is silent for too long.
pub(super) async fn connection(
    server: Arc<Server>,
    acceptor: TlsAcceptor,
    stream: TcpStream,
    watcher: Watcher,
) {
    let limits = server.limits;
    let _ = stream.set_nodelay(true);
    let stream = match tokio::time::timeout(limits.patience, acceptor.accept(stream)).await {
        Ok(Ok(stream)) => stream,
        Ok(Err(error)) => return debug!("a TLS handshake failed: {error}"),
        Err(_) => return debug!("a TLS handshake took too long"),
    };
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.patience);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(64);
    let calls = Arc::new(Calls::default());
    let counted = Arc::clone(&calls);
    let service = service_fn(move |request| {
        let (server, call) = (Arc::clone(&server), counted.begin());
        async move {
            let response = server.respond(request).await;
            drop(call);
            Ok::<_, Infallible>(response)
        }
    });
    let connection = builder
        .serve_connection(TokioIo::new(stream), service)
        .into_owned();
    tokio::select! {
        ended = watcher.watch(connection) => if let Err(error) = ended {
            debug!("a connection failed: {error}");
        },
        () = calls.until_idle(limits.patience, limits.idle) => debug!("closed an idle connection"),
    }
}

impl Server {
    pub(super) fn new(world: Arc<World>, limits: Limits) -> Self {
        Self {
            world,
            limits,
            bodies: Semaphore::new(limits.bodies),
        }
    }

    async fn respond(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        let begun = Instant::now();
        let hook = hook_of(request.uri().path());
        let reply = self.reply(hook, request).await;
        if let Some(hook) = hook {
            self.world.metrics.answered(hook, &reply, begun.elapsed());
        }
        let mut response = Response::new(Full::from(reply.body.to_string()));
        *response.status_mut() = http::StatusCode::from_u16(reply.status).unwrap_or_default();
        let json = HeaderValue::from_static("application/json");
        response
            .headers_mut()
            .insert(http::header::CONTENT_TYPE, json);
        response
    }

    async fn reply(&self, hook: Option<Hook>, request: Request<Incoming>) -> HttpResponse {
        let Some(hook) = hook else {
            return HttpResponse::refuse(&Refusal::NoHook);
        };
        // Core sends no Content-Type at all, so none is required.
        if request.method() != Method::POST {
            return HttpResponse::refuse(&Refusal::Method);
        }
        let Ok(_place) = self.bodies.acquire().await else {
            return HttpResponse::refuse(&Refusal::Stopping);
        };
        let body = Limited::new(request.into_body(), self.limits.body).collect();
        match tokio::time::timeout(self.limits.patience, body).await {
            Err(_) => HttpResponse::refuse(&Refusal::Slow),
            Ok(Err(error)) if error.is::<LengthLimitError>() => {
                HttpResponse::refuse(&Refusal::TooLong {
                    bytes: self.limits.body,
                })
            }
            Ok(Err(_)) => HttpResponse::refuse(&Refusal::CutShort),
            Ok(Ok(body)) => answer(&self.world, hook, &body.to_bytes(), clock::now()),
        }
    }
}
