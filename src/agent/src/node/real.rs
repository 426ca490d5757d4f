//! The implementation of [`NodeAccess`] for a real node.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use cri::RunningPod;
use host::cmdline::Cmdline;
use host::loader;
use host::snapshot::Here;
use host::{Places, boot, etc, image_info, os, room};
use tokio::sync::watch;
use upgrade::control_plane::Survey;
use upgrade::plan::Found;
use upgrade::serving::Serving;
use upgrade::step::Effect;
use upgrade::{
    BootId, Deployment, Home, LastTrial, Machine, Observation, Policy, Reason, Record, SinceBoot,
    Turn, UpgradeId, Version, names,
};

use super::saved;
use crate::access::{Ahead, Errand, Local, NodeAccess, StepEnd};
use crate::metrics::Disk;
use crate::serving::{self, UnitsWatch};
use crate::step::hooks::Hooks;
use crate::step::snapshot::{self, Snapshots};
use crate::step::{arm, control, deploy, kubeadm, reboot};
use crate::task::{Task, Verb};
use crate::trusted_files;
use crate::{clock, control_plane, health, last_trial, limits, trial_settings, unjoined, watchdog};

/// This machine.
pub struct Node {
    places: Places,
    fixed: OnceLock<Fixed>,
    snapshots: Snapshots,
    /// The last errors in the journal of a trial, once the agent has looked.
    errors: OnceLock<(BootId, Vec<String>)>,
}

/// What does not change while the agent runs.
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
    /// The machine with these folders.
    #[must_use]
    pub fn new(places: Places) -> Self {
        Self {
            places,
            fixed: OnceLock::new(),
            snapshots: Snapshots::default(),
            errors: OnceLock::new(),
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

    /// Looks at the machine, as [`NodeAccess::look`], and changes nothing.
    ///
    /// # Errors
    /// The agent cannot determine what boots here.
    pub fn see(&self, record: &Record) -> host::Result<Observation> {
        let fixed = self.fixed()?.clone();
        let booted = fixed.booted;
        let etc_stale = self.etc_is_stale(record, &booted);
        Ok(Observation {
            // All fields are listed, so that a new field does not compile until this agent looks at
            // it.
            machine: Machine {
                version: fixed.version,
                trial: fixed.trial,
                deployments: boot::default_first(&self.places)?,
                one_shot: loader::one_shot(&self.places),
                loader: loader::fitness(&self.places, &self.places.root),
                watchdog: watchdog::fitness(&self.places.root),
                restored: saved::none_is_owed(&self.places)?,
                checks: trusted_files::are_roots_alone(&self.places)
                    .and_then(|()| health::may_be_run(&self.places.root)),
                local_changes: boot::local_changes(&self.places, &booted),
                control_plane: control_plane::seen(&self.places, &booted),
                architecture: fixed.machine,
                etc_changed: etc_stale
                    .then(|| etc::newest(&self.places, &booted))
                    .flatten(),
                etc_stale,
                staged: may_arm(record, &booted).is_some() && boot::is_staged(&self.places.root),
                hooks: self.hooks(record),
                last_trial: self.last_trial(record, &booted),
                // Only the stage looks at the files.
                integrity: None,
                booted,
            },
            // A prepared host has no Node: careen-host speaks for it.
            node: unjoined::look(&self.places, os::since_boot()?).unwrap_or_default(),
            turn: Turn {
                started: fixed.started,
                wall: os::wall(),
                clock_set: clock::was_set(&self.places.root),
                ..Turn::quiet(Home::Agent, fixed.boot, os::since_boot()?)
            },
        })
    }

    /// Walks /etc, so it runs only where it matters: just before the drain and the arming. An
    /// unknown result counts as stale, because deploying again takes seconds.
    fn etc_is_stale(&self, record: &Record, booted: &Deployment) -> bool {
        let upgrade = record.upgrade.as_ref();
        let upgrade = upgrade.filter(|up| up.needs_a_still_etc(booted));
        let commit = upgrade.and_then(upgrade::Upgrade::commit);
        commit.is_some_and(|commit| etc::has_changed(&self.places, booted, commit).unwrap_or(true))
    }

    /// The old system looks at what a trial has left; the trial itself has not ended.
    fn last_trial(&self, record: &Record, booted: &Deployment) -> LastTrial {
        let old_runs = record
            .upgrade
            .as_ref()
            .is_some_and(|up| up.from.same(booted));
        if old_runs {
            // A trial ends by a reboot, so that one agent of the old system sees one at most.
            let errors = |boot: &BootId| {
                let found = self.errors.get_or_init(|| {
                    (
                        boot.clone(),
                        last_trial::last_errors::errors(&self.places.root, boot),
                    )
                });
                Some(found)
                    .filter(|(of, _)| of == boot)
                    .map_or_else(Vec::new, |(_, said)| said.clone())
            };
            last_trial::look(&self.places, &self.places.root, record, errors)
        } else {
            LastTrial::default()
        }
    }

    /// Looks for hooks only while there may be something to run. An idle agent does not need them.
    fn hooks(&self, record: &Record) -> upgrade::Hooks {
        let upgrade = record.upgrade.as_ref();
        let due = upgrade.is_some_and(|up| !up.phase.is_end() || !up.custody.is_given_back());
        if due {
            Hooks::below(&self.places.root).seen()
        } else {
            upgrade::Hooks::default()
        }
    }

    /// Whether the trial of this boot has ended with the blessing.
    fn has_passed_its_trial(&self) -> bool {
        let Ok(fixed) = self.fixed() else {
            return false;
        };
        let all = boot::default_first(&self.places).unwrap_or_default();
        fixed.trial && all.first().is_some_and(|first| first.same(&fixed.booted))
    }

    async fn do_task(&self, task: &Task, errand: &Errand) -> Result<StepEnd, Reason> {
        let places = &self.places;
        let _lock = if task.must_not_be_cut_short() {
            reboot::lock("an operating system upgrade must not be interrupted").await
        } else {
            None
        };
        match task {
            Task::Deploy(verb) => {
                if let Verb::Deploy { .. } = verb {
                    limits::note_of_initramfs(places, &errand.policy.reboot).await;
                }
                let ended = deploy::perform(places, verb, errand).await;
                if self.has_passed_its_trial() {
                    trial_settings::restore(places, &places.root).await;
                }
                ended
            }
            Task::Hooks(point) => Hooks::below(&places.root).perform(*point, errand).await,
            Task::Snapshot => {
                let (id, cancel) = (errand.upgrade()?, errand.cancel.clone());
                self.snapshots.save(places, id, cancel).await
            }
            Task::Arm(deployment) => {
                let fed = last_trial::evidence::fed().await;
                last_trial::evidence::note(places, &places.root, &fed);
                trial_settings::note(places, &places.root).await;
                plain(arm::arm(places, deployment))
            }
            Task::Disarm => plain(arm::disarm(places)),
            Task::Reboot { force } => {
                let policy = &errand.policy.reboot;
                plain(reboot::perform(&places.boot, *force, policy).await)
            }
            Task::Kubeadm => kubeadm::perform(errand).await,
            Task::Control(order) => control::perform(places, order, errand).await,
        }
    }
}

fn plain(done: Result<(), Reason>) -> Result<StepEnd, Reason> {
    done.map(|()| StepEnd::Done(Effect::Plain))
}

/// The upgrade whose trial may be armed next.
fn may_arm<'a>(record: &'a Record, booted: &Deployment) -> Option<&'a upgrade::Upgrade> {
    let upgrade = record.upgrade.as_ref();
    upgrade.filter(|up| up.may_arm_next(booted))
}

