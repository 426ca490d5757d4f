//! A loopback proxy as a site runs one. For each CONNECT request to any place it opens a connection
//! to one server, and it records the requests.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Result, bail};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};

use crate::node::{merge, replace};

/// A host name that only the proxy resolves (RFC 6761, 6.4).
pub const BEHIND: &str = "api.careen.invalid:6443";

/// One proxy.
pub struct Proxy {
    /// Its port on 127.0.0.1.
    pub port: u16,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Proxy {
    /// A proxy that forwards to a port on 127.0.0.1.
    ///
    /// # Errors
    /// When no port is free.
    pub async fn to(port: u16) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let own = listener.local_addr()?.port();
        let asked = Arc::default();
        tokio::spawn(accept(listener, port, Arc::clone(&asked)));
        Ok(Self { port: own, asked })
    }

    /// The heads of all requests so far.
    #[must_use]
    pub fn asked(&self) -> Vec<String> {
        let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.clone()
    }
}

async fn accept(listener: TcpListener, port: u16, asked: Arc<Mutex<Vec<String>>>) {
    while let Ok((near, _)) = listener.accept().await {
        let asked = Arc::clone(&asked);
        tokio::spawn(async move {
            // A connection that either end closes is not an error of the proxy.
            let _ = lead(near, port, &asked).await;
        });
    }
}

async fn lead(mut near: TcpStream, port: u16, asked: &Mutex<Vec<String>>) -> Result<()> {
    let head = head(&mut near).await?;
    let connect = head.starts_with("CONNECT ");
    asked
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .push(head);
    if !connect {
        near.write_all(b"HTTP/1.1 405 Method Not Allowed\r\n\r\n")
            .await?;
        return Ok(());
    }
    let mut far = TcpStream::connect(("127.0.0.1", port)).await?;
    near.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")
        .await?;
    copy_bidirectional(&mut near, &mut far).await?;
    Ok(())
}

/// The client sends nothing after the head until it gets an answer.
async fn head(near: &mut TcpStream) -> Result<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() > 8192 {
            bail!("no end of the head");
        }
        head.push(near.read_u8().await?);
    }
    Ok(String::from_utf8(head)?)
}

/// Adds these fields to the cluster of a kubeconfig, and writes the result to another file.
///
/// # Errors
/// When the kubeconfig is not readable, or the other file is not writable.
pub fn with_cluster(kubeconfig: &Path, fields: Value, to: &Path) -> Result<()> {
    let mut content: Value = serde_json::from_slice(&std::fs::read(kubeconfig)?)?;
    merge(&mut content["clusters"][0]["cluster"], fields);
    replace(to, &serde_json::to_vec(&content)?)
}
