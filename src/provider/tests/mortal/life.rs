//! One life of the provider: a whole process except for its address space, and core, which calls
//! its hooks.

use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::Duration;

use kube::{Client, Config};
use provider::clock::now;
use provider::engine::Policy;
use provider::hooks::{API_VERSION, Hook, Limits, answer};
use provider::lease::Candidate;
use provider::names;
use provider::run::{Certificate, Setup, run};
use provider::settings::Settings;
use provider::world::World;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::scene::{LIE, MACHINE, SPACE, annotate};
use crate::small::Small;

/// Dropping it ends it like SIGKILL: its work stops between two instructions.
pub struct Life {
    kill: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
    world: Arc<OnceLock<Arc<World>>>,
}

impl Drop for Life {
    fn drop(&mut self) {
        drop(self.kill.take());
        if let Some(thread) = self.thread.take() {
            // It stops writing only when its tasks are gone.
            let _ = thread.join();
        }
    }
}

/// The role of a provider.
#[derive(Clone, Copy)]
pub struct Part {
    /// Its identity, if there are several replicas. A single one leads at once.
    pub identity: Option<&'static str>,
    /// The Machine for which core calls it.
    pub machine: &'static str,
}

impl Default for Part {
    fn default() -> Self {
        Self {
            identity: None,
            machine: MACHINE,
        }
    }
}

impl Life {
    pub fn begin(small: Arc<Small>, port: u16, certificate: PathBuf, part: Part) -> Self {
        let (kill, killed) = oneshot::channel();
        let world = Arc::new(OnceLock::new());
        let up = Up {
            small,
            machine: part.machine,
            world: Arc::clone(&world),
        };
        let life = move || live(up, port, setup(certificate, part), killed);
        Self {
            kill: Some(kill),
            thread: Some(std::thread::spawn(life)),
            world,
        }
    }

    /// The text of `/metrics`; nothing before the provider is up.
    pub fn metrics(&self) -> String {
        let world = self.world.get();
        world.map_or_else(String::new, |world| world.metrics.text())
    }
}

/// What starts as soon as the process is up.
struct Up {
    small: Arc<Small>,
    machine: &'static str,
    world: Arc<OnceLock<Arc<World>>>,
}

fn live(begins: Up, port: u16, setup: Setup, killed: oneshot::Receiver<()>) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let url = format!("http://127.0.0.1:{port}").parse().unwrap();
        let client = Client::try_from(Config::new(url)).unwrap();
        let up = |_, world: Arc<World>| {
            let _ = begins.world.set(Arc::clone(&world));
            tokio::spawn(core(begins.small, world, begins.machine));
        };
        tokio::select! {
            ended = run(client, setup, up, std::future::pending()) => panic!("it has ended: {ended:?}"),
            _ = killed => {}
        }
    });
}

fn setup(certificate: PathBuf, part: Part) -> Setup {
    Setup {
        hook_address: (Ipv4Addr::LOCALHOST, 0).into(),
        metrics_address: (Ipv4Addr::LOCALHOST, 0).into(),
        namespace: None,
        certificate: Certificate::Given(certificate),
        client_ca: None,
        extension_config: names::MANAGER.to_owned(),
        lease: part.identity.map(candidate),
        settings: Settings {
            // Here nothing is in transit for longer than an instant.
            policy: Policy {
                landing_seconds: 1,
                ..Policy::default()
            },
            ..Settings::default()
        },
        infrastructure: None,
        limits: Limits::default(),
    }
}

fn candidate(identity: &str) -> Candidate {
    Candidate {
        namespace: SPACE.to_owned(),
        name: "leader".to_owned(),
        identity: identity.to_owned(),
    }
}

/// Plays core: it calls UpdateMachine while that hook is pending, and removes its annotations when
/// it gets "done".
async fn core(small: Arc<Small>, world: Arc<World>, name: &str) {
    loop {
        tokio::time::sleep(Duration::from_millis(50)).await;
        let machine = small.get("machines", name).unwrap_or_default();
        if machine["metadata"]["annotations"][names::PENDING_HOOKS].is_null() {
            continue;
        }
        let infra = small.get("hostmachines", name).unwrap_or_default();
        let body = call(name, &machine, &infra).to_string();
        let reply = answer(&world, Hook::UpdateMachine, body.as_bytes(), now()).body;
        let done = reply["status"] == "Success" && reply["retryAfterSeconds"] == 0;
        if done && !small.is_dead() {
            small.change("machines", name, |machine| {
                let gone = [names::UPDATE_IN_PROGRESS, names::PENDING_HOOKS];
                annotate(machine, &gone.map(|key| (key, Value::Null)));
            });
        }
    }
}

/// Core calls with the InfraMachine as it is; a liar calls with another image.
fn call(name: &str, machine: &Value, infra: &Value) -> Value {
    let lie = &machine["metadata"]["annotations"][LIE];
    let spec = match lie {
        Value::Null => infra["spec"].clone(),
        image if image == "" => json!({}),
        image => json!({ "osImage": image }),
    };
    json!({
        "apiVersion": API_VERSION, "kind": "UpdateMachineRequest", "settings": {},
        "desired": {
            "machine": {
                "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine",
                "metadata": { "name": name, "namespace": SPACE }, "spec": machine["spec"],
            },
            "infrastructureMachine": {
                "apiVersion": infra["apiVersion"], "kind": infra["kind"],
                "metadata": { "name": name, "namespace": SPACE }, "spec": spec,
            },
        },
    })
}
