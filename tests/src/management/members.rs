//! The members of a Cluster's control plane: their Machines, and what their kubelets report.

use anyhow::Result;
use provider::names;
use serde_json::json;

use super::Management;
use crate::fleet::images::{FIRST, LATEST};
use crate::fleet::kubelet::Kubelet;

impl Management {
    /// Creates a Machine of the control plane, with its InfraMachine, its Node and its static pods,
    /// in the first version.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn member(&self, name: &str) -> Result<()> {
        let labels = json!({ names::CONTROL_PLANE_LABEL: "" });
        self.machine(&self.space, name, labels).await?;
        self.kubelet_of(name).says("b", FIRST.version).await
    }

    /// Reports that the agent has upgraded a member, and shows its static pods in the requested
    /// version.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn member_upgrades(&self, name: &str, id: &str) -> Result<()> {
        self.kubelet_of(name).says("b2", LATEST.version).await?;
        self.agent_upgrades(name, id).await
    }

    fn kubelet_of(&self, name: &str) -> Kubelet {
        Kubelet {
            admin: self.admin.clone(),
            name: name.to_owned(),
            control_plane: true,
        }
    }
}
