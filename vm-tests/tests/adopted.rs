//! A Node becomes the Machine of a MachineDeployment, with the real managers and careen-provider.
//! Only the node's kubelet and agent are simulated; the scenarios on Cluster API use the real ones.

use std::time::Duration;

use anyhow::{Result, ensure};
use k8s_openapi::api::core::v1::Node;
use k8s_openapi::jiff::Timestamp;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client, ResourceExt};
use rig::adopted::Adopted;
use rig::node::NAME;
use serde_json::{Value, json};
use testkit::cluster_api::objects;
use testkit::control_plane::ControlPlane;
use testkit::programs;
use tokio::task::JoinHandle;
use upgrade::names;
use upgrade::report::{Answer, Status};

const OLD: &str = "v1.35.4";
const NEW: &str = "v1.36.3";
const BAD: &str =
    "ostree:careen:bad@bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";
const GOOD: &str =
    "ostree:careen:good@aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
const REASON: &str = "the new system never got healthy: the kubelet does not answer";

/// How long careen-provider may take to ask. The limit is long because the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(120);

/// The controller manager gives up on a Node after 50 s without a heartbeat.
const HEARTBEAT: Duration = Duration::from_secs(10);

/// The conditions that core requires before a Machine counts as healthy.
const HEALTHY: [(&str, &str); 4] = [
    ("Ready", "True"),
    ("MemoryPressure", "False"),
    ("DiskPressure", "False"),
    ("PIDPressure", "False"),
];

/// A node without a machine. Dropping it ends its heartbeat.
struct Played {
    admin: Client,
    heart: JoinHandle<()>,
}

impl Drop for Played {
    fn drop(&mut self) {
        self.heart.abort();
    }
}

impl Played {
    async fn join(admin: Client) -> Result<Self> {
        let node = json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": NAME } });
        objects::apply(&admin, &node).await?;
        let heart = tokio::spawn(beat(admin.clone()));
        let this = Self { admin, heart };
        this.runs(OLD, "1").await?;
        Ok(this)
    }

    /// Its kubelet reports this version in this boot.
    async fn runs(&self, version: &str, boot: &str) -> Result<()> {
        let info = json!({
            "architecture": "amd64", "bootID": boot, "containerRuntimeVersion": "containerd://2", "kernelVersion": "6.12",
            "kubeProxyVersion": "", "kubeletVersion": version, "machineID": "m", "operatingSystem": "linux",
            "osImage": "played", "systemUUID": "s",
        });
        let conditions = HEALTHY.map(|(word, status)| {
            json!({ "type": word, "status": status, "reason": "Played", "message": "" })
        });
        let address = json!({ "type": "InternalIP", "address": "10.0.2.15" });
        let status = json!({ "nodeInfo": info, "conditions": conditions, "addresses": [address] });
        let status = Patch::Strategic(json!({ "status": status }));
        let how = PatchParams::default();
        self.nodes().patch_status(NAME, &how, &status).await?;
        Ok(())
    }

    /// Waits until it is asked for an image, and returns the id of the request.
    async fn until_asked(&self, image: &str) -> Result<String> {
        let ask = || async {
            let node = self.nodes().get(NAME).await?;
            let stands = |name: &str| node.annotations().get(name).cloned().unwrap_or_default();
            let asked = (stands(names::REQUEST), stands(names::IMAGE));
            ensure!(
                asked == (names::REQUEST_SCHEDULED.to_owned(), image.to_owned()),
                "{asked:?}"
            );
            Ok(stands(names::UPGRADE_ID))
        };
        objects::until("the Node asked", PATIENCE, ask).await
    }

    /// Its agent's answer.
    async fn answers(&self, id: &str, answer: Answer, reason: Option<&str>) -> Result<()> {
        let status = Status {
            id: Some(id.parse()?),
            phase: answer.as_str().to_owned(),
            code: reason.map(|_| "Unhealthy".to_owned()),
            reason: reason.map(str::to_owned),
            ..Status::default()
        };
        let told: Value = json!({
            names::STATUS: serde_json::to_string(&status)?,
            names::ANSWER: answer.as_str(),
            names::FAILURE_REASON: reason,
        });
        let told = Patch::Merge(json!({ "metadata": { "annotations": told } }));
        let how = PatchParams::default();
        self.nodes().patch_status(NAME, &how, &told).await?;
        Ok(())
    }

    fn nodes(&self) -> Api<Node> {
        Api::all(self.admin.clone())
    }
}

/// Never ends on its own. A failed heartbeat is skipped; the next one counts.
async fn beat(admin: Client) {
    loop {
        let lease = json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": { "name": NAME, "namespace": "kube-node-lease" },
            "spec": {
                "holderIdentity": NAME, "leaseDurationSeconds": 40, "renewTime": format!("{:.6}", Timestamp::now()),
            },
        });
        let _ = objects::apply(&admin, &lease).await;
        tokio::time::sleep(HEARTBEAT).await;
    }
}

/// A fixed folder, so that a failed run leaves its logs and the next run removes them.
async fn plane() -> Result<ControlPlane> {
    let dir = programs::cache()?.join("adopted-test");
    if dir.exists() {
        std::fs::remove_dir_all(&dir)?;
    }
    ControlPlane::start(&dir).await
}

#[tokio::test]
#[ignore = "wants managers of Cluster API, which take long to build: cargo test -p vm-tests --test adopted -- --ignored"]
async fn rollout_held_by_a_bad_image_ends_in_place_with_a_good_one() -> Result<()> {
    let plane = plane().await?;
    let node = Played::join(plane.client().await?).await?;
    let mut adopted = Adopted::start(&plane, NAME, OLD).await?;

    adopted.catalogue(NEW, BAD).await?;
    adopted.ask_for(NEW).await?;
    let asked = node.until_asked(BAD).await;
    let id = adopted.explain(asked)?;
    node.answers(&id, Answer::Failed, Some(REASON)).await?;
    adopted.expect_held(REASON).await?;

    adopted.catalogue(NEW, GOOD).await?;
    let asked = node.until_asked(GOOD).await;
    let id = adopted.explain(asked)?;
    node.runs(NEW, "2").await?;
    node.answers(&id, Answer::Upgraded, None).await?;
    adopted.expect_updated_in_place(NEW).await
}
