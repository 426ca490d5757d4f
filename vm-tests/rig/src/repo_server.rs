//! The remote from which nodes fetch images: an OSTree repository over HTTP on loopback, which can
//! be slow or away.

use std::convert::Infallible;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::Result;
use futures::stream::{self, Stream};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Empty, StreamBody};
use hyper::body::{Bytes, Frame, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::fs::File;
use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;
use tokio::sync::Mutex;
use tokio::task::{JoinHandle, JoinSet};

/// The port in the images' remote.
pub const PORT: u16 = 8421;

const CHUNK: usize = 64 * 1024;

/// A slow line sends a little all the time. Large pieces at long intervals would look like a dead
/// line to a client.
const PIECES_PER_SECOND: u64 = 10;

/// A server; dropping it closes its port.
#[derive(Debug)]
pub struct RepoServer {
    port: u16,
    shared: Arc<Shared>,
    task: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    root: PathBuf,
    /// Bytes per second over all connections; 0 is no limit.
    limit: AtomicU64,
    served: AtomicU64,
    /// Held while a slow chunk is on the line, so that parallel fetches share the limit.
    line: Mutex<()>,
}

type Body = BoxBody<Bytes, io::Error>;

impl RepoServer {
    /// Serves `root` on [`PORT`], or on any free port if that one is taken.
    ///
    /// # Errors
    ///
    /// Fails when there is no free port.
    pub async fn start(root: &Path) -> Result<Self> {
        let listener = match TcpListener::bind(("127.0.0.1", PORT)).await {
            Ok(listener) => listener,
            Err(_) => TcpListener::bind(("127.0.0.1", 0)).await?,
        };
        let port = listener.local_addr()?.port();
        let shared = Arc::new(Shared {
            root: root.to_owned(),
            limit: AtomicU64::new(0),
            served: AtomicU64::new(0),
            line: Mutex::new(()),
        });
        let task = Some(tokio::spawn(accept(listener, shared.clone())));
        Ok(Self { port, shared, task })
    }

    /// The port, the same on 127.0.0.1 and, for a guest, on 10.0.2.2.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Bytes of files sent since the start.
    #[must_use]
    pub fn served(&self) -> u64 {
        self.shared.served.load(Ordering::Relaxed)
    }

    /// Limits the bytes per second from now on; 0 is no limit.
    pub fn limit(&self, bytes_per_second: u64) {
        self.shared.limit.store(bytes_per_second, Ordering::Relaxed);
    }

    /// Breaks every connection and closes the port.
    pub fn go_away(&mut self) {
        if let Some(task) = self.task.take() {
            task.abort();
        }
    }

    /// Opens the port again.
    ///
    /// # Errors
    ///
    /// Fails when another program took the port meanwhile.
    pub async fn come_back(&mut self) -> Result<()> {
        if self.task.is_none() {
            let listener = TcpListener::bind(("127.0.0.1", self.port)).await?;
            self.task = Some(tokio::spawn(accept(listener, self.shared.clone())));
        }
        Ok(())
    }
}

impl Drop for RepoServer {
    fn drop(&mut self) {
        self.go_away();
    }
}

/// The connections are in this task's set, so that ending the task breaks them all.
async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let shared = shared.clone();
        let service = service_fn(move |request| answer(request, shared.clone()));
        let server = hyper::server::conn::http1::Builder::new();
        connections.spawn(server.serve_connection(TokioIo::new(stream), service));
        while connections.try_join_next().is_some() {}
    }
}

async fn answer(
    request: Request<Incoming>,
    shared: Arc<Shared>,
) -> Result<Response<Body>, Infallible> {
    let file = match below(&shared.root, request.uri().path()) {
        Some(path) => open(&path).await,
        None => None,
    };
    let Some((file, length)) = file else {
        let nothing = Empty::new().map_err(|never| match never {}).boxed();
        let mut response = Response::new(nothing);
        *response.status_mut() = StatusCode::NOT_FOUND;
        return Ok(response);
    };
    let mut response = Response::new(BodyExt::boxed(StreamBody::new(chunks(file, shared))));
    response
        .headers_mut()
        .insert(hyper::header::CONTENT_LENGTH, length.into());
    Ok(response)
}

async fn open(path: &Path) -> Option<(File, u64)> {
    let file = File::open(path).await.ok()?;
    let metadata = file.metadata().await.ok()?;
    metadata.is_file().then_some((file, metadata.len()))
}

/// Serves nothing outside the repository, whatever the path is.
fn below(root: &Path, path: &str) -> Option<PathBuf> {
    let relative = Path::new(path.strip_prefix('/')?);
    let plain = relative
        .components()
        .all(|part| matches!(part, Component::Normal(_)));
    plain.then(|| root.join(relative))
}

fn chunks(file: File, shared: Arc<Shared>) -> impl Stream<Item = io::Result<Frame<Bytes>>> {
    stream::try_unfold((file, shared), |(mut file, shared)| async move {
        let mut buffer = vec![0; piece(shared.limit.load(Ordering::Relaxed))];
        let read = file.read(&mut buffer).await?;
        if read == 0 {
            return Ok(None);
        }
        buffer.truncate(read);
        shared.wait_for_line(read).await;
        Ok(Some((Frame::data(Bytes::from(buffer)), (file, shared))))
    })
}

/// The size of one piece at this rate.
fn piece(limit: u64) -> usize {
    match limit {
        0 => CHUNK,
        _ => usize::try_from(limit / PIECES_PER_SECOND)
            .unwrap_or(CHUNK)
            .clamp(1, CHUNK),
    }
}

impl Shared {
    async fn wait_for_line(&self, bytes: usize) {
        self.served.fetch_add(bytes as u64, Ordering::Relaxed);
        let limit = self.limit.load(Ordering::Relaxed);
        if limit > 0 {
            let _line = self.line.lock().await;
            tokio::time::sleep(Duration::from_secs_f64(bytes as f64 / limit as f64)).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_line_gives_a_little_all_the_time() {
        assert_eq!(piece(0), CHUNK, "no limit");
        assert_eq!(piece(1_000_000), CHUNK);
        assert_eq!(piece(20_000), 2_000);
        assert_eq!(piece(1), 1, "slower yet, and not nothing");
    }

    #[test]
    fn a_path_outside_the_repository_is_not_served() {
        assert_eq!(below(Path::new("/repo"), "/../etc/passwd"), None);
        assert_eq!(below(Path::new("/repo"), "//etc/passwd"), None);
        assert_eq!(
            below(Path::new("/repo"), "/config"),
            Some(PathBuf::from("/repo/config"))
        );
    }
}
