//! The machine below the real agent on a host of the fleet: any number of images, a boot loader
//! with a one-shot entry, and a guard that calls the real brain. `crate::machine` is a similar
//! machine for tests of only the agent, with two systems and faults on demand.

use std::collections::BTreeSet;
use std::future::pending;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use agent::access::{Ahead, Errand, Local, NodeAccess, StepEnd};
use agent::task::{Task, Verb};
use host::record::Store;
use tokio::sync::watch;
use upgrade::observe::Check;
use upgrade::plan::Found;
use upgrade::serving::{Serving, Units};
use upgrade::step::Effect;
use upgrade::{
    Act, Causes, Deployment, Digest, Home, ImageFacts, ImageInfo, Machine, NodeView, Observation,
    OneShot, Policy, Reason, Record, Room, Step, Turn, UpgradeId, decide,
};

use super::fate::Fate;
use super::images::Image;

/// The machine.
#[derive(Clone)]
pub struct FleetMachine {
    state: Arc<Mutex<State>>,
    down: watch::Sender<bool>,
    deploying: watch::Sender<u32>,
    sysroot: PathBuf,
    fate: Fate,
}

struct State {
    boots: u32,
    booted: Deployment,
    trial: bool,
    deployments: Vec<Deployment>,
    one_shot: OneShot,
    remote_away: u32,
    since: Instant,
}

impl FleetMachine {
    /// A machine that runs this image. Its disk is below `folder`.
    #[must_use]
    pub fn new(folder: &Path, image: Image, fate: Fate) -> Self {
        let state = State {
            boots: 0,
            booted: image.deployment(),
            trial: false,
            deployments: vec![image.deployment()],
            one_shot: OneShot::Clear,
            remote_away: fate.remote_away,
            since: Instant::now(),
        };
        Self {
            state: Arc::new(Mutex::new(state)),
            down: watch::Sender::new(false),
            deploying: watch::Sender::new(0),
            sysroot: folder.join("sysroot"),
            fate,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The record on its disk.
    #[must_use]
    pub fn store(&self) -> Store {
        Store::new(&self.sysroot)
    }

    /// Waits until it goes down for a reboot.
    pub async fn until_down(&self) {
        let _ = self.down.subscribe().wait_for(|down| *down).await;
    }

    /// Waits until the first write of a system begins.
    pub async fn until_deploying(&self) {
        let _ = self
            .deploying
            .subscribe()
            .wait_for(|times| *times > 0)
            .await;
    }

    /// This boot's id.
    #[must_use]
    pub fn boot_id(&self) -> String {
        format!("b{:07x}", self.state().boots)
    }

    /// The number of boots after the first.
    #[must_use]
    pub fn boots(&self) -> u32 {
        self.state().boots
    }

    /// The version of the running system.
    #[must_use]
    pub fn version(&self) -> &'static str {
        self.image().map_or("v0.0.0", |image| image.version)
    }

    /// Whether this boot is a trial.
    #[must_use]
    pub fn is_on_trial(&self) -> bool {
        self.state().trial
    }

    /// The running image.
    #[must_use]
    pub fn image(&self) -> Option<Image> {
        Image::of(&self.state().booted.digest)
    }

    /// Switches the machine off and on again, at any moment: the loader runs, then the guard if the
    /// boot is a trial. When the guard refuses, the machine boots once more.
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
        state.since = Instant::now();
        state.trial = state.one_shot == OneShot::Set && state.deployments.len() > 1;
        state.one_shot = OneShot::Clear;
        let next = usize::from(state.trial);
        state.booted = state.deployments[next].clone();
    }

    fn guard_lets_through(&self) -> bool {
        let mut store = self.store();
        let read = store.read();
        let seen = guard_sees(self.machine());
        let decided = decide(&seen, &read, &Ok(Policy::default())).commit(&mut store);
        matches!(decided, Ok((_, Act::Begin(Step::Pass))))
    }

    fn machine(&self) -> Observation {
        let (boot, version) = (self.boot_id(), self.version());
        let state = self.state();
        let up = u64::try_from(state.since.elapsed().as_millis()).unwrap_or(u64::MAX);
        Observation {
            machine: Machine {
                version: version.parse().ok(),
                trial: state.trial,
                deployments: state.deployments.clone(),
                one_shot: state.one_shot,
                ..Machine::quiet(state.booted.clone())
            },
            node: NodeView::default(),
            turn: Turn {
                started: upgrade::SinceBoot(0),
                wall: SystemTime::now()
                    .duration_since(UNIX_EPOCH)
                    .map_or(0, |since| since.as_secs()),
                ..Turn::quiet(
                    Home::Agent,
                    boot.parse()
                        .unwrap_or_else(|_| unreachable!("hexadecimal digits")),
                    upgrade::SinceBoot(up),
                )
            },
        }
    }

    /// Waits as long as a step takes. Returns whether the step was cancelled in that time.
    async fn take_time(&self, verb: &Verb, errand: &Errand) -> bool {
        match verb {
            Verb::Deploy { .. } => {
                self.deploying.send_modify(|times| *times += 1);
                tokio::time::sleep(self.fate.step).await;
                false
            }
            Verb::Fetch { .. } => {
                let mut cancel = errand.cancel.clone();
                tokio::select! {
                    () = tokio::time::sleep(self.fate.step) => false,
                    Ok(_) = cancel.wait_for(|cancel| *cancel) => true,
                }
            }
            Verb::Verify { .. }
            | Verb::Bless { .. }
            | Verb::Reinstate { .. }
            | Verb::Undo { .. }
            | Verb::Clean => false,
        }
    }

