//! `NO_PROXY` as Go reads it (golang.org/x/net/http/httpproxy): hosts without a proxy. A malformed
//! word matches no host.

use std::net::IpAddr;

use ipnet::IpNet;

/// The hosts that are reached without a proxy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exceptions(Vec<Exception>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Exception {
    All,
    Net(IpNet),
    Address {
        address: IpAddr,
        port: String,
    },
    /// All names below it, with a leading dot.
    Domain {
        below: String,
        itself: bool,
        port: String,
    },
}

impl Exceptions {
    /// Parses the comma-separated words.
    #[must_use]
    pub fn of(text: &str) -> Self {
        let words = text.split(',').map(|word| word.trim().to_ascii_lowercase());
        Self(words.filter_map(|word| Exception::of(&word)).collect())
    }

    /// Whether this host (a name, or an address without brackets) is one of them.
    #[must_use]
    pub fn hold(&self, host: &str, port: u16) -> bool {
        let (host, port) = (host.to_ascii_lowercase(), port.to_string());
        // An IPv4 address that is written as IPv6 is the same address.
        let address = host.parse::<IpAddr>().ok().map(|ip| ip.to_canonical());
        let holds = |exception: &Exception| match address {
            Some(address) => exception.holds_address(address, &port),
            None => exception.holds_name(&host, &port),
        };
        self.0.iter().any(holds)
    }
}

impl Exception {
    fn of(word: &str) -> Option<Self> {
        if word == "*" {
            return Some(Self::All);
        }
        if let Ok(net) = word.parse() {
            return Some(Self::Net(net));
        }
        let (host, port) = split(word);
        if let Ok(address) = host.parse::<IpAddr>() {
            let (address, port) = (address.to_canonical(), port.to_owned());
            return Some(Self::Address { address, port });
        }
        domain(host, port)
    }

    fn holds_address(&self, wanted: IpAddr, at: &str) -> bool {
        match self {
            Self::All => true,
            Self::Net(net) => net.contains(&wanted),
            Self::Address { address, port } => *address == wanted && open(port, at),
            Self::Domain { .. } => false,
        }
    }

    fn holds_name(&self, wanted: &str, at: &str) -> bool {
        match self {
            Self::All => true,
            Self::Net(_) | Self::Address { .. } => false,
            Self::Domain {
                below,
                itself,
                port,
            } => {
                let is = *itself && wanted == &below[1..];
                (is || wanted.ends_with(below.as_str())) && open(port, at)
            }
        }
    }
}

fn open(port: &str, at: &str) -> bool {
    port.is_empty() || port == at
}

/// `name` matches itself and all names below it; `.name` and `*.name` match only those below.
fn domain(host: &str, port: &str) -> Option<Exception> {
    let host = match host.strip_prefix('*') {
        Some(rest) if rest.starts_with('.') => rest,
        _ => host,
    };
    if host.is_empty() {
        return None;
    }
    let itself = !host.starts_with('.');
    Some(Exception::Domain {
        below: if itself {
            format!(".{host}")
        } else {
            host.to_owned()
        },
        itself,
        port: port.to_owned(),
    })
}

/// Host and port. An IPv6 address has a port only if it is in brackets.
fn split(word: &str) -> (&str, &str) {
    let Some((host, port)) = word.rsplit_once(':') else {
        return (word, "");
    };
    let inside = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'));
    match inside {
        Some(address) => (address, port),
        None if !host.contains(':') => (host, port),
        None => (word, ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Go's own table (httpproxy, proxy_test.go, `UseProxyTests`), without the loopback addresses,
    /// which are handled earlier.
    const OF_GO: &str = "foobar.com, .barbaz.net, *.quux.org, 192.168.1.1, 192.168.1.2:81, 192.168.1.3:80, \
                         10.0.0.0/30, 2001:db8::52:0:1, [2001:db8::52:0:2]:443, [2001:db8::52:0:3]:80, 2002:db8:a::45/64";

    #[test]
    fn the_hosts_of_go_s_own_table_are_excepted_as_in_go() {
        let exceptions = Exceptions::of(OF_GO);
        for (host, excepted) in [
            ("barbaz.net", false),
            ("www.barbaz.net", true),
            ("foobar.com", true),
            ("www.foobar.com", true),
            ("foofoobar.com", false),
            ("FOOBAR.com", true),
            ("baz.com", false),
            ("localhost.net", false),
            ("quux.org", false),
            ("a.quux.org", true),
            ("notquux.org", false),
            ("192.168.1.1", true),
            ("192.168.1.2", false),
            ("192.168.1.3", true),
            ("192.168.1.4", false),
            ("10.0.0.2", true),
            ("10.0.0.3", true),
            ("10.0.0.4", false),
            ("2001:db8::52:0:1", true),
            ("2001:db8::52:0:2", false),
            ("2001:db8::52:0:3", true),
            ("2002:db8:a::123", true),
            ("2002:db8:b::123", false),
            ("fe80::424b:c8be:1643:a1b6", false),
        ] {
            assert_eq!(exceptions.hold(host, 80), excepted, "{host}");
        }
    }

    #[test]
    fn a_port_narrows_an_exception_down() {
        let exceptions = Exceptions::of("api.example.org:6443,.svc:443,10.0.0.1:6443");
        for (host, port, excepted) in [
            ("api.example.org", 6443, true),
            ("api.example.org", 443, false),
            ("below.api.example.org", 6443, true),
            ("kubernetes.default.svc", 443, true),
            ("kubernetes.default.svc", 6443, false),
            ("10.0.0.1", 6443, true),
            ("10.0.0.1", 443, false),
        ] {
            assert_eq!(exceptions.hold(host, port), excepted, "{host}:{port}");
        }
    }

    #[test]
    fn a_star_anywhere_excepts_every_host() {
        for text in ["*", "foobar.com, *", " * ,x"] {
            let exceptions = Exceptions::of(text);
            assert!(exceptions.hold("api.example.org", 6443), "{text}");
            assert!(exceptions.hold("10.0.0.1", 6443), "{text}");
        }
    }

    #[test]
    fn a_malformed_word_excepts_no_host_and_spoils_no_other() {
        let exceptions = Exceptions::of(",, :80,10.0.0.0/99,[::1],*.,;,api.example.org,");
        assert!(exceptions.hold("api.example.org", 6443));
        assert!(!exceptions.hold("other.example.org", 80));
        assert!(!exceptions.hold("10.0.0.1", 80));
        assert_eq!(Exceptions::of(""), Exceptions::default());
    }

    #[test]
    fn an_ipv4_address_written_as_ipv6_is_the_same() {
        assert!(Exceptions::of("10.0.0.0/8").hold("::ffff:10.0.0.1", 6443));
        assert!(Exceptions::of("::ffff:10.0.0.1").hold("10.0.0.1", 6443));
    }
}
