//! Answers `127.0.0.1:10248/healthz`, which kubeadm asks.

use anyhow::{Context, Result};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const ANSWER: &[u8] =
    b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";

/// Takes the port. It fails while another kubelet has it.
pub async fn listen() -> Result<TcpListener> {
    TcpListener::bind(("127.0.0.1", 10248))
        .await
        .context("port 10248 is taken: does another kubelet run here?")
}

/// Answers every request, for as long as this program runs.
pub async fn serve(listener: TcpListener) {
    loop {
        if let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(answer(stream));
        }
    }
}

/// A client that has gone needs no answer.
async fn answer(mut stream: TcpStream) {
    let mut request = [0; 1024];
    let _ = stream.read(&mut request).await;
    let _ = stream.write_all(ANSWER).await;
    let _ = stream.shutdown().await;
}
