//! `far-pod`: the only program of a far pod's container. It has the rig run the program that the
//! image is named after, and ends when that ends. When this one is killed, the rig kills the other.

use std::collections::VecDeque;
use std::env;
use std::fs;
use std::io::{self, Result, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::exit;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use far_pod::{FOLDER, IMAGE, Message, RIG, listens, receive, send};
use nix::sys::signal::{SigSet, Signal};

/// The rig counts a pod as gone that says nothing for ten times as long.
const ALIVE: Duration = Duration::from_secs(2);

/// How long the way to the rig may be missing, as early in a boot.
const PATIENCE: Duration = Duration::from_secs(60);

const PAUSE: Duration = Duration::from_millis(500);

/// What the kernel calls this boot.
const BOOT: &str = "/proc/sys/kernel/random/boot_id";

/// The rig, and what it runs for this pod.
#[derive(Debug, Clone)]
struct Rig {
    address: String,
    image: String,
}

fn main() {
    // The first process of a container gets only signals that it asks for.
    let signals = SigSet::from_iter([Signal::SIGTERM, Signal::SIGINT]);
    let blocked = signals.thread_block();
    let mut words = env::args();
    let program = words.next().unwrap_or_default();
    let words: Vec<_> = words.collect();
    let name = program.rsplit('/').next().unwrap_or_default().to_owned();
    let outcome = match (blocked, name.as_str()) {
        (Err(error), _) => Err(error.into()),
        (Ok(()), "pause") => pause(signals, &words),
        (Ok(()), _) => elsewhere(signals, &name, &words),
    };
    match outcome {
        Ok(code) => exit(code.into()),
        Err(error) => {
            // In a shutdown nobody may read it any more.
            let _ = writeln!(io::stderr(), "far-pod: {name}: {error}");
            exit(1);
        }
    }
}

/// kubeadm's preflight runs it with `-v`.
fn pause(signals: SigSet, words: &[String]) -> Result<u8> {
    if words.first().is_some_and(|word| word == "-v") {
        println!("pause: far-pod");
        return Ok(0);
    }
    signals.wait()?;
    Ok(0)
}

fn elsewhere(signals: SigSet, name: &str, words: &[String]) -> Result<u8> {
    let rig = Rig {
        address: variable(RIG)?,
        image: variable(IMAGE)?,
    };
    let addresses = listens(name, words).map_err(io::Error::other)?;
    // Before the program runs: a port that is taken ends the pod, as it would end the program.
    let listeners = addresses.iter().map(TcpListener::bind);
    let listeners = listeners.collect::<Result<Vec<_>>>()?;
    let mut line = connected(&rig.address)?;
    introduce(&line, &rig, name, words)?;
    let told = Arc::new(Mutex::new(line.try_clone()?));
    say_alive(&told);
    hand_on(signals, &told);
    for (listener, address) in listeners.into_iter().zip(addresses) {
        let rig = rig.clone();
        thread::spawn(move || accept(&listener, address, &rig));
    }
    loop {
        match receive(&mut line)? {
            // Its reader may end before it does.
            Message::Output(text) => drop(io::stdout().write_all(&text)),
            Message::Ended(code) => return Ok(code),
            other => return Err(io::Error::other(format!("the rig says {other:?}"))),
        }
    }
}

fn variable(name: &str) -> Result<String> {
    env::var(name).map_err(|error| io::Error::other(format!("{name}: {error}")))
}

fn connected(address: &str) -> Result<TcpStream> {
    let begun = Instant::now();
    loop {
        match TcpStream::connect(address) {
            Ok(stream) => {
                stream.set_nodelay(true)?;
                return Ok(stream);
            }
            Err(error) if begun.elapsed() > PATIENCE => return Err(error),
            Err(_) => thread::sleep(PAUSE),
        }
    }
}

/// Says what is to run and gives the files that it may read.
fn introduce(line: &TcpStream, rig: &Rig, name: &str, words: &[String]) -> Result<()> {
    let boot = fs::read_to_string(BOOT)?.trim().to_owned();
    send(line, &Message::Image(rig.image.clone()))?;
    send(line, &Message::Boot(boot))?;
    send(line, &Message::Word(name.to_owned()))?;
    for word in words {
        send(line, &Message::Word(word.clone()))?;
    }
    for path in files(Path::new(FOLDER)) {
        // A file may go meanwhile; the program then says what it misses.
        if let Ok(content) = fs::read(&path) {
            send(line, &Message::File(path.display().to_string(), content))?;
        }
    }
    send(line, &Message::Run)
}

/// All files below a folder, or none where there is no folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = VecDeque::from([folder.to_owned()]);
    while let Some(folder) = folders.pop_front() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            match path.is_dir() {
                true => folders.push_back(path),
                false => found.push(path),
            }
        }
    }
    found
}

fn say_alive(told: &Arc<Mutex<TcpStream>>) {
    let told = Arc::clone(told);
    thread::spawn(move || {
        while tell(&told, &Message::Alive).is_ok() {
            thread::sleep(ALIVE);
        }
    });
}

/// The kubelet ends a pod with SIGTERM, which is the program's to obey.
fn hand_on(signals: SigSet, told: &Arc<Mutex<TcpStream>>) {
    let told = Arc::clone(told);
    thread::spawn(move || {
        while let Ok(signal) = signals.wait() {
            let name = signal.as_str().trim_start_matches("SIG").to_owned();
            if tell(&told, &Message::Signal(name)).is_err() {
                break;
            }
        }
    });
}

fn tell(told: &Mutex<TcpStream>, message: &Message) -> Result<()> {
    let line = told.lock().unwrap_or_else(PoisonError::into_inner);
    send(&*line, message)
}

fn accept(listener: &TcpListener, address: SocketAddr, rig: &Rig) {
    for stream in listener.incoming() {
        match stream {
            Ok(stream) => {
                let rig = rig.clone();
                thread::spawn(move || carry(&stream, address, &rig));
            }
            Err(_) => thread::sleep(PAUSE),
        }
    }
}

/// Carries a connection to the rig, byte for byte. A connection that the program does not take is
/// closed.
fn carry(near: &TcpStream, address: SocketAddr, rig: &Rig) -> Result<()> {
    let far = TcpStream::connect(&rig.address)?;
    far.set_nodelay(true)?;
    near.set_nodelay(true)?;
    let wanted = Message::Connect(rig.image.clone(), address.to_string());
    send(&far, &wanted)?;
    let (from, to) = (far.try_clone()?, near.try_clone()?);
    let back = thread::spawn(move || pass_on(&from, &to));
    pass_on(near, &far);
    let _ = back.join();
    Ok(())
}

/// Passes on what comes until it ends, and then the end.
fn pass_on(mut from: &TcpStream, mut to: &TcpStream) {
    let _ = io::copy(&mut from, &mut to);
    let _ = to.shutdown(Shutdown::Write);
}
