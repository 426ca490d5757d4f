//! Serves the metrics on the loopback or a Unix socket.

use std::convert::Infallible;
use std::fs;
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderValue, Request, Response, StatusCode, header};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::Semaphore;
use tracing::{info, warn};
use upgrade::listen::Listen;

/// The content type. Prometheus 3 rejects an answer without it.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// How many clients are served at once: two Prometheus servers and a person. Any program on the
/// node can connect.
const AT_ONCE: usize = 4;

/// How long one connection may take, from the first byte to the last.
const LIMIT: Duration = Duration::from_secs(5);

/// Pause after an accept failed.
const PAUSE: Duration = Duration::from_secs(1);

/// A listening socket.
enum Door {
    Tcp(TcpListener),
    Unix(UnixListener),
}

/// Serves the result of `answer` forever. Serves nothing while it returns nothing.
pub(super) async fn serve(
    listen: Listen,
    again: Duration,
    answer: impl Fn() -> Option<String> + Send + Sync + 'static,
) {
    if let Some(door) = opened(&listen, again).await {
        info!("serving metrics on {listen}");
        answer_all(door, Arc::new(answer)).await;
    }
}

/// The listening socket, as soon as it can be opened. Each cause of a failure is logged once.
async fn opened(listen: &Listen, again: Duration) -> Option<Door> {
    let mut told = String::new();
    loop {
        let error = match open(listen).await {
            Ok(door) => return door,
            Err(error) => error.to_string(),
        };
        if error != told {
            warn!(
                "cannot serve metrics on {listen}: {error}; retrying every {} s",
                again.as_secs()
            );
            told = error;
        }
        tokio::time::sleep(again).await;
    }
}

async fn open(listen: &Listen) -> io::Result<Option<Door>> {
    Ok(match listen {
        Listen::Off => None,
        Listen::Loopback(address) => Some(Door::Tcp(TcpListener::bind(address).await?)),
        Listen::Unix(path) => {
            remove_stale(path)?;
            Some(Door::Unix(UnixListener::bind(path)?))
        }
    })
}

/// The socket of an agent that is gone would block the path. Any other file there belongs to
/// somebody else, and stays.
fn remove_stale(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(meta) if meta.file_type().is_socket() => fs::remove_file(path),
        Ok(_) | Err(_) => Ok(()),
    }
}

async fn answer_all(door: Door, answer: Arc<impl Fn() -> Option<String> + Send + Sync + 'static>) {
    let places = Arc::new(Semaphore::new(AT_ONCE));
    loop {
        // Nothing closes the semaphore.
        let Ok(place) = Arc::clone(&places).acquire_owned().await else {
            return;
        };
        let answer = Arc::clone(&answer);
        let accepted = match &door {
            Door::Tcp(listener) => listener.accept().await.map(|(stream, _)| {
                tokio::spawn(async move {
                    talk(stream, &*answer).await;
                    drop(place);
                })
            }),
            Door::Unix(listener) => listener.accept().await.map(|(stream, _)| {
                tokio::spawn(async move {
                    talk(stream, &*answer).await;
                    drop(place);
                })
            }),
        };
        if accepted.is_err() {
            tokio::time::sleep(PAUSE).await;
        }
    }
}

/// One request, one answer.
async fn talk(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send,
    answer: &(impl Fn() -> Option<String> + Sync),
) {
    let service = service_fn(|request: Request<Incoming>| async move {
        Ok::<_, Infallible>(respond(request.uri().path(), answer))
    });
    let connection = http1::Builder::new()
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), service);
    // A client that disconnects or takes too long gets no answer.
    let _ = tokio::time::timeout(LIMIT, connection).await;
}

fn respond(path: &str, answer: impl Fn() -> Option<String>) -> Response<Full<Bytes>> {
    let (status, text) = match path {
        "/metrics" => match answer() {
            Some(text) => (StatusCode::OK, text),
            None => (
                StatusCode::SERVICE_UNAVAILABLE,
                "the first look is not complete yet\n".to_owned(),
            ),
        },
        _ => (
            StatusCode::NOT_FOUND,
            "not found: use /metrics\n".to_owned(),
        ),
    };
    let kind = match status {
        StatusCode::OK => CONTENT_TYPE,
        _ => "text/plain; charset=utf-8",
    };
    let mut response = Response::new(Full::from(text));
    *response.status_mut() = status;
    let kind = HeaderValue::from_static(kind);
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}
