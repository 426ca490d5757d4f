//! The API server's way to the kubelet, which `kubectl logs` takes. A scenario needs it for that alone, so it is not there until it is made.
//!
//! Nobody reaches a guest of QEMU's user network but by a port that is led into it, and the address that its kubelet tells the cluster is nobody's on
//! this machine. So the Node is told another one, which its kubelet replaces by its own within ten seconds (`nodeStatusUpdateFrequency`).

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::Node;
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::json;

use crate::control_plane::ports;
use crate::node::NAME;
use crate::rig::Rig;

/// Where a kubelet listens.
const KUBELET: u16 = 10250;

impl Rig {
    /// Leads a port of this machine to the kubelet, until the power goes.
    ///
    /// # Errors
    /// When the power is off, or QEMU refuses.
    pub async fn lead_to_kubelet(&mut self) -> Result<u16> {
        let [port] = ports::free()?;
        let running = self.power.as_mut().context("the power is off")?;
        running.forward(port, KUBELET).await?;
        Ok(port)
    }

    /// Has the API server look for the kubelet at that port, for the next seconds.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn show_kubelet_at(&self, port: u16) -> Result<()> {
        // Without a name, which the API server would ask for first.
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
