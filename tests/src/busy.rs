//! A server that answers 429 to every request, in the words of an overloaded API server. The real
//! server answers so only under a load that no test should create.

use std::path::PathBuf;

use anyhow::Result;
use serde_json::json;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// The answer of API priority and fairness (kubernetes apiserver pkg/server/filters,
/// `tooManyRequests`): text, no Status object.
const ANSWER: &str = "HTTP/1.1 429 Too Many Requests\r\nContent-Type: text/plain; charset=utf-8\r\nRetry-After: 1\r\n\
    Content-Length: 43\r\nConnection: close\r\n\r\nToo many requests, please try again later.\n";

/// The server. It ends with the runtime that started it.
pub struct Busy {
    /// A kubeconfig that points to the server.
    pub kubeconfig: PathBuf,
    _folder: TempDir,
}

impl Busy {
    /// Starts it.
    ///
    /// # Errors
    /// When no port is free.
    pub async fn start() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(answer(stream));
            }
        });
        let folder = tempfile::tempdir()?;
        let kubeconfig = folder.path().join("kubelet.conf");
        let content = json!({
            "current-context": "c",
            "contexts": [{ "name": "c", "context": { "cluster": "c", "user": "u" } }],
            "clusters": [{ "name": "c", "cluster": { "server": format!("http://{address}") } }],
            "users": [{ "name": "u", "user": {} }],
        });
        std::fs::write(&kubeconfig, content.to_string())?;
        Ok(Self {
            kubeconfig,
            _folder: folder,
        })
    }
}

/// Requests here are shorter than one packet.
async fn answer(mut stream: TcpStream) -> Result<()> {
    let mut request = vec![0; 16 * 1024];
    let _ = stream.read(&mut request).await?;
    Ok(stream.write_all(ANSWER.as_bytes()).await?)
}
