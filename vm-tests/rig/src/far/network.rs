//! The network of the far programs: a network namespace with nothing but loopback, which also has
//! the guest's address.

use std::fs::File;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, ensure};
use nix::sched::{CloneFlags, setns};
use testkit::process::{Process, tail};

const SCRIPT: &str =
    "ip link set lo up && ip address add \"$0/32\" dev lo && : >\"$1\" && exec sleep infinity";

/// It takes milliseconds; the limit is long because the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(5);

/// A network that lives as long as its process.
#[derive(Debug)]
pub struct Network {
    process: Process,
    namespace: File,
}

impl Network {
    /// Makes the network. A file in `folder` says when it is there.
    ///
    /// # Errors
    ///
    /// Fails without root, or when `ip` fails.
    pub fn make(folder: &Path, address: Ipv4Addr) -> Result<Self> {
        let (there, log) = (folder.join("network"), folder.join("network.log"));
        if there.exists() {
            std::fs::remove_file(&there)?;
        }
        let (address, sign) = (address.to_string(), there.display().to_string());
        let words = ["--net", "--", "sh", "-c", SCRIPT, &address, &sign];
        let mut process = Process::start(Path::new("unshare"), &words.map(str::to_owned), &log)?;
        let begun = Instant::now();
        while !there.exists() {
            process.check()?;
            ensure!(begun.elapsed() < PATIENCE, "no network: {}", tail(&log));
            thread::sleep(LOOK);
        }
        let namespace = File::open(format!("/proc/{}/ns/net", process.pid()))?;
        Ok(Self { process, namespace })
    }

    /// The arguments of `nsenter` for a program that is to run in it.
    #[must_use]
    pub fn entrance(&self) -> Vec<String> {
        let target = format!("--target={}", self.process.pid());
        vec![target, "--net".to_owned(), "--".to_owned()]
    }

    /// Does something in a thread that is in this network. A socket stays in the network in which
    /// it was made.
    ///
    /// # Errors
    ///
    /// Fails when the thread cannot enter.
    pub fn inside<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T> {
        thread::scope(|scope| {
            let thread = scope.spawn(|| -> Result<T> {
                setns(&self.namespace, CloneFlags::CLONE_NEWNET)?;
                Ok(work())
            });
            thread.join().map_err(|_| anyhow!("the thread panicked"))?
        })
    }

    /// Connects to a program in it.
    ///
    /// # Errors
    ///
    /// Fails when no program listens there.
    pub fn connect(&self, mut address: SocketAddr) -> Result<TcpStream> {
        if address.ip().is_unspecified() {
            address.set_ip(Ipv4Addr::LOCALHOST.into());
        }
        Ok(self.inside(|| TcpStream::connect(address))??)
    }
}
