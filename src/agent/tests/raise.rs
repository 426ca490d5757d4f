//! What the agent asks of systemd for a raise of the control plane, on a bus of the test's own with
//! a systemd that is played.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../../systemd/tests/played/mod.rs"]
mod played;

use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use agent::access::{Errand, StepEnd};
use agent::step::control;
use agent::task::ControlOrder;
use host::Places;
use tempfile::TempDir;
use tokio::sync::watch;
use upgrade::control_plane::{Done, Task};
use upgrade::step::{Effect, StepKind};
use upgrade::{Policy, Reason};
use zbus::{Connection, Message, OwnedVariant, Variant};

use played::{Answer, on_a_bus_of_its_own, path, play};

const SYSTEMD: &str = "org.freedesktop.systemd1";
const UNIT: &str = "careen-control-u1-raise";
const RAISED: &str = r#"{"raised":"v1.36.3"}"#;

#[test]
fn raise_of_a_killed_agent_is_followed_to_its_answer() {
    on_a_bus_of_its_own("played_a_raise_that_runs");
}

#[test]
fn new_raise_is_started_and_an_old_answer_is_none() {
    on_a_bus_of_its_own("played_a_raise_that_begins");
}

#[test]
fn raise_that_was_killed_has_failed_once_all_of_it_is_gone() {
    on_a_bus_of_its_own("played_a_raise_that_is_killed");
}

/// The unit of the raise.
struct Unit {
    /// In which states it is seen, the last first. Then it is gone.
    states: Vec<&'static str>,
    /// What careen-control prints when it starts.
    prints: Option<&'static str>,
    output: PathBuf,
    started: Vec<String>,
}

struct Scene {
    folder: TempDir,
    unit: Arc<Mutex<Unit>>,
}

impl Scene {
    /// Nothing where this test runs without a bus of its own.
    async fn play(states: &[&'static str]) -> Option<Self> {
        played::daemon()?;
        let folder = tempfile::tempdir().unwrap();
        let run = folder.path().join("run/careen");
        fs::create_dir_all(&run).unwrap();
        let unit = Arc::new(Mutex::new(Unit {
            states: states.to_vec(),
            prints: None,
            output: run.join(format!("{UNIT}.json")),
            started: Vec::new(),
        }));
        play(SYSTEMD, Arc::clone(&unit)).await;
        Some(Self { folder, unit })
    }

    fn printed(&self, text: &str) {
        fs::write(&self.unit.lock().unwrap().output, text).unwrap();
    }

    fn started(&self) -> Vec<String> {
        self.unit.lock().unwrap().started.clone()
    }

    async fn raise(&self) -> Result<StepEnd, Reason> {
        let (_cancel, cancel) = watch::channel(false);
        let (doing, _told) = watch::channel(None);
        let errand = Errand {
            step: StepKind::Control(Task::Raise),
            id: Some("u1".parse().unwrap()),
            policy: Arc::new(Policy::default()),
            cancel,
            doing,
        };
        let order = ControlOrder {
            task: Task::Raise,
            version: Some("v1.36.3".parse().unwrap()),
            deployment: None,
        };
        let places = Places::running(self.folder.path());
        control::perform(&places, &order, &errand).await
    }
}

/// What `StartTransientUnit` is called with: the name, the mode, the properties, and more units.
type Asked = (
    String,
    String,
    Vec<(String, OwnedVariant)>,
    Vec<(String, Vec<(String, OwnedVariant)>)>,
);

impl Answer for Arc<Mutex<Unit>> {
    async fn to(&mut self, systemd: &Connection, call: &Message) -> zbus::Result<()> {
        let header = call.header();
        match header.member().unwrap().as_str() {
            "Subscribe" => systemd.reply(&header, &()).await,
            "GetUnit" if self.lock().unwrap().states.is_empty() => {
                let name = "org.freedesktop.systemd1.NoSuchUnit";
                systemd.reply_error(&header, name, &"not loaded").await
            }
            "GetUnit" => systemd.reply(&header, &path()).await,
            "Get" => {
                let state = self.lock().unwrap().states.pop().unwrap();
                systemd.reply(&header, &Variant::new(state)).await
            }
            "StartTransientUnit" => {
                let asked: Asked = call.body().deserialize()?;
                self.lock().unwrap().starts(&asked);
                systemd.reply(&header, &path()).await
            }
            other => panic!("{other}"),
        }
    }
}

impl Unit {
    fn starts(&mut self, asked: &Asked) {
        let mode = asked.2.iter().find(|one| one.0 == "KillMode").unwrap();
        assert_eq!(*mode.1, Variant::new("mixed"));
        assert!(!self.output.exists(), "the answer of another run");
        self.started.push(asked.0.clone());
        self.states = vec!["deactivating", "activating"];
        if let Some(text) = self.prints {
            fs::write(&self.output, text).unwrap();
        }
    }
}

fn is_raised(ended: Result<StepEnd, Reason>) -> bool {
    let version = "v1.36.3".parse().unwrap();
    let done = Effect::Controlled(Done::Raised(version));
    matches!(ended.unwrap(), StepEnd::Done(effect) if effect == done)
}

#[tokio::test]
async fn played_a_raise_that_runs() {
    let Some(scene) = Scene::play(&["activating", "activating", "activating"]).await else {
        return;
    };
    scene.printed(RAISED);
    assert!(is_raised(scene.raise().await));
    assert_eq!(scene.started(), Vec::<String>::new());
}

#[tokio::test]
async fn played_a_raise_that_begins() {
    let Some(scene) = Scene::play(&[]).await else {
        return;
    };
    scene.printed("{}");
    scene.unit.lock().unwrap().prints = Some(RAISED);
    assert!(is_raised(scene.raise().await));
    assert_eq!(scene.started(), [format!("{UNIT}.service")]);
}

/// Without the raise's own end there is no answer. Until systemd has ended kubeadm, nothing else is
/// begun.
#[tokio::test]
async fn played_a_raise_that_is_killed() {
    let Some(scene) = Scene::play(&["deactivating", "deactivating", "activating"]).await else {
        return;
    };
    let reason = scene.raise().await.unwrap_err();
    assert!(reason.to_string().contains("without an answer"), "{reason}");
    assert!(scene.unit.lock().unwrap().states.is_empty());
    assert_eq!(scene.started(), Vec::<String>::new());
}
