//! Whether the kubelet reports that it is healthy.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use upgrade::observe::Check;

/// The kubelet's default for healthzBindAddress and healthzPort.
pub const ADDRESS: &str = "127.0.0.1:10248";

const REQUEST: &[u8] = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";

const ANSWER: Duration = Duration::from_secs(5);

/// Checks once.
pub async fn check() -> Check {
    match tokio::time::timeout(ANSWER, ask()).await {
        Ok(Ok(line)) if line.split(' ').nth(1) == Some("200") => Check::Pass,
        Ok(Ok(line)) => Check::Fail(format!("healthz answers {line:?}")),
        Ok(Err(error)) => Check::Fail(format!("healthz on {ADDRESS}: {error}")),
        Err(_) => Check::Fail(format!("healthz on {ADDRESS} does not answer")),
    }
}

/// The first line of the answer.
async fn ask() -> std::io::Result<String> {
    let mut stream = TcpStream::connect(ADDRESS).await?;
    stream.write_all(REQUEST).await?;
    let mut answer = vec![0; 128];
    let length = stream.read(&mut answer).await?;
    let text = String::from_utf8_lossy(&answer[..length]).into_owned();
    Ok(text.lines().next().unwrap_or_default().to_owned())
}
