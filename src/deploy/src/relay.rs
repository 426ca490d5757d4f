//! Caps the bandwidth of a pull. libostree has no such setting, so its fetcher connects through a
//! SOCKS5 relay on loopback in this process, which reads from the remote no faster than allowed.
//! SOCKS carries both http and https, with TLS end to end. Only data from the remote is capped;
//! requests are small.
//!
//! Any program on the node can connect to loopback. So the relay serves only clients that know a
//! secret of this run. Otherwise users could bypass the node's own rules for them, under root's
//! name.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use crate::bucket::Bucket;

/// One read from the remote: small enough for an even flow at a low cap.
const PIECE: usize = 16 * 1024;

/// How long a client may take to authenticate and to name its destination.
const GREETING: Duration = Duration::from_secs(5);

/// How many clients may be unauthenticated at a time. Any program on the node can connect, so a new
/// client displaces the oldest. A client that knows the secret sends it at once.
const STRANGERS: usize = 64;

/// The pause after an accept failed, for example because of too many open files.
const REST: Duration = Duration::from_millis(50);

/// A listening relay.
pub struct Relay {
    listener: TcpListener,
    port: u16,
    secret: Arc<str>,
    bucket: Arc<Bucket>,
}

/// The user name that goes with the secret.
const USER: &str = "careen";
/// The number of random bytes in the secret.
const RANDOM: usize = 16;
/// The authentication method of RFC 1928 that the relay accepts, and the code for none.
const BY_PASSWORD: u8 = 2;
const BY_NOTHING: u8 = 0xff;

impl Relay {
    /// Binds to a free port on loopback. Starts no thread yet.
    pub fn bind(bytes_per_second: u64) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let port = listener.local_addr()?.port();
        let mut random = [0; RANDOM];
        File::open("/dev/urandom")?.read_exact(&mut random)?;
        Ok(Self {
            listener,
            port,
            secret: hex::encode(random).into(),
            bucket: Arc::new(Bucket::new(bytes_per_second)),
        })
    }

    /// The proxy address in curl's format. The `h` lets the relay resolve names.
    pub fn url(&self) -> String {
        format!("socks5h://{USER}:{}@127.0.0.1:{}", self.secret, self.port)
    }

    /// Serves until the process ends.
    pub fn serve(self) {
        thread::spawn(move || {
            let mut strangers = VecDeque::new();
            for client in self.listener.incoming() {
                let Ok(client) = client else {
                    thread::sleep(REST);
                    continue;
                };
                let (bucket, secret) = (Arc::clone(&self.bucket), Arc::clone(&self.secret));
                let Ok(stranger) = client.try_clone().map(Arc::new) else {
                    thread::sleep(REST);
                    continue;
                };
                make_place(&mut strangers);
                strangers.push_back(Arc::downgrade(&stranger));
                // The fetcher sees a broken connection, and has its own retries.
                let served = move || drop(carry(client, &bucket, &secret, stranger));
                if thread::Builder::new().spawn(served).is_err() {
                    thread::sleep(REST);
                }
            }
        });
    }
}

/// Closes the oldest unauthenticated connection if there are too many.
fn make_place(strangers: &mut VecDeque<Weak<TcpStream>>) {
    strangers.retain(|stranger| stranger.strong_count() > 0);
    if strangers.len() < STRANGERS {
        return;
    }
    if let Some(oldest) = strangers.pop_front().and_then(|oldest| oldest.upgrade()) {
        let _ = oldest.shutdown(Shutdown::Both);
    }
}

