//! A port whose connections go on to the first of some addresses that takes them.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Result;
use tokio::io::copy_bidirectional;
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio::time::timeout;

/// How long an address may take to accept. Its kernel is this one, also on a busy machine.
const PATIENCE: Duration = Duration::from_secs(1);

/// Ends the connections to an address.
#[derive(Debug, Clone, Default)]
pub struct Cuts(Arc<Mutex<HashMap<IpAddr, Arc<Notify>>>>);

impl Cuts {
    /// Ends all connections to this address that there are now.
    pub fn cut(&self, address: Ipv4Addr) {
        self.of(address.into()).notify_waiters();
    }

    fn of(&self, address: IpAddr) -> Arc<Notify> {
        let mut cuts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(cuts.entry(address).or_default())
    }
}

/// Accepts connections for as long as the runtime of the caller lives.
///
/// # Errors
///
/// Fails when the runtime does not take the listener.
pub fn open(listener: TcpListener, to: Vec<SocketAddr>, cuts: &Cuts) -> Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let cuts = cuts.clone();
    tokio::spawn(async move {
        loop {
            if let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(carry(stream, to.clone(), cuts.clone()));
            }
        }
    });
    Ok(())
}

/// A connection that no address takes is closed.
async fn carry(mut from: TcpStream, to: Vec<SocketAddr>, cuts: Cuts) {
    for address in to {
        if let Ok(Ok(mut stream)) = timeout(PATIENCE, TcpStream::connect(address)).await {
            let cut = cuts.of(address.ip());
            let _ = (from.set_nodelay(true), stream.set_nodelay(true));
            tokio::select! {
                _ = copy_bidirectional(&mut from, &mut stream) => {}
                () = cut.notified() => {}
            }
            return;
        }
    }
}
