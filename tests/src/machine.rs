//! A small machine with a power switch: two systems, a boot loader with a one-shot, a guard that asks the real brain.
//! It stands where systemd, libostree and the kubelet would; what it is told to do, it does, or fails at as told.

use std::collections::HashMap;
use std::future::pending;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use agent::hands::{Ahead, Ended, Errand, Hands, Local};
use agent::hooks::Hooks;
use agent::metrics::Disk;
use host::journal::Store;
use tokio::sync::watch;
use upgrade::observe::Check;
use upgrade::plan::{Change, Found, Package};
use upgrade::step::Effect;
use upgrade::{
    Act, Api, Asked, Deployment, Digest, Health, Home, ImageFacts, ImageInfo, Observation, OneShot,
    Policy, Reason, Record, Room, Step, UpgradeId, decide,
};

use crate::node::OLD_VERSION;

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
}

/// The machine.
#[derive(Clone)]
pub struct TestMachine {
    state: Arc<Mutex<State>>,
    down: watch::Sender<bool>,
    begun: watch::Sender<Vec<&'static str>>,
    looked: watch::Sender<usize>,
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
    faults: HashMap<&'static str, Fault>,
    local: Local,
    /// When this boot began, by the clock of this process, and what a test has added since.
    since: Instant,
    added: Duration,
}

impl State {
    /// Writes a deployment last, as `careen-deploy deploy` does, in the place of what was deployed of the commit before. What is
    /// kept stays, and the new one has another serial.
    fn deploy(&mut self, commit: &Digest) -> Deployment {
        let booted = self.booted.clone();
        let stays = |one: &Deployment| one.digest != *commit || one.pinned || one.same(&booted);
        self.deployments.retain(stays);
        let there = self.deployments.iter().any(|one| one.digest == *commit);
        let made = Deployment {
            serial: u32::from(there),
            ..deployment(&commit.as_str()[..1])
        };
        self.deployments.push(made.clone());
        made
    }

    /// Puts the tried one first and keeps but the one that was first.
    fn bless(&mut self, commit: &Digest) {
        let new = self.deployments.iter().rfind(|one| one.digest == *commit);
        let old = self.deployments.first().cloned();
        let old = old.map(|old| Deployment {
            pinned: true,
            ..old
        });
        self.deployments = new.cloned().into_iter().chain(old).collect();
    }

    fn undo(&mut self) {
        let first = self.deployments.first().cloned();
        let stays = |one: &Deployment| one.pinned || Some(one) == first.as_ref();
        self.deployments.retain(stays);
    }
}

fn digest(letter: &str) -> Digest {
    // A constant of the right form.
    letter
        .repeat(64)
        .parse()
        .unwrap_or_else(|_| unreachable!("64 hexadecimal digits"))
}

fn deployment(letter: &str) -> Deployment {
    let bootcsum = letter.repeat(64);
    Deployment {
        digest: digest(letter),
        serial: 0,
        stateroot: "careen".to_owned(),
        bootcsum,
        pinned: false,
    }
}

