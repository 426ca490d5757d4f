//! One member: a machine of the control plane.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Context, Result, ensure};

use crate::configuration::{API_PORT, ETCD_PORT};
use crate::images::Images;
use crate::namespaces::Namespaces;
use crate::network::{BALANCER, Network};
use crate::stand_in::StandIn;

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
        self.boot_without_kubelet()?;
        self.start_kubelet()
    }

    /// Boots it with its network alone. It does nothing while the power is on.
    ///
    /// # Errors
    ///
    /// Fails when something cannot be mounted or started.
    pub fn boot_without_kubelet(&self) -> Result<()> {
        if lock(&self.power).is_some() {
            return Ok(());
        }
        let namespaces = Namespaces::boot(&self.state, &self.name)?;
        self.plug_in(&namespaces)?;
        *lock(&self.power) = Some(Power {
            kubelet: None,
            namespaces,
        });
        Ok(())
    }

    /// Kills all its processes at once. What it wrote stays, also without fsync.
    pub fn cut_power(&self) {
        *lock(&self.power) = None;
        // The kernel takes its time to remove it with the namespace, or has done so already.
        let _ = self.network.ip(format!("link delete {}\n", self.port()));
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

    /// What its namespaces are good for, while the power is on.
    pub(crate) fn inside<T>(&self, use_of: impl FnOnce(&Namespaces) -> T) -> Result<T> {
        let power = lock(&self.power);
        let power = power.as_ref().with_context(|| self.is_off())?;
        Ok(use_of(&power.namespaces))
    }

    /// The ports on loopback of its API server and of its etcd.
    pub(crate) fn doors(&self) -> (u16, u16) {
        (self.api_door, self.etcd_door)
    }

    /// The programs of its version.
    pub(crate) fn images(&self) -> &Images {
        &self.images
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
        // The same card in each boot, because the others remember it.
        let card = format!("02:00:c0:00:02:{:02x}", self.number);
        self.network.ip(format!(
            "link add {port} type veth peer name eth0 address {card} netns {first}\n\
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
