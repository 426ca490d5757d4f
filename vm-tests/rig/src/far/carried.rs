//! Connections that are carried from one socket to another, byte for byte.

use std::collections::HashMap;
use std::io;
use std::net::{Shutdown, TcpStream};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

/// All that are open.
#[derive(Debug, Default)]
pub struct Carried(Mutex<Open>);

#[derive(Debug, Default)]
struct Open {
    next: u64,
    all: HashMap<u64, [TcpStream; 2]>,
}

impl Carried {
    /// Carries both directions until both have ended.
    ///
    /// # Errors
    ///
    /// Fails when a socket cannot be shared.
    pub fn carry(&self, near: &TcpStream, far: &TcpStream) -> io::Result<()> {
        near.set_nodelay(true)?;
        far.set_nodelay(true)?;
        let number = self.begin([near.try_clone()?, far.try_clone()?]);
        thread::scope(|scope| {
            scope.spawn(|| pass_on(far, near));
            pass_on(near, far);
        });
        self.open().all.remove(&number);
        Ok(())
    }

    /// Ends all connections that there are now.
    pub fn end(&self) {
        for (_, sockets) in self.open().all.drain() {
            for socket in sockets {
                let _ = socket.shutdown(Shutdown::Both);
            }
        }
    }

    fn begin(&self, sockets: [TcpStream; 2]) -> u64 {
        let mut open = self.open();
        open.next += 1;
        let number = open.next;
        open.all.insert(number, sockets);
        number
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Passes on what comes until it ends, and then the end.
fn pass_on(mut from: &TcpStream, mut to: &TcpStream) {
    let _ = io::copy(&mut from, &mut to);
    let _ = to.shutdown(Shutdown::Write);
}
