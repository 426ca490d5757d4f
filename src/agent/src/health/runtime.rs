//! Whether containerd answers: an HTTP/2 greeting on its socket, as every gRPC client begins. A
//! bare connect would also succeed on a hung containerd, because the kernel alone accepts it.

use std::path::Path;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use upgrade::observe::Check;

/// containerd's socket.
pub(crate) const SOCKET: &str = "/run/containerd/containerd.sock";

/// The client's preface and an empty SETTINGS frame (RFC 9113, section 3.4).
const GREETING: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";

/// A SETTINGS frame's type, fourth of a frame's nine header bytes.
const SETTINGS: u8 = 4;

const ANSWER: Duration = Duration::from_secs(5);

/// Checks once.
pub async fn check(socket: &Path) -> Check {
    match tokio::time::timeout(ANSWER, greet(socket)).await {
        Ok(Ok(SETTINGS)) => Check::Pass,
        Ok(Ok(other)) => Check::Fail(format!("{} answers with frame {other}", socket.display())),
        Ok(Err(error)) => Check::Fail(format!("{}: {error}", socket.display())),
        Err(_) => Check::Fail(format!("{} does not answer", socket.display())),
    }
}

async fn greet(socket: &Path) -> std::io::Result<u8> {
    let mut stream = UnixStream::connect(socket).await?;
    stream.write_all(GREETING).await?;
    let mut header = [0; 9];
    stream.read_exact(&mut header).await?;
    Ok(header[3])
}
