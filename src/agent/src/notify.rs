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
        Self::at(std::env::var("NOTIFY_SOCKET").ok().as_deref())
    }

    /// Listening at this socket: a path, or behind an `@` the name of an abstract one.
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

    /// We are up.
    pub fn ready(&self) {
        self.send("READY=1");
    }

    /// We are going down.
    pub fn stopping(&self) {
        self.send("STOPPING=1");
    }

    /// Not up yet, for a reason: the start may take as long as this from now on.
    pub fn more_time(&self, time: Duration) {
        self.send(&format!("EXTEND_TIMEOUT_USEC={}", time.as_micros()));
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
    fn systemd_hears_that_we_are_ready_what_we_do_and_that_we_live() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notify");
        let socket = UnixDatagram::bind(&path).unwrap();
        let mut systemd = Systemd::at(path.to_str());
        systemd.ready();
        systemd.status("Trial: first line\nsecond");
        systemd.alive();
        systemd.stopping();
        let expected = [
            "READY=1",
            "STATUS=Trial: first line second",
            "WATCHDOG=1",
            "STOPPING=1",
        ];
        assert_eq!(heard(&socket), expected);
    }

    #[test]
    fn a_status_is_sent_when_it_changes_and_not_before() {
        let name = format!("careen-notify-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        let socket = UnixDatagram::bind_addr(&address).unwrap();
        let mut systemd = Systemd::at(Some(&format!("@{name}")));
        for text in ["one", "one", "two"] {
            systemd.status(text);
        }
        assert_eq!(heard(&socket), ["STATUS=one", "STATUS=two"]);
    }

    #[test]
    fn who_has_nobody_to_tell_goes_on_all_the_same() {
        for nowhere in [None, Some("/no/such/socket"), Some("")] {
            let mut systemd = Systemd::at(nowhere);
            systemd.ready();
            systemd.status("alone");
        }
    }

    #[test]
    fn the_watchdog_is_fed_twice_as_often_as_it_asks() {
        assert_eq!(half("120000000"), Some(Duration::from_secs(60)));
        assert_eq!(half("soon"), None);
    }
}
