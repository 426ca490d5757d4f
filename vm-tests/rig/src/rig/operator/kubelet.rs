//! The API server's connection to the kubelet, which `kubectl logs` needs. Scenarios need it only
//! for that, so it does not exist until they create it.
//!
//! A guest in QEMU's user network is reachable only through a forwarded port. The address that its
//! kubelet reports to the cluster does not exist on this machine. So the rig writes another address
//! to the Node. The kubelet replaces it with its own within ten seconds
//! (`nodeStatusUpdateFrequency`).

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::Node;
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::json;
use testkit::control_plane::ports;

use crate::node::NAME;
use crate::rig::Rig;

/// The port on which a kubelet listens.
const KUBELET: u16 = 10250;

impl Rig {
    /// Forwards a port of this machine to the kubelet until the power is cut.
    ///
    /// # Errors
    ///
    /// Fails when the power is off, or QEMU refuses.
    pub async fn lead_to_kubelet(&mut self) -> Result<u16> {
        let [port] = ports::free()?;
        let running = self.power.as_mut().context("the power is off")?;
        running.forward(port, KUBELET).await?;
        Ok(port)
    }

    /// Makes the API server look for the kubelet at that port for the next few seconds.
    ///
    /// # Errors
    ///
    /// Fails when the API server refuses.
    pub async fn show_kubelet_at(&self, port: u16) -> Result<()> {
        // Without a host name, because the API server would try the name first.
        let told = json!({ "status": {
            "addresses": [{ "type": "InternalIP", "address": "127.0.0.1" }],
            "daemonEndpoints": { "kubeletEndpoint": { "Port": port } },
        }});
        let nodes: Api<Node> = Api::all(self.plane.client().await?);
        nodes
            .patch_status(NAME, &PatchParams::default(), &Patch::Merge(told))
            .await?;
        Ok(())
    }
}
