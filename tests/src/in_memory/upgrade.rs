//! One upgrade of a node as its API server sees it: what the real agent and the real kubelet write
//! during it, in their order.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{Api, Patch, PatchParams};
use kube::{Client, ResourceExt};
use serde_json::{Value, json};
use tokio::time::sleep;
use upgrade::record::Reached;
use upgrade::report::{Answer, ControlPlane, Status};
use upgrade::{Target, UpgradeId, names};

use super::boots::{Boots, boot};
use crate::fleet::fate::Fate;
use crate::fleet::images::Image;
use crate::fleet::kubelet::{COMPONENTS, HEALTHY};
use crate::node::annotation;

/// The retry interval for a write that the server did not accept.
const AGAIN: Duration = Duration::from_millis(500);

/// A node with a request.
pub struct Upgrade {
    nodes: Api<Node>,
    pods: Api<Pod>,
    name: String,
    control_plane: bool,
    /// The running version.
    old: String,
    image: Option<Image>,
    answer: Answer,
    status: Status,
    fate: Fate,
}

impl Upgrade {
    /// The upgrade that this Node requests under this id.
    pub fn asked(workload: &Client, node: &Node, id: UpgradeId, fate: Fate) -> Self {
        let target = annotation(node, names::IMAGE).parse::<Target>().ok();
        let commit = target.and_then(|target| target.commit);
        let info = node
            .status
            .as_ref()
            .and_then(|status| status.node_info.as_ref());
        let status = Status {
            id: Some(id),
            to: commit.clone(),
            ..Status::default()
        };
        Self {
            nodes: Api::all(workload.clone()),
            pods: Api::namespaced(workload.clone(), "kube-system"),
            name: node.name_any(),
            control_plane: node
                .labels()
                .contains_key("node-role.kubernetes.io/control-plane"),
            old: info
                .map(|info| info.kubelet_version.clone())
                .unwrap_or_default(),
            image: commit.and_then(|commit| Image::of(&commit)),
            answer: Answer::InProgress,
            status,
            fate,
        }
    }

    pub const fn is_of_control_plane(&self) -> bool {
        self.control_plane
    }

    /// From the request to a halt: after its boot the member is not well. Its node is cordoned and
    /// not Ready, and keeps the lock.
    pub async fn halts(mut self, boots: Boots) {
        self.reaches("Drained", 60, cordoned(true)).await;
        self.arms().await;
        boot(&boots, &self.name);
        let hurt = ("ControlPlaneHurt", "its member of etcd is away");
        (self.status.code, self.status.reason) = (Some(hurt.0.into()), Some(hurt.1.into()));
        self.status.control_plane = Some(ControlPlane {
            locked: true,
            ..ControlPlane::default()
        });
        self.note("Halted");
        self.answers(Answer::Failed, 100, json!({})).await;
        self.write(&json!({ "status": { "conditions": self.conditions("False") } }))
            .await;
    }

    /// From the request to the answer.
    pub async fn run(mut self, boots: Boots) {
        self.reaches("Accepted", 0, json!({})).await;
        sleep(self.fate.step).await;
        let Some(image) = self.image else {
            return self
                .fails("NoSuchCommit", "the remote has no such commit")
                .await;
        };
        for _ in 0..self.fate.remote_away {
            self.waits("RemoteAway", "remote site: no route to host")
                .await;
            sleep(self.fate.step).await;
        }
        self.reaches("Verified", 30, json!({})).await;
        // An agent that is killed in the middle is only silent for longer.
        sleep(self.fate.step * if self.fate.agent_dies { 5 } else { 1 }).await;
        self.reaches("Deployed", 50, json!({})).await;
        self.reaches("Drained", 60, cordoned(true)).await;
        self.tries(image, &boots).await;
        self.reaches("Blessed", 95, cordoned(false)).await;
        self.note("Upgraded");
        self.answers(Answer::Upgraded, 100, json!({})).await;
    }

    /// A trial that loses power returns to the old system. The agent then tries once more.
    async fn tries(&mut self, image: Image, boots: &Boots) {
        if self.fate.loses_power {
            self.arms().await;
            // The kubelet was never up in the first of these two boots.
            boot(boots, &self.name);
            self.reboots(&self.old, boots).await;
        }
        self.arms().await;
        self.reboots(image.version, boots).await;
        self.reaches("Trial", 80, json!({})).await;
        sleep(self.fate.step).await;
        self.reaches("Healthy", 90, json!({})).await;
    }