    fn deploy(&self, verb: &Verb) -> Result<Effect, Reason> {
        let mut state = self.state();
        match verb {
            Verb::Fetch { target } => return state.fetch(target),
            Verb::Verify { commit } => return Ok(Effect::Verified(facts(commit)?)),
            Verb::Deploy { commit, .. } => {
                let new = known(commit)?.deployment();
                let old = Deployment {
                    pinned: true,
                    ..state.booted.clone()
                };
                state.deployments = vec![old, new.clone()];
                return Ok(Effect::Deployed(new));
            }
            Verb::Bless { commit, .. } => {
                let new = known(commit)?.deployment();
                state
                    .deployments
                    .retain(|deployment| !deployment.same(&new));
                state.deployments.insert(0, new);
            }
            Verb::Undo { commit } => state
                .deployments
                .retain(|deployment| Some(&deployment.digest) != commit.as_ref()),
            Verb::Reinstate { .. } | Verb::Clean => {}
        }
        Ok(Effect::Plain)
    }
}

impl State {
    fn fetch(&mut self, target: &upgrade::Target) -> Result<Effect, Reason> {
        if self.remote_away > 0 {
            self.remote_away -= 1;
            return Err(Reason::RemoteAway {
                remote: target.to_string(),
                detail: "no route to host".to_owned(),
            });
        }
        let commit = target.commit.clone().ok_or_else(|| no_such("none"))?;
        known(&commit)?;
        Ok(Effect::Fetched { commit })
    }
}

fn known(commit: &Digest) -> Result<Image, Reason> {
    Image::of(commit).ok_or_else(|| no_such(commit.as_str()))
}

fn no_such(commit: &str) -> Reason {
    Reason::NoSuchCommit {
        remote: "site".to_owned(),
        commit: commit.to_owned(),
    }
}

fn facts(commit: &Digest) -> Result<ImageFacts, Reason> {
    let room = Room { need: 1, free: 2 };
    let version = known(commit)?.version.parse();
    let info = version.ok().map(|kubernetes| ImageInfo {
        format: 1,
        kubernetes,
        architecture: "x86_64".to_owned(),
        stage: Some(1),
        control: 0,
    });
    Ok(ImageFacts {
        commit: commit.clone(),
        info,
        kernel: Some("6.12.0".to_owned()),
        timestamp: 0,
        running: None,
        lacks: Box::default(),
        branches: Box::default(),
        running_branches: Box::default(),
        root: room,
        boot: room,
    })
}

fn guard_sees(machine: Observation) -> Observation {
    machine.with(|seen| {
        seen.turn.home = Home::Stage;
        seen.machine.integrity = Some(Ok(()));
    })
}

impl NodeAccess for FleetMachine {
    fn look(&self, _: &Record) -> Result<Observation, String> {
        Ok(self.machine())
    }

    /// No test asks these hosts for a plan.
    async fn look_ahead(&self, _: Ahead) -> Result<Found, Reason> {
        Err(Reason::Withdrawn { replaced_by: None })
    }

    async fn serves(&self, _: &Policy) -> Serving {
        Serving {
            units: Some(Units::default()),
            ..Serving::default()
        }
    }

    async fn perform(&self, task: Task, errand: Errand) -> Result<StepEnd, Reason> {
        match task {
            Task::Deploy(verb) => {
                if self.take_time(&verb, &errand).await {
                    return Ok(StepEnd::Cancelled);
                }
                return self.deploy(&verb).map(StepEnd::Done);
            }
            Task::Reboot { .. } => {
                self.down.send_replace(true);
                return pending().await;
            }
            Task::Arm(_) => self.state().one_shot = OneShot::Set,
            Task::Disarm => self.state().one_shot = OneShot::Clear,
            Task::Hooks(_) | Task::Snapshot | Task::Kubeadm => {}
            Task::Control(order) => return Err(order.task.failed(&"this machine is a worker")),
        }
        Ok(StepEnd::Done(Effect::Plain))
    }

    async fn check(
        &self,
        _: UpgradeId,
        _: Serving,
        _: Arc<Policy>,
        found: watch::Sender<Option<Local>>,
    ) {
        let disk = match self.image() {
            Some(image) if image.good => Check::Pass,
            _ => Check::Broken("no /dev/sdb".to_owned()),
        };
        found.send_replace(Some(Local {
            runtime: Check::Pass,
            kubelet: Check::Pass,
            sandbox: Check::Pass,
            pod_network: Check::Pass,
            credential: Check::Pass,
            kubeadm: Check::Pass,
            network: Ok(()),
            required: vec![("disk".to_owned(), disk)],
            units: Some(Units::default()),
            system: BTreeSet::new(),
            settings: None,
            limits: None,
            kernel: None,
            causes: Causes::default(),
        }));
        tokio::time::sleep(Duration::MAX).await;
    }
}
