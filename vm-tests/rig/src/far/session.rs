//! One running program, and the line to its pod.

use std::fs::File;
use std::io::Read;
use std::net::{Shutdown, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::Result;
use far_pod::{Message, receive, send};
use testkit::process::Process;

/// How often the log and the process are looked at.
const LOOK: Duration = Duration::from_millis(100);

/// What a pod gets whose program was killed, as a shell says it.
const KILLED: u8 = 137;

/// A program that runs until its pod is gone.
#[derive(Debug)]
pub struct Session {
    image: String,
    line: TcpStream,
    process: Mutex<Process>,
}

impl Session {
    /// The program of this image, and the line to its pod.
    pub fn new(image: &str, line: TcpStream, process: Process) -> Self {
        Self {
            image: image.to_owned(),
            line,
            process: Mutex::new(process),
        }
    }

    /// The image.
    pub fn image(&self) -> &str {
        &self.image
    }

    /// Kills the program, and ends the line.
    pub fn end(&self) {
        self.process().kill();
        let _ = self.line.shutdown(Shutdown::Both);
    }

    /// Obeys the pod until it is gone.
    pub fn live(self: &Arc<Self>, log: &Path) {
        let (this, log) = (Arc::clone(self), log.to_owned());
        let watch = thread::spawn(move || this.tell(&log));
        loop {
            match receive(&self.line) {
                Ok(Message::Alive) => {}
                Ok(Message::Signal(name)) => drop(self.process().signal(&name)),
                Ok(_) | Err(_) => break,
            }
        }
        self.end();
        let _ = watch.join();
    }

    /// Tells the pod what the program says, and its end.
    fn tell(&self, log: &Path) -> Result<()> {
        let mut log = File::open(log)?;
        loop {
            let ended = self.process().ended()?;
            let mut said = Vec::new();
            log.read_to_end(&mut said)?;
            if !said.is_empty() {
                send(&self.line, &Message::Output(said))?;
            }
            if let Some(status) = ended {
                let code = status.code().and_then(|code| u8::try_from(code).ok());
                return Ok(send(&self.line, &Message::Ended(code.unwrap_or(KILLED)))?);
            }
            thread::sleep(LOOK);
        }
    }

    fn process(&self) -> MutexGuard<'_, Process> {
        self.process.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
