//! What a remote, or whoever sits before it, may answer in place of a file.

use std::io::{Result, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicU64, Ordering};

/// What is poured at most, lest a test fill the disk of the machine that it runs on.
const MOST: usize = 1 << 30;

#[derive(Clone)]
pub enum Trick {
    /// Sends the client to the same path below another address.
    Redirect(String),
    /// Sends the client to this address, whatever it asked for.
    RedirectTo(String),
    /// Sends far more than anybody wants, without saying how much.
    Endless,
}

impl Trick {
    pub fn play(&self, mut client: &TcpStream, path: &str, sent: &AtomicU64) -> Result<()> {
        let place = match self {
            Self::Redirect(address) => format!("{address}/{path}"),
            Self::RedirectTo(place) => place.clone(),
            Self::Endless => return pour(client, sent),
        };
        write!(
            client,
            "HTTP/1.1 302 Found\r\nLocation: {place}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        )
    }
}

/// Ended as a rule by the client, who hangs up.
fn pour(mut client: &TcpStream, sent: &AtomicU64) -> Result<()> {
    client.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")?;
    let piece = [b'x'; 64 << 10];
    for _ in 0..MOST / piece.len() {
        client.write_all(&piece)?;
        sent.fetch_add(piece.len() as u64, Ordering::SeqCst);
    }
    Ok(())
}
