//! A service's notifications to systemd: ready, status, alive. A message is one datagram
//! (sd_notify(3)).

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

/// systemd's notification socket, if there is one.
pub struct Notify {
    socket: Option<(UnixDatagram, SocketAddr)>,
    last: String,
}

impl Notify {
    /// The socket from the environment. A program that a person starts has none.
    #[must_use]
    pub fn from_environment() -> Self {
        Self::at(std::env::var("NOTIFY_SOCKET").ok().as_deref())
    }

    /// The socket at this path, or the abstract socket of this name if it starts with `@`.
    #[must_use]
    pub fn at(socket: Option<&str>) -> Self {
        let socket = socket
            .and_then(address)
            .and_then(|address| Some((UnixDatagram::unbound().ok()?, address)));
        Self {
            socket,
            last: String::new(),
        }
    }

    /// The service is ready.
    pub fn ready(&self) {
        self.send("READY=1");
    }

    /// The service is stopping.
    pub fn stopping(&self) {
        self.send("STOPPING=1");
    }

    /// The service is not ready yet: its start may take this much longer from now on.
    pub fn more_time(&self, time: Duration) {
        self.send(&format!("EXTEND_TIMEOUT_USEC={}", time.as_micros()));
    }

    /// The text that `systemctl status` shows. It is sent only when it changes.
    pub fn status(&mut self, text: &str) {
        if self.last != text {
            self.send(&format!("STATUS={}", text.replace('\n', " ")));
            text.clone_into(&mut self.last);
        }
    }

    /// The service's loop is still running.
    pub fn alive(&self) {
        self.send("WATCHDOG=1");
    }

    fn send(&self, message: &str) {
        if let Some((socket, address)) = &self.socket {
            // Nothing can be done about a message that nobody receives.
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

/// How often the loop must report that it is alive: half of systemd's timeout. Nothing without a
/// watchdog.
#[must_use]
pub fn watchdog() -> Option<Duration> {
    half(&std::env::var("WATCHDOG_USEC").ok()?)
}

fn half(micros: &str) -> Option<Duration> {
    Some(Duration::from_micros(micros.parse().ok()?) / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(socket: &UnixDatagram) -> Vec<String> {
        socket.set_nonblocking(true).unwrap();
        let mut buffer = [0; 256];
        std::iter::from_fn(|| {
            socket
                .recv(&mut buffer)
                .ok()
                .map(|length| buffer[..length].to_vec())
        })
        .map(|message| String::from_utf8(message).unwrap())
        .collect()
    }

    #[test]
    fn systemd_hears_ready_status_alive_and_stopping() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notify");
        let socket = UnixDatagram::bind(&path).unwrap();
        let mut notify = Notify::at(path.to_str());
        notify.ready();
        notify.status("Trial: first line\nsecond");
        notify.alive();
        notify.stopping();
        let expected = [
            "READY=1",
            "STATUS=Trial: first line second",
            "WATCHDOG=1",
            "STOPPING=1",
        ];
        assert_eq!(heard(&socket), expected);
    }

    #[test]
    fn a_status_is_sent_only_when_it_changes() {
        let name = format!("careen-notify-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        let socket = UnixDatagram::bind_addr(&address).unwrap();
        let mut notify = Notify::at(Some(&format!("@{name}")));
        for text in ["one", "one", "two"] {
            notify.status(text);
        }
        assert_eq!(heard(&socket), ["STATUS=one", "STATUS=two"]);
    }

    #[test]
    fn a_service_runs_where_nobody_listens() {
        for nowhere in [None, Some("/no/such/socket"), Some("")] {
            let mut notify = Notify::at(nowhere);
            notify.ready();
            notify.status("alone");
        }
    }

    #[test]
    fn the_watchdog_hears_twice_in_the_time_it_waits() {
        assert_eq!(half("120000000"), Some(Duration::from_secs(60)));
        assert_eq!(half("soon"), None);
    }
}
