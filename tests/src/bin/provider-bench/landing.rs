//! The time from an agent's final status until Cluster API sees it, and the lowest possible value
//! of this time.

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

/// The poll interval for the next answer. It limits the resolution of the measurement.
const LOOK: Duration = Duration::from_millis(10);

/// The Machine for the floor measurement. It never lands.
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

/// One Machine that has landed.
#[derive(Clone, Copy, Debug)]
pub struct Landed {
    /// When the agent's PATCH was sent.
    pub word: Instant,
    /// When both results were visible: the InfraMachine's condition, and "done" in the answer to
    /// UpdateMachine.
    pub seen: Instant,
}

impl Landed {
    /// The time between the two.
    pub fn milliseconds(&self) -> f64 {
        self.seen.duration_since(self.word).as_secs_f64() * 1000.0
    }
}

impl Landing {
    /// Lands one Machine that only this benchmark finishes. Returns the milliseconds.
    pub async fn one(self: Arc<Self>, number: usize) -> Result<f64> {
        let (name, call) = (name(number), calls::update(number));
        let landed = self.land(&name, &call, std::future::pending()).await?;
        Ok(landed.milliseconds())
    }

    /// Lands the Machine of this UpdateMachine call. `finished` is when core has finished with it.
    /// From then on core no longer calls for the Machine, so no "done" is visible any more, but one
    /// was visible before.
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

/// The three requests of a landing, sent one after the other by one client: a write of the Node,
/// and a read and a write of the InfraMachine.
pub struct ByHand {
    nodes: Api<Node>,
    infra: Api<DynamicObject>,
}

impl ByHand {
    /// Uses the spare Machine of a scene.
    pub fn of(scene: &Scene) -> Self {
        Self {
            nodes: Api::all(scene.workload.admin.clone()),
            infra: scene.infra_machines(),
        }
    }

    /// Milliseconds for all three requests.
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
