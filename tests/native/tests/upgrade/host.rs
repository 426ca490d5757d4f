//! A control-plane node: a member of a native cluster on a test machine, with the agent's loop.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use agent::access::{Ahead, Errand, Local, NodeAccess, StepEnd};
use agent::cluster::SILENCE;
use agent::run::Setup;
use agent::step::control::run;
use agent::task::{ControlOrder, Task, Verb};
use careen_tests::agent_process::AgentProcess;
use careen_tests::machine::{NEW_IMAGE, TestMachine};
use host::Places;
use k8s_openapi::api::core::v1::Node;
use kube::Client;
use kube::api::{Api, Patch, PatchParams};
use native::{Cluster, Images, Member, built};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::watch;
use upgrade::plan::Found;
use upgrade::serving::Serving;
use upgrade::step::Effect;
use upgrade::{ControlPlaneSeen, Observation, Policy, Reason, Record, UpgradeId, names};

/// The policy of each node.
const POLICY: &str = "\
retry-seconds = 1
[control-plane]
enabled = true
[health]
steady-seconds = 0
";

/// Inside of a member, which has no physical root of its own.
const SYSROOT: &str = "/var/sysroot";

/// How many nodes are away now, and the most that ever were.
#[derive(Default)]
pub struct Away {
    now: AtomicUsize,
    most: AtomicUsize,
}

impl Away {
    fn one_more(&self) {
        let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
    }

    fn one_less(&self) {
        self.now.fetch_sub(1, Ordering::SeqCst);
    }

    pub fn most(&self) -> usize {
        self.most.load(Ordering::SeqCst)
    }
}

/// The hardware of such a node.
#[derive(Clone)]
pub struct Hardware {
    machine: TestMachine,
    cluster: Arc<Cluster>,
    number: usize,
    /// The image's programs.
    image: Arc<Images>,
    /// careen-control.
    control: PathBuf,
    begun: Arc<Mutex<Vec<String>>>,
}

/// A node and its agent.
pub struct Host {
    hardware: Hardware,
    agent: Option<AgentProcess>,
    kubeconfig: PathBuf,
    folder: TempDir,
    away: Arc<Away>,
}

impl Host {
    /// The node of this member, whose image has these programs.
    pub fn new(
        cluster: &Arc<Cluster>,
        number: usize,
        image: &Arc<Images>,
        away: &Arc<Away>,
    ) -> Self {
        let control = built("careen-control", "careen-control").unwrap();
        Self::with_control(cluster, number, image, away, control)
    }

    /// The same, with this careen-control.
    pub fn with_control(
        cluster: &Arc<Cluster>,
        number: usize,
        image: &Arc<Images>,
        away: &Arc<Away>,
        control: PathBuf,
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let member = &cluster.members()[number];
        member.run("mkdir", &["-p", SYSROOT]).unwrap();
        let kubeconfig = member.kubelet_config(folder.path()).unwrap();
        std::fs::write(folder.path().join("policy.toml"), POLICY).unwrap();
        let hardware = Hardware {
            machine: TestMachine::new(folder.path()),
            cluster: Arc::clone(cluster),
            number,
            image: Arc::clone(image),
            control,
            begun: Arc::default(),
        };
        let mut this = Self {
            hardware,
            agent: None,
            kubeconfig,
            folder,
            away: Arc::clone(away),
        };
        member.stop_kubelet().unwrap();
        this.kubelet_of_this_boot(cluster.images());
        this.start_agent();
        this
    }

    pub fn member(&self) -> &Member {
        self.hardware.member()
    }

    /// The programs of the image.
    pub fn image(&self) -> &Images {
        &self.hardware.image
    }

    /// Whether the new system runs.
    pub fn runs_new(&self) -> bool {
        self.hardware.machine.runs_new()
    }

    /// Sets what the local checks of a trial find.
    pub fn set_local(&self, change: impl FnOnce(&mut Local)) {
        self.hardware.machine.set_local(change);
    }

    /// The steps that have begun.
    pub fn begun(&self) -> Vec<String> {
        self.hardware.begun.lock().unwrap().clone()
    }

    /// Asks the Node for the image.
    pub async fn ask(&self, client: &Client, id: &str) {
        let patch = json!({ "metadata": { "annotations": {
            names::IMAGE: NEW_IMAGE, names::REQUEST: names::REQUEST_SCHEDULED,
            names::UPGRADE_ID: id,
        }}});
        let nodes: Api<Node> = Api::all(client.clone());
        let by = PatchParams::default();
        nodes
            .patch(self.member().name(), &by, &Patch::Merge(patch))
            .await
            .unwrap();
    }

    /// What the Node says of its upgrade.
    pub async fn status(&self, client: &Client) -> Value {
        let nodes: Api<Node> = Api::all(client.clone());
        let Ok(node) = nodes.get(self.member().name()).await else {
            return Value::Null;
        };
        let annotations = node.metadata.annotations.unwrap_or_default();
        let status = annotations.get(names::STATUS);
        status.map_or(Value::Null, |text| serde_json::from_str(text).unwrap())
    }

    /// Waits until the node goes down, and boots it.
    pub async fn reboot(&mut self) {
        self.hardware.machine.until_down().await;
        self.power_cycle();
    }

    /// Cuts the power, and boots the node.
    fn power_cycle(&mut self) {
        self.cut_power();
        self.boot();
    }

    /// Cuts the power.
    pub fn cut_power(&mut self) {
        self.away.one_more();
        self.agent
            .take()
            .map_or(Ok(()), AgentProcess::kill)
            .unwrap();
        self.member().cut_power();
    }

