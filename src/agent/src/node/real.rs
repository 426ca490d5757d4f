//! The real node behind [`Hands`].

use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use host::cmdline::Cmdline;
use host::loader::{self, Aim};
use host::snapshot::Here;
use host::{Places, boot, etc, image_info, os, room};
use systemd::Bus;
use tokio::sync::watch;
use upgrade::deploy::Done;
use upgrade::plan::Found;
use upgrade::step::Effect;
use upgrade::{
    BootId, Deployment, Home, Machine, NodeView, Observation, Policy, Reason, Record, SinceBoot,
    Step, Turn, UpgradeId, Version, names,
};

use super::deploy::{self, Deploy};
use super::snapshot::Snapshots;
use super::{reboot, saved, unit};
use crate::guarded;
use crate::hands::{Ahead, Ended, Errand, Hands, Local};
use crate::hooks::Hooks;
use crate::metrics::Disk;
use crate::{health, kubeadm, watchdog};

/// How long a shutdown that has begun may take before it counts as failed. Units have 90 s each to stop, by default.
const SHUTDOWN: Duration = Duration::from_secs(600);

/// The verb that takes an upgrade back.
const UNDO: &str = "undo";

/// A manifest that only a control plane has.
const CONTROL_PLANE: &str = "etc/kubernetes/manifests/kube-apiserver.yaml";

/// This machine.
pub struct Node {
    places: Places,
    fixed: OnceLock<Fixed>,
    snapshots: Snapshots,
}

/// What does not change while we run.
#[derive(Clone)]
struct Fixed {
    started: SinceBoot,
    boot: BootId,
    booted: Deployment,
    version: Option<Version>,
    trial: bool,
    machine: String,
}

impl Node {
    /// The machine whose folders these are.
    #[must_use]
    pub fn new(places: Places) -> Self {
        Self {
            places,
            fixed: OnceLock::new(),
            snapshots: Snapshots::default(),
        }
    }

    fn fixed(&self) -> host::Result<&Fixed> {
        if let Some(fixed) = self.fixed.get() {
            return Ok(fixed);
        }
        let (booted, _) = boot::booted(&self.places.sysroot, &self.places.root)?;
        let fixed = Fixed {
            started: os::since_boot()?,
            boot: os::boot_id(Path::new(os::BOOT_ID))?,
            booted,
            version: image_info::read(&self.places.root)
                .ok()
                .map(|info| info.kubernetes),
            trial: Cmdline::read(Path::new("/proc/cmdline"))?.is_trial(),
            machine: os::machine()?,
        };
        Ok(self.fixed.get_or_init(|| fixed))
    }

    /// Looks at the machine, as [`Hands::look`], and changes nothing of it.
    ///
    /// # Errors
    /// When what boots here cannot be made out.
    pub fn see(&self, record: &Record) -> host::Result<Observation> {
        let fixed = self.fixed()?.clone();
        let booted = fixed.booted;
        let control_plane = self.places.root.join(CONTROL_PLANE);
        Ok(Observation {
            // Spelled out, so that a new field does not compile until this agent looks at it.
            machine: Machine {
                version: fixed.version,
                trial: fixed.trial,
                deployments: boot::default_first(&self.places)?,
                one_shot: loader::one_shot(&self.places),
                loader: loader::fitness(&self.places, &self.places.root),
                watchdog: watchdog::fitness(&self.places.root),
                restored: saved::none_is_owed(&self.places)?,
                checks: guarded::are_roots_alone(&self.places)
                    .and_then(|()| health::may_be_run(&self.places.root)),
                control_plane: control_plane
                    .exists()
                    .then(|| control_plane.display().to_string()),
                architecture: fixed.machine,
                etc_stale: self.etc_is_stale(record, &booted),
                staged: may_arm(record, &booted).is_some() && boot::is_staged(&self.places.root),
                hooks: self.hooks(record),
                // The stage alone looks at the files.
                integrity: None,
                booted,
            },
            node: NodeView::default(),
            turn: Turn {
                started: fixed.started,
                wall: os::wall(),
                ..Turn::quiet(Home::Agent, fixed.boot, os::since_boot()?)
            },
        })
    }

    /// Walks /etc, so only where it matters: just before arming. What cannot be told counts as stale: deploying again is seconds.
    fn etc_is_stale(&self, record: &Record, booted: &Deployment) -> bool {
        let commit = may_arm(record, booted).and_then(upgrade::Upgrade::commit);
        commit.is_some_and(|commit| etc::has_changed(&self.places, booted, commit).unwrap_or(true))
    }

