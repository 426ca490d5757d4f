//! From an agent's last word to what Cluster API sees of it, and the least that this could take.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use careen_tests::cluster::PATIENCE;
use careen_tests::measured::milliseconds;
use k8s_openapi::api::core::v1::Node;
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};
use tokio::sync::oneshot::error::RecvError;

use crate::agents::Agents;
use crate::calls;
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

/// One that has landed.
#[derive(Clone, Copy, Debug)]
pub struct Landed {
    /// The agent's PATCH was sent.
    pub word: Instant,
    /// Both were there: the InfraMachine's condition, and "done" for whoever calls UpdateMachine.
    pub seen: Instant,
}

impl Landed {
    /// From one to the other.
    pub fn milliseconds(&self) -> f64 {
        self.seen.duration_since(self.word).as_secs_f64() * 1000.0
    }
}

impl Landing {
    /// Lands one that nobody but us finishes. Returns the milliseconds.
    pub async fn one(self: Arc<Self>, number: usize) -> Result<f64> {
        let (name, call) = (name(number), calls::update(number));
        let landed = self.land(&name, &call, std::future::pending()).await?;
        Ok(landed.milliseconds())
    }

    /// Lands the one for which this is the call of UpdateMachine. `finished` is when core is through with it: from then on there is
    /// no "done" to be had any more, for core calls for it no longer, but there was one before.
    pub async fn land(
        &self,
        name: &str,
        call: &Value,
        finished: impl Future<Output = Result<Instant, RecvError>>,
    ) -> Result<Landed> {
        self.agents.runs_new(name).await?;
        let written = self.conditions.expect(name);
        let word = Instant::now();
        self.agents.is_done(name).await?;
        let done = async {
            tokio::select! {
                done = self.until_done(call) => done,
                finished = finished => Ok(finished?),
            }
        };
        let written = async { anyhow::Ok(written.await?) };
        let both = async { tokio::try_join!(written, done) };
        let both = tokio::time::timeout(PATIENCE, both).await;
        let (written, done) = both.with_context(|| format!("{name} is not seen done"))??;
        let seen = written.max(done);
        Ok(Landed { word, seen })
    }

    async fn until_done(&self, call: &Value) -> Result<Instant> {
        loop {
            let (seconds, _) = self.hooks.update(call).await?;
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
