//! Caps the bandwidth of a pull. libostree has no such setting, so its fetcher is pointed at a SOCKS5 relay
//! on loopback in this very process, which reads from the remote no faster than allowed. SOCKS carries http and
//! https alike, with TLS end to end. Only what comes from the remote is capped; requests are small.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use crate::bucket::Bucket;

/// One read from the remote: small enough that a slow cap still flows evenly.
const PIECE: usize = 16 * 1024;

/// A listening relay.
pub struct Relay {
    listener: TcpListener,
    port: u16,
    bucket: Arc<Bucket>,
}

impl Relay {
    /// Binds to a free port on loopback. Starts no thread yet.
    pub fn bind(bytes_per_second: u64) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let port = listener.local_addr()?.port();
        Ok(Self {
            listener,
            port,
            bucket: Arc::new(Bucket::new(bytes_per_second)),
        })
    }

    /// The proxy address as curl wants it; the `h` leaves resolving names to the relay.
    pub fn url(&self) -> String {
        format!("socks5h://127.0.0.1:{}", self.port)
    }

    /// Serves until the process ends.
    pub fn serve(self) {
        thread::spawn(move || {
            for client in self.listener.incoming().flatten() {
                let bucket = Arc::clone(&self.bucket);
                // A connection that breaks is seen by the fetcher, which has its own retries.
                thread::spawn(move || drop(carry(client, &bucket)));
            }
        });
    }
}

fn carry(mut client: TcpStream, bucket: &Bucket) -> io::Result<()> {
    let remote = greet(&mut client)?;
    let (mut upstream, mut requests) = (remote.try_clone()?, client.try_clone()?);
    thread::spawn(move || {
        let _ = io::copy(&mut requests, &mut upstream);
        let _ = upstream.shutdown(Shutdown::Write);
    });
    let done = pour(&remote, &client, bucket);
    let _ = client.shutdown(Shutdown::Both);
    let _ = remote.shutdown(Shutdown::Both);
    done
}

fn pour(mut from: &TcpStream, mut to: &TcpStream, bucket: &Bucket) -> io::Result<()> {
    let mut piece = [0; PIECE];
    loop {
        let read = from.read(&mut piece)?;
        if read == 0 {
            return Ok(());
        }
        bucket.take(read);
        to.write_all(&piece[..read])?;
    }
}

/// The SOCKS5 handshake (RFC 1928), CONNECT without authentication.
fn greet(client: &mut TcpStream) -> io::Result<TcpStream> {
    let [_version, methods] = read_array(client)?;
    read_bytes(client, methods.into())?;
    client.write_all(&[5, 0])?;
    let [_version, command, _reserved, kind] = read_array(client)?;
    let host = read_host(client, kind)?;
    let port = u16::from_be_bytes(read_array(client)?);
    if command != 1 {
        client.write_all(&reply(7))?;
        return Err(io::Error::from(io::ErrorKind::Unsupported));
    }
    match TcpStream::connect((host.as_str(), port)) {
        Ok(remote) => client.write_all(&reply(0)).map(|()| remote),
        Err(error) => client.write_all(&reply(5)).and(Err(error)),
    }
}

fn read_host(client: &mut TcpStream, kind: u8) -> io::Result<String> {
    match kind {
        1 => Ok(Ipv4Addr::from(read_array::<4>(client)?).to_string()),
        4 => Ok(Ipv6Addr::from(read_array::<16>(client)?).to_string()),
        3 => {
            let [length] = read_array(client)?;
            let name = read_bytes(client, length.into())?;
            String::from_utf8(name).map_err(|_| io::Error::from(io::ErrorKind::InvalidData))
        }
        _ => Err(io::Error::from(io::ErrorKind::InvalidData)),
    }
}

const fn reply(code: u8) -> [u8; 10] {
    [5, code, 0, 1, 0, 0, 0, 0, 0, 0]
}

fn read_array<const N: usize>(client: &mut TcpStream) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    client.read_exact(&mut bytes).map(|()| bytes)
}

fn read_bytes(client: &mut TcpStream, length: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; length];
    client.read_exact(&mut bytes).map(|()| bytes)
}
