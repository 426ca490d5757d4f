//! The HTTPS server of the hooks: HTTP/1.1 and HTTP/2, any path prefix, raw bodies, and limits
//! against clients other than core.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;
use tracing::debug;

use super::connection::{Server, connection};
use super::limits::Limits;
use crate::listen::listen;
use crate::world::World;

/// A server that has bound its port.
pub struct Listening {
    listener: TcpListener,
    limits: Limits,
}

impl Listening {
    /// Binds the port.
    ///
    /// # Errors
    /// If the port is in use.
    pub async fn on(address: SocketAddr, limits: Limits) -> std::io::Result<Self> {
        Ok(Self {
            listener: listen(address).await?,
            limits,
        })
    }

    /// The address that it listens on.
    ///
    /// # Errors
    /// If the socket is gone.
    pub fn address(&self) -> std::io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// Serves on the runtime of the caller until `stop`, then lets the calls in progress finish.
pub async fn serve(
    listening: Listening,
    tls: Arc<rustls::ServerConfig>,
    world: Arc<World>,
    stop: impl Future<Output = ()>,
) {
    let limits = listening.limits;
    let listener = match here(listening.listener) {
        Ok(listener) => listener,
        Err(error) => return tracing::error!("cannot listen for calls of the hooks: {error}"),
    };
    let server = Arc::new(Server::new(world, limits));
    let (acceptor, room) = (
        TlsAcceptor::from(tls),
        Arc::new(Semaphore::new(limits.connections)),
    );
    let graceful = GracefulShutdown::new();
    let mut stop = std::pin::pin!(stop);
    loop {
        let stream = tokio::select! {
            () = &mut stop => break,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    // Most likely out of file descriptors: only a pause helps.
                    debug!("cannot accept a connection: {error}");
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
    // Core times out after 10 s anyway.
    let _ = tokio::time::timeout(limits.patience, graceful.shutdown()).await;
}

/// The same port, as a part of the caller's runtime. It was bound on another one.
fn here(listener: TcpListener) -> std::io::Result<TcpListener> {
    TcpListener::from_std(listener.into_std()?)
}
