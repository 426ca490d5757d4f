//! Makes the node one of several members of a control plane, in the network of its lane (see
//! [`crate::lan`]).

use std::fs;
use std::net::Ipv4Addr;

use anyhow::{Context, Result, ensure};

use super::Rig;
use super::control_plane::{API_SERVER, ETCD, KUBELET, SERVES};
use crate::lan;
use crate::node::NodeWatch;

/// A token and a key in the source are good for a cluster that ends with its test.
const TOKEN: &str = "careen.0123456789abcdef";
const CERTIFICATE_KEY: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

const INIT: &str = "env -u KUBECONFIG kubeadm init --upload-certs --config /var/lib/careen-rig/kubeadm.yaml --skip-phases preflight,addon,show-join-command 2>&1";
const JOIN: &str = "env -u KUBECONFIG kubeadm join --config /var/lib/careen-rig/kubeadm.yaml --skip-phases preflight 2>&1";

const TIMEOUTS: &str = "timeouts: {controlPlaneComponentHealthCheck: 15m, kubeletHealthCheck: 10m, kubernetesAPICall: 5m, etcdAPICall: 10m, tlsBootstrap: 10m, discovery: 10m, upgradeManifests: 15m}";

impl Rig {
    /// Makes the node the member of this number, which begins with 1: the first one makes the
    /// cluster, and each other one joins it. From then on the rig's cluster is that one.
    ///
    /// # Errors
    ///
    /// Fails when a part does not build or start.
    pub async fn become_member(&mut self, number: u8) -> Result<()> {
        self.leave_cluster().await?;
        self.move_to(number).await?;
        let at = |port| (self.address, port).into();
        let (etcd, kubelet) = (at(ETCD), at(KUBELET));
        self.start_far(etcd, kubelet, Vec::new()).await?;
        self.bring_images().await?;
        let (name, address) = (self.name.clone(), self.address);
        if number == 1 {
            let version = self.guest.run("kubeadm version -o short").await?;
            let text = init(&name, address, &version);
            self.kubeadm("kubeadm init", &text, INIT).await?;
        } else {
            self.kubeadm("kubeadm join", &join(&name, address), JOIN)
                .await?;
        }
        self.follow_members().await?;
        self.guest.run("systemctl start careen-agent").await?;
        Ok(())
    }

    /// Gives the node its name, and its card, which it has from a power-on.
    async fn move_to(&mut self, number: u8) -> Result<()> {
        self.name = lan::name(number);
        self.address = lan::address(number);
        self.guest.run(&lan::settle(number)).await?;
        self.machine.add_hardware(lan::card(number));
        self.cut_power()?;
        self.power_on().await?;
        self.wait_boot(None).await?;
        let is_there = format!(
            "until ip -o addr | grep -q {}; do sleep 1; done",
            self.address
        );
        self.wait_guest(&is_there).await?;
        let name = self.guest.run("hostname").await?;
        ensure!(name == self.name, "the node is called {name}");
        let settled = "until systemctl is-active containerd; do sleep 1; done";
        self.wait_guest(settled).await
    }

    /// The cluster is that of the members from here on.
    async fn follow_members(&mut self) -> Result<()> {
        let text = self.guest.run("cat /etc/kubernetes/admin.conf").await?;
        let balanced = format!("https://{}:{API_SERVER}", lan::RIG);
        ensure!(text.contains(&balanced), "admin.conf names another server");
        let file = self.dir.join("admin.conf");
        fs::write(&file, text)?;
        self.plane.give_way(file);
        self.node = NodeWatch::of(self.plane.client().await?, &self.name);
        let ready = self
            .node
            .wait("the node is Ready", SERVES, |view| view.ready);
        ready.await.context("the node has joined").map(drop)
    }

    /// The Node's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

fn node(name: &str, address: Ipv4Addr) -> String {
    format!(
        "nodeRegistration:
  name: {name}
  criSocket: \"unix:///run/containerd/containerd.sock\"
  taints: []
  kubeletExtraArgs:
  - {{name: node-ip, value: {address}}}
{TIMEOUTS}
"
    )
}

/// Emulated members answer late: etcd and the controllers wait longer for each other.
fn init(name: &str, address: Ipv4Addr, version: &str) -> String {
    let node = node(name, address);
    let elect = "- {name: leader-elect-lease-duration, value: 120s}
  - {name: leader-elect-renew-deadline, value: 90s}
  - {name: leader-elect-retry-period, value: 10s}";
    let endpoint = lan::RIG;
    format!(
        r#"apiVersion: kubeadm.k8s.io/v1beta4
kind: InitConfiguration
localAPIEndpoint: {{advertiseAddress: {address}, bindPort: {API_SERVER}}}
bootstrapTokens:
- token: {TOKEN}
  ttl: 0s
  usages: [signing, authentication]
  groups: ["system:bootstrappers:kubeadm:default-node-token"]
certificateKey: {CERTIFICATE_KEY}
{node}---
apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
clusterName: careen
kubernetesVersion: {version}
controlPlaneEndpoint: {endpoint}:{API_SERVER}
apiServer: {{certSANs: [127.0.0.1, localhost]}}
controllerManager:
  extraArgs:
  {elect}
  - {{name: node-monitor-grace-period, value: 120s}}
scheduler:
  extraArgs:
  {elect}
etcd:
  local:
    extraArgs:
    - {{name: heartbeat-interval, value: "1000"}}
    - {{name: election-timeout, value: "10000"}}
networking: {{podSubnet: 10.244.0.0/16, serviceSubnet: 10.96.0.0/12}}
dns: {{disabled: true}}
proxy: {{disabled: true}}
encryptionAlgorithm: ECDSA-P256
"#
    )
}

fn join(name: &str, address: Ipv4Addr) -> String {
    let (node, endpoint) = (node(name, address), lan::RIG);
    format!(
        r#"apiVersion: kubeadm.k8s.io/v1beta4
kind: JoinConfiguration
discovery:
  bootstrapToken:
    token: {TOKEN}
    apiServerEndpoint: {endpoint}:{API_SERVER}
    unsafeSkipCAVerification: true
controlPlane:
  localAPIEndpoint: {{advertiseAddress: {address}, bindPort: {API_SERVER}}}
  certificateKey: {CERTIFICATE_KEY}
{node}"#
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn member_joins_at_the_balancer_with_its_own_address() {
        let text = join("node2", lan::address(2));
        assert!(text.contains("apiServerEndpoint: 10.0.3.1:6443"), "{text}");
        assert!(
            text.contains("{advertiseAddress: 10.0.3.12, bindPort: 6443}"),
            "{text}"
        );
        assert!(text.contains("{name: node-ip, value: 10.0.3.12}"), "{text}");
    }

    #[test]
    fn first_member_makes_a_cluster_behind_the_balancer() {
        let text = init("node1", lan::address(1), "v1.35.4");
        assert!(
            text.contains("controlPlaneEndpoint: 10.0.3.1:6443"),
            "{text}"
        );
        assert!(text.contains("name: node1\n"), "{text}");
        assert!(text.contains(CERTIFICATE_KEY), "{text}");
    }
}