/// Carries a connection. `stranger` is dropped once the client is authenticated.
fn carry(
    mut client: TcpStream,
    bucket: &Bucket,
    secret: &str,
    stranger: Arc<TcpStream>,
) -> io::Result<()> {
    // A client that connects and sends nothing must not keep a thread forever.
    client.set_read_timeout(Some(GREETING))?;
    admit(&mut client, secret)?;
    drop(stranger);
    let remote = connect(&mut client)?;
    client.set_read_timeout(None)?;
    let (mut upstream, mut requests) = (remote.try_clone()?, client.try_clone()?);
    thread::Builder::new().spawn(move || {
        let _ = io::copy(&mut requests, &mut upstream);
        let _ = upstream.shutdown(Shutdown::Write);
    })?;
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

/// The SOCKS5 handshake (RFC 1928) with user and password (RFC 1929).
fn admit(client: &mut TcpStream, secret: &str) -> io::Result<()> {
    let refused = || io::Error::from(io::ErrorKind::PermissionDenied);
    let [_version, methods] = read_array(client)?;
    let methods = read_bytes(client, methods.into())?;
    if !methods.contains(&BY_PASSWORD) {
        return client.write_all(&[5, BY_NOTHING]).and(Err(refused()));
    }
    client.write_all(&[5, BY_PASSWORD])?;
    let [_version, length] = read_array(client)?;
    let user = read_bytes(client, length.into())?;
    let [length] = read_array(client)?;
    let password = read_bytes(client, length.into())?;
    if user == USER.as_bytes() && password == secret.as_bytes() {
        return client.write_all(&[1, 0]);
    }
    client.write_all(&[1, 1]).and(Err(refused()))
}

/// CONNECT, and no other command.
fn connect(client: &mut TcpStream) -> io::Result<TcpStream> {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The relay's answer to a client that sends these messages in turn. Ends when the relay closes
    /// the connection.
    fn answered(relay: Relay, says: &[&[u8]]) -> Vec<u8> {
        let mut client = TcpStream::connect((Ipv4Addr::LOCALHOST, relay.port)).unwrap();
        relay.serve();
        let mut heard = Vec::new();
        for said in says {
            if client.write_all(said).is_err() {
                break;
            }
            let mut answer = [0; 2];
            match client.read_exact(&mut answer) {
                Ok(()) => heard.extend(answer),
                Err(_) => break,
            }
        }
        heard
    }

    fn password(text: &str) -> Vec<u8> {
        let length = u8::try_from(text.len()).unwrap();
        [&[1_u8, 6][..], b"careen", &[length], text.as_bytes()].concat()
    }

    #[test]
    fn nobody_is_served_without_the_secret_of_the_run() {
        let relay = || Relay::bind(1000).unwrap();
        assert_eq!(answered(relay(), &[&[5, 1, 0]]), [5, BY_NOTHING]);
        let wrong = password(&"0".repeat(2 * RANDOM));
        assert_eq!(answered(relay(), &[&[5, 2, 0, 2], &wrong]), [5, 2, 1, 1]);
        let relay = relay();
        let right = password(&relay.secret);
        assert_eq!(answered(relay, &[&[5, 2, 0, 2], &right]), [5, 2, 1, 0]);
    }

    #[test]
    fn strangers_without_end_keep_nobody_out_who_knows_the_secret() {
        let relay = Relay::bind(1000).unwrap();
        let address = (Ipv4Addr::LOCALHOST, relay.port);
        let right = password(&relay.secret);
        relay.serve();
        let strangers: Vec<_> = (0..4 * STRANGERS)
            .map(|_| TcpStream::connect(address).unwrap())
            .collect();
        let mut client = TcpStream::connect(address).unwrap();
        client.write_all(&[5, 2, 0, 2]).unwrap();
        client.read_exact(&mut [0; 2]).unwrap();
        client.write_all(&right).unwrap();
        let mut answer = [0; 2];
        client.read_exact(&mut answer).unwrap();
        assert_eq!(answer, [1, 0]);
        // They are still connected, except the first, which the relay closed.
        let mut oldest = strangers.first().unwrap();
        assert_eq!(oldest.read(&mut [0]).unwrap(), 0);
    }

    #[test]
    fn each_run_has_a_secret_of_its_own_and_tells_it_in_the_address() {
        let (one, other) = (Relay::bind(1).unwrap(), Relay::bind(1).unwrap());
        assert_ne!(one.secret, other.secret);
        assert!(one.url().contains(&format!("careen:{}@", one.secret)));
    }
}
