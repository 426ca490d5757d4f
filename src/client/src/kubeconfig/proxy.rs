//! Which proxy to use for an API server.

use http::Uri;

use super::address::{self, BadProxy};
use super::exceptions::Exceptions;

/// The proxy variables of an environment. Of two names for the same variable, the first one that is
/// not empty wins. The default has none.
#[derive(Clone, Default)]
pub struct Variables {
    https: Option<Named>,
    http: Option<Named>,
    exceptions: Exceptions,
}

type Named = (&'static str, String);

impl Variables {
    /// The variables of this process.
    #[must_use]
    pub fn of_process() -> Self {
        Self::of(|name| std::env::var(name).ok())
    }

    /// The variables that this function returns.
    pub fn of(value: impl Fn(&str) -> Option<String>) -> Self {
        let first = |names: [&'static str; 2]| {
            let set = |name| Some((name, value(name).filter(|text| !text.is_empty())?));
            names.into_iter().find_map(set)
        };
        let exceptions = first(["NO_PROXY", "no_proxy"]).unwrap_or_default().1;
        Self {
            https: first(["HTTPS_PROXY", "https_proxy"]),
            http: first(["HTTP_PROXY", "http_proxy"]),
            exceptions: Exceptions::of(&exceptions),
        }
    }

    fn proxy_for(&self, server: &Uri) -> Option<&Named> {
        match server.scheme_str() {
            Some("https") => self.https.as_ref(),
            Some("http") => self.http.as_ref(),
            _ => None,
        }
    }

    /// As in Go, a proxy from the environment never applies to this machine.
    fn except(&self, server: &Uri) -> bool {
        let host = server.host().unwrap_or_default();
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let default = if server.scheme_str() == Some("http") {
            80
        } else {
            443
        };
        let loopback = host.parse().is_ok_and(is_loopback);
        host == "localhost"
            || loopback
            || self
                .exceptions
                .hold(host, server.port_u16().unwrap_or(default))
    }
}

fn is_loopback(address: std::net::IpAddr) -> bool {
    address.to_canonical().is_loopback()
}

/// The proxy to an API server, chosen as in client-go: the kubeconfig's `proxy-url` without
/// exceptions, or else the environment's.
///
/// # Errors
/// If the chosen text does not name a proxy. client-go ignores such a variable, and the request
/// then takes a route that nobody wants.
pub fn decide(
    server: &Uri,
    proxy_url: Option<&str>,
    variables: &Variables,
) -> Result<Option<Uri>, BadProxy> {
    if let Some(text) = proxy_url.filter(|text| !text.is_empty()) {
        return address::of_kubeconfig(text).map(Some);
    }
    match variables.proxy_for(server) {
        Some((name, text)) if !variables.except(server) => {
            address::of_variable(name, text).map(Some)
        }
        _ => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Set<'a> = &'a [(&'a str, &'a str)];

    fn chosen(server: &str, proxy_url: Option<&str>, set: Set) -> Result<Option<String>, BadProxy> {
        let value = |wanted: &str| {
            let found = set.iter().find(|(name, _)| *name == wanted);
            found.map(|(_, value)| (*value).to_owned())
        };
        let proxy = decide(&server.parse().unwrap(), proxy_url, &Variables::of(value))?;
        Ok(proxy.map(|uri| uri.to_string()))
    }

    const API: &str = "https://api.example.org:6443";

    #[test]
    fn the_first_variable_for_the_scheme_of_the_server_counts() {
        let cases: [(&str, Set, Option<&str>); 10] = [
            (API, &[], None),
            (API, &[("HTTPS_PROXY", "http://a:1")], Some("http://a:1/")),
            (API, &[("https_proxy", "http://a:1")], Some("http://a:1/")),
            (
                API,
                &[("HTTPS_PROXY", "http://a:1"), ("https_proxy", "http://b:1")],
                Some("http://a:1/"),
            ),
            (
                API,
                &[("HTTPS_PROXY", ""), ("https_proxy", "http://b:1")],
                Some("http://b:1/"),
            ),
            (API, &[("HTTP_PROXY", "http://a:1")], None),
            (API, &[("ALL_PROXY", "http://a:1")], None),
            (
                "http://api.example.org",
                &[("HTTP_PROXY", "a:1")],
                Some("http://a:1/"),
            ),
            ("http://api.example.org", &[("HTTPS_PROXY", "a:1")], None),
            (
                API,
                &[("HTTPS_PROXY", "socks5://a")],
                Some("socks5://a:1080/"),
            ),
        ];
        for (server, set, proxy) in cases {
            let found = chosen(server, None, set).unwrap();
            assert_eq!(found.as_deref(), proxy, "{server} {set:?}");
        }
    }

    #[test]
    fn exceptions_are_about_the_server_and_not_about_the_proxy() {
        let with = |server: &str, exceptions: &str| {
            let set = [
                ("HTTPS_PROXY", "http://proxy.corp:3128"),
                ("no_proxy", exceptions),
            ];
            chosen(server, None, &set).unwrap().is_some()
        };
        assert!(with(API, "proxy.corp,.corp"));
        assert!(!with(API, "example.org"));
        assert!(!with(API, "proxy.corp, api.example.org:6443"));
        assert!(with(API, "api.example.org:443"));
        assert!(!with("https://api.example.org", "api.example.org:443"));
        assert!(!with("https://10.96.0.1:443", "10.96.0.0/12"));
        assert!(!with("https://[fd00::1]:6443", "fd00::/8"));
        assert!(with("https://10.96.0.1:443", ".svc"));
    }

    #[test]
    fn a_variable_s_proxy_never_leads_to_this_machine() {
        let set = [("HTTPS_PROXY", "http://proxy:1")];
        for server in [
            "https://localhost:6443",
            "https://127.0.0.1:6443",
            "https://[::1]:6443",
        ] {
            assert_eq!(chosen(server, None, &set), Ok(None), "{server}");
        }
    }

    #[test]
    fn the_proxy_of_the_kubeconfig_comes_before_all_variables() {
        let set = [("HTTPS_PROXY", "nonsense://x"), ("NO_PROXY", "*")];
        for server in [API, "https://127.0.0.1:6443", "http://api.example.org"] {
            let found = chosen(server, Some("socks5://own:1"), &set).unwrap();
            assert_eq!(found.as_deref(), Some("socks5://own:1/"), "{server}");
        }
        let none = chosen(API, Some(""), &[("HTTPS_PROXY", "http://a:1")]);
        assert_eq!(none.unwrap().as_deref(), Some("http://a:1/"));
    }

    #[test]
    fn a_bad_variable_is_an_error_only_if_it_counts() {
        let set = [("https_proxy", "ftp://a"), ("NO_PROXY", "10.0.0.0/8")];
        let why = chosen(API, None, &set).unwrap_err().to_string();
        assert!(why.starts_with("https_proxy is \"ftp://a\""), "{why}");
        assert_eq!(chosen("https://10.0.0.1:6443", None, &set), Ok(None));
        assert_eq!(chosen("http://api.example.org", None, &set), Ok(None));
    }
}
