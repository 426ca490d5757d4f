//! What a remote, or a proxy before it, may answer in place of a file.

use std::io::{Read, Result, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

/// What is poured at most, lest a test fill the disk of the machine that it runs on.
const MOST: usize = 1 << 30;
const PIECE: usize = 16 << 10;
const FORBIDDEN: &[u8] =
    b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

#[derive(Clone)]
pub enum Trick {
    /// Sends the client to the same path below another address.
    Redirect(String),
    /// Sends the client to this address, whatever it asked for.
    RedirectTo(String),
    /// Sends far more than anybody wants, without saying how much.
    Endless,
    /// The same, with so many bytes a second.
    Slowly(u64),
    /// Says that the client may not have it.
    Forbidden,
    /// Sends this, and neither more nor that it is all.
    FallsSilent(Vec<u8>),
}

impl Trick {
    pub fn play(&self, mut client: &TcpStream, path: &str, sent: &AtomicU64) -> Result<()> {
        let place = match self {
            Self::Redirect(address) => format!("{address}/{path}"),
            Self::RedirectTo(place) => place.clone(),
            Self::Endless => return pour(client, sent, Duration::ZERO),
            Self::Slowly(bytes) => {
                let pause = Duration::from_secs_f64(PIECE as f64 / *bytes as f64);
                return pour(client, sent, pause);
            }
            Self::Forbidden => return client.write_all(FORBIDDEN),
            Self::FallsSilent(content) => return begin(client, content),
        };
        write!(
            client,
            "HTTP/1.1 302 Found\r\nLocation: {place}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        )
    }
}

/// Ended by the client, who hangs up.
fn begin(mut client: &TcpStream, content: &[u8]) -> Result<()> {
    client.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")?;
    client.write_all(content)?;
    client.read(&mut [0]).map(|_| ())
}

/// Ended as a rule by the client, who hangs up.
fn pour(mut client: &TcpStream, sent: &AtomicU64, pause: Duration) -> Result<()> {
    client.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")?;
    let piece = [b'x'; PIECE];
    for _ in 0..MOST / PIECE {
        client.write_all(&piece)?;
        sent.fetch_add(PIECE as u64, Ordering::SeqCst);
        thread::sleep(pause);
    }
    Ok(())
}
