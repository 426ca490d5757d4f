//! A cluster: its network and its members.

use std::fmt::Write;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use kube::Client;
use tempfile::TempDir;
use testkit::process::tail;
use testkit::programs::CONTROL_PLANE;

use crate::answers;
use crate::configuration::{self, API_PORT, ENDPOINT};
use crate::images::Images;
use crate::member::{Member, address, name};
use crate::network::{BALANCER, Network};
use crate::outside::Outside;

/// A running control plane. Dropping it ends its processes and removes its files.
#[derive(Debug)]
pub struct Cluster {
    members: Vec<Member>,
    took: Vec<Duration>,
    door: u16,
    images: Arc<Images>,
    outside: Option<Outside>,
    /// The last owners: dropped after the members, in this order.
    _network: Arc<Network>,
    folder: TempDir,
}

impl Cluster {
    /// Starts a cluster with so many members, of the Kubernetes version that the tests' control
    /// planes have.
    ///
    /// # Errors
    ///
    /// Fails without root, or when kubeadm fails; the message has its output.
    pub fn start(members: u8) -> Result<Self> {
        Self::start_at(CONTROL_PLANE, members)
    }

    /// Starts a cluster of another minor, such as `v1.35`.
    ///
    /// # Errors
    ///
    /// See [`Cluster::start`].
    pub fn start_at(minor: &str, members: u8) -> Result<Self> {
        Self::make(minor, members, 0)
    }

    /// Starts a cluster whose etcd is external and has so many members of its own.
    ///
    /// # Errors
    ///
    /// See [`Cluster::start`].
    pub fn start_with_external_etcd(members: u8, etcds: u8) -> Result<Self> {
        Self::make(CONTROL_PLANE, members, etcds)
    }

    fn make(minor: &str, members: u8, etcds: u8) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("native-").tempdir()?;
        let images = Arc::new(Images::lay_out(&folder.path().join("images"), minor)?);
        let network = Arc::new(Network::make()?);
        let servers: Vec<_> = (1..=members)
            .map(|number| SocketAddr::from((address(number), API_PORT)))
            .collect();
        network.balancer((BALANCER, API_PORT).into(), servers.clone())?;
        let outside = folder.path().join("etcd");
        let outside = (etcds > 0).then(|| Outside::start_all(&outside, &network, etcds));
        let mut this = Self {
            outside: outside.transpose()?,
            members: Vec::new(),
            took: Vec::new(),
            door: network.door(servers)?,
            images: Arc::clone(&images),
            _network: Arc::clone(&network),
            folder,
        };
        for number in 1..=members {
            this.add(number, members, &images, &network)?;
        }
        Ok(this)
    }

    /// All members, in the order in which they joined.
    #[must_use]
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// How long kubeadm took for each member.
    #[must_use]
    pub fn took(&self) -> &[Duration] {
        &self.took
    }

    /// The folder with everything of this cluster: the images, and a folder for each member.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Its external etcd, if it has one.
    #[must_use]
    pub fn outside(&self) -> Option<&Outside> {
        self.outside.as_ref()
    }

    /// The images of its version.
    #[must_use]
    pub fn images(&self) -> &Images {
        &self.images
    }

    /// A client with the administrator's rights, at the load balancer.
    ///
    /// # Errors
    ///
    /// Fails while the power of the first member is off, whose admin.conf it has.
    pub async fn client(&self) -> Result<Client> {
        let first = self.members.first().context("no member")?;
        answers::administrator(self.door, &first.path("/etc/kubernetes/admin.conf")?).await
    }

    fn add(
        &mut self,
        number: u8,
        members: u8,
        images: &Arc<Images>,
        network: &Arc<Network>,
    ) -> Result<()> {
        let begun = Instant::now();
        prepare(&self.folder().join(name(number)), number, members)?;
        let member = Member::new(number, self.folder(), images, network)?;
        match number {
            1 => init(&member, images.version(), self.outside())?,
            _ => join(&member)?,
        }
        self.members.push(member);
        self.took.push(begun.elapsed());
        Ok(())
    }
}

fn init(member: &Member, version: &str, outside: Option<&Outside>) -> Result<()> {
    if let Some(outside) = outside {
        outside.equip(member)?;
    }
    let etcd = outside.map(Outside::configuration).unwrap_or_default();
    let text = configuration::init(member.name(), member.address(), version, &etcd);
    let flags = ["--upload-certs", "--skip-phases", "preflight,addon"];
    kubeadm(member, "init", &text, &flags)
}

fn join(member: &Member) -> Result<()> {
    let text = configuration::join(member.name(), member.address());
    kubeadm(member, "join", &text, &["--skip-phases", "preflight"])
}

fn kubeadm(member: &Member, verb: &str, configuration: &str, flags: &[&str]) -> Result<()> {
    member.write(CONFIGURATION, configuration)?;
    let arguments = [&[verb, "--config", CONFIGURATION], flags].concat();
    let said = member.run("kubeadm", &arguments);
    let said = said.with_context(|| tail(&member.kubelet_log()))?;
    member.write(&format!("/var/log/kubeadm-{verb}.log"), &said)
}

/// Where the configuration of `kubeadm init` or `join` stays.
const CONFIGURATION: &str = "/etc/kubeadm.yaml";

/// Names all members and the load balancer in /etc/hosts. No name is asked for elsewhere.
fn prepare(state: &Path, number: u8, members: u8) -> Result<()> {
    let etc = state.join("etc");
    fs::create_dir_all(&etc)?;
    let mut hosts = format!("127.0.0.1 localhost\n{BALANCER} {ENDPOINT}\n");
    for number in 1..=members {
        writeln!(hosts, "{} {}", address(number), name(number))?;
    }
    fs::write(etc.join("hosts"), hosts)?;
    fs::write(etc.join("hostname"), format!("{}\n", name(number)))?;
    Ok(fs::write(etc.join("resolv.conf"), "")?)
}
