//! The hooks as core calls them: over HTTPS on persistent connections, with trust only in the
//! authority in the provider's Secret, which core copies.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use careen_tests::caller::{bundle, trusting};
use careen_tests::cluster::PATIENCE;
use careen_tests::measured::milliseconds;

use kube::Client;
use provider::hooks::{API_VERSION, Hook};
use serde_json::Value;
use testkit::cluster_api::objects;

use crate::calls;

/// The timeout after which core gives up on a call, as discovery sets it.
const PATIENCE_OF_CORE: Duration = Duration::from_secs(10);

/// A client of the hooks.
pub struct Hooks(Client);

impl Hooks {
    /// Returns a client as soon as the provider has written its authority into its Secret and
    /// answers.
    pub async fn trusted(address: SocketAddr, admin: &Client) -> Result<Self> {
        let ask = || Self::now(address, admin);
        objects::until("a provider that core trusts", PATIENCE, ask).await
    }

    /// Returns a client if the Secret already contains the authority, and Discovery succeeds.
    pub async fn now(address: SocketAddr, admin: &Client) -> Result<Self> {
        let hooks = Self(trusting(address, &bundle(admin).await?).await?);
        hooks.discover().await?;
        Ok(hooks)
    }

    /// Calls UpdateMachine. Returns the seconds until the next call, where 0 means done, and the
    /// milliseconds of this call.
    pub async fn update(&self, call: &Value) -> Result<(u64, f64)> {
        let (answer, took) = self.call(Hook::UpdateMachine, call).await?;
        let seconds = answer["retryAfterSeconds"].as_u64();
        Ok((seconds.context("an answer without an interval")?, took))
    }

    /// Calls one of the hooks that ask whether a Machine (odd numbers) or a MachineSet (even
    /// numbers) can be updated. The answer for the MachineSet is yes. Core asks about single
    /// Machines only for control planes, and the provider evaluates and refuses such a change.
    pub async fn can_update(&self, number: usize) -> Result<f64> {
        if number % 2 == 1 {
            let body = calls::can_update_machine(number);
            let (answer, took) = self.call(Hook::CanUpdateMachine, &body).await?;
            let said = answer["message"].as_str().unwrap_or_default();
            ensure!(said.ends_with("(ControlPlane)"), "not judged: {answer}");
            return Ok(took);
        }
        let body = calls::can_update_machine_set(number);
        let (answer, took) = self.call(Hook::CanUpdateMachineSet, &body).await?;
        ensure!(answer["machineSetPatch"].is_object(), "no patch: {answer}");
        Ok(took)
    }

    /// Calls Discovery, which reads nothing.
    pub async fn discover(&self) -> Result<f64> {
        let (_, took) = self.call(Hook::Discovery, &calls::discovery()).await?;
        Ok(took)
    }

    async fn call(&self, hook: Hook, body: &Value) -> Result<(Value, f64)> {
        let (word, handler) = (hook.name().to_lowercase(), hook.handler());
        let path = format!("/{API_VERSION}/{word}/{handler}?timeout=10s");
        let request = http::Request::post(path).body(serde_json::to_vec(body)?)?;
        let begun = Instant::now();
        let answered = tokio::time::timeout(PATIENCE_OF_CORE, self.0.request_text(request)).await;
        let text = answered.context("core would have given up")??;
        let took = milliseconds(begun);
        let answer: Value = serde_json::from_str(&text)?;
        ensure!(
            answer["status"] == "Success",
            "{} says {answer}",
            hook.name()
        );
        Ok((answer, took))
    }
}