    /// Looked for while there may be something to run: idle, nobody asks.
    fn hooks(&self, record: &Record) -> upgrade::Hooks {
        let upgrade = record.upgrade.as_ref();
        let due = upgrade.is_some_and(|up| !up.phase.is_end() || !up.custody.is_given_back());
        if due {
            Hooks::below(&self.places.root).seen()
        } else {
            upgrade::Hooks::default()
        }
    }

    async fn do_step(&self, errand: Errand) -> Result<Ended, Reason> {
        // They are the operator's, who may reboot in them, and stopped at any moment.
        if let Some(ended) = Hooks::below(&self.places.root).perform(&errand).await {
            return ended;
        }
        let _lock = match &errand.step {
            // Others may reboot while nothing is half done; and our own reboot must not be held up by ourselves.
            Step::Reboot { .. } | Step::Fetch { .. } | Step::Verify { .. } => None,
            _ => reboot::lock("an operating system upgrade must not be cut short").await,
        };
        if let Step::Undo { .. } = errand.step {
            end_other_runs(id(&errand)?).await?;
        }
        let (step, policy) = (&errand.step, &errand.policy);
        if let Some(run) = unit::run(step, policy) {
            let run = run.asking_for_signatures(step, errand.image.as_ref(), policy);
            return self.deploy(&errand, &run).await;
        }
        match &errand.step {
            Step::Snapshot => return self.snapshot(&errand).await,
            Step::Arm { deployment } => self.aim(Aim::Trial(deployment))?,
            Step::Disarm => self.aim(Aim::Default)?,
            Step::Reboot { force } => self.reboot(*force).await?,
            Step::Kubeadm => return run_kubeadm(&errand).await,
            other => return Err(not_ours(other)),
        }
        Ok(Ended::Done(Effect::Plain))
    }

    async fn deploy(&self, errand: &Errand, run: &unit::Run) -> Result<Ended, Reason> {
        let (id, limits) = (id(errand)?, &errand.policy.limits);
        let bus = bus_without_a_plan(run).await?;
        let deploy = Deploy {
            bus: &bus,
            run,
            id,
            limits,
            doing: &errand.doing,
        };
        match deploy.perform(errand.cancel.clone()).await? {
            deploy::Ended::Cancelled => Ok(Ended::Cancelled),
            deploy::Ended::Verdict(verdict) => {
                let done = verdict?;
                saved::tidy(&self.places, &errand.step, id);
                Ok(Ended::Done(effect(done)))
            }
        }
    }

    async fn plan(&self, ahead: Ahead) -> Result<Found, Reason> {
        let run = unit::plan(&ahead.look, &ahead.policy);
        let bus = bus_without_a_plan(&run).await?;
        let (id, (doing, _)) = (unit::PLAN_ID.parse::<UpgradeId>()?, watch::channel(None));
        let deploy = Deploy {
            bus: &bus,
            run: &run,
            id: &id,
            limits: &ahead.policy.limits,
            doing: &doing,
        };
        match deploy.perform(ahead.cancel).await? {
            deploy::Ended::Verdict(Ok(Done::Planned(found))) => Ok(*found),
            deploy::Ended::Verdict(Err(reason)) => Err(reason),
            deploy::Ended::Verdict(Ok(_)) => Err(died(&run, "its answer is to another question")),
            deploy::Ended::Cancelled => Err(died(&run, "it was given up")),
        }
    }

    async fn snapshot(&self, errand: &Errand) -> Result<Ended, Reason> {
        let (id, cancel) = (id(errand)?, errand.cancel.clone());
        self.snapshots.save(&self.places, id, cancel).await
    }

    fn aim(&self, aim: Aim<'_>) -> Result<(), Reason> {
        self.make_boot_writable();
        loader::aim(&self.places, aim).map_err(|error| match error {
            host::Error::Reason(reason) => reason,
            other => Reason::ArmFailed {
                detail: other.to_string(),
            },
        })
    }

    /// /boot may be mounted read-only, also since the agent has started, as an automount is. The
    /// write that follows says what cannot be written.
    fn make_boot_writable(&self) {
        if let Err(error) = host::mounts::make_writable(&self.places.boot) {
            tracing::warn!("{error}");
        }
    }

    async fn reboot(&self, force: bool) -> Result<(), Reason> {
        if force {
            return reboot::force(&self.places.boot).await;
        }
        reboot::ask().await?;
        // The end of this step is a SIGTERM to us. To come back with "done" would only begin it again.
        tokio::time::sleep(SHUTDOWN).await;
        let detail = format!(
            "the shutdown began but has not ended in {} s",
            SHUTDOWN.as_secs()
        );
        Err(Reason::RebootRefused { detail })
    }
}

