//! An OSTree repository served over HTTP on loopback, with what can go wrong on the way.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use crate::trick::Trick;

/// A running server. It stops answering when dropped.
pub struct Server {
    pub port: u16,
    state: Arc<State>,
}

struct State {
    folder: PathBuf,
    sent: AtomicU64,
    asked: AtomicU64,
    away: AtomicBool,
    /// After so many bytes the server says nothing more, and leaves the connection open.
    stall_after: AtomicU64,
    /// What is done for paths that end so, in place of sending the file.
    tricks: Mutex<Vec<(String, Trick)>>,
    paths: Mutex<Vec<String>>,
}

impl Server {
    pub fn start(folder: &Path) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(State {
            folder: folder.to_owned(),
            sent: AtomicU64::new(0),
            asked: AtomicU64::new(0),
            away: AtomicBool::new(false),
            stall_after: AtomicU64::new(u64::MAX),
            tricks: Mutex::default(),
            paths: Mutex::default(),
        });
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if shared.away.load(Ordering::SeqCst) {
                    continue;
                }
                let state = Arc::clone(&shared);
                thread::spawn(move || drop(state.answer(&client)));
            }
        });
        Self { port, state }
    }

    /// Bytes of file content sent so far.
    pub fn sent(&self) -> u64 {
        self.state.sent.load(Ordering::SeqCst)
    }

    /// How often it was asked for something.
    pub fn asked(&self) -> u64 {
        self.state.asked.load(Ordering::SeqCst)
    }

    /// Whether it was asked for something below this folder.
    pub fn was_asked_below(&self, folder: &str) -> bool {
        let paths = self.state.paths.lock().unwrap();
        paths.iter().any(|path| path.starts_with(folder))
    }

    /// From now on every connection is closed unanswered.
    pub fn go_away(&self) {
        self.state.away.store(true, Ordering::SeqCst);
    }

    pub fn stall_after(&self, bytes: u64) {
        self.state
            .stall_after
            .store(self.sent().saturating_add(bytes), Ordering::SeqCst);
    }

    /// From now on this is done for every path that ends so.
    pub fn plays(&self, trick: Trick, end: &str) {
        self.state
            .tricks
            .lock()
            .unwrap()
            .push((end.to_owned(), trick));
    }

    pub fn plays_no_more(&self) {
        self.state.tricks.lock().unwrap().clear();
    }

    pub fn recover(&self) {
        self.state.stall_after.store(u64::MAX, Ordering::SeqCst);
    }

    pub fn is_stalled(&self) -> bool {
        self.sent() >= self.state.stall_after.load(Ordering::SeqCst)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.go_away();
        // Wakes the listener, so that the port is left alone from here on.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

impl State {
    fn answer(&self, mut client: &TcpStream) -> std::io::Result<()> {
        let mut request = String::new();
        let mut reader = BufReader::new(client);
        reader.read_line(&mut request)?;
        let mut header = String::new();
        while reader.read_line(&mut header)? > 2 {
            header.clear();
        }
        self.asked.fetch_add(1, Ordering::SeqCst);
        let path = request
            .split(' ')
            .nth(1)
            .unwrap_or("/")
            .trim_start_matches('/');
        self.paths.lock().unwrap().push(path.to_owned());
        if let Some(trick) = self.trick(path) {
            return trick.play(client, path, &self.sent);
        }
        let Ok(content) = fs::read(self.folder.join(path)) else {
            return client.write_all(
                b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
            );
        };
        write!(
            client,
            "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            content.len()
        )?;
        for piece in content.chunks(4096) {
            while self.sent.load(Ordering::SeqCst) >= self.stall_after.load(Ordering::SeqCst) {
                thread::sleep(Duration::from_millis(20));
            }
            client.write_all(piece)?;
            self.sent.fetch_add(piece.len() as u64, Ordering::SeqCst);
        }
        Ok(())
    }

    fn trick(&self, path: &str) -> Option<Trick> {
        let tricks = self.tricks.lock().unwrap();
        let mut tricks = tricks.iter();
        let found = tricks.find(|(end, _)| path.ends_with(end.as_str()));
        found.map(|(_, trick)| trick.clone())
    }
}
