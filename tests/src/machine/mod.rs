//! A small machine with a power switch: two systems, a boot loader with a one-shot entry, and a
//! guard that calls the real brain. It replaces systemd, libostree and the kubelet. It performs
//! each step, or fails as the test requests.

mod access;
mod boot;
mod fault;
mod images;
mod state;
mod systems;

use std::collections::{BTreeSet, HashMap};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use agent::access::{Local, RunningPod};
use agent::step::hooks::Hooks;
use host::record::Store;
use tokio::sync::watch;
use upgrade::observe::Check;
use upgrade::serving::Units;
use upgrade::{Causes, OneShot, Reason};

use crate::node::OLD_VERSION;
pub use fault::Fault;
use state::State;
use systems::{deployment, digest};

/// The version that the new system carries.
pub const NEW_VERSION: &str = "v1.36.3";

/// The new system's name in a request.
pub const NEW_IMAGE: &str =
    "ostree:site:edge/stable@bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";

/// The old system's name in a request.
pub const OLD_IMAGE: &str =
    "ostree:site:edge/stable@aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

/// The name that [`TestMachine::fault`] uses for the inspection of an image for a plan.
pub const PLAN: &str = "Plan";

/// The name that [`TestMachine::fault`] uses for the question whether the runtime starts a pod.
pub const PODS: &str = "Pods";

/// The name that [`TestMachine::fault`] uses for the operator's checks, which count if the policy
/// requires that they pass before the drain.
pub const CHECKS: &str = "Checks";

/// The name that [`TestMachine::fault`] uses for the note of how the machine serves.
pub const SERVES: &str = "Serves";

/// The machine.
#[derive(Clone)]
pub struct TestMachine {
    state: Arc<Mutex<State>>,
    down: watch::Sender<bool>,
    begun: watch::Sender<Vec<&'static str>>,
    looked: watch::Sender<usize>,
    seen: watch::Sender<usize>,
    crept: watch::Sender<bool>,
    repaired: watch::Sender<()>,
    sysroot: PathBuf,
    hooks: Hooks,
    root: Arc<OnceLock<PathBuf>>,
}

fn passing() -> Local {
    let (runtime, kubelet, kubeadm) = (Check::Pass, Check::Pass, Check::Pass);
    Local {
        runtime,
        kubelet,
        sandbox: Check::Pass,
        pod_network: Check::Pass,
        credential: Check::Pass,
        kubeadm,
        network: Ok(()),
        required: Vec::new(),
        units: Some(Units::default()),
        system: BTreeSet::new(),
        settings: None,
        limits: None,
        kernel: None,
        causes: Causes::default(),
    }
}

impl TestMachine {
    /// A machine that runs the old system. Its disk is below `folder`.
    #[must_use]
    pub fn new(folder: &Path) -> Self {
        let state = State {
            boots: 0,
            booted: deployment("a"),
            trial: false,
            deployments: vec![deployment("a")],
            one_shot: OneShot::Clear,
            loader: Ok(()),
            restored: Ok(()),
            unseen: None,
            faults: HashMap::new(),
            local: passing(),
            running: Vec::new(),
            since: Instant::now(),
            added: Duration::ZERO,
        };
        let sysroot = folder.join("sysroot");
        Self {
            state: Arc::new(Mutex::new(state)),
            down: watch::Sender::new(false),
            begun: watch::Sender::default(),
            looked: watch::Sender::default(),
            seen: watch::Sender::default(),
            crept: watch::Sender::default(),
            repaired: watch::Sender::default(),
            sysroot,
            root: Arc::default(),
            hooks: Hooks::below(&folder.join("root")),
        }
    }

