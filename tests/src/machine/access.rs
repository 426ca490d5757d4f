//! What the agent observes on the machine, and the actions that it performs there.

use std::future::pending;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use agent::access::{Ahead, Errand, Local, NodeAccess, RunningPod, StepEnd};
use agent::metrics::Disk;
use agent::task::{Task, Verb};
use tokio::sync::watch;
use upgrade::observe::Check;
use upgrade::plan::Found;
use upgrade::policy::Demand;
use upgrade::serving::{Serving, Units};
use upgrade::step::Effect;
use upgrade::{
    Doing, Home, Machine, NodeView, Observation, OneShot, Policy, Reason, Record, Turn, UpgradeId,
};

use super::images::{facts, found};
use super::systems::digest;
use super::{CHECKS, Fault, PLAN, PODS, SERVES, TestMachine};

impl TestMachine {
    pub(super) fn machine(&self) -> Observation {
        let (boot, version) = (self.boot_id(), self.version());
        let state = self.state();
        let up = state.since.elapsed() + state.added;
        Observation {
            machine: Machine {
                version: version.parse().ok(),
                trial: state.trial,
                deployments: state.deployments.clone(),
                one_shot: state.one_shot,
                loader: state.loader.clone(),
                restored: state.restored.clone(),
                hooks: self.hooks.seen(),
                ..Machine::quiet(state.booted.clone())
            },
            node: NodeView::default(),
            turn: Turn {
                started: upgrade::SinceBoot(0),
                wall: 1_700_000_000 + up.as_secs(),
                ..Turn::quiet(
                    Home::Agent,
                    boot.parse()
                        .unwrap_or_else(|_| unreachable!("hexadecimal digits")),
                    upgrade::SinceBoot(u64::try_from(up.as_millis()).unwrap_or(u64::MAX)),
                )
            },
        }
    }

    async fn creep(&self, errand: &Errand) {
        for percent in 0..100 {
            let text = format!("fetching object {percent}");
            errand.doing.send_replace(Some(Doing { percent, text }));
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        self.crept.send_replace(true);
    }

    async fn until_let_go(&self, step: &str) {
        let mut repaired = self.repaired.subscribe();
        while let Some(Fault::Held) = self.fault_of(step) {
            let _ = repaired.changed().await;
        }
    }

    fn deploy(&self, verb: Verb) -> Effect {
        let mut state = self.state();
        match verb {
            Verb::Fetch { .. } => {
                return Effect::Fetched {
                    commit: digest("b"),
                };
            }
            Verb::Verify { commit } => return Effect::Verified(facts(commit)),
            Verb::Deploy { commit, .. } => return Effect::Deployed(state.deploy(&commit)),
            Verb::Bless { commit, .. } => state.bless(&commit),
            Verb::Undo { .. } => state.undo(),
            Verb::Reinstate { .. } | Verb::Clean => {}
        }
        Effect::Plain
    }
}

impl NodeAccess for TestMachine {
    fn look(&self, _: &Record) -> Result<Observation, String> {
        self.seen.send_modify(|seen| *seen += 1);
        let unseen = self.state().unseen.clone();
        unseen.map_or_else(|| Ok(self.machine()), Err)
    }

    fn root(&self) -> Option<&Path> {
        self.root.get().map(PathBuf::as_path)
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
        match self.fault_of(PLAN) {
            Some(Fault::Fails(reason)) => Err(reason),
            Some(Fault::Hangs | Fault::Creeps | Fault::Held) => {
                let _ = ahead.cancel.wait_for(|cancel| *cancel).await;
                Err(Reason::Withdrawn { replaced_by: None })
            }
            None => Ok(found(digest("b"))),
        }
    }

    async fn rehearse(&self, policy: &Policy) -> Result<(), Reason> {
        self.passes_checks(policy).await
    }

    async fn passes_checks(&self, policy: &Policy) -> Result<(), Reason> {
        match self.fault_of(CHECKS) {
            Some(Fault::Fails(reason)) if policy.health.rehearse == Demand::Require => Err(reason),
            Some(_) | None => Ok(()),
        }
    }

    async fn starts_pods(&self, _: &Policy) -> Result<(), Reason> {
        match self.fault_of(PODS) {
            Some(Fault::Fails(reason)) => Err(reason),
            Some(Fault::Hangs | Fault::Creeps | Fault::Held) => pending().await,
            None => Ok(()),
        }
    }

    async fn running_pods(&self) -> Result<Vec<RunningPod>, String> {
        Ok(self.state().running.clone())
    }

    async fn serves(&self, _: &Policy) -> Serving {
        self.until_let_go(SERVES).await;
        Serving {
            units: Some(Units::default()),
            ..Serving::default()
        }
    }

    async fn perform(&self, task: Task, mut errand: Errand) -> Result<StepEnd, Reason> {
        let name = errand.step.name();
        self.begun.send_modify(|begun| begun.push(name));
        match self.fault_of(name) {
            Some(Fault::Fails(reason)) => return Err(reason),
            Some(Fault::Held) => self.until_let_go(name).await,
            Some(hangs) => {
                if let Fault::Creeps = hangs {
                    self.creep(&errand).await;
                }
                let _ = errand.cancel.wait_for(|cancel| *cancel).await;
                return Ok(StepEnd::Cancelled);
            }
            None => {}
        }
        match task {
            Task::Deploy(verb) => return Ok(StepEnd::Done(self.deploy(verb))),
            Task::Hooks(point) => return self.hooks.perform(point, &errand).await,
            Task::Reboot { .. } => {
                self.down.send_replace(true);
                return pending().await;
            }
            Task::Arm(_) => self.state().one_shot = OneShot::Set,
            Task::Disarm => self.state().one_shot = OneShot::Clear,
            Task::Kubeadm => self.state().local.kubeadm = Check::Pass,
            Task::Control(order) => return Err(order.task.failed(&"this machine is a worker")),
            Task::Snapshot => {}
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
        loop {
            let local = self.state().local.clone();
            found.send_replace(Some(local));
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}
