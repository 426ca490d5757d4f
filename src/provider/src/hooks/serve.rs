//! The HTTPS server of the hooks: HTTP/1.1 and HTTP/2, any path prefix, raw bodies, and limits for hands that are not core's.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;
use tracing::debug;

use super::route::{Hook, Reply, answer, hook_of};
use crate::world::{self, World};

/// Limits against hands that are not core's.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The longest body in bytes. A request holds six objects at most and etcd takes none over 1.5 MiB.
    pub body: usize,
    /// How long a client may take over its handshake, its headers, its body.
    pub patience: Duration,
    /// How many connections at once. Core and the control plane's manager keep a few each.
    pub connections: usize,
    /// How many bodies are read at once; with `body` the bound on memory.
    pub bodies: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body: 10 << 20,
            patience: Duration::from_secs(10),
            connections: 1024,
            bodies: 64,
        }
    }
}

/// A server that has its port.
pub struct Listening {
    listener: TcpListener,
    limits: Limits,
}

impl Listening {
    /// Takes the port.
    ///
    /// # Errors
    /// When it is taken.
    pub async fn on(address: SocketAddr, limits: Limits) -> std::io::Result<Self> {
        Ok(Self {
            listener: TcpListener::bind(address).await?,
            limits,
        })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// When the socket is gone.
    pub fn address(&self) -> std::io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// What every connection shares.
struct Server {
    world: Arc<World>,
    limits: Limits,
    bodies: Semaphore,
}

/// Serves until `stop`, then lets the calls under way end.
pub async fn serve(
    listening: Listening,
    tls: Arc<rustls::ServerConfig>,
    world: Arc<World>,
    stop: impl Future<Output = ()>,
) {
    let limits = listening.limits;
    let server = Arc::new(Server {
        world,
        limits,
        bodies: Semaphore::new(limits.bodies),
    });
    let (acceptor, room) = (
        TlsAcceptor::from(tls),
        Arc::new(Semaphore::new(limits.connections)),
    );
    let graceful = GracefulShutdown::new();
    let mut stop = std::pin::pin!(stop);
    loop {
        let stream = tokio::select! {
            () = &mut stop => break,
            accepted = listening.listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    // Out of file descriptors, most likely: a pause is all that helps.
                    debug!("a connection could not be accepted: {error}");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            },
        };
        let Ok(place) = Arc::clone(&room).try_acquire_owned() else {
            continue;
        };
        let (server, acceptor, watcher) =
            (Arc::clone(&server), acceptor.clone(), graceful.watcher());
        tokio::spawn(async move {
            connection(server, acceptor, stream, watcher).await;
            drop(place);
        });
    }
    // Core gives up after 10 s anyway.
    let _ = tokio::time::timeout(limits.patience, graceful.shutdown()).await;
}

async fn connection(
    server: Arc<Server>,
    acceptor: TlsAcceptor,
    stream: TcpStream,
    watcher: hyper_util::server::graceful::Watcher,
) {
    let patience = server.limits.patience;
    let _ = stream.set_nodelay(true);
    let stream = match tokio::time::timeout(patience, acceptor.accept(stream)).await {
        Ok(Ok(stream)) => stream,
        Ok(Err(error)) => return debug!("a TLS handshake failed: {error}"),
        Err(_) => return debug!("a TLS handshake took too long"),
    };
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(patience);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(64);
    let service = service_fn(move |request| {
        let server = Arc::clone(&server);
        async move { Ok::<_, Infallible>(server.respond(request).await) }
    });
    let connection = builder
        .serve_connection(TokioIo::new(stream), service)
        .into_owned();
    if let Err(error) = watcher.watch(connection).await {
        debug!("a connection broke: {error}");
    }
}

impl Server {
    async fn respond(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        let begun = Instant::now();
        let hook = hook_of(request.uri().path());
        let reply = self.reply(hook, request).await;
        if let Some(hook) = hook {
            self.world
                .metrics
                .answered(hook, reply.status, begun.elapsed());
        }
        let mut response = Response::new(Full::from(reply.body.to_string()));
        *response.status_mut() = http::StatusCode::from_u16(reply.status).unwrap_or_default();
        let json = HeaderValue::from_static("application/json");
        response
            .headers_mut()
            .insert(http::header::CONTENT_TYPE, json);
        response
    }

    async fn reply(&self, hook: Option<Hook>, request: Request<Incoming>) -> Reply {
        let Some(hook) = hook else {
            return Reply::refuse(404, "no such hook here");
        };
        // Core sends no Content-Type at all, so none is asked for.
        if request.method() != Method::POST {
            return Reply::refuse(405, "hooks are called with POST");
        }
        let Ok(_place) = self.bodies.acquire().await else {
            return Reply::refuse(503, "stopping");
        };
        let body = Limited::new(request.into_body(), self.limits.body).collect();
        match tokio::time::timeout(self.limits.patience, body).await {
            Err(_) => Reply::refuse(408, "the body took too long"),
            Ok(Err(error)) if error.is::<LengthLimitError>() => Reply::refuse(
                413,
                &format!("the body is longer than {} bytes", self.limits.body),
            ),
            Ok(Err(_)) => Reply::refuse(400, "the body broke off"),
            Ok(Ok(body)) => answer(&self.world, hook, &body.to_bytes(), world::now()),
        }
    }
}