    /// Gives the machine a kubelet whose files are below this root.
    pub fn has_kubelet_below(&self, root: PathBuf) {
        let _ = self.root.set(root);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the pods whose containers run, as its container runtime says.
    pub fn runs(&self, pods: Vec<RunningPod>) {
        self.state().running = pods;
    }

    /// The record on its disk.
    #[must_use]
    pub fn store(&self) -> Store {
        Store::new(&self.sysroot)
    }

    /// Makes a step fail from now on; `None` removes the fault.
    pub fn fault(&self, step: &'static str, fault: Option<Fault>) {
        let mut state = self.state();
        match fault {
            Some(fault) => state.faults.insert(step, fault),
            None => state.faults.remove(step),
        };
        self.repaired.send_replace(());
    }

    fn fault_of(&self, step: &str) -> Option<Fault> {
        self.state().faults.get(step).cloned()
    }

    /// Sets the results of the local checks of a trial.
    pub fn set_local(&self, change: impl FnOnce(&mut Local)) {
        change(&mut self.state().local);
    }

    /// Adds an operator's hook below `/etc/careen`.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn add_hook(&self, name: &str, script: &str) -> std::io::Result<()> {
        let path = self
            .sysroot
            .with_file_name("root")
            .join("etc/careen")
            .join(name);
        let folder = path.parent().unwrap_or(&path);
        std::fs::create_dir_all(folder)?;
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n"))?;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755))
    }

    /// Sets the state of the boot loader.
    pub fn set_loader(&self, loader: Result<(), Reason>) {
        self.state().loader = loader;
    }

    /// Sets whether all kubelet state that a trial changed is restored.
    pub fn set_restored(&self, restored: Result<(), Reason>) {
        self.state().restored = restored;
    }

    /// Sets the reason why the agent cannot inspect the machine.
    pub fn set_unseen(&self, why: Option<&str>) {
        self.state().unseen = why.map(str::to_owned);
    }

    /// Advances the time.
    pub fn pass_seconds(&self, seconds: u64) {
        self.state().added += Duration::from_secs(seconds);
    }

    /// The steps that have begun so far, in order.
    #[must_use]
    pub fn begun(&self) -> Vec<&'static str> {
        self.begun.borrow().clone()
    }

    /// How often a step has begun so far.
    #[must_use]
    pub fn times(&self, step: &str) -> usize {
        self.begun
            .borrow()
            .iter()
            .filter(|name| **name == step)
            .count()
    }

    /// Waits until a step begins (again, after `after` times).
    pub async fn until_begun(&self, step: &'static str, after: usize) {
        let count =
            |begun: &Vec<&'static str>| begun.iter().filter(|name| **name == step).count() > after;
        let _ = self.begun.subscribe().wait_for(count).await;
    }

    /// How often the agent has inspected an image for a plan so far.
    #[must_use]
    pub fn looked(&self) -> usize {
        *self.looked.borrow()
    }

    /// Waits until the agent inspects an image for a plan (again, after `after` times).
    pub async fn until_looking(&self, after: usize) {
        let _ = self
            .looked
            .subscribe()
            .wait_for(|looked| *looked > after)
            .await;
    }

    /// How often the agent has inspected this machine so far.
    #[must_use]
    pub fn seen(&self) -> usize {
        *self.seen.borrow()
    }

    /// Waits until the agent inspects this machine again, after `after` times.
    pub async fn until_seen(&self, after: usize) {
        let _ = self.seen.subscribe().wait_for(|seen| *seen > after).await;
    }

    /// Waits until a step with [`Fault::Creeps`] has sent all its progress reports.
    pub async fn until_crept(&self) {
        let _ = self.crept.subscribe().wait_for(|crept| *crept).await;
    }

    /// Waits until it goes down for a reboot.
    pub async fn until_down(&self) {
        let _ = self.down.subscribe().wait_for(|down| *down).await;
    }

    /// This boot's id.
    #[must_use]
    pub fn boot_id(&self) -> String {
        format!("b00{}", self.state().boots)
    }

    /// Whether the new system runs.
    #[must_use]
    pub fn runs_new(&self) -> bool {
        self.state().booted.digest == digest("b")
    }

    /// The number of boots.
    #[must_use]
    pub fn boots(&self) -> u32 {
        self.state().boots
    }

    /// The deployments' first letters, with the default first.
    #[must_use]
    pub fn menu(&self) -> String {
        self.state()
            .deployments
            .iter()
            .map(|deployment| &deployment.digest.as_str()[..1])
            .collect()
    }

    /// The version of the running system.
    #[must_use]
    pub fn version(&self) -> &'static str {
        if self.runs_new() {
            NEW_VERSION
        } else {
            OLD_VERSION
        }
    }
}
