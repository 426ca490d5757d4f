//! One Machine, its InfraMachine, its Node with an agent, and what a test checks of them.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube::{Client, Config};
use provider::{names, tls};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::agent::{Manner, agent, asked};
use crate::life::{Life, Part};
use crate::server::serve;
use crate::small::Small;

pub const NEW: &str = "v1.36.3";
pub const OLD: &str = "v1.35.4";
pub const SPACE: &str = "t";
pub const MACHINE: &str = "m";
pub const NODE: &str = "n";
/// For a Machine with this annotation, not core but somebody else calls the hook, with this image
/// or, if it is empty, with none.
pub const LIE: &str = "test/lie";

/// The maximum duration of any wait.
const PATIENCE: Duration = Duration::from_secs(60);

/// The world, without a provider yet.
pub struct Scene {
    pub small: Arc<Small>,
    port: u16,
    certificate: TempDir,
}

impl Scene {
    pub async fn new(manner: Manner) -> Self {
        let small = Arc::new(Small::default());
        let port = serve(Arc::clone(&small)).await;
        fill(&small, port);
        tokio::spawn(agent(Arc::clone(&small), NODE, manner));
        let certificate = tempfile::tempdir().unwrap();
        write_certificate(certificate.path());
        Self {
            small,
            port,
            certificate,
        }
    }

    /// A provider, which lives until this is dropped.
    pub fn provider(&self) -> Life {
        self.live(Part::default())
    }

    /// One of two replicas that lead by turns. Core calls it only for this Machine.
    pub fn replica(&self, identity: &'static str, machine: &'static str) -> Life {
        self.live(Part {
            identity: Some(identity),
            machine,
        })
    }

    fn live(&self, part: Part) -> Life {
        let folder = self.certificate.path().to_owned();
        Life::begin(Arc::clone(&self.small), self.port, folder, part)
    }

    /// Another Machine with its Node, in the MachineDeployment that the first one also belongs to
    /// from now on.
    pub fn second(&self, name: &'static str, node: &'static str, manner: Manner) {
        add(&self.small, name, node);
        tokio::spawn(agent(Arc::clone(&self.small), node, manner));
        for machine in [MACHINE, name] {
            self.small.change("machines", machine, |machine| {
                machine["metadata"]["labels"][names::DEPLOYMENT_LABEL] = json!("w");
            });
        }
    }

    /// A client with the administrator's rights.
    pub fn client(&self) -> Client {
        let url = format!("http://127.0.0.1:{}", self.port);
        Client::try_from(Config::new(url.parse().unwrap())).unwrap()
    }

    /// Requests the upgrade by annotation.
    pub fn annotate(&self) {
        self.asks(MACHINE, true);
    }

    /// Removes the requesting annotation.
    pub fn withdraw(&self) {
        self.asks(MACHINE, false);
    }

    /// Adds or removes the requesting annotation of any Machine.
    pub fn asks(&self, name: &str, asks: bool) {
        let value = if asks { json!("") } else { Value::Null };
        self.small.change("machines", name, |machine| {
            annotate(machine, &[(names::ASK, value)]);
        });
    }

    /// Requests the upgrade as core does, which then calls the hook.
    pub fn update(&self) {
        self.update_of(MACHINE);
    }

    /// The same for another Machine.
    pub fn update_of(&self, name: &str) {
        let changes = [
            (names::UPDATE_IN_PROGRESS, json!("")),
            (names::PENDING_HOOKS, json!(names::UPDATE_MACHINE)),
        ];
        self.small
            .change("machines", name, |machine| annotate(machine, &changes));
    }

    /// Like [`Self::update`], but the caller of the hook names an image that nobody wants.
    pub fn update_with_a_lie(&self, image: &str) {
        self.annotations(&[(LIE, json!(image))]);
        self.update();
    }

    /// From now on no version has an image.
    pub fn empty_catalogue(&self) {
        self.small
            .change("imagecatalogues", "default", |catalogue| {
                catalogue["spec"]["images"] = json!([]);
            });
    }

