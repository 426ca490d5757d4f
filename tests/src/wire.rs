//! A wire between one agent and the API server. A test can cut it or make it silent, and it counts
//! what the agent sends. TLS passes through it unchanged, and the server at the far end is the real
//! one. The wire uses several servers in turn.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Result, bail};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// The state of the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It works.
    Open,
    /// The wire closes existing connections, and new ones immediately.
    Cut,
    /// Connections stay open and no data passes, as in a network failure.
    Dead,
}

/// One wire.
pub struct Wire {
    /// Its port on 127.0.0.1.
    pub port: u16,
    state: watch::Sender<State>,
    ends: watch::Sender<Vec<u16>>,
    sent: Arc<AtomicU64>,
    connections: watch::Sender<u64>,
}

impl Wire {
    /// Creates a wire to a port on 127.0.0.1.
    ///
    /// # Errors
    /// When no port is free.
    pub async fn to(port: u16) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let own = listener.local_addr()?.port();
        let (state, seen) = watch::channel(State::Open);
        let (ends, leads_to) = watch::channel(vec![port]);
        let (sent, connections) = (Arc::default(), watch::Sender::default());
        tokio::spawn(accept(
            listener,
            leads_to,
            seen,
            Arc::clone(&sent),
            connections.clone(),
        ));
        Ok(Self {
            port: own,
            state,
            ends,
            sent,
            connections,
        })
    }

    /// Forwards each new connection to one of these ports in turn, as a Service does to its pods.
    /// If no server listens on a port, the wire uses the next.
    pub fn lead_to(&self, ports: &[u16]) {
        self.ends.send_replace(ports.to_vec());
    }

    /// Changes its state.
    pub fn set(&self, state: State) {
        self.state.send_replace(state);
    }

    /// Bytes that the agent has sent so far.
    #[must_use]
    pub fn sent(&self) -> u64 {
        self.sent.load(Ordering::SeqCst)
    }

    /// Connections that the agent has opened so far.
    #[must_use]
    pub fn connections(&self) -> u64 {
        *self.connections.borrow()
    }

    /// Waits until the agent has opened more than `than` connections.
    pub async fn until_more_connections(&self, than: u64) {
        let mut connections = self.connections.subscribe();
        let _ = connections.wait_for(|now| *now > than).await;
    }
}

async fn accept(
    listener: TcpListener,
    leads_to: watch::Receiver<Vec<u16>>,
    state: watch::Receiver<State>,
    sent: Arc<AtomicU64>,
    connections: watch::Sender<u64>,
) {
    let mut turn: usize = 0;
    while let Ok((near, _)) = listener.accept().await {
        connections.send_modify(|all| *all += 1);
        turn = turn.wrapping_add(1);
        let ends = by_turns(&leads_to.borrow(), turn);
        let (state, sent) = (state.clone(), Arc::clone(&sent));
        tokio::spawn(async move {
            let mut cut = state.clone();
            tokio::select! {
                _ = cut.wait_for(|state| *state == State::Cut) => {}
                _ = join(near, ends, state, sent) => {}
            }
        });
    }
}

/// The same ports, each time with a different first one.
fn by_turns(ports: &[u16], turn: usize) -> Vec<u16> {
    let mut ports = ports.to_vec();
    let first = turn % ports.len().max(1);
    ports.rotate_left(first);
    ports
}

async fn connect(ends: &[u16]) -> Result<TcpStream> {
    for port in ends {
        if let Ok(far) = TcpStream::connect(("127.0.0.1", *port)).await {
            return Ok(far);
        }
    }
    bail!("nobody listens at any of {ends:?}")
}

async fn join(
    near: TcpStream,
    ends: Vec<u16>,
    state: watch::Receiver<State>,
    sent: Arc<AtomicU64>,
) -> Result<()> {
    let far = connect(&ends).await?;
    near.set_nodelay(true)?;
    far.set_nodelay(true)?;
    let ((near_read, near_write), (far_read, far_write)) = (near.into_split(), far.into_split());
    tokio::select! {
        result = pump(near_read, far_write, state.clone(), Some(sent)) => result,
        result = pump(far_read, near_write, state, None) => result,
    }
}

async fn pump(
    mut from: impl AsyncReadExt + Unpin,
    mut to: impl AsyncWriteExt + Unpin,
    mut state: watch::Receiver<State>,
    count: Option<Arc<AtomicU64>>,
) -> Result<()> {
    let mut buffer = vec![0; 16 * 1024];
    loop {
        let length = from.read(&mut buffer).await?;
        if length == 0 {
            return Ok(());
        }
        if let Some(count) = &count {
            count.fetch_add(length as u64, Ordering::SeqCst);
        }
        state.wait_for(|state| *state != State::Dead).await?;
        to.write_all(&buffer[..length]).await?;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(20);

    async fn end() -> (TcpListener, u16) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        (listener, port)
    }

    async fn is_called(end: &TcpListener) -> bool {
        tokio::time::timeout(PATIENCE, end.accept()).await.is_ok()
    }

    #[tokio::test]
    async fn wire_connects_to_each_end_in_turn_and_skips_dead_ones() {
        let ((one, first), (other, second)) = (end().await, end().await);
        let wire = Wire::to(first).await.unwrap();
        wire.lead_to(&[first, second]);
        let call = || TcpStream::connect(("127.0.0.1", wire.port));
        let _both = (call().await.unwrap(), call().await.unwrap());
        assert!(is_called(&one).await && is_called(&other).await);
        drop(other);
        let _both = (call().await.unwrap(), call().await.unwrap());
        assert!(is_called(&one).await && is_called(&one).await);
    }
}
