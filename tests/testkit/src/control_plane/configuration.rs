//! The configuration for kubeadm's phases. It is two files, because one of them is uploaded and
//! read by nodes.

use std::fs;

use anyhow::Result;

use super::folder::{Folder, HOST_SEEN_FROM_GUEST};

/// The bootstrap token of every cluster of the rig. It gives access only to a cluster on loopback.
pub const JOIN_TOKEN: &str = "careen.0123456789abcdef";

/// The version in the uploaded configuration.
const KUBERNETES: &str = "v1.36.3";

/// Writes `kubeadm.yaml`, for making certificates, and `upload.yaml`, for the cluster.
///
/// They differ only in `certificatesDir`. kubeadm copies it into the uploaded kubelet configuration
/// as `clientCAFile`. A kubelet on a node then exits at once, because the path is this machine's.
pub fn write(folder: &Folder) -> Result<()> {
    let certificates = format!("certificatesDir: {}", folder.dir.join("pki").display());
    fs::write(
        folder.dir.join("kubeadm.yaml"),
        text(folder.ports.api, &certificates),
    )?;
    fs::write(folder.dir.join("upload.yaml"), text(folder.ports.api, ""))?;
    Ok(())
}

fn text(port: u16, certificates: &str) -> String {
    format!(
        r#"apiVersion: kubeadm.k8s.io/v1beta4
kind: InitConfiguration
localAPIEndpoint: {{advertiseAddress: {HOST_SEEN_FROM_GUEST}, bindPort: {port}}}
nodeRegistration: {{name: control-plane, criSocket: "unix:///run/containerd/containerd.sock"}}
bootstrapTokens:
- token: {JOIN_TOKEN}
  ttl: 0s
  usages: [signing, authentication]
  groups: ["system:bootstrappers:kubeadm:default-node-token"]
---
apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
clusterName: careen
kubernetesVersion: {KUBERNETES}
controlPlaneEndpoint: {HOST_SEEN_FROM_GUEST}:{port}
apiServer: {{certSANs: [127.0.0.1, localhost, {HOST_SEEN_FROM_GUEST}]}}
networking: {{podSubnet: 10.244.0.0/16, serviceSubnet: 10.96.0.0/12}}
{certificates}
"#
    )
}