impl NodeAccess for Node {
    fn look(&self, record: &Record) -> Result<Observation, String> {
        let noted = self.fixed().and_then(|fixed| {
            let (system, boot) = (&fixed.booted, &fixed.boot);
            saved::owe_what_is_outstanding(&self.places, record, Here { system, boot })
        });
        let seen = noted.and_then(|()| self.see(record));
        seen.map_err(|error| error.to_string())
    }

    fn root(&self) -> Option<&Path> {
        Some(&self.places.root)
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
        deploy::plan(ahead).await
    }

    async fn survey(
        &self,
        version: Option<&Version>,
        policy: &Policy,
    ) -> Result<Option<Survey>, Reason> {
        if !host::control_plane::is_here(&self.places) {
            return Ok(None);
        }
        let surveyed = control::survey(&self.places, version, policy).await;
        surveyed.map(Some)
    }

    async fn perform(&self, task: Task, errand: Errand) -> Result<StepEnd, Reason> {
        self.do_task(&task, &errand).await
    }

    async fn rehearse(&self, policy: &Policy) -> Result<(), Reason> {
        snapshot::rehearse(&self.places).await?;
        self.passes_checks(policy).await
    }

    async fn passes_checks(&self, policy: &Policy) -> Result<(), Reason> {
        health::rehearse(&self.places.root, policy).await
    }

    async fn starts_pods(&self, policy: &Policy) -> Result<(), Reason> {
        health::starts_pods(policy).await
    }

    async fn running_pods(&self) -> Result<Vec<RunningPod>, String> {
        health::running_pods().await
    }

    async fn serves(&self, policy: &Policy) -> Serving {
        let (units, system, settings, most, sandbox, measured) = tokio::join!(
            UnitsWatch::default().rounds(),
            serving::system(),
            serving::settings(),
            serving::limits(),
            health::before(policy),
            limits::measure(),
        );
        Serving {
            node: None,
            units,
            system: Some(system),
            settings,
            limits: most,
            kernel: serving::in_use(Path::new("/")),
            pod_network: sandbox.has_address,
            network_refusal: sandbox.network_refusal,
            no_sandbox: sandbox.is_excused,
            boot_seconds: measured.boot.and_then(|boot| boot.all),
        }
    }

    async fn check(
        &self,
        id: UpgradeId,
        served: Serving,
        policy: Arc<Policy>,
        found: watch::Sender<Option<Local>>,
    ) {
        // What an earlier boot has left is not of this one.
        let fed = last_trial::evidence::fed().await;
        last_trial::evidence::note(&self.places, &self.places.root, &fed);
        let noting = last_trial::note(&self.places, &served, found.subscribe());
        let joined = !unjoined::is_unjoined(&self.places);
        let checks = health::run(&id, joined, &served, policy, found);
        tokio::join!(checks, noting);
    }
}

/// Makes the folders of this machine writable that must be written and are mounted read-only.
///
/// # Errors
/// They cannot be made writable.
pub fn make_writable(places: &Places) -> host::Result<()> {
    host::mounts::make_private()?;
    host::mounts::make_writable(&places.sysroot)?;
    // careen-deploy pulls nothing before the repository is closed. What an earlier version pulled
    // may still be there.
    if let Err(error) = host::repository::close(&places.sysroot) {
        tracing::warn!("{error}; users other than root may enter it");
    }
    // /boot may be a mount of its own, or a folder of the root that is now a bind mount.
    if let Err(error) = host::mounts::make_writable(&places.boot) {
        tracing::warn!(
            "{error}; {} may not take the one-shot entry",
            names::GRUBENV
        );
    }
    Ok(())
}
