//! The network of a cluster: a bridge in a network namespace that only one thread is in. When the
//! thread ends, the kernel removes all of it.
//!
//! Nothing of it reaches the host but what comes through a door, a port on loopback.

use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, JoinHandle};

use anyhow::{Context, Result, ensure};
use nix::sched::{CloneFlags, unshare};
use nix::unistd::{Pid, gettid};
use testkit::process::Process;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::door::{self, Cuts};

/// The bridge, where the load balancer listens. The addresses are for documentation (RFC 5737) and
/// belong to no real machine.
pub const BALANCER: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);

const BRIDGE: &str = "link set lo up
link add bridge type bridge forward_delay 0
address add 192.0.2.1/24 dev bridge
link set bridge up
";

/// A running network.
#[derive(Debug)]
pub struct Network {
    jobs: Option<UnboundedSender<Job>>,
    thread: Option<JoinHandle<()>>,
    namespace: String,
}

enum Job {
    Ip(String, Sender<Result<()>>),
    Door(TcpListener, Vec<SocketAddr>),
    Balancer(SocketAddr, Vec<SocketAddr>, Sender<Result<()>>),
    Sever(Ipv4Addr),
}

impl Network {
    /// Makes the namespace and the bridge.
    ///
    /// # Errors
    ///
    /// Fails without root, or when `ip` fails.
    pub fn make() -> Result<Self> {
        let (jobs, received) = unbounded_channel();
        let (tell, told) = channel();
        let thread = thread::spawn(move || live(&tell, received));
        let own = told.recv().context("the network's thread ended")??;
        Ok(Self {
            jobs: Some(jobs),
            thread: Some(thread),
            namespace: format!("/proc/{}/task/{own}/ns/net", std::process::id()),
        })
    }

    /// Starts a program inside, beside all machines.
    ///
    /// # Errors
    ///
    /// Fails when it cannot be started.
    pub fn start(&self, program: &Path, arguments: &[String], log: &Path) -> Result<Process> {
        let enter = [format!("--net={}", self.namespace), "--".to_owned()];
        let program = program.display().to_string();
        let all = [&enter[..], &[program], arguments].concat();
        Process::start(Path::new("nsenter"), &all, log)
    }

    /// Runs these commands of `ip -batch` inside.
    ///
    /// # Errors
    ///
    /// Fails when one of them fails.
    pub fn ip(&self, commands: String) -> Result<()> {
        self.ask(|answer| Job::Ip(commands, answer))
    }

    /// A port on the host's loopback that leads to the first of these addresses that answers.
    ///
    /// # Errors
    ///
    /// Fails when there is no free port.
    pub fn door(&self, to: Vec<SocketAddr>) -> Result<u16> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let port = listener.local_addr()?.port();
        self.send(Job::Door(listener, to))?;
        Ok(port)
    }

    /// The same as a door, inside: the load balancer of the members.
    ///
    /// # Errors
    ///
    /// Fails when the address is taken.
    pub fn balancer(&self, at: SocketAddr, to: Vec<SocketAddr>) -> Result<()> {
        self.ask(|answer| Job::Balancer(at, to, answer))
    }

    /// Ends all connections through doors and balancer to this address, since a machine that is off
    /// never ends them.
    ///
    /// # Errors
    ///
    /// Fails when the network is gone.
    pub fn sever(&self, address: Ipv4Addr) -> Result<()> {
        self.send(Job::Sever(address))
    }

    fn ask(&self, job: impl FnOnce(Sender<Result<()>>) -> Job) -> Result<()> {
        let (answer, answered) = channel();
        self.send(job(answer))?;
        answered.recv().context("the network's thread ended")?
    }

    fn send(&self, job: Job) -> Result<()> {
        let sent = self
            .jobs
            .as_ref()
            .is_some_and(|jobs| jobs.send(job).is_ok());
        ensure!(sent, "the network's thread ended");
        Ok(())
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        drop(self.jobs.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The life of the thread: the processes that it starts are in its namespace too.
fn live(tell: &Sender<Result<Pid>>, jobs: UnboundedReceiver<Job>) {
    let begun = begin();
    let (outcome, runtime) = match begun {
        Ok(runtime) => (Ok(gettid()), Some(runtime)),
        Err(error) => (Err(error), None),
    };
    let _ = tell.send(outcome);
    if let Some(runtime) = runtime {
        runtime.block_on(work(jobs));
    }
}

fn begin() -> Result<tokio::runtime::Runtime> {
    unshare(CloneFlags::CLONE_NEWNET).context("no network namespace; this needs root")?;
    ip(BRIDGE)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    Ok(runtime)
}

async fn work(mut jobs: UnboundedReceiver<Job>) {
    let cuts = Cuts::default();
    while let Some(job) = jobs.recv().await {
        match job {
            Job::Ip(commands, answer) => drop(answer.send(ip(&commands))),
            Job::Door(listener, to) => drop(door::open(listener, to, &cuts)),
            Job::Balancer(at, to, answer) => drop(answer.send(balance(at, to, &cuts))),
            Job::Sever(address) => cuts.cut(address),
        }
    }
}

fn balance(at: SocketAddr, to: Vec<SocketAddr>, cuts: &Cuts) -> Result<()> {
    let listener = TcpListener::bind(at)?;
    listener.set_nonblocking(true)?;
    door::open(listener, to, cuts)
}

fn ip(commands: &str) -> Result<()> {
    let mut child = Command::new("ip")
        .args(["-batch", "-"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .context("cannot run ip; install iproute2")?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(commands.as_bytes())?;
    }
    let output = child.wait_with_output()?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "ip: {complaint}\n{commands}");
    Ok(())
}