    /// Removes everything of the provider from the Machine, as somebody may who restores an older
    /// copy of it.
    pub fn strip(&self) {
        self.annotations(&[
            (names::MARK, Value::Null),
            (names::SKIP_REMEDIATION, Value::Null),
        ]);
    }

    fn annotations(&self, changes: &[(&str, Value)]) {
        self.small
            .change("machines", MACHINE, |machine| annotate(machine, changes));
    }

    /// Waits until this holds.
    pub async fn until(&self, what: &str, holds: impl Fn(&Self) -> bool) {
        let waited = async {
            while !holds(self) {
                self.small.changed().await;
            }
        };
        if tokio::time::timeout(PATIENCE, waited).await.is_err() {
            panic!("never {what}: {}", self.shown());
        }
    }

    /// The whole state, for a person.
    fn shown(&self) -> String {
        let all = ["machines", "hostmachines", "nodes"].map(|plural| self.small.list(plural));
        let all = all.map(|list| list["items"].to_string());
        format!("{}; taken {:?}", all.join(" "), self.small.taken())
    }

    fn machine_has(&self, key: &str) -> bool {
        self.has(MACHINE, key)
    }

    fn has(&self, machine: &str, key: &str) -> bool {
        let machine = self.small.get("machines", machine).unwrap_or_default();
        !machine["metadata"]["annotations"][key].is_null()
    }

    /// The Machine has no requesting annotation, and nothing of the provider.
    pub fn is_left_alone(&self) -> bool {
        self.leaves_alone(MACHINE)
    }

    /// The same of another Machine.
    pub fn leaves_alone(&self, machine: &str) -> bool {
        let keys = [
            names::ASK,
            names::UPDATE_IN_PROGRESS,
            names::MARK,
            names::SKIP_REMEDIATION,
        ];
        !keys.iter().any(|key| self.has(machine, key))
    }

    pub fn is_withdrawn(&self) -> bool {
        !self.is_asked(MACHINE)
    }

    /// The Machine has the requesting annotation.
    pub fn is_asked(&self, machine: &str) -> bool {
        self.has(machine, names::ASK)
    }

    pub fn skips_remediation(&self) -> bool {
        self.machine_has(names::SKIP_REMEDIATION)
    }

    pub fn is_marked(&self) -> bool {
        self.machine_has(names::MARK)
    }

    /// The image that the Node's request names.
    pub fn asked_for(&self) -> Option<String> {
        let node = self.small.get("nodes", NODE)?;
        let image = &node["metadata"]["annotations"][upgrade::names::IMAGE];
        image.as_str().map(str::to_owned)
    }

    /// Somebody writes this soak to the Node.
    pub fn soak(&self, seconds: &str) {
        let soak = [(upgrade::names::SOAK, json!(seconds))];
        self.small
            .change("nodes", NODE, |node| annotate(node, &soak));
    }

    /// The soak on the Node.
    pub fn soaks(&self) -> Option<String> {
        let node = self.small.get("nodes", NODE)?;
        let soak = &node["metadata"]["annotations"][upgrade::names::SOAK];
        soak.as_str().map(str::to_owned)
    }

    pub fn node_is_asked(&self) -> bool {
        asked(&self.small, NODE).is_some()
    }

    /// The Node has a request and is not done yet.
    pub fn works(&self, name: &str) -> bool {
        let node = self.small.get("nodes", name).unwrap_or_default();
        let answer = &node["metadata"]["annotations"][upgrade::names::ANSWER];
        asked(&self.small, name).is_some() && answer != "Upgraded"
    }

    /// The InfraMachine's condition of this type.
    pub fn condition(&self, kind: &str) -> Value {
        let infra = self.small.get("hostmachines", MACHINE).unwrap_or_default();
        let all = infra["status"]["conditions"].as_array().cloned();
        let mut all = all.unwrap_or_default().into_iter();
        all.find(|condition| condition["type"] == kind)
            .unwrap_or_default()
    }

