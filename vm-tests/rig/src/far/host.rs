//! The host's side: it waits for pods, and leads ports into the guest.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;

use anyhow::Result;

use super::network::Network;
use super::serve::serve;
use super::shared::{Programs, Shared};

/// The host's side of far pods. Dropping it kills their programs.
#[derive(Debug)]
pub struct Far {
    port: u16,
    shared: Arc<Shared>,
}

impl Far {
    /// Waits for pods. The logs of their programs are in `folder`; `address` is the guest's.
    ///
    /// # Errors
    ///
    /// Fails without root, or when there is no free port.
    pub fn start(folder: &Path, address: Ipv4Addr, programs: Programs) -> Result<Self> {
        fs::create_dir_all(folder)?;
        let folder = folder.canonicalize()?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let port = listener.local_addr()?.port();
        let network = Network::make(&folder, address)?;
        let shared = Arc::new(Shared::new(folder, programs, network));
        accept(listener, &shared, serve);
        Ok(Self { port, shared })
    }

    /// The port to which pods connect, the same on 127.0.0.1 and, for a guest, on 10.0.2.2.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Leads what the programs send to an address to another one that this machine reaches, for a
    /// server that is in the guest.
    ///
    /// # Errors
    ///
    /// Fails when a program has the address already.
    pub fn lead(&self, address: SocketAddr, to: SocketAddr) -> Result<()> {
        let listener = self
            .shared
            .network
            .inside(|| TcpListener::bind(address))??;
        self.open(listener, to);
        Ok(())
    }

    /// A port of this machine that leads to another one. Its connections end when the guest boots;
    /// those to a machine that is reset otherwise would not.
    ///
    /// # Errors
    ///
    /// Fails when there is no free port.
    pub fn door(&self, to: u16) -> Result<u16> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let port = listener.local_addr()?.port();
        self.open(listener, (Ipv4Addr::LOCALHOST, to).into());
        Ok(port)
    }

    /// The images whose programs run.
    #[must_use]
    pub fn running(&self) -> Vec<String> {
        self.shared.running()
    }

    /// Kills all programs and ends all connections, as the guest's reset does.
    pub fn lose(&self) {
        self.shared.end();
    }

    fn open(&self, listener: TcpListener, to: SocketAddr) {
        accept(listener, &self.shared, move |shared, near| {
            let far = TcpStream::connect(to)?;
            Ok(shared.carried.carry(&near, &far)?)
        });
    }
}

impl Drop for Far {
    fn drop(&mut self) {
        self.shared.closed.store(true, Ordering::Relaxed);
        // Wakes the thread that waits for pods.
        let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port));
        self.shared.end();
    }
}

/// Serves each connection in a thread of its own until the far side is dropped.
fn accept(
    listener: TcpListener,
    shared: &Arc<Shared>,
    serve: impl Fn(&Shared, TcpStream) -> Result<()> + Send + Sync + 'static,
) {
    let (shared, serve) = (Arc::clone(shared), Arc::new(serve));
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            if shared.closed.load(Ordering::Relaxed) {
                break;
            }
            let (shared, serve) = (Arc::clone(&shared), Arc::clone(&serve));
            // A connection that cannot be served is closed, and its other end sees that.
            thread::spawn(move || drop(serve(&shared, stream)));
        }
    });
}
