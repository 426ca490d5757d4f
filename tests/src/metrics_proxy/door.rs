//! Where a proxy is asked.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, ensure};
use provider::tls::{self, Current};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;

use super::Proxy;
use crate::replica::get;

impl Proxy {
    /// Stands before an agent, at the port that is returned, until the runtime ends.
    ///
    /// # Errors
    /// When it cannot listen.
    pub async fn serve(self, agent: SocketAddr) -> Result<u16> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let port = listener.local_addr()?.port();
        let tls = TlsAcceptor::from(Arc::new(of_its_own()?));
        let this = Arc::new(self);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (this, tls) = (Arc::clone(&this), tls.clone());
                tokio::spawn(async move {
                    let stream = tls.accept(stream).await?;
                    this.answer(stream, agent).await
                });
            }
        });
        Ok(port)
    }

    /// One question, one answer.
    async fn answer(
        &self,
        mut stream: impl AsyncRead + AsyncWrite + Unpin,
        agent: SocketAddr,
    ) -> Result<()> {
        let head = head(&mut stream).await?;
        let mut words = head.split(' ');
        let (verb, path) = words.next().zip(words.next()).context("no request")?;
        let bearer = head
            .lines()
            .find_map(|line| line.strip_prefix("Authorization: Bearer "));
        let bearer = bearer.unwrap_or_default();
        let reply = match self.refusal(bearer, &verb.to_lowercase(), path).await? {
            Some(status) => format!("HTTP/1.0 {status} Refused\r\n\r\n"),
            None => get(agent, path).await?,
        };
        stream.write_all(reply.as_bytes()).await?;
        Ok(stream.shutdown().await?)
    }
}

/// Up to the empty line.
async fn head(stream: impl AsyncRead + Unpin) -> Result<String> {
    let (mut head, mut lines) = (String::new(), BufReader::new(stream));
    while !head.ends_with("\r\n\r\n") {
        ensure!(lines.read_line(&mut head).await? > 0, "cut off: {head}");
    }
    Ok(head)
}

/// With a certificate that nobody vouches for.
fn of_its_own() -> Result<ServerConfig> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
    let made = tls::make(None, &["proxy".to_owned()], i64::try_from(now)?)?;
    let current = Arc::new(Current::default());
    current.set(made.certificate.as_bytes(), made.key.as_bytes())?;
    let mut config = tls::config(current, None)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}