fn passing() -> Local {
    let (runtime, kubelet, kubeadm) = (Check::Pass, Check::Pass, Check::Pass);
    Local {
        runtime,
        kubelet,
        kubeadm,
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

    /// Off and on again, at any moment: the loader, then the guard if it is a trial. A guard that refuses boots once more.
    pub fn power_cycle(&self) {
        self.boot();
        while self.state().trial && !self.guard_lets_through() {
            self.boot();
        }
        self.down.send_replace(false);
    }

    fn boot(&self) {
        let mut state = self.state();
        state.boots += 1;
        (state.since, state.added) = (Instant::now(), Duration::ZERO);
        state.trial = state.one_shot == OneShot::Set;
        state.one_shot = OneShot::Clear;
        let last = state.deployments.len().saturating_sub(1);
        let next = if state.trial { last } else { 0 };
        state.booted = state.deployments[next].clone();
    }

    fn guard_lets_through(&self) -> bool {
        let mut journal = self.journal();
        let read = journal.read();
        let machine = self.machine();
        let seen = guard_sees(machine);
        let decided = decide(&seen, &read, &Ok(Policy::default())).commit(&mut journal);
        matches!(decided, Ok((_, Act::Begin(Step::Pass))))
    }

    fn machine(&self) -> Observation {
        let (boot, version) = (self.boot_id(), self.version());
        let state = self.state();
        let up = state.since.elapsed() + state.added;
        Observation {
            home: Home::Agent,
            now: upgrade::SinceBoot(u64::try_from(up.as_millis()).unwrap_or(u64::MAX)),
            wall: 1_700_000_000 + up.as_secs(),
            boot: boot
                .parse()
                .unwrap_or_else(|_| unreachable!("hexadecimal digits")),
            booted: state.booted.clone(),
            version: version.parse().ok(),
            trial: state.trial,
            deployments: state.deployments.clone(),
            one_shot: state.one_shot,
            loader: state.loader.clone(),
            watchdog: Ok(()),
            control_plane: None,
            machine: "x86_64".to_owned(),
            etc_stale: false,
            request: Asked::Unknown,
            paused: None,
            opted_out: None,
            uncordoned: false,
            hooks: self.hooks.seen(),
            api: Api::Away,
            running: None,
            finished: None,
            health: Health::unknown(),
            integrity: None,
        }
    }

    fn effect(&self, step: &Step) -> Effect {
        let mut state = self.state();
        match step {
            Step::Fetch { .. } => {
                return Effect::Fetched {
                    commit: digest("b"),
                };
            }
            Step::Verify { commit } => return Effect::Verified(facts(commit.clone())),
            Step::Deploy { commit } => return Effect::Deployed(state.deploy(commit)),
            Step::Arm { .. } => state.one_shot = OneShot::Set,
            Step::Disarm => state.one_shot = OneShot::Clear,
            Step::Bless { commit, .. } => state.bless(commit),
            Step::Undo { .. } => state.undo(),
            Step::Kubeadm => state.local.kubeadm = Check::Pass,
            _ => {}
        }
        Effect::Plain
    }
}

fn facts(commit: Digest) -> ImageFacts {
    let room = Room { need: 1, free: 2 };
    let version = if commit == digest("b") {
        NEW_VERSION
    } else {
        OLD_VERSION
    };
    let info = ImageInfo {
        format: 1,
        kubernetes: version
            .parse()
            .unwrap_or_else(|_| unreachable!("a version")),
        architecture: "x86_64".to_owned(),
        stage: Some(1),
    };
    let kernel = Some("6.12.0".to_owned());
    ImageFacts {
        commit,
        info: Some(info),
        kernel,
        timestamp: 0,
        running: None,
        root: room,
        boot: room,
    }
}

fn found(commit: Digest) -> Found {
    let change = Change {
        from: Some("1.7.24".to_owned()),
        to: Some("2.0.5".to_owned()),
    };
    let package = Package {
        name: "containerd".to_owned(),
        change,
        bytes: 1 << 20,
    };
    Found {
        facts: facts(commit),
        kernel: Some("6.1.0".to_owned()),
        packages: vec![package],
        fetch_bytes: None,
        etc_conflicts: vec!["/etc/motd".to_owned()],
        etc_refusal: None,
        kept_goes: false,
    }
}

fn guard_sees(machine: Observation) -> Observation {
    Observation {
        home: Home::Stage,
        integrity: Some(Ok(())),
        ..machine
    }
}

impl Hands for TestMachine {
    fn look(&self, _: &Record) -> Result<Observation, String> {
        Ok(self.machine())
    }

    fn disk(&self) -> Disk {
        let free = host::room::free(&std::env::temp_dir()).ok();
        Disk {
            root_free: free,
            boot_free: free,
            boot_kernel: Some(1 << 26),
        }
    }

    async fn look_ahead(&self, mut ahead: Ahead) -> Result<Found, Reason> {
        self.looked.send_modify(|looked| *looked += 1);
        let fault = self.state().faults.get(PLAN).cloned();
        match fault {
            Some(Fault::Fails(reason)) => Err(reason),
            Some(Fault::Hangs) => {
                let _ = ahead.cancel.wait_for(|cancel| *cancel).await;
                Err(Reason::Withdrawn)
            }
            None => Ok(found(digest("b"))),
        }
    }

    async fn perform(&self, mut errand: Errand) -> Result<Ended, Reason> {
        let name = errand.step.name();
        self.begun.send_modify(|begun| begun.push(name));
        let fault = self.state().faults.get(name).cloned();
        match fault {
            Some(Fault::Fails(reason)) => return Err(reason),
            Some(Fault::Hangs) => {
                let _ = errand.cancel.wait_for(|cancel| *cancel).await;
                return Ok(Ended::Cancelled);
            }
            None => {}
        }
        if let Some(ended) = self.hooks.perform(&errand).await {
            return ended;
        }
        if let Step::Reboot { .. } = errand.step {
            self.down.send_replace(true);
            return pending().await;
        }
        Ok(Ended::Done(self.effect(&errand.step)))
    }

    async fn check(&self, _: UpgradeId, _: Arc<Policy>, found: watch::Sender<Option<Local>>) {
        loop {
            let local = self.state().local.clone();
            found.send_replace(Some(local));
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}