/// The upgrade whose trial may be armed next.
fn may_arm<'a>(record: &'a Record, booted: &Deployment) -> Option<&'a upgrade::Upgrade> {
    let upgrade = record.upgrade.as_ref();
    upgrade.filter(|up| up.may_arm_next(booted))
}

/// kubeadm is waited for no longer than the trial may last.
async fn run_kubeadm(errand: &Errand) -> Result<Ended, Reason> {
    let mut cancel = errand.cancel.clone();
    tokio::select! {
        done = kubeadm::again(id(errand)?) => done.map(|()| Ended::Done(Effect::Plain)),
        Ok(_) = cancel.wait_for(|cancel| *cancel) => Ok(Ended::Cancelled),
    }
}

/// Ends what was begun for an upgrade and may live on, but for the undoing itself.
async fn end_other_runs(id: &UpgradeId) -> Result<(), Reason> {
    let own = unit::name(id, UNDO);
    let ended = async {
        let bus = Bus::system().await?;
        deploy::end_others(&bus, &own).await
    };
    ended
        .await
        .map_err(|error: systemd::Error| Reason::DeployDied {
            verb: UNDO.to_owned(),
            detail: error.to_string(),
        })
}

/// The bus, once nobody looks for a plan any more.
async fn bus_without_a_plan(run: &unit::Run) -> Result<Bus, Reason> {
    let ready = async {
        let bus = Bus::system().await?;
        deploy::end_plan(&bus).await?;
        Ok::<_, systemd::Error>(bus)
    };
    ready.await.map_err(|error| died(run, error))
}

fn died(run: &unit::Run, detail: impl ToString) -> Reason {
    Reason::DeployDied {
        verb: run.verb.to_owned(),
        detail: detail.to_string(),
    }
}

fn id(errand: &Errand) -> Result<&UpgradeId, Reason> {
    errand.id.as_ref().ok_or_else(|| not_ours(&errand.step))
}

/// A step that the brain never asks this of.
fn not_ours(step: &Step) -> Reason {
    Reason::DeployFailed {
        verb: step.name().to_owned(),
        detail: "it belongs to no upgrade here".to_owned(),
    }
}

fn effect(done: Done) -> Effect {
    match done {
        Done::Fetched { commit, .. } => Effect::Fetched { commit },
        Done::Verified(facts) => Effect::Verified(facts),
        Done::Deployed(deployment) => Effect::Deployed(deployment),
        Done::Blessed
        | Done::Reinstated
        | Done::Undone
        | Done::Cleaned
        | Done::Planned(_)
        | Done::Status { .. } => Effect::Plain,
    }
}

impl Hands for Node {
    fn look(&self, record: &Record) -> Result<Observation, String> {
        let noted = self.fixed().and_then(|fixed| {
            let (system, boot) = (&fixed.booted, &fixed.boot);
            saved::owe_what_is_outstanding(&self.places, record, Here { system, boot })
        });
        let seen = noted.and_then(|()| self.see(record));
        seen.map_err(|error| error.to_string())
    }

    fn disk(&self) -> Disk {
        let places = &self.places;
        let booted = self.fixed().ok().map(|fixed| &fixed.booted);
        Disk {
            root_free: room::free(&places.sysroot).ok(),
            boot_free: room::free(&places.boot).ok(),
            boot_kernel: booted.and_then(|booted| room::kernel(places, booted).ok()),
        }
    }

    async fn look_ahead(&self, ahead: Ahead) -> Result<Found, Reason> {
        self.plan(ahead).await
    }

    async fn perform(&self, errand: Errand) -> Result<Ended, Reason> {
        self.do_step(errand).await
    }

    async fn check(&self, id: UpgradeId, policy: Arc<Policy>, found: watch::Sender<Option<Local>>) {
        health::run(&id, policy, found).await;
    }
}

/// The folders of this machine that must be written and are mounted read-only.
///
/// # Errors
/// When they cannot be made writable.
pub fn make_writable(places: &Places) -> host::Result<()> {
    host::mounts::make_private()?;
    host::mounts::make_writable(&places.sysroot)?;
    // careen-deploy brings nothing before it is closed; what an earlier version has brought may still be there.
    if let Err(error) = host::repository::close(&places.sysroot) {
        tracing::warn!("{error}; others than root may enter it");
    }
    // /boot may be a mount of its own, or a folder of the root that is a bind mount by now.
    if let Err(error) = host::mounts::make_writable(&places.boot) {
        tracing::warn!("{error}; {} may refuse the one-shot entry", names::GRUBENV);
    }
    Ok(())
}
