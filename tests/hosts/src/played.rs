//! A host that is played: it does what careen-host does, with a client of its own.

use anyhow::{Context, Result};
use infrastructure::{AWAITS_DATA, Phase, Wanted};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::jiff::Timestamp;
use kube::Client;
use kube::api::{Api, Patch, PatchParams};
use provider::kinds::CareenHost;
use provider::kinds::policies::OF_A_HOST;
use serde_json::{Value, json};

/// The image that all hosts run.
pub const IMAGE: &str =
    "ostree:site:os@1111111111111111111111111111111111111111111111111111111111111111";

/// The status of a host in this phase.
#[must_use]
pub fn status(phase: Phase, claim: Option<&str>) -> Value {
    let step = if phase == Phase::Joining {
        AWAITS_DATA
    } else {
        "Wait"
    };
    json!({
        "phase": phase, "step": step, "observedClaim": claim,
        "image": IMAGE, "loader": "ok", "architecture": "amd64",
        "capacity": { "cpu": "8", "memory": "32Gi" },
        "addresses": [{ "type": "InternalIP", "address": "10.0.0.1" }],
    })
}

/// A host, and how far it is.
pub struct Played {
    client: Client,
    space: String,
    /// Its name.
    pub name: String,
    phase: Phase,
    claim: Option<String>,
    /// The bootstrap data that it has run, in their order.
    pub ran: Vec<String>,
    /// The image that it runs.
    pub image: String,
}

impl Played {
    /// A host that acts through this client.
    #[must_use]
    pub fn new(client: Client, space: &str, name: &str) -> Self {
        Self {
            client,
            space: space.to_owned(),
            name: name.to_owned(),
            phase: Phase::Available,
            claim: None,
            ran: Vec::new(),
            image: IMAGE.to_owned(),
        }
    }

    fn hosts(&self) -> Api<CareenHost> {
        Api::namespaced(self.client.clone(), &self.space)
    }

    /// Renews its Lease.
    ///
    /// # Errors
    /// When the API server refuses, or there is none yet.
    pub async fn renew(&self) -> Result<()> {
        let leases: Api<Lease> = Api::namespaced(self.client.clone(), &self.space);
        let now = format!("{:.6}", Timestamp::now());
        let body = Patch::Merge(json!({ "spec": { "renewTime": now } }));
        let name = format!("{OF_A_HOST}{}", self.name);
        leases.patch(&name, &PatchParams::default(), &body).await?;
        Ok(())
    }

    /// Writes its status.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn say(&self) -> Result<()> {
        let mut said = status(self.phase, self.claim.as_deref());
        said["hostname"] = json!(self.name);
        said["image"] = json!(self.image);
        let body = Patch::Merge(json!({ "status": said }));
        self.hosts()
            .patch_status(&self.name, &PatchParams::default(), &body)
            .await?;
        Ok(())
    }

    /// Reads its claim, and takes the next step.
    ///
    /// # Errors
    /// When the API server does not answer.
    pub async fn step(&mut self) -> Result<()> {
        let Some(claim) = self.hosts().get(&self.name).await?.spec.claim else {
            if self.phase == Phase::Available && self.claim.take().is_some() {
                self.say().await?;
            }
            return Ok(());
        };
        let own = self.claim.as_deref() == Some(claim.id.as_str());
        let released = claim.wanted == Wanted::Released;
        let next = match (self.phase, own) {
            (Phase::Available, false) if released => Phase::Available,
            (Phase::Available, false) => Phase::Imaging,
            (Phase::Imaging | Phase::Joining, true) if released => Phase::Available,
            (Phase::Imaging, true) => Phase::Joining,
            (Phase::Joining, true) => match self
                .data(claim.bootstrap_hash.as_deref(), &claim.id)
                .await?
            {
                Some(data) => {
                    self.ran.push(data);
                    Phase::Joined
                }
                None => return Ok(()),
            },
            (Phase::Joined, true) if released => Phase::Cleaning,
            (Phase::Cleaning, true) => Phase::Available,
            (_, _) => return Ok(()),
        };
        self.phase = next;
        self.claim = Some(claim.id);
        self.say().await
    }

    /// The data in its Secret, if they are those of the claim.
    async fn data(&self, hash: Option<&str>, claim: &str) -> Result<Option<String>> {
        let Some(hash) = hash else { return Ok(None) };
        let secrets: Api<Secret> = Api::namespaced(self.client.clone(), &self.space);
        let secret = secrets.get(&format!("{OF_A_HOST}{}", self.name)).await?;
        let all = secret.data.unwrap_or_default();
        let text = |key: &str| {
            all.get(key)
                .map(|value| String::from_utf8_lossy(&value.0).into_owned())
        };
        let data = text("value").context("it was told of data, and there are none")?;
        let of = text("claim");
        anyhow::ensure!(
            of.as_deref() == Some(claim),
            "the data are of claim {of:?}, not {claim}"
        );
        anyhow::ensure!(hash.len() == 64, "a hash of {} digits", hash.len());
        Ok(Some(data))
    }
}
