//! The load balancer of a control plane with several members: a port whose connections go on to one
//! member that answers.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use socket2::{SockRef, TcpKeepalive};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// How long a member may take to accept. An emulated kernel answers in milliseconds when it is not
/// busy.
const PATIENCE: Duration = Duration::from_secs(3);

/// How long a member may be silent that has lost its power. It ends no connection itself.
const SILENCE: Duration = Duration::from_secs(12);

/// It listens until it is dropped.
#[derive(Debug)]
pub struct Balancer {
    task: JoinHandle<()>,
}

/// The members, and the one that is asked first.
#[derive(Debug)]
struct Members {
    all: Vec<SocketAddr>,
    first: AtomicUsize,
}

impl Balancer {
    /// Listens at an address for these members.
    ///
    /// # Errors
    ///
    /// Fails when the address is taken.
    pub async fn start(at: SocketAddr, members: Vec<SocketAddr>) -> Result<Self> {
        let listener = TcpListener::bind(at).await;
        let listener = listener.with_context(|| format!("cannot listen at {at}"))?;
        let members = Arc::new(Members {
            all: members,
            first: AtomicUsize::new(0),
        });
        let task = tokio::spawn(async move {
            loop {
                if let Ok((stream, _)) = listener.accept().await {
                    tokio::spawn(carry(stream, Arc::clone(&members)));
                }
            }
        });
        Ok(Self { task })
    }
}

impl Drop for Balancer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A connection that no member takes is closed.
async fn carry(mut from: TcpStream, members: Arc<Members>) {
    let first = members.first.load(Ordering::Relaxed);
    for number in members.after(first) {
        let Some(address) = members.all.get(number) else {
            return;
        };
        let Ok(Ok(mut to)) = timeout(PATIENCE, TcpStream::connect(address)).await else {
            continue;
        };
        notice_silence(&from);
        notice_silence(&to);
        members.first.store(number, Ordering::Relaxed);
        let carried = copy_bidirectional(&mut from, &mut to).await;
        // The port of a pod is open before its program answers.
        if matches!(carried, Ok((_, 0))) {
            let next = (number + 1) % members.all.len();
            members.first.store(next, Ordering::Relaxed);
        }
        return;
    }
}

impl Members {
    /// All of them, this one first.
    fn after(&self, first: usize) -> impl Iterator<Item = usize> + use<> {
        let count = self.all.len();
        (first..first + count).map(move |number| number % count)
    }
}

fn notice_silence(stream: &TcpStream) {
    let socket = SockRef::from(stream);
    let often = TcpKeepalive::new()
        .with_time(SILENCE / 4)
        .with_interval(SILENCE / 4);
    // Without them a connection to a member without power lasts longer, and no more.
    let _ = stream.set_nodelay(true);
    let _ = socket.set_tcp_keepalive(&often);
    let _ = socket.set_tcp_user_timeout(Some(SILENCE));
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    /// A server that says its name to each connection, or closes it without a word.
    async fn server(name: &'static str) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let _ = stream.write_all(name.as_bytes()).await;
            }
        });
        address
    }

    async fn free() -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        listener.local_addr().unwrap()
    }

    async fn said(at: SocketAddr) -> String {
        let mut stream = TcpStream::connect(at).await.unwrap();
        let mut text = String::new();
        let _ = stream.read_to_string(&mut text).await;
        text
    }

    #[tokio::test]
    async fn first_member_that_takes_a_connection_gets_it() {
        let (gone, one, two) = (free().await, server("one").await, server("two").await);
        let at = free().await;
        let _balancer = Balancer::start(at, vec![gone, one, two]).await.unwrap();
        assert_eq!(said(at).await, "one");
        assert_eq!(said(at).await, "one");
    }

    #[tokio::test]
    async fn member_that_says_nothing_is_asked_last() {
        let (silent, two) = (server("").await, server("two").await);
        let at = free().await;
        let _balancer = Balancer::start(at, vec![silent, two]).await.unwrap();
        assert_eq!(said(at).await, "");
        assert_eq!(said(at).await, "two");
    }
}
