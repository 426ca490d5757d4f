//! The metrics of prepared hosts and pools. The careen-provider of these tests has none, because it
//! runs without `--infrastructure`.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Result;
use provider::metrics::{HostCounts, Metrics, Operation, PoolCounts};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::prometheus::free;

/// A trouble of a machine. Its reason is a type of a crate that these tests do not use.
const TROUBLE: &str =
    "careen_provider_machine_troubles_total{class=\"person\",reason=\"HostTaken\"} 1\n# EOF\n";

/// Serves them at the address that it returns.
pub async fn serve() -> Result<SocketAddr> {
    let address = free()?;
    let listener = TcpListener::bind(address).await?;
    let text = text();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            // Prometheus asks again if it got no answer.
            let _ = answer(stream, &text).await;
        }
    });
    Ok(address)
}

fn text() -> String {
    let metrics = Metrics::default().with_hosts();
    let claimed = HostCounts {
        claimed: 1,
        ..HostCounts::default()
    };
    metrics.hosts().show(&claimed);
    for what in Operation::ALL {
        metrics.operations().took(what, Duration::from_secs(3));
    }
    metrics.pools().show("ns", "pool", &PoolCounts::default());
    metrics.text().replace("# EOF\n", TROUBLE)
}

async fn answer(mut stream: TcpStream, text: &str) -> Result<()> {
    let mut request = [0; 4096];
    let _length = stream.read(&mut request).await?;
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        text.len()
    );
    stream.write_all(head.as_bytes()).await?;
    Ok(stream.write_all(text.as_bytes()).await?)
}