    /// What `careen-stage repair` does before the kubelet of the next boot, and says.
    pub fn repair(&self) -> String {
        let root = self.hardware.cluster.folder().join(self.member().name());
        let mut stage = Command::new(built("careen-stage", "careen-stage").unwrap());
        stage.arg("repair").arg("--root").arg(&root);
        let sysroot = root.join(SYSROOT.trim_start_matches('/'));
        let output = stage.arg("--sysroot").arg(sysroot).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    }

    /// Boots the node.
    pub fn boot(&mut self) {
        self.hardware.machine.power_cycle();
        self.member().boot_without_kubelet().unwrap();
        match self.hardware.machine.runs_new() {
            true => self.kubelet_of_this_boot(&self.hardware.image),
            false => self.kubelet_of_this_boot(self.hardware.cluster.images()),
        }
        self.start_agent();
        self.away.one_less();
    }

    /// The kubelet reports the boot of the machine.
    fn kubelet_of_this_boot(&self, images: &Images) {
        let member = self.member();
        let boot = self.hardware.machine.boot_id();
        member.write("/run/stand-in-kubelet.boot", &boot).unwrap();
        member.start_kubelet_of(images).unwrap();
    }

    fn start_agent(&mut self) {
        let setup = Setup {
            node: self.hardware.clone(),
            kubeconfig: self.kubeconfig.clone(),
            silence: SILENCE,
            policy: self.folder.path().join("policy.toml"),
            store: self.hardware.machine.store(),
        };
        self.agent = Some(AgentProcess::start_with(setup).unwrap());
    }
}

impl Hardware {
    fn member(&self) -> &Member {
        &self.cluster.members()[self.number]
    }

    /// Runs careen-control on the member, with the agent's own arguments but for paths that only a
    /// real disk has.
    async fn control(&self, order: &ControlOrder, errand: &Errand) -> Result<StepEnd, Reason> {
        let id = errand.upgrade()?;
        let run = run::run(&Places::running(Path::new("/")), order, id, &errand.policy);
        let arguments = self.fitted(run.arguments.clone(), order);
        let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let program = self.control.to_str().unwrap();
        let command = self.member().command(program, &words);
        let failed = |error: &dyn std::fmt::Display| order.task.failed(error);
        let mut command = command.map_err(|error| failed(&error))?;
        command.env_remove("KUBECONFIG");
        let output = tokio::task::spawn_blocking(move || command.output());
        let output = output.await.unwrap().map_err(|error| failed(&error))?;
        let printed = String::from_utf8_lossy(&output.stdout);
        if printed.trim().is_empty() {
            return Err(failed(&String::from_utf8_lossy(&output.stderr)));
        }
        let done = order.task.read(printed.trim())?;
        Ok(StepEnd::Done(Effect::Controlled(done)))
    }

    fn fitted(&self, mut arguments: Vec<String>, order: &ControlOrder) -> Vec<String> {
        let kubeadm = self.image.commands().join("kubeadm");
        let old = self.cluster.images().commands();
        for (flag, path) in [("--kubeadm", kubeadm), ("--old-kubelet-path", old)] {
            if let Some(at) = arguments.iter().position(|word| word == flag) {
                arguments[at + 1] = path.display().to_string();
            }
        }
        use upgrade::control_plane::Task;
        if matches!(order.task, Task::Raise | Task::GiveUp) {
            arguments.extend(["--sysroot", SYSROOT].map(str::to_owned));
        }
        if order.task == Task::Raise {
            let missing = "ContainerRuntimeVersion,CreateJob,ImagePull,SystemVerification";
            let more = [
                "--ignore-preflight-errors",
                missing,
                "--skip-phases",
                "preflight",
            ];
            arguments.extend(more.map(str::to_owned));
        }
        arguments
    }
}

impl NodeAccess for Hardware {
    fn look(&self, record: &Record) -> Result<Observation, String> {
        let seen = self.machine.look(record)?;
        let version = self.cluster.images().version().parse().ok();
        Ok(seen.with(|seen| {
            seen.machine.version = version;
            seen.machine.control_plane = Some(ControlPlaneSeen {
                sign: format!("{}/kube-apiserver.yaml", names::MANIFESTS),
                shared: Ok(()),
            });
        }))
    }

    async fn look_ahead(&self, ahead: Ahead) -> Result<Found, Reason> {
        self.machine.look_ahead(ahead).await
    }

    async fn serves(&self, policy: &Policy) -> Serving {
        self.machine.serves(policy).await
    }

    async fn perform(&self, task: Task, errand: Errand) -> Result<StepEnd, Reason> {
        let name = errand.step.name().to_owned();
        eprintln!("{}: {name}", self.member().name());
        self.begun.lock().unwrap().push(name);
        let verifies = matches!(task, Task::Deploy(Verb::Verify { .. }));
        let ended = match task {
            Task::Control(order) => self.control(&order, &errand).await,
            task => self.machine.perform(task, errand).await,
        };
        match ended {
            Ok(StepEnd::Done(Effect::Verified(mut facts))) if verifies => {
                if let Some(info) = &mut facts.info {
                    info.kubernetes = self.image.version().parse().unwrap();
                    info.control = 1;
                }
                Ok(StepEnd::Done(Effect::Verified(facts)))
            }
            Err(reason) => {
                eprintln!("{}: {reason}", self.member().name());
                Err(reason)
            }
            ended => ended,
        }
    }

    async fn check(
        &self,
        id: UpgradeId,
        served: Serving,
        policy: Arc<Policy>,
        found: watch::Sender<Option<Local>>,
    ) {
        self.machine.check(id, served, policy, found).await;
    }
}