    /// The InfraMachine's version.
    pub fn version(&self) -> Value {
        self.version_of(MACHINE)
    }

    /// The same of another Machine, whose InfraMachine has its name.
    pub fn version_of(&self, machine: &str) -> Value {
        let infra = self.small.get("hostmachines", machine).unwrap_or_default();
        infra["status"]["version"].clone()
    }
}

/// Sets annotations, and removes those with null.
pub fn annotate(object: &mut Value, changes: &[(&str, Value)]) {
    for (key, value) in changes {
        let annotations = object["metadata"]["annotations"].as_object_mut().unwrap();
        match value {
            Value::Null => annotations.remove(*key),
            value => annotations.insert((*key).to_owned(), value.clone()),
        };
    }
}

fn write_certificate(folder: &Path) {
    let names = ["127.0.0.1".to_owned()];
    let pair = tls::make(None, &names, provider::clock::now()).unwrap();
    std::fs::write(folder.join("tls.crt"), pair.certificate).unwrap();
    std::fs::write(folder.join("tls.key"), pair.key).unwrap();
}

fn fill(small: &Small, port: u16) {
    small.put("secrets", secret("c", port));
    small.put(
        "clusters",
        json!({
            "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster",
            "metadata": { "name": "c", "namespace": SPACE }, "spec": {},
        }),
    );
    small.put(
        "imagecatalogues",
        json!({
            "apiVersion": "careen.dev/v1alpha1", "kind": "ImageCatalogue", "metadata": { "name": "default" },
            "spec": { "images": [{ "kubernetesVersion": NEW, "image": format!("ostree:site:os@{}", "b".repeat(64)) }] },
        }),
    );
    add(small, MACHINE, NODE);
}

/// A Machine, its InfraMachine and its Node.
fn add(small: &Small, name: &str, node: &str) {
    let infra = "infrastructure.cluster.x-k8s.io";
    small.put(
        "hostmachines",
        json!({
            "apiVersion": format!("{infra}/v1beta2"), "kind": "HostMachine",
            "metadata": { "name": name, "namespace": SPACE }, "spec": {}, "status": { "version": OLD },
        }),
    );
    small.put("nodes", node_at_rest(node, OLD));
    small.put(
        "machines",
        json!({
            "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine",
            "metadata": { "name": name, "namespace": SPACE, "annotations": {}, "labels": {} },
            "spec": {
                "clusterName": "c", "version": NEW, "providerID": format!("test://{node}"),
                "infrastructureRef": { "apiGroup": infra, "kind": "HostMachine", "name": name },
            },
            "status": { "nodeRef": { "name": node } },
        }),
    );
}

/// The Node at rest.
pub fn node() -> Value {
    node_at_rest(NODE, OLD)
}

/// A Node at rest, with a kubelet of this version.
pub fn node_at_rest(name: &str, kubelet: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Node", "metadata": { "name": name, "annotations": {}, "labels": {} },
        "spec": { "providerID": format!("test://{name}") },
        "status": {
            "nodeInfo": { "kubeletVersion": kubelet, "architecture": "amd64" },
            "conditions": [{ "type": "Ready", "status": "True" }],
        },
    })
}

/// The kubeconfig of a Cluster whose API server listens on this port.
pub fn secret(cluster: &str, port: u16) -> Value {
    let kubeconfig = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [{ "name": "c", "cluster": { "server": format!("http://127.0.0.1:{port}") } }],
        "users": [{ "name": "c", "user": { "token": "t" } }],
        "contexts": [{ "name": "c", "context": { "cluster": "c", "user": "c" } }],
    });
    json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "name": format!("{cluster}-kubeconfig"), "namespace": SPACE },
        "data": { names::KUBECONFIG_KEY: STANDARD.encode(kubeconfig.to_string()) },
    })
}
