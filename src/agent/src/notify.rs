//! Telling systemd how we are: ready, what we do, still alive. The protocol is one datagram (sd_notify(3)).

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

/// systemd, as far as it listens.
pub struct Systemd {
    socket: Option<(UnixDatagram, SocketAddr)>,
    last: String,
}

impl Systemd {
    /// From the environment. Started by hand there is nobody to tell.
    #[must_use]
    pub fn from_environment() -> Self {
        let address = std::env::var("NOTIFY_SOCKET")
            .ok()
            .and_then(|path| address(&path));
        let socket = address.and_then(|address| Some((UnixDatagram::unbound().ok()?, address)));
        Self {
            socket,
            last: String::new(),
        }
    }

    /// We are up.
    pub fn ready(&self) {
        self.send("READY=1");
    }

    /// We are going down.
    pub fn stopping(&self) {
        self.send("STOPPING=1");
    }

    /// What `systemctl status` shows. Sent when it changes.
    pub fn status(&mut self, text: &str) {
        if self.last != text {
            self.send(&format!("STATUS={}", text.replace('\n', " ")));
            text.clone_into(&mut self.last);
        }
    }

    /// The loop still turns.
    pub fn alive(&self) {
        self.send("WATCHDOG=1");
    }

    fn send(&self, message: &str) {
        if let Some((socket, address)) = &self.socket {
            // Who does not listen is not told; there is nothing else to do about it.
            let _ = socket.send_to_addr(message.as_bytes(), address);
        }
    }
}

fn address(path: &str) -> Option<SocketAddr> {
    match path.strip_prefix('@') {
        Some(name) => SocketAddr::from_abstract_name(name).ok(),
        None => SocketAddr::from_pathname(path).ok(),
    }
}

/// How often the loop must say that it is alive: half of what systemd waits. Nothing without a watchdog.
#[must_use]
pub fn watchdog() -> Option<Duration> {
    let micros: u64 = std::env::var("WATCHDOG_USEC").ok()?.parse().ok()?;
    Some(Duration::from_micros(micros) / 2)
}
