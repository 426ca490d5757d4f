//! Binds a port to serve at, also on a host without IPv6.

use std::io::{Error, ErrorKind, Result};
use std::net::{Ipv4Addr, SocketAddr};

use tokio::net::TcpListener;
use tracing::warn;

/// Linux's EAFNOSUPPORT (asm-generic/errno.h). `socket` returns it for IPv6 if the kernel was
/// started with `ipv6.disable=1`.
const NO_FAMILY: i32 = 97;

/// Binds a port. On a host without IPv6, `[::]`, which the release uses for both families, becomes
/// 0.0.0.0.
pub async fn listen(address: SocketAddr) -> Result<TcpListener> {
    listen_with(address, TcpListener::bind).await
}

async fn listen_with<L, F>(address: SocketAddr, bind: impl Fn(SocketAddr) -> F) -> Result<L>
where
    F: Future<Output = Result<L>>,
{
    match bind(address).await {
        Err(error) if is_any_of_ipv6(address) && has_no_family(&error) => {
            let plain = SocketAddr::from((Ipv4Addr::UNSPECIFIED, address.port()));
            warn!("this host has no IPv6 ({error}): serving on {plain} instead of {address}");
            bind(plain).await
        }
        bound => bound,
    }
}

fn is_any_of_ipv6(address: SocketAddr) -> bool {
    address.is_ipv6() && address.ip().is_unspecified()
}

fn has_no_family(error: &Error) -> bool {
    error.raw_os_error() == Some(NO_FAMILY) || error.kind() == ErrorKind::AddrNotAvailable
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The address that is bound on a host where every IPv6 address gives this error.
    async fn on_host(error: fn() -> Error, address: &str) -> Result<String> {
        let bind = |address: SocketAddr| async move {
            if address.is_ipv6() {
                return Err(error());
            }
            Ok(address.to_string())
        };
        listen_with(address.parse().unwrap(), bind).await
    }

    #[tokio::test]
    async fn listener_falls_back_to_ipv4_on_a_host_without_ipv6() {
        for error in [
            (|| Error::from_raw_os_error(NO_FAMILY)) as fn() -> Error,
            || Error::from(ErrorKind::AddrNotAvailable),
        ] {
            let at = on_host(error, "[::]:9443").await;
            assert_eq!(at.ok().as_deref(), Some("0.0.0.0:9443"));
            let named = on_host(error, "[::1]:9443").await;
            assert!(named.is_err(), "an address of its own has no other");
        }
    }

    #[tokio::test]
    async fn listener_fails_when_its_port_is_in_use() {
        let taken = || Error::from(ErrorKind::AddrInUse);
        assert!(on_host(taken, "[::]:9443").await.is_err());
    }
}
