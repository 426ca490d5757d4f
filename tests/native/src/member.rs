//! One member: a machine of the control plane.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use kube::Client;
use serde_json::Value;

use crate::answers::{self, Etcd};
use crate::configuration::{API_PORT, ETCD_PORT};
use crate::images::Images;
use crate::namespaces::Namespaces;
use crate::network::{BALANCER, Network};
use crate::stand_in::StandIn;

/// How long a question by [`Member::api_server_is_ready`] may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// A member of a cluster. It is on or off; what is in its /etc and /var stays.
#[derive(Debug)]
pub struct Member {
    name: String,
    number: u8,
    state: PathBuf,
    images: Arc<Images>,
    network: Arc<Network>,
    api_door: u16,
    etcd_door: u16,
    power: Mutex<Option<Power>>,
}

/// The stand-in is dropped first.
#[derive(Debug)]
struct Power {
    kubelet: Option<StandIn>,
    namespaces: Namespaces,
}

impl Member {
    /// Boots a new machine. Its stand-in kubelet waits for kubeadm.
    pub(crate) fn new(
        number: u8,
        folder: &Path,
        images: &Arc<Images>,
        network: &Arc<Network>,
    ) -> Result<Self> {
        let address = address(number);
        let name = name(number);
        let this = Self {
            state: folder.join(&name),
            name,
            number,
            images: Arc::clone(images),
            network: Arc::clone(network),
            api_door: network.door(vec![SocketAddr::from((address, API_PORT))])?,
            etcd_door: network.door(vec![SocketAddr::from((address, ETCD_PORT))])?,
            power: Mutex::new(None),
        };
        this.boot()?;
        Ok(this)
    }

    /// The host name, and the name of its Node and of its etcd member.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its address in the cluster's network.
    #[must_use]
    pub fn address(&self) -> Ipv4Addr {
        address(self.number)
    }

    /// Boots it, with its network and its stand-in kubelet. It does nothing while the power is on.
    ///
    /// # Errors
    ///
    /// Fails when something cannot be mounted or started.
    pub fn boot(&self) -> Result<()> {
        if lock(&self.power).is_some() {
            return Ok(());
        }
        let namespaces = Namespaces::boot(&self.state, &self.name)?;
        self.plug_in(&namespaces)?;
        *lock(&self.power) = Some(Power {
            kubelet: None,
            namespaces,
        });
        self.start_kubelet()
    }

    /// Kills all its processes at once. What it wrote stays, also without fsync.
    pub fn cut_power(&self) {
        *lock(&self.power) = None;
        let _ = self.network.sever(self.address());
    }

    /// Takes its cable out. Its processes go on and reach only each other.
    ///
    /// # Errors
    ///
    /// Fails while the power is off.
    pub fn cut_network(&self) -> Result<()> {
        self.network
            .ip(format!("link set {} down\n", self.port()))?;
        self.network.sever(self.address())
    }

    /// Puts its cable in again.
    ///
    /// # Errors
    ///
    /// Fails while the power is off.
    pub fn restore_network(&self) -> Result<()> {
        self.network.ip(format!("link set {} up\n", self.port()))
    }

    /// Starts its stand-in kubelet. It does nothing while one runs.
    ///
    /// # Errors
    ///
    /// Fails while the power is off.
    pub fn start_kubelet(&self) -> Result<()> {
        self.start_kubelet_of(&self.images)
    }

    /// Starts a stand-in that says it is the kubelet of these images' version.
    ///
    /// # Errors
    ///
    /// Fails while the power is off.
    pub fn start_kubelet_of(&self, images: &Images) -> Result<()> {
        let mut power = lock(&self.power);
        let power = power.as_mut().with_context(|| self.is_off())?;
        if power.kubelet.is_none() {
            let started = StandIn::start(
                &power.namespaces,
                images.folder(),
                images.version(),
                &self.kubelet_log(),
            );
            power.kubelet = Some(started?);
        }
        Ok(())
    }

    /// Ends its stand-in kubelet. Static pods go on, and the next stand-in takes them over.
    ///
    /// # Errors
    ///
    /// Fails when none runs.
    pub fn stop_kubelet(&self) -> Result<()> {
        let kubelet = lock(&self.power)
            .as_mut()
            .and_then(|power| power.kubelet.take());
        kubelet
            .with_context(|| format!("{}: no kubelet runs", self.name))?
            .stop()
    }

    /// What its stand-in kubelet has said.
    #[must_use]
    pub fn kubelet_log(&self) -> PathBuf {
        self.state.join("kubelet.log")
    }

    /// A program inside, with the member's kubeadm and kubectl on the PATH and admin.conf as
    /// KUBECONFIG.
    ///
    /// # Errors
    ///
    /// Fails while the power is off.
    pub fn command(&self, program: &str, arguments: &[&str]) -> Result<Command> {
        let power = lock(&self.power);
        let power = power.as_ref().with_context(|| self.is_off())?;
        let mut command = power.namespaces.enter();
        command.arg(program).args(arguments);
        let own = self.images.commands().display().to_string();
        command
            .env("PATH", format!("{own}:/usr/sbin:/usr/bin:/sbin:/bin"))
            .env("KUBECONFIG", "/etc/kubernetes/admin.conf")
            .env("TMPDIR", "/run/tmp");
        Ok(command)
    }

