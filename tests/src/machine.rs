//! A small machine with a power switch: two systems, a boot loader with a one-shot, a guard that asks the real brain.
//! It stands where systemd, libostree and the kubelet would; what it is told to do, it does, or fails at as told.

use std::collections::HashMap;
use std::future::pending;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use agent::hands::{Ended, Errand, Hands, Local};
use agent::metrics::Disk;
use host::journal::Store;
use tokio::sync::watch;
use upgrade::observe::Check;
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
    sysroot: PathBuf,
}

struct State {
    boots: u32,
    new_runs: bool,
    trial: bool,
    deployments: Vec<Deployment>,
    one_shot: OneShot,
    loader: Result<(), Reason>,
    faults: HashMap<&'static str, Fault>,
    local: Local,
    /// When this boot began, by the clock of this process, and what a test has added since.
    booted: Instant,
    added: Duration,
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
            new_runs: false,
            trial: false,
            deployments: vec![deployment("a")],
            one_shot: OneShot::Clear,
            loader: Ok(()),
            faults: HashMap::new(),
            local: passing(),
            booted: Instant::now(),
            added: Duration::ZERO,
        };
        let sysroot = folder.join("sysroot");
        Self {
            state: Arc::new(Mutex::new(state)),
            down: watch::Sender::new(false),
            begun: watch::Sender::default(),
            sysroot,
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
        self.state().new_runs
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
        (state.booted, state.added) = (Instant::now(), Duration::ZERO);
        state.trial = state.one_shot == OneShot::Set;
        state.one_shot = OneShot::Clear;
        let next = usize::from(state.trial && state.deployments.len() > 1);
        state.new_runs = state.deployments[next].digest == digest("b");
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
        let (old, new) = (deployment("a"), deployment("b"));
        let up = state.booted.elapsed() + state.added;
        Observation {
            home: Home::Agent,
            now: upgrade::SinceBoot(u64::try_from(up.as_millis()).unwrap_or(u64::MAX)),
            wall: 1_700_000_000 + up.as_secs(),
            boot: boot
                .parse()
                .unwrap_or_else(|_| unreachable!("hexadecimal digits")),
            booted: if state.new_runs { new } else { old },
            version: version.parse().ok(),
            trial: state.trial,
            deployments: state.deployments.clone(),
            one_shot: state.one_shot,
            loader: state.loader.clone(),
            control_plane: None,
            machine: "x86_64".to_owned(),
            etc_stale: false,
            request: Asked::Unknown,
            paused: None,
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
            Step::Deploy { .. } => {
                state.deployments = vec![deployment("a"), deployment("b")];
                return Effect::Deployed(deployment("b"));
            }
            Step::Arm { .. } => state.one_shot = OneShot::Set,
            Step::Disarm => state.one_shot = OneShot::Clear,
            Step::Bless { .. } => state.deployments = vec![deployment("b"), deployment("a")],
            Step::Undo { .. } => state.deployments = vec![deployment("a")],
            Step::Kubeadm => state.local.kubeadm = Check::Pass,
            _ => {}
        }
        Effect::Plain
    }
}

fn facts(commit: Digest) -> ImageFacts {
    let room = Room { need: 1, free: 2 };
    let info = ImageInfo {
        format: 1,
        kubernetes: NEW_VERSION
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
        root: room,
        boot: room,
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
