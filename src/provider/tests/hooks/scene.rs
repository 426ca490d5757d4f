//! A world as the watches would fill it, and requests as captured from core v1.14.2 (v1.13.6 sends
//! the same).

use std::path::Path;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube::{Client, Config};
use provider::catalogue::{Entry, ImageCatalogue, ImageCatalogueSpec};
use provider::clusters::{ClusterState, Clusters, Link};
use provider::engine::Machine;
use provider::hooks::{Hook, HttpResponse, answer, hook_of};
use provider::machines::{ClusterFacts, DeploymentFacts, Key, Machines};
use provider::queue::Queue;
use provider::settings::Settings;
use provider::world::World;
use requests::NodeFacts;
use serde_json::Value;
use upgrade::report::{Answer, Status};

pub const NOW: i64 = 1_000_000;

pub struct Sample {
    pub path: String,
    pub request: Value,
}

/// `canupdatemachine`, `canupdatemachineset` or `updatemachine`.
pub fn sample(hook: &str) -> Sample {
    let home = std::env::var("CARGO_MANIFEST_DIR").unwrap();
    let file = Path::new(&home).join(format!("tests/hooks/samples/{hook}-v1.14.2.json"));
    let mut all: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    Sample {
        path: all["path"].as_str().unwrap().to_owned(),
        request: all["request"].take(),
    }
}

pub fn image(word: char) -> String {
    format!("ostree:site:os@{}", word.to_string().repeat(64))
}

pub fn entry(version: &str, word: char) -> Entry {
    Entry {
        kubernetes_version: version.to_owned(),
        image: image(word),
        ..Entry::default()
    }
}

pub fn catalogue(world: &World, images: Vec<Entry>) {
    world.catalogues.replace(vec![ImageCatalogue::new(
        "default",
        ImageCatalogueSpec { images },
    )]);
}

pub fn client() -> Client {
    // Nothing listens there, and nothing connects: the states are given.
    Client::try_from(Config::new("http://127.0.0.1:1".parse().unwrap())).unwrap()
}

/// The settings for a future agent that accepts control planes: the samples of CanUpdateMachine
/// come from one.
pub fn with_control_planes() -> Settings {
    Settings {
        control_planes: true,
        ..Settings::default()
    }
}

/// Cluster t1/c1 with the Machines of the samples, all at v1.34.2, the control plane at v1.34.3,
/// and images for both.
pub fn world_with(settings: Settings) -> (World, Arc<ClusterState>) {
    let (machines, queue) = (Machines::default(), Queue::default());
    let clusters = Clusters::new(client(), machines.clone(), queue.clone());
    let state = Arc::new(ClusterState::default());
    clusters.adopt(Key::new("t1", "c1"), Arc::clone(&state));
    machines.replace_clusters(vec![(Key::new("t1", "c1"), ClusterFacts::default())]);
    let deployment = |name| (Key::new("t1", name), DeploymentFacts::default());
    machines.replace_deployments(["n1", "s1"].map(deployment).into());
    machines.no_control_planes();
    machines.replace(vec![worker()]);
    let link = Link {
        client: client(),
        server: "v1.34.3".parse().ok(),
    };
    state.live(link, vec![node("v1.34.2")], NOW);
    let world = World::new(machines, clusters, queue, settings);
    catalogue(&world, vec![entry("v1.34.2", 'a'), entry("v1.34.3", 'b')]);
    (world, state)
}

pub fn world() -> (World, Arc<ClusterState>) {
    world_with(with_control_planes())
}

pub const MACHINE: &str = "n1-dlvkt-vbx6r";

pub fn worker() -> Machine {
    Machine {
        namespace: "t1".into(),
        name: MACHINE.into(),
        uid: "uid-machine".into(),
        cluster: "c1".into(),
        version: Some("v1.34.3".into()),
        provider_id: Some(format!("in-memory://{MACHINE}")),
        node: Some("node-1".into()),
        deployment: Some("n1".into()),
        in_progress: true,
        hook_pending: true,
        ..Machine::default()
    }
}

pub fn node(kubelet: &str) -> NodeFacts {
    NodeFacts {
        name: "node-1".into(),
        uid: "uid-node".into(),
        resource_version: "1".into(),
        provider_id: Some(format!("in-memory://{MACHINE}")),
        ready: true,
        kubelet: kubelet.into(),
        ..NodeFacts::default()
    }
}

/// The Node after its agent has answered this request.
pub fn answered(kubelet: &str, id: &str, answer: Answer) -> NodeFacts {
    let status = Status {
        id: id.parse().ok(),
        phase: answer.as_str().into(),
        ..Status::default()
    };
    NodeFacts {
        resource_version: "2".into(),
        reply: requests::Reply {
            answer: Some(answer),
            status: Some(status),
            unreadable: false,
        },
        ..node(kubelet)
    }
}

/// Calls a sample's path with a body.
pub fn call(world: &World, path: &str, body: &[u8]) -> HttpResponse {
    let hook = hook_of(path.split('?').next().unwrap()).expect("a hook that is served");
    answer(world, hook, body, NOW)
}

pub fn call_with(world: &World, sample: &Sample) -> Value {
    let reply = call(world, &sample.path, sample.request.to_string().as_bytes());
    assert_eq!(reply.status, 200);
    reply.body
}

pub fn discover(world: &World) -> Value {
    let body =
        br#"{"kind":"DiscoveryRequest","apiVersion":"hooks.runtime.cluster.x-k8s.io/v1alpha1"}"#;
    answer(world, Hook::Discovery, body, NOW).body
}

/// Applies a response's patch to the owner of the spec, as core does: only `spec` is copied back.
pub fn patched(response: &Value, key: &str, current: &Value) -> Value {
    let mut object = current.clone();
    let Some(patch) = response.get(key) else {
        return object["spec"].clone();
    };
    let bytes = STANDARD.decode(patch["patch"].as_str().unwrap()).unwrap();
    match patch["patchType"].as_str().unwrap() {
        "JSONPatch" => {
            let patch: json_patch::Patch = serde_json::from_slice(&bytes).unwrap();
            json_patch::patch(&mut object, &patch).unwrap();
        }
        "JSONMergePatch" => {
            json_patch::merge(&mut object, &serde_json::from_slice(&bytes).unwrap())
        }
        other => panic!("core knows no patch type {other:?}"),
    }
    object["spec"].clone()
}

/// The three objects of a request, with the keys of their patches.
pub fn pairs(request: &Value) -> Vec<(&'static str, Value, Value)> {
    let all = [
        ("machine", "machinePatch"),
        ("infrastructureMachine", "infrastructureMachinePatch"),
        ("bootstrapConfig", "bootstrapConfigPatch"),
        ("machineSet", "machineSetPatch"),
        (
            "infrastructureMachineTemplate",
            "infrastructureMachineTemplatePatch",
        ),
        ("bootstrapConfigTemplate", "bootstrapConfigTemplatePatch"),
    ];
    all.into_iter()
        .filter_map(|(object, key)| {
            let at = |side: &str| request[side].get(object).cloned();
            Some((key, at("current")?, at("desired")?))
        })
        .collect()
}
