//! From an agent's last word to what Cluster API sees of it, and the least that this could take.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use careen_tests::cluster::PATIENCE;
use careen_tests::measured::milliseconds;
use k8s_openapi::api::core::v1::Node;
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use serde_json::json;

use crate::agents::Agents;
use crate::conditions::Conditions;
use crate::hooks::Hooks;
use crate::machines::name;
use crate::scene::Scene;

/// How often it is asked whether the next answer is there: what is measured is that much coarse.
const LOOK: Duration = Duration::from_millis(10);

/// The Machine that the floor is measured on; it never lands.
const SPARE: usize = 1;

/// What a landing needs.
pub struct Landing {
    /// The agents.
    pub agents: Agents,
    /// The InfraMachines' conditions.
    pub conditions: Conditions,
    /// The hooks.
    pub hooks: Arc<Hooks>,
}

impl Landing {
    /// Milliseconds from the moment the agent's PATCH is sent until both are there: the InfraMachine's condition, and "done" for whoever
    /// calls UpdateMachine.
    pub async fn one(self: Arc<Self>, number: usize) -> Result<f64> {
        let name = name(number);
        self.agents.runs_new(&name).await?;
        let written = self.conditions.expect(&name);
        let begun = Instant::now();
        self.agents.is_done(&name).await?;
        let both = async {
            let written = async { anyhow::Ok(written.await?) };
            tokio::try_join!(written, self.until_done(number))
        };
        let both = tokio::time::timeout(PATIENCE, both).await;
        let (written, done) = both.with_context(|| format!("{name} is not seen done"))??;
        let last = written.max(done);
        Ok(last.duration_since(begun).as_secs_f64() * 1000.0)
    }

    async fn until_done(&self, number: usize) -> Result<Instant> {
        loop {
            let (seconds, _) = self.hooks.update(number).await?;
            if seconds == 0 {
                return Ok(Instant::now());
            }
            tokio::time::sleep(LOOK).await;
        }
    }
}

/// The same three requests that a landing takes, one after the other by one hand: the Node written, the InfraMachine read and written.
pub struct ByHand {
    nodes: Api<Node>,
    infra: Api<DynamicObject>,
}

impl ByHand {
    /// On the spare Machine of a scene.
    pub fn of(scene: &Scene) -> Self {
        Self {
            nodes: Api::all(scene.workload.admin.clone()),
            infra: scene.infra_machines(),
        }
    }

    /// Milliseconds for all three.
    pub async fn one(&self, number: usize) -> Result<f64> {
        let (how, name) = (PatchParams::default(), name(SPARE));
        let word =
            json!({ "metadata": { "annotations": { "careen.dev/floor": number.to_string() } } });
        let status = json!({ "status": { "failureDomain": number.to_string() } });
        let begun = Instant::now();
        self.nodes.patch(&name, &how, &Patch::Merge(word)).await?;
        self.infra.get(&name).await?;
        self.infra
            .patch_status(&name, &how, &Patch::Merge(status))
            .await?;
        Ok(milliseconds(begun))
    }
}
