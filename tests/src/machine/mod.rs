//! A small machine with a power switch: two systems, a boot loader with a one-shot, a guard that asks the real brain.
//! It stands where systemd, libostree and the kubelet would; what it is told to do, it does, or fails at as told.

mod boot;
mod hands;
mod images;
mod systems;

use std::collections::HashMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use agent::hands::Local;
use agent::step::hooks::Hooks;
use host::journal::Store;
use tokio::sync::watch;
use upgrade::observe::Check;
use upgrade::{Deployment, OneShot, Reason};

use crate::node::OLD_VERSION;
use systems::{deployment, digest};

/// The version that the new system carries.
pub const NEW_VERSION: &str = "v1.36.3";

/// The new system, as a request names it.
pub const NEW_IMAGE: &str =
    "ostree:site:edge/stable@bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";

/// The old system, as a request names it.
pub const OLD_IMAGE: &str =
    "ostree:site:edge/stable@aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

/// What [`TestMachine::fault`] calls the look at an image for a plan.
pub const PLAN: &str = "Plan";

/// What a step does instead of what it should.
#[derive(Clone, Debug)]
pub enum Fault {
    /// It ends so.
    Fails(Reason),
    /// It does not end by itself.
    Hangs,
    /// It says a hundred times that it has come further, and does not end by itself.
    Creeps,
    /// It waits until this fault is taken away, and then does what it should.
    Held,
}

/// The machine.
#[derive(Clone)]
pub struct TestMachine {
    state: Arc<Mutex<State>>,
    down: watch::Sender<bool>,
    begun: watch::Sender<Vec<&'static str>>,
    looked: watch::Sender<usize>,
    seen: watch::Sender<usize>,
    crept: watch::Sender<bool>,
    mended: watch::Sender<()>,
    sysroot: PathBuf,
    hooks: Hooks,
}

struct State {
    boots: u32,
    booted: Deployment,
    trial: bool,
    deployments: Vec<Deployment>,
    one_shot: OneShot,
    loader: Result<(), Reason>,
    restored: Result<(), Reason>,
    unseen: Option<String>,
    faults: HashMap<&'static str, Fault>,
    local: Local,
    /// When this boot began, by the clock of this process, and what a test has added since.
    since: Instant,
    added: Duration,
}

fn passing() -> Local {
    let (runtime, kubelet, kubeadm) = (Check::Pass, Check::Pass, Check::Pass);
    Local {
        runtime,
        kubelet,
        credential: Check::Pass,
        kubeadm,
        network: Ok(()),
        required: Vec::new(),
    }
}

impl TestMachine {
    /// A machine that runs the old system; its disk is below `folder`.
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
            mended: watch::Sender::default(),
            sysroot,
            hooks: Hooks::below(&folder.join("root")),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The record on its disk.
    #[must_use]
    pub fn journal(&self) -> Store {
        Store::new(&self.sysroot)
    }

    /// Lets a step go wrong from now on; nothing lets it go right again.
    pub fn fault(&self, step: &'static str, fault: Option<Fault>) {
        let mut state = self.state();
        match fault {
            Some(fault) => state.faults.insert(step, fault),
            None => state.faults.remove(step),
        };
        self.mended.send_replace(());
    }

    fn fault_of(&self, step: &str) -> Option<Fault> {
        self.state().faults.get(step).cloned()
    }

    /// What the local checks of a trial find.
    pub fn set_local(&self, change: impl FnOnce(&mut Local)) {
        change(&mut self.state().local);
    }

    /// A hook of the operator's, below `/etc/careen`.
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

    /// What the boot loader is.
    pub fn set_loader(&self, loader: Result<(), Reason>) {
        self.state().loader = loader;
    }

    /// Whether all of the kubelet's state is back that a trial has changed.
    pub fn set_restored(&self, restored: Result<(), Reason>) {
        self.state().restored = restored;
    }

    /// Why it cannot be looked at.
    pub fn set_unseen(&self, why: Option<&str>) {
        self.state().unseen = why.map(str::to_owned);
    }

    /// Lets time pass.
    pub fn pass_seconds(&self, seconds: u64) {
        self.state().added += Duration::from_secs(seconds);
    }

    /// The steps that were begun so far, in order.
    #[must_use]
    pub fn begun(&self) -> Vec<&'static str> {
        self.begun.borrow().clone()
    }

    /// How often a step was begun so far.
    #[must_use]
    pub fn times(&self, step: &str) -> usize {
        self.begun
            .borrow()
            .iter()
            .filter(|name| **name == step)
            .count()
    }

    /// Waits until a step is begun (again, after `after` times).
    pub async fn until_begun(&self, step: &'static str, after: usize) {
        let count =
            |begun: &Vec<&'static str>| begun.iter().filter(|name| **name == step).count() > after;
        let _ = self.begun.subscribe().wait_for(count).await;
    }

    /// How often an image was looked at for a plan so far.
    #[must_use]
    pub fn looked(&self) -> usize {
        *self.looked.borrow()
    }

    /// Waits until an image is looked at for a plan (again, after `after` times).
    pub async fn until_looking(&self, after: usize) {
        let _ = self
            .looked
            .subscribe()
            .wait_for(|looked| *looked > after)
            .await;
    }

    /// How often the agent has looked at this machine so far.
    #[must_use]
    pub fn seen(&self) -> usize {
        *self.seen.borrow()
    }

    /// Waits until a step that [`Fault::Creeps`] has said all that it says.
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

    /// How many boots there were.
    #[must_use]
    pub fn boots(&self) -> u32 {
        self.state().boots
    }

    /// The deployments' first letters, the default first.
    #[must_use]
    pub fn menu(&self) -> String {
        self.state()
            .deployments
            .iter()
            .map(|deployment| &deployment.digest.as_str()[..1])
            .collect()
    }

    /// The version of the system that runs.
    #[must_use]
    pub fn version(&self) -> &'static str {
        if self.runs_new() {
            NEW_VERSION
        } else {
            OLD_VERSION
        }
    }
}
