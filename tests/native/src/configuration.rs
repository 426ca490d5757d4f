//! kubeadm's configuration: of the first member, and of those that join.

use std::net::Ipv4Addr;

use crate::network::BALANCER;

/// The name of the load balancer before the API servers.
pub const ENDPOINT: &str = "api.test";

/// The port of every API server and of the load balancer.
pub const API_PORT: u16 = 6443;

/// The port of etcd for clients.
pub const ETCD_PORT: u16 = 2379;

const SOCKET: &str = "unix:///run/containerd/containerd.sock";
const TOKEN: &str = "native.0123456789abcdef";

/// Encrypts the certificates that a joining member gets from the cluster.
const CERTIFICATE_KEY: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

/// Long, because the machine may be busy.
const TIMEOUTS: &str = "timeouts: {controlPlaneComponentHealthCheck: 10m, kubeletHealthCheck: 5m, \
    kubernetesAPICall: 3m, etcdAPICall: 3m, tlsBootstrap: 5m, upgradeManifests: 10m}";

/// For `kubeadm init`; `etcd` is the part about etcd, which may be empty.
pub fn init(name: &str, address: Ipv4Addr, version: &str, etcd: &str) -> String {
    format!(
        r#"apiVersion: kubeadm.k8s.io/v1beta4
kind: InitConfiguration
localAPIEndpoint: {{advertiseAddress: {address}, bindPort: {API_PORT}}}
nodeRegistration: {{name: {name}, criSocket: "{SOCKET}"}}
bootstrapTokens:
- token: {TOKEN}
  ttl: 0s
  usages: [signing, authentication]
  groups: ["system:bootstrappers:kubeadm:default-node-token"]
certificateKey: {CERTIFICATE_KEY}
{TIMEOUTS}
---
apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
clusterName: native
kubernetesVersion: {version}
controlPlaneEndpoint: {ENDPOINT}:{API_PORT}
apiServer: {{certSANs: [127.0.0.1, localhost, {BALANCER}]}}
networking: {{podSubnet: 10.244.0.0/16, serviceSubnet: 10.96.0.0/12}}
dns: {{disabled: true}}
proxy: {{disabled: true}}
encryptionAlgorithm: ECDSA-P256
{etcd}"#
    )
}

/// For `kubeadm join`.
pub fn join(name: &str, address: Ipv4Addr) -> String {
    format!(
        r#"apiVersion: kubeadm.k8s.io/v1beta4
kind: JoinConfiguration
nodeRegistration: {{name: {name}, criSocket: "{SOCKET}"}}
discovery:
  bootstrapToken:
    token: {TOKEN}
    apiServerEndpoint: {ENDPOINT}:{API_PORT}
    unsafeSkipCAVerification: true
controlPlane:
  localAPIEndpoint: {{advertiseAddress: {address}, bindPort: {API_PORT}}}
  certificateKey: {CERTIFICATE_KEY}
{TIMEOUTS}
"#
    )
}