    /// Runs a program inside to its end, and returns its standard output.
    ///
    /// # Errors
    ///
    /// Fails when it fails; the message has its standard error.
    pub fn run(&self, program: &str, arguments: &[&str]) -> Result<String> {
        let output = self.command(program, arguments)?.output()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let complaint = String::from_utf8_lossy(&output.stderr);
        ensure!(
            output.status.success(),
            "{}: {program} {}: {}\n{text}\n{complaint}",
            self.name,
            arguments.join(" "),
            output.status
        );
        Ok(text)
    }

    /// A path of the member as the host sees it, while the power is on. An absolute link in it
    /// would lead to the host.
    ///
    /// # Errors
    ///
    /// Fails while the power is off.
    pub fn path(&self, inside: &str) -> Result<PathBuf> {
        let power = lock(&self.power);
        let power = power.as_ref().with_context(|| self.is_off())?;
        Ok(power.namespaces.path(inside))
    }

    /// Reads a file of the member.
    ///
    /// # Errors
    ///
    /// Fails when it is not there, or no text.
    pub fn read(&self, path: &str) -> Result<String> {
        fs::read_to_string(self.path(path)?).with_context(|| format!("{}: {path}", self.name))
    }

    /// Writes a file of the member: a new one beside it, which is then renamed.
    ///
    /// # Errors
    ///
    /// Fails when its folder is not there or not writable.
    pub fn write(&self, path: &str, content: &str) -> Result<()> {
        let to = self.path(path)?;
        let folder = to.parent().context("a path without a folder")?;
        let new = tempfile::Builder::new().prefix(".new-").tempfile_in(folder);
        let new = new.with_context(|| format!("{}: {path}", self.name))?;
        fs::write(new.path(), content)?;
        new.persist(to)?;
        Ok(())
    }

    /// The id of a static pod's process, as the member sees it.
    ///
    /// # Errors
    ///
    /// Fails when the stand-in has not started it.
    pub fn pod_process(&self, pod: &str) -> Result<i64> {
        let note = self.read(&format!("/run/stand-in-kubelet/{pod}.json"))?;
        let note: Value = serde_json::from_str(&note)?;
        note["pid"].as_i64().context("a note without a pid")
    }

    /// Sends a signal (`KILL`, `STOP`, `CONT`) to a static pod's process. The stand-in starts it
    /// again 2 s after its end.
    ///
    /// # Errors
    ///
    /// Fails when it does not run.
    pub fn signal_pod(&self, pod: &str, signal: &str) -> Result<()> {
        let process = self.pod_process(pod)?;
        self.run("sh", &["-c", &format!("kill -s {signal} {process}")])?;
        Ok(())
    }

    /// Kills a static pod's process. The stand-in starts it again after 2 s.
    ///
    /// # Errors
    ///
    /// Fails when it does not run.
    pub fn kill_pod(&self, pod: &str) -> Result<()> {
        self.signal_pod(pod, "KILL")
    }

    /// A client of its API server, with the administrator's rights.
    ///
    /// # Errors
    ///
    /// Fails while the power is off, or before kubeadm has made admin.conf.
    pub async fn client(&self) -> Result<Client> {
        answers::administrator(self.api_door, &self.path("/etc/kubernetes/admin.conf")?).await
    }

    /// A client of its etcd. It works on while the power is off, and then gets no answer.
    ///
    /// # Errors
    ///
    /// Fails while the power is off, or before kubeadm has made the certificates.
    pub async fn etcd(&self) -> Result<Etcd> {
        Etcd::at(self.etcd_door, &self.path("/etc/kubernetes/pki/etcd")?).await
    }

    /// Whether its API server says that it is ready.
    pub async fn api_server_is_ready(&self) -> bool {
        let Ok(client) = self.client().await else {
            return false;
        };
        let answer = tokio::time::timeout(PATIENCE, answers::is_ready(&client));
        answer.await.unwrap_or(false)
    }

    fn is_off(&self) -> String {
        format!("{} is off", self.name)
    }

    /// The member's end of the bridge.
    fn port(&self) -> String {
        format!("port{}", self.number)
    }

    fn plug_in(&self, namespaces: &Namespaces) -> Result<()> {
        let (port, first) = (self.port(), namespaces.first());
        self.network.ip(format!(
            "link add {port} type veth peer name eth0 netns {first}\n\
             link set {port} master bridge\nlink set {port} up\n"
        ))?;
        let address = self.address();
        let script = format!(
            "ip address add {address}/24 dev eth0 && ip link set eth0 up && \
             ip route add default via {BALANCER}"
        );
        let output = namespaces.enter().args(["sh", "-c", &script]).output()?;
        let complaint = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{}: {complaint}", self.name);
        Ok(())
    }
}

/// The name of a member. The first has the number 1.
pub(crate) fn name(number: u8) -> String {
    format!("cp-{number}")
}

/// The address of a member.
pub(crate) fn address(number: u8) -> Ipv4Addr {
    Ipv4Addr::new(192, 0, 2, 10 + number)
}

/// A panicked test leaves a machine that is on or off; either way the value is usable.
fn lock(power: &Mutex<Option<Power>>) -> MutexGuard<'_, Option<Power>> {
    power.lock().unwrap_or_else(PoisonError::into_inner)
}
