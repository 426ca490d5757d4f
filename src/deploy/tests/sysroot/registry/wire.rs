//! The way to a registry, which can be cut or fall silent after so many bytes.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Then {
    /// Connections break and none are made any more.
    Cut,
    /// Connections stay and nothing comes.
    Silent,
}

pub struct Wire {
    pub port: u16,
    state: Arc<State>,
}

struct State {
    left: AtomicU64,
    then: Then,
    reached: AtomicBool,
}

impl Wire {
    /// To a port on loopback, for so many bytes from there.
    pub fn new(to: u16, bytes: u64, then: Then) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(State {
            left: AtomicU64::new(bytes),
            then,
            reached: AtomicBool::new(false),
        });
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let state = Arc::clone(&shared);
                thread::spawn(move || drop(state.carry(&client, to)));
            }
        });
        Self { port, state }
    }

    /// From now on all goes through.
    pub fn repair(&self) {
        self.state.left.store(u64::MAX, Ordering::SeqCst);
    }

    pub fn wait_until_its_end(&self) {
        while !self.state.reached.load(Ordering::SeqCst) {
            thread::sleep(Duration::from_millis(20));
        }
    }
}

impl State {
    fn carry(&self, mut client: &TcpStream, to: u16) -> io::Result<()> {
        let mut server = TcpStream::connect(("127.0.0.1", to))?;
        let (mut requests, mut there) = (client.try_clone()?, server.try_clone()?);
        thread::spawn(move || {
            let _ = io::copy(&mut requests, &mut there);
            let _ = there.shutdown(Shutdown::Both);
        });
        let mut piece = [0; 4096];
        loop {
            let read = server.read(&mut piece)?;
            if read == 0 || !self.lets_through(read as u64) {
                return client.shutdown(Shutdown::Both);
            }
            client.write_all(&piece[..read])?;
        }
    }

    /// False where the connection is to break.
    fn lets_through(&self, bytes: u64) -> bool {
        loop {
            let left = self.left.load(Ordering::SeqCst);
            if left >= bytes {
                if left != u64::MAX {
                    self.left.fetch_sub(bytes, Ordering::SeqCst);
                }
                return true;
            }
            self.reached.store(true, Ordering::SeqCst);
            if self.then == Then::Cut {
                return false;
            }
            thread::sleep(Duration::from_millis(20));
        }
    }
}
