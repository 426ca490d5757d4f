//! The address of a proxy.

use http::Uri;
use http::uri::Authority;
use thiserror::Error;

/// A text that does not name a usable proxy. It is shown without credentials.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "{field} is {value:?}: {why}. Use http://, https:// or socks5:// before a host and, if needed, a port, as in \"http://proxy.example.org:3128\""
)]
pub struct BadProxy {
    field: &'static str,
    value: String,
    why: &'static str,
}

/// The `proxy-url` of a kubeconfig, which must have a scheme (client-go,
/// tools/clientcmd/helpers.go, `parseProxyURL`).
///
/// # Errors
/// If it does not name a usable proxy.
pub fn of_kubeconfig(text: &str) -> Result<Uri, BadProxy> {
    parse("the cluster's proxy-url", text, text)
}

/// A variable, in which a host without a scheme means `http://` (golang.org/x/net/http/httpproxy,
/// `parseProxy`).
///
/// # Errors
/// As [`of_kubeconfig`].
pub fn of_variable(name: &'static str, text: &str) -> Result<Uri, BadProxy> {
    if text.contains("://") {
        return parse(name, text, text);
    }
    parse(name, text, &format!("http://{text}"))
}

fn parse(field: &'static str, text: &str, address: &str) -> Result<Uri, BadProxy> {
    let bad = |why| BadProxy {
        field,
        value: without_credentials(text),
        why,
    };
    let uri: Uri = address.parse().map_err(|_| bad("it is not a URL"))?;
    let (Some(scheme), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
        return Err(bad("it does not have a scheme"));
    };
    let (scheme, port) = known(scheme).ok_or_else(|| bad("its scheme is not supported"))?;
    let user = authority.as_str().rsplit_once('@').map(|(user, _)| user);
    if scheme == "socks5" && user.is_some() {
        // kube passes a user only to HTTP proxies (kube-client 5.0, client/builder.rs).
        return Err(bad("a SOCKS proxy takes no user"));
    }
    let place = place(authority, port).map_err(bad)?;
    let whole = Uri::builder()
        .scheme(scheme)
        .authority(user.map_or_else(String::new, named) + &place)
        .path_and_query("/");
    whole.build().map_err(|_| bad("it is not a URL"))
}

/// The scheme as kube expects it, and its default port as in Go's net/http. The h in socks5h asks
/// the proxy to resolve the server's name, and hyper always does so.
fn known(scheme: &str) -> Option<(&'static str, u16)> {
    match scheme.to_ascii_lowercase().as_str() {
        "http" => Some(("http", 80)),
        "https" => Some(("https", 443)),
        "socks5" | "socks5h" => Some(("socks5", 1080)),
        _ => None,
    }
}

/// Host and port. kube itself would use 80 for each address without a port.
fn place(authority: &Authority, default: u16) -> Result<String, &'static str> {
    let host = authority.host();
    if host.is_empty() {
        return Err("it does not have a host");
    }
    let text = authority.as_str();
    let place = text.rsplit_once('@').map_or(text, |(_, place)| place);
    match place[host.len()..].trim_start_matches(':') {
        "" => Ok(format!("{host}:{default}")),
        port => match port.parse::<u16>() {
            Ok(port) => Ok(format!("{host}:{port}")),
            Err(_) => Err("its port is not valid"),
        },
    }
}

/// In HTTP a user without a password has an empty one (RFC 7617, 2), and kube does not add it.
fn named(user: &str) -> String {
    if user.contains(':') {
        format!("{user}@")
    } else {
        format!("{user}:@")
    }
}

fn without_credentials(text: &str) -> String {
    let Some((before, place)) = text.rsplit_once('@') else {
        return text.to_owned();
    };
    match before.split_once("://") {
        Some((scheme, _)) => format!("{scheme}://...@{place}"),
        None => format!("...@{place}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_has_the_port_that_go_gives_its_scheme() {
        let cases = [
            ("http://proxy", "http://proxy:80/"),
            ("http://proxy:", "http://proxy:80/"),
            ("https://proxy", "https://proxy:443/"),
            ("https://proxy:8443/", "https://proxy:8443/"),
            ("socks5://proxy", "socks5://proxy:1080/"),
            ("socks5h://proxy:1081", "socks5://proxy:1081/"),
            ("HTTP://10.0.0.1:3128/ignored?too", "http://10.0.0.1:3128/"),
            ("http://[fd00::1]:3128", "http://[fd00::1]:3128/"),
            ("http://[fd00::1]", "http://[fd00::1]:80/"),
            (
                "http://me:pa%40ss@proxy:3128",
                "http://me:pa%40ss@proxy:3128/",
            ),
            ("http://me@proxy:3128", "http://me:@proxy:3128/"),
        ];
        for (text, proxy) in cases {
            let found = of_kubeconfig(text).map(|uri| uri.to_string());
            assert_eq!(found.as_deref(), Ok(proxy), "{text}");
        }
    }

    #[test]
    fn only_a_variable_may_name_a_host_without_a_scheme() {
        for (text, proxy) in [
            ("proxy:3128", "http://proxy:3128/"),
            ("proxy", "http://proxy:80/"),
            ("10.0.0.1:3128", "http://10.0.0.1:3128/"),
            ("me:word@proxy:3128", "http://me:word@proxy:3128/"),
        ] {
            let found = of_variable("HTTPS_PROXY", text).map(|uri| uri.to_string());
            assert_eq!(found.as_deref(), Ok(proxy), "{text}");
            assert!(of_kubeconfig(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_error_of_a_bad_proxy_names_its_field_and_value() {
        for text in [
            "ftp://proxy",
            "http://",
            "http://:3128",
            "http://proxy:99999",
            "http://pro xy",
            "/etc/proxy",
            "socks5://me:word@proxy",
        ] {
            let why = of_kubeconfig(text).unwrap_err().to_string();
            assert!(why.starts_with("the cluster's proxy-url is "), "{why}");
            assert!(why.contains("Use http://"), "{why}");
        }
        let why = of_variable("HTTPS_PROXY", "ftp://proxy:21").unwrap_err();
        let shown = why.to_string();
        assert!(
            shown.starts_with("HTTPS_PROXY is \"ftp://proxy:21\": its scheme is not supported"),
            "{shown}"
        );
    }

    #[test]
    fn no_error_shows_a_password() {
        for text in [
            "ftp://me:hidden@proxy",
            "http://me:hid den@proxy",
            "http://me:hidden/x@proxy:port",
            "socks5://me:hidden@proxy",
        ] {
            let why = of_variable("HTTPS_PROXY", text).unwrap_err().to_string();
            assert!(!why.contains("hid"), "{why}");
            assert!(why.contains("...@proxy"), "{why}");
        }
    }
}