    async fn arms(&mut self) {
        self.status.tries += 1;
        self.reaches("Armed", 65, json!({})).await;
    }

    /// The kubelet stops, and starts in another boot with this version.
    async fn reboots(&self, version: &str, boots: &Boots) {
        self.write(&json!({ "status": { "conditions": self.conditions("False") } }))
            .await;
        sleep(self.fate.boot).await;
        let id = format!("b{:07x}", boot(boots, &self.name));
        let info = json!({ "bootID": id, "kubeletVersion": version });
        self.write(
            &json!({ "status": { "conditions": self.conditions("True"), "nodeInfo": info } }),
        )
        .await;
        for component in COMPONENTS.iter().filter(|_| self.control_plane) {
            self.static_pod(component, version).await;
        }
    }

    /// Reaches a phase, and applies `besides` in the same write.
    async fn reaches(&mut self, phase: &str, percent: u8, besides: Value) {
        self.note(phase);
        self.answers(Answer::InProgress, percent, besides).await;
    }

    async fn waits(&mut self, code: &str, why: &str) {
        (self.status.code, self.status.reason) = (Some(code.to_owned()), Some(why.to_owned()));
        let percent = self.status.percent;
        self.answers(Answer::InProgress, percent, json!({})).await;
        (self.status.code, self.status.reason) = (None, None);
    }

    async fn fails(&mut self, code: &str, why: &str) {
        (self.status.code, self.status.reason) = (Some(code.to_owned()), Some(why.to_owned()));
        self.note("Failed");
        let why = json!({ "metadata": { "annotations": { names::FAILURE_REASON: why } } });
        self.answers(Answer::Failed, 0, why).await;
    }

    fn note(&mut self, phase: &str) {
        phase.clone_into(&mut self.status.phase);
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        self.status.reached.push(Reached {
            phase: phase.to_owned(),
            at: since.map_or(0, |since| since.as_secs()),
            waited: 0,
        });
    }

    async fn answers(&mut self, answer: Answer, percent: u8, mut change: Value) {
        (self.answer, self.status.percent) = (answer, percent);
        change["status"]["conditions"] = json!(self.conditions("True"));
        let told = &mut change["metadata"]["annotations"];
        told[names::ANSWER] = json!(answer.as_str());
        told[names::STATUS] = json!(json!(self.status).to_string());
        self.write(&change).await;
    }

    /// The conditions of both the kubelet and the agent, because this API server replaces a list as
    /// a whole.
    fn conditions(&self, ready: &str) -> Vec<Value> {
        let works = self.answer == Answer::InProgress;
        let phase = &self.status.phase;
        let ours = json!({
            "type": names::CONDITION, "status": if works { "True" } else { "False" },
            "reason": self.status.code.as_ref().unwrap_or(phase),
            "message": self.status.reason.as_ref().unwrap_or(phase),
        });
        let kubelets = HEALTHY.map(|(word, well)| {
            let status = if word == "Ready" { ready } else { well };
            json!({ "type": word, "status": status, "reason": "Kubelet", "message": "" })
        });
        kubelets.into_iter().chain([ours]).collect()
    }

    /// Retries until the server accepts the write: another client may have written at the same
    /// moment.
    async fn write(&self, change: &Value) {
        let (how, change) = (PatchParams::default(), Patch::Merge(change));
        while let Err(error) = self.nodes.patch(&self.name, &how, &change).await {
            eprintln!("the agent of {}: {error}", self.name);
            sleep(AGAIN).await;
        }
    }

    async fn static_pod(&self, component: &str, version: &str) {
        let (how, name) = (PatchParams::default(), format!("{component}-{}", self.name));
        let image = format!("registry.k8s.io/{component}:{version}");
        let containers = json!([{ "name": component, "image": image }]);
        let change = Patch::Merge(json!({ "spec": { "containers": containers } }));
        while let Err(error) = self.pods.patch(&name, &how, &change).await {
            eprintln!("the kubelet of {}: {error}", self.name);
            sleep(AGAIN).await;
        }
    }
}

fn cordoned(on: bool) -> Value {
    json!({ "spec": { "unschedulable": on } })
}
